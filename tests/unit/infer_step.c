// SPDX-License-Identifier: GPL-2.0-only
/* What a step tells the kernels, against the parts it was made of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_step.h"

#define PARTS	6u
#define SHIFT	3u
#define CTX	400u
#define PAGES	(CTX >> SHIFT)

static const struct cmx_step_limits limits = {
	.rows = 300, .parts = PARTS, .want = 40, .samples = 20, .ctx = CTX, .window = 128,
	.page_shift = SHIFT, .ids_stride = CTX + 3,
};

static struct cmx_infer_err err;
static uint32_t pages[PARTS][PAGES];
static struct cmx_sampling sampling[PARTS];
static char host[1 << 16], die[1 << 16];
static struct cmx_step st;
static uint64_t rng = 5;

static uint32_t random_below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

/* The block where the kernels would find it. */
static void copy_block(void)
{
	memset(die, 0xff, sizeof(die));
	memcpy(die, host, st.bytes);
}

static struct cmx_part random_part(uint32_t i)
{
	struct cmx_part p = { .pages = pages[i], .slot = (i * 3 + 1) % PARTS };

	p.absorbed = random_below(2);
	p.n = 1 + random_below(p.absorbed ? 3 : 60);
	p.pos = random_below(CTX - p.n);
	if (random_below(2))
		p.pos = random_below(60);
	p.want = random_below((p.n < 4 ? p.n : 4) + 1);
	p.sample = random_below(p.want + 1);
	p.index = random_below(100);
	p.sampling = &sampling[i];
	return p;
}

static int row_is(const struct cmx_part *p, uint32_t i, const struct cmx_row *r)
{
	uint32_t pos = p->pos + i, page = p->pages[pos >> SHIFT];

	return r->pos == pos && r->id == p->slot * limits.ids_stride + pos &&
	       r->cell == page * (1u << SHIFT) + pos % (1u << SHIFT);
}

static int sample_is(const struct cmx_part *p, uint32_t i)
{
	const struct cmx_sample_row *r = &st.at.samples[p->first_sample + i];
	uint32_t row = p->first_row + p->n - p->sample + i;

	return st.at.want[r->logits] == row && r->index == p->index + i && r->follows == (i > 0) &&
	       r->history == p->slot * limits.ids_stride &&
	       r->history + r->n_history == st.at.rows[row].id + 1 &&
	       r->seed == p->sampling->seed && r->temp == p->sampling->temp &&
	       r->top_k == p->sampling->top_k && r->top_p == p->sampling->top_p &&
	       r->min_p == p->sampling->min_p && r->penalty == p->sampling->penalty;
}

static int part_is(const struct cmx_part *p)
{
	int ok = 1;

	for (uint32_t i = 0; i < p->n; i++)
		ok = ok && row_is(p, i, &st.at.rows[p->first_row + i]);
	for (uint32_t i = 0; i < p->want; i++)
		ok = ok && st.at.want[p->first_logits + i] == p->first_row + p->n - p->want + i;
	for (uint32_t i = 0; i < p->sample; i++)
		ok = ok && sample_is(p, i);
	for (uint32_t i = 0; i <= (p->pos + p->n - 1) >> SHIFT && p->absorbed; i++)
		ok = ok && st.at.tables[st.at.rows[p->first_row].keys + i] == p->pages[i];
	return ok;
}

/* The cache cell of a gathered row, as the gather kernel finds it. */
static uint32_t gathered(const struct cmx_window *w, uint32_t row)
{
	for (uint32_t i = 0; i < w->spans; i++) {
		const struct cmx_span *s = &st.at.spans[w->span + i];
		uint32_t pos = s->pos + row - s->out;

		if (row >= s->out && row < s->out + s->n)
			return st.at.tables[s->table + (pos >> SHIFT)] * (1u << SHIFT) +
			       pos % (1u << SHIFT);
	}
	return UINT32_MAX;
}

/* Each key that a token of a prompt may see comes once, in order, from its own cell. */
static int keys_are(const struct cmx_part *p, uint32_t i, uint64_t *pairs)
{
	uint32_t row = p->first_row + i, next = 0;

	for (uint32_t j = 0; j < st.n_windows; j++) {
		const struct cmx_window *w = &st.window[j];

		if (row < w->row || row >= w->row + w->rows)
			continue;
		if (w->first != next || w->first % CMX_KEY_TILE || w->keys > limits.window)
			return 0;
		for (; next <= p->pos + i && next < w->end; next++) {
			uint32_t key = st.at.rows[row].keys + next - w->first;

			if (key >= w->keys ||
			    gathered(w, key) != p->pages[next >> SHIFT] * (1u << SHIFT) +
						next % (1u << SHIFT))
				return 0;
			++*pairs;
		}
	}
	return next == p->pos + i + 1;
}

static uint64_t pairs_of_windows(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < st.n_windows; i++)
		sum += st.window[i].work.pairs;
	return sum;
}

static void check_step(struct __test_metadata *_metadata, const struct cmx_part *part, uint32_t n)
{
	uint64_t pairs = 0, absorbed = 0;
	uint32_t rows = 0;

	for (uint32_t i = 0; i < n; i++) {
		EXPECT_TRUE(part_is(&part[i]));
		rows += part[i].n;
		EXPECT_EQ(part[i].absorbed, part[i].first_row < st.n_absorbed);
		for (uint32_t j = 0; j < part[i].n; j++) {
			if (part[i].absorbed)
				absorbed += part[i].pos + j + 1;
			else
				EXPECT_TRUE(keys_are(&part[i], j, &pairs));
		}
	}
	EXPECT_EQ(rows, st.n_rows);
	EXPECT_EQ(absorbed, st.absorbed.pairs);
	EXPECT_EQ(pairs, pairs_of_windows());
}

TEST(random_steps)
{
	uint32_t long_ones = 0, joined = 0;

	ASSERT_GE(sizeof(host), cmx_step_bytes(&limits));
	ASSERT_EQ(0, cmx_step_init(&st, &limits, host, die, &err));
	for (uint32_t i = 0; i < PARTS * PAGES; i++)
		pages[i / PAGES][i % PAGES] = i * 37 % 1000;
	for (uint32_t i = 0; i < PARTS; i++)
		sampling[i] = (struct cmx_sampling){
			.penalty = 1 + (float)(i % 2), .temp = (float)(i % 3), .top_k = i,
			.top_p = 0.9f, .min_p = (float)i / 10, .seed = 1000 + i,
		};
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t n = 1 + random_below(PARTS);
		struct cmx_part part[PARTS];

		for (uint32_t i = 0; i < n; i++)
			part[i] = random_part(i);
		ASSERT_EQ(0, cmx_step_build(&st, part, n, &err)) TH_LOG("%s", err.text);
		ASSERT_GE(cmx_step_bytes(&limits), st.bytes);
		copy_block();
		check_step(_metadata, part, n);
		for (uint32_t i = 0; i < st.n_windows; i++) {
			long_ones += st.window[i].first > 0;
			joined += st.window[i].spans > 1;
		}
	}
	EXPECT_LT(100, long_ones);
	EXPECT_LT(100, joined);
	cmx_step_free(&st);
}

/* The largest step there may be fits into the block. */
TEST(the_largest_step)
{
	struct cmx_part part[PARTS];

	ASSERT_EQ(0, cmx_step_init(&st, &limits, host, die, &err));
	for (uint32_t i = 0; i < PARTS; i++)
		part[i] = (struct cmx_part){
			.pages = pages[i], .slot = i, .pos = CTX - 50, .n = 50,
			.want = i < 4 ? 10 : 0, .sample = i < 2 ? 10 : 0, .sampling = sampling,
		};
	ASSERT_EQ(0, cmx_step_build(&st, part, PARTS, &err)) TH_LOG("%s", err.text);
	EXPECT_GE(cmx_step_bytes(&limits), st.bytes);
	EXPECT_EQ(PARTS * 4, st.n_windows);
	copy_block();
	check_step(_metadata, part, PARTS);
	part[5].want = 1;
	EXPECT_EQ(-ENOSPC, cmx_step_build(&st, part, PARTS, &err));
	EXPECT_STREQ("a step of 41 rows of logits, the limit is 40", err.text);
	part[5].want = 0;
	part[3].sample = 1;
	EXPECT_EQ(-ENOSPC, cmx_step_build(&st, part, PARTS, &err));
	EXPECT_STREQ("a step of 21 tokens to choose, the limit is 20", err.text);
	cmx_step_free(&st);
}

/* What sampling costs goes by what each row asks for. */
TEST(counts_for_the_cost)
{
	const struct cmx_sampling some[] = {
		{ .penalty = 1, .top_p = 1 },
		{ .penalty = 1, .top_p = 1, .temp = 1 },
		{ .penalty = 2, .top_p = 0.5f, .temp = 1 },
		{ .penalty = 1, .top_p = 1, .temp = 1, .top_k = 3 },
		{ .penalty = 3, .top_p = 1, .min_p = 0.5f },
	};
	struct cmx_part part[5];

	ASSERT_EQ(0, cmx_step_init(&st, &limits, host, die, &err));
	for (uint32_t i = 0; i < 5; i++)
		part[i] = (struct cmx_part){
			.pages = pages[i], .slot = i, .pos = 10 * i, .n = 1, .absorbed = true,
			.want = 1, .sample = 1, .sampling = &some[i],
		};
	ASSERT_EQ(0, cmx_step_build(&st, part, 5, &err)) TH_LOG("%s", err.text);
	EXPECT_EQ(3, st.n_draw);
	EXPECT_EQ(2, st.n_sort);
	EXPECT_EQ(2, st.n_penalty);
	EXPECT_EQ(21 + 41, st.n_history);
	cmx_step_free(&st);
}

TEST_HARNESS_MAIN
