// SPDX-License-Identifier: GPL-2.0-only
#include "world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIGA	1000000000ULL

uint64_t random_u64(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint32_t random_below(struct random *random, uint32_t n)
{
	return (uint32_t)(random_u64(random) % n);
}

uint64_t random_scaled(struct random *random, uint64_t min, uint64_t max)
{
	double part = (double)(random_u64(random) >> 11) / 9007199254740992.0;
	uint64_t value = (uint64_t)((double)min * pow((double)max / (double)min, part));

	return value < min ? min : value > max ? max : value;
}

uint64_t world_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

void world_begin_case(struct world *world, uint64_t seed, uint64_t number)
{
	world->random.state = seed * 1000003 + number;
}

int world_failed(const char *what, int ret)
{
	printf("# %s: %s\n", what, cmx_last_error()->code == ret ? cmx_last_error()->text :
								   strerror(-ret));
	return ret;
}

static int keep_base(struct world *world)
{
	const struct cmx_profile_constant *constants;
	size_t count;

	constants = cmx_profile_constants(&count);
	if (count > MAX_CONSTANTS)
		return world_failed("more constants than expected", -E2BIG);
	for (size_t i = 0; i < count; i++)
		world->base[i] = world_get(world, constants[i].name);
	return 0;
}

static int restore_base(struct world *world)
{
	const struct cmx_profile_constant *constants;
	size_t count;
	int ret = 0;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; !ret && i < count; i++)
		ret = world_set(world, constants[i].name, world->base[i]);
	return ret;
}

int world_open(struct world *world, uint64_t seed)
{
	int ret;

	memset(world, 0, sizeof(*world));
	world->random.state = seed;
	ret = cmx_fabric_open(&world->fabric);
	if (ret)
		return world_failed("fabric", ret);
	ret = cmx_profile_current(world->fabric, &world->profile);
	if (ret)
		return world_failed("profile", ret);
	return keep_base(world);
}

void world_close(struct world *world)
{
	cmx_profile_free(world->profile);
	cmx_fabric_close(world->fabric);
}

int world_set(struct world *world, const char *name, uint64_t value)
{
	int ret = cmx_profile_set(world->profile, name, value, NULL);

	return ret ? world_failed(name, ret) : 0;
}

uint64_t world_get(const struct world *world, const char *name)
{
	uint64_t value = 0;

	if (cmx_profile_value(world->profile, name, &value))
		printf("# no constant %s\n", name);
	return value;
}

int world_scale(struct world *world, const char *unit, uint64_t by)
{
	const struct cmx_profile_constant *constants;
	size_t count;
	int ret = 0;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; !ret && i < count; i++) {
		uint64_t value = by * world_get(world, constants[i].name);

		if (!strcmp(constants[i].unit, unit))
			ret = world_set(world, constants[i].name,
					value < constants[i].min ? constants[i].min : value);
	}
	return ret;
}

static int set_shape(struct world *world, uint32_t min_nodes)
{
	struct random *r = &world->random;
	const struct {
		const char *name;
		uint32_t min, max;
	} shape[] = {
		{ "nodes", min_nodes, 4 }, { "npus_per_node", 1, 3 }, { "dies_per_npu", 1, 2 },
		{ "sockets_per_node", 1, 2 }, { "planes", 1, 8 }, { "l2_per_plane", 1, 8 },
		{ "wire_permille", 500, 1000 }, { "far_permille", 500, 1000 },
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(shape) / sizeof(shape[0]); i++)
		ret = world_set(world, shape[i].name, shape[i].min +
				random_below(r, shape[i].max - shape[i].min + 1));
	return ret;
}

/* Speeds and times of transfers: three orders of magnitude, as chance has it. */
static int set_speeds(struct world *world)
{
	static const char * const latencies[] = {
		"die_read_base_ps", "die_write_base_ps", "socket_read_base_ps",
		"socket_write_base_ps", "read_pass_ps", "write_pass_ps", "sibling_read_ps",
		"sibling_write_ps", "local_ps", "rdma_ps", "vpc_ps", "issue_stream_ps",
		"issue_sdma_ps", "issue_ub_ps",
	};
	const struct cmx_profile_constant *constants;
	size_t count;
	int ret = 0;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; !ret && i < count; i++)
		if (!strcmp(constants[i].unit, "B/s"))
			ret = world_set(world, constants[i].name,
					random_scaled(&world->random, GIGA, 1000 * GIGA));
	for (size_t i = 0; !ret && i < sizeof(latencies) / sizeof(latencies[0]); i++)
		ret = world_set(world, latencies[i], random_below(&world->random, 2000000));
	if (!ret)
		ret = world_set(world, "message_ps", random_below(&world->random, 20000));
	return ret;
}

int world_shape(struct world *world, uint32_t min_nodes)
{
	int ret = restore_base(world);

	if (!ret)
		ret = set_shape(world, min_nodes);
	return ret ? ret : set_speeds(world);
}

int world_load(struct world *world)
{
	int ret = cmx_profile_load(world->fabric, world->profile, 0);

	if (ret)
		return world_failed("loading the profile", ret);
	ret = cmx_fabric_get_machine(world->fabric, &world->machine);
	return ret ? world_failed("machine", ret) : 0;
}

bool world_is_die(const struct world *world, uint32_t entity)
{
	return entity < world->machine.num_dies;
}

uint32_t world_node(const struct world *world, uint32_t entity)
{
	const struct cmx_fabric_machine *m = &world->machine;

	if (world_is_die(world, entity))
		return entity / (m->npus_per_node * m->dies_per_npu);
	return (entity - m->num_dies) / m->sockets_per_node;
}

bool world_are_siblings(const struct world *world, uint32_t a, uint32_t b)
{
	return world->machine.dies_per_npu == 2 && world_is_die(world, a) &&
	       world_is_die(world, b) && (a ^ b) == 1;
}
