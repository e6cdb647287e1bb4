// SPDX-License-Identifier: GPL-2.0-only
/*
 * draft_shares MODEL < TEXTS: how often the MTP block's guesses are right for texts that a run
 * at temperature 0.8 sampled. A line is the number of prompt ids, that of all ids, and the ids.
 * Prints for all texts together:
 *
 * tokens: those that have a guess; equal: whose likeliest guess is the token; expected: what
 * equal comes to by the main model's probabilities; drawn: the same for guesses that are drawn
 * at that temperature, too; tested, right: guesses that speculative decoding would make of the
 * likeliest ones, where a right one skips a token.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_mtp.h"
#include "host_die.h"
#include "model_run.h"

#define CTX		512u
#define PAGE_SHIFT	4u
#define N_PAGES		(CTX >> PAGE_SHIFT)
#define TEMPERATURE	0.8

struct shares {
	uint64_t tokens, equal, tested, right;
	double expected, drawn;
};

struct model {
	struct cmx_die *die;
	struct cmx_model weights;
	struct cmx_forward fwd;
	uint32_t pages[N_PAGES];
	float *logits;		/* of the main model */
	double *p, *q;		/* probabilities of the main model and of the block */
	struct cmx_infer_err err;
};

static int open_model(struct model *m, const char *path)
{
	const struct cmx_machine_options opt = { .isa = model_run_isa(), .threads = 1 };
	const struct cmx_forward_options f = {
		.ctx = CTX, .rows = CTX, .seqs = 1, .pages = N_PAGES, .page_shift = PAGE_SHIFT,
		.all_logits = true, .mtp = true,
	};
	const struct cmx_load_options load = { .mtp = true };
	struct cmx_source *src = NULL;
	int ret = cmx_source_open(path, &src, &m->err);

	for (uint32_t i = 0; i < N_PAGES; i++)
		m->pages[i] = i;
	if (!ret)
		ret = host_die_open(&opt, &m->die, &m->err);
	if (!ret)
		ret = cmx_model_load(src, m->die, &load, &m->weights, &m->err);
	if (!ret)
		ret = cmx_forward_init(&m->fwd, &m->weights, m->die, &f, &m->err);
	cmx_source_close(src);
	if (ret)
		return ret;
	m->logits = malloc((size_t)CTX * m->weights.cfg.vocab * sizeof(*m->logits));
	m->p = malloc(m->weights.cfg.vocab * sizeof(*m->p));
	m->q = malloc(m->weights.cfg.vocab * sizeof(*m->q));
	return m->logits && m->p && m->q ? 0 : -1;
}

/* Main model, then block: its logits of pair i stay in fwd.logits. */
static int run_text(struct model *m, const uint32_t *ids, uint32_t n)
{
	struct cmx_part part = { .pages = m->pages, .n = n - 1, .want = n - 1 };
	int ret = cmx_forward_prompt(&m->fwd, 0, ids, n, &m->err);

	if (!ret)
		ret = cmx_forward_step(&m->fwd, &part, 1, &m->err);
	if (ret)
		return ret;
	memcpy(m->logits, m->fwd.logits,
	       (size_t)(n - 1) * m->weights.cfg.vocab * sizeof(*m->logits));
	part.source = part.first_row;
	return cmx_mtp_step(&m->fwd, &part, 1, &m->err);
}

/* Returns the likeliest. */
static uint32_t probabilities(const float *logits, uint32_t vocab, double *p)
{
	uint32_t best = 0;
	double sum = 0;

	for (uint32_t i = 0; i < vocab; i++)
		best = logits[i] > logits[best] ? i : best;
	for (uint32_t i = 0; i < vocab; i++) {
		p[i] = exp(((double)logits[i] - (double)logits[best]) / TEMPERATURE);
		sum += p[i];
	}
	for (uint32_t i = 0; i < vocab; i++)
		p[i] /= sum;
	return best;
}

/* The guess at position @pos. */
static bool count_token(struct model *m, const uint32_t *ids, uint32_t pos, struct shares *s)
{
	uint32_t vocab = m->weights.cfg.vocab, guess;

	probabilities(m->logits + (size_t)(pos - 1) * vocab, vocab, m->p);
	guess = probabilities(m->fwd.logits + (size_t)(pos - 2) * vocab, vocab, m->q);
	for (uint32_t i = 0; i < vocab; i++)
		s->drawn += m->p[i] * m->q[i];
	s->expected += m->p[guess];
	s->tokens++;
	s->equal += guess == ids[pos];
	return guess == ids[pos];
}

static void count_text(struct model *m, const uint32_t *ids, uint32_t prompt, uint32_t n,
		       struct shares *s)
{
	bool skip = false;

	/* The first token of the output has no guess. */
	for (uint32_t pos = prompt + 1; pos < n; pos++) {
		bool right = count_token(m, ids, pos, s);

		/* Nor has the last one, when it is decoded. */
		if (!skip && pos + 1 < n) {
			s->tested++;
			s->right += right;
		}
		skip = !skip && right;
	}
}

static int read_text(uint32_t *ids, uint32_t *prompt, uint32_t *n)
{
	if (scanf("%u %u", prompt, n) != 2)
		return 0;
	if (!*prompt || *prompt >= *n || *n > CTX)
		return -1;
	for (uint32_t i = 0; i < *n; i++) {
		if (scanf("%u", &ids[i]) != 1)
			return -1;
	}
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t ids[CTX], prompt, n;
	struct model m = { 0 };
	struct shares s = { 0 };
	int ret = argc == 2 ? open_model(&m, argv[1]) : -1, more = 0;

	while (!ret && (more = read_text(ids, &prompt, &n)) > 0) {
		ret = run_text(&m, ids, n);
		if (!ret)
			count_text(&m, ids, prompt, n, &s);
	}
	cmx_forward_free(&m.fwd);
	cmx_model_free(&m.weights);
	host_die_close(m.die);
	free(m.logits);
	free(m.p);
	free(m.q);
	if (ret || more < 0 || !s.tested) {
		fprintf(stderr, "draft_shares: %s\n", ret ? m.err.text : "no texts, or bad ones");
		return 1;
	}
	printf("{\"tokens\": %llu, \"equal\": %.3f, \"expected\": %.3f, \"drawn\": %.3f, ",
	       (unsigned long long)s.tokens, 100.0 * (double)s.equal / (double)s.tokens,
	       100 * s.expected / (double)s.tokens, 100 * s.drawn / (double)s.tokens);
	printf("\"tested\": %llu, \"right\": %.3f}\n", (unsigned long long)s.tested,
	       100.0 * (double)s.right / (double)s.tested);
	return 0;
}
