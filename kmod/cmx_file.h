/* SPDX-License-Identifier: GPL-2.0-only */
/* A client: one open of the device node. */
#ifndef CMX_FILE_H
#define CMX_FILE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "cmx_device.h"
#include "cmx_drm.h"
#include "cmx_event.h"
#include "cmx_vm.h"

struct drm_file;
struct drm_printer;
struct mm_struct;
struct page;

/** enum cmx_limit - what a file may hold a limited number of. */
enum cmx_limit {
	CMX_LIMIT_QUEUES,
	CMX_LIMIT_CQS,
	CMX_LIMIT_RQS,
	CMX_LIMIT_BOS,
	CMX_LIMIT_MAPPINGS,
	CMX_LIMIT_RING_PAGES,
	CMX_LIMIT_TIMELINES,
	CMX_LIMIT_ACTORS,
	CMX_LIMITS,
};

#define CMX_EXTACKS	16	/* threads whose last refusal is remembered */

/** struct cmx_extack - a thread's last refusal. */
struct cmx_extack {
	/** @tid: thread, 0: free. */
	pid_t tid;
	/** @fresh: the call that was refused has not returned yet. */
	bool fresh;
	/** @info: what the thread may read. */
	struct drm_cmx_info_extack info;
};

/**
 * struct cmx_file - a client.
 *
 * Lives from open to postclose.  Everything that points to it (queues, members of
 * timelines) is taken apart in postclose, before it is freed.
 */
struct cmx_file {
	/** @cdev: device. */
	struct cmx_device *cdev;
	/** @drm_file: DRM's side of the client; valid until postclose. */
	struct drm_file *drm_file;
	/** @link: in cmx_device.files. */
	struct list_head link;
	/** @mm: address space that opened the file (mmgrab()); compared, never used. */
	struct mm_struct *mm;
	/** @uasid: user address-space id, unique while the file is open. */
	u32 uasid;
	/** @vm: device address space. */
	struct cmx_vm vm;
	/** @objects: struct cmx_object by handle (xa_alloc_cyclic). */
	struct xarray objects;
	/** @objects_next: cursor of @objects. */
	u32 objects_next;
	/** @closing: set by postclose: what goes now, goes with the client. */
	bool closing;
	/** @default_lock: serialises creation of the default timeline. */
	struct mutex default_lock;
	/** @default_timeline: membership of handle 0, made at first use. */
	struct cmx_member *default_timeline;
	/** @counts: what the file holds, by enum cmx_limit. */
	atomic_t counts[CMX_LIMITS];
	/** @events: events and the wait queue of poll(). */
	struct cmx_event_list events;
	/** @scratch_lock: serialises making @scratch; taken in faults. */
	struct mutex scratch_lock;
	/** @scratch: page that mappings show after revocation, made at first use. */
	struct page *scratch;
	/** @extack_lock: protects @extacks and @extack_next. */
	spinlock_t extack_lock;
	/** @extack_next: slot to reuse next. */
	u32 extack_next;
	/** @extacks: last refusals. */
	struct cmx_extack extacks[CMX_EXTACKS];
	/** @commands: entries completed. */
	atomic64_t commands;
	/** @launches: launches completed. */
	atomic64_t launches;
	/** @bytes: bytes moved. */
	atomic64_t bytes;
	/** @busy_ps: virtual time its launches took (fdinfo). */
	atomic64_t busy_ps;
	/** @copy_ps: virtual time its transfers took (fdinfo). */
	atomic64_t copy_ps;
};

/* cmx_file_open() - DRM's open hook. */
int cmx_file_open(struct drm_device *drm, struct drm_file *drm_file);
/* cmx_file_close() - DRM's postclose hook. */
void cmx_file_close(struct drm_device *drm, struct drm_file *drm_file);
/* cmx_file_show_fdinfo() - DRM's fdinfo hook. */
void cmx_file_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file);
/* cmx_file_check_limits() - refuse module parameters out of range. */
int cmx_file_check_limits(void);

/* cmx_file_charge() - count @n more of @limit; -EMFILE leaves it alone. */
int cmx_file_charge(struct cmx_file *file, enum cmx_limit limit, u32 n);
void cmx_file_uncharge(struct cmx_file *file, enum cmx_limit limit, u32 n);
/* cmx_file_limit() - most of @limit a file may hold (module parameter). */
u32 cmx_file_limit(enum cmx_limit limit);

/*
 * cmx_refuse() - remember why the calling thread's call is refused.
 * @file: client
 * @error: negative errno
 * @field: UAPI field name
 * @value: offending value
 * @limit: what it was compared with
 * @text: sentence for people, a literal
 *
 * Return: @error, so that a handler can return it.
 */
int cmx_refuse(struct cmx_file *file, int error, const char *field, u64 value, u64 limit,
	       const char *text);

#endif
