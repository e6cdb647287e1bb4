/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which rank each token's experts are on: seeded, the same for a dispatch and its combine.
 */
#ifndef CMX_OPERATOR_ROUTING_H
#define CMX_OPERATOR_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

struct cmx_routing_options {
	uint32_t ep;		/* ranks */
	uint32_t tokens;	/* of each rank */
	uint32_t topk;
	uint32_t experts;
	bool balanced;		/* experts take turns; else they are drawn */
	uint64_t seed;
};

/* A row: what one token sends to one of its experts. */
struct cmx_row {
	uint16_t source;	/* rank of the token */
	uint16_t rank;		/* rank of the expert */
	uint16_t expert;
	uint16_t k;		/* which of the token's experts */
	uint32_t token;
	uint32_t slot;		/* counts the rows from source to rank */
};

struct cmx_routing {
	struct cmx_routing_options opt;
	struct cmx_row *rows;	/* by source, token, k: those sent */
	struct cmx_row *inbox;	/* by rank, source, slot: those received */
	uint32_t *first;	/* ep + 1: where a rank's begin in inbox */
	uint32_t *sent;		/* ep * ep: rows from source to rank */
	uint32_t max_slots;	/* largest of those */
};

/* 0, -EINVAL or -ENOMEM. */
int cmx_routing_make(struct cmx_routing *routing, const struct cmx_routing_options *opt);
void cmx_routing_free(struct cmx_routing *routing);

/* Well mixed bits of two numbers. */
uint64_t cmx_routing_mix(uint64_t a, uint64_t b);

#endif
