// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for a die in unit tests: runs each launch at once, on this thread,
 * with the grid that host_die_blocks asks for. Its clock only adds up costs.
 */
#include "host_die.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cmx_npu_cost.h"

#define MAX_ALLOCS 256

uint32_t host_die_blocks = 3;
bool host_die_poison;
uint64_t host_die_room = 1ull << 40;

struct cmx_die {
	struct cmx_die_options opt;
	const struct cmx_npu_kernel *kernel;
	struct cmx_die_stats stats;
	void *mem[MAX_ALLOCS];
	uint32_t n_mem;
	uint64_t next_va;
};

int cmx_die_open(const struct cmx_die_options *opt, struct cmx_die **out,
		 struct cmx_infer_err *err)
{
	struct cmx_die *die = calloc(1, sizeof(*die));

	if (!die)
		return cmx_infer_fail(err, -ENOMEM, "no memory");
	die->opt = *opt;
	die->kernel = cmx_npu_kernels(opt->isa);
	die->next_va = 1ull << 40;
	*out = die;
	return 0;
}

void cmx_die_close(struct cmx_die *die)
{
	if (!die)
		return;
	for (uint32_t i = 0; i < die->n_mem; i++)
		free(die->mem[i]);
	free(die);
}

bool cmx_die_time_only(const struct cmx_die *die)
{
	return die->opt.time_only;
}

int cmx_die_room(const struct cmx_die *die, uint64_t *bytes, struct cmx_infer_err *err)
{
	(void)die;
	(void)err;
	*bytes = host_die_room;
	return 0;
}

int cmx_die_alloc(struct cmx_die *die, enum cmx_place place, uint64_t size, const char *what,
		  void **va, struct cmx_infer_err *err)
{
	if (die->opt.time_only && place == CMX_PLACE_DIE) {
		*va = (void *)(uintptr_t)die->next_va;
		die->next_va += size + 4096;
		return 0;
	}
	*va = die->n_mem < MAX_ALLOCS ? calloc(1, size) : NULL;
	if (!*va)
		return cmx_infer_fail(err, -ENOMEM, "%s", what);
	die->mem[die->n_mem++] = *va;
	if (host_die_poison)
		memset(*va, 0xff, size);
	return 0;
}

int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   uint32_t n_active, struct cmx_infer_err *err)
{
	struct cmx_cost cost, least;

	for (uint32_t b = 0; b < host_die_blocks && !die->opt.time_only; b++)
		die->kernel[id].fn(args, b, host_die_blocks);
	if (cmx_npu_cost_is_data(id) && !die->opt.time_only)
		n_active = cmx_npu_active(id, args);
	cmx_npu_cost(id, args, n_active, &cost);
	cmx_npu_cost(id, args, cmx_npu_min_active(id, args), &least);
	if (least.cube_ops > cost.cube_ops || least.vector_ops > cost.vector_ops ||
	    least.mem_bytes > cost.mem_bytes)
		return cmx_infer_fail(err, -ERANGE, "%s: cost is below its bound", label);
	die->stats.now_ps += 1000 + cost.cube_ops + cost.vector_ops + cost.mem_bytes;
	die->stats.launches++;
	return 0;
}

int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err)
{
	(void)label;
	(void)err;
	if (!die->opt.time_only)
		memcpy(dst, src, len);
	die->stats.now_ps += len;
	die->stats.moved_bytes += len;
	return 0;
}

int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err)
{
	(void)die;
	(void)err;
	return 0;
}

int cmx_die_stats(const struct cmx_die *die, struct cmx_die_stats *stats,
		  struct cmx_infer_err *err)
{
	(void)err;
	*stats = die->stats;
	return 0;
}
