// SPDX-License-Identifier: GPL-2.0-only
/*
 * The built-in machine: CloudMatrix384.
 *
 * "Published" is "Serving Large Language Models on Huawei CloudMatrix384" (arXiv
 * 2506.12708 v2).  "Fitted" is chosen so that its Table 1 comes out.  "Assumed" is nobody's
 * measurement.  docs/timing.md argues each of them.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "cmx_constants.h"
#include "cmx_profile.h"

#define GIGA		1000000000ULL
#define TERA		(1000 * GIGA)
#define NS		1000ULL			/* picoseconds */
#define PUBLISHED_LEN	512			/* bytes of the published latencies */

/*
 * Table 1 gives the time of 512 bytes.  The bytes' own share is taken out of that time, so
 * that latency + 512 / rate gives it back.
 */
#define SHARE(gbps)	((PUBLISHED_LEN * NS + (gbps) / 2) / (gbps))

static const struct cmx_profile cmx_cloudmatrix384 = {
	.name = "cloudmatrix384",

	/* Published: 48 nodes of 8 NPUs with 2 dies each, and 4 CPU sockets. */
	.nodes = 48,
	.npus_per_node = 8,
	.dies_per_npu = 2,
	.sockets_per_node = 4,
	/* Published: 7 sub-planes, an L1 chip in each node and 16 L2 chips for each. */
	.planes = 7,
	.l2_per_plane = 16,
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
	/* Published: 28 GB/s from an L1 chip to each L2 chip; 270 GB/s from die to die. */
	.l2_link_rate = 28 * GIGA,
	.sibling_rate = 270 * GIGA,
	/* Published: 200 Gb/s of RDMA for a die, 400 Gb/s of VPC for a node. */
	.rdma_rate = 25 * GIGA,
	.vpc_rate = 50 * GIGA,

	/* Fitted: a read of a socket gets 151 of its port's 160 GB/s. */
	.wire_permille = 944,
	/* Fitted: the four ratios of Table 1 between two nodes and one: 0.972 to 0.985. */
	.far_permille = 978,
	/* Fitted: Table 1 inside a node, where no link limits. */
	.die_read_rate = 167 * GIGA,
	.die_write_rate = 137 * GIGA,
	.socket_write_rate = 110 * GIGA,

	/* Fitted: with 2 passes inside a node and 6 between two, Table 1's eight times. */
	.die_read_base_ps = 850 * NS - SHARE(167),
	.die_write_base_ps = 900 * NS - SHARE(137),
	.socket_read_base_ps = 650 * NS - SHARE(151),
	.socket_write_base_ps = 700 * NS - SHARE(110),
	.read_pass_ps = 175 * NS,
	.write_pass_ps = 200 * NS,
	/* Assumed: half of a path through an L1 chip; and a trip to the own memory. */
	.sibling_read_ps = 600 * NS - SHARE(270),
	.sibling_write_ps = 650 * NS - SHARE(270),
	.local_ps = 200 * NS - SHARE(800),
	/* Assumed: usual of RoCE through a few switches; of virtual networks. */
	.rdma_ps = 2000 * NS,
	.vpc_ps = 10000 * NS,

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
		/* Fitted: the middle of the published 79.4 % to 82.7 % of peak (INT8). */
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

	/* Assumed: none of the two is published; see docs/timing.md for their weight. */
	.launch_ps = 2000 * NS,
	.message_ps = 10 * NS,
	.issue_ps = {
		/* Assumed. */
		[CMX_QUEUE_STREAM] = 100 * NS,
		[CMX_QUEUE_UB] = 100 * NS,
		/* Published by users of copy engines: 1.6 us to 5.4 us each; the lower end. */
		[CMX_QUEUE_SDMA] = 1600 * NS,
	},
	/* Assumed: UB's timer unit of 4.096 us, doubled eight times. */
	.ack_timeout_ps = 4096 * NS << 8,
};

const struct cmx_profile *cmx_profile_builtin(void)
{
	return &cmx_cloudmatrix384;
}

#define CMX_FIELD(id, key, member, unit, low, high) {			\
	.name = #key,							\
	.offset = offsetof(struct cmx_profile, member),			\
	.size = sizeof_field(struct cmx_profile, member),		\
	.min = low,							\
	.max = high,							\
},

const struct cmx_profile_field cmx_profile_fields[] = {
	CMX_PROFILE_CONSTANTS(CMX_FIELD)
};

const u32 cmx_profile_num_fields = ARRAY_SIZE(cmx_profile_fields);

u64 cmx_profile_get(const struct cmx_profile *profile, const struct cmx_profile_field *field)
{
	const void *p = (const void *)profile + field->offset;

	return field->size == sizeof(u32) ? *(const u32 *)p : *(const u64 *)p;
}

void cmx_profile_put(struct cmx_profile *profile, const struct cmx_profile_field *field, u64 value)
{
	void *p = (void *)profile + field->offset;

	if (field->size == sizeof(u32))
		*(u32 *)p = min_t(u64, value, U32_MAX);
	else
		*(u64 *)p = value;
}

int cmx_profile_check(const struct cmx_profile *profile, u32 nodes, char *why, size_t size)
{
	if (!profile->name[0] || !memchr(profile->name, 0, sizeof(profile->name))) {
		snprintf(why, size, "name is not 1 to %zu characters", sizeof(profile->name) - 1);
		return -EINVAL;
	}
	for (u32 i = 0; i < cmx_profile_num_fields; i++) {
		const struct cmx_profile_field *field = &cmx_profile_fields[i];
		u64 value = cmx_profile_get(profile, field);

		if (value >= field->min && value <= field->max)
			continue;
		snprintf(why, size, "%s is %llu, at %s %llu", field->name, value,
			 value < field->min ? "least" : "most",
			 value < field->min ? field->min : field->max);
		return -EINVAL;
	}
	if (nodes > profile->nodes) {
		snprintf(why, size, "nodes is %u, %s has %u", nodes, profile->name, profile->nodes);
		return -EINVAL;
	}
	return 0;
}
