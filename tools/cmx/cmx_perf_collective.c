// SPDX-License-Identifier: GPL-2.0-only
/*
 * All-to-all and all-gather by direct writes: each rank writes to every other one, the ranks
 * behind its own first, a word behind the bytes of each; then it waits for everybody's word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"
#include "cmx_operator_routing.h"
#include "cmx_perf_transfer.h"

#define WORD		8u
#define SLOTS_BESIDE	16u

struct rank {
	struct cmx_queue *queue;
	struct cmx_mem *send, *receive, *flags;
};

struct collective {
	struct cmx_rig rig;
	const struct cmx_collective_spec *spec;
	struct rank *ranks;
	uint64_t *ends;
};

/* Parts of a rank's send buffer. */
static uint32_t parts(const struct cmx_collective_spec *spec)
{
	return spec->op == CMX_COLLECTIVE_ALLTOALL ? spec->count : 1;
}

static uint64_t part_key(const struct cmx_collective_spec *spec, uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | (parts(spec) > 1 ? to : 0);
}

static int make_rank(struct collective *c, uint32_t i)
{
	const struct cmx_collective_spec *spec = c->spec;
	struct rank *r = &c->ranks[i];
	uint32_t flags = spec->data ? 0 : CMX_MEM_NO_DATA, slots = 64;
	int ret;

	/* A delay, a write of two slots and a wait for each peer. */
	while (slots < 4 * spec->count + SLOTS_BESIDE)
		slots *= 2;
	ret = cmx_rig_queue(&c->rig, spec->ranks[i], CMX_QUEUE_UB, slots, spec->planes,
			    &r->queue);
	if (!ret)
		ret = cmx_rig_memory(&c->rig, spec->ranks[i], parts(spec) * spec->size, flags,
				     &r->send);
	if (!ret)
		ret = cmx_rig_memory(&c->rig, spec->ranks[i], spec->count * spec->size, flags,
				     &r->receive);
	if (!ret)
		ret = cmx_rig_memory(&c->rig, spec->ranks[i], spec->count * WORD, 0, &r->flags);
	for (uint32_t to = 0; to < parts(spec) && !ret && spec->data; to++)
		cmx_transfer_fill((char *)cmx_mem_ptr(r->send) + to * spec->size, spec->size,
				  part_key(spec, i, to));
	return ret;
}

static uint64_t lib_ps(const struct cmx_collective_spec *spec, enum cmx_lib_constant c)
{
	return spec->lib ? spec->lib->value[c] : 0;
}

static int send_to(struct collective *c, uint32_t i, uint32_t to)
{
	const struct cmx_collective_spec *spec = c->spec;
	uint64_t from_at = parts(spec) > 1 ? to * spec->size : 0;
	int ret = cmx_rig_delay(&c->rig, c->ranks[i].queue, lib_ps(spec, CMX_LIB_STEP_PS), 0, i);

	if (ret)
		return ret;
	return cmx_queue_write_notify(c->ranks[i].queue,
				      cmx_mem_va(c->ranks[to].receive) + i * spec->size,
				      cmx_mem_va(c->ranks[i].send) + from_at, spec->size,
				      cmx_mem_va(c->ranks[to].flags) + i * WORD, 1,
				      CMX_ENTRY_OVERLAP, i);
}

static int program(struct collective *c, uint32_t i)
{
	const struct cmx_collective_spec *spec = c->spec;
	uint32_t n = spec->count;
	int ret = cmx_rig_delay(&c->rig, c->ranks[i].queue, lib_ps(spec, CMX_LIB_COLLECTIVE_PS),
				0, i);

	for (uint32_t k = 1; k < n && !ret; k++)
		ret = send_to(c, i, (i + k) % n);
	for (uint32_t k = 1; k < n && !ret; k++)
		ret = cmx_queue_wait(c->ranks[i].queue,
				     cmx_mem_va(c->ranks[i].flags) + (i + k) % n * WORD,
				     CMX_COND_NE, 0, k == n - 1 ? CMX_ENTRY_COMPLETE : 0, i);
	return ret;
}

static int check(struct collective *c)
{
	const struct cmx_collective_spec *spec = c->spec;

	for (uint32_t to = 0; to < spec->count && spec->data; to++) {
		const char *bytes = cmx_mem_ptr(c->ranks[to].receive);

		for (uint32_t from = 0; from < spec->count; from++) {
			if (from != to && !cmx_transfer_same(bytes + from * spec->size, spec->size,
							     part_key(spec, from, to)))
				return cmx_rig_fail(&c->rig, -EILSEQ,
						    "rank %u has other bytes than rank %u sent",
						    to, from);
		}
	}
	return 0;
}

static int execute(struct collective *c, struct cmx_ctx *ctx)
{
	uint32_t n = c->spec->count;
	int ret = cmx_rig_open(&c->rig, ctx, 1024);

	for (uint32_t i = 0; i < n && !ret; i++)
		ret = make_rank(c, i);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = program(c, i);
	if (ret && !c->rig.error[0])
		return cmx_rig_lib_fail(&c->rig, ret, "submit");
	if (!ret)
		ret = cmx_rig_finish(&c->rig, n, c->ends, n);
	return ret ? ret : check(c);
}

void cmx_collective_times(const uint64_t *ends, uint32_t count,
			  struct cmx_collective_result *result)
{
	uint64_t sum = 0;

	result->min_ps = UINT64_MAX;
	result->max_ps = 0;
	for (uint32_t i = 0; i < count; i++) {
		sum += ends[i];
		if (ends[i] < result->min_ps)
			result->min_ps = ends[i];
		if (ends[i] > result->max_ps)
			result->max_ps = ends[i];
	}
	result->mean_ps = sum / count;
}

static void sum_up(const struct collective *c, struct cmx_collective_result *result)
{
	uint32_t n = c->spec->count;

	cmx_collective_times(c->ends, n, result);
	result->gbps = (double)c->spec->size * (n - 1) * 1e3 / (double)result->max_ps;
	result->extrapolated = c->rig.extrapolated;
}

int cmx_collective_run(struct cmx_ctx *ctx, const struct cmx_collective_spec *spec,
		       struct cmx_collective_result *result)
{
	struct collective c = { .spec = spec };
	uint64_t start = cmx_clock_ns();
	int ret = 0;

	memset(result, 0, sizeof(*result));
	if (spec->lib)
		ret = cmx_libprofile_needs(spec->lib, CMX_LIB_COLLECTIVE_PS, CMX_LIB_STEP_PS,
					   "this collective");
	if (ret) {
		memcpy(result->error, spec->lib->error, sizeof(spec->lib->error));
		return ret;
	}
	c.ranks = calloc(spec->count, sizeof(*c.ranks));
	c.ends = calloc(spec->count, sizeof(*c.ends));
	ret = c.ranks && c.ends ? execute(&c, ctx) :
				  cmx_rig_fail(&c.rig, -ENOMEM, "no memory for %u ranks",
					       spec->count);
	if (!ret)
		sum_up(&c, result);
	memcpy(result->error, c.rig.error, sizeof(result->error));
	result->host_ns = cmx_clock_ns() - start;
	cmx_rig_close(&c.rig);
	free(c.ranks);
	free(c.ends);
	return ret;
}
