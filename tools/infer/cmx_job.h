/* SPDX-License-Identifier: GPL-2.0-only */
/* A request as a user makes it, and what becomes of it. */
#ifndef CMX_JOB_H
#define CMX_JOB_H

#include <stdio.h>

#include "cmx_detokenizer.h"
#include "cmx_engine.h"
#include "cmx_infer_options.h"

struct cmx_job {
	/* As it was asked for. */
	char *text;
	char *system;
	uint32_t *ids;		/* of the prompt */
	uint32_t n_prompt;
	uint32_t n;
	char *stop[CMX_STOP_STRINGS_MAX];
	uint32_t n_stops;
	struct cmx_sampling sampling;
	bool ignore_eos;
	const struct cmx_decisions *replay;
	/* As it goes on. */
	struct cmx_infer_err err;	/* refused before it got to the engine */
	bool failed;
	struct cmx_detokenizer out;
	FILE *collect;		/* text that is printed as JSON at the end */
	char *collected;
	size_t n_collected;
	struct cmx_sequence *seq;
	void *owner;		/* for who runs it */
	uint64_t first_logits;	/* rows of logits of the jobs before */
};

struct cmx_jobs {
	struct cmx_job *job;
	uint32_t n;
	uint32_t room;
};

/* What the options say of any job, in a new one. */
int cmx_jobs_add(struct cmx_jobs *jobs, const struct cmx_infer_options *o, struct cmx_job **out,
		 struct cmx_infer_err *err);
/*
 * A job for each line of a file, an object with some of these fields:
 *	prompt or ids, system, n, temp, top_k, top_p, min_p, repeat_penalty, seed,
 *	stop (a string or several), ignore_eos
 * Lines without anything are skipped. -EINVAL names line, field, value and limit.
 */
int cmx_jobs_read(struct cmx_jobs *jobs, const char *path, const struct cmx_infer_options *o,
		  struct cmx_infer_err *err);
/* One job for each sequence of a recording, which must live as long. */
int cmx_jobs_replay(struct cmx_jobs *jobs, struct cmx_decisions *const *seq, uint32_t n,
		    const struct cmx_infer_options *o, struct cmx_infer_err *err);
/* Text to ids. What is wrong with a prompt is its job's own error. */
int cmx_jobs_encode(struct cmx_jobs *jobs, const struct cmx_tokenizer *tok,
		    const struct cmx_infer_options *o, struct cmx_infer_err *err);
void cmx_jobs_free(struct cmx_jobs *jobs);

/* Why it failed. */
static inline const char *cmx_job_error(const struct cmx_job *j)
{
	return j->failed ? j->err.text : j->seq->err.text;
}

static inline bool cmx_job_has_failed(const struct cmx_job *j)
{
	return j->failed || (j->seq && j->seq->run.end == CMX_END_ERROR);
}

#endif
