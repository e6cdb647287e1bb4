// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every time on the clock is an amount divided by a rate, rounded up, or a constant.
 * docs/timing.md argues the terms.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sizes.h>

#include "cmx_entity.h"
#include "cmx_time.h"

#define CMX_PERMILLE_64	1000ULL

/* Amounts below this times CMX_PS_PER_S fit. */
#define CMX_PIECE_SHIFT	24

/*
 * amount * 10^12 / rate in 64-bit steps: the amount is so many pieces and a rest, and a
 * piece takes so long and leaves a remainder.  A general division by 128 bits is slow where
 * the machine has none.
 */
static u64 cmx_time_long(u64 amount, u64 rate)
{
	u64 piece = CMX_PS_PER_S << CMX_PIECE_SHIFT;
	u64 pieces = amount >> CMX_PIECE_SHIFT, rest = amount & (BIT_ULL(CMX_PIECE_SHIFT) - 1);
	u64 each = div64_u64(piece, rate), left = piece - each * rate, time;

	if (check_mul_overflow(pieces, left, &left) ||
	    check_add_overflow(left, rest * CMX_PS_PER_S, &left)) {
		/* The division below faults on some machines when its result does not fit. */
		if (div64_u64(amount, rate) >= U64_MAX / CMX_PS_PER_S - 1)
			return U64_MAX;
		return mul_u64_u64_div_u64(amount, CMX_PS_PER_S, rate) + 1;
	}
	if (check_mul_overflow(pieces, each, &time) ||
	    check_add_overflow(time, div64_u64(left, rate) + 1, &time))
		return U64_MAX;
	return time;
}

/* Rounded up: a finite rate never moves bytes in no time. */
u64 cmx_time_of(u64 amount, u64 rate)
{
	if (!amount)
		return 0;
	if (likely(amount < BIT_ULL(CMX_PIECE_SHIFT)))
		return div64_u64(amount * CMX_PS_PER_S, rate) + 1;
	return cmx_time_long(amount, rate);
}

void cmx_rate_init(struct cmx_rate *r, u64 rate)
{
	u64 left = 0, inverse = 0;

	r->rate = max(rate, 1ULL);
	r->shift = fls64(r->rate) - 1;
	/* (2^(64 + shift) - 1) / rate, a bit at a time. */
	for (u32 i = 0; i < 64 + r->shift; i++) {
		bool over = left >> 63;

		left = left << 1 | 1;
		inverse <<= 1;
		if (over || left >= r->rate) {
			left -= r->rate;
			inverse |= 1;
		}
	}
	r->inverse = inverse;
}

/*
 * With 2^shift <= rate the product misses the quotient by less than 1: the amount is below
 * 2^64, and so is what the inverse lost.
 */
u64 cmx_time_at(u64 amount, const struct cmx_rate *r)
{
	u64 n, quotient;

	if (!amount)
		return 0;
	if (unlikely(amount >= BIT_ULL(CMX_PIECE_SHIFT)))
		return cmx_time_long(amount, r->rate);
	n = amount * CMX_PS_PER_S;
	quotient = mul_u64_u64_shr(n, r->inverse, 64) >> r->shift;
	return quotient + 1 + (n - quotient * r->rate >= r->rate);
}

u64 cmx_time_part(u64 rate, u64 num, u64 den)
{
	u64 times, product;

	if (!check_mul_overflow(rate, num, &product))
		return div64_u64(product, den);
	times = div64_u64(num, den);
	/* Faster than anything there is; and the division below faults on some machines. */
	if (check_mul_overflow(rate, times + 1, &product))
		return U64_MAX;
	if (times * den == num)
		return rate * times;
	return mul_u64_u64_div_u64(rate, num, den);
}

/* What users get of a UB rate: the longer header to another node takes its share. */
static void cmx_speeds_pair(u64 rate, const struct cmx_profile *p, struct cmx_rate pair[2])
{
	cmx_rate_init(&pair[0], rate);
	cmx_rate_init(&pair[1], cmx_time_part(rate, p->far_permille, CMX_PERMILLE_64));
}

static void cmx_speeds_links(struct cmx_speeds *speeds, const struct cmx_profile *p)
{
	const u64 raw[CMX_ENTITY_KINDS] = { p->die_port_rate, p->socket_port_rate };
	struct cmx_rate l2[2];

	for (u32 kind = 0; kind < CMX_ENTITY_KINDS; kind++) {
		cmx_speeds_pair(cmx_time_part(div_u64(raw[kind], p->planes), p->wire_permille,
					      CMX_PERMILLE_64), p, speeds->link[kind]);
		for (u32 far = 0; far < 2; far++)
			cmx_rate_init(&speeds->port[kind][far],
				      speeds->link[kind][far].rate * p->planes);
	}
	cmx_speeds_pair(cmx_time_part(p->l2_link_rate, p->wire_permille, CMX_PERMILLE_64), p, l2);
	speeds->l2_link = l2[1].rate;
	cmx_rate_init(&speeds->trunk, speeds->l2_link * p->planes * p->l2_per_plane);
}

/* There and back: one L1 chip inside a node; L1, L2 and L1 between two. */
static const u32 cmx_passes[2] = { 2, 6 };

static void cmx_speeds_latencies(struct cmx_speeds *speeds, const struct cmx_profile *p)
{
	const u64 base[2][2] = {
		{ p->die_read_base_ps, p->socket_read_base_ps },
		{ p->die_write_base_ps, p->socket_write_base_ps },
	};
	const u64 pass[2] = { p->read_pass_ps, p->write_pass_ps };
	const u64 sibling[2] = { p->sibling_read_ps, p->sibling_write_ps };

	for (u32 i = 0; i < 8; i++) {
		u32 write = i >> 2, socket = i >> 1 & 1, far = i & 1;

		speeds->latency[CMX_WAY_LOCAL][write][socket][far] = p->local_ps;
		speeds->latency[CMX_WAY_SIBLING][write][socket][far] = sibling[write];
		speeds->latency[CMX_WAY_UB][write][socket][far] =
			base[write][socket] + pass[write] * cmx_passes[far];
		speeds->latency[CMX_WAY_RDMA][write][socket][far] = p->rdma_ps;
		speeds->latency[CMX_WAY_VPC][write][socket][far] = p->vpc_ps;
	}
}

void cmx_speeds_init(struct cmx_speeds *speeds, const struct cmx_profile *profile)
{
	cmx_rate_init(&speeds->mem[CMX_ENTITY_DIE], profile->hbm_rate);
	cmx_rate_init(&speeds->mem[CMX_ENTITY_SOCKET], profile->socket_mem_rate);
	cmx_rate_init(&speeds->local[CMX_ENTITY_DIE], profile->hbm_rate / 2);
	cmx_rate_init(&speeds->local[CMX_ENTITY_SOCKET], profile->socket_mem_rate / 2);
	cmx_rate_init(&speeds->sibling, profile->sibling_rate);
	cmx_rate_init(&speeds->rdma, profile->rdma_rate);
	cmx_rate_init(&speeds->vpc, profile->vpc_rate);
	cmx_speeds_links(speeds, profile);
	cmx_speeds_pair(profile->die_read_rate, profile, speeds->read);
	cmx_speeds_pair(profile->die_write_rate, profile, speeds->write);
	cmx_speeds_pair(profile->socket_write_rate, profile, speeds->intake);
	cmx_speeds_latencies(speeds, profile);
}

/* amount / (rate * cores / all * permille / 1000), rounded up. */
static u64 cmx_time_cores(u64 amount, u64 rate, u32 cores, u32 all, u32 permille)
{
	u64 effective;

	if (!amount)
		return 0;
	effective = cmx_time_part(rate, (u64)cores * permille, (u64)all * CMX_PERMILLE_64);
	return cmx_time_of(amount, max(effective, 1ULL));
}

int cmx_time_launch(const struct cmx_profile *profile, u32 cube, u32 vector,
		    const struct cmx_cost *cost, struct cmx_launch_time *time)
{
	u32 eff = array_index_nospec(cost->efficiency, CMX_EFF_CLASSES);
	u32 ops = array_index_nospec(cost->op_class, CMX_OPS_CLASSES);
	u64 mem;

	if (check_add_overflow(profile->launch_ps, (u64)cost->fixed_ns * CMX_PS_PER_NS,
			       &time->overhead))
		return -EOVERFLOW;
	time->compute = max(cmx_time_cores(cost->cube_ops, profile->cube_rate[ops], cube,
					   profile->cube_cores, profile->compute_permille[eff]),
			    cmx_time_cores(cost->vector_ops, profile->vector_rate, vector,
					   profile->vector_cores, profile->compute_permille[eff]));
	time->mem_rate = max(cmx_time_part(profile->hbm_rate, profile->mem_permille[eff],
					   CMX_PERMILLE_64), 1ULL);
	mem = cmx_time_of(cost->mem_bytes, time->mem_rate);
	return check_add_overflow(time->overhead, max(time->compute, mem), &time->total) ?
	       -EOVERFLOW : 0;
}

/* The constants were fitted on 512 bytes (latency) and on large transfers (rate). */
bool cmx_time_extrapolated(u64 bytes)
{
	return bytes > SZ_4G;
}
