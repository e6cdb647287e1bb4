// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_exchange.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmx/ep.h>

#include "cmx_libprofile.h"
#include "cmx_machine_priv.h"
#include "kernels/cmx_i8.h"

struct cmx_exchange {
	struct cmx_ep *ep;
	uint32_t ranks;
	uint32_t row_bytes;	/* of what is sent */
	uint32_t y_bytes;	/* of what goes back */
	bool time_only;
	struct cmx_die *die[];
};

uint64_t cmx_exchange_most(uint32_t ranks, uint32_t rows, uint32_t n_used, uint32_t local)
{
	return (uint64_t)ranks * rows * (n_used < local ? n_used : local);
}

static uint32_t row_bytes(const struct cmx_exchange_shape *s)
{
	return s->int8 ? (uint32_t)cmx_i8_row_bytes(s->hidden) : s->hidden * 4;
}

static struct cmx_ep_desc describe(const struct cmx_exchange_shape *s, bool time_only)
{
	return (struct cmx_ep_desc){
		.ranks = s->ranks, .hidden = s->hidden, .topk = s->n_used, .max_tokens = s->rows,
		.experts = s->n_expert, .local = s->local, .placement = s->placement,
		.dispatch_format = s->int8 ? CMX_EP_ROWS : CMX_EP_F32,
		.combine_format = s->int8 ? CMX_EP_BF16 : CMX_EP_F32,
		.row_bytes = s->int8 ? row_bytes(s) : 0, .max_rows = s->received,
		.flags = time_only ? CMX_EP_TIME_ONLY : 0,
	};
}

int cmx_exchange_bytes(const struct cmx_exchange_shape *shape, uint64_t *bytes,
		       struct cmx_infer_err *err)
{
	const struct cmx_ep_desc d = describe(shape, false);
	struct cmx_ep_sizes sizes;
	int ret = cmx_ep_query_sizes(&d, &sizes);

	if (ret)
		return cmx_machine_fail(err, ret, "exchange");
	*bytes = sizes.total;
	return 0;
}

/* What the vendor's operators take beside bytes: docs/operators.md. */
static int library_costs(struct cmx_ep_costs *costs, struct cmx_infer_err *err)
{
	struct cmx_libprofile p;
	int ret = cmx_libprofile_load(&p, CMX_LIBPROFILE_DEFAULT);

	if (!ret)
		ret = cmx_libprofile_needs(&p, CMX_LIB_ROW_PS, CMX_LIB_PEER_PS, "exchange");
	if (ret)
		return cmx_infer_fail(err, ret, "%s", p.error);
	*costs = (struct cmx_ep_costs){
		.row_ps = p.value[CMX_LIB_ROW_PS], .count_ps = p.value[CMX_LIB_COUNT_PS],
		.peer_ps = p.value[CMX_LIB_PEER_PS],
	};
	return 0;
}

static int create(struct cmx_exchange *x, const struct cmx_exchange_shape *shape,
		  struct cmx_infer_err *err)
{
	struct cmx_ep_desc d = describe(shape, x->time_only);
	int ret = library_costs(&d.costs, err);
	uint32_t *entities;

	if (ret)
		return ret;
	entities = calloc(x->ranks, sizeof(*entities));
	if (!entities)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u ranks", x->ranks);
	for (uint32_t i = 0; i < x->ranks; i++)
		entities[i] = x->die[i]->entity;
	d.entities = entities;
	ret = cmx_ep_create(x->die[0]->machine->ctx, &d, &x->ep);
	free(entities);
	return ret ? cmx_machine_fail(err, ret, "exchange") : 0;
}

int cmx_exchange_open(struct cmx_die *const *die, const struct cmx_exchange_shape *shape,
		      struct cmx_exchange **out, struct cmx_infer_err *err)
{
	struct cmx_exchange *x = calloc(1, sizeof(*x) + shape->ranks * sizeof(x->die[0]));
	int ret;

	if (!x)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u ranks", shape->ranks);
	x->ranks = shape->ranks;
	x->row_bytes = row_bytes(shape);
	x->y_bytes = shape->hidden * 4;
	x->time_only = cmx_die_time_only(die[0]);
	memcpy(x->die, die, shape->ranks * sizeof(*die));
	ret = create(x, shape, err);
	if (ret)
		cmx_exchange_close(x);
	else
		*out = x;
	return ret;
}

void cmx_exchange_close(struct cmx_exchange *x)
{
	if (!x)
		return;
	cmx_ep_destroy(x->ep);
	free(x);
}

int cmx_exchange_route(struct cmx_exchange *x, uint32_t rank, const int32_t *ids,
		       uint32_t tokens, struct cmx_infer_err *err)
{
	int ret = cmx_ep_set_routing(x->ep, rank, ids, tokens);

	return ret ? cmx_machine_fail(err, ret, "routing") : 0;
}

/* Room for the call on the rank's queue. */
static int begin(struct cmx_exchange *x, uint32_t rank, const char *label,
		 struct cmx_infer_err *err)
{
	return cmx_die_reserve(x->die[rank], cmx_ep_slots(x->ep), label, err);
}

static int end(struct cmx_exchange *x, uint32_t rank, int ret, const char *label,
	       struct cmx_infer_err *err)
{
	if (ret)
		return cmx_machine_fail(err, ret, label);
	cmx_die_appended(x->die[rank]);
	return 0;
}

int cmx_exchange_send(struct cmx_exchange *x, uint32_t rank, const void *rows,
		      const uint32_t *ids, uint32_t tokens, struct cmx_infer_err *err)
{
	const struct cmx_ep_dispatch d = {
		.x_va = cmx_va(rows), .ids_va = cmx_va(ids), .x_stride = x->row_bytes,
		.tokens = tokens,
	};
	struct cmx_die *die = x->die[rank];
	int ret = begin(x, rank, "dispatch send", err);

	if (ret)
		return ret;
	ret = cmx_ep_dispatch_post(x->ep, rank, die->queue, &d, CMX_ENTRY_COMPLETE, die->pending);
	return end(x, rank, ret, "dispatch send", err);
}

/* The engine's plan is the library's. */
_Static_assert(offsetof(struct cmx_plan, n_active) == 0 && offsetof(struct cmx_plan, n_rows) == 4 &&
	       offsetof(struct cmx_plan, first) == 8, "u32 n_active, n_rows, first[]");

int cmx_exchange_receive(struct cmx_exchange *x, uint32_t rank, struct cmx_received *got,
			 struct cmx_infer_err *err)
{
	struct cmx_die *die = x->die[rank];
	struct cmx_ep_received r = { 0 };
	int ret = begin(x, rank, "dispatch", err);

	if (ret)
		return ret;
	ret = cmx_ep_dispatch_wait(x->ep, rank, die->queue, &r, CMX_ENTRY_COMPLETE, die->pending);
	*got = (struct cmx_received){
		.rows = (const float *)(uintptr_t)r.rows_va, .stride = r.row_stride,
		.plan = (const struct cmx_plan *)(uintptr_t)r.plan_va,
		.load = { .active = r.n_active, .rows = r.n_rows },
	};
	return end(x, rank, ret, "dispatch", err);
}

int cmx_exchange_return(struct cmx_exchange *x, uint32_t rank, const float *y,
			struct cmx_infer_err *err)
{
	struct cmx_die *die = x->die[rank];
	int ret = begin(x, rank, "combine send", err);

	if (ret)
		return ret;
	ret = cmx_ep_combine_post(x->ep, rank, die->queue, cmx_va(y), x->y_bytes,
				  CMX_ENTRY_COMPLETE, die->pending);
	return end(x, rank, ret, "combine send", err);
}

int cmx_exchange_collect(struct cmx_exchange *x, uint32_t rank, const void **y,
			 struct cmx_infer_err *err)
{
	struct cmx_die *die = x->die[rank];
	uint64_t inbox;
	int ret = begin(x, rank, "combine wait", err);

	if (ret)
		return ret;
	ret = cmx_ep_combine_wait(x->ep, rank, die->queue, NULL, &inbox, CMX_ENTRY_COMPLETE,
				  die->pending);
	*y = ret ? NULL : (const void *)(uintptr_t)inbox;
	return end(x, rank, ret, "combine wait", err);
}
