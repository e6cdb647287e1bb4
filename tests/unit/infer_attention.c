// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attention in both forms against double, on every level; and what its bits do
 * not depend on: grid, other tokens and sequences of the launch, windows, page
 * size, where the pages are, and whatever stands in memory that is not its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <kselftest_harness.h>

#include "kernels/cmx_npu.h"

#define MAX_KEYS	1100u
#define HEADS		3u
#define MAX_DIM		80u

static float q[64 * HEADS * MAX_DIM];
static float kv[HEADS * MAX_KEYS * MAX_DIM], values[HEADS * MAX_KEYS * (MAX_DIM + 3)];
static float latent[MAX_KEYS * MAX_DIM], out[3][64 * HEADS * MAX_DIM];
static float state[64 * HEADS * 2];
static struct cmx_row rows[64];
static uint64_t rng = 3;

static float uniform(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (float)(int32_t)(rng >> 32) * 0x1p-31f;
}

static void fill(float *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = uniform();
}

static void poison(float *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = NAN;
}

static void run(enum cmx_isa isa, enum cmx_npu_id id, const void *args, uint32_t blocks)
{
	for (uint32_t b = blocks; b-- > 0;)
		cmx_npu_kernels(isa)[id].fn(args, b, blocks);
}

/* Softmax of scores over values that are @stride apart, in double. */
static double blend(const double *score, const float *v, size_t stride, uint32_t n)
{
	double top = -INFINITY, sum = 0, acc = 0;

	for (uint32_t s = 0; s < n; s++)
		top = fmax(top, score[s]);
	for (uint32_t s = 0; s < n; s++) {
		sum += exp(score[s] - top);
		acc += exp(score[s] - top) * (double)v[s * stride];
	}
	return acc / sum;
}

static double dot(const float *a, const float *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)a[i] * b[i];
	return sum;
}

/* Tokens at positions [pos, pos + n) of a sequence whose keys start at row @keys. */
static void set_rows(struct cmx_row *r, uint32_t pos, uint32_t n, uint32_t keys)
{
	for (uint32_t i = 0; i < n; i++)
		r[i] = (struct cmx_row){ .pos = pos + i, .keys = keys };
}

static struct cmx_k_attention plain(uint32_t tokens, uint32_t dim)
{
	return (struct cmx_k_attention){
		.rows = rows, .q = q, .keys = kv, .values = values, .latent = latent,
		.out = out[0], .state = state, .window = MAX_KEYS, .end = UINT32_MAX,
		.nope = dim, .rope = dim / 2 + 1, .dv = dim + 3, .kv_lora = 5, .heads = HEADS,
		.tokens = tokens, .scale = 0.7f,
	};
}

static size_t out_floats(const struct cmx_k_attention *a)
{
	return (size_t)a->tokens * a->heads * a->dv;
}

static void fill_keys(void)
{
	fill(kv, sizeof(kv) / sizeof(*kv));
	fill(values, sizeof(values) / sizeof(*values));
	fill(latent, sizeof(latent) / sizeof(*latent));
}

/* Largest difference of one token's output from what it should be. */
static double plain_error(const struct cmx_k_attention *a, uint32_t token, uint32_t keys)
{
	uint32_t row = a->kv_lora + a->rope, n = a->rows[token].pos + 1;
	static double score[MAX_KEYS];
	double worst = 0;

	for (uint32_t h = 0; h < a->heads; h++) {
		const float *x = a->q + ((size_t)token * a->heads + h) * (a->nope + a->rope);
		const float *k = a->keys + ((size_t)h * a->window + keys) * a->nope;
		const float *v = a->values + ((size_t)h * a->window + keys) * a->dv;

		for (uint32_t s = 0; s < n; s++)
			score[s] = (double)a->scale *
				   (dot(x, k + (size_t)s * a->nope, a->nope) +
				    dot(x + a->nope, a->latent + (size_t)(keys + s) * row +
					a->kv_lora, a->rope));
		for (uint32_t c = 0; c < a->dv; c++) {
			size_t at = ((size_t)token * a->heads + h) * a->dv + c;

			worst = fmax(worst, fabs(blend(score, v + c, a->dv, n) - a->out[at]));
		}
	}
	return worst;
}

/* Lengths around the edges of a tile, two in a launch, on every level and with odd grids. */
TEST(plain_form_against_double)
{
	static const uint32_t ends[] = { 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 131, 211 };

	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct cmx_k_attention a = plain(4, 1 + i * 6);
		uint32_t n = ends[i] < 3 ? 1 : 3;

		fill(q, 4 * HEADS * MAX_DIM * 2);
		fill_keys();
		a.tokens = n + 1;
		set_rows(rows, ends[i] - n, n, 0);
		set_rows(rows + n, 1, 1, ends[i]);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			run(isa, CMX_NPU_ATTENTION, &a, 1 + (uint32_t)isa * 2);
			for (uint32_t t = 0; t < n; t++)
				EXPECT_GT(2e-6, plain_error(&a, t, 0));
			EXPECT_GT(2e-6, plain_error(&a, n, ends[i]));
		}
	}
}

static void same_on_every_grid(struct __test_metadata *_metadata, enum cmx_npu_id id,
			       const void *args, size_t n)
{
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		run(isa, id, args, 1);
		memcpy(out[1], out[0], n * sizeof(float));
		for (uint32_t blocks = 2; blocks < 40; blocks += 5) {
			poison(out[0], n);
			run(isa, id, args, blocks);
			EXPECT_EQ(0, memcmp(out[0], out[1], n * sizeof(float)));
		}
	}
}

TEST(plain_form_on_every_grid)
{
	const struct cmx_k_attention a = plain(35, 20);

	fill(q, 35 * HEADS * MAX_DIM);
	fill_keys();
	set_rows(rows, 100, 30, 0);
	set_rows(rows + 30, 60, 5, 130);
	same_on_every_grid(_metadata, CMX_NPU_ATTENTION, &a, out_floats(&a));
}

/* All at once, and each token in a launch of its own, at positions around the tile's edges. */
TEST(bug10_bits_of_a_token_do_not_depend_on_the_chunk)
{
	for (uint32_t first = 40; first < 110; first += 23) {
		struct cmx_k_attention a = plain(40, 21);
		size_t n = (size_t)HEADS * a.dv;

		fill(q, 40 * HEADS * MAX_DIM);
		fill_keys();
		set_rows(rows, first, 40, 0);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			a = plain(40, 21);
			run(isa, CMX_NPU_ATTENTION, &a, 3);
			for (uint32_t t = 0; t < 40; t++) {
				a.tokens = 1;
				a.rows = rows + t;
				a.q = q + (size_t)t * HEADS * (a.nope + a.rope);
				a.out = out[1];
				run(isa, CMX_NPU_ATTENTION, &a, 1);
				EXPECT_EQ(0, memcmp(out[0] + t * n, out[1], n * sizeof(float)));
			}
		}
	}
}

/* The keys in pieces, each in a launch of its own, are the keys in one piece. */
TEST(windows_do_not_change_bits)
{
	for (uint32_t window = CMX_KEY_TILE; window <= 4 * CMX_KEY_TILE; window += CMX_KEY_TILE) {
		struct cmx_k_attention a = plain(50, 21);
		size_t n = out_floats(&a);
		uint32_t end = 500, pos = end - 50;

		fill(q, 50 * HEADS * MAX_DIM);
		fill_keys();
		set_rows(rows, pos, 50, 0);
		run(CMX_ISA_SCALAR, CMX_NPU_ATTENTION, &a, 2);
		memcpy(out[1], out[0], n * sizeof(float));
		poison(out[0], n);
		poison(state, sizeof(state) / sizeof(state[0]));
		for (uint32_t first = 0; first < end; first += window) {
			uint32_t skip = first > pos ? first - pos : 0;

			a = plain(50 - skip, 21);
			a.first = first;
			a.end = first + window < end ? first + window : UINT32_MAX;
			a.rows += skip;
			a.q += (size_t)skip * HEADS * (a.nope + a.rope);
			a.out += (size_t)skip * HEADS * a.dv;
			a.state += (size_t)skip * HEADS * 2;
			a.keys += first * a.nope;
			a.values += first * a.dv;
			a.latent += (size_t)first * (a.kv_lora + a.rope);
			run(CMX_ISA_SCALAR, CMX_NPU_ATTENTION, &a, 2);
		}
		EXPECT_EQ(0, memcmp(out[0], out[1], n * sizeof(float))) TH_LOG("%u", window);
	}
}

/* Not even a NaN where another sequence's keys, or a later token's, may stand. */
TEST(bug26_what_a_token_does_not_see_does_not_matter)
{
	struct cmx_k_attention a = plain(20, 21);
	size_t n = out_floats(&a);

	fill(q, 20 * HEADS * MAX_DIM);
	fill_keys();
	set_rows(rows, 70, 20, 0);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		run(isa, CMX_NPU_ATTENTION, &a, 1);
		memcpy(out[1], out[0], n * sizeof(float));
		/* The last token sees position 89; those before it do not. */
		for (uint32_t h = 0; h < HEADS; h++) {
			poison(kv + ((size_t)h * MAX_KEYS + 89) * a.nope, 20 * a.nope);
			poison(values + ((size_t)h * MAX_KEYS + 89) * a.dv, 20 * a.dv);
		}
		poison(latent + (size_t)89 * (a.kv_lora + a.rope), 20 * (a.kv_lora + a.rope));
		run(isa, CMX_NPU_ATTENTION, &a, 1);
		EXPECT_EQ(0, memcmp(out[0], out[1], 19 * HEADS * a.dv * sizeof(float)));
		EXPECT_TRUE(isnan(out[0][19 * HEADS * a.dv]));
		fill_keys();
	}
}

#define LORA	37u
#define ROPE	6u
#define WIDTH	(LORA + ROPE)

static float q_latent[8 * 2 * CMX_HEAD_TILE * LORA], q_rope[8 * 2 * CMX_HEAD_TILE * 16];

static struct cmx_k_mla absorbed(const float *cache, const uint32_t *tables, uint32_t tokens,
				 uint32_t shift)
{
	return (struct cmx_k_mla){
		.rows = rows, .tables = tables, .q_latent = q_latent, .q = q_rope, .cache = cache,
		.out = out[0], .nope = 4, .rope = ROPE, .kv_lora = LORA, .heads = 11,
		.tokens = tokens, .page_shift = shift, .scale = 0.4f,
	};
}

static double absorbed_error(const struct cmx_k_mla *a, uint32_t token, const float *keys)
{
	uint32_t n = a->rows[token].pos + 1;
	static double score[MAX_KEYS];
	double worst = 0;

	for (uint32_t h = 0; h < a->heads; h++) {
		size_t at = (size_t)token * a->heads + h;

		for (uint32_t s = 0; s < n; s++)
			score[s] = (double)a->scale *
				   (dot(a->q_latent + at * LORA, keys + s * WIDTH, LORA) +
				    dot(a->q + at * (4 + ROPE) + 4, keys + s * WIDTH + LORA, ROPE));
		for (uint32_t c = 0; c < LORA; c++)
			worst = fmax(worst, fabs(blend(score, keys + c, WIDTH, n) -
						 a->out[at * LORA + c]));
	}
	return worst;
}

/* Puts rows of keys into pages that are scattered; all else is poison. */
static void scatter(float *cache, uint32_t cells, const float *keys, uint32_t n, uint32_t shift,
		    uint32_t *table)
{
	uint32_t pages = cells >> shift;

	poison(cache, (size_t)cells * WIDTH);
	for (uint32_t s = 0; s < n; s++) {
		uint32_t page = (s >> shift) * 7 % pages;

		table[s >> shift] = page;
		memcpy(cache + (((size_t)page << shift) + s % (1u << shift)) * WIDTH,
		       keys + s * WIDTH, WIDTH * sizeof(float));
	}
}

/* Lengths 1, a page less one, a page, one more, primes, for pages of 4 to 128 positions. */
TEST(bug11_every_length_and_page_size_gives_the_same_bits)
{
	static const uint32_t ends[] = { 1, 3, 4, 5, 31, 32, 33, 61, 63, 64, 65, 127, 128, 129, 131,
					 257 };
	static float keys[300 * WIDTH], cache[1024 * WIDTH], want[11 * LORA];
	uint32_t table[256];

	fill(keys, 300 * WIDTH);
	fill(q_latent, sizeof(q_latent) / sizeof(*q_latent));
	fill(q_rope, sizeof(q_rope) / sizeof(*q_rope));
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			for (uint32_t shift = 2; shift <= 7 && cmx_npu_kernels(isa); shift++) {
				struct cmx_k_mla a = absorbed(cache, table, 1, shift);

				set_rows(rows, ends[i] - 1, 1, 0);
				scatter(cache, 1024, keys, ends[i], shift, table);
				run(isa, CMX_NPU_MLA, &a, 1 + shift);
				EXPECT_GT(2e-6, absorbed_error(&a, 0, keys));
				if (shift == 2)
					memcpy(want, out[0], sizeof(want));
				EXPECT_EQ(0, memcmp(want, out[0], sizeof(want)));
			}
		}
	}
}

/* Several sequences, and two tokens of one, as if each were alone. */
TEST(absorbed_rows_do_not_depend_on_each_other)
{
	static const uint32_t pos[] = { 70, 3, 129, 130, 64 };
	static float keys[300 * WIDTH], cache[1024 * WIDTH], want[5 * 11 * LORA];
	uint32_t table[5 * 20] = { 0 };
	struct cmx_k_mla a = absorbed(cache, table, 5, 4);

	fill(keys, 300 * WIDTH);
	fill(q_latent, sizeof(q_latent) / sizeof(*q_latent));
	fill(q_rope, sizeof(q_rope) / sizeof(*q_rope));
	scatter(cache, 1024, keys, 200, 4, table);
	for (uint32_t i = 0; i < 5; i++) {
		memcpy(table + i * 20, table, 20 * sizeof(*table));
		set_rows(rows + i, pos[i], 1, i == 3 ? 2 * 20 : i * 20);
	}
	same_on_every_grid(_metadata, CMX_NPU_MLA, &a, 5 * 11 * LORA);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		a = absorbed(cache, table, 5, 4);
		run(isa, CMX_NPU_MLA, &a, 4);
		memcpy(want, out[0], sizeof(want));
		a.tokens = 1;
		for (uint32_t i = 0; i < 5; i++) {
			a.rows = rows + i;
			a.q_latent = q_latent + (size_t)i * 11 * LORA;
			a.q = q_rope + (size_t)i * 11 * (4 + ROPE);
			run(isa, CMX_NPU_MLA, &a, 1);
			EXPECT_EQ(0, memcmp(want + (size_t)i * 11 * LORA, out[0],
					    11 * LORA * sizeof(float)));
		}
	}
}

/* Pages whose bytes lie beyond what 32 bits count, and numbers beyond what 16 bits do. */
TEST(bug11_high_page_numbers)
{
	const uint32_t shift = 4, high = 1u << 21;
	size_t size = ((size_t)(high + 20) << shift) * WIDTH * sizeof(float);
	float *cache = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	static float keys[100 * WIDTH], gathered[100 * WIDTH], norm[LORA], angles[200 * ROPE];
	uint32_t table[8];
	struct cmx_k_mla a = absorbed(cache, table, 1, shift);
	const struct cmx_span span = { .table = 0, .pos = 0, .out = 0, .n = 100 };
	const struct cmx_k_kv_gather g = {
		.cache = cache, .tables = table, .spans = &span, .out = gathered, .n_spans = 1,
		.rows = 100, .width = WIDTH, .page_shift = shift,
	};
	struct cmx_k_kv_store st = {
		.kv = keys, .norm = norm, .table = angles, .rows = rows, .cache = cache,
		.kv_lora = LORA, .rope = ROPE, .tokens = 1, .eps = 1e-6f,
	};

	ASSERT_NE(MAP_FAILED, cache);
	fill(keys, 100 * WIDTH);
	for (uint32_t i = 0; i < 8; i++)
		table[i] = high + i * 2;
	for (uint32_t s = 0; s < 100; s++)
		memcpy(cache + (((size_t)table[s >> shift] << shift) + s % 16) * WIDTH,
		       keys + s * WIDTH, WIDTH * sizeof(float));
	fill(q_latent, 11 * LORA);
	fill(q_rope, 11 * 16);
	set_rows(rows, 99, 1, 0);
	run(CMX_ISA_SCALAR, CMX_NPU_MLA, &a, 2);
	EXPECT_GT(2e-6, absorbed_error(&a, 0, keys));
	run(CMX_ISA_SCALAR, CMX_NPU_KV_GATHER, &g, 3);
	EXPECT_EQ(0, memcmp(gathered, keys, sizeof(keys)));
	/* A store gets there too. */
	fill(norm, LORA);
	fill(angles, 200 * ROPE);
	rows[0].cell = (table[7] << shift) + 3;
	run(CMX_ISA_SCALAR, CMX_NPU_KV_STORE, &st, 1);
	EXPECT_NE(0, cache[(((size_t)table[7] << shift) + 3) * WIDTH]);
	munmap(cache, size);
}

TEST(gather_takes_the_rows_of_every_span)
{
	static float keys[300 * WIDTH], cache[1024 * WIDTH], got[90 * WIDTH];
	uint32_t table[20];
	const struct cmx_span spans[] = {
		{ .pos = 0, .out = 0, .n = 33 }, { .pos = 5, .out = 33, .n = 1 },
		{ .pos = 64, .out = 34, .n = 56 },
	};
	const struct cmx_k_kv_gather g = {
		.cache = cache, .tables = table, .spans = spans, .out = got, .n_spans = 3,
		.rows = 90, .width = WIDTH, .page_shift = 4,
	};

	fill(keys, 300 * WIDTH);
	scatter(cache, 1024, keys, 300, 4, table);
	for (uint32_t blocks = 1; blocks < 100; blocks += 9) {
		poison(got, 90 * WIDTH);
		run(CMX_ISA_SCALAR, CMX_NPU_KV_GATHER, &g, blocks);
		for (uint32_t i = 0; i < 3; i++)
			EXPECT_EQ(0, memcmp(got + (size_t)spans[i].out * WIDTH,
					    keys + (size_t)spans[i].pos * WIDTH,
					    spans[i].n * WIDTH * sizeof(float)));
	}
}

/* Each row to its cell and nowhere else, turned by its own position, on every level. */
TEST(kv_store)
{
	static float kv_rows[4 * WIDTH], norm[LORA], angles[40 * ROPE], cache[3][64 * WIDTH];
	static const uint32_t cells[] = { 17, 3, 63, 40 }, pos[] = { 0, 39, 7, 7 };
	struct cmx_k_kv_store a = {
		.kv = kv_rows, .norm = norm, .table = angles, .rows = rows, .kv_lora = LORA,
		.rope = ROPE, .tokens = 4, .eps = 1e-6f,
	};

	fill(kv_rows, 4 * WIDTH);
	fill(norm, LORA);
	fill(angles, 40 * ROPE);
	for (uint32_t i = 0; i < 4; i++)
		rows[i] = (struct cmx_row){ .pos = pos[i], .cell = cells[i] };
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		uint32_t touched = 0;

		if (!cmx_npu_kernels(isa))
			continue;
		memset(cache[1], 0, sizeof(cache[1]));
		a.cache = cache[1];
		run(isa, CMX_NPU_KV_STORE, &a, 1 + (uint32_t)isa);
		if (isa == CMX_ISA_SCALAR)
			memcpy(cache[0], cache[1], sizeof(cache[0]));
		for (uint32_t i = 0; i < 64; i++)
			touched += cache[1][i * WIDTH] != 0;
		EXPECT_EQ(4, touched);
		for (uint32_t i = 0; i < 4; i++) {
			const float *at = cache[1] + cells[i] * WIDTH + LORA;
			const float *x = kv_rows + i * WIDTH, *t = angles + pos[i] * ROPE;

			EXPECT_GE(1e-6, fabsf(x[LORA] * t[0] - x[LORA + 1] * t[1] - at[0]));
			EXPECT_GE(1e-6, fabsf(x[LORA] * t[1] + x[LORA + 1] * t[0] - at[1]));
		}
		for (uint32_t i = 0; i < 64 * WIDTH; i++)
			EXPECT_GE(2e-6, fabsf(cache[0][i] - cache[1][i]));
	}
}

TEST_HARNESS_MAIN
