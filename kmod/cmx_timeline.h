/* SPDX-License-Identifier: GPL-2.0-only */
/* A virtual clock, the files that share it, and those who submit to it. */
#ifndef CMX_TIMELINE_H
#define CMX_TIMELINE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "cmx_drm.h"
#include "cmx_heap.h"
#include "cmx_leg.h"
#include "cmx_object.h"
#include "cmx_server.h"
#include "cmx_watch.h"

struct cmx_counters;
struct cmx_cq;
struct cmx_device;
struct cmx_machine;
struct cmx_queue;
struct seq_file;

/**
 * struct cmx_timeline - a virtual clock.
 *
 * Commands of all member files' queues are events in @heap.  A thread in RUN takes
 * the first event; the clock is that event's time.  On a deterministic timeline it
 * does so only while no actor runs, so what is in the heap cannot depend on the host.
 *
 * Lock order: @lock, then cmx_vm.lock, cmx_bo.lock, cmx_bo.watch_lock, @inbox_lock,
 * @kick_lock, the event list's lock.  No user memory is touched under any of them.
 */
struct cmx_timeline {
	/** @ref: members and file descriptors. */
	struct kref ref;
	/** @cdev: device; a reference. */
	struct cmx_device *cdev;
	/** @all: in the list of all timelines (debugfs, removal). */
	struct list_head all;
	/** @lock: protects everything below unless said otherwise. */
	struct mutex lock;
	/** @id: number in traces. */
	u32 id;
	/** @active: event that is being carried out, or NULL. */
	struct cmx_heap_node *active;
	/** @flags: CMX_TIMELINE_*. */
	u32 flags;
	/** @next_ordinal: number of the next queue. */
	u32 next_ordinal;
	/** @next_member: number of the next member. */
	u32 next_member;
	/** @now: virtual time of the last event. */
	u64 now;
	/** @heap: events. */
	struct cmx_heap heap;
	/** @partial: an event that has taken effect in part; nobody looks before its rest. */
	struct cmx_heap_node *partial;
	/** @servers: when resources are free. */
	struct cmx_servers servers;
	/** @flow: what is being charged and never had to wait. */
	struct cmx_flow flow;
	/** @legs: legs of the command that is being issued. */
	struct cmx_legs legs;
	/** @members: struct cmx_member by their @link; changed under @kick_lock too. */
	struct list_head members;
	/** @actors: actors of all members. */
	u32 actors;
	/** @running: those that do not wait. */
	u32 running;
	/** @queues: queues of all members. */
	u32 queues;
	/** @batches: struct cmx_batch that threads have, by their @link. */
	struct list_head batches;
	/** @num_batches: how many. */
	u32 num_batches;
	/** @next_batch: id of the next one. */
	u64 next_batch;
	/** @pending: queues whose next entry is to be fetched, by their @pending. */
	struct list_head pending;
	/** @pool: unused struct cmx_cmd by their @link. */
	struct list_head pool;
	/** @parcels: unused struct cmx_parcel by their @link. */
	struct list_head parcels;
	/** @num_parcels: how many. */
	u32 num_parcels;
	/** @inbox_lock: protects @inbox; see struct cmx_watch. */
	spinlock_t inbox_lock;
	/** @inbox: watches that were satisfied. */
	struct list_head inbox;
	/** @kick_lock: lets cmx_timeline_kick() walk @members without @lock. */
	spinlock_t kick_lock;
	/** @commands: entries completed. */
	u64 commands;
	/** @launches: launches completed. */
	u64 launches;
	/** @bytes: bytes moved. */
	u64 bytes;
};

/** enum cmx_actor_state - states of an actor. */
enum cmx_actor_state {
	CMX_ACTOR_RUNNING,	/* in its own code: the clock stands */
	CMX_ACTOR_WAITING,	/* in RUN, or away with a batch */
	CMX_ACTOR_RELEASED,	/* its wait is over, its thread not back yet: the clock stands */
};

/**
 * struct cmx_actor - a submitter.
 */
struct cmx_actor {
	/** @member: file it belongs to. */
	struct cmx_member *member;
	/** @id: number in the member. */
	u32 id;
	/** @state: enum cmx_actor_state. */
	u32 state;
	/** @status: enum drm_cmx_run_status it was released with. */
	u32 status;
	/** @until: enum drm_cmx_until it waits for. */
	u32 until;
	/** @in_run: a thread is in RUN for it. */
	bool in_run;
	/** @cq: CMX_UNTIL_CQ: the ring, which counts it (cmx_cq.waiters). */
	struct cmx_cq *cq;
	/** @value: CMX_UNTIL_CQ: the index. */
	u32 value;
	/** @node: CMX_UNTIL_TIME: the event. */
	struct cmx_heap_node node;
	/** @watch: CMX_UNTIL_MEMORY: the comparison. */
	struct cmx_watch watch;
};

/**
 * struct cmx_member - a file on a timeline; what a timeline handle names.
 */
struct cmx_member {
	/** @obj: base. */
	struct cmx_object obj;
	/** @timeline: a reference. */
	struct cmx_timeline *timeline;
	/** @link: in cmx_timeline.members. */
	struct list_head link;
	/** @ordinal: number on the timeline. */
	u32 ordinal;
	/** @doorbell: page the client writes: a bit for each queue. */
	struct cmx_shared *doorbell;
	/** @status: struct cmx_timeline_status. */
	struct cmx_shared *status;
	/** @queues: struct cmx_queue by doorbell bit. */
	struct xarray queues;
	/** @doorbell_words: words of the doorbell page in use. */
	u32 doorbell_words;
	/** @busy: queues with entries left or in flight. */
	u32 busy;
	/** @actors: struct cmx_actor by id. */
	struct xarray actors;
	/** @launches: started and not handed out, struct cmx_launch by their @ready. */
	struct list_head launches;
	/** @num_launches: how many. */
	u32 num_launches;
	/** @parcels: records in flight, by their @link. */
	struct list_head parcels;
	/** @cqs: completion rings bound to this member, by their @link. */
	struct list_head cqs;
	/** @rqs: receive rings with senders that wait, by their @link. */
	struct list_head rqs;
	/** @doorbell_offset: for mmap(). */
	u64 doorbell_offset;
	/** @status_offset: for mmap(). */
	u64 status_offset;
	/** @detached: left the timeline: threads in RUN go home, touching nothing. */
	bool detached;
	/** @orphan: nobody can RUN for it again: others carry out what is left. */
	bool orphan;
	/** @held_work: went away with entries or launches left: others are told. */
	bool held_work;
	/** @sleepers: threads asleep in RUN. */
	u32 sleepers;
	/** @kicks: counts reasons to look again. */
	atomic_t kicks;
	/** @wait: threads asleep in RUN. */
	wait_queue_head_t wait;
};

static inline struct cmx_member *to_cmx_member(struct cmx_object *obj)
{
	return container_of(obj, struct cmx_member, obj);
}

static inline bool cmx_timeline_free_running(const struct cmx_timeline *tl)
{
	return tl->flags & CMX_TIMELINE_FREE_RUNNING;
}

/*
 * cmx_member_get() - reference to the file's membership of @handle (0: default).
 * @field: UAPI name of the handle, for a refusal
 *
 * Return: membership, or ERR_PTR(-ENOENT, -ENOMEM).
 */
struct cmx_member *cmx_member_get(struct cmx_file *file, const char *field, u32 handle);
/* cmx_member_use() - the same, counted as a user (cmx_object_use()). */
struct cmx_member *cmx_member_use(struct cmx_file *file, const char *field, u32 handle);
/* cmx_timeline_create() - a clock at 0, or ERR_PTR(-ENOMEM). */
struct cmx_timeline *cmx_timeline_create(struct cmx_device *cdev, u32 flags);
void cmx_timeline_put(struct cmx_timeline *tl);
/* cmx_timeline_file() - file that holds a reference, or ERR_PTR(). */
struct file *cmx_timeline_file(struct cmx_timeline *tl);
/* cmx_timeline_from_fd() - reference to what @fd holds, or ERR_PTR(-EBADF, -EINVAL). */
struct cmx_timeline *cmx_timeline_from_fd(int fd);
/* cmx_member_close() - at the file's close, after its handles: leave the default timeline. */
void cmx_member_close(struct cmx_file *file);
/* cmx_timeline_reap() - fail what ended threads have; forget actors of ended processes. */
void cmx_timeline_reap(struct cmx_timeline *tl);
/* cmx_member_kick() - have the member's sleeping threads look again; any context. */
void cmx_member_kick(struct cmx_member *member);
/* cmx_timeline_kick() - the same for all members; any context. */
void cmx_timeline_kick(struct cmx_timeline *tl);
/* cmx_timelines_kick() - the same for all timelines of a device. */
void cmx_timelines_kick(struct cmx_device *cdev);
/* cmx_timelines_kick_machine() - the same for all timelines of a machine. */
void cmx_timelines_kick_machine(const struct cmx_machine *machine);
/* cmx_timelines_count() - add up what timelines of a machine counted, past ones included. */
void cmx_timelines_count(struct cmx_machine *machine, struct cmx_counters *sum);
void cmx_timeline_show(struct seq_file *m);

/* cmx_member_publish() - status page: time, flags, need_wakeup. */
void cmx_member_publish(struct cmx_member *member);
/* cmx_timeline_publish() - the same for all members. */
void cmx_timeline_publish(struct cmx_timeline *tl);
/* cmx_member_doorbells() - queues whose bits are set become pending; true if there were any. */
bool cmx_member_doorbells(struct cmx_member *member);

/* Actors; the timeline's lock is held. */
int cmx_actor_add(struct cmx_member *member, u32 *id);
void cmx_actor_free(struct cmx_actor *actor);
/* cmx_actor_wait() - @actor begins to wait; 1 if its condition holds already. */
int cmx_actor_wait(struct cmx_actor *actor, struct cmx_file *file, struct cmx_cq *cq,
		   const struct drm_cmx_run *args);
/* cmx_actor_release() - its wait is over with @status; the clock stands. */
void cmx_actor_release(struct cmx_actor *actor, u32 status);
/* cmx_actor_run() - it runs again, whatever it was. */
void cmx_actor_run(struct cmx_actor *actor);
/* cmx_member_progress() - an entry of the member completed. */
void cmx_member_progress(struct cmx_member *member);
/* cmx_member_idle() - something ended: when all is idle, those who wait for it are done. */
void cmx_member_idle(struct cmx_member *member);
/* cmx_actors_forget() - @cq is going: nobody waits for it any more. */
void cmx_actors_forget(struct cmx_member *member, struct cmx_cq *cq);
/* cmx_timeline_poll_over() - nothing is there: release actors that poll. */
void cmx_timeline_poll_over(struct cmx_timeline *tl);
/* cmx_timeline_stall() - nothing can happen: release every actor. */
void cmx_timeline_stall(struct cmx_timeline *tl);

#endif
