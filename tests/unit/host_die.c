// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for machine and dies in unit tests: runs each launch at once, on this thread,
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

#define MAX_DIES 64

struct cmx_machine {
	struct cmx_machine_options opt;
	struct cmx_machine_stats stats;
	struct cmx_die *die[MAX_DIES];
	uint32_t n_dies;
};

struct cmx_die {
	struct cmx_machine *machine;
	const struct cmx_npu_kernel *kernel;
	void *mem[MAX_ALLOCS];
	uint32_t n_mem;
	uint64_t next_va;
	bool narrow;
};

int cmx_machine_open(const struct cmx_machine_options *opt, struct cmx_machine **out,
		     struct cmx_infer_err *err)
{
	struct cmx_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return cmx_infer_fail(err, -ENOMEM, "no memory");
	m->opt = *opt;
	*out = m;
	return 0;
}

void cmx_machine_close(struct cmx_machine *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_dies; i++) {
		for (uint32_t j = 0; j < m->die[i]->n_mem; j++)
			free(m->die[i]->mem[j]);
		free(m->die[i]);
	}
	free(m);
}

uint32_t cmx_machine_dies(const struct cmx_machine *m)
{
	(void)m;
	return MAX_DIES;
}

int cmx_machine_finish(struct cmx_machine *m, struct cmx_infer_err *err)
{
	(void)m;
	(void)err;
	return 0;
}

int cmx_machine_stats(const struct cmx_machine *m, struct cmx_machine_stats *stats,
		      struct cmx_infer_err *err)
{
	(void)err;
	*stats = m->stats;
	return 0;
}

uint64_t cmx_machine_now(const struct cmx_machine *m)
{
	return m->stats.now_ps;
}

int cmx_die_open(struct cmx_machine *m, uint32_t entity, struct cmx_die **out,
		 struct cmx_infer_err *err)
{
	struct cmx_die *die = m->n_dies < MAX_DIES ? calloc(1, sizeof(*die)) : NULL;

	if (!die)
		return cmx_infer_fail(err, -ENOMEM, "no memory for die %u", entity);
	die->machine = m;
	die->kernel = cmx_npu_kernels(m->opt.isa);
	die->next_va = (entity + 1ull) << 40;
	m->die[m->n_dies++] = die;
	*out = die;
	return 0;
}

int host_die_open(const struct cmx_machine_options *opt, struct cmx_die **out,
		  struct cmx_infer_err *err)
{
	struct cmx_machine *m;
	int ret = cmx_machine_open(opt, &m, err);

	if (!ret)
		ret = cmx_die_open(m, 0, out, err);
	return ret;
}

void host_die_close(struct cmx_die *die)
{
	if (die)
		cmx_machine_close(die->machine);
}

struct cmx_machine *cmx_die_machine(const struct cmx_die *die)
{
	return die->machine;
}

bool cmx_die_time_only(const struct cmx_die *die)
{
	return die->machine->opt.time_only;
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
	if (die->machine->opt.time_only && place == CMX_PLACE_DIE) {
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

void cmx_die_set_narrow(struct cmx_die *die, bool narrow)
{
	die->narrow = narrow;
}

int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   const struct cmx_npu_load *load, struct cmx_infer_err *err)
{
	const struct cmx_npu_load bound = cmx_npu_least_load(id, args);
	struct cmx_npu_load done;
	struct cmx_cost cost, least;

	for (uint32_t b = 0; b < host_die_blocks && !die->machine->opt.time_only; b++)
		die->kernel[id].fn(args, b, host_die_blocks);
	if (die->kernel[id].end && !die->machine->opt.time_only)
		die->kernel[id].end(args);
	if (cmx_npu_cost_is_data(id, args) && !die->machine->opt.time_only) {
		done = cmx_npu_true_load(id, args);
		load = &done;
	}
	cmx_npu_cost(id, args, load, die->narrow, &cost);
	cmx_npu_cost(id, args, &bound, die->narrow, &least);
	if (least.cube_ops > cost.cube_ops || least.vector_ops > cost.vector_ops ||
	    least.mem_bytes > cost.mem_bytes)
		return cmx_infer_fail(err, -ERANGE, "%s: cost is below its bound", label);
	die->machine->stats.now_ps += 1000 + cost.cube_ops + cost.vector_ops + cost.mem_bytes;
	die->machine->stats.launches++;
	return 0;
}

int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err)
{
	(void)label;
	(void)err;
	if (!die->machine->opt.time_only)
		memcpy(dst, src, len);
	die->machine->stats.now_ps += len;
	die->machine->stats.moved_bytes += len;
	return 0;
}

int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err)
{
	return cmx_machine_finish(die->machine, err);
}
