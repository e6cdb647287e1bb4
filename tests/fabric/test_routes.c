// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways through a machine of which parts are down or slow: as the links' states say, the same
 * there and back, and taken by traffic. CMX_SEED and CMX_CASES choose what is tried.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "account.h"
#include "damage.h"
#include "view.h"

#define LONG		1500
#define UB_TIMER_PS	4096000ULL

FIXTURE(routes) {
	struct world world;
	struct view view;
	uint64_t seed;
	uint64_t cases;
};

FIXTURE_SETUP(routes)
{
	self->seed = world_setting("CMX_SEED", 1);
	self->cases = world_setting("CMX_CASES", 12);
	ASSERT_EQ(0, world_open(&self->world, self->seed));
}

FIXTURE_TEARDOWN(routes)
{
	world_close(&self->world);
}

/* The module's way is the one worked out from the links; rates to a byte per link. */
static bool is_as_seen(const struct cmx_fabric_route *route, const struct view_route *seen)
{
	if (route->reachable != seen->reachable || route->sibling != seen->sibling ||
	    route->planes != seen->planes)
		return false;
	for (uint32_t p = 0; p < CMX_FABRIC_MAX_PLANES; p++) {
		int64_t off = (int64_t)(route->plane_rate[p] - seen->rate[p]);

		if (route->plane_chips[p] != seen->chips[p] || llabs(off) > 8)
			return false;
	}
	return true;
}

static bool is_same_back(const struct cmx_fabric_route *a, const struct cmx_fabric_route *b)
{
	return a->reachable == b->reachable && a->sibling == b->sibling && a->planes == b->planes &&
	       a->hops == b->hops && !memcmp(a->plane_rate, b->plane_rate, sizeof(a->plane_rate)) &&
	       !memcmp(a->plane_chips, b->plane_chips, sizeof(a->plane_chips));
}

static int look_at_pair(const struct world *world, const struct view *view, uint32_t a, uint32_t b,
			uint32_t planes, bool *right)
{
	struct cmx_fabric_route there, back;
	struct view_route seen;
	int ret = cmx_fabric_get_route(world->fabric, a, b, planes, &there);

	if (!ret)
		ret = cmx_fabric_get_route(world->fabric, b, a, planes, &back);
	if (ret)
		return world_failed("route", ret);
	view_route(view, world, a, b, planes, &seen);
	*right = is_as_seen(&there, &seen) && is_same_back(&there, &back);
	if (!*right)
		printf("# %u to %u over %#x: planes %#x, back %#x, seen %#x; works %d %d %d\n", a,
		       b, planes, there.planes, back.planes, seen.planes, there.reachable,
		       back.reachable, seen.reachable);
	return 0;
}

/* Planes that both entities may ask for. */
static uint32_t some_planes(struct world *world, uint32_t a, uint32_t b)
{
	uint32_t all = (1U << world->machine.planes) - 1;

	switch (random_below(&world->random, 4)) {
	case 0:
		if (world_is_die(world, a) == world_is_die(world, b))
			return 1U << (world_is_die(world, a) ? CMX_FABRIC_PLANE_RDMA :
							       CMX_FABRIC_PLANE_VPC);
		return 0;
	case 1:
		return (uint32_t)random_u64(&world->random) & all;
	default:
		return 0;
	}
}

TEST_F_TIMEOUT(routes, follow_the_links, LONG)
{
	FOR_EACH_CASE(i) {
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, damage_some(&self->world, random_below(&self->world.random, 40)));
		ASSERT_EQ(0, view_take(&self->view, &self->world));
		all = part_all(&self->world);
		for (uint32_t n = 0; n < 40; n++) {
			uint32_t a = part_pick(&self->world, &all, &self->world.random);
			uint32_t b = part_pick(&self->world, &all, &self->world.random);
			bool right = true;

			ASSERT_EQ(0, look_at_pair(&self->world, &self->view, a, b,
						  some_planes(&self->world, a, b), &right));
			EXPECT_TRUE(right) SHOW_CASE(i);
		}
		view_drop(&self->view);
	}
}

/* How the first command that fails has to end; success as well where others decide. */
static bool may_end_so(const struct world *world, const struct view *view, const struct line *line,
		       const struct op *op)
{
	struct view_route route;

	view_route(view, world, op->from, op->to, line->planes, &route);
	if (op->kind == OP_DELAY || op->kind == OP_RECORD)
		return op->status == UB_CR_SUCCESS;
	return op->status == (route.reachable ? UB_CR_SUCCESS : UB_CR_ACK_TIMEOUT);
}

/* The answer is waited for; a copy engine looks at its descriptor first. */
static bool timed_out_in_time(const struct world *world, const struct line *line, uint64_t before,
			      uint64_t done)
{
	bool ub = line->queue_class == CMX_QUEUE_UB;
	uint64_t timeout = ub ? UB_TIMER_PS : world_get(world, "ack_timeout_ps"), delay = 0;

	if (line->queue_class == CMX_QUEUE_SDMA)
		delay = world_get(world, "issue_sdma_ps");
	return done >= before + timeout && done <= before + timeout + delay;
}

static bool line_ends_well(const struct world *world, const struct view *view,
			   const struct line *line)
{
	uint64_t before = 0;
	bool failed = false;

	for (uint32_t j = 0; j < line->count; j++) {
		const struct op *op = &line->ops[j];
		bool well;

		if (failed)
			well = op->status == UB_CR_WR_FLUSH_ERR;
		else if (!view->entities[line->entity].admin_up)
			well = op->status == CMX_CR_ENTITY_DOWN;
		else
			well = may_end_so(world, view, line, op);
		if (well && op->status == UB_CR_ACK_TIMEOUT)
			well = timed_out_in_time(world, line, before, op->done);
		if (!well) {
			printf("# command %u of kind %u from %u to %u over %#x by %u: status %u, %"
			       PRIu64 " to %" PRIu64 "\n", j, op->kind, op->from, op->to,
			       line->planes, line->entity, op->status, before, op->done);
			return false;
		}
		failed |= op->status != UB_CR_SUCCESS;
		before = op->done;
	}
	return true;
}

/* Traffic on a damaged machine: what has a way arrives, the rest ends with the right error. */
TEST_F_TIMEOUT(routes, traffic_takes_them, LONG)
{
	uint32_t failed = 0;

	FOR_EACH_CASE(i) {
		struct account account = { 0 };
		struct load load = { 0 };
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, damage_some(&self->world, 1 + random_below(&self->world.random, 12)));
		ASSERT_EQ(0, view_take(&self->view, &self->world));
		all = part_all(&self->world);
		load_add(&load, &self->world, &all, 8, 12, &self->world.random);
		load_in_order(&load);
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		for (uint32_t j = 0; j < load.count; j++)
			EXPECT_TRUE(line_ends_well(&self->world, &self->view, &load.lines[j]))
				SHOW_CASE(i);
		account_add(&account, &self->world, &self->view, &load);
		EXPECT_TRUE(account_matches(&account, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(account_entities_match(&account, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(account_nobody_overworked(&self->world, load.end)) SHOW_CASE(i);
		failed += account.failed;
		view_drop(&self->view);
	}
	/* Else nothing was damaged. */
	EXPECT_SOME(failed);
}

/* When all is mended, all is as it was. */
TEST_F_TIMEOUT(routes, mended, LONG)
{
	FOR_EACH_CASE(i) {
		struct load load = { 0 }, broken, mended;
		struct part all;

		ASSERT_EQ(0, world_shape(&self->world, 1));
		ASSERT_EQ(0, world_load(&self->world)) SHOW_CASE(i);
		all = part_all(&self->world);
		load_add(&load, &self->world, &all, 8, 12, &self->world.random);
		broken = load;
		mended = load;
		ASSERT_EQ(0, load_run(&load, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, damage_some(&self->world, 20));
		ASSERT_EQ(0, load_run(&broken, &self->world)) SHOW_CASE(i);
		ASSERT_EQ(0, damage_heal(&self->world));
		ASSERT_EQ(0, load_run(&mended, &self->world)) SHOW_CASE(i);
		EXPECT_TRUE(load_same_times(&load, &mended, load.count)) SHOW_CASE(i);
	}
}

TEST_HARNESS_MAIN
