/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs many requests on one die or several: sequences join and leave between steps,
 * share the pages of prompts that begin alike, and each has the bits it would have
 * alone. A request's pages are its own from admission on, so one that was let in
 * comes to its end; those that find no room wait, in order. Where there are several
 * groups of dies a sequence belongs to one of them, that which has most pages free
 * when it is let in; all of them take their steps together.
 */
#ifndef CMX_ENGINE_H
#define CMX_ENGINE_H

#include "cmx_forward.h"
#include "cmx_kv_pages.h"
#include "cmx_layout.h"

struct cmx_sequence;
struct cmx_group;

struct cmx_request {
	const uint32_t *ids;	/* prompt; copied */
	uint32_t n_prompt;
	uint32_t n;		/* most output tokens */
	struct cmx_sampling sampling;
	const struct cmx_decisions *replay;	/* time-only, and only then */
	/*
	 * Time-only: the prompt was computed elsewhere. Its rows are in the cache from admission
	 * on, and so is the first output token; shares no pages.
	 */
	bool handed_over;
	/*
	 * Called with each output token but one that is in error; may be NULL. Returns
	 * CMX_END_LENGTH to go on, else why the sequence ends with this token.
	 */
	enum cmx_end_reason (*token)(void *arg, const struct cmx_sequence *s, uint32_t id);
	/*
	 * Called with the logits of prompt positions [pos, pos + n) if the engine has
	 * all of them and is not time-only; may be NULL. A failure ends the run.
	 */
	int (*logits)(void *arg, const struct cmx_sequence *s, uint32_t pos, uint32_t n,
		      const float *logits, struct cmx_infer_err *err);
	void *arg;
};

enum cmx_sequence_state {
	CMX_SEQUENCE_WAITS,
	CMX_SEQUENCE_PROMPT,
	CMX_SEQUENCE_OUTPUT,
	CMX_SEQUENCE_ENDED,	/* run.end says why */
};

struct cmx_sequence {
	struct cmx_request req;
	enum cmx_sequence_state state;
	struct cmx_decisions run;	/* ids; in data mode experts as well */
	struct cmx_infer_err err;	/* if it ended in error */
	uint32_t len;		/* positions in the cache */
	uint32_t reused;	/* of them computed for other sequences */
	uint32_t published;	/* pages that can be found, or were */
	uint64_t serial;	/* of the last of them */
	uint32_t *pages;
	uint32_t n_pages;
	struct cmx_group *group;	/* once it was let in */
	uint32_t slot;
	uint32_t *draft;	/* guesses for the tokens behind the last one, [opt.drafts] */
	uint32_t n_draft;
	uint32_t accepted;	/* of run.n_guesses */
	uint64_t submit_ps;	/* virtual times */
	uint64_t *token_ps;
	struct cmx_sequence *next;
};

struct cmx_engine_options {
	struct cmx_forward_options forward;	/* of each die */
	struct cmx_layout layout;
	bool no_reuse;		/* every prompt is computed in full */
};

struct cmx_engine_stats {
	uint64_t steps;
	uint64_t rows;		/* tokens that went through the layers */
	uint64_t reused;	/* that did not have to */
	uint32_t most_seqs;	/* of one step */
	uint32_t most_pages;	/* of one group, in use at a time */
	uint64_t drafted;	/* guesses that were put to the test */
	uint64_t accepted;	/* that were what was chosen then */
};

struct cmx_sequence_list {
	struct cmx_sequence *first;
	struct cmx_sequence **end;
	uint32_t n;
};

/* A die, and the weights on it. */
struct cmx_rank {
	struct cmx_die *die;
	const struct cmx_model *m;
};

/* Sequences that are on the same die. */
struct cmx_group {
	struct cmx_forward *fwd;
	struct cmx_kv_pages pages;
	struct cmx_sequence **running;	/* in the order of admission, [seqs] */
	uint32_t n_running;
	bool *slot_used;
	struct cmx_part *part;		/* of the last step, [seqs] */
	struct cmx_sequence **part_of;	/* NULL once it has left the batch */
	uint32_t n_parts;
	struct cmx_part *mtp_part;	/* of the MTP block's last step, [seqs] */
	struct cmx_sequence **mtp_part_of;
	uint32_t n_mtp_parts;
};

struct cmx_engine {
	struct cmx_engine_options opt;
	struct cmx_die *die;		/* the first one */
	const struct cmx_model *m;	/* its weights */
	struct cmx_forward *fwd;	/* [ranks] */
	struct cmx_turn *turn;		/* [ranks] */
	struct cmx_group *group;
	uint32_t n_groups;
	uint32_t ranks;
	struct cmx_sequence_list waiting;
	struct cmx_engine_stats stats;
};

/* On one die that has all of the model. cmx_engine_free() in any case, before the die is closed. */
int cmx_engine_init(struct cmx_engine *e, const struct cmx_model *m, struct cmx_die *die,
		    const struct cmx_engine_options *opt, struct cmx_infer_err *err);
/* On the dies of an exchange, each a group of its own. */
int cmx_engine_init_ranks(struct cmx_engine *e, const struct cmx_rank *rank, uint32_t ranks,
			  struct cmx_exchange *x, const struct cmx_engine_options *opt,
			  struct cmx_infer_err *err);
/* Sequences outlive the engine. */
void cmx_engine_free(struct cmx_engine *e);

/*
 * Queues a request. One that cannot be served gives a sequence that has ended
 * with CMX_END_ERROR and says why; others are not affected. Returns an error, and
 * no sequence, only if there is no memory for it. cmx_sequence_free() it once it
 * has ended.
 */
int cmx_engine_submit(struct cmx_engine *e, const struct cmx_request *req,
		      struct cmx_sequence **out, struct cmx_infer_err *err);
/*
 * Lets waiting sequences in, carries out one step and hands out its tokens.
 * 1: there was something to do; 0: no sequence is left. An error is the die's.
 */
int cmx_engine_step(struct cmx_engine *e, struct cmx_infer_err *err);
/* Ends a sequence between steps: what it had is free again. */
void cmx_engine_cancel(struct cmx_engine *e, struct cmx_sequence *s);
void cmx_sequence_free(struct cmx_sequence *s);

/* Positions that a prompt and @n output tokens take: the last token is not stored. */
static inline uint64_t cmx_positions(uint32_t n_prompt, uint32_t n)
{
	return (uint64_t)n_prompt + n - (n > 0);
}

#endif
