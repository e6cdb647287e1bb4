// SPDX-License-Identifier: GPL-2.0-only
/*
 * The published rows and the commands that stand for them.
 *
 * Table 1, Table 7 and the shares of peak are from "Serving Large Language Models on Huawei
 * CloudMatrix384", arXiv 2506.12708 v2; MemFabric, MemCache and DeepEP-Ascend are figures these
 * libraries' own documentation gives for the same machine.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmx_operator.h"
#include "cmx_operator_gemm.h"
#include "cmx_perf_transfer.h"
#include "cmx_verify.h"

#define LATENCY_SIZE	512u
#define RATE_SIZE	(256ull << 20)
#define POOL_SIZE	(64ull << 20)
#define POOL_DIES	16u
#define POOL_NODES	2u
#define DATA_RANKS	8u	/* operators of so many ranks are executed, not only timed */

static int need(struct cmx_verify_run *run, uint32_t nodes)
{
	uint32_t have = cmx_device(run->ctx)->num_nodes;

	if (have >= nodes)
		return 0;
	snprintf(run->error, sizeof(run->error), "the machine has %u nodes, %u are needed", have,
		 nodes);
	return -ENODEV;
}

/* Entities at the ends of a path from die 0. */
static uint32_t target_of(const struct cmx_verify_run *run, uint32_t path)
{
	const struct drm_cmx_info_device *d = cmx_device(run->ctx);

	switch (path) {
	case CMX_PATH_DIES_FAR:
		return d->num_dies / d->num_nodes;
	case CMX_PATH_DIES_NEAR:
		return d->num_dies / d->num_npus;
	case CMX_PATH_SOCKET_FAR:
		return d->num_dies + d->num_sockets / d->num_nodes;
	case CMX_PATH_SOCKET_NEAR:
		return d->num_dies;
	default:
		return 1;
	}
}

static int transfer(struct cmx_verify_run *run, const struct cmx_transfer_spec *spec,
		    struct cmx_transfer_result *result)
{
	int ret = cmx_transfer_run(run->ctx, spec, result);

	if (ret)
		snprintf(run->error, sizeof(run->error), "%s", result->error);
	return ret;
}

static int one_flow(struct cmx_verify_run *run, const struct cmx_verify_row *row, uint64_t size,
		    struct cmx_transfer_result *result)
{
	uint32_t from = 0, to = target_of(run, row->where);
	const struct cmx_transfer_spec spec = {
		.op = row->what, .from = &from, .to = &to, .flows = 1, .size = size,
		.lib = row->lib == CMX_VERIFY_WIRE ? NULL : &run->libs[row->lib],
	};
	int ret = need(run, 2);

	return ret ? ret : transfer(run, &spec, result);
}

static int measure_rate(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			double *value)
{
	struct cmx_transfer_result result;
	int ret = one_flow(run, row, RATE_SIZE, &result);

	*value = ret ? 0 : result.gbps;
	return ret;
}

static int measure_latency(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			   double *value)
{
	struct cmx_transfer_result result;
	int ret = one_flow(run, row, LATENCY_SIZE, &result);

	*value = ret ? 0 : (double)result.latency_ps / 1e6;
	return ret;
}

/* Every die of node 0 reads; the pool is on all sockets of two nodes. */
static int measure_pool(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			double *value)
{
	const struct drm_cmx_info_device *d = cmx_device(run->ctx);
	uint32_t from[POOL_DIES], to[POOL_DIES], sockets;
	struct cmx_transfer_spec spec = {
		.op = row->what, .from = from, .to = to, .flows = POOL_DIES, .size = POOL_SIZE,
		.lib = &run->libs[row->lib],
	};
	struct cmx_transfer_result result;
	int ret = need(run, POOL_NODES);

	if (ret)
		return ret;
	sockets = POOL_NODES * (d->num_sockets / d->num_nodes);
	for (uint32_t i = 0; i < POOL_DIES; i++) {
		from[i] = i;
		to[i] = d->num_dies + i % sockets;
	}
	ret = transfer(run, &spec, &result);
	*value = ret ? 0 : result.gbps / POOL_DIES;
	return ret;
}

static int measure_operator(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			    double *value)
{
	const struct cmx_operator_options opt = {
		.routing = { .ep = row->where, .tokens = 128, .topk = 8, .seed = 1 },
		.data = row->where <= DATA_RANKS,
	};
	struct cmx_operator_result result;
	int ret = cmx_operator_run(run->ctx, row->what, &run->libs[row->lib], &opt, &result);

	if (ret)
		snprintf(run->error, sizeof(run->error), "%s", result.error);
	*value = (double)result.mean_ps / 1e6;
	return ret;
}

static int measure_gemm(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			double *value)
{
	const struct cmx_gemm_shape shape = { .groups = 4, .m = 7168, .n = 4096, .k = row->what };
	struct cmx_gemm_result result;
	int ret = cmx_operator_gemm(run->ctx, &shape, &result);

	if (ret)
		snprintf(run->error, sizeof(run->error), "%s", result.error);
	*value = result.util_pct;
	return ret;
}

/* Many queries of each sequence and all heads: bound by the cores. One and few: by memory. */
static int measure_mla(struct cmx_verify_run *run, const struct cmx_verify_row *row,
		       double *value)
{
	const struct cmx_mla_shape shape = {
		.batch = 128, .context = 4096, .latent = 512, .rope = 64,
		.tokens = row->what ? 1 : 8, .heads = row->what ? 16 : 128,
	};
	struct cmx_gemm_result result;
	int ret = cmx_operator_mla(run->ctx, &shape, (int)row->what, &result);

	if (ret) {
		snprintf(run->error, sizeof(run->error), "%s", result.error);
		return ret;
	}
	*value = row->what ? (double)result.bytes * 1e3 / (double)result.time_ps : result.util_pct;
	return ret;
}

#define TABLE1(name, op, path, rate_far, rate_near, us_far, us_near)				\
	{ "table1." name ".inter.gbps", "GB/s", rate_far, CMX_VERIFY_FITTED, 3,			\
	  measure_rate, CMX_VERIFY_WIRE, op, CMX_PATH_##path##_FAR },				\
	{ "table1." name ".intra.gbps", "GB/s", rate_near, CMX_VERIFY_FITTED, 3,		\
	  measure_rate, CMX_VERIFY_WIRE, op, CMX_PATH_##path##_NEAR },				\
	{ "table1." name ".inter.us", "us", us_far, CMX_VERIFY_FITTED, 3,			\
	  measure_latency, CMX_VERIFY_WIRE, op, CMX_PATH_##path##_FAR },			\
	{ "table1." name ".intra.us", "us", us_near, CMX_VERIFY_FITTED, 3,			\
	  measure_latency, CMX_VERIFY_WIRE, op, CMX_PATH_##path##_NEAR }

#define MEMFABRIC(name, op, path, rate)								\
	{ "memfabric." name ".gbps", "GB/s", rate, CMX_VERIFY_FITTED, 5,			\
	  measure_rate, CMX_VERIFY_MEMFABRIC, op, path }

#define OPERATOR(prefix, lib, name, op, ep, us, kind, bound)					\
	{ prefix "." name ".ep" #ep ".us", "us", us, kind, bound, measure_operator, lib, op, ep }

#define CANN(name, op, ep, us)									\
	OPERATOR("cann-ep", CMX_VERIFY_CANN_EP, name, op, ep, us, CMX_VERIFY_FITTED, 3)

#define DEEPEP(name, op, ep, us, kind)								\
	OPERATOR("deepep-ascend", CMX_VERIFY_DEEPEP_ASCEND, name, op, ep, us, kind, 3)

const struct cmx_verify_row cmx_verify_rows[] = {
	TABLE1("npu-npu.read", CMX_TRANSFER_READ, DIES, 164, 167, 1.9, 1.2),
	TABLE1("npu-npu.write", CMX_TRANSFER_WRITE, DIES, 135, 137, 2.1, 1.3),
	TABLE1("npu-cpu.read", CMX_TRANSFER_READ, SOCKET, 147, 151, 1.7, 1.0),
	TABLE1("npu-cpu.write", CMX_TRANSFER_WRITE, SOCKET, 107, 110, 1.9, 1.1),
	{ "die-die.read.gbps", "GB/s", 270, CMX_VERIFY_FITTED, 3, measure_rate, CMX_VERIFY_WIRE,
	  CMX_TRANSFER_READ, CMX_PATH_SIBLINGS },
	{ "die-die.write.gbps", "GB/s", 270, CMX_VERIFY_FITTED, 3, measure_rate, CMX_VERIFY_WIRE,
	  CMX_TRANSFER_WRITE, CMX_PATH_SIBLINGS },
	MEMFABRIC("npu-npu.read", CMX_TRANSFER_READ, CMX_PATH_DIES_NEAR, 166.5),
	MEMFABRIC("npu-npu.write", CMX_TRANSFER_WRITE, CMX_PATH_DIES_NEAR, 138.0),
	MEMFABRIC("npu-cpu.read", CMX_TRANSFER_READ, CMX_PATH_SOCKET_NEAR, 110.2),
	MEMFABRIC("npu-cpu.write", CMX_TRANSFER_WRITE, CMX_PATH_SOCKET_NEAR, 74.5),
	{ "memcache.pool.16-dies.gbps", "GB/s", 46, CMX_VERIFY_ORIENTATION, 0, measure_pool,
	  CMX_VERIFY_MEMFABRIC, CMX_TRANSFER_READ, 0 },
	CANN("dispatch", CMX_OPERATOR_DISPATCH, 8, 116),
	CANN("dispatch", CMX_OPERATOR_DISPATCH, 32, 133),
	CANN("dispatch", CMX_OPERATOR_DISPATCH, 256, 152),
	CANN("combine", CMX_OPERATOR_COMBINE, 8, 118),
	CANN("combine", CMX_OPERATOR_COMBINE, 32, 146),
	CANN("combine", CMX_OPERATOR_COMBINE, 256, 149),
	DEEPEP("dispatch", CMX_OPERATOR_DISPATCH, 8, 132, CMX_VERIFY_FITTED),
	DEEPEP("dispatch", CMX_OPERATOR_DISPATCH, 16, 139, CMX_VERIFY_PREDICTED),
	DEEPEP("dispatch", CMX_OPERATOR_DISPATCH, 32, 153, CMX_VERIFY_FITTED),
	DEEPEP("combine", CMX_OPERATOR_COMBINE, 8, 126, CMX_VERIFY_FITTED),
	DEEPEP("combine", CMX_OPERATOR_COMBINE, 16, 135, CMX_VERIFY_PREDICTED),
	DEEPEP("combine", CMX_OPERATOR_COMBINE, 32, 151, CMX_VERIFY_FITTED),
	{ "gemm.int8.k4096.pct", "%", 79.4, CMX_VERIFY_FITTED, 3, measure_gemm, CMX_VERIFY_WIRE,
	  4096, 0 },
	{ "gemm.int8.k8192.pct", "%", 82.7, CMX_VERIFY_FITTED, 3, measure_gemm, CMX_VERIFY_WIRE,
	  8192, 0 },
	{ "mla.bf16.compute.pct", "%", 65.4, CMX_VERIFY_FITTED, 3, measure_mla, CMX_VERIFY_WIRE,
	  0, 0 },
	{ "mla.bf16.memory.gbps", "GB/s", 1346, CMX_VERIFY_FITTED, 3, measure_mla,
	  CMX_VERIFY_WIRE, 1, 0 },
};

const uint32_t cmx_verify_num_rows = sizeof(cmx_verify_rows) / sizeof(cmx_verify_rows[0]);

int cmx_verify_measure(struct cmx_verify_run *run, const struct cmx_verify_row *row,
		       struct cmx_verify_result *result)
{
	double value;
	int ret = row->measure(run, row, &value);

	if (ret)
		return ret;
	/* What is printed is what is compared. */
	result->measured = true;
	result->modelled = round(value * 1000) / 1000;
	result->error_pct = round((value / row->published - 1) * 100000) / 1000;
	return 0;
}
