// SPDX-License-Identifier: GPL-2.0-only
/* The address arena against a map of every page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_va.h"

#define BASE	0x200000000000ull
#define PAGES	4096u
#define PAGE	4096ull
#define RANGES	300

struct taken {
	uint64_t start, size;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Mark or clear pages; false if one was not in the state expected. */
static bool flip(unsigned char *map, uint64_t start, uint64_t size, unsigned char from)
{
	for (uint64_t i = (start - BASE) / PAGE; i < (start - BASE + size) / PAGE; i++) {
		if (i >= PAGES || map[i] != from)
			return false;
		map[i] = !from;
	}
	return true;
}

TEST(never_hands_out_a_page_twice)
{
	struct taken taken[RANGES] = {};
	unsigned char map[PAGES] = {};
	struct cmx_va va;
	uint32_t seed = 42;
	uint32_t full = 0;

	ASSERT_EQ(0, cmx_va_init(&va, BASE, PAGES * PAGE));
	for (int round = 0; round < 20000; round++) {
		struct taken *t = &taken[next_random(&seed) % RANGES];
		uint64_t align = PAGE << (next_random(&seed) % 6);
		int ret;

		if (t->size) {
			ASSERT_TRUE(flip(map, t->start, t->size, 1));
			cmx_va_give(&va, t->start, t->size);
			t->size = 0;
			continue;
		}
		t->size = PAGE * (1 + next_random(&seed) % 40);
		ret = cmx_va_take(&va, t->size, align, &t->start);
		if (ret) {
			ASSERT_EQ(-ENOSPC, ret);
			t->size = 0;
			full++;
			continue;
		}
		ASSERT_EQ(0, t->start & (align - 1));
		ASSERT_TRUE(flip(map, t->start, t->size, 0));
	}
	EXPECT_GT(full, 0);
	for (int i = 0; i < RANGES; i++) {
		if (taken[i].size)
			cmx_va_give(&va, taken[i].start, taken[i].size);
	}
	EXPECT_EQ(1, va.count);
	EXPECT_EQ(BASE, va.free[0].start);
	EXPECT_EQ(PAGES * PAGE, va.free[0].size);
	EXPECT_EQ(0, va.taken);
	cmx_va_fini(&va);
}

TEST(gives_need_no_memory)
{
	struct cmx_va va;
	uint64_t start[64];
	struct cmx_va_range *before;

	ASSERT_EQ(0, cmx_va_init(&va, BASE, 64 * PAGE));
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(0, cmx_va_take(&va, PAGE, PAGE, &start[i]));
	EXPECT_EQ(-ENOSPC, cmx_va_take(&va, PAGE, PAGE, &start[0]));
	before = va.free;
	for (int i = 0; i < 64; i += 2)
		cmx_va_give(&va, start[i], PAGE);
	EXPECT_EQ(32, va.count);
	EXPECT_EQ(before, va.free);
	cmx_va_fini(&va);
}

TEST(aligns_to_what_is_asked_and_keeps_the_gap)
{
	struct cmx_va va;
	uint64_t a, b, c;

	ASSERT_EQ(0, cmx_va_init(&va, BASE + PAGE, 1024 * PAGE));
	ASSERT_EQ(0, cmx_va_take(&va, 2 * PAGE, 2ull << 20, &a));
	EXPECT_EQ(BASE + (2ull << 20), a);
	ASSERT_EQ(0, cmx_va_take(&va, PAGE, PAGE, &b));
	EXPECT_EQ(BASE + PAGE, b);
	EXPECT_EQ(-ENOSPC, cmx_va_take(&va, 1024 * PAGE, PAGE, &c));
	cmx_va_give(&va, a, 2 * PAGE);
	cmx_va_give(&va, b, PAGE);
	ASSERT_EQ(0, cmx_va_take(&va, 1024 * PAGE, PAGE, &c));
	EXPECT_EQ(BASE + PAGE, c);
	cmx_va_fini(&va);
}

TEST(whole_address_space_does_not_overflow)
{
	struct cmx_va va;
	uint64_t a;

	ASSERT_EQ(0, cmx_va_init(&va, 1ull << 48, (1ull << 55) - (1ull << 48)));
	EXPECT_EQ(-ENOSPC, cmx_va_take(&va, UINT64_MAX - PAGE + 1, PAGE, &a));
	EXPECT_EQ(-ENOSPC, cmx_va_take(&va, PAGE, 1ull << 63, &a));
	EXPECT_EQ(0, cmx_va_take(&va, 64ull << 30, 2ull << 20, &a));
	EXPECT_EQ(1ull << 48, a);
	cmx_va_fini(&va);
}

TEST_HARNESS_MAIN
