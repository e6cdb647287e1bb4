// SPDX-License-Identifier: GPL-2.0-only
/* Read-only state dumps: entities in use, clients, timelines.  Described in docs/abi/debugfs. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "cmx_debugfs.h"
#include "cmx_file.h"
#include "cmx_timeline.h"

static int entities_show(struct seq_file *m, void *unused)
{
	struct cmx_machine *machine = ((struct cmx_device *)m->private)->machine;
	u32 i;

	seq_puts(m, "index name capacity used resident\n");
	for (i = 0; i < machine->num_entities; i++) {
		struct cmx_entity *entity = machine->entities[i];
		u64 used = atomic64_read(&entity->used);

		if (used)
			seq_printf(m, "%u %s %llu %llu %llu\n", i, dev_name(&entity->dev),
				   entity->capacity, used,
				   (u64)atomic64_read(&entity->resident));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(entities);

static void cmx_debugfs_client(struct seq_file *m, struct cmx_file *file)
{
	int i;

	seq_printf(m, "%u", file->uasid);
	for (i = 0; i < CMX_LIMITS; i++)
		seq_printf(m, " %d", atomic_read(&file->counts[i]));
	seq_printf(m, " %llu %llu %llu\n", (u64)atomic64_read(&file->commands),
		   (u64)atomic64_read(&file->launches), (u64)atomic64_read(&file->bytes));
}

static int clients_show(struct seq_file *m, void *unused)
{
	struct cmx_device *cdev = m->private;
	struct cmx_file *file;

	seq_puts(m, "uasid queues cqs rqs bos mappings ring_pages timelines actors ");
	seq_puts(m, "commands launches bytes\n");
	spin_lock(&cdev->files_lock);
	list_for_each_entry(file, &cdev->files, link)
		cmx_debugfs_client(m, file);
	spin_unlock(&cdev->files_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(clients);

static int timelines_show(struct seq_file *m, void *unused)
{
	cmx_timeline_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(timelines);

void cmx_debugfs_init(struct cmx_device *cdev)
{
	struct dentry *root = cdev->drm.debugfs_root;

	debugfs_create_file("entities", 0400, root, cdev, &entities_fops);
	debugfs_create_file("clients", 0400, root, cdev, &clients_fops);
	debugfs_create_file("timelines", 0400, root, cdev, &timelines_fops);
}
