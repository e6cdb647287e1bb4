// SPDX-License-Identifier: GPL-2.0-only
/*
 * All-reduce and reduce-scatter by the library's collectives. Elements are whole numbers, so a
 * sum is known without adding in any order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"
#include "cmx_perf_transfer.h"

#define SLOTS	64u

struct reduction {
	struct cmx_rig rig;
	const struct cmx_collective_spec *spec;
	struct cmx_ccl *ccl;
	struct cmx_queue **queues;
	struct cmx_mem **sources, **results;
	uint64_t *ends;
	uint64_t elements;		/* of a rank's result */
};

static uint64_t element_of(const struct cmx_collective_spec *spec)
{
	return spec->dtype == CMX_CCL_F32 ? 4 : 2;
}

static bool scatters(const struct reduction *r)
{
	return r->spec->op == CMX_COLLECTIVE_REDUCESCATTER;
}

/* Element @i of rank @rank: from -8 to 7, other ones for other ranks. */
static int32_t number(uint32_t rank, uint64_t i)
{
	return (int32_t)((i * 5 + rank * 3 + i / 97) % 16) - 8;
}

static void store(void *to, uint64_t i, uint32_t dtype, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	if (dtype == CMX_CCL_F32) {
		((float *)to)[i] = x;
		return;
	}
	/* To nearest, ties to even; there are no others than numbers. */
	((uint16_t *)to)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int make_rank(struct reduction *r, uint32_t rank)
{
	const struct cmx_collective_spec *spec = r->spec;
	uint64_t n = r->elements * (scatters(r) ? spec->count : 1);
	uint32_t flags = spec->data ? 0 : CMX_MEM_NO_DATA;
	int ret = cmx_rig_queue(&r->rig, spec->ranks[rank], CMX_QUEUE_STREAM, SLOTS, spec->planes,
				&r->queues[rank]);

	if (!ret)
		ret = cmx_rig_memory(&r->rig, spec->ranks[rank], n * element_of(spec), flags,
				     &r->sources[rank]);
	if (!ret)
		ret = cmx_rig_memory(&r->rig, spec->ranks[rank], spec->size, flags,
				     &r->results[rank]);
	for (uint64_t i = 0; i < n && !ret && spec->data; i++)
		store(cmx_mem_ptr(r->sources[rank]), i, spec->dtype, (float)number(rank, i));
	return ret;
}

static int append(struct reduction *r, uint32_t rank)
{
	uint64_t to = cmx_mem_va(r->results[rank]), from = cmx_mem_va(r->sources[rank]);
	int ret;

	if (scatters(r))
		ret = cmx_ccl_reduce_scatter(r->ccl, rank, r->queues[rank], to, from, r->elements,
					     r->spec->dtype, CMX_ENTRY_COMPLETE, rank);
	else
		ret = cmx_ccl_all_reduce(r->ccl, rank, r->queues[rank], to, from, r->elements,
					 r->spec->dtype, CMX_ENTRY_COMPLETE, rank);
	return ret ? cmx_rig_lib_fail(&r->rig, ret, "collective") : 0;
}

static int check_rank(struct reduction *r, uint32_t rank)
{
	const struct cmx_collective_spec *spec = r->spec;
	uint64_t first = scatters(r) ? rank * r->elements : 0;
	const uint8_t *have = cmx_mem_ptr(r->results[rank]);
	uint8_t want[sizeof(float)];

	for (uint64_t i = 0; i < r->elements; i++) {
		int32_t sum = 0;

		for (uint32_t k = 0; k < spec->count; k++)
			sum += number(k, first + i);
		store(want, 0, spec->dtype, (float)sum);
		if (memcmp(want, have + i * element_of(spec), element_of(spec)))
			return cmx_rig_fail(&r->rig, -EILSEQ,
					    "rank %u has a wrong sum for element %llu", rank,
					    (unsigned long long)(first + i));
	}
	return 0;
}

static int make_group(struct reduction *r)
{
	const struct cmx_collective_spec *spec = r->spec;
	struct cmx_ccl_desc desc = {
		.entities = spec->ranks, .ranks = spec->count, .timeline = r->rig.timeline,
		.flags = spec->data ? 0 : CMX_CCL_TIME_ONLY,
		.max_bytes = spec->size * (scatters(r) ? spec->count : 1),
	};
	int ret;

	if (spec->size % element_of(spec))
		return cmx_rig_fail(&r->rig, -EINVAL,
				    "--size %llu is not a multiple of %llu, the bytes of an element",
				    (unsigned long long)spec->size,
				    (unsigned long long)element_of(spec));
	ret = cmx_ccl_create(r->rig.ctx, &desc, &r->ccl);
	return ret ? cmx_rig_lib_fail(&r->rig, ret, "group") : 0;
}

static int execute(struct reduction *r, struct cmx_ctx *ctx)
{
	uint32_t n = r->spec->count;
	int ret = cmx_rig_open(&r->rig, ctx, 1024);

	if (!ret)
		ret = make_group(r);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = make_rank(r, i);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = append(r, i);
	if (!ret)
		ret = cmx_rig_finish(&r->rig, n, r->ends, n);
	for (uint32_t i = 0; i < n && !ret && r->spec->data; i++)
		ret = check_rank(r, i);
	return ret;
}

/* What a rank has to send at least: its parts to all, and for an all-reduce its sum, too. */
static void sum_up(const struct reduction *r, struct cmx_collective_result *result)
{
	double n = r->spec->count;

	cmx_collective_times(r->ends, r->spec->count, result);
	result->gbps = (double)r->spec->size * (scatters(r) ? n - 1 : 2 * (n - 1) / n) * 1e3 /
		       (double)result->max_ps;
	result->extrapolated = r->rig.extrapolated;
	result->steps = !scatters(r) && r->spec->size >= cmx_ccl_two_step_bytes(r->ccl) ? 2 : 1;
}

int cmx_reduction_run(struct cmx_ctx *ctx, const struct cmx_collective_spec *spec,
		      struct cmx_collective_result *result)
{
	struct reduction r = { .spec = spec, .elements = spec->size / element_of(spec) };
	uint64_t start = cmx_clock_ns();
	int ret;

	memset(result, 0, sizeof(*result));
	r.queues = calloc(spec->count, sizeof(struct cmx_queue *));
	r.sources = calloc(spec->count, sizeof(struct cmx_mem *));
	r.results = calloc(spec->count, sizeof(struct cmx_mem *));
	r.ends = calloc(spec->count, sizeof(*r.ends));
	ret = r.queues && r.sources && r.results && r.ends ?
		      execute(&r, ctx) :
		      cmx_rig_fail(&r.rig, -ENOMEM, "no memory for %u ranks", spec->count);
	if (!ret)
		sum_up(&r, result);
	memcpy(result->error, r.rig.error, sizeof(result->error));
	result->host_ns = cmx_clock_ns() - start;
	cmx_rig_close(&r.rig);
	cmx_ccl_destroy(r.ccl);
	free(r.queues);
	free(r.sources);
	free(r.results);
	free(r.ends);
	return ret;
}
