// SPDX-License-Identifier: GPL-2.0-only
/* Routing of tokens to ranks: what holds for every EP, and what the seed does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_operator_routing.h"

#define TOKENS	16u
#define TOPK	8u
#define EXPERTS	256u

static struct cmx_routing_options options(uint32_t ep)
{
	return (struct cmx_routing_options){
		.ep = ep, .tokens = TOKENS, .topk = TOPK, .experts = EXPERTS, .seed = 5,
	};
}

/* The experts of a token differ, and each is on a rank that has a share of it. */
static int rows_good(const struct cmx_routing *r)
{
	uint32_t ep = r->opt.ep;

	for (uint32_t i = 0; i < ep * TOKENS * TOPK; i++) {
		const struct cmx_row *row = &r->rows[i];

		if (row->source != i / TOPK / TOKENS || row->token != i / TOPK % TOKENS ||
		    row->k != i % TOPK || row->rank >= ep || row->expert >= EXPERTS)
			return 0;
		if ((row->rank + 1) * EXPERTS <= row->expert * ep ||
		    row->rank * EXPERTS >= (row->expert + 1u) * ep)
			return 0;
		for (uint32_t k = 0; k < row->k; k++) {
			if (r->rows[i - row->k + k].expert == row->expert)
				return 0;
		}
	}
	return 1;
}

/* Sorted by rank, source, slot; slots count from 0; nothing is lost. */
static int inbox_good(const struct cmx_routing *r)
{
	uint32_t ep = r->opt.ep, at = 0;

	for (uint32_t rank = 0; rank < ep; rank++) {
		if (r->first[rank] != at)
			return 0;
		for (uint32_t source = 0; source < ep; source++) {
			for (uint32_t slot = 0; slot < r->sent[source * ep + rank]; slot++, at++) {
				const struct cmx_row *row = &r->inbox[at];

				if (row->rank != rank || row->source != source ||
				    row->slot != slot || slot >= r->max_slots)
					return 0;
			}
		}
	}
	return r->first[ep] == at && at == ep * TOKENS * TOPK;
}

TEST(every_ep)
{
	for (uint32_t ep = 1; ep <= 320; ep++) {
		struct cmx_routing_options opt = options(ep);
		struct cmx_routing r;

		opt.balanced = ep % 2;
		ASSERT_EQ(0, cmx_routing_make(&r, &opt));
		ASSERT_TRUE(rows_good(&r))
			TH_LOG("EP %u", ep);
		ASSERT_TRUE(inbox_good(&r))
			TH_LOG("EP %u", ep);
		cmx_routing_free(&r);
	}
}

/* Expected load is the same for all ranks at any EP, replicas or not. */
TEST(even_load)
{
	static const uint32_t eps[] = { 3, 7, 100, 200, 255, 300 };

	for (int i = 0; i < 6; i++) {
		uint32_t ep = eps[i], mean;
		struct cmx_routing_options opt = options(ep);
		struct cmx_routing r;

		opt.tokens = 256;
		mean = opt.tokens * TOPK;
		ASSERT_EQ(0, cmx_routing_make(&r, &opt));
		for (uint32_t rank = 0; rank < ep; rank++) {
			uint32_t rows = r.first[rank + 1] - r.first[rank];

			/* Five standard deviations of a draw. */
			ASSERT_LT(abs((int)(rows - mean)), 5 * 46)
				TH_LOG("EP %u, rank %u: %u rows of %u", ep, rank, rows, mean);
		}
		cmx_routing_free(&r);
	}
}

TEST(balanced_load)
{
	struct cmx_routing_options opt = options(32);
	struct cmx_routing r;

	opt.balanced = true;
	ASSERT_EQ(0, cmx_routing_make(&r, &opt));
	for (uint32_t rank = 0; rank < 32; rank++)
		ASSERT_EQ(TOKENS * TOPK, r.first[rank + 1] - r.first[rank]);
	cmx_routing_free(&r);
}

TEST(seed_decides)
{
	struct cmx_routing_options opt = options(24);
	size_t size = 24ul * TOKENS * TOPK * sizeof(struct cmx_row);
	struct cmx_routing a, b, c;

	ASSERT_EQ(0, cmx_routing_make(&a, &opt));
	ASSERT_EQ(0, cmx_routing_make(&b, &opt));
	opt.seed++;
	ASSERT_EQ(0, cmx_routing_make(&c, &opt));
	EXPECT_EQ(0, memcmp(a.rows, b.rows, size));
	EXPECT_NE(0, memcmp(a.rows, c.rows, size));
	cmx_routing_free(&a);
	cmx_routing_free(&b);
	cmx_routing_free(&c);
}

TEST(refused)
{
	struct cmx_routing_options opt = options(0);
	struct cmx_routing r;

	EXPECT_EQ(-EINVAL, cmx_routing_make(&r, &opt));
	opt = options(8);
	opt.topk = 0;
	EXPECT_EQ(-EINVAL, cmx_routing_make(&r, &opt));
	opt.topk = 65;
	EXPECT_EQ(-EINVAL, cmx_routing_make(&r, &opt));
	opt = options(8);
	opt.experts = TOPK - 1;
	EXPECT_EQ(-EINVAL, cmx_routing_make(&r, &opt));
}

TEST_HARNESS_MAIN
