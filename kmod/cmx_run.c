// SPDX-License-Identifier: GPL-2.0-only
/*
 * RUN: the calling thread carries out commands of its own file until its actor's
 * condition holds, there are launches for it, or it has to wait for others.
 *
 * NEED_WAKEUP.  A submitter stores the ring's tail (release), sets its doorbell bit,
 * does a full barrier and reads need_wakeup.  A thread that is about to sleep stores
 * need_wakeup, does a full barrier and reads the doorbells:
 *
 *	submitter			runner
 *	tail = t     (release)		need_wakeup = 1
 *	doorbell |= bit			smp_mb()			(A)
 *	full barrier	(B)		if (doorbell, or other rings) do not sleep
 *	if (need_wakeup) WAKE		sleep until kicks changes
 *
 * With A and B it cannot be that both loads miss the other's store.  Without A the
 * runner's load may be done before its store is seen, without B the submitter's; then
 * both go on and the entry lies there until somebody else calls RUN.  That the runner
 * compares @kicks with what it read before it looked at anything makes a WAKE, or another
 * timeline's message, between the look and the sleep count.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "cmx_array.h"
#include "cmx_batch.h"
#include "cmx_cq.h"
#include "cmx_exec.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_step.h"
#include "cmx_timeline.h"

/* How often a sleeper looks whether threads that have batches, and other files, still live. */
#define CMX_REAP_PERIOD		(HZ / 10 + 1)

/** struct cmx_run - one call. */
struct cmx_run {
	struct cmx_file *file;
	struct drm_cmx_run *args;
	struct cmx_member *member;
	/** @actor: whose wait it is, or NULL; valid while the member is not detached. */
	struct cmx_actor *actor;
	/** @cq: CMX_UNTIL_CQ: a reference. */
	struct cmx_cq *cq;
	struct cmx_outcomes outcomes;
	/** @launches: what the caller gets. */
	struct drm_cmx_launch *launches;
	/** @deadline: host time to give up at, or KTIME_MAX. */
	ktime_t deadline;
	/** @settled: outcomes were taken: the call may no longer just fail. */
	bool settled;
};

static int cmx_run_check_helper(struct cmx_file *file, const struct drm_cmx_run *args)
{
	if (args->actor)
		return cmx_refuse(file, -EINVAL, "actor", args->actor, 0, "a helper is no actor");
	if (args->until)
		return cmx_refuse(file, -EINVAL, "until", args->until, 0,
				  "a helper waits for nothing");
	return cmx_check_zero(file, "cond", args->cond) ?: cmx_check_zero(file, "va", args->va) ?:
	       cmx_check_zero(file, "value", args->value);
}

/* Fields of one kind of condition must be zero with the others. */
static int cmx_run_check_until(struct cmx_file *file, const struct drm_cmx_run *args)
{
	bool memory = args->until == CMX_UNTIL_MEMORY;

	if (args->until == CMX_UNTIL_NONE || args->until > CMX_UNTIL_PROGRESS)
		return cmx_refuse(file, -EINVAL, "until", args->until, CMX_UNTIL_PROGRESS,
				  "not a condition an actor can wait for");
	if (memory ? args->cond > CMX_COND_GT : args->cond)
		return cmx_refuse(file, -EINVAL, "cond", args->cond, memory ? CMX_COND_GT : 0,
				  "no such comparison here");
	if (memory ? args->va & 7 : args->va)
		return cmx_refuse(file, -EINVAL, "va", args->va, 0,
				  memory ? "not 8-byte aligned" : "not zero");
	if (args->until == CMX_UNTIL_CQ ? args->value > U32_MAX : 0)
		return cmx_refuse(file, -EINVAL, "value", args->value, U32_MAX,
				  "not an index of a completion ring");
	if (args->until >= CMX_UNTIL_IDLE && args->value)
		return cmx_refuse(file, -EINVAL, "value", args->value, 0, "not zero");
	return 0;
}

static int cmx_run_check(struct cmx_file *file, const struct drm_cmx_run *args)
{
	int ret;

	if (current->mm != file->mm)
		return cmx_refuse(file, -EPERM, "fd", 0, 0, "opened by another process");
	ret = cmx_check_flags(file, "flags", args->flags, CMX_RUN_FLAGS);
	if (!ret)
		ret = cmx_check_zero(file, "pad", args->pad);
	if (!ret && args->until != CMX_UNTIL_CQ)
		ret = cmx_check_zero(file, "object", args->object);
	if (!ret)
		ret = cmx_array_check(file, "launches", &args->launches,
				      sizeof(struct drm_cmx_launch));
	if (ret)
		return ret;
	return args->flags & CMX_RUN_HELPER ? cmx_run_check_helper(file, args) :
					      cmx_run_check_until(file, args);
}

/* Before much is copied: whether this thread has a batch of that many at all. */
static int cmx_run_expect(struct cmx_run *run)
{
	u32 given = run->args->outcomes.count, count = 0;
	struct cmx_member *member = run->member;
	struct cmx_batch *batch;

	mutex_lock(&member->timeline->lock);
	batch = member->detached ? NULL : cmx_batch_find(member);
	if (batch)
		count = batch->count;
	mutex_unlock(&member->timeline->lock);
	if (!count)
		return cmx_refuse(run->file, -EINVAL, run->args->batch ? "batch" : "outcomes",
				  run->args->batch, 0, "this thread has no batch");
	if (given == count)
		return 0;
	return cmx_refuse(run->file, -EINVAL, "outcomes", given, count,
			  "not one outcome for each launch of the batch");
}

static int cmx_run_prepare(struct cmx_run *run)
{
	struct drm_cmx_run *args = run->args;
	struct cmx_object *obj;

	run->deadline = args->host_timeout_ns ?
			ktime_add_safe(ktime_get(), min_t(u64, args->host_timeout_ns, KTIME_MAX)) :
			KTIME_MAX;
	if (args->launches.count) {
		u32 max = min_t(u32, args->launches.count, CMX_MAX_BATCH);

		run->launches = kvmalloc_array(max, sizeof(*run->launches), GFP_KERNEL_ACCOUNT);
		if (!run->launches)
			return -ENOMEM;
	}
	if (args->until == CMX_UNTIL_CQ) {
		obj = cmx_object_get(run->file, CMX_OBJECT_CQ, args->object);
		if (!obj)
			return cmx_refuse(run->file, -ENOENT, "object", args->object, 0,
					  "no such completion ring");
		run->cq = to_cmx_cq(obj);
	}
	if (!args->outcomes.count)
		return 0;
	return cmx_run_expect(run) ?:
	       cmx_outcomes_copy(run->file, &args->outcomes, &run->outcomes);
}

static int cmx_run_find_actor(struct cmx_run *run)
{
	u32 id = run->args->actor;

	if (run->args->flags & CMX_RUN_HELPER)
		return 0;
	run->actor = xa_load(&run->member->actors, id);
	if (!run->actor)
		return cmx_refuse(run->file, -ENOENT, "actor", id, 0, "no such actor");
	if (run->actor->in_run)
		return cmx_refuse(run->file, -EBUSY, "actor", id, 0,
				  "another thread waits for it");
	return 0;
}

static int cmx_run_check_batch(struct cmx_run *run, struct cmx_batch *batch)
{
	struct drm_cmx_run *args = run->args;

	if (!batch && args->batch)
		return cmx_refuse(run->file, -EINVAL, "batch", args->batch, 0,
				  "this thread has no such batch");
	if (!batch && run->outcomes.count)
		return cmx_refuse(run->file, -EINVAL, "outcomes", run->outcomes.count, 0,
				  "outcomes without a batch");
	if (!batch)
		return 0;
	if (batch->id != args->batch)
		return cmx_refuse(run->file, args->batch ? -EINVAL : -EBUSY, "batch", args->batch,
				  batch->id, "this thread has another batch");
	if (run->outcomes.count != batch->count)
		return cmx_refuse(run->file, -EINVAL, "outcomes", run->outcomes.count, batch->count,
				  "not one outcome for each launch of the batch");
	if (batch->actor != run->actor)
		return cmx_refuse(run->file, -EINVAL, "actor", args->actor, 0,
				  "not who the batch was handed to");
	return 0;
}

/* An actor that is away with a batch waits in that thread only. */
static bool cmx_actor_is_away(struct cmx_timeline *tl, struct cmx_actor *actor)
{
	struct cmx_batch *batch;

	list_for_each_entry(batch, &tl->batches, link)
		if (batch->actor == actor && batch->owner != current)
			return true;
	return false;
}

/* What clients wrote: entries, receive entries, how far they read completions. */
static bool cmx_member_rings(struct cmx_member *member)
{
	bool any = cmx_member_doorbells(member);

	any |= cmx_member_refill(member);
	any |= cmx_member_receive(member);
	return any;
}

static int cmx_run_enter(struct cmx_run *run)
{
	struct cmx_member *member = run->member;
	struct cmx_batch *batch = cmx_batch_find(member);
	int ret;

	ret = cmx_run_find_actor(run);
	if (!ret)
		ret = cmx_run_check_batch(run, batch);
	if (ret)
		return ret;
	if (run->actor && cmx_actor_is_away(member->timeline, run->actor))
		return cmx_refuse(run->file, -EBUSY, "actor", run->args->actor, 0,
				  "another thread has a batch for it");
	ret = run->cq ? cmx_cq_bind(run->cq, member) : 0;
	if (ret)
		return cmx_refuse(run->file, ret, "object", run->args->object, 0,
				  "destroyed, or a completion ring of another timeline");
	cmx_timeline_reap(member->timeline);
	if (batch) {
		cmx_batch_settle(batch, &run->outcomes);
		run->settled = true;
	}
	cmx_member_rings(member);
	/* What it leaves for later, the first slice does before the clock moves. */
	ret = cmx_timeline_pump(member->timeline);
	if (ret < 0 || !run->actor)
		return min(ret, 0);
	ret = cmx_actor_wait(run->actor, run->file, run->cq, run->args);
	if (ret < 0)
		return cmx_refuse(run->file, ret, "va", run->args->va, 0,
				  "not a word that can be waited for");
	if (ret && run->actor->state != CMX_ACTOR_RELEASED)
		run->args->status = CMX_RUN_DONE;
	return ret;
}

static int cmx_run_take(struct cmx_run *run)
{
	struct cmx_batch *batch = cmx_batch_take(run->member, run->actor,
						 run->args->launches.count);

	if (IS_ERR(batch))
		return PTR_ERR(batch);
	for (u32 i = 0; i < batch->count; i++)
		cmx_batch_fill(batch, i, &run->launches[i]);
	run->args->batch = batch->id;
	run->args->launches.count = batch->count;
	run->args->status = CMX_RUN_BATCH;
	return 1;
}

static long cmx_run_patience(const struct cmx_run *run)
{
	struct cmx_timeline *tl = run->member->timeline;
	bool others = tl->num_batches || !list_is_singular(&tl->members);
	long period = others ? CMX_REAP_PERIOD : MAX_SCHEDULE_TIMEOUT;
	s64 left;

	if (run->deadline == KTIME_MAX)
		return period;
	left = ktime_to_ns(ktime_sub(run->deadline, ktime_get()));
	return left > 0 ? min_t(u64, nsecs_to_jiffies64(left) + 1, period) : 0;
}

static void cmx_timeline_breathe(struct cmx_timeline *tl)
{
	mutex_unlock(&tl->lock);
	cond_resched();
	mutex_lock(&tl->lock);
}

/* Let go of the lock until something changed; barrier A of the comment on top. */
static int cmx_run_sleep(struct cmx_run *run, int seen)
{
	struct cmx_member *member = run->member;
	struct cmx_timeline *tl = member->timeline;
	long patience = cmx_run_patience(run);

	if (run->args->flags & CMX_RUN_NOBLOCK || !patience) {
		run->args->status = patience ? CMX_RUN_AGAIN : CMX_RUN_TIMEOUT;
		return 1;
	}
	member->sleepers++;
	cmx_member_publish(member);
	smp_mb(); /* A: need_wakeup before the look at the doorbells */
	if (cmx_member_rings(member)) {
		cmx_timeline_breathe(tl);
	} else {
		mutex_unlock(&tl->lock);
		wait_event_interruptible_timeout(member->wait,
						 atomic_read(&member->kicks) != seen ||
						 READ_ONCE(run->file->cdev->gone), patience);
		mutex_lock(&tl->lock);
	}
	member->sleepers--;
	if (member->detached)
		return -ENOENT;
	cmx_member_publish(member);
	cmx_timeline_reap(tl);
	cmx_member_rings(member);
	return 0;
}

static int cmx_run_slice(struct cmx_run *run)
{
	struct cmx_timeline *tl = run->member->timeline;
	/* Before the slice looks at what changes without our lock: the inbox, doorbells. */
	int seen = atomic_read(&run->member->kicks);
	int ret = cmx_member_slice(run->member, run->actor);

	if (ret < 0)
		return ret;
	if (ret == CMX_STEP_MORE) {
		cmx_timeline_breathe(tl);
		return run->member->detached ? -ENOENT : 0;
	}
	if (run->member->num_launches && run->launches)
		return cmx_run_take(run);
	return cmx_run_sleep(run, seen);
}

/* Return: 1 with the status set, or an error; -ENOENT: touch nothing of the member. */
static int cmx_run_loop(struct cmx_run *run)
{
	u64 turn = 0;
	int ret = 0;

	while (!ret) {
		if (READ_ONCE(run->file->cdev->gone))
			return -ENODEV;
		if (run->actor && run->actor->state == CMX_ACTOR_RELEASED) {
			run->args->status = run->actor->status;
			return 1;
		}
		if (signal_pending(current)) {
			run->args->status = CMX_RUN_INTERRUPTED;
			return 1;
		}
		/* Even the shortest patience gets something done. */
		if (turn++ && run->deadline != KTIME_MAX &&
		    ktime_after(ktime_get(), run->deadline)) {
			run->args->status = CMX_RUN_TIMEOUT;
			return 1;
		}
		ret = cmx_run_slice(run);
	}
	return ret;
}

static int cmx_run_locked(struct cmx_run *run)
{
	struct cmx_member *member = run->member;
	int ret;

	if (member->detached)
		return -ENOENT;
	run->args->launches.count = min_t(u32, run->args->launches.count, CMX_MAX_BATCH);
	ret = cmx_run_enter(run);
	if (ret < 0 && !run->settled)
		return ret;
	if (run->actor)
		run->actor->in_run = true;
	/* 1 with a released actor: the loop finds that, and its status. */
	if (!ret || (ret == 1 && run->actor->state == CMX_ACTOR_RELEASED))
		ret = cmx_run_loop(run);
	if (member->detached)
		return -ENOENT;
	if (run->actor) {
		run->actor->in_run = false;
		if (ret < 0 || run->args->status != CMX_RUN_BATCH)
			cmx_actor_run(run->actor);
	}
	/* The outcomes are in: a failure now is told to the next call, without them. */
	if (ret < 0 && ret != -ENODEV && run->settled) {
		run->args->status = CMX_RUN_AGAIN;
		ret = 1;
	}
	run->args->now_ps = member->timeline->now;
	cmx_timeline_publish(member->timeline);
	return ret;
}

/* The caller's memory was bad: the launches are somebody's else now. */
static void cmx_run_give_back(struct cmx_run *run)
{
	struct cmx_member *member = run->member;
	struct cmx_batch *batch;

	mutex_lock(&member->timeline->lock);
	batch = member->detached ? NULL : cmx_batch_find(member);
	if (batch) {
		if (batch->actor)
			cmx_actor_run(batch->actor);
		cmx_batch_return(batch);
	}
	mutex_unlock(&member->timeline->lock);
}

static int cmx_run_finish(struct cmx_run *run)
{
	struct drm_cmx_run *args = run->args;
	int ret = 0;

	if (args->status != CMX_RUN_BATCH) {
		args->batch = 0;
		args->launches.count = 0;
		return 0;
	}
	for (u32 i = 0; !ret && i < args->launches.count; i++)
		ret = cmx_array_put(&args->launches, i, &run->launches[i],
				    sizeof(run->launches[i]));
	if (ret)
		cmx_run_give_back(run);
	return ret;
}

static void cmx_run_cleanup(struct cmx_run *run)
{
	if (run->cq)
		cmx_object_put(&run->cq->obj);
	cmx_outcomes_free(&run->outcomes);
	kvfree(run->launches);
	cmx_object_put(&run->member->obj);
}

int cmx_ioctl_run(struct cmx_file *file, void *data)
{
	struct cmx_run run = { .file = file, .args = data };
	int ret = cmx_run_check(file, data);

	if (ret)
		return ret;
	run.member = cmx_member_get(file, "timeline", run.args->timeline);
	if (IS_ERR(run.member))
		return PTR_ERR(run.member);
	ret = cmx_run_prepare(&run);
	if (!ret) {
		mutex_lock(&run.member->timeline->lock);
		ret = cmx_run_locked(&run);
		mutex_unlock(&run.member->timeline->lock);
	}
	if (ret > 0)
		ret = cmx_run_finish(&run);
	cmx_run_cleanup(&run);
	return ret;
}

static int cmx_signal_word(struct cmx_file *file, struct cmx_timeline *tl,
			   struct drm_cmx_signal *args)
{
	u32 op = args->op == CMX_SIGNAL_ADD ? UB_OP_FADD : UB_OP_SWAP;
	int ret = cmx_word_update(file, tl, op, args->va, sizeof(u64), args->value, 0,
				  &args->old);

	switch (ret) {
	case -EREMOTEIO:
		return cmx_refuse(file, -EFAULT, "va", args->va, 0, "not mapped for writing");
	case -EOPNOTSUPP:
		return cmx_refuse(file, ret, "va", args->va, 0, "memory without data");
	default:
		return ret;
	}
}

int cmx_ioctl_signal(struct cmx_file *file, void *data)
{
	struct drm_cmx_signal *args = data;
	struct cmx_member *member;
	int ret;

	if (args->op > CMX_SIGNAL_ADD)
		return cmx_refuse(file, -EINVAL, "op", args->op, CMX_SIGNAL_ADD,
				  "unknown operation");
	if (args->va & 7)
		return cmx_refuse(file, -EINVAL, "va", args->va, 0, "not 8-byte aligned");
	member = cmx_member_get(file, "timeline", args->timeline);
	if (IS_ERR(member))
		return PTR_ERR(member);
	mutex_lock(&member->timeline->lock);
	ret = cmx_signal_word(file, member->timeline, args);
	if (!ret)
		cmx_timeline_kick(member->timeline);
	mutex_unlock(&member->timeline->lock);
	cmx_object_put(&member->obj);
	return ret;
}
