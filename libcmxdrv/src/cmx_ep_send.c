// SPDX-License-Identifier: MIT
/*
 * Kernels of dispatch's first half.  A block has some of the tokens.  Which place in the
 * peer's buffer a row gets follows from the choices of the tokens before it, so each block
 * goes through those as well; nothing has to be agreed on between blocks.
 */
#include <string.h>

#include "cmx_ep_priv.h"

/* A block of tokens on its way. */
struct sending {
	struct cmx_launch_ctx *lc;
	const struct ep_args *args;
	uint32_t sent[CMX_EP_MAX_RANKS];	/* rows to each rank so far */
	uint32_t nothing;			/* choices without a row */
};

static const int32_t *choices_of(const struct ep_args *args, uint32_t token)
{
	const struct cmx_ep_desc *d = &args->ep->desc;
	const int32_t *ids = args->table ?
		args->table->ids + (size_t)args->rank * d->max_tokens * d->topk :
		(const int32_t *)ep_ptr(args->ids_va);

	return ids + (size_t)token * d->topk;
}

static bool is_active(const struct ep_args *args, uint32_t token)
{
	const uint8_t *active = ep_ptr(args->active_va);

	return !active || active[token];
}

static const struct ep_place *place_of(const struct ep_args *args, uint32_t token, uint32_t k)
{
	if (!is_active(args, token))
		return NULL;
	return ep_place_of(args->ep, args->rank, token, choices_of(args, token)[k]);
}

/* Counts what tokens [from, to) send to each rank. */
static void count_rows(const struct ep_args *args, uint32_t from, uint32_t to, uint32_t *sent)
{
	for (uint32_t t = from; t < to; t++) {
		for (uint32_t k = 0; k < args->ep->desc.topk; k++) {
			const struct ep_place *place = place_of(args, t, k);

			if (place)
				sent[place->rank]++;
		}
	}
}

static uint64_t packet_va(const struct ep_args *args, uint32_t token)
{
	return ep_va(args->ep, args->rank, EP_PACKETS_OUT, args->round) +
	       (uint64_t)token * args->ep->packet;
}

static void pack(const struct ep_args *args, uint32_t token)
{
	const struct cmx_ep *ep = args->ep;
	char *packet = ep_ptr(packet_va(args, token));
	struct ep_tail *tail = (struct ep_tail *)(packet + ep_align(ep->payload, 4));

	ep_row_pack(ep, ep_ptr(args->x_va + (uint64_t)token * args->stride), packet);
	tail->round = (uint32_t)args->round;
	tail->token = token;
	memcpy(tail->ids, choices_of(args, token), ep->desc.topk * sizeof(tail->ids[0]));
}

static uint64_t result_va(const struct ep_args *args, uint32_t token, uint32_t k)
{
	const struct cmx_ep *ep = args->ep;

	return ep_va(ep, args->rank, EP_RESULTS_IN, args->round) +
	       ((uint64_t)token * ep->desc.topk + k) * ep->result;
}

/* What is sent at the end of the time that the tokens up to this one take. */
static uint64_t at_ps(const struct ep_args *args, uint32_t tokens)
{
	uint64_t all = args->tokens ? args->tokens : 1;

	return args->ep->launch_ps + args->pace_ps * tokens / all;
}

/* SDMA: both ways of a row; one that does not exist copies a word. */
static void list_row(struct sending *s, uint32_t token, uint32_t k, const struct ep_place *place,
		     uint32_t slot)
{
	const struct ep_args *args = s->args;
	const struct cmx_ep *ep = args->ep;
	size_t i = (size_t)token * ep->desc.topk + k;
	struct cmx_sg *there = ep_list(ep, args->rank, args->round, false) + i;
	struct cmx_sg *back = ep_list(ep, args->rank, args->round, true) + i;
	uint64_t mine = (uint64_t)args->rank * ep->cap + slot;
	uint64_t word = ep_word_va(ep, args->rank, EP_WORD_SCRATCH);

	*there = (struct cmx_sg){ .dst_va = word + 8, .src_va = word, .len = 8 };
	*back = *there;
	if (!place)
		return;
	*there = (struct cmx_sg){
		.dst_va = ep_va(ep, place->rank, EP_PACKETS_IN, args->round) + mine * ep->packet,
		.src_va = packet_va(args, token), .len = ep->packet,
	};
	*back = (struct cmx_sg){
		.dst_va = result_va(args, token, k), .len = ep->result,
		.src_va = ep_va(ep, place->rank, EP_RESULTS_OUT, args->round) + mine * ep->result,
	};
}

static int write_row(struct sending *s, uint32_t token, const struct ep_place *place,
		     uint32_t slot)
{
	const struct ep_args *args = s->args;
	const struct cmx_ep *ep = args->ep;
	const struct cmx_record record = {
		.opcode = UB_OP_WRITE, .messages = 1, .at_ps = at_ps(args, token + 1),
		.va = ep_va(ep, place->rank, EP_PACKETS_IN, args->round) +
		      ((uint64_t)args->rank * ep->cap + slot) * ep->packet,
		.src_va = packet_va(args, token), .len = ep->packet,
	};

	return cmx_dev_record(s->lc, &record);
}

static int send_choice(struct sending *s, uint32_t token, uint32_t k)
{
	const struct ep_args *args = s->args;
	const struct ep_place *place = place_of(args, token, k);
	struct cmx_ep *ep = args->ep;
	uint32_t slot = place ? s->sent[place->rank]++ : 0;

	/* Of distinct choices there cannot be more; another block found out which are not. */
	if (slot >= ep->cap)
		return CMX_EP_CODE_TWICE;
	if (!place) {
		s->nothing++;
		if (ep_has_data(ep))
			memset(ep_ptr(result_va(args, token, k)), 0, ep->result);
		if (is_active(args, token) && choices_of(args, token)[k] >= 0)
			atomic_fetch_add(&ep->ranks[args->rank].dropped, 1);
	}
	if (ep_is_sdma(ep))
		list_row(s, token, k, place, slot);
	else if (place)
		return write_row(s, token, place, slot);
	return 0;
}

static int send_token(struct sending *s, uint32_t token)
{
	const struct ep_args *args = s->args;
	int ret = 0;

	if (is_active(args, token))
		ret = ep_check_ids(args->ep, choices_of(args, token));
	if (!ret && ep_has_data(args->ep) && is_active(args, token))
		pack(args, token);
	for (uint32_t k = 0; k < args->ep->desc.topk && !ret; k++)
		ret = send_choice(s, token, k);
	return ret;
}

/* For choices without a row the rank counts up its own word. */
static int count_nothing(const struct sending *s, uint32_t tokens)
{
	const struct ep_args *args = s->args;
	uint32_t word = EP_WORD_RESULTS + (uint32_t)(args->round & 1);

	if (!s->nothing || ep_is_sdma(args->ep))
		return 0;
	return cmx_dev_atomic(s->lc, at_ps(args, tokens), UB_OP_FADD,
			      ep_word_va(args->ep, args->rank, word), 8, s->nothing);
}

int ep_send_block(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct ep_args *args = bytes;
	struct sending s = { .lc = lc, .args = args };
	uint32_t lo, hi;
	int ret = 0;

	ep_part(args->tokens, block, cmx_launch_grid(lc), &lo, &hi);
	count_rows(args, 0, lo, s.sent);
	for (uint32_t t = lo; t < hi && !ret; t++)
		ret = send_token(&s, t);
	return ret ? ret : count_nothing(&s, hi);
}

/* Peers in turn, beginning behind the own rank, so that not all begin with the same one. */
int ep_flag_block(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct ep_args *args = bytes;
	const struct cmx_ep *ep = args->ep;
	uint32_t sent[CMX_EP_MAX_RANKS] = {}, ranks = ep->desc.ranks;
	int ret = 0;

	(void)block;
	count_rows(args, 0, args->tokens, sent);
	for (uint32_t i = 0; i < ranks && !ret; i++) {
		uint32_t peer = (args->rank + 1 + i) % ranks;

		if (!ep->ranks[peer].failed)
			ret = cmx_dev_signal(lc, at_ps(args, args->tokens),
					     ep_flag_va(ep, peer, args->round, args->rank),
					     (args->round + 1) << 32 | sent[peer]);
	}
	return ret;
}

int ep_release_post(struct cmx_launch_ctx *lc, const void *bytes)
{
	const struct ep_args *args = bytes;

	(void)lc;
	ep_table_put(args->table);
	return 0;
}
