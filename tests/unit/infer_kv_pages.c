// SPDX-License-Identifier: GPL-2.0-only
/* Who owns the pages of the cache, and which of them are found again. */
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_kv_pages.h"

#define SHIFT	2u
#define SIZE	(1u << SHIFT)

static struct cmx_infer_err err;
static struct cmx_kv_pages p;

static void start(uint32_t n)
{
	cmx_kv_pages_free(&p);
	if (cmx_kv_pages_init(&p, n, SHIFT, &err))
		abort();
}

/* Ids that differ in one place for different @seed. */
static const uint32_t *ids(uint32_t seed)
{
	static uint32_t id[SIZE];

	for (uint32_t i = 0; i < SIZE; i++)
		id[i] = 7 + i;
	id[seed % SIZE] += seed;
	return id;
}

TEST(every_page_once)
{
	uint8_t seen[5] = { 0 };

	start(5);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t page = cmx_kv_pages_take(&p);

		ASSERT_GT(5, page);
		EXPECT_EQ(0, seen[page]++);
		EXPECT_EQ(4 - i, cmx_kv_pages_room(&p));
	}
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_take(&p));
	for (uint32_t i = 0; i < 5; i++)
		cmx_kv_pages_put(&p, i);
	EXPECT_EQ(5, cmx_kv_pages_room(&p));
}

TEST(a_published_page_is_found)
{
	uint32_t page, again;
	uint64_t serial;

	start(3);
	page = cmx_kv_pages_take(&p);
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, 0, ids(0)));
	serial = cmx_kv_pages_publish(&p, page, 0, ids(0));
	EXPECT_NE(0, serial);
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, 0, ids(1)));
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, serial, ids(0)));
	again = cmx_kv_pages_find(&p, 0, ids(0));
	EXPECT_EQ(page, again);
	EXPECT_EQ(2, p.page[page].refs);
	/* It takes two to give it back. */
	cmx_kv_pages_put(&p, page);
	EXPECT_EQ(2, cmx_kv_pages_room(&p));
	cmx_kv_pages_put(&p, page);
	EXPECT_EQ(3, cmx_kv_pages_room(&p));
	EXPECT_EQ(page, cmx_kv_pages_find(&p, 0, ids(0)));
	EXPECT_EQ(2, cmx_kv_pages_room(&p));
}

TEST(a_page_that_was_not_published_is_forgotten)
{
	uint32_t page;

	start(2);
	page = cmx_kv_pages_take(&p);
	cmx_kv_pages_put(&p, page);
	EXPECT_EQ(2, p.unused.n);
	EXPECT_EQ(0, p.idle.n);
}

/* A chain is found from its start only, and through what stood for each link. */
TEST(pages_in_a_row)
{
	uint32_t page[3], other;
	uint64_t serial[3], parent = 0;

	start(8);
	for (uint32_t i = 0; i < 3; i++) {
		page[i] = cmx_kv_pages_take(&p);
		/* The same ids each time: only what precedes them differs. */
		serial[i] = cmx_kv_pages_publish(&p, page[i], parent, ids(0));
		parent = serial[i];
	}
	EXPECT_EQ(page[0], cmx_kv_pages_find(&p, 0, ids(0)));
	EXPECT_EQ(page[1], cmx_kv_pages_find(&p, serial[0], ids(0)));
	EXPECT_EQ(page[2], cmx_kv_pages_find(&p, serial[1], ids(0)));
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, serial[2], ids(0)));
	/* Made twice: the second one stays private, its successors join the first. */
	other = cmx_kv_pages_take(&p);
	EXPECT_EQ(serial[0], cmx_kv_pages_publish(&p, other, 0, ids(0)));
	cmx_kv_pages_put(&p, other);
	EXPECT_EQ(5, p.unused.n);
}

TEST(the_oldest_idle_page_goes_first)
{
	uint32_t page[4];

	start(4);
	for (uint32_t i = 0; i < 4; i++) {
		page[i] = cmx_kv_pages_take(&p);
		cmx_kv_pages_publish(&p, page[i], 0, ids(i));
	}
	cmx_kv_pages_put(&p, page[2]);
	cmx_kv_pages_put(&p, page[0]);
	cmx_kv_pages_put(&p, page[3]);
	cmx_kv_pages_put(&p, page[1]);
	/* Used once more, so it is the youngest. */
	cmx_kv_pages_put(&p, cmx_kv_pages_find(&p, 0, ids(2)));
	EXPECT_EQ(page[0], cmx_kv_pages_take(&p));
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, 0, ids(0)));
	EXPECT_EQ(page[3], cmx_kv_pages_take(&p));
	EXPECT_EQ(page[1], cmx_kv_pages_take(&p));
	EXPECT_EQ(page[2], cmx_kv_pages_find(&p, 0, ids(2)));
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_take(&p));
}

/* A page whose predecessor has gone is not taken for the successor of what came there instead. */
TEST(a_recycled_predecessor_is_another_one)
{
	uint64_t serial;
	uint32_t first, second, now;

	start(2);
	first = cmx_kv_pages_take(&p);
	serial = cmx_kv_pages_publish(&p, first, 0, ids(1));
	second = cmx_kv_pages_take(&p);
	cmx_kv_pages_publish(&p, second, serial, ids(3));
	cmx_kv_pages_put(&p, first);
	now = cmx_kv_pages_take(&p);
	EXPECT_EQ(first, now);
	serial = cmx_kv_pages_publish(&p, now, 0, ids(2));
	EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, serial, ids(3)));
	/* Nor after the very same one was made again: it is not known to be that. */
	EXPECT_EQ(second, second);
	EXPECT_EQ(1, p.page[second].refs);
}

/* Different prompts in one bucket are told apart by their ids. */
TEST(hash_collisions)
{
	uint32_t seed[6], n = 0, want, page[6];

	start(8);
	want = cmx_kv_pages_bucket(&p, 0, ids(0));
	for (uint32_t s = 0; n < 6; s++) {
		ASSERT_GT(10000, s);
		if (cmx_kv_pages_bucket(&p, 0, ids(s)) == want)
			seed[n++] = s;
	}
	for (uint32_t i = 0; i < 6; i++) {
		EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, 0, ids(seed[i])));
		page[i] = cmx_kv_pages_take(&p);
		cmx_kv_pages_publish(&p, page[i], 0, ids(seed[i]));
	}
	for (uint32_t i = 0; i < 6; i++) {
		EXPECT_EQ(page[i], cmx_kv_pages_find(&p, 0, ids(seed[i])));
		cmx_kv_pages_put(&p, page[i]);
		cmx_kv_pages_put(&p, page[i]);
	}
	/* Some of them leave the bucket: the first, the last and one between. */
	EXPECT_EQ(2, p.unused.n);
	cmx_kv_pages_take(&p);
	cmx_kv_pages_take(&p);
	EXPECT_EQ(page[0], cmx_kv_pages_take(&p));
	EXPECT_EQ(page[1], cmx_kv_pages_find(&p, 0, ids(seed[1])));
	EXPECT_EQ(page[2], cmx_kv_pages_take(&p));
	EXPECT_EQ(page[5], cmx_kv_pages_find(&p, 0, ids(seed[5])));
	EXPECT_EQ(page[3], cmx_kv_pages_take(&p));
	EXPECT_EQ(page[4], cmx_kv_pages_find(&p, 0, ids(seed[4])));
	for (uint32_t i = 0; i < 4; i++) {
		if (i != 1)
			EXPECT_EQ(CMX_NO_PAGE, cmx_kv_pages_find(&p, 0, ids(seed[i])));
	}
}

static uint64_t state = 5;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

/* Against a model without any cleverness: what each page holds and how often it is held. */
TEST(random_use)
{
	enum { N = 13, HELD = 40 };
	uint32_t held[HELD], n_held = 0, refs[N] = { 0 }, holds[N] = { 0 };
	uint32_t found = 0, full = 0;

	start(N);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t seed = 1 + random_below(20), page = CMX_NO_PAGE;

		if (n_held == HELD || (n_held && random_below(3) == 0)) {
			uint32_t at = random_below(n_held);

			refs[held[at]]--;
			cmx_kv_pages_put(&p, held[at]);
			held[at] = held[--n_held];
			continue;
		}
		page = cmx_kv_pages_find(&p, 0, ids(seed));
		if (page != CMX_NO_PAGE) {
			ASSERT_EQ(seed, holds[page]);
			found++;
		} else {
			page = cmx_kv_pages_take(&p);
			full += page == CMX_NO_PAGE;
			if (page == CMX_NO_PAGE)
				continue;
			ASSERT_EQ(0, refs[page]);
			holds[page] = 0;
			if (random_below(2)) {
				for (uint32_t j = 0; j < N; j++)
					ASSERT_NE(seed, holds[j]);
				cmx_kv_pages_publish(&p, page, 0, ids(seed));
				holds[page] = seed;
			}
		}
		refs[page]++;
		held[n_held++] = page;
		for (uint32_t j = 0; j < N; j++)
			ASSERT_EQ(refs[j], p.page[j].refs);
	}
	EXPECT_LT(1000, found);
	EXPECT_LT(100, full);
	while (n_held)
		cmx_kv_pages_put(&p, held[--n_held]);
	EXPECT_EQ(N, cmx_kv_pages_room(&p));
	cmx_kv_pages_free(&p);
}

TEST_HARNESS_MAIN
