// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended errors.  A file remembers one refusal for each of its last CMX_EXTACKS
 * threads, so that a thread reads its own and not its neighbour's.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "cmx_extack.h"
#include "cmx_file.h"

static struct cmx_extack *cmx_extack_find(struct cmx_file *file, pid_t tid)
{
	int i;

	lockdep_assert_held(&file->extack_lock);
	for (i = 0; i < CMX_EXTACKS; i++) {
		if (file->extacks[i].tid == tid)
			return &file->extacks[i];
	}
	return NULL;
}

/* The calling thread's slot, emptied; the oldest one gives way. */
static struct cmx_extack *cmx_extack_claim(struct cmx_file *file)
{
	pid_t tid = task_pid_nr(current);
	struct cmx_extack *extack = cmx_extack_find(file, tid);

	if (!extack)
		extack = &file->extacks[file->extack_next++ % CMX_EXTACKS];
	memset(extack, 0, sizeof(*extack));
	extack->tid = tid;
	return extack;
}

int cmx_refuse(struct cmx_file *file, int error, const char *field, u64 value, u64 limit,
	       const char *text)
{
	struct cmx_extack *extack;

	spin_lock(&file->extack_lock);
	extack = cmx_extack_claim(file);
	extack->fresh = true;
	extack->info.error = -error;
	extack->info.value = value;
	extack->info.limit = limit;
	strscpy((char *)extack->info.field, field, sizeof(extack->info.field));
	strscpy((char *)extack->info.text, text, sizeof(extack->info.text));
	spin_unlock(&file->extack_lock);
	return error;
}

static const char *cmx_extack_text(int error)
{
	switch (error) {
	case -E2BIG:
		return "bytes past the structure this module knows are not zero";
	case -EACCES:
		return "not allowed";
	case -EFAULT:
		return "an address in the call cannot be read or written";
	case -EINTR:
		return "a signal came";
	case -ENODEV:
		return "the device was removed";
	case -ENOENT:
		return "no such handle in this file";
	case -ENOMEM:
		return "the host is out of memory";
	case -EOPNOTSUPP:
		return "not supported; of dma-bufs, only those of this device are taken";
	default:
		return "refused";
	}
}

void cmx_extack_finish(struct cmx_file *file, u32 nr, int error)
{
	struct cmx_extack *extack;

	spin_lock(&file->extack_lock);
	extack = cmx_extack_find(file, task_pid_nr(current));
	if (!extack || !extack->fresh) {
		extack = cmx_extack_claim(file);
		strscpy((char *)extack->info.text, cmx_extack_text(error),
			sizeof(extack->info.text));
	}
	extack->fresh = false;
	extack->info.nr = nr;
	extack->info.error = -error;
	spin_unlock(&file->extack_lock);
}

void cmx_extack_read(struct cmx_file *file, struct drm_cmx_info_extack *info)
{
	struct cmx_extack *extack;

	memset(info, 0, sizeof(*info));
	spin_lock(&file->extack_lock);
	extack = cmx_extack_find(file, task_pid_nr(current));
	if (extack)
		*info = extack->info;
	spin_unlock(&file->extack_lock);
}
