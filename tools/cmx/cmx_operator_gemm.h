/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compute operators of one die: what share of its peak a launch of their cost reaches.
 */
#ifndef CMX_OPERATOR_GEMM_H
#define CMX_OPERATOR_GEMM_H

#include <stdint.h>

#include <cmx/cmx.h>

struct cmx_gemm_shape {
	uint64_t groups, m, n, k;
};

struct cmx_gemm_result {
	uint64_t time_ps;
	uint64_t ops, bytes;
	double util_pct;	/* of the cores' peak, or of the memory's rate */
	uint64_t host_ns;
	char error[640];
};

/* INT8 operands, BF16 result: `groups' products of m x k by k x n. 0 or -errno. */
int cmx_operator_gemm(struct cmx_ctx *ctx, const struct cmx_gemm_shape *shape,
		      struct cmx_gemm_result *result);

/*
 * BF16 attention over compressed keys and values: @tokens queries against @context cached
 * tokens in each of @batch sequences. util_pct is of the limit that binds.
 */
struct cmx_mla_shape {
	uint64_t batch, tokens, context;
	uint64_t heads, latent, rope;
};

int cmx_operator_mla(struct cmx_ctx *ctx, const struct cmx_mla_shape *shape, int of_memory,
		     struct cmx_gemm_result *result);

#endif
