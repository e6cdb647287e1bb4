// SPDX-License-Identifier: GPL-2.0-only
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"

/* All timelines: for removal of the device and for debugfs. */
static DEFINE_MUTEX(cmx_timelines_lock);
static LIST_HEAD(cmx_timelines);
static atomic_t cmx_timeline_ids;

static void cmx_timeline_init_lists(struct cmx_timeline *tl)
{
	mutex_init(&tl->lock);
	spin_lock_init(&tl->inbox_lock);
	spin_lock_init(&tl->kick_lock);
	INIT_LIST_HEAD(&tl->members);
	INIT_LIST_HEAD(&tl->batches);
	INIT_LIST_HEAD(&tl->pending);
	INIT_LIST_HEAD(&tl->pool);
	INIT_LIST_HEAD(&tl->parcels);
	INIT_LIST_HEAD(&tl->inbox);
}

struct cmx_timeline *cmx_timeline_create(struct cmx_device *cdev, u32 flags)
{
	struct cmx_timeline *tl = kzalloc(sizeof(*tl), GFP_KERNEL_ACCOUNT);

	if (!tl)
		return ERR_PTR(-ENOMEM);
	if (cmx_servers_init(&tl->servers, cdev->machine)) {
		kfree(tl);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&tl->ref);
	cmx_timeline_init_lists(tl);
	tl->id = atomic_inc_return(&cmx_timeline_ids);
	tl->flags = flags;
	tl->next_batch = 1;
	drm_dev_get(&cdev->drm);
	tl->cdev = cdev;
	mutex_lock(&cmx_timelines_lock);
	list_add_tail(&tl->all, &cmx_timelines);
	mutex_unlock(&cmx_timelines_lock);
	return tl;
}

static void cmx_timeline_free(struct kref *ref)
{
	struct cmx_timeline *tl = container_of(ref, struct cmx_timeline, ref);

	mutex_lock(&cmx_timelines_lock);
	list_del(&tl->all);
	cmx_totals_keep(&tl->cdev->machine->totals, &tl->servers, tl->now);
	mutex_unlock(&cmx_timelines_lock);
	cmx_cmd_cache_fini(tl);
	cmx_parcels_free(tl);
	cmx_heap_fini(&tl->heap);
	cmx_servers_fini(&tl->servers);
	cmx_legs_free(&tl->legs);
	mutex_destroy(&tl->lock);
	drm_dev_put(&tl->cdev->drm);
	kfree(tl);
}

void cmx_timeline_put(struct cmx_timeline *tl)
{
	kref_put(&tl->ref, cmx_timeline_free);
}

void cmx_member_kick(struct cmx_member *member)
{
	atomic_inc(&member->kicks);
	wake_up_all(&member->wait);
}

void cmx_timeline_kick(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	spin_lock(&tl->kick_lock);
	list_for_each_entry(member, &tl->members, link)
		cmx_member_kick(member);
	spin_unlock(&tl->kick_lock);
}

void cmx_timelines_kick(struct cmx_device *cdev)
{
	struct cmx_timeline *tl;

	mutex_lock(&cmx_timelines_lock);
	list_for_each_entry(tl, &cmx_timelines, all)
		if (tl->cdev == cdev)
			cmx_timeline_kick(tl);
	mutex_unlock(&cmx_timelines_lock);
}

void cmx_timelines_kick_machine(const struct cmx_machine *machine)
{
	struct cmx_timeline *tl;

	mutex_lock(&cmx_timelines_lock);
	list_for_each_entry(tl, &cmx_timelines, all)
		if (tl->cdev->machine == machine)
			cmx_timeline_kick(tl);
	mutex_unlock(&cmx_timelines_lock);
}

/* The list's lock keeps a timeline from being counted twice, or not at all, as it goes. */
void cmx_timelines_count(struct cmx_machine *machine, struct cmx_counters *sum)
{
	struct cmx_timeline *tl;

	mutex_lock(&cmx_timelines_lock);
	cmx_totals_add(&machine->totals, sum);
	list_for_each_entry(tl, &cmx_timelines, all) {
		if (tl->cdev->machine != machine)
			continue;
		mutex_lock(&tl->lock);
		cmx_counters_add(sum, &tl->servers);
		cmx_counters_add_time(sum, tl->now, tl->now);
		sum->timelines++;
		mutex_unlock(&tl->lock);
	}
	mutex_unlock(&cmx_timelines_lock);
}

/*
 * A sleeping runner is worth a syscall only when it could do something: on a
 * deterministic timeline that is never while an actor runs, and the submitter of an
 * actor calls RUN itself before the clock can move.
 */
void cmx_member_publish(struct cmx_member *member)
{
	struct cmx_timeline_status *status = member->status->vaddr;
	struct cmx_timeline *tl = member->timeline;
	bool useful = cmx_timeline_free_running(tl) || !tl->running;

	WRITE_ONCE(status->now_ps, tl->now);
	WRITE_ONCE(status->flags, tl->flags);
	WRITE_ONCE(status->need_wakeup, member->sleepers && useful);
}

void cmx_timeline_publish(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	lockdep_assert_held(&tl->lock);
	list_for_each_entry(member, &tl->members, link)
		cmx_member_publish(member);
}

static int cmx_timeline_release(struct inode *inode, struct file *filp)
{
	cmx_timeline_put(filp->private_data);
	return 0;
}

static const struct file_operations cmx_timeline_fops = {
	.owner = THIS_MODULE,
	.release = cmx_timeline_release,
};

struct file *cmx_timeline_file(struct cmx_timeline *tl)
{
	struct file *filp;

	kref_get(&tl->ref);
	filp = anon_inode_getfile("[cmx-timeline]", &cmx_timeline_fops, tl, O_RDWR);
	if (IS_ERR(filp))
		cmx_timeline_put(tl);
	return filp;
}

struct cmx_timeline *cmx_timeline_from_fd(int fd)
{
	struct file *filp = fget(fd);
	struct cmx_timeline *tl = ERR_PTR(-EINVAL);

	if (!filp)
		return ERR_PTR(-EBADF);
	if (filp->f_op == &cmx_timeline_fops) {
		tl = filp->private_data;
		kref_get(&tl->ref);
	}
	fput(filp);
	return tl;
}

static void cmx_member_show(struct seq_file *m, struct cmx_member *member)
{
	struct cmx_queue *q;
	unsigned long bit;

	seq_printf(m, "\tmember uasid %u handle %u busy %u launches %u sleepers %u\n",
		   member->obj.file->uasid, member->obj.handle, member->busy,
		   member->num_launches, member->sleepers);
	xa_for_each(&member->queues, bit, q)
		cmx_queue_show(m, q);
}

static void cmx_timeline_show_one(struct seq_file *m, struct cmx_timeline *tl)
{
	struct cmx_member *member;

	mutex_lock(&tl->lock);
	seq_printf(m, "timeline flags %#x now_ps %llu actors %u running %u queues %u events %u\n",
		   tl->flags, tl->now, tl->actors, tl->running, tl->queues,
		   tl->heap.count - tl->heap.hole);
	seq_printf(m, "\tbatches %u commands %llu launches %llu bytes %llu\n", tl->num_batches,
		   tl->commands, tl->launches, tl->bytes);
	list_for_each_entry(member, &tl->members, link)
		cmx_member_show(m, member);
	mutex_unlock(&tl->lock);
}

void cmx_timeline_show(struct seq_file *m)
{
	struct cmx_timeline *tl;

	mutex_lock(&cmx_timelines_lock);
	list_for_each_entry(tl, &cmx_timelines, all)
		cmx_timeline_show_one(m, tl);
	mutex_unlock(&cmx_timelines_lock);
}
