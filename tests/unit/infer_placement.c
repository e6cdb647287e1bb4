// SPDX-License-Identifier: GPL-2.0-only
/* Placements of experts, and plans from one to the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_placement.h"

#define RANKS	24u
#define EXPERTS	64u
#define LOCAL	12u

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_EQ(0, ok_ret) TH_LOG("%s: %s", #call, err.text); \
} while (0)

struct draw {
	struct cmx_placement_shape shape;
	uint64_t failed[1];
	uint64_t counts[EXPERTS];
	uint32_t live;
};

static uint32_t random_of(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % n;
}

/* Few experts with many tokens, many with few or none. */
static void draw_counts(uint64_t *counts, uint32_t n, uint32_t *state)
{
	uint32_t kind = random_of(state, 4);

	for (uint32_t e = 0; e < n; e++) {
		counts[e] = random_of(state, 1000);
		if (kind == 0)
			counts[e] = 100;
		if (kind == 1)
			counts[e] = 100000 / (1 + random_of(state, 1000));
		if (kind == 2 && random_of(state, 3))
			counts[e] = 0;
	}
}

/* A shape that fits. */
static void draw_shape(struct draw *d, uint32_t seed)
{
	struct cmx_placement_shape *s = &d->shape;
	uint32_t most;

	memset(d, 0, sizeof(*d));
	s->failed = d->failed;
	do {
		s->ranks = 1 + random_of(&seed, RANKS);
		s->experts = 1 + random_of(&seed, EXPERTS);
		s->local = 1 + random_of(&seed, LOCAL);
		d->failed[0] = 0;
		for (uint32_t i = 0; i < s->ranks && seed & 256; i++)
			d->failed[0] |= (uint64_t)!random_of(&seed, 4) << i;
		d->live = s->ranks - (uint32_t)__builtin_popcountll(d->failed[0]);
	} while (s->experts > d->live * s->local);
	most = d->live * (s->local < s->experts ? s->local : s->experts);
	s->physical = random_of(&seed, 3) ? s->experts + random_of(&seed, most - s->experts + 1) :
					    random_of(&seed, 2) * most;
	draw_counts(d->counts, s->experts, &seed);
}

static void check_whole(struct __test_metadata *_metadata, const struct draw *d,
			const struct cmx_placement *p)
{
	const struct cmx_placement_shape *s = &d->shape;
	uint32_t total = 0;

	ASSERT_EQ(s->ranks, p->ranks);
	ASSERT_EQ(s->local, p->local);
	for (uint32_t e = 0; e < s->experts; e++) {
		EXPECT_GE(cmx_placement_copies(p, e), 1);
		total += cmx_placement_copies(p, e);
	}
	EXPECT_EQ(s->physical ? s->physical : s->experts, total);
	for (uint32_t rank = 0; rank < s->ranks; rank++) {
		const int32_t *places = cmx_placement_of(p, rank);

		for (uint32_t i = 0; i < s->local; i++) {
			ASSERT_LT(places[i], (int32_t)s->experts);
			ASSERT_GE(places[i], CMX_PLACEMENT_NONE);
			if (places[i] < 0)
				continue;
			EXPECT_EQ(0, d->failed[0] >> rank & 1);
			for (uint32_t k = 0; k < i; k++)
				EXPECT_NE(places[k], places[i]);
		}
	}
}

TEST(every_expert_is_placed_and_no_rank_has_one_twice)
{
	struct cmx_infer_err err;

	for (uint32_t seed = 1; seed <= 400; seed++) {
		struct cmx_placement even, balanced, again;
		struct draw d;

		draw_shape(&d, seed);
		OK(cmx_placement_even(&d.shape, &even, &err));
		OK(cmx_placement_balance(&d.shape, d.counts, &balanced, &err));
		OK(cmx_placement_balance(&d.shape, d.counts, &again, &err));
		check_whole(_metadata, &d, &even);
		check_whole(_metadata, &d, &balanced);
		EXPECT_LE(cmx_placement_busiest(&balanced, d.counts),
			  cmx_placement_busiest(&even, d.counts)) TH_LOG("seed %u", seed);
		EXPECT_EQ(0, memcmp(balanced.table, again.table,
				    4ull * d.shape.ranks * d.shape.local));
		cmx_placement_free(&even);
		cmx_placement_free(&balanced);
		cmx_placement_free(&again);
	}
}

TEST(even_is_in_order_and_in_equal_parts)
{
	struct cmx_placement_shape s = { .ranks = 4, .experts = 8, .local = 3, .physical = 10 };
	static const int32_t want[] = { 0, 1, -1, 2, 3, 4, 5, 6, -1, 7, 0, 1 };
	struct cmx_placement p;
	struct cmx_infer_err err;

	OK(cmx_placement_even(&s, &p, &err));
	EXPECT_EQ(0, memcmp(want, p.table, sizeof(want)));
	cmx_placement_free(&p);
	s.physical = 0;
	s.ranks = 2;
	s.local = 4;
	OK(cmx_placement_even(&s, &p, &err));
	for (int32_t e = 0; e < 8; e++)
		EXPECT_EQ(e, p.table[e]);
	cmx_placement_free(&p);
}

/* The tokens of a few experts outweigh those of all others, as in real models. */
TEST(skewed_counts_are_balanced)
{
	struct cmx_placement_shape s = { .ranks = 32, .experts = 256, .local = 9,
					 .physical = 288 };
	struct cmx_placement even, balanced;
	uint64_t counts[256], total = 0, mean;
	struct cmx_infer_err err;

	for (uint32_t e = 0; e < 256; e++) {
		counts[e] = 1000000 / (e * 37 % 256 + 8);
		total += counts[e];
	}
	mean = total * 1024 / 32;
	OK(cmx_placement_even(&s, &even, &err));
	OK(cmx_placement_balance(&s, counts, &balanced, &err));
	TH_LOG("busiest rank by mean: even %.3f, balanced %.3f",
	       (double)cmx_placement_busiest(&even, counts) / (double)mean,
	       (double)cmx_placement_busiest(&balanced, counts) / (double)mean);
	EXPECT_GT(cmx_placement_busiest(&even, counts), mean * 3 / 2);
	EXPECT_LT(cmx_placement_busiest(&balanced, counts), mean * 103 / 100);
	cmx_placement_free(&even);
	cmx_placement_free(&balanced);
}

/* The heaviest expert gets the copies; of equals the first one. */
TEST(copies_go_to_the_heaviest)
{
	struct cmx_placement_shape s = { .ranks = 4, .experts = 4, .local = 2, .physical = 8 };
	uint64_t counts[4] = { 10, 40, 10, 20 };
	static const uint32_t want[4] = { 1, 4, 1, 2 };
	struct cmx_placement p;
	struct cmx_infer_err err;

	OK(cmx_placement_balance(&s, counts, &p, &err));
	for (uint32_t e = 0; e < 4; e++)
		EXPECT_EQ(want[e], cmx_placement_copies(&p, e));
	/* 10 of the four with 40, and 10 of one more on each. */
	EXPECT_EQ(20 * 1024, cmx_placement_busiest(&p, counts));
	cmx_placement_free(&p);
	s.physical = 5;
	memset(counts, 0, sizeof(counts));
	OK(cmx_placement_balance(&s, counts, &p, &err));
	EXPECT_EQ(2, cmx_placement_copies(&p, 0));
	cmx_placement_free(&p);
}

/* Heaviest first alone would end with 7 and 5. */
TEST(the_busiest_rank_swaps)
{
	struct cmx_placement_shape s = { .ranks = 2, .experts = 5, .local = 3 };
	const uint64_t counts[5] = { 2, 2, 3, 2, 3 };
	struct cmx_placement p;
	struct cmx_infer_err err;

	OK(cmx_placement_even(&s, &p, &err));
	EXPECT_EQ(8 * 1024, cmx_placement_busiest(&p, counts));
	cmx_placement_free(&p);
	OK(cmx_placement_balance(&s, counts, &p, &err));
	EXPECT_EQ(6 * 1024, cmx_placement_busiest(&p, counts));
	cmx_placement_free(&p);
}

/* As many copies as places: the last ones have little choice. */
TEST(full_ranks_are_whole)
{
	struct cmx_placement_shape s = { .ranks = 3, .experts = 5, .local = 3, .physical = 9 };
	uint32_t seed = 7;
	struct cmx_infer_err err;

	for (uint32_t n = 0; n < 2000; n++) {
		struct draw d = { .shape = s };
		struct cmx_placement even, p;

		for (uint32_t e = 0; e < 5; e++)
			d.counts[e] = random_of(&seed, 50);
		OK(cmx_placement_even(&s, &even, &err));
		OK(cmx_placement_balance(&s, d.counts, &p, &err));
		check_whole(_metadata, &d, &p);
		EXPECT_LE(cmx_placement_busiest(&p, d.counts),
			  cmx_placement_busiest(&even, d.counts));
		cmx_placement_free(&even);
		cmx_placement_free(&p);
	}
}

/* ------------------------------------------------------------------------------- plans */

/* Make the plan's moves on places that hold the numbers of their experts. */
static void check_plan(struct __test_metadata *_metadata, const struct draw *d,
		       const struct cmx_placement *old, const struct cmx_placement *next,
		       const struct cmx_placement_plan *plan)
{
	uint64_t places = (uint64_t)old->ranks * old->local;
	int32_t *has = calloc(places, sizeof(*has)), *stash = calloc(places, sizeof(*stash));

	ASSERT_LE(plan->count, places);
	memcpy(has, old->table, places * sizeof(*has));
	for (uint32_t rank = 0; rank < old->ranks; rank++)
		for (uint32_t i = 0; i < old->local && d->failed[0] >> rank & 1; i++)
			has[rank * old->local + i] = -7;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct cmx_placement_move *m = &plan->moves[i];

		ASSERT_LT(m->stash, (int32_t)plan->stashes);
		if (m->stash >= 0)
			stash[m->to_rank * old->local + (uint32_t)m->stash] =
				has[(uint32_t)m->from_rank * old->local + m->from_place];
	}
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct cmx_placement_move *m = &plan->moves[i];
		int32_t from = (int32_t)m->expert;

		for (uint32_t rank = 0; rank < old->ranks && m->from_rank < 0; rank++)
			EXPECT_FALSE(!(d->failed[0] >> rank & 1) &&
				     cmx_placement_has(old, rank, m->expert));
		if (m->stash >= 0)
			from = stash[m->to_rank * old->local + (uint32_t)m->stash];
		else if (m->from_rank >= 0)
			from = has[(uint32_t)m->from_rank * old->local + m->from_place];
		EXPECT_EQ((int32_t)m->expert, from);
		has[m->to_rank * old->local + m->to_place] = from;
	}
	for (uint64_t i = 0; i < places; i++)
		if (next->table[i] >= 0)
			EXPECT_EQ(next->table[i], has[i]);
	free(has);
	free(stash);
}

TEST(plans_lead_to_the_next_placement)
{
	struct cmx_infer_err err;
	uint32_t stashes = 0, moves = 0;

	for (uint32_t seed = 1; seed <= 400; seed++) {
		struct cmx_placement old, next;
		struct cmx_placement_plan plan;
		struct draw d, before;
		uint64_t busiest;
		uint32_t state = seed;

		draw_shape(&d, seed);
		before = d;
		before.shape.failed = NULL;
		OK(cmx_placement_balance(&before.shape, d.counts, &old, &err));
		draw_counts(d.counts, d.shape.experts, &state);
		OK(cmx_placement_balance(&d.shape, d.counts, &next, &err));
		busiest = cmx_placement_busiest(&next, d.counts);
		OK(cmx_placement_plan(&old, &next, d.failed, &plan, &err));
		check_whole(_metadata, &d, &next);
		check_plan(_metadata, &d, &old, &next, &plan);
		EXPECT_EQ(busiest, cmx_placement_busiest(&next, d.counts));
		stashes += plan.stashes;
		moves += plan.count;
		cmx_placement_plan_free(&plan);
		cmx_placement_free(&old);
		cmx_placement_free(&next);
	}
	/* Both ways of a move are among these. */
	EXPECT_GT(stashes, 0);
	EXPECT_GT(moves, stashes);
}

/* Fewest moves over all ways to hand out the sets of @next, by trying all. */
static uint32_t fewest(const struct cmx_placement *old, const struct cmx_placement *next,
		       uint32_t rank, uint32_t taken)
{
	uint32_t best = UINT32_MAX;

	if (rank == old->ranks)
		return 0;
	for (uint32_t set = 0; set < next->ranks; set++) {
		uint32_t moves = 0;

		if (taken >> set & 1)
			continue;
		for (uint32_t i = 0; i < next->local; i++) {
			int32_t e = cmx_placement_of(next, set)[i];

			moves += e >= 0 && !cmx_placement_has(old, rank, (uint32_t)e);
		}
		moves += fewest(old, next, rank + 1, taken | 1u << set);
		best = moves < best ? moves : best;
	}
	return best;
}

TEST(plans_have_the_fewest_moves)
{
	struct cmx_infer_err err;
	uint32_t seed = 3;

	for (uint32_t n = 0; n < 400; n++) {
		struct cmx_placement_shape s = { .local = 5 };
		struct cmx_placement old, next;
		struct cmx_placement_plan plan;
		uint64_t counts[2][35];
		uint32_t least;

		s.ranks = 1 + random_of(&seed, 7);
		s.experts = 5 + random_of(&seed, s.ranks * 5 - 4);
		s.physical = s.experts + random_of(&seed, s.ranks * 5 - s.experts + 1);
		for (uint32_t i = 0; i < 2 * 35; i++)
			counts[i / 35][i % 35] = random_of(&seed, 100);
		OK(cmx_placement_balance(&s, counts[0], &old, &err));
		OK(cmx_placement_balance(&s, counts[1], &next, &err));
		least = fewest(&old, &next, 0, 0);
		OK(cmx_placement_plan(&old, &next, NULL, &plan, &err));
		EXPECT_EQ(least, plan.count);
		cmx_placement_plan_free(&plan);
		/* And none when there is nothing to do. */
		OK(cmx_placement_plan(&old, &old, NULL, &plan, &err));
		EXPECT_EQ(0, plan.count);
		cmx_placement_plan_free(&plan);
		cmx_placement_free(&old);
		cmx_placement_free(&next);
	}
}

/* What only a failed rank had comes from the host, the rest from a rank that lives. */
TEST(failed_ranks_are_not_read)
{
	struct cmx_placement_shape s = { .ranks = 3, .experts = 4, .local = 4, .physical = 5 };
	uint64_t counts[4] = { 100, 1, 1, 1 }, failed[1] = { 0 };
	struct cmx_placement old, next;
	struct cmx_placement_plan plan;
	struct cmx_infer_err err;
	uint32_t host = 0, lost = 0;

	OK(cmx_placement_balance(&s, counts, &old, &err));
	while (!cmx_placement_has(&old, lost, 0))
		lost++;
	failed[0] = 1ull << lost;
	s.failed = failed;
	OK(cmx_placement_balance(&s, counts, &next, &err));
	OK(cmx_placement_plan(&old, &next, failed, &plan, &err));
	for (uint32_t i = 0; i < plan.count; i++) {
		EXPECT_NE((int32_t)lost, plan.moves[i].from_rank);
		EXPECT_NE(lost, plan.moves[i].to_rank);
		host += plan.moves[i].from_rank == CMX_PLACEMENT_HOST;
	}
	for (uint32_t e = 1; e < 4; e++)
		host -= cmx_placement_has(&old, lost, e) && cmx_placement_copies(&old, e) == 1;
	EXPECT_EQ(0, host);
	cmx_placement_plan_free(&plan);
	cmx_placement_free(&old);
	cmx_placement_free(&next);
}

/* ----------------------------------------------------------------------------- refusals */

#define REFUSED(code, part, call) do { \
	EXPECT_EQ(code, call); \
	EXPECT_NE(NULL, strstr(err.text, part)) TH_LOG("%s", err.text); \
} while (0)

TEST(what_does_not_fit_is_refused)
{
	struct cmx_placement_shape s = { .ranks = 4, .experts = 9, .local = 2 };
	uint64_t counts[9] = { 0 }, failed[1] = { 2 };
	struct cmx_placement p, q;
	struct cmx_placement_plan plan;
	struct cmx_infer_err err;

	REFUSED(-ENOSPC, "experts is 9, more than the 8 places of 4 live ranks",
		cmx_placement_even(&s, &p, &err));
	REFUSED(-ENOSPC, "experts is 9", cmx_placement_balance(&s, counts, &p, &err));
	s.experts = 8;
	s.failed = failed;
	REFUSED(-ENOSPC, "experts is 8, more than the 6 places of 3 live ranks",
		cmx_placement_balance(&s, counts, &p, &err));
	s.experts = 2;
	s.physical = 1;
	REFUSED(-EINVAL, "physical is 1, fewer than 2", cmx_placement_even(&s, &p, &err));
	s.physical = 7;
	REFUSED(-ENOSPC, "physical is 7, more than the 6", cmx_placement_even(&s, &p, &err));
	s.local = 3;
	REFUSED(-EINVAL, "physical is 7, more than 2 experts on each of 3 live ranks, 6",
		cmx_placement_balance(&s, counts, &p, &err));
	s.physical = 0;
	s.ranks = 1025;
	REFUSED(-EINVAL, "ranks is 1025, not 1 to 1024", cmx_placement_even(&s, &p, &err));
	s.ranks = 4;
	s.local = 0;
	REFUSED(-EINVAL, "local is 0", cmx_placement_even(&s, &p, &err));
	s.local = 2;
	counts[1] = CMX_PLACEMENT_MAX_COUNT + 1;
	REFUSED(-EINVAL, "counts[1] is 1099511627777",
		cmx_placement_balance(&s, counts, &p, &err));
	s.failed = NULL;
	OK(cmx_placement_even(&s, &p, &err));
	s.ranks = 5;
	OK(cmx_placement_even(&s, &q, &err));
	REFUSED(-EINVAL, "next has 5 ranks", cmx_placement_plan(&p, &q, NULL, &plan, &err));
	failed[0] = 15;
	REFUSED(-EINVAL, "on failed rank", cmx_placement_plan(&p, &p, failed, &plan, &err));
	cmx_placement_free(&p);
	cmx_placement_free(&q);
}

TEST_HARNESS_MAIN
