// SPDX-License-Identifier: GPL-2.0-only
/* Reading the machine as a whole, differences, and sums over its links. */
#include <stdio.h>
#include <stdlib.h>

#include <kselftest_harness.h>

#include "cmx_link_sums.h"
#include "cmx_snapshot.h"
#include "fake_fabric.h"

#define ALL	(CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_CHIPS | CMX_SNAPSHOT_LINKS | \
		 CMX_SNAPSHOT_CLIENTS)

FIXTURE(machine) {
	struct cmx_snapshot s;
};

FIXTURE_SETUP(machine)
{
	fake_fabric_make(2);
	if (!freopen("/dev/null", "w", stderr))
		abort();
}

FIXTURE_TEARDOWN(machine)
{
	cmx_snapshot_free(&self->s);
	fake_fabric_free();
}

TEST_F(machine, has_what_was_asked_for)
{
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, CMX_SNAPSHOT_CHIPS, &self->s));
	EXPECT_EQ(126, self->s.machine.num_chips);
	EXPECT_NE(NULL, self->s.chips);
	EXPECT_EQ(NULL, self->s.entities);
	EXPECT_EQ(NULL, self->s.links);
	EXPECT_EQ(NULL, self->s.clients);
}

TEST_F(machine, is_read_again_when_a_part_changed)
{
	fake_fabric.restless = 5;
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	EXPECT_EQ(0, fake_fabric.restless);
	EXPECT_EQ(5, self->s.machine.generation);
}

TEST_F(machine, that_never_rests_is_shown_as_it_is_met)
{
	fake_fabric.restless = 1000000;
	EXPECT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	EXPECT_GT(1000000, fake_fabric.restless);
}

TEST_F(machine, differences_are_of_counters_not_of_state)
{
	struct cmx_snapshot now;

	fake_fabric_load();
	fake_fabric.links[3].up_bytes = 100;
	fake_fabric.entities[4].launches = 7;
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	fake_fabric.links[3].up_bytes = 150;
	fake_fabric.entities[4].launches = 9;
	fake_fabric.machine.total_ps += 5000;
	ASSERT_EQ(0, cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_LINK, 3, -1, 250));
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &now));
	ASSERT_EQ(0, cmx_snapshot_since("test", &now, &self->s));
	EXPECT_EQ(50, self->s.links[3].up_bytes);
	EXPECT_EQ(0, self->s.links[4].up_bytes);
	EXPECT_EQ(250, self->s.links[3].effective);
	EXPECT_EQ(1, self->s.links[3].changes);
	EXPECT_EQ(2, self->s.entities[4].launches);
	EXPECT_EQ(5000, self->s.span_ps);
	cmx_snapshot_free(&now);
}

TEST_F(machine, clients_are_told_apart_by_their_numbers)
{
	struct cmx_snapshot now;

	fake_fabric.num_clients = 3;
	for (int i = 0; i < 3; i++)
		fake_fabric.clients[i] = (struct cmx_fabric_client){ .id = (uint64_t)i + 1,
								      .bytes = 100 };
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	/* The first one leaves, a fourth one comes. */
	for (int i = 0; i < 3; i++)
		fake_fabric.clients[i] = (struct cmx_fabric_client){ .id = (uint64_t)i + 2,
								      .bytes = 130 };
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &now));
	ASSERT_EQ(0, cmx_snapshot_since("test", &now, &self->s));
	ASSERT_EQ(3, self->s.num_clients);
	EXPECT_EQ(30, self->s.clients[0].bytes);
	EXPECT_EQ(30, self->s.clients[1].bytes);
	EXPECT_EQ(4, self->s.clients[2].id);
	EXPECT_EQ(130, self->s.clients[2].bytes);
	cmx_snapshot_free(&now);
}

TEST_F(machine, there_is_no_difference_to_another_machine)
{
	struct cmx_snapshot now;

	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	fake_fabric_make(3);
	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &now));
	EXPECT_EQ(-1, cmx_snapshot_since("test", &now, &self->s));
	cmx_snapshot_free(&now);
}

TEST_F(machine, sums_have_every_link_once)
{
	struct cmx_link_sums sums;
	uint32_t links = 0, entities = 0;

	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	ASSERT_EQ(0, cmx_link_sums_make("test", &self->s, &sums));
	for (int k = 0; k <= CMX_FABRIC_LINK_VPC; k++)
		links += sums.kinds[k].links;
	EXPECT_EQ(self->s.machine.num_links, links);
	for (uint32_t i = 0; i < self->s.machine.num_entities; i++)
		entities += sums.entities[i].links;
	EXPECT_EQ(sums.kinds[CMX_FABRIC_LINK_UB].links, entities);
	EXPECT_EQ(16, sums.chips_above[0].links);
	EXPECT_EQ(20, sums.chips_below[0].links);
	EXPECT_EQ(2, sums.chips_below[self->s.machine.num_chips - 1].links);
	EXPECT_EQ(1, sums.siblings[0].links);
	EXPECT_EQ(1, sums.vpc[1].links);
	cmx_link_sums_free(&sums);
}

TEST_F(machine, links_down_do_not_thin_the_busy_share)
{
	struct cmx_link_sum sum = { .links = 7, .up = 7, .up_busy_ps = 7 * 300,
				    .down_busy_ps = 7 * 200 };

	EXPECT_EQ(300, cmx_link_sum_busy(&sum, 1000));
	sum.up = 6;
	sum.up_busy_ps = 6 * 300;
	EXPECT_EQ(300, cmx_link_sum_busy(&sum, 1000));
	sum.up = 0;
	EXPECT_EQ(0, cmx_link_sum_busy(&sum, 1000));
	EXPECT_EQ(0, cmx_link_sum_busy(&sum, 0));
}

TEST_F(machine, senseless_ends_are_refused)
{
	struct cmx_link_sums sums;

	ASSERT_EQ(0, cmx_snapshot_take("test", &fake_fabric, ALL, &self->s));
	self->s.links[5].b.index = 126;
	EXPECT_EQ(-1, cmx_link_sums_make("test", &self->s, &sums));
	self->s.links[5].b.index = 0;
	self->s.links[5].kind = 6;
	EXPECT_EQ(-1, cmx_link_sums_make("test", &self->s, &sums));
}

TEST_HARNESS_MAIN
