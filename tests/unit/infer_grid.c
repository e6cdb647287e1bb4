// SPDX-License-Identifier: GPL-2.0-only
/* Into how many blocks launches are cut: enough for every thread, never more than have work. */
#include <stdlib.h>

#include <kselftest_harness.h>

#include "cmx_tinymoe.h"
#include "kernels/cmx_npu_cost.h"
#include "kernels/cmx_npu_grid.h"

#define PROMPT	512u
#define MANY_THREADS	64u

/* A model's widths, as far as its heavy launches have them. */
struct widths {
	uint32_t hidden, heads, kv_lora, rope, nope, v, inter, moe_inter, experts, used, vocab;
};

static const struct widths v3 = { 7168, 128, 512, 64, 128, 128, 18432, 2048, 256, 8, 129280 };

static struct widths v3mid(void)
{
	const struct tinymoe_preset *p = tinymoe_find("v3mid");

	return (struct widths){ p->hidden, p->heads, p->kv_lora, p->rope, p->nope, p->v, p->inter,
				p->moe_inter, p->experts, p->top_k, p->vocab };
}

static uint32_t grid(enum cmx_npu_id id, const void *args, uint32_t threads)
{
	const struct cmx_npu_load load = cmx_npu_likely_load(id, args);
	struct cmx_cost likely;

	cmx_npu_cost(id, args, &load, false, &likely);
	return cmx_npu_grid(id, args, &likely, threads);
}

/* Every thread has its share of blocks, or there is no more to part. */
static int enough(enum cmx_npu_id id, const void *args, const char *what)
{
	for (uint32_t threads = 1; threads <= MANY_THREADS; threads *= 2) {
		uint64_t units = cmx_npu_units(id, args), want = 4ull * threads;
		uint32_t got = grid(id, args, threads);

		if (got <= units && (got >= want || got == units))
			continue;
		fprintf(stderr, "%s: %u blocks of %llu units for %u threads\n", what, got,
			(unsigned long long)units, threads);
		return 0;
	}
	return 1;
}

static int products_have_enough(const struct widths *m, uint32_t tokens)
{
	const struct cmx_k_matmul head = {
		.type = CMX_TENSOR_F32, .rows = m->vocab, .k = m->hidden, .heads = 1, .tokens = 1,
	}, projection = {
		.type = CMX_TENSOR_F32, .rows = m->hidden, .k = m->heads * m->v, .heads = 1,
		.tokens = tokens,
	}, absorb = {
		.type = CMX_TENSOR_F32, .rows = m->kv_lora, .k = m->nope, .heads = m->heads,
		.tokens = tokens,
	};
	const struct cmx_k_glu glu = {
		.gate_type = CMX_TENSOR_F32, .up_type = CMX_TENSOR_F32, .rows = m->inter,
		.k = m->hidden, .tokens = tokens,
	};
	const struct cmx_k_expert_glu up = {
		.gate_type = CMX_TENSOR_F32, .up_type = CMX_TENSOR_F32, .rows = m->moe_inter,
		.k = m->hidden, .n_expert = m->experts, .tokens = tokens, .n_used = m->used,
	};
	const struct cmx_k_expert_down down = {
		.type = CMX_TENSOR_F32, .rows = m->hidden, .k = m->moe_inter,
		.n_expert = m->experts, .tokens = tokens, .n_used = m->used,
	};

	return enough(CMX_NPU_MATMUL, &head, "head") &&
	       enough(CMX_NPU_MATMUL, &projection, "projection") &&
	       (tokens == 1 || enough(CMX_NPU_MATMUL, &absorb, "absorbed query")) &&
	       enough(CMX_NPU_GLU, &glu, "dense") &&
	       enough(CMX_NPU_EXPERT_GLU, &up, "experts") &&
	       enough(CMX_NPU_EXPERT_DOWN, &down, "experts down");
}

static int attention_has_enough(const struct widths *m)
{
	struct cmx_key_work work = { 0 };
	struct cmx_k_attention a = {
		.end = PROMPT, .nope = m->nope, .rope = m->rope, .dv = m->v,
		.kv_lora = m->kv_lora, .heads = m->heads, .tokens = PROMPT,
	};

	cmx_npu_add_key_work(0, PROMPT, 0, PROMPT, &work);
	a.pairs = work.pairs;
	a.key_rows = work.rows;
	return enough(CMX_NPU_ATTENTION, &a, "attention");
}

TEST(heavy_launches_have_blocks_for_every_thread)
{
	const struct widths mid = v3mid();

	EXPECT_TRUE(products_have_enough(&mid, PROMPT));
	EXPECT_TRUE(products_have_enough(&v3, PROMPT));
	EXPECT_TRUE(products_have_enough(&v3, 1));
	EXPECT_TRUE(attention_has_enough(&mid));
	EXPECT_TRUE(attention_has_enough(&v3));
}

static struct cmx_k_mla absorbed(uint32_t heads, uint32_t tokens, uint32_t keys)
{
	struct cmx_key_work work = { 0 };
	struct cmx_k_mla a = {
		.nope = 64, .rope = 32, .kv_lora = 256, .heads = heads, .tokens = tokens,
	};

	for (uint32_t t = 0; t < tokens; t++)
		cmx_npu_add_key_work(0, keys, keys - 1, 1, &work);
	a.pairs = work.pairs;
	a.key_rows = work.rows;
	return a;
}

/* One thread parts nothing, more part the heads of a lone sequence; a batch has tokens to part. */
TEST(heads_are_parted_as_far_as_threads_need)
{
	static const struct {
		uint32_t heads, tokens, threads, blocks;
	} want[] = {
		{ 16, 1, 1, 1 }, { 16, 1, 2, 2 }, { 16, 1, 3, 2 }, { 16, 1, 4, 4 },
		{ 16, 1, 64, 4 }, { 8, 1, 1, 1 }, { 8, 1, 2, 2 }, { 11, 1, 4, 3 },
		{ 128, 1, 1, 8 }, { 128, 1, 8, 8 }, { 128, 1, 16, 16 }, { 128, 1, 32, 32 },
		{ 16, 4, 4, 4 }, { 16, 16, 4, 16 }, { 16, 200, 4, 64 }, { 16, 200, 32, 128 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct cmx_k_mla a = absorbed(want[i].heads, want[i].tokens, 512);

		EXPECT_EQ(want[i].blocks, grid(CMX_NPU_MLA, &a, want[i].threads))
			TH_LOG("%u heads, %u tokens, %u threads", want[i].heads, want[i].tokens,
			       want[i].threads);
	}
}

/* What is not worth a thread's waking is one block, and nothing is cut into empty ones. */
TEST(light_launches_stay_whole)
{
	const struct cmx_k_norm one = { .dim = 1024, .tokens = 1 };
	const struct cmx_k_norm many = { .dim = 1024, .tokens = 37 };
	const struct cmx_k_mla early = absorbed(16, 1, 1);

	EXPECT_EQ(1, grid(CMX_NPU_NORM, &one, 64));
	EXPECT_GE(37, grid(CMX_NPU_NORM, &many, 64));
	EXPECT_EQ(1, grid(CMX_NPU_MLA, &early, 64));
}

TEST_HARNESS_MAIN
