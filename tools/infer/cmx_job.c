// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_recording.h"

static int no_memory(struct cmx_infer_err *err)
{
	return cmx_infer_fail(err, -ENOMEM, "no memory for the requests");
}

static int copy_text(char **to, const char *from, struct cmx_infer_err *err)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? no_memory(err) : 0;
}

static struct cmx_job *next_job(struct cmx_jobs *jobs)
{
	uint32_t room = jobs->room ? 2 * jobs->room : 4;
	struct cmx_job *job;

	if (jobs->n < jobs->room)
		return &jobs->job[jobs->n];
	job = realloc(jobs->job, room * sizeof(*job));
	if (!job)
		return NULL;
	jobs->job = job;
	jobs->room = room;
	return &job[jobs->n];
}

int cmx_jobs_add(struct cmx_jobs *jobs, const struct cmx_infer_options *o, struct cmx_job **out,
		 struct cmx_infer_err *err)
{
	struct cmx_job *j;
	int ret = 0;

	if (jobs->n == CMX_MAX_SEQUENCES)
		return cmx_infer_fail(err, -E2BIG, "more than %u requests", CMX_MAX_SEQUENCES);
	j = next_job(jobs);
	if (!j)
		return no_memory(err);
	*j = (struct cmx_job){
		.n = o->n, .ignore_eos = o->ignore_eos,
		.sampling = {
			.penalty = o->penalty, .temp = o->temp, .top_k = o->top_k,
			.top_p = o->top_p, .min_p = o->min_p, .seed = o->seed,
		},
	};
	jobs->n++;
	for (; j->n_stops < o->n_stops && !ret; j->n_stops++)
		ret = copy_text(&j->stop[j->n_stops], o->stop[j->n_stops], err);
	if (!ret)
		ret = copy_text(&j->system, o->system, err);
	*out = j;
	return ret;
}

static int replay_one(struct cmx_job *j, const struct cmx_decisions *d, struct cmx_infer_err *err)
{
	j->replay = d;
	j->n_prompt = d->n_prompt;
	j->n = d->most;
	j->sampling = (struct cmx_sampling){
		.penalty = d->penalty, .temp = d->temp, .top_k = d->top_k, .top_p = d->top_p,
		.min_p = d->min_p,
	};
	j->ids = malloc((d->n_prompt + 1ull) * sizeof(*j->ids));
	if (!j->ids)
		return no_memory(err);
	memcpy(j->ids, d->ids, d->n_prompt * sizeof(*j->ids));
	return 0;
}

int cmx_jobs_replay(struct cmx_jobs *jobs, struct cmx_decisions *const *seq, uint32_t n,
		    const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	struct cmx_job *j;
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = cmx_jobs_add(jobs, o, &j, err);
		if (!ret)
			ret = replay_one(j, seq[i], err);
	}
	return ret;
}

/* One turn: what the system says, if anything, and the user. */
static int encode_chat(struct cmx_job *j, const struct cmx_tokenizer *tok, enum cmx_chat_form form)
{
	const struct cmx_chat_message msg[] = {
		{ CMX_CHAT_SYSTEM, j->system }, { CMX_CHAT_USER, j->text },
	};
	uint32_t skip = !j->system;

	return cmx_chat_encode(tok, form, msg + skip, 2 - skip, &j->ids, &j->n_prompt, &j->err);
}

int cmx_jobs_encode(struct cmx_jobs *jobs, const struct cmx_tokenizer *tok,
		    const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	for (uint32_t i = 0; i < jobs->n; i++) {
		struct cmx_job *j = &jobs->job[i];
		int ret;

		if (!j->text || j->ids)
			continue;
		if (o->chat)
			ret = encode_chat(j, tok, o->chat_form);
		else
			ret = cmx_tokenizer_encode(tok, j->text, strlen(j->text), o->special,
						   &j->ids, &j->n_prompt, &j->err);
		if (ret == -ENOMEM)
			return no_memory(err);
		j->failed = ret;
	}
	return 0;
}

static void job_free(struct cmx_job *j)
{
	cmx_detokenizer_free(&j->out);
	cmx_sequence_free(j->seq);
	if (j->collect)
		fclose(j->collect);
	for (uint32_t i = 0; i < j->n_stops; i++)
		free(j->stop[i]);
	free(j->collected);
	free(j->text);
	free(j->system);
	free(j->ids);
}

void cmx_jobs_free(struct cmx_jobs *jobs)
{
	for (uint32_t i = 0; i < jobs->n; i++)
		job_free(&jobs->job[i]);
	free(jobs->job);
	*jobs = (struct cmx_jobs){ 0 };
}
