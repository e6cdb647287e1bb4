/* SPDX-License-Identifier: GPL-2.0-only */
/* A small machine with random constants, loaded into the module. */
#ifndef WORLD_H
#define WORLD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmx/cmx.h>

#define MAX_CONSTANTS	128

/** struct random - a source of numbers that a seed determines. */
struct random {
	uint64_t state;
};

uint64_t random_u64(struct random *random);
/* 0 to @n - 1. */
uint32_t random_below(struct random *random, uint32_t n);
/* @min to @max, as many of each order of magnitude. */
uint64_t random_scaled(struct random *random, uint64_t min, uint64_t max);

/** struct world - the machine. */
struct world {
	struct cmx_fabric *fabric;
	struct cmx_profile *profile;
	struct cmx_fabric_machine machine;
	struct random random;
	/* Constants of the machine that was found. */
	uint64_t base[MAX_CONSTANTS];
};

/* A seed of the environment (CMX_SEED), else @otherwise; and another setting. */
uint64_t world_setting(const char *name, uint64_t otherwise);

/* All return 0, or a negative errno with a text on stdout. */

int world_open(struct world *world, uint64_t seed);
void world_close(struct world *world);
/* Shape and speeds by chance, at least @min_nodes nodes; the rest as it was found. */
int world_shape(struct world *world, uint32_t min_nodes);
int world_set(struct world *world, const char *name, uint64_t value);
uint64_t world_get(const struct world *world, const char *name);
/* Every constant with that unit is multiplied; none goes below its limit. */
int world_scale(struct world *world, const char *unit, uint64_t by);
/* Make the module build the machine. */
int world_load(struct world *world);

bool world_is_die(const struct world *world, uint32_t entity);
uint32_t world_node(const struct world *world, uint32_t entity);
/* The two dies of one NPU. */
bool world_are_siblings(const struct world *world, uint32_t a, uint32_t b);

/* Case @number of a test starts from numbers of its own, so that it can be tried alone. */
void world_begin_case(struct world *world, uint64_t seed, uint64_t number);

/* For a test whose fixture has a world, a seed and a number of cases. */
#define FOR_EACH_CASE(i)							\
	for (uint64_t i = world_setting("CMX_CASE", 0); i < self->cases &&	\
	     (world_begin_case(&self->world, self->seed, i), true); i++)

/* What repeats it alone. */
#define SHOW_CASE(i)								\
	TH_LOG("CMX_SEED=%" PRIu64 " CMX_CASE=%" PRIu64 " CMX_CASES=%" PRIu64,	\
	       self->seed, (i), (i) + 1)

/* Of many cases some have it; a single one need not. */
#define EXPECT_SOME(count) do {							\
	if (!getenv("CMX_CASE"))						\
		EXPECT_LT(0, count);						\
} while (0)

/* Says where the library's call went wrong. */
int world_failed(const char *what, int ret);

#endif /* WORLD_H */
