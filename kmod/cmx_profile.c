// SPDX-License-Identifier: GPL-2.0-only
/*
 * The built-in machine: CloudMatrix384.
 *
 * "Published" is "Serving Large Language Models on Huawei CloudMatrix384" (arXiv
 * 2506.12708 v2).  What is not published there is marked "assumed", with the reason;
 * such a number is nobody's measurement.
 */
#include <linux/math.h>

#include "cmx_profile.h"

#define GIGA		1000000000ULL
#define TERA		(1000 * GIGA)
#define NS		1000ULL			/* picoseconds */
#define PUBLISHED_LEN	512			/* bytes of the published latencies */

/*
 * Table 1 gives a bandwidth and the time of 512 bytes.  The bytes' own share is taken out
 * of that time, so that latency + 512 / rate gives it back.
 */
#define SHARE(gbps)	DIV_ROUND_UP(PUBLISHED_LEN * NS, gbps)

static const struct cmx_profile cmx_cloudmatrix384 = {
	.name = "cloudmatrix384",

	/* Published: 48 nodes of 8 NPUs with 2 dies each, and 4 CPU sockets. */
	.nodes = 48,
	.npus_per_node = 8,
	.dies_per_npu = 2,
	.sockets_per_node = 4,
	/* Published: 24 cube cores (AIC) and 48 vector cores (AIV) in a die. */
	.cube_cores = 24,
	.vector_cores = 48,

	/* Published: 64 GB of HBM at 1.6 TB/s in a die. */
	.die_capacity = 64ULL << 30,
	.hbm_rate = 1600 * GIGA,
	/*
	 * Assumed: a socket's memory is not published.  1.5 TiB in a node, eight channels
	 * of DDR4-3200 or four of DDR5 give about 200 GB/s.
	 */
	.socket_capacity = 384ULL << 30,
	.socket_mem_rate = 200 * GIGA,

	/* Published: a die has 7 links of 28 GB/s; a socket's port has 160 GB/s. */
	.die_port_rate = 196 * GIGA,
	.socket_port_rate = 160 * GIGA,

	.cube_rate = {
		/* Published: INT8 752 TOPS, BF16 about 376 TFLOPS. */
		[CMX_OPS_INT8] = 752 * TERA,
		[CMX_OPS_BF16] = 376 * TERA,
		/* Assumed: both 16-bit formats run at one rate. */
		[CMX_OPS_F16] = 376 * TERA,
		/* Assumed: a quarter of the 16-bit rate, as four half-width products. */
		[CMX_OPS_F32] = 94 * TERA,
	},
	/*
	 * Assumed: 16 x 16 x 16 multiply-adds a cycle and cube core make the published
	 * BF16 rate at 1.91 GHz; 256-byte vectors then give 48 * 64 * 2 * 1.91e9.
	 */
	.vector_rate = 11735 * GIGA,

	.compute_permille = {
		/* Published: INT8 GEMM reaches 79.4 % to 82.7 % of peak; the middle. */
		[CMX_EFF_GEMM] = 810,
		/* Published: compute-bound MLA reaches 65.4 % of peak. */
		[CMX_EFF_ATTENTION] = 654,
		/* Assumed: as GEMM. */
		[CMX_EFF_VECTOR] = 810,
	},
	.mem_permille = {
		/* Published for memory-bound MLA, 1346 of 1600 GB/s; assumed for the others. */
		[CMX_EFF_GEMM] = 841,
		[CMX_EFF_ATTENTION] = 841,
		[CMX_EFF_VECTOR] = 841,
	},

	/* Assumed: none of the three is published; see docs/timing.md for their weight. */
	.launch_ps = 2000 * NS,
	.issue_ps = 100 * NS,
	.message_ps = 10 * NS,

	.read = {
		/* Rate published (HBM); time of 512 bytes assumed. */
		[CMX_PATH_LOCAL] = { 1600 * GIGA, 200 * NS - SHARE(1600) },
		/* Rate published; time assumed half of a path through an L1 switch. */
		[CMX_PATH_SIBLING] = { 270 * GIGA, 600 * NS - SHARE(270) },
		/* Published, Table 1. */
		[CMX_PATH_NPU_INTRA] = { 167 * GIGA, 1200 * NS - SHARE(167) },
		[CMX_PATH_NPU_INTER] = { 164 * GIGA, 1900 * NS - SHARE(164) },
		[CMX_PATH_CPU_INTRA] = { 151 * GIGA, 1000 * NS - SHARE(151) },
		[CMX_PATH_CPU_INTER] = { 147 * GIGA, 1700 * NS - SHARE(147) },
		/* Only the port's rate is published; time assumed as die to far socket. */
		[CMX_PATH_CPU_CPU] = { 160 * GIGA, 1700 * NS - SHARE(160) },
	},
	.write = {
		/* As for reads. */
		[CMX_PATH_LOCAL] = { 1600 * GIGA, 200 * NS - SHARE(1600) },
		[CMX_PATH_SIBLING] = { 270 * GIGA, 650 * NS - SHARE(270) },
		/* Published, Table 1. */
		[CMX_PATH_NPU_INTRA] = { 137 * GIGA, 1300 * NS - SHARE(137) },
		[CMX_PATH_NPU_INTER] = { 135 * GIGA, 2100 * NS - SHARE(135) },
		[CMX_PATH_CPU_INTRA] = { 110 * GIGA, 1100 * NS - SHARE(110) },
		[CMX_PATH_CPU_INTER] = { 107 * GIGA, 1900 * NS - SHARE(107) },
		/* As for reads. */
		[CMX_PATH_CPU_CPU] = { 160 * GIGA, 1900 * NS - SHARE(160) },
	},
};

const struct cmx_profile *cmx_profile_builtin(void)
{
	return &cmx_cloudmatrix384;
}
