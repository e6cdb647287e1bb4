// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands of transfers between two entities, and what they took.
 */
#include "cmx_perf_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"
#include "cmx_operator_routing.h"

#define WORD		8u
#define MAX_ITERATIONS	100u
#define MIN_ITERATIONS	4u
#define MAX_TOTAL	(64ull << 20)	/* bytes of a flow, when it is left to us */
#define LATENCY_ROUNDS	4u
#define SLOTS		256u

struct flow {
	struct cmx_queue *queue;
	struct cmx_mem *near;	/* on the entity that works */
	struct cmx_mem *far;
};

struct transfer {
	struct cmx_rig rig;
	const struct cmx_transfer_spec *spec;
	struct flow *flows;
	uint64_t *ends;
	uint32_t num_dies;
};

void cmx_transfer_fill(void *bytes, uint64_t size, uint64_t key)
{
	unsigned char *to = bytes;

	for (uint64_t i = 0; i < size; i += WORD) {
		uint64_t word = cmx_routing_mix(key, i);

		memcpy(to + i, &word, size - i < WORD ? size - i : WORD);
	}
}

bool cmx_transfer_same(const void *bytes, uint64_t size, uint64_t key)
{
	const unsigned char *at = bytes;
	bool same = true;

	for (uint64_t i = 0; i < size && same; i += WORD) {
		uint64_t word = cmx_routing_mix(key, i);

		same = !memcmp(at + i, &word, size - i < WORD ? size - i : WORD);
	}
	return same;
}

/* Whether the bytes come from the entity that works. */
static bool outward(const struct cmx_transfer_spec *spec)
{
	return spec->op != CMX_TRANSFER_READ;
}

static uint32_t queue_class(const struct cmx_transfer_spec *spec)
{
	return spec->lib || spec->op == CMX_TRANSFER_COPY ? CMX_QUEUE_SDMA : CMX_QUEUE_UB;
}

static int make_flow(struct transfer *t, uint32_t i)
{
	const struct cmx_transfer_spec *spec = t->spec;
	struct flow *f = &t->flows[i];
	/* Atomics work on real words. */
	uint32_t flags = spec->data || spec->op == CMX_TRANSFER_ATOMIC ? 0 : CMX_MEM_NO_DATA;
	int ret = cmx_rig_queue(&t->rig, spec->from[i], queue_class(spec), SLOTS, spec->planes,
				&f->queue);

	if (!ret)
		ret = cmx_rig_memory(&t->rig, spec->from[i], spec->size, flags, &f->near);
	if (!ret)
		ret = cmx_rig_memory(&t->rig, spec->to[i], spec->size, flags, &f->far);
	if (!ret && spec->data && spec->op != CMX_TRANSFER_ATOMIC)
		cmx_transfer_fill(cmx_mem_ptr(outward(spec) ? f->near : f->far), spec->size, i);
	return ret;
}

/* As a library does it: pieces with a cost each, some of them under way at a time. */
static int push_pieces(struct transfer *t, struct flow *f, uint32_t i, uint32_t flags)
{
	const struct cmx_transfer_spec *spec = t->spec;
	bool socket = spec->to[i] >= t->num_dies, out = outward(spec);
	int base = socket ? CMX_LIB_SOCKET_CHUNK : CMX_LIB_DIE_CHUNK;
	uint64_t chunk = spec->lib->value[base], depth = spec->lib->value[base + 1];
	uint64_t ps = spec->lib->value[base + (out ? 3 : 2)], piece = 0;
	struct cmx_mem *to = out ? f->far : f->near, *from = out ? f->near : f->far;
	int ret = 0;

	for (uint64_t at = 0; at < spec->size && !ret; at += chunk, piece++) {
		bool last = spec->size - at <= chunk;
		uint32_t more = last || piece % depth == depth - 1 ? 0 : CMX_ENTRY_OVERLAP;

		ret = cmx_rig_delay(&t->rig, f->queue, ps, 0, i);
		if (!ret)
			ret = cmx_queue_copy(f->queue, cmx_mem_va(to) + at, cmx_mem_va(from) + at,
					     last ? spec->size - at : chunk,
					     last ? flags : more, i);
	}
	return ret;
}

static int push_one(struct transfer *t, uint32_t i, uint32_t flags)
{
	const struct cmx_transfer_spec *spec = t->spec;
	struct flow *f = &t->flows[i];
	uint64_t near = cmx_mem_va(f->near), far = cmx_mem_va(f->far);

	if (spec->lib)
		return push_pieces(t, f, i, flags & ~CMX_ENTRY_OVERLAP);
	switch (spec->op) {
	case CMX_TRANSFER_READ:
		return cmx_queue_read(f->queue, near, far, spec->size, flags, i);
	case CMX_TRANSFER_WRITE:
		return cmx_queue_write(f->queue, far, near, spec->size, flags, i);
	case CMX_TRANSFER_COPY:
		return cmx_queue_copy(f->queue, far, near, spec->size, flags, i);
	default:
		return cmx_queue_atomic(f->queue, UB_OP_FADD, far, WORD, 1, 0, near, flags, i);
	}
}

/* @rounds of every flow, turn by turn so that no ring is full while others are empty. */
static int push_all(struct transfer *t, uint32_t rounds, uint32_t flags)
{
	int ret = 0;

	for (uint32_t round = 0; round < rounds && !ret; round++) {
		bool last = round == rounds - 1;

		for (uint32_t i = 0; i < t->spec->flows && !ret; i++)
			ret = push_one(t, i, last ? CMX_ENTRY_COMPLETE : flags);
	}
	if (ret && !t->rig.error[0])
		ret = cmx_rig_lib_fail(&t->rig, ret, "submit");
	return ret;
}

static bool word_good(const struct flow *f, uint64_t added)
{
	uint64_t word;

	memcpy(&word, cmx_mem_ptr(f->far), sizeof(word));
	return word == added;
}

static int check(struct transfer *t, uint32_t rounds)
{
	const struct cmx_transfer_spec *spec = t->spec;

	for (uint32_t i = 0; i < spec->flows; i++) {
		const struct flow *f = &t->flows[i];
		bool good = true;

		if (spec->op == CMX_TRANSFER_ATOMIC)
			good = word_good(f, rounds);
		else if (spec->data)
			good = cmx_transfer_same(cmx_mem_ptr(outward(spec) ? f->far : f->near),
						 spec->size, i);
		if (!good)
			return cmx_rig_fail(&t->rig, -EILSEQ,
					    "entity %u has other bytes than were sent between %u and %u",
					    outward(spec) ? spec->to[i] : spec->from[i],
					    spec->from[i], spec->to[i]);
	}
	return 0;
}

/* One clock from 0: @rounds operations of each flow; their ends are in t->ends. */
static int phase(struct transfer *t, struct cmx_ctx *ctx, uint32_t rounds, uint32_t flags,
		 struct cmx_transfer_result *result)
{
	const struct cmx_transfer_spec *spec = t->spec;
	int ret = cmx_rig_open(&t->rig, ctx, 4096);

	for (uint32_t i = 0; i < spec->flows && !ret; i++)
		ret = make_flow(t, i);
	if (!ret)
		ret = push_all(t, rounds, flags);
	if (!ret)
		ret = cmx_rig_finish(&t->rig, spec->flows, t->ends, spec->flows);
	if (!ret)
		ret = check(t, rounds);
	result->extrapolated |= t->rig.extrapolated;
	cmx_rig_close(&t->rig);
	return ret;
}

static void sum_up(const struct transfer *t, struct cmx_transfer_result *result)
{
	const struct cmx_transfer_spec *spec = t->spec;
	double bytes = (double)spec->size * result->iterations;

	result->slowest_gbps = 0;
	for (uint32_t i = 0; i < spec->flows; i++) {
		double gbps = bytes * 1e3 / (double)t->ends[i];

		if (t->ends[i] > result->total_ps)
			result->total_ps = t->ends[i];
		if (!i || gbps < result->slowest_gbps)
			result->slowest_gbps = gbps;
		if (gbps > result->fastest_gbps)
			result->fastest_gbps = gbps;
	}
	result->gbps = bytes * spec->flows * 1e3 / (double)result->total_ps;
}

static uint32_t iterations_for(uint64_t size)
{
	uint64_t n = MAX_TOTAL / size;

	return n < MIN_ITERATIONS ? MIN_ITERATIONS : n > MAX_ITERATIONS ? MAX_ITERATIONS :
									  (uint32_t)n;
}

static int measure(struct transfer *t, struct cmx_ctx *ctx, struct cmx_transfer_result *result)
{
	uint64_t sum = 0;
	int ret = phase(t, ctx, LATENCY_ROUNDS, 0, result);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < t->spec->flows; i++)
		sum += t->ends[i];
	result->latency_ps = sum / t->spec->flows / LATENCY_ROUNDS;
	ret = phase(t, ctx, result->iterations, CMX_ENTRY_OVERLAP, result);
	if (!ret)
		sum_up(t, result);
	return ret;
}

static int check_lib(const struct cmx_transfer_spec *spec, uint32_t num_dies,
		     struct cmx_transfer_result *result)
{
	int ret = 0;

	for (uint32_t i = 0; i < spec->flows && !ret; i++) {
		bool socket = spec->to[i] >= num_dies;

		ret = cmx_libprofile_needs(spec->lib,
					   socket ? CMX_LIB_SOCKET_CHUNK : CMX_LIB_DIE_CHUNK,
					   socket ? CMX_LIB_SOCKET_WRITE_PS : CMX_LIB_DIE_WRITE_PS,
					   "this transfer");
	}
	if (ret)
		memcpy(result->error, spec->lib->error, sizeof(spec->lib->error));
	return ret;
}

int cmx_transfer_run(struct cmx_ctx *ctx, const struct cmx_transfer_spec *spec,
		     struct cmx_transfer_result *result)
{
	struct transfer t = { .spec = spec, .num_dies = cmx_device(ctx)->num_dies };
	uint64_t start = cmx_clock_ns();
	int ret;

	memset(result, 0, sizeof(*result));
	result->iterations = spec->iterations ? spec->iterations : iterations_for(spec->size);
	ret = spec->lib ? check_lib(spec, t.num_dies, result) : 0;
	if (ret)
		return ret;
	t.flows = calloc(spec->flows, sizeof(*t.flows));
	t.ends = calloc(spec->flows, sizeof(*t.ends));
	if (t.flows && t.ends)
		ret = measure(&t, ctx, result);
	else
		ret = cmx_rig_fail(&t.rig, -ENOMEM, "no memory for %u flows", spec->flows);
	memcpy(result->error, t.rig.error, sizeof(result->error));
	result->host_ns = cmx_clock_ns() - start;
	free(t.flows);
	free(t.ends);
	return ret;
}
