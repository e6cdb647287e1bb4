/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests of a bench: made up from a seed, with all that happens to them decided. */
#ifndef CMX_WORKLOAD_H
#define CMX_WORKLOAD_H

#include "cmx_engine.h"

struct cmx_workload_options {
	uint32_t requests;
	uint32_t input;		/* prompt tokens of each */
	uint32_t output;	/* output tokens of each */
	bool handed_over;	/* prompts are in the cache, see struct cmx_request */
	/*
	 * With handed_over: the first so many are in the midst of their outputs, evenly spread
	 * over them, as they stand in a batch that has been served for long.
	 */
	uint32_t midway;
	uint32_t shared;	/* tokens at the beginning of all prompts alike */
	bool mtp;
	float acceptance;	/* the probability that a guess is right */
	uint64_t seed;
	uint32_t rows;		/* of a step of a rank; ranks take the requests in turn */
	uint32_t ranks;
};

struct cmx_workload {
	struct cmx_workload_options opt;
	struct cmx_gates *gates;
	struct cmx_decisions *decision;	/* [requests] */
	uint32_t *ids;			/* of the prompts, one after the other */
	uint32_t *output;		/* ids that all decisions point to */
	uint32_t *guesses;		/* [requests][output] */
};

/* cmx_workload_free() in any case. */
int cmx_workload_init(struct cmx_workload *w, const struct cmx_model_config *c,
		      enum cmx_balance balance, const struct cmx_workload_options *opt,
		      struct cmx_infer_err *err);
void cmx_workload_free(struct cmx_workload *w);
/* Request @i; what it points to lives as long as the workload. */
struct cmx_request cmx_workload_request(const struct cmx_workload *w, uint32_t i);

#endif
