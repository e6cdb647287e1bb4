// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_operator_gemm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmx_clock.h"
#include "cmx_rig.h"

#define MAX_OPS		(1ull << 60)

/* One time-only launch on die 0; its queue has the whole die. */
static int run_launch(struct cmx_rig *rig, const struct cmx_cost *cost, uint64_t *time_ps)
{
	struct cmx_launch_desc desc = { .launch_flags = CMX_LAUNCH_TIME_ONLY,
					.first_ps = UINT64_MAX, .cost = *cost };
	struct cmx_queue *q;
	int ret = cmx_rig_queue(rig, 0, CMX_QUEUE_STREAM, 4, 0, &q);

	if (ret)
		return ret;
	ret = cmx_queue_launch(q, &desc, CMX_ENTRY_COMPLETE, 0);
	if (ret)
		return cmx_rig_lib_fail(rig, ret, "launch");
	return cmx_rig_finish(rig, 1, time_ps, 1);
}

static int measure(struct cmx_ctx *ctx, const struct cmx_cost *cost, int of_memory,
		   struct cmx_gemm_result *result)
{
	struct drm_cmx_info_entity die;
	struct cmx_rig rig;
	uint64_t start = cmx_clock_ns();
	int ret = cmx_rig_open(&rig, ctx, 16);

	if (!ret && cmx_entity_info(ctx, 0, &die))
		ret = cmx_rig_lib_fail(&rig, cmx_last_error()->code, "die");
	if (!ret)
		ret = run_launch(&rig, cost, &result->time_ps);
	if (!ret)
		result->util_pct = 1e14 * (of_memory ? (double)cost->mem_bytes :
						       (double)cost->cube_ops) /
				   ((double)result->time_ps *
				    (double)(of_memory ? die.mem_rate :
							 die.cube_rate[cost->op_class]));
	result->ops = cost->cube_ops;
	result->bytes = cost->mem_bytes;
	result->host_ns = cmx_clock_ns() - start;
	memcpy(result->error, rig.error, sizeof(result->error));
	cmx_rig_close(&rig);
	return ret;
}

/* Whether a product of dimensions stays below MAX_OPS. */
static int fits(const uint64_t *factors, int n)
{
	uint64_t product = 1;

	for (int i = 0; i < n; i++) {
		if (!factors[i] || __builtin_mul_overflow(product, factors[i], &product) ||
		    product > MAX_OPS)
			return 0;
	}
	return 1;
}

int cmx_operator_gemm(struct cmx_ctx *ctx, const struct cmx_gemm_shape *s,
		      struct cmx_gemm_result *result)
{
	const uint64_t factors[] = { 4, s->groups, s->m, s->n, s->k };
	struct cmx_cost cost = { .op_class = CMX_OPS_INT8, .efficiency = CMX_EFF_GEMM };

	memset(result, 0, sizeof(*result));
	if (!fits(factors, 5)) {
		snprintf(result->error, sizeof(result->error),
			 "groups * m * n * k is 0, or 4 times it is over 2^60");
		return -ERANGE;
	}
	cost.cube_ops = 2 * s->groups * s->m * s->n * s->k;
	cost.mem_bytes = s->groups * (s->m * s->k + s->k * s->n + 2 * s->m * s->n);
	return measure(ctx, &cost, 0, result);
}

int cmx_operator_mla(struct cmx_ctx *ctx, const struct cmx_mla_shape *s, int of_memory,
		     struct cmx_gemm_result *result)
{
	const uint64_t factors[] = { 8, s->batch, s->tokens, s->context, s->heads,
				     s->latent + s->rope };
	struct cmx_cost cost = { .op_class = CMX_OPS_BF16, .efficiency = CMX_EFF_ATTENTION };

	memset(result, 0, sizeof(*result));
	if (!fits(factors, 6)) {
		snprintf(result->error, sizeof(result->error),
			 "the attention is empty, or its operations are over 2^60");
		return -ERANGE;
	}
	/* Scores over latent and rope parts, then values over the latent part. */
	cost.cube_ops = 2 * s->batch * s->tokens * s->context * s->heads *
			(2 * s->latent + s->rope);
	cost.mem_bytes = 2 * s->batch * (s->context * (s->latent + s->rope) +
					 s->tokens * s->heads * (2 * s->latent + s->rope));
	return measure(ctx, &cost, of_memory, result);
}
