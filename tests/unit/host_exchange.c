// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for the exchange between dies in unit tests: rows are carried by hand, by the
 * rules of cmx/ep.h. A receive sees what all ranks have sent before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_exchange.h"
#include "kernels/cmx_i8.h"

/* Where a row received is from. */
struct origin {
	uint32_t rank, token, choice;
};

struct rank {
	const char *sent;
	const uint32_t *ids;
	int32_t *routing;
	uint32_t tokens;
	char *rows;
	struct cmx_plan plan;
	struct origin *origin;
	void *inbox;
};

struct cmx_exchange {
	struct cmx_exchange_shape shape;
	int32_t *placement;
	uint32_t row_bytes;
	uint32_t y_bytes;
	bool time_only;
	struct rank *rank;
};

uint64_t cmx_exchange_most(uint32_t ranks, uint32_t rows, uint32_t n_used, uint32_t local)
{
	return (uint64_t)ranks * rows * (n_used < local ? n_used : local);
}

int cmx_exchange_bytes(const struct cmx_exchange_shape *s, uint64_t *bytes,
		       struct cmx_infer_err *err)
{
	(void)err;
	*bytes = (uint64_t)s->rows * s->n_used * s->hidden * 4 + s->received * s->hidden * 4ull;
	return 0;
}

static int alloc_rank(const struct cmx_exchange *x, struct rank *r)
{
	const struct cmx_exchange_shape *s = &x->shape;
	size_t slots = (size_t)s->rows * s->n_used;

	r->routing = calloc(slots, sizeof(*r->routing));
	r->rows = malloc((size_t)s->received * x->row_bytes);
	r->origin = calloc(s->received, sizeof(*r->origin));
	r->inbox = malloc(slots * x->y_bytes);
	return r->routing && r->rows && r->origin && r->inbox ? 0 : -ENOMEM;
}

int cmx_exchange_open(struct cmx_die *const *die, const struct cmx_exchange_shape *shape,
		      struct cmx_exchange **out, struct cmx_infer_err *err)
{
	struct cmx_exchange *x = calloc(1, sizeof(*x));
	size_t places = (size_t)shape->ranks * shape->local;
	int ret = 0;

	x->shape = *shape;
	x->row_bytes = shape->int8 ? (uint32_t)cmx_i8_row_bytes(shape->hidden) :
				     shape->hidden * 4;
	x->y_bytes = shape->hidden * (shape->int8 ? 2 : 4);
	x->time_only = cmx_die_time_only(die[0]);
	x->placement = malloc(places * sizeof(*x->placement));
	memcpy(x->placement, shape->placement, places * sizeof(*x->placement));
	x->rank = calloc(shape->ranks, sizeof(*x->rank));
	for (uint32_t i = 0; i < shape->ranks && !ret; i++)
		ret = alloc_rank(x, &x->rank[i]);
	*out = x;
	return ret ? cmx_infer_fail(err, ret, "no memory") : 0;
}

void cmx_exchange_close(struct cmx_exchange *x)
{
	for (uint32_t i = 0; x && i < x->shape.ranks; i++) {
		free(x->rank[i].routing);
		free(x->rank[i].rows);
		free(x->rank[i].origin);
		free(x->rank[i].inbox);
	}
	if (x) {
		free(x->rank);
		free(x->placement);
	}
	free(x);
}

int cmx_exchange_route(struct cmx_exchange *x, uint32_t rank, const int32_t *ids,
		       uint32_t tokens, struct cmx_infer_err *err)
{
	(void)err;
	memcpy(x->rank[rank].routing, ids, (size_t)tokens * x->shape.n_used * sizeof(*ids));
	return 0;
}

int cmx_exchange_send(struct cmx_exchange *x, uint32_t rank, const void *rows,
		      const uint32_t *ids, uint32_t tokens, struct cmx_infer_err *err)
{
	struct rank *r = &x->rank[rank];

	if (tokens > x->shape.rows)
		return cmx_infer_fail(err, -ENOSPC, "%u tokens, there is room for %u", tokens,
				      x->shape.rows);
	r->sent = rows;
	r->ids = x->time_only ? (const uint32_t *)r->routing : ids;
	r->tokens = tokens;
	return 0;
}

/* Whether physical expert @place is the replica that works for token @t of rank @s. */
static bool works_for(const struct cmx_exchange *x, uint32_t place, uint32_t s, uint32_t t)
{
	uint32_t n = x->shape.ranks * x->shape.local, replicas = 0, before = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (x->placement[i] != x->placement[place])
			continue;
		before += i < place;
		replicas++;
	}
	return (s + t) % replicas == before;
}

static void take_rows(const struct cmx_exchange *x, struct rank *r, uint32_t place)
{
	uint32_t used = x->shape.n_used;

	for (uint32_t s = 0; s < x->shape.ranks; s++) {
		const struct rank *from = &x->rank[s];

		for (uint32_t i = 0; i < from->tokens * used; i++) {
			if ((int32_t)from->ids[i] != x->placement[place] ||
			    !works_for(x, place, s, i / used))
				continue;
			if (r->plan.n_rows == x->shape.received)
				abort();
			r->origin[r->plan.n_rows] = (struct origin){ s, i / used, i % used };
			if (!x->time_only)
				memcpy(r->rows + (size_t)r->plan.n_rows * x->row_bytes,
				       from->sent + (size_t)(i / used) * x->row_bytes,
				       x->row_bytes);
			r->plan.n_rows++;
		}
	}
}

int cmx_exchange_receive(struct cmx_exchange *x, uint32_t rank, struct cmx_received *got,
			 struct cmx_infer_err *err)
{
	struct rank *r = &x->rank[rank];

	(void)err;
	r->plan = (struct cmx_plan){ 0 };
	for (uint32_t i = 0; i < x->shape.local; i++) {
		r->plan.first[i] = r->plan.n_rows;
		take_rows(x, r, rank * x->shape.local + i);
		r->plan.n_active += r->plan.n_rows > r->plan.first[i];
	}
	r->plan.first[x->shape.local] = r->plan.n_rows;
	*got = (struct cmx_received){
		.rows = (const float *)(const void *)r->rows, .plan = &r->plan,
		.load = { r->plan.n_active, r->plan.n_rows },
	};
	return 0;
}

static uint16_t to_bf16(float y)
{
	uint32_t u;

	memcpy(&u, &y, sizeof(u));
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static void put(const struct cmx_exchange *x, const struct origin *o, const float *y)
{
	uint32_t hidden = x->shape.hidden;
	size_t at = ((size_t)o->token * x->shape.n_used + o->choice) * hidden;
	uint16_t *half = x->rank[o->rank].inbox;

	for (uint32_t i = 0; i < hidden && x->shape.int8; i++)
		half[at + i] = to_bf16(y[i]);
	if (!x->shape.int8)
		memcpy((float *)x->rank[o->rank].inbox + at, y, hidden * sizeof(*y));
}

int cmx_exchange_return(struct cmx_exchange *x, uint32_t rank, const float *y,
			struct cmx_infer_err *err)
{
	const struct rank *r = &x->rank[rank];

	(void)err;
	for (uint32_t i = 0; i < r->plan.n_rows && !x->time_only; i++)
		put(x, &r->origin[i], y + (size_t)i * x->shape.hidden);
	return 0;
}

int cmx_exchange_collect(struct cmx_exchange *x, uint32_t rank, const void **y,
			 struct cmx_infer_err *err)
{
	(void)err;
	*y = x->rank[rank].inbox;
	return 0;
}
