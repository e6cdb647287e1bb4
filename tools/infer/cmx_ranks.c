// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_ranks.h"

#include <errno.h>
#include <stdlib.h>

/* Commands of a layer, and slots of the exchange that count as commands. */
#define LAYER_COMMANDS	32u

struct cmx_machine_options cmx_ranks_machine(const struct cmx_engine_options *e,
					     const struct cmx_model_config *c)
{
	struct cmx_machine_options o = { .window = CMX_MACHINE_WINDOW };
	uint64_t want = (uint64_t)(c->n_layer + 2) * (LAYER_COMMANDS + e->layout.ep);

	/* A step is one window, so that dies wait for each other and not for the host. */
	while (e->layout.ep > 1 && o.window < want && o.window < CMX_MACHINE_MAX_WINDOW)
		o.window *= 2;
	return o;
}

int cmx_ranks_open(struct cmx_ranks *r, struct cmx_machine *m, uint32_t first,
		   const struct cmx_layout *layout, struct cmx_infer_err *err)
{
	uint32_t n = layout->ep, dies = cmx_machine_dies(m);
	int ret = 0;

	*r = (struct cmx_ranks){ .machine = m, .layout = *layout };
	if (n > 1 && (first >= dies || n > dies - first))
		return cmx_infer_fail(err, -EINVAL,
				      "--ep is %u from die %u on, the machine has %u dies", n,
				      first, dies);
	r->die = calloc(n, sizeof(struct cmx_die *));
	r->model = calloc(n, sizeof(*r->model));
	r->rank = calloc(n, sizeof(*r->rank));
	if (!r->die || !r->model || !r->rank)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u ranks", n);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = cmx_die_open(m, first + i, &r->die[i], err);
		r->rank[i] = (struct cmx_rank){ r->die[i], &r->model[i] };
	}
	return ret;
}

static int place_experts(struct cmx_ranks *r, const struct cmx_model_config *c,
			 struct cmx_infer_err *err)
{
	uint32_t local = cmx_layout_local(&r->layout, c->n_expert) + r->spare;
	const struct cmx_placement_shape shape = {
		.ranks = r->layout.ep, .experts = c->n_expert, .local = local,
		.physical = r->layout.ep * local,
	};

	if (r->counts)
		return cmx_placement_balance(&shape, r->counts, &r->placement, err);
	return cmx_placement_even(&shape, &r->placement, err);
}

static struct cmx_exchange_shape exchange_shape(const struct cmx_ranks *r,
						const struct cmx_source *src,
						const struct cmx_engine_options *e)
{
	const struct cmx_model_config *c = cmx_source_config(src);

	return (struct cmx_exchange_shape){
		.ranks = r->layout.ep, .hidden = c->hidden, .n_expert = c->n_expert,
		.n_used = c->n_used, .rows = e->forward.rows, .received = e->forward.received,
		.local = r->placement.local, .placement = r->placement.table,
		.int8 = c->int8,
	};
}

static int load_rank(struct cmx_ranks *r, uint32_t i, const struct cmx_source *src,
		     const struct cmx_load_options *opt, struct cmx_infer_err *err)
{
	struct cmx_load_options own = *opt;

	if (r->placement.table) {
		own.experts = cmx_placement_of(&r->placement, i);
		own.n_experts = r->placement.local;
	}
	return cmx_model_load(src, r->die[i], &own, &r->model[i], err);
}

int cmx_ranks_load(struct cmx_ranks *r, const struct cmx_source *src,
		   const struct cmx_engine_options *e, const struct cmx_load_options *opt,
		   struct cmx_infer_err *err)
{
	const struct cmx_model_config *c = cmx_source_config(src);
	struct cmx_load_options own = *opt;
	struct cmx_exchange_shape shape;
	uint64_t bytes = 0;
	int ret = 0;

	cmx_forward_bytes(c, &e->forward, &own.cache_bytes, &own.buffer_bytes);
	own.mtp = e->forward.mtp;
	if (r->layout.ep > 1) {
		ret = place_experts(r, c, err);
		shape = exchange_shape(r, src, e);
		if (!ret)
			ret = cmx_exchange_bytes(&shape, &bytes, err);
		own.buffer_bytes += bytes;
	}
	for (uint32_t i = 0; i < r->layout.ep && !ret; i++)
		ret = load_rank(r, i, src, &own, err);
	if (!ret && r->layout.ep > 1)
		ret = cmx_exchange_open(r->die, &shape, &r->exchange, err);
	return ret;
}

void cmx_ranks_close(struct cmx_ranks *r)
{
	cmx_exchange_close(r->exchange);
	for (uint32_t i = 0; r->model && i < r->layout.ep; i++)
		cmx_model_free(&r->model[i]);
	free(r->die);
	free(r->model);
	free(r->rank);
	cmx_placement_free(&r->placement);
	*r = (struct cmx_ranks){ 0 };
}

uint64_t cmx_ranks_weight_bytes(const struct cmx_ranks *r)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < r->layout.ep; i++)
		bytes += r->model[i].weight_bytes;
	return bytes;
}
