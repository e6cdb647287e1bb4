/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What gates choose where nothing is computed: experts of a token as a function of a
 * seed, so that no choice has to be stored. Either by a law of popularity
 * (docs/timing.md) or in turns.
 */
#ifndef CMX_GATES_H
#define CMX_GATES_H

#include "cmx_infer_err.h"
#include "cmx_model_config.h"

enum cmx_balance {
	CMX_BALANCE_DEFAULT,	/* by popularity */
	CMX_BALANCE_PERFECT,	/* rows of a step take all experts in turn */
};

struct cmx_gates_options {
	enum cmx_balance balance;
	uint32_t n_moe;		/* layers with experts */
	uint32_t n_expert;
	uint32_t n_used;	/* <= n_expert */
	uint64_t seed;
};

/* A token: its sequence, where it is there, and which row of its step it is. */
struct cmx_gate_token {
	uint64_t stream;
	uint32_t pos;
	uint32_t row;
};

struct cmx_gates;

int cmx_gates_new(const struct cmx_gates_options *opt, struct cmx_gates **out,
		  struct cmx_infer_err *err);
void cmx_gates_free(struct cmx_gates *g);
/* n_used different experts. */
void cmx_gates_choose(const struct cmx_gates *g, uint32_t moe, const struct cmx_gate_token *t,
		      uint16_t *experts);
/* The share of all tokens that choose an expert; a layer's add up to n_used. */
double cmx_gates_share(const struct cmx_gates *g, uint32_t moe, uint32_t expert);

/* Well mixed bits of two numbers. */
uint64_t cmx_gates_mix(uint64_t a, uint64_t b);

#endif
