// SPDX-License-Identifier: GPL-2.0-only
/* The largest machine that is taken, every constant at its upper limit. */
#include <stdlib.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_LE(0, ok_ret) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

FIXTURE(largest)
{
	struct cmx_fabric *fabric;
	struct cmx_fabric_machine m;
};

FIXTURE_SETUP(largest)
{
	const struct cmx_profile_constant *constants;
	struct cmx_profile *profile;
	size_t count;

	OK(cmx_fabric_open(&self->fabric));
	OK(cmx_profile_current(self->fabric, &profile));
	constants = cmx_profile_constants(&count);
	for (size_t i = 0; i < count; i++)
		OK(cmx_profile_set(profile, constants[i].name, constants[i].max, NULL));
	OK(cmx_profile_load(self->fabric, profile, 0));
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	cmx_profile_free(profile);
}

FIXTURE_TEARDOWN(largest)
{
	cmx_fabric_close(self->fabric);
}

TEST_F_TIMEOUT(largest, machine, 100)
{
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_link *links;
	struct cmx_fabric_route r;

	EXPECT_EQ(64 * (64 + 16), self->m.num_entities);
	ASSERT_EQ((int)self->m.num_links, cmx_fabric_links(self->fabric, &links));
	ASSERT_EQ((int)self->m.num_entities, cmx_fabric_entities(self->fabric, &entities));
	EXPECT_EQ(self->m.num_links - 1, links[self->m.num_links - 1].index);
	/* No rate or time of it is a product that left its bits. */
	OK(cmx_fabric_get_route(self->fabric, 0, self->m.num_entities - 1, 0, &r));
	EXPECT_EQ(0xffff, r.planes);
	EXPECT_EQ(64, r.plane_chips[15]);
	EXPECT_LT(1000000000000, r.read_rate);
	EXPECT_GE(100001000000000, r.read_rate);
	EXPECT_LT(1000000000000, r.read_ps);
	EXPECT_GT(100000000000000, r.read_ps);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, 63, 0, 0));
	OK(cmx_fabric_get_route(self->fabric, 0, self->m.num_entities - 1, 0, &r));
	EXPECT_FALSE(r.reachable);
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	EXPECT_LT(16 * (80 + 64), self->m.links_down);
	free(links);
	free(entities);
}

TEST_HARNESS_MAIN
