// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmx_machine_priv.h"
#include "kernels/cmx_npu_entry.h"
#include "kernels/cmx_npu_grid.h"

/* A socket of the die's own node; its memory holds what the host hands over. */
static int find_socket(struct cmx_die *die, struct cmx_infer_err *err)
{
	struct cmx_ctx *ctx = die->machine->ctx;
	const struct drm_cmx_info_device *dev = cmx_device(ctx);
	struct drm_cmx_info_entity own, e;
	int ret = cmx_entity_info(ctx, die->entity, &own);

	if (ret)
		return cmx_machine_fail(err, ret, "die");
	if (own.kind != CMX_ENTITY_DIE)
		return cmx_infer_fail(err, -EINVAL, "--die is %u, which is not a die",
				      die->entity);
	/* Sockets follow the dies. */
	for (uint32_t i = dev->num_dies; i < dev->num_entities; i++) {
		ret = cmx_entity_info(ctx, i, &e);
		if (ret)
			return cmx_machine_fail(err, ret, "entity");
		if (e.kind == CMX_ENTITY_SOCKET && e.node == own.node) {
			die->socket = i;
			return 0;
		}
	}
	return cmx_infer_fail(err, -ENODEV, "node %u has no CPU socket", own.node);
}

static int make_queue(struct cmx_die *die, struct cmx_infer_err *err)
{
	uint32_t window = die->machine->opt.window;
	struct cmx_queue_desc q = {
		.entity = die->entity, .queue_class = CMX_QUEUE_STREAM,
		.slots = window * CMX_ENTRY_MAX_SLOTS,
	};
	int ret = cmx_cq_create(die->machine->ctx, NULL, window, CMX_CQ_BACKPRESSURE, &die->cq);

	if (ret)
		return cmx_machine_fail(err, ret, "completion ring");
	q.cq = die->cq;
	ret = cmx_queue_create(die->machine->ctx, &q, &die->queue);
	if (ret)
		return cmx_machine_fail(err, ret, "queue");
	die->label = calloc(window, sizeof(*die->label));
	return die->label ? 0 : cmx_infer_fail(err, -ENOMEM, "no memory for %u labels", window);
}

/* From now on the machine has it, and closes it. */
static int join_machine(struct cmx_die *die, struct cmx_infer_err *err)
{
	struct cmx_machine *m = die->machine;
	struct cmx_die **more = realloc(m->die, (m->n_dies + 1) * sizeof(*more));

	if (!more)
		return cmx_infer_fail(err, -ENOMEM, "no memory for die %u", m->n_dies);
	m->die = more;
	m->die[m->n_dies++] = die;
	return 0;
}

int cmx_die_open(struct cmx_machine *m, uint32_t entity, struct cmx_die **out,
		 struct cmx_infer_err *err)
{
	struct cmx_die *die = calloc(1, sizeof(*die));
	int ret;

	if (!die)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a die");
	die->machine = m;
	die->entity = entity;
	die->now_ps = m->start_ps;
	ret = join_machine(die, err);
	if (ret) {
		free(die);
		return ret;
	}
	ret = find_socket(die, err);
	if (!ret)
		ret = make_queue(die, err);
	if (!ret)
		*out = die;
	return ret;
}

void cmx_die_free(struct cmx_die *die)
{
	free(die->label);
	free(die->event);
	free(die);
}

struct cmx_machine *cmx_die_machine(const struct cmx_die *die)
{
	return die->machine;
}

bool cmx_die_time_only(const struct cmx_die *die)
{
	return die->machine->opt.time_only;
}

int cmx_die_room(const struct cmx_die *die, uint64_t *bytes, struct cmx_infer_err *err)
{
	struct drm_cmx_info_entity e;
	int ret = cmx_entity_info(die->machine->ctx, die->entity, &e);

	if (ret)
		return cmx_machine_fail(err, ret, "die");
	*bytes = e.used < e.capacity ? e.capacity - e.used : 0;
	return 0;
}

int cmx_die_alloc(struct cmx_die *die, enum cmx_place place, uint64_t size, const char *what,
		  void **va, struct cmx_infer_err *err)
{
	bool on_die = place == CMX_PLACE_DIE;
	struct cmx_mem *mem;
	int ret = cmx_mem_alloc(die->machine->ctx, on_die ? die->entity : die->socket, size,
				on_die && die->machine->opt.time_only ? CMX_MEM_NO_DATA : 0, &mem);

	if (ret)
		return cmx_machine_fail(err, ret, what);
	*va = (void *)(uintptr_t)cmx_mem_va(mem);
	return 0;
}

/* The queue is in order, so a command starts where the one before it ended. */
static int keep_event(struct cmx_die *die, const char *label, uint64_t end_ps,
		      struct cmx_infer_err *err)
{
	if (die->n_events == die->max_events) {
		uint64_t max = die->max_events ? die->max_events * 2 : 4096;
		struct cmx_trace_event *e = realloc(die->event, max * sizeof(*e));

		if (!e)
			return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64
					      " trace events", max);
		die->event = e;
		die->max_events = max;
	}
	die->event[die->n_events++] = (struct cmx_trace_event){ label, die->now_ps, end_ps };
	return 0;
}

/* What completed with @cqe is off the queue. */
static int take_completion(struct cmx_die *die, const struct cmx_cqe *cqe,
			   struct cmx_infer_err *err)
{
	const char *label = die->label[cqe->user_ctx % die->machine->opt.window];
	int ret;

	die->pending--;
	if (cqe->status != UB_CR_SUCCESS)
		return cmx_infer_fail(err, -EIO, "%s: failed with status %u, code %" PRIu64, label,
				      cqe->status, (uint64_t)cqe->imm);
	ret = die->machine->opt.trace ? keep_event(die, label, cqe->time_ps, err) : 0;
	die->now_ps = cqe->time_ps;
	return ret;
}

int cmx_die_collect(struct cmx_die *die, struct cmx_infer_err *err)
{
	struct cmx_cqe cqe;
	int ret = 0, got;

	while (!ret && die->pending) {
		got = cmx_cq_read(die->cq, &cqe);
		if (got < 0)
			return cmx_machine_fail(err, got, "completion");
		if (!got)
			break;
		ret = take_completion(die, &cqe, err);
	}
	return ret;
}

int cmx_die_submit(struct cmx_die *die, struct cmx_infer_err *err)
{
	int ret = die->pending ? cmx_queue_submit(die->queue) : 0;

	return ret ? cmx_machine_fail(err, ret, "submit") : 0;
}

int cmx_die_wait(struct cmx_die *die, struct cmx_infer_err *err)
{
	int ret, stopped;

	if (!die->pending)
		return 0;
	/*
	 * A signal that comes while this thread runs a kernel ends no wait, but kernels fail
	 * from then on, which ends the queue's work.
	 */
	do {
		ret = cmx_wait_completions(die->cq, die->pending, NULL);
		stopped = cmx_machine_check_stopped(err);
	} while (ret == -EINTR && !stopped);
	if (stopped)
		return stopped;
	return ret ? cmx_machine_fail(err, ret, "wait") : 0;
}

int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err)
{
	return cmx_machine_finish(die->machine, err);
}

int cmx_die_reserve(struct cmx_die *die, uint32_t slots, const char *label,
		    struct cmx_infer_err *err)
{
	int ret = cmx_machine_check_stopped(err);

	if (!ret && (die->pending == die->machine->opt.window ||
		     cmx_queue_space(die->queue) < slots))
		ret = cmx_die_finish(die, err);
	if (!ret)
		die->label[die->pending] = label;
	return ret;
}

void cmx_die_appended(struct cmx_die *die)
{
	die->pending++;
}

void cmx_die_set_narrow(struct cmx_die *die, bool narrow)
{
	die->narrow = narrow;
}

int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   const struct cmx_npu_load *load, struct cmx_infer_err *err)
{
	const struct cmx_kernel_desc *k = cmx_npu_entries(die->machine->opt.isa);
	const struct cmx_npu_load least = cmx_npu_least_load(id, args);
	const struct cmx_npu_load likely = cmx_npu_likely_load(id, args);
	struct cmx_launch_desc d = {
		.kernel = die->machine->kernel[id], .args = args, .args_size = k[id].args_size,
		.first_ps = UINT64_MAX,
	};
	int ret = cmx_die_reserve(die, CMX_ENTRY_MAX_SLOTS, label, err);

	if (ret)
		return ret;
	cmx_npu_cost(id, args, &likely, die->narrow, &d.cost);
	d.grid = cmx_npu_grid(id, args, &d.cost, die->machine->opt.threads);
	cmx_npu_cost(id, args, &least, die->narrow, &d.cost);
	d.min_ps = cmx_launch_bound(die->queue, &d.cost);
	if (die->machine->opt.time_only) {
		d.launch_flags = CMX_LAUNCH_TIME_ONLY;
		cmx_npu_cost(id, args, load, die->narrow, &d.cost);
	}
	ret = cmx_queue_launch(die->queue, &d, CMX_ENTRY_COMPLETE, die->pending);
	if (ret)
		return cmx_machine_fail(err, ret, label);
	cmx_die_appended(die);
	die->launches++;
	return 0;
}

int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err)
{
	int ret = cmx_die_reserve(die, 1, label, err);

	if (ret)
		return ret;
	ret = cmx_queue_copy(die->queue, cmx_va(dst), cmx_va(src), len, CMX_ENTRY_COMPLETE,
			     die->pending);
	if (ret)
		return cmx_machine_fail(err, ret, label);
	cmx_die_appended(die);
	return 0;
}

const struct cmx_trace_event *cmx_die_events(const struct cmx_die *die, uint64_t *n)
{
	*n = die->n_events;
	return die->event;
}

struct cmx_trace_track cmx_die_track(const struct cmx_die *die)
{
	return (struct cmx_trace_track){ die->entity, die->queue->handle };
}
