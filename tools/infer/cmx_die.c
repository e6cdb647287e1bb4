// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_die.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cmx/cmx.h>

#include "cmx_stop.h"
#include "kernels/cmx_npu_cost.h"
#include "kernels/cmx_npu_entry.h"

/* Commands on their way at a time; each has room in the ring and a completion. */
#define DIE_WINDOW	512u

/* One more block for this many operations, so that threads share what is worth it. */
#define DIE_BLOCK_OPS	65536u
#define DIE_MAX_BLOCKS	64u

struct cmx_die {
	struct cmx_die_options opt;
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	struct cmx_queue *queue;
	uint64_t kernel[CMX_NPU_COUNT];
	uint32_t socket;
	uint32_t pending;		/* appended, completion not read */
	const char *label[DIE_WINDOW];	/* of those pending */
	uint64_t launches;
	uint64_t now_ps;
	struct cmx_trace_event *event;
	uint64_t n_events;
	uint64_t max_events;
};

static int lib_fail(struct cmx_infer_err *err, int ret, const char *what)
{
	const struct cmx_error *e = cmx_last_error();

	return cmx_infer_fail(err, ret, "%s: %s", what, e->code == ret ? e->text : strerror(-ret));
}

static int check_stopped(struct cmx_infer_err *err)
{
	return cmx_stopped() ? cmx_infer_fail(err, -EINTR, "interrupted") : 0;
}

/* A socket of the die's own node; its memory holds what the host hands over. */
static int find_socket(struct cmx_die *die, struct cmx_infer_err *err)
{
	const struct drm_cmx_info_device *dev = cmx_device(die->ctx);
	struct drm_cmx_info_entity own, e;
	int ret = cmx_entity_info(die->ctx, die->opt.entity, &own);

	if (ret)
		return lib_fail(err, ret, "die");
	if (own.kind != CMX_ENTITY_DIE)
		return cmx_infer_fail(err, -EINVAL, "--die is %u, which is not a die",
				      die->opt.entity);
	/* Sockets follow the dies. */
	for (uint32_t i = dev->num_dies; i < dev->num_entities; i++) {
		ret = cmx_entity_info(die->ctx, i, &e);
		if (ret)
			return lib_fail(err, ret, "entity");
		if (e.kind == CMX_ENTITY_SOCKET && e.node == own.node) {
			die->socket = i;
			return 0;
		}
	}
	return cmx_infer_fail(err, -ENODEV, "node %u has no CPU socket", own.node);
}

static int register_kernels(struct cmx_die *die, struct cmx_infer_err *err)
{
	const struct cmx_kernel_desc *k = cmx_npu_entries(die->opt.isa);

	for (int i = 0; i < CMX_NPU_COUNT; i++) {
		int ret = cmx_kernel_register_desc(die->ctx, &k[i], &die->kernel[i]);

		if (ret)
			return lib_fail(err, ret, k[i].name);
	}
	return 0;
}

static int make_queue(struct cmx_die *die, struct cmx_infer_err *err)
{
	struct cmx_queue_desc q = {
		.entity = die->opt.entity, .queue_class = CMX_QUEUE_STREAM,
		.slots = DIE_WINDOW * CMX_ENTRY_MAX_SLOTS,
	};
	int ret = cmx_cq_create(die->ctx, NULL, DIE_WINDOW, CMX_CQ_BACKPRESSURE, &die->cq);

	if (ret)
		return lib_fail(err, ret, "completion ring");
	q.cq = die->cq;
	ret = cmx_queue_create(die->ctx, &q, &die->queue);
	if (ret)
		return lib_fail(err, ret, "queue");
	/* The waiting thread works too. */
	ret = cmx_runner_start(die->ctx, die->opt.threads - 1);
	return ret ? lib_fail(err, ret, "threads") : 0;
}

int cmx_die_open(const struct cmx_die_options *opt, struct cmx_die **out,
		 struct cmx_infer_err *err)
{
	struct cmx_die *die = calloc(1, sizeof(*die));
	int ret;

	if (!die)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a die");
	die->opt = *opt;
	ret = cmx_open(NULL, 0, &die->ctx);
	if (ret)
		ret = lib_fail(err, ret, "device");
	if (!ret)
		ret = find_socket(die, err);
	if (!ret)
		ret = register_kernels(die, err);
	if (!ret)
		ret = make_queue(die, err);
	if (ret) {
		cmx_die_close(die);
		return ret;
	}
	die->now_ps = cmx_timeline_now(cmx_timeline_default(die->ctx));
	*out = die;
	return 0;
}

void cmx_die_close(struct cmx_die *die)
{
	if (!die)
		return;
	/* Takes memory, queue, ring and threads with it. */
	cmx_close(die->ctx);
	free(die->event);
	free(die);
}

bool cmx_die_time_only(const struct cmx_die *die)
{
	return die->opt.time_only;
}

int cmx_die_room(const struct cmx_die *die, uint64_t *bytes, struct cmx_infer_err *err)
{
	struct drm_cmx_info_entity e;
	int ret = cmx_entity_info(die->ctx, die->opt.entity, &e);

	if (ret)
		return lib_fail(err, ret, "die");
	*bytes = e.used < e.capacity ? e.capacity - e.used : 0;
	return 0;
}

int cmx_die_alloc(struct cmx_die *die, enum cmx_place place, uint64_t size, const char *what,
		  void **va, struct cmx_infer_err *err)
{
	bool on_die = place == CMX_PLACE_DIE;
	struct cmx_mem *mem;
	int ret = cmx_mem_alloc(die->ctx, on_die ? die->opt.entity : die->socket, size,
				on_die && die->opt.time_only ? CMX_MEM_NO_DATA : 0, &mem);

	if (ret)
		return lib_fail(err, ret, what);
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

static int take_completion(struct cmx_die *die, struct cmx_infer_err *err)
{
	struct cmx_cqe cqe;
	const char *label;
	int ret = cmx_cq_read(die->cq, &cqe);

	if (ret < 0)
		return lib_fail(err, ret, "completion");
	if (!ret)
		return cmx_infer_fail(err, -EIO, "completion ring: empty after a wait");
	label = die->label[cqe.user_ctx % DIE_WINDOW];
	if (cqe.status != UB_CR_SUCCESS)
		return cmx_infer_fail(err, -EIO, "%s: failed with status %u, code %" PRIu64, label,
				      cqe.status, (uint64_t)cqe.imm);
	ret = die->opt.trace ? keep_event(die, label, cqe.time_ps, err) : 0;
	die->now_ps = cqe.time_ps;
	return ret;
}

int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err)
{
	int ret, stopped = check_stopped(err);

	if (!die->pending || stopped)
		return stopped;
	ret = cmx_queue_submit(die->queue);
	if (ret)
		return lib_fail(err, ret, "submit");
	/*
	 * A signal that comes while this thread runs a kernel ends no wait, but kernels fail
	 * from then on, which ends the queue's work.
	 */
	do {
		ret = cmx_wait_completions(die->cq, die->pending, NULL);
		stopped = check_stopped(err);
	} while (ret == -EINTR && !stopped);
	if (stopped)
		return stopped;
	if (ret)
		return lib_fail(err, ret, "wait");
	for (; die->pending && !ret; die->pending--)
		ret = take_completion(die, err);
	return ret;
}

/* Room for one more command; a full window is carried out first. */
static int reserve(struct cmx_die *die, const char *label, struct cmx_infer_err *err)
{
	int ret = check_stopped(err);

	if (!ret && die->pending == DIE_WINDOW)
		ret = cmx_die_finish(die, err);
	if (!ret)
		die->label[die->pending] = label;
	return ret;
}

/* From the least work the launch can be, so it is the same in both modes. */
static uint32_t grid_of(enum cmx_npu_id id, const void *args, const struct cmx_cost *least)
{
	uint64_t blocks = 1 + (least->cube_ops + least->vector_ops) / DIE_BLOCK_OPS;
	uint64_t units = cmx_npu_units(id, args);

	if (blocks > units)
		blocks = units;
	return (uint32_t)(blocks < DIE_MAX_BLOCKS ? blocks : DIE_MAX_BLOCKS);
}

int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   uint32_t n_active, struct cmx_infer_err *err)
{
	const struct cmx_kernel_desc *k = cmx_npu_entries(die->opt.isa);
	struct cmx_launch_desc d = {
		.kernel = die->kernel[id], .args = args, .args_size = k[id].args_size,
		.first_ps = UINT64_MAX,
	};
	int ret = reserve(die, label, err);

	if (ret)
		return ret;
	cmx_npu_cost(id, args, cmx_npu_min_active(id, args), &d.cost);
	d.grid = grid_of(id, args, &d.cost);
	d.min_ps = cmx_launch_bound(die->queue, &d.cost);
	if (die->opt.time_only) {
		d.launch_flags = CMX_LAUNCH_TIME_ONLY;
		cmx_npu_cost(id, args, n_active, &d.cost);
	}
	ret = cmx_queue_launch(die->queue, &d, CMX_ENTRY_COMPLETE, die->pending);
	if (ret)
		return lib_fail(err, ret, label);
	die->pending++;
	die->launches++;
	return 0;
}

int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err)
{
	int ret = reserve(die, label, err);

	if (ret)
		return ret;
	ret = cmx_queue_copy(die->queue, cmx_va(dst), cmx_va(src), len, CMX_ENTRY_COMPLETE,
			     die->pending);
	if (ret)
		return lib_fail(err, ret, label);
	die->pending++;
	return 0;
}

int cmx_die_stats(const struct cmx_die *die, struct cmx_die_stats *stats,
		  struct cmx_infer_err *err)
{
	struct drm_cmx_info_client c;
	int ret = cmx_client_info(die->ctx, &c);

	if (ret)
		return lib_fail(err, ret, "client info");
	*stats = (struct cmx_die_stats){
		.launches = die->launches, .moved_bytes = c.bytes, .now_ps = die->now_ps,
	};
	return 0;
}

const struct cmx_trace_event *cmx_die_events(const struct cmx_die *die, uint64_t *n)
{
	*n = die->n_events;
	return die->event;
}

struct cmx_trace_track cmx_die_track(const struct cmx_die *die)
{
	return (struct cmx_trace_track){ die->opt.entity, die->queue->handle };
}
