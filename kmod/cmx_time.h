/* SPDX-License-Identifier: GPL-2.0-only */
/* Formulas of the virtual clock: what a profile's constants come to. */
#ifndef CMX_TIME_H
#define CMX_TIME_H

#include <linux/types.h>

#include "cmx_profile.h"

struct cmx_machine;
struct cmx_routes;

#define CMX_PS_PER_S	1000000000000ULL
#define CMX_PS_PER_NS	1000ULL

/** enum cmx_way - over what bytes go. */
enum cmx_way {
	CMX_WAY_LOCAL,		/* inside one entity */
	CMX_WAY_SIBLING,	/* the link between the dies of an NPU */
	CMX_WAY_UB,		/* UB planes */
	CMX_WAY_RDMA,		/* RDMA plane */
	CMX_WAY_VPC,		/* VPC plane */
	CMX_WAYS,
};

#define CMX_ENTITY_KINDS	(CMX_ENTITY_SOCKET + 1)

/** struct cmx_rate - a rate that much is divided by. */
struct cmx_rate {
	/** @rate: bytes/s. */
	u64 rate;
	/** @inverse: 2^(64 + @shift) / @rate, rounded down. */
	u64 inverse;
	/** @shift: so that @inverse has 64 bits. */
	u32 shift;
};

/**
 * struct cmx_speeds - rates of which users see all, latencies in ps.
 *
 * The last index of the UB rates says whether another node is addressed.
 */
struct cmx_speeds {
	/** @mem: memory, by enum drm_cmx_entity_kind. */
	struct cmx_rate mem[CMX_ENTITY_KINDS];
	/** @local: the same, when it reads and writes every byte. */
	struct cmx_rate local[CMX_ENTITY_KINDS];
	/** @link: one UB link, by kind. */
	struct cmx_rate link[CMX_ENTITY_KINDS][2];
	/** @port: all UB links of an entity, by kind. */
	struct cmx_rate port[CMX_ENTITY_KINDS][2];
	/** @l2_link: one link between an L1 and an L2 chip. */
	u64 l2_link;
	/** @trunk: all of a node's. */
	struct cmx_rate trunk;
	/** @read: a die's reads over UB. */
	struct cmx_rate read[2];
	/** @write: a die's writes over UB. */
	struct cmx_rate write[2];
	/** @intake: what a socket takes in of writes over UB. */
	struct cmx_rate intake[2];
	/** @sibling: the link between the dies of an NPU. */
	struct cmx_rate sibling;
	/** @rdma: a die's link to the RDMA plane. */
	struct cmx_rate rdma;
	/** @vpc: a node's link to the VPC plane. */
	struct cmx_rate vpc;
	/** @latency: by way, whether it is a write, whether the target is a socket, is far. */
	u64 latency[CMX_WAYS][2][2][2];
};

/* cmx_speeds_init() - from a machine's profile. */
void cmx_speeds_init(struct cmx_speeds *speeds, const struct cmx_profile *profile);

/* cmx_time_of() - time of @amount at @rate, rounded up; U64_MAX: too long for the clock. */
u64 cmx_time_of(u64 amount, u64 rate);

/* cmx_rate_init() - @rate, at least 1. */
void cmx_rate_init(struct cmx_rate *r, u64 rate);
/* cmx_time_at() - cmx_time_of() without a division for what is small. */
u64 cmx_time_at(u64 amount, const struct cmx_rate *r);

/* cmx_time_part() - @rate * @num / @den, at most U64_MAX. */
u64 cmx_time_part(u64 rate, u64 num, u64 den);

/** struct cmx_launch_time - what a launch takes when nothing else runs. */
struct cmx_launch_time {
	/** @overhead: before it does anything, the fixed time with it. */
	u64 overhead;
	/** @compute: its operations. */
	u64 compute;
	/** @mem_rate: bytes/s at which it uses the die's memory. */
	u64 mem_rate;
	/** @total: all of it, alone. */
	u64 total;
};

/*
 * cmx_time_launch() - time of a launch with @cube and @vector cores.
 *
 * Return: 0 or -EOVERFLOW.
 */
int cmx_time_launch(const struct cmx_profile *profile, u32 cube, u32 vector,
		    const struct cmx_cost *cost, struct cmx_launch_time *time);

/* cmx_time_extrapolated() - whether @bytes is outside what the constants were fitted on. */
bool cmx_time_extrapolated(u64 bytes);

/** struct cmx_estimate - what a way gives when nothing else runs. */
struct cmx_estimate {
	/** @read_rate: bytes/s of one large read, 0: cut off. */
	u64 read_rate;
	/** @write_rate: bytes/s of one large write. */
	u64 write_rate;
	/** @read_ps: time of a read of 512 bytes. */
	u64 read_ps;
	/** @write_ps: time of a write of 512 bytes. */
	u64 write_ps;
};

/* cmx_route_estimate() - reads of @to by @from, and writes to it; 0 or -ENOMEM. */
int cmx_route_estimate(struct cmx_machine *machine, struct cmx_routes *routes, u32 from, u32 to,
		       u32 planes, struct cmx_estimate *estimate);

#endif
