// SPDX-License-Identifier: GPL-2.0-only
/*
 * What holds for every machine and every traffic: nothing is lost or made up, nobody works
 * more than all the time, twice the rates is half the time, and traffic only ever slows what
 * it shares something with. CMX_SEED and CMX_CASES choose what is tried.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "account.h"

#define LONG	1500

FIXTURE(properties) {
	struct world world;
	uint64_t seed;
	uint64_t cases;
};

FIXTURE_SETUP(properties)
{
	self->seed = world_setting("CMX_SEED", 1);
	self->cases = world_setting("CMX_CASES", 12);
	ASSERT_EQ(0, world_open(&self->world, self->seed));
}

FIXTURE_TEARDOWN(properties)
{
	world_close(&self->world);
}

/* Bytes in are bytes out at every chip and at both ends; nobody is busy for longer than all. */
TEST_F_TIMEOUT(properties, nothing_lost, LONG)
{
	FOR_EACH_CASE(i) {
		struct account account = { 0 };
		struct load load = { 0 };
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add(&load, &self->world, &all, MAX_QUEUES, MAX_OPS, &self->world.random);
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		account_add(&account, &self->world, NULL, &load);
		EXPECT_EQ(0, account.failed) SHOW_CASE(i);
		EXPECT_TRUE(account_matches(&account, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(account_entities_match(&account, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(account_nobody_overworked(&self->world, load.end)) SHOW_CASE(i);
	}
}

/* The same traffic takes the same time. */
TEST_F_TIMEOUT(properties, same_again, LONG)
{
	FOR_EACH_CASE(i) {
		struct load load = { 0 }, again;
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add(&load, &self->world, &all, 8, 12, &self->world.random);
		again = load;
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, load_run(&again, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(load_same_times(&load, &again, load.count)) SHOW_CASE(i);
	}
}

/* @half is half of @whole but for a picosecond for each server and slice, and integer rates. */
static bool is_half(uint64_t whole, uint64_t half)
{
	int64_t off = (int64_t)(2 * half - whole);

	return llabs(off) <= 1000 + (int64_t)(whole / 100000);
}

static bool all_half(const struct load *a, const struct load *b)
{
	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t j = 0; j < a->lines[i].count; j++) {
			uint64_t whole = a->lines[i].ops[j].done, half = b->lines[i].ops[j].done;

			if (is_half(whole, half))
				continue;
			printf("# command %u: %" PRIu64 ", at twice the rates %" PRIu64 "\n", j,
			       whole, half);
			return false;
		}
	}
	return true;
}

/* One queue at a time: who comes first among many may turn on a picosecond. */
TEST_F_TIMEOUT(properties, twice_the_rates, LONG)
{
	FOR_EACH_CASE(i) {
		struct load load = { 0 }, twice;
		struct part all;
		struct line *line;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		/* What is left is bytes divided by rates. */
		ASSERT_EQ(0, world_scale(&self->world, "ps", 0));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		line = load_add_line(&load, &self->world, &all, MAX_OPS, &self->world.random);
		load_in_order(&load);
		for (uint32_t j = 0; j < line->count; j++)
			line->ops[j].ps = 0;
		twice = load;
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, world_scale(&self->world, "B/s", 2));
		ASSERT_EQ(0, world_scale(&self->world, "op/s", 2));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, load_run(&twice, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(all_half(&load, &twice)) SHOW_CASE(i);
	}
}

/* What a profile says of the time to @target and back. */
static uint64_t latency_of(const struct world *world, const struct line *line, uint32_t target,
			   bool write)
{
	bool far = world_node(world, line->entity) != world_node(world, target);
	bool die = world_is_die(world, target);

	if (target == line->entity)
		return world_get(world, "local_ps");
	if (line->planes == 1U << CMX_FABRIC_PLANE_RDMA)
		return world_get(world, "rdma_ps");
	if (line->planes == 1U << CMX_FABRIC_PLANE_VPC)
		return world_get(world, "vpc_ps");
	if (!line->planes && world_are_siblings(world, line->entity, target))
		return world_get(world, write ? "sibling_write_ps" : "sibling_read_ps");
	/* A switch chip there and one back, or three. */
	if (write)
		return world_get(world, die ? "die_write_base_ps" : "socket_write_base_ps") +
		       (far ? 6 : 2) * world_get(world, "write_pass_ps");
	return world_get(world, die ? "die_read_base_ps" : "socket_read_base_ps") +
	       (far ? 6 : 2) * world_get(world, "read_pass_ps");
}

/* The least a command takes: by the profile, and as the module says of a way. */
static int least_time(const struct world *world, const struct line *line, const struct op *op,
		      uint64_t *least)
{
	bool write = op->from == line->entity && op->to != line->entity;
	uint32_t target = write ? op->to : op->from;
	struct cmx_fabric_route route;
	uint64_t said;
	int ret;

	*least = op->ps;
	if (op->kind == OP_DELAY || op->kind == OP_RECORD ||
	    (op->from != line->entity && op->to != line->entity))
		return 0;
	*least = latency_of(world, line, target, write);
	if (op->bytes < 512)
		return 0;
	ret = cmx_fabric_get_route(world->fabric, line->entity, target, line->planes, &route);
	said = write ? route.write_ps : route.read_ps;
	if (!ret && said > *least)
		*least = said;
	return ret;
}

static bool line_takes_its_time(const struct world *world, const struct line *line)
{
	uint64_t before = 0, least;

	for (uint32_t j = 0; j < line->count; j++) {
		const struct op *op = &line->ops[j];
		int ret = least_time(world, line, op, &least);

		if (ret)
			return world_failed("route", ret), false;
		if (op->done < before + least) {
			printf("# command %u of kind %u from %u to %u: from %" PRIu64 " to %" PRIu64
			       ", least %" PRIu64 "\n", j, op->kind, op->from, op->to, before,
			       op->done, least);
			return false;
		}
		before = op->done;
	}
	return true;
}

/* Nothing completes before its issue and the latency of its way. */
TEST_F_TIMEOUT(properties, latency, LONG)
{
	FOR_EACH_CASE(i) {
		struct load load = { 0 };
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add(&load, &self->world, &all, 8, 12, &self->world.random);
		load_in_order(&load);
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		for (uint32_t j = 0; j < load.count; j++)
			EXPECT_TRUE(line_takes_its_time(&self->world, &load.lines[j])) SHOW_CASE(i);
	}
}

/* Two halves of the machine that share no link: nodes, or entities that stay in their nodes. */
static void split_machine(const struct world *world, struct part *mine, struct part *theirs)
{
	uint32_t nodes = world->machine.nodes, cut = nodes / 2;

	*mine = part_nodes(world, 0, cut);
	*theirs = part_nodes(world, cut, nodes);
}

/* Every second time only the others have queues with planes of their choice. */
static bool share_all_planes(struct load *load, uint64_t number)
{
	for (uint32_t i = 0; number % 2 && i < load->count; i++)
		load->lines[i].planes = 0;
	return number % 2;
}

/* Bytes go over some UB planes and not over others. */
static bool uses_some_planes(const struct world *world, const struct line *line)
{
	uint32_t all = (1U << world->machine.planes) - 1;

	if (!(line->planes & all) || line->planes == all)
		return false;
	for (uint32_t j = 0; j < line->count; j++) {
		const struct op *op = &line->ops[j];

		if (op->kind != OP_DELAY && op->from != op->to)
			return true;
	}
	return false;
}

static bool any_uses_some_planes(const struct world *world, const struct load *load,
				 uint32_t first)
{
	for (uint32_t i = first; i < load->count; i++)
		if (uses_some_planes(world, &load->lines[i]))
			return true;
	return false;
}

/* Traffic elsewhere changes nothing, also when it makes the planes be told apart. */
TEST_F_TIMEOUT(properties, elsewhere, LONG)
{
	unsigned int apart = 0;

	FOR_EACH_CASE(i) {
		struct load alone = { 0 }, both;
		struct part mine, theirs;
		bool shared;

		ASSERT_EQ(0, world_shape(&self->world, 2));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		split_machine(&self->world, &mine, &theirs);
		load_add(&alone, &self->world, &mine, 6, MAX_OPS, &self->world.random);
		shared = share_all_planes(&alone, i);
		both = alone;
		load_add(&both, &self->world, &theirs, 6, MAX_OPS, &self->world.random);
		apart += shared && any_uses_some_planes(&self->world, &both, alone.count);
		ASSERT_EQ(0, load_run(&alone, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, load_run(&both, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(load_same_times(&alone, &both, alone.count)) SHOW_CASE(i);
	}
	EXPECT_SOME(apart);
}

static bool no_earlier(const struct line *alone, const struct line *shared)
{
	for (uint32_t j = 0; j < alone->count; j++) {
		if (shared->ops[j].done >= alone->ops[j].done)
			continue;
		printf("# class %u, command %u of kind %u: alone %" PRIu64 ", shared %" PRIu64 "\n",
		       alone->queue_class, j, alone->ops[j].kind, alone->ops[j].done,
		       shared->ops[j].done);
		return false;
	}
	return true;
}

static bool ended_later(const struct line *alone, const struct line *shared)
{
	return shared->ops[shared->count - 1].done > alone->ops[alone->count - 1].done;
}

/* What launches send is under way while the next commands run: flows that share, too. */
static void without_records(struct line *line)
{
	for (uint32_t j = 0; j < line->count; j++)
		if (line->ops[j].kind == OP_RECORD)
			line->ops[j].kind = OP_COPY;
}

/* Others on the same way never make a queue faster. */
TEST_F_TIMEOUT(properties, sharing_slows, LONG)
{
	unsigned int slower = 0;

	FOR_EACH_CASE(i) {
		struct load alone = { 0 }, both;
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add_line(&alone, &self->world, &all, MAX_OPS, &self->world.random);
		load_in_order(&alone);
		without_records(&alone.lines[0]);
		both = alone;
		load_add(&both, &self->world, &all, MAX_QUEUES - 1, MAX_OPS, &self->world.random);
		ASSERT_EQ(0, load_run(&alone, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, load_run(&both, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(no_earlier(&alone.lines[0], &both.lines[0])) SHOW_CASE(i);
		slower += ended_later(&alone.lines[0], &both.lines[0]);
	}
	/* Else nothing was shared. */
	EXPECT_SOME(slower);
}

/* What comes when all is over changes nothing. */
TEST_F_TIMEOUT(properties, later, LONG)
{
	FOR_EACH_CASE(i) {
		struct load first = { 0 }, both;
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add(&first, &self->world, &all, 6, 12, &self->world.random);
		ASSERT_EQ(0, load_run(&first, &self->world)) SHOW_CASE(i);
		both = first;
		load_add(&both, &self->world, &all, 6, 12, &self->world.random);
		for (uint32_t j = first.count; j < both.count; j++) {
			struct op *op = &both.lines[j].ops[0];

			*op = (struct op){ .kind = OP_DELAY, .from = op->from, .to = op->from,
					   .ps = first.end + 1 };
		}
		ASSERT_EQ(0, load_run(&both, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(load_same_times(&first, &both, first.count)) SHOW_CASE(i);
	}
}

TEST_HARNESS_MAIN
