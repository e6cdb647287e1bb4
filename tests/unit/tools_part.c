// SPDX-License-Identifier: GPL-2.0-only
/* Names of parts, both ways; amounts and lists as text. */
#include <stdio.h>
#include <stdlib.h>

#include <cmx_drm.h>
#include <kselftest_harness.h>

#include "cmx_amount.h"
#include "cmx_argument.h"
#include "cmx_part.h"
#include "cmx_ranges.h"
#include "fake_fabric.h"

#define M	(&fake_fabric.machine)

FIXTURE(machine) {
	uint32_t index;
};

FIXTURE_SETUP(machine)
{
	fake_fabric_make(3);
	/* What is refused is told. */
	if (!freopen("/dev/null", "w", stderr))
		abort();
	self->index = 12345;
}

FIXTURE_TEARDOWN(machine)
{
	fake_fabric_free();
}

/* The fake's own fields are what the names are checked against. */
TEST_F(machine, names_of_entities_say_where_they_are)
{
	for (uint32_t i = 0; i < M->num_entities; i++) {
		const struct cmx_fabric_entity *e = &fake_fabric.entities[i];
		struct cmx_part name = cmx_part_entity(M, i);
		char want[48];

		if (e->kind == CMX_ENTITY_DIE)
			snprintf(want, sizeof(want), "n%u.npu%u.die%u", e->node, e->npu, e->unit);
		else
			snprintf(want, sizeof(want), "n%u.socket%u", e->node, e->unit);
		ASSERT_STREQ(want, name.text);
		ASSERT_EQ(e->node, cmx_part_entity_node(M, i));
		ASSERT_EQ(0, cmx_part_parse_entity("test", M, name.text, &self->index));
		ASSERT_EQ(i, self->index);
	}
}

TEST_F(machine, names_of_chips_say_where_they_are)
{
	for (uint32_t i = 0; i < M->num_chips; i++) {
		const struct cmx_fabric_chip *c = &fake_fabric.chips[i];
		struct cmx_part name = cmx_part_chip(M, i);
		char want[48];

		if (c->level == 1)
			snprintf(want, sizeof(want), "n%u.plane%u", c->unit, c->plane);
		else
			snprintf(want, sizeof(want), "plane%u.chip%u", c->plane, c->unit);
		ASSERT_STREQ(want, name.text);
		ASSERT_EQ(0, cmx_part_parse_chip("test", M, name.text, &self->index));
		ASSERT_EQ(i, self->index);
	}
}

TEST_F(machine, numbers_do_as_well)
{
	EXPECT_EQ(0, cmx_part_parse_entity("test", M, "59", &self->index));
	EXPECT_EQ(59, self->index);
	EXPECT_EQ(0, cmx_part_parse_chip("test", M, "0", &self->index));
	EXPECT_EQ(0, self->index);
	EXPECT_EQ(0, cmx_part_parse_node("test", M, "n2", &self->index));
	EXPECT_EQ(2, self->index);
	EXPECT_EQ(0, cmx_part_parse_node("test", M, "1", &self->index));
	EXPECT_EQ(1, self->index);
}

TEST_F(machine, what_is_not_there_is_refused)
{
	static const char * const bad[] = {
		"", "60", "-1", "4294967296", "99999999999999999999", "n3.npu0.die0",
		"n0.npu8.die0", "n0.npu0.die2", "n0.socket4", "n0.npu0", "n0.npu0.die0x",
		"n0.npu.die0", " 1", "1 ", "+1", "0x1", "socket0", "n4294967295.npu0.die0",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_NE(0, cmx_part_parse_entity("test", M, bad[i], &self->index))
			TH_LOG("taken: %s", bad[i]);
	}
	EXPECT_NE(0, cmx_part_parse_chip("test", M, "n0.plane7", &self->index));
	EXPECT_NE(0, cmx_part_parse_chip("test", M, "plane0.chip16", &self->index));
	EXPECT_NE(0, cmx_part_parse_chip("test", M, "133", &self->index));
	EXPECT_NE(0, cmx_part_parse_node("test", M, "n3", &self->index));
	EXPECT_NE(0, cmx_part_parse_node("test", M, "n", &self->index));
}

TEST_F(machine, lists_of_planes)
{
	uint32_t planes;

	EXPECT_EQ(0, cmx_part_parse_planes("test", M, "0,2-4,6", &planes));
	EXPECT_EQ(0x5d, planes);
	EXPECT_STREQ("0,2-4,6", cmx_part_planes(planes).text);
	EXPECT_EQ(0, cmx_part_parse_planes("test", M, "rdma", &planes));
	EXPECT_EQ(1U << 16, planes);
	EXPECT_STREQ("rdma", cmx_part_planes(planes).text);
	EXPECT_EQ(0, cmx_part_parse_planes("test", M, "vpc", &planes));
	EXPECT_EQ(1U << 17, planes);
	EXPECT_STREQ("0,2,4,6,8,10,12,14,rdma,vpc", cmx_part_planes(0x35555).text);
	EXPECT_STREQ("0-15", cmx_part_planes(0xffff).text);
	EXPECT_STREQ("", cmx_part_planes(0).text);
}

TEST_F(machine, lists_of_planes_that_are_none)
{
	static const char * const bad[] = {
		"", "7", "0,", ",0", "3-", "-3", "4-2", "0-7", "0;1", "RDMA", "0,rdma", "0 1",
	};
	uint32_t planes;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_NE(0, cmx_part_parse_planes("test", M, bad[i], &planes))
			TH_LOG("taken: %s", bad[i]);
	}
}

TEST(amounts_have_units)
{
	EXPECT_STREQ("0 B", cmx_amount_bytes(0).text);
	EXPECT_STREQ("1023 B", cmx_amount_bytes(1023).text);
	EXPECT_STREQ("1 KiB", cmx_amount_bytes(1024).text);
	EXPECT_STREQ("64 GiB", cmx_amount_bytes(64ULL << 30).text);
	EXPECT_STREQ("16 EiB", cmx_amount_bytes(UINT64_MAX).text);
	EXPECT_STREQ("28 GB/s", cmx_amount_rate(28000000000ULL).text);
	EXPECT_STREQ("22.86 GB/s", cmx_amount_rate(22857142857ULL).text);
	EXPECT_STREQ("999 ps", cmx_amount_time(999).text);
	EXPECT_STREQ("1.2 us", cmx_amount_time(1200000).text);
	EXPECT_STREQ("1 ms", cmx_amount_time(999999999).text);
	EXPECT_STREQ("1.845e+07 s", cmx_amount_time(UINT64_MAX).text);
	EXPECT_STREQ("12.5 %", cmx_amount_permille(125).text);
}

TEST(shares_and_rates_do_not_overflow)
{
	EXPECT_EQ(0, cmx_permille(5, 0));
	EXPECT_EQ(1000, cmx_permille(UINT64_MAX, UINT64_MAX));
	EXPECT_EQ(500, cmx_permille(1ULL << 62, 1ULL << 63));
	EXPECT_EQ(0, cmx_rate(5, 0));
	EXPECT_EQ(28000000000ULL, cmx_rate(28, 1000));
	EXPECT_EQ(UINT64_MAX, cmx_rate(UINT64_MAX, 1));
}

TEST(neighbours_are_drawn_together)
{
	static const uint32_t numbers[] = { 0, 1, 2, 5, 7, 8, UINT32_MAX };
	char text[64] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	ASSERT_NE(NULL, to);
	cmx_ranges_put(to, numbers, 7);
	fclose(to);
	EXPECT_STREQ("0-2,5,7-8,4294967295", text);
}

TEST_F(machine, seconds)
{
	static const char * const bad[] = {
		"", "0", "-1", "x", "1s", "86401", "inf", "nan", "0x10", "0.0001", "1e9",
	};
	uint64_t ms = 0;

	EXPECT_EQ(0, cmx_argument_seconds("test", "--x", "0.25", &ms));
	EXPECT_EQ(250, ms);
	EXPECT_EQ(0, cmx_argument_seconds("test", "--x", "86400", &ms));
	EXPECT_EQ(86400000, ms);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_NE(0, cmx_argument_seconds("test", "--x", bad[i], &ms))
			TH_LOG("taken: %s", bad[i]);
	}
}

TEST_HARNESS_MAIN
