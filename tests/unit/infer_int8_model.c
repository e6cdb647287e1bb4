// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole INT8 models: the pass against one in double over the same rounded weights
 * and inputs, a model from a file against one that is rounded as it is loaded, what
 * smoothing leaves as it was, and files that are not what they should be.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_calibration.h"
#include "cmx_forward.h"
#include "cmx_gguf_writer.h"
#include "cmx_quantise.h"
#include "cmx_quantise_file.h"
#include "cmx_site.h"
#include "cmx_tinymoe.h"
#include "cmx_tinymoe_forward.h"
#include "host_die.h"
#include "model_run.h"
#include "kernels/cmx_i8.h"

#define TOKENS	12u
#define VOCAB	512u

/* Of logits whose standard deviation is about 3: what F32 sums leave, as in F32 models. */
#define INT8_TOL	1e-4
/* Of a step: how far from a tie F32 values may still be rounded the other way. */
#define TIE		1e-3
/* The same of outputs of experts, which become BF16. */
#define OUT_TIE		1e-5

static struct cmx_infer_err err;
static const uint32_t page;

struct engine {
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
};

static int make_model(const char *preset, enum tinymoe_type type, bool legacy)
{
	const struct model_form form = { tinymoe_find(preset), type, legacy, false };

	return model_run_file(&form);
}

static int engine_open(struct engine *e, int fd, bool int8, bool time_only)
{
	const struct cmx_machine_options die = { .isa = CMX_ISA_SSE2, .threads = 1,
					     .time_only = time_only };
	const struct cmx_forward_options opt = {
		.ctx = TOKENS, .rows = TOKENS, .seqs = 1, .pages = 1, .page_shift = 4,
		.all_logits = true,
	};
	const struct cmx_load_options load = { 0 };
	struct cmx_source *src = NULL;
	int ret = cmx_source_open_fd(fd, &src, &err);

	memset(e, 0, sizeof(*e));
	if (!ret && int8)
		cmx_source_quantise(src);
	if (!ret)
		ret = host_die_open(&die, &e->die, &err);
	if (!ret)
		ret = cmx_model_load(src, e->die, &load, &e->model, &err);
	if (!ret)
		ret = cmx_forward_init(&e->fwd, &e->model, e->die, &opt, &err);
	cmx_source_close(src);
	return ret;
}

static void engine_close(struct engine *e)
{
	cmx_forward_free(&e->fwd);
	cmx_model_free(&e->model);
	host_die_close(e->die);
}

static void make_ids(uint32_t ids[TOKENS])
{
	for (uint32_t i = 0; i < TOKENS; i++)
		ids[i] = (i * 37 + 11) % VOCAB;
}

/* Logits are where the engine has them. */
static int run_prompt(struct engine *e)
{
	struct cmx_part part = { .pages = &page, .n = TOKENS, .want = TOKENS };
	uint32_t ids[TOKENS];
	int ret;

	make_ids(ids);
	ret = cmx_forward_prompt(&e->fwd, 0, ids, TOKENS, &err);
	return ret ? ret : cmx_forward_step(&e->fwd, &part, 1, &err);
}

static int logits_of(int fd, bool int8, float out[TOKENS * VOCAB])
{
	struct engine e;
	int ret = engine_open(&e, fd, int8, false);

	if (!ret)
		ret = run_prompt(&e);
	if (!ret)
		memcpy(out, e.fwd.logits, TOKENS * VOCAB * sizeof(*out));
	engine_close(&e);
	return ret;
}

/* The file @fd as INT8, in a file of its own. */
static int quantised(int fd, const struct cmx_quantise_options *opt)
{
	int out = memfd_create("int8", MFD_CLOEXEC);
	FILE *f = fdopen(dup(out), "w");
	struct cmx_quantise_result r;
	struct cmx_gguf *g = NULL;
	int ret = cmx_gguf_open_fd(fd, &g, &err);

	if (!ret)
		ret = cmx_quantise_file(g, f, opt, &r, &err);
	cmx_gguf_close(g);
	fclose(f);
	if (!ret)
		return out;
	close(out);
	return ret;
}

/* Weights of the double's model to what INT8 makes of them. */
static void round_weights(struct tinymoe_model *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t block, k = (uint32_t)m->t[i].dims[m->t[i].n_dims - 1];
		const struct cmx_site_use *use = cmx_site_use_of(m->t[i].name, &block);
		uint64_t count = tinymoe_count(&m->t[i]);
		float row[k];
		int8_t q[k];

		for (uint64_t at = 0; use && use->int8 && at < count; at += k) {
			float scale;

			for (uint32_t j = 0; j < k; j++)
				row[j] = (float)m->w[i][at + j];
			scale = cmx_quantise_row(row, NULL, k, q);
			for (uint32_t j = 0; j < k; j++)
				m->w[i][at + j] = (double)scale * q[j];
		}
	}
}

/*
 * The inputs of the engine's INT8 products as it rounded them, by layer, site and
 * token, experts' by token and expert: near a tie the pass in double must go the same way.
 */
struct taken {
	const struct engine *e;
	const uint32_t *slot_token;	/* of the experts' products that come next */
	const int8_t *row[27][CMX_SITE_COUNT][TOKENS][16];
	double worst;			/* distance to the double's value, in steps */
	/* Outputs of experts, rounded to BF16. */
	const float *out[27][TOKENS][16];
	uint32_t layer;			/* of the experts that came last */
	double worst_out;		/* distance beyond half a step of BF16 */
};

static void take(struct taken *k, uint32_t layer, enum cmx_site site, uint32_t token,
		 uint32_t expert, const char *row, uint32_t len)
{
	int8_t *copy = malloc(len);

	memcpy(copy, row + CMX_I8_HEAD, len);
	k->row[layer][site][token][expert] = copy;
}

static void take_rows(struct taken *k, const void *w, const char *rows, uint32_t len)
{
	for (uint32_t l = 0; l < k->e->model.cfg.n_layer; l++) {
		const struct cmx_layer *y = &k->e->model.layer[l];
		const struct {
			const char *w;
			enum cmx_site site;
		} of[] = {
			{ y->kv_a.va, CMX_SITE_ATTN }, { y->q_b.va, CMX_SITE_QUERY },
			{ y->attn_out.va, CMX_SITE_HEADS }, { y->gate.va, CMX_SITE_FFN },
			{ y->down.va, CMX_SITE_DENSE }, { y->exp_gate.va, CMX_SITE_FFN },
			{ y->sh_down.va, CMX_SITE_SHARED },
		};

		for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
			for (uint32_t t = 0; of[i].w == w && t < TOKENS; t++)
				take(k, l, of[i].site, t, 0, rows + t * cmx_i8_row_bytes(len),
				     len);
		}
	}
}

/* As what adds them up takes them. */
static void take_outputs(struct taken *k, const struct cmx_k_combine *a)
{
	const uint32_t *experts = cmx_forward_experts(&k->e->fwd, k->layer -
						      k->e->model.cfg.n_dense, 0);

	if (a->form != CMX_COMBINE_ROUNDED)
		return;
	for (uint32_t i = 0; i < a->tokens * a->n_used; i++) {
		const float *y = (const float *)a->y + (size_t)a->token_slot[i] * a->hidden;
		float *copy = malloc(a->hidden * sizeof(*copy));

		for (uint32_t j = 0; j < a->hidden; j++)
			copy[j] = tinymoe_to_bf16_float(y[j]);
		k->out[k->layer][i / a->n_used][experts[i]] = copy;
	}
}

static void settle_alike(void *arg, uint32_t layer, uint64_t expert, uint32_t token, double *y,
			 uint64_t n)
{
	struct taken *k = arg;
	const float *out = k->out[layer][token][expert];

	for (uint64_t i = 0; i < n; i++) {
		if (out[i] != 0) {
			double step = ldexp(1, ilogb((double)out[i]) - 7);

			k->worst_out = fmax(k->worst_out, fabs(y[i] - (double)out[i]) - step / 2);
		}
		y[i] = (double)out[i];
	}
}

static void take_slots(struct taken *k, const struct cmx_k_expert_down *a)
{
	const char *rows = (const char *)a->x;

	for (uint32_t l = 0; l < k->e->model.cfg.n_layer; l++) {
		if (k->e->model.layer[l].exp_down.va != a->w)
			continue;
		k->layer = l;
		for (uint32_t x = 0; x < a->n_expert; x++) {
			for (uint32_t s = a->plan->first[x]; s < a->plan->first[x + 1]; s++)
				take(k, l, CMX_SITE_EXPERT, k->slot_token[s], x,
				     rows + s * cmx_i8_row_bytes(a->k), a->k);
		}
	}
}

static int observe(void *arg, enum cmx_npu_id id, const void *args)
{
	const struct cmx_k_expert_glu *experts = args;
	const struct cmx_k_matmul *matmul = args;
	const struct cmx_k_latent *latent = args;
	const struct cmx_k_glu *glu = args;
	struct taken *k = arg;

	if (id == CMX_NPU_MATMUL && matmul->type == CMX_TENSOR_I8)
		take_rows(k, matmul->w, (const char *)matmul->x, matmul->k);
	if (id == CMX_NPU_LATENT)
		take_rows(k, latent->w_kv, (const char *)latent->x, latent->k);
	if (id == CMX_NPU_GLU)
		take_rows(k, glu->gate, (const char *)glu->x, glu->k);
	if (id == CMX_NPU_EXPERT_GLU) {
		k->slot_token = experts->slot_token;
		take_rows(k, experts->gate, (const char *)experts->x, experts->k);
	}
	if (id == CMX_NPU_EXPERT_DOWN)
		take_slots(k, args);
	if (id == CMX_NPU_COMBINE)
		take_outputs(k, args);
	return 0;
}

/* Each value must be a nearest one, or as good as. */
static void round_alike(void *arg, uint32_t layer, const char *suffix, uint64_t expert,
			uint32_t token, const double *x, uint64_t k, double *out)
{
	enum cmx_site site = cmx_site_use(suffix)->in;
	struct taken *taken = arg;
	const int8_t *q = taken->row[layer][site][token][site == CMX_SITE_EXPERT ? expert : 0];
	double max = 0;

	for (uint64_t i = 0; i < k; i++)
		max = fmax(max, fabs(x[i]));
	for (uint64_t i = 0; i < k; i++) {
		taken->worst = fmax(taken->worst, fabs(x[i] * 127 / max - q[i]));
		out[i] = q[i] * max / 127;
	}
}

static void taken_free(struct taken *k)
{
	for (size_t i = 0; i < sizeof(k->row) / sizeof(k->row[0][0][0][0]); i++)
		free((void *)(&k->row[0][0][0][0])[i]);
	for (size_t i = 0; i < sizeof(k->out) / sizeof(k->out[0][0][0]); i++)
		free((void *)(&k->out[0][0][0])[i]);
	free(k);
}

/* Largest difference of the logits to the pass in double, with the run's routing. */
static double against_double(const char *preset, enum tinymoe_type type, bool legacy,
			     double *rounding, double *rounding_out)
{
	const struct tinymoe_preset *p = tinymoe_find(preset);
	uint32_t moe = p->layers - p->dense, used = p->top_k, ids[TOKENS];
	uint32_t *experts = calloc((size_t)moe * TOKENS * used, sizeof(*experts));
	double *want = calloc(TOKENS * VOCAB, sizeof(*want)), diff = 0;
	struct taken *taken = calloc(1, sizeof(*taken));
	int fd = make_model(preset, type, legacy);
	struct tinymoe_model m;
	struct engine e;

	make_ids(ids);
	if (engine_open(&e, fd, true, false) ||
	    tinymoe_model_init(&m, p, type, legacy, false, 1234))
		abort();
	taken->e = &e;
	e.fwd.observe = observe;
	e.fwd.observe_arg = taken;
	if (run_prompt(&e))
		abort();
	for (uint32_t l = 0; l < moe; l++) {
		for (uint32_t t = 0; t < TOKENS; t++)
			memcpy(experts + (l * TOKENS + t) * used,
			       cmx_forward_experts(&e.fwd, l, t), used * sizeof(*experts));
	}
	round_weights(&m);
	m.round = round_alike;
	m.settle = settle_alike;
	m.round_arg = taken;
	if (tinymoe_forward(&m, ids, TOKENS, experts, NULL, want))
		abort();
	for (uint32_t i = 0; i < TOKENS * VOCAB; i++)
		diff = fmax(diff, fabs(want[i] - (double)e.fwd.logits[i]));
	*rounding = taken->worst;
	*rounding_out = taken->worst_out;
	tinymoe_model_free(&m);
	taken_free(taken);
	engine_close(&e);
	close(fd);
	free(experts);
	free(want);
	return diff;
}

FIXTURE(slow) {
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

TEST_F_TIMEOUT(slow, same_rounding_in_double, 200)
{
	static const struct {
		const char *preset;
		enum tinymoe_type type;
		bool legacy;
	} models[] = {
		{ "v3tiny", TINYMOE_F32, false }, { "v3tiny", TINYMOE_BF16, true },
		{ "v2tiny", TINYMOE_F32, false }, { "v2tiny", TINYMOE_Q8_0, false },
		{ "v2litetiny", TINYMOE_F32, false }, { "v2litetiny", TINYMOE_F16, true },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		double rounding, out, d = against_double(models[i].preset, models[i].type,
							 models[i].legacy, &rounding, &out);

		TH_LOG("%s from %s%s: largest difference %.1e, rounded within %.5f, outputs %.1e",
		       models[i].preset, tinymoe_type_name(models[i].type),
		       models[i].legacy ? ", legacy" : "", d, rounding, out);
		EXPECT_LT(rounding, 0.5 + TIE);
		EXPECT_LT(out, OUT_TIE);
		EXPECT_LT(d, INT8_TOL);
	}
}

/* From any type of weights. */
TEST_F_TIMEOUT(slow, a_file_gives_the_bits_of_rounding_at_load, 200)
{
	static float load[TOKENS * VOCAB], file[TOKENS * VOCAB], f32[TOKENS * VOCAB];
	static const enum tinymoe_type types[] = {
		TINYMOE_F32, TINYMOE_F16, TINYMOE_BF16, TINYMOE_Q8_0, TINYMOE_Q4_0, TINYMOE_Q4_K,
		TINYMOE_Q6_K,
	};
	const struct cmx_quantise_options opt = { 0 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = make_model("v3tiny", types[i], false), q = quantised(fd, &opt);

		ASSERT_GE(q, 0);
		ASSERT_EQ(0, logits_of(fd, true, load));
		ASSERT_EQ(0, logits_of(q, false, file));
		EXPECT_EQ(0, memcmp(load, file, sizeof(load)));
		ASSERT_EQ(0, logits_of(q, true, file));
		EXPECT_EQ(0, memcmp(load, file, sizeof(load)));
		ASSERT_EQ(0, logits_of(fd, false, f32));
		EXPECT_NE(0, memcmp(load, f32, sizeof(load)));
		close(fd);
		close(q);
	}
}

/* Neither in bytes nor in time does it matter where the rounding was done. */
TEST(time_only_sees_the_same_copies)
{
	const struct cmx_quantise_options opt = { 0 };
	int fd = make_model("v3tiny", TINYMOE_F16, false), q = quantised(fd, &opt);
	struct cmx_machine_stats stats[3];

	for (int i = 0; i < 3; i++) {
		struct engine e;

		ASSERT_EQ(0, engine_open(&e, i == 2 ? q : fd, i < 2, i == 1));
		ASSERT_EQ(0, cmx_machine_stats(cmx_die_machine(e.die), &stats[i], &err));
		EXPECT_LT(e.model.weight_bytes, 9000000u);
		engine_close(&e);
	}
	EXPECT_EQ(stats[0].now_ps, stats[1].now_ps);
	EXPECT_EQ(stats[0].now_ps, stats[2].now_ps);
	EXPECT_EQ(stats[0].moved_bytes, stats[2].moved_bytes);
	close(fd);
	close(q);
}

/* A calibration of the model in @fd. */
static int calibrate(struct engine *e, int fd, struct cmx_calibration *c)
{
	int ret = engine_open(e, fd, false, false);

	if (!ret)
		ret = cmx_calibration_init(c, &e->model, e->die, &err);
	if (ret)
		return ret;
	e->fwd.observe = cmx_calibration_observe;
	e->fwd.observe_arg = c;
	return run_prompt(e);
}

/* Every site that the model has saw every token, experts as many as were sent to them. */
TEST_F_TIMEOUT(slow, calibration_sees_all, 200)
{
	static const char *const presets[] = { "v3tiny", "v2tiny", "v2litetiny" };

	for (int i = 0; i < 3; i++) {
		const struct tinymoe_preset *p = tinymoe_find(presets[i]);
		int fd = make_model(presets[i], TINYMOE_F32, i == 1);
		struct cmx_calibration c;
		struct engine e;

		ASSERT_EQ(0, calibrate(&e, fd, &c));
		for (uint32_t l = 0; l < p->layers; l++) {
			bool dense = l < p->dense;
			uint64_t slots = 0;

			for (int s = 0; s < CMX_SITE_EXPERT; s++) {
				const struct cmx_site_stats *st = cmx_calibration_site(&c, l, s);
				bool has = s == CMX_SITE_QUERY ? p->q_lora :
					   s == CMX_SITE_DENSE ? dense :
					   s == CMX_SITE_SHARED ? !dense : true;

				ASSERT_EQ(has, !!st);
				if (!has)
					continue;
				EXPECT_EQ(TOKENS, st->count[0]);
				for (uint32_t j = 0; j < st->k; j++) {
					double mean = sqrt(st->square[j] / TOKENS);

					EXPECT_GT(mean, 0);
					EXPECT_LE(mean, (double)st->max[j] * (1 + 1e-6));
				}
			}
			for (uint32_t x = 0; !dense && x < p->experts; x++)
				slots += cmx_calibration_site(&c, l, CMX_SITE_EXPERT)->count[x];
			EXPECT_EQ(dense ? 0 : (uint64_t)TOKENS * p->top_k, slots);
		}
		EXPECT_EQ(NULL, cmx_calibration_site(&c, p->layers, CMX_SITE_ATTN));
		cmx_calibration_fini(&c);
		engine_close(&e);
		close(fd);
	}
}

/* Norms and routers of a smoothed file are powers of two away; the routing is untouched. */
TEST_F_TIMEOUT(slow, smoothing_moves_powers_of_two, 200)
{
	struct cmx_quantise_options opt = { .smooth = true, .alpha = 0.5f, .tokens = TOKENS };
	static float plain[TOKENS * VOCAB], smooth[TOKENS * VOCAB];
	int fd = make_model("v3tiny", TINYMOE_F32, false), q;
	struct cmx_gguf *a = NULL, *b = NULL;
	uint32_t moved = 0;
	struct cmx_calibration c;
	struct engine e;

	ASSERT_EQ(0, calibrate(&e, fd, &c));
	opt.calibration = &c;
	q = quantised(fd, &opt);
	ASSERT_GE(q, 0);
	ASSERT_EQ(0, cmx_gguf_open_fd(fd, &a, &err));
	ASSERT_EQ(0, cmx_gguf_open_fd(q, &b, &err));
	for (uint64_t i = 0; i < cmx_gguf_n_tensors(a); i++) {
		const struct cmx_gguf_tensor *t = cmx_gguf_tensor_at(a, i);
		const struct cmx_gguf_tensor *u = cmx_gguf_tensor(b, t->name);
		float x[4096], y[4096];

		ASSERT_NE(NULL, u);
		if (t->type != CMX_TENSOR_F32 || u->type != CMX_TENSOR_F32 ||
		    t->size > sizeof(x))
			continue;
		ASSERT_EQ(0, cmx_weight_file_read(cmx_gguf_file(a), x, t->size, t->offset, "x",
						  &err));
		ASSERT_EQ(0, cmx_weight_file_read(cmx_gguf_file(b), y, u->size, u->offset, "y",
						  &err));
		for (uint64_t j = 0; j < t->size / 4; j++) {
			int ex, ey;

			EXPECT_EQ(frexpf(x[j], &ex), frexpf(y[j], &ey));
			moved += ex != ey;
		}
	}
	EXPECT_GT(moved, 1000u);
	ASSERT_EQ(0, logits_of(fd, true, plain));
	ASSERT_EQ(0, logits_of(q, false, smooth));
	EXPECT_NE(0, memcmp(plain, smooth, sizeof(plain)));
	cmx_gguf_close(a);
	cmx_gguf_close(b);
	cmx_calibration_fini(&c);
	engine_close(&e);
	close(fd);
	close(q);
}

/* What to spoil in a copy of an INT8 file. */
struct spoiled {
	const char *tensor;
	const char *rename;		/* or NULL */
	int type;			/* or -1 */
	uint64_t dims[4];		/* or 0 */
	uint32_t n_dims;
	const char *quant;		/* cmx.quant.type; NULL: none */
	bool nan;			/* in the first value */
};

static void put_tensors(const struct cmx_gguf *g, const struct spoiled *s,
			struct cmx_gguf_writer *w)
{
	for (uint64_t i = 0; i < cmx_gguf_n_tensors(g); i++) {
		struct cmx_gguf_tensor t = *cmx_gguf_tensor_at(g, i);

		if (s->tensor && !strcmp(t.name, s->tensor)) {
			if (s->rename)
				snprintf(t.name, sizeof(t.name), "%s", s->rename);
			if (s->type >= 0)
				t.type = (enum cmx_tensor_type)s->type;
			if (s->n_dims) {
				memcpy(t.dims, s->dims, sizeof(t.dims));
				t.n_dims = s->n_dims;
			}
		}
		cmx_gguf_put_tensor(w, t.name, t.type, t.n_dims, t.dims);
	}
}

/* The values do not matter, but for the one. */
static int spoil(const struct cmx_gguf *g, const struct spoiled *s)
{
	int out = memfd_create("spoiled", MFD_CLOEXEC);
	FILE *f = fdopen(dup(out), "w");
	const float nan = NAN;
	struct cmx_gguf_writer w;
	struct cmx_gguf *again = NULL;

	cmx_gguf_writer_init(&w, f, cmx_gguf_alignment(g));
	for (uint64_t i = 0; i < cmx_gguf_n_entries(g); i++) {
		struct cmx_gguf_entry e = cmx_gguf_entry_at(g, i);

		if (e.key_len != 14 || memcmp(e.key, "cmx.quant.type", 14))
			cmx_gguf_put_bytes(&w, e.bytes, e.len);
	}
	if (s->quant)
		cmx_gguf_put_string(&w, "cmx.quant.type", s->quant);
	put_tensors(g, s, &w);
	if (cmx_gguf_write_header(&w, &err) || fflush(f) ||
	    ftruncate(out, ftello(f) + (off_t)w.offset))
		abort();
	cmx_gguf_writer_fini(&w);
	fclose(f);
	if (s->nan) {
		if (cmx_gguf_open_fd(out, &again, &err) ||
		    pwrite(out, &nan, sizeof(nan),
			   (off_t)cmx_gguf_tensor(again, s->tensor)->offset) != sizeof(nan))
			abort();
		cmx_gguf_close(again);
	}
	return out;
}

TEST_F_TIMEOUT(slow, files_that_are_not_what_they_should_be, 200)
{
	static const char q_a[] = "blk.1.attn_q_a.weight", scale[] = "blk.1.attn_q_a.weight.scale";
	static const char experts[] = "blk.2.ffn_up_exps.weight.scale";
	const struct {
		struct spoiled s;
		int ret;
		const char *text;
	} cases[] = {
		{ { .type = -1, .quant = "int8" }, 0, "" },
		{ { .tensor = scale, .rename = "other", .type = -1, .quant = "int8" }, -ENOENT,
		  "'blk.1.attn_q_a.weight.scale' is missing" },
		{ { .tensor = scale, .type = -1, .dims = { 95, 1, 1, 1 }, .n_dims = 1,
		    .quant = "int8" }, -EINVAL,
		  "dimension 0 is 95, the model's metadata asks for 96" },
		{ { .tensor = scale, .type = -1, .dims = { 96, 2, 1, 1 }, .n_dims = 2,
		    .quant = "int8" }, -EINVAL, "dimension 1 is 2" },
		{ { .tensor = experts, .type = -1, .dims = { 16, 128, 1, 1 }, .n_dims = 2,
		    .quant = "int8" }, -EINVAL, "dimension 0 is 16" },
		{ { .tensor = scale, .type = CMX_TENSOR_F16, .quant = "int8" }, -ENOTSUP,
		  "type F16, must be F32" },
		{ { .tensor = scale, .type = -1, .nan = true, .quant = "int8" }, -EDOM,
		  "scale 0 is not finite" },
		{ { .tensor = q_a, .type = CMX_TENSOR_F32, .nan = true, .quant = "int8" }, -EDOM,
		  "'blk.1.attn_q_a.weight': row 0, column 0 is not finite" },
		{ { .type = -1 }, -ENOTSUP, "only projections of a model with cmx.quant.type" },
		{ { .type = -1, .quant = "int4" }, -ENOTSUP, "is 'int4', must be 'int8'" },
		{ { .tensor = "token_embd.weight", .type = CMX_TENSOR_I8, .quant = "int8" },
		  -ENOTSUP, "'token_embd.weight': type I8" },
		{ { .tensor = "blk.0.attn_k_b.weight", .type = CMX_TENSOR_I8, .quant = "int8" },
		  -ENOTSUP, "'blk.0.attn_k_b.weight': type I8" },
		{ { .tensor = "blk.0.attn_norm.weight", .type = CMX_TENSOR_I8, .quant = "int8" },
		  -ENOTSUP, "type I8, must be F32" },
	};
	const struct cmx_quantise_options opt = { 0 };
	int fd = make_model("v3tiny", TINYMOE_F32, false), q = quantised(fd, &opt);
	struct cmx_gguf *g = NULL;

	ASSERT_EQ(0, cmx_gguf_open_fd(q, &g, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int bad = spoil(g, &cases[i].s);
		struct engine e;

		err.text[0] = 0;
		EXPECT_EQ(cases[i].ret, engine_open(&e, bad, false, false));
		if (!strstr(err.text, cases[i].text))
			TH_LOG("case %zu says: %s", i, err.text);
		EXPECT_NE(NULL, strstr(err.text, cases[i].text));
		engine_close(&e);
		close(bad);
	}
	cmx_gguf_close(g);
	close(fd);
	close(q);
}

TEST(what_cannot_be_quantised)
{
	const struct cmx_quantise_options opt = { 0 };
	const struct spoiled twice = { .tensor = "output_norm.weight", .type = -1,
				       .rename = "blk.1.attn_q_a.weight.scale" };
	const struct spoiled wide = { .tensor = "blk.0.ffn_up.weight", .type = -1, .n_dims = 2,
				      .dims = { CMX_I8_MAX_K + 32, 2, 1, 1 } };
	const struct spoiled nan = { .tensor = "blk.0.ffn_up.weight", .type = -1, .nan = true };
	const struct spoiled i8 = { .tensor = "blk.0.ffn_up.weight", .type = CMX_TENSOR_I8 };
	const struct {
		const struct spoiled *s;
		int ret;
		const char *text;
	} cases[] = {
		{ &twice, -EEXIST, "is there already" }, { &wide, -ENOTSUP, "at most 131072" },
		{ &nan, -EDOM, "row 0, column 0 is not finite" },
		{ &i8, -EINVAL, "shape or type" },
	};
	int fd = make_model("v3tiny", TINYMOE_F32, false), q = quantised(fd, &opt);
	struct cmx_gguf *g = NULL;

	EXPECT_EQ(-EEXIST, quantised(q, &opt));
	EXPECT_NE(NULL, strstr(err.text, "quantised already"));
	ASSERT_EQ(0, cmx_gguf_open_fd(fd, &g, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int bad = spoil(g, cases[i].s);

		EXPECT_EQ(cases[i].ret, quantised(bad, &opt));
		if (!strstr(err.text, cases[i].text))
			TH_LOG("case %zu says: %s", i, err.text);
		EXPECT_NE(NULL, strstr(err.text, cases[i].text));
		close(bad);
	}
	cmx_gguf_close(g);
	close(fd);
	close(q);
}

/* The memory that is asked for is what the rounded weights take. */
TEST(refused_with_the_rounded_sizes)
{
	int fd = make_model("v3tiny", TINYMOE_F32, false);
	struct engine e;

	host_die_room = 14000000;
	EXPECT_EQ(-ENOSPC, engine_open(&e, fd, false, false));
	engine_close(&e);
	EXPECT_EQ(0, engine_open(&e, fd, true, false));
	engine_close(&e);
	host_die_room = 5000000;
	EXPECT_EQ(-ENOSPC, engine_open(&e, fd, true, false));
	EXPECT_NE(NULL, strstr(err.text, "the die has 5000000 free"));
	engine_close(&e);
	host_die_room = 1ull << 40;
	close(fd);
}

TEST_HARNESS_MAIN
