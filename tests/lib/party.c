// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "party.h"

struct expert_args {
	struct party *party;
	struct cmx_ep_received received;
	uint32_t rank, round;
};

static uint32_t stride_of(const struct party *p)
{
	return (p->desc.hidden + 3) * 4;
}

/* Rows of the caller's own making are the f32 row turned around, byte by byte. */
static void own_row(const float *x, uint32_t n, unsigned char *out)
{
	for (uint32_t i = 0; i < n * 4; i++)
		out[i] = (unsigned char)~((const unsigned char *)x)[i];
}

static float round_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&value, &bits, 4);
	return value;
}

static uint32_t row_bytes(const struct party *p)
{
	static const uint32_t per_element[] = { 4, 2, 1, 4 };

	return p->desc.hidden * per_element[p->desc.dispatch_format] +
	       (p->desc.dispatch_format == CMX_EP_INT8 ? 4 : 0);
}

/* A row as it must arrive. */
static void encode(const struct party *p, const float *x, unsigned char *out)
{
	uint32_t n = p->desc.hidden;
	float most = 0, scale;

	switch (p->desc.dispatch_format) {
	case CMX_EP_F32:
		memcpy(out, x, n * 4ul);
		return;
	case CMX_EP_BF16:
		for (uint32_t i = 0; i < n; i++) {
			float value = round_bf16(x[i]);

			memcpy(out + 2 * i, (const char *)&value + 2, 2);
		}
		return;
	case CMX_EP_INT8:
		for (uint32_t i = 0; i < n; i++)
			most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
		scale = most > 0 ? most / 127 : 1;
		for (uint32_t i = 0; i < n; i++)
			out[i] = (unsigned char)(signed char)nearbyintf(x[i] / scale);
		memcpy(out + n, &scale, 4);
		return;
	default:
		own_row(x, n, out);
	}
}

static float decode(const struct party *p, const unsigned char *row, uint32_t i)
{
	uint32_t n = p->desc.hidden, bits = 0;
	unsigned char own[4];
	float value;

	switch (p->desc.dispatch_format) {
	case CMX_EP_F32:
		memcpy(&value, row + 4 * i, 4);
		return value;
	case CMX_EP_BF16:
		memcpy((char *)&bits + 2, row + 2 * i, 2);
		memcpy(&value, &bits, 4);
		return value;
	case CMX_EP_INT8:
		memcpy(&value, row + n, 4);
		return (float)(signed char)row[i] * value;
	default:
		for (uint32_t b = 0; b < 4; b++)
			own[b] = (unsigned char)~row[4 * i + b];
		memcpy(&value, own, 4);
		return value;
	}
}

static float expert_of(float value, int32_t expert)
{
	return value * (1 + (float)(expert % 7) / 8) + (float)expert / 16;
}

/* The expert's kernel: all rows of the rank; keeps what it saw. */
static int run_expert(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct expert_args *a = bytes;
	struct party *p = a->party;
	struct party_round *r = &p->rounds[a->round][a->rank];
	const uint32_t *plan = (const void *)(uintptr_t)a->received.plan_va;
	const unsigned char *rows = (const void *)(uintptr_t)a->received.rows_va;
	uint32_t size = row_bytes(p);

	(void)lc;
	(void)block;
	memcpy(r->plan, plan, (3 + p->desc.local) * 4);
	for (uint32_t e = 0; e < p->desc.local; e++) {
		int32_t expert = p->placement[a->rank * p->desc.local + e];

		for (uint32_t i = plan[2 + e]; i < plan[3 + e]; i++) {
			const unsigned char *row = rows + (size_t)i * a->received.row_stride;

			memcpy(r->rows + (size_t)i * size, row, size);
			for (uint32_t h = 0; h < p->desc.hidden; h++)
				r->y[(size_t)i * (p->desc.hidden + 3) + h] =
					expert_of(decode(p, row, h), expert);
		}
	}
	return 0;
}

static uint32_t most_rows(const struct party *p)
{
	const struct cmx_ep_desc *d = &p->desc;
	uint32_t of_a_token = d->topk < d->local ? d->topk : d->local;

	return d->ranks * d->max_tokens * of_a_token;
}

static int make_round(struct party *p, struct party_round *r, uint32_t rank)
{
	const struct cmx_ep_desc *d = &p->desc;
	size_t rows = (size_t)d->max_tokens * stride_of(p), choices = d->max_tokens * d->topk;
	size_t results = (size_t)most_rows(p) * stride_of(p);
	char *at;
	int ret = cmx_mem_alloc(p->ctx, p->entities[rank], 3 * rows + choices * 8 + results +
				d->max_tokens + 64, 0, &r->mem);

	if (ret)
		return ret;
	at = cmx_mem_ptr(r->mem);
	memset(at, PARTY_PAD, cmx_mem_size(r->mem));
	r->x = (float *)at;
	r->shared = (float *)(at + rows);
	r->out = (float *)(at + 2 * rows);
	r->y = (float *)(at + 3 * rows);
	r->weights = (float *)(at + 3 * rows + results);
	r->ids = (int32_t *)(r->weights + choices);
	r->active = (uint8_t *)(r->ids + choices);
	r->plan = calloc(3 + d->local, 4);
	r->rows = malloc((size_t)most_rows(p) * row_bytes(p) + 1);
	return r->plan && r->rows ? 0 : -ENOMEM;
}

static int make_queues(struct party *p, uint32_t rank)
{
	struct cmx_queue_desc desc = {
		.timeline = p->clock, .cq = p->cq, .entity = p->entities[rank], .slots = 1024,
		.queue_class = CMX_QUEUE_STREAM,
	};
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		/* Two streams that share the die's cores. */
		desc.vector_cores = i ? 16 : 32;
		ret = cmx_queue_create(p->ctx, &desc, &p->queues[rank][i]);
	}
	return ret;
}

static int make_placement(struct party *p, const int32_t *placement)
{
	uint32_t places = p->desc.ranks * p->desc.local;

	p->placement = malloc(places * sizeof(*p->placement));
	if (!p->placement)
		return -ENOMEM;
	for (uint32_t i = 0; i < places; i++)
		p->placement[i] = placement ? placement[i] : (int32_t)(i % p->desc.experts);
	return 0;
}

int party_open(struct party *p, const int32_t *placement)
{
	int ret = cmx_open(NULL, 0, &p->ctx);

	if (!ret)
		ret = cmx_timeline_create(p->ctx, 0, &p->clock);
	if (!ret)
		ret = cmx_cq_create(p->ctx, p->clock, 4096, CMX_CQ_BACKPRESSURE, &p->cq);
	if (!ret)
		ret = cmx_kernel_register(p->ctx, "party.expert", run_expert, &p->expert);
	if (!ret)
		ret = make_placement(p, placement);
	/* Not in order: a rank is not a die's number. */
	for (uint32_t r = 0; r < p->desc.ranks; r++)
		p->entities[r] = (r * 5 + 1) % cmx_device(p->ctx)->num_dies;
	for (uint32_t r = 0; r < p->desc.ranks && !ret; r++)
		ret = make_queues(p, r);
	p->desc.entities = p->entities;
	p->desc.placement = p->placement;
	p->desc.timeline = p->clock;
	return ret ? ret : cmx_ep_create(p->ctx, &p->desc, &p->ep);
}

static void free_rounds(struct party *p)
{
	for (uint32_t i = 0; i < p->num_rounds; i++) {
		for (uint32_t r = 0; r < p->desc.ranks; r++) {
			free(p->rounds[i][r].plan);
			free(p->rounds[i][r].rows);
			cmx_mem_free(p->rounds[i][r].mem);
		}
	}
	memset(p->rounds, 0, sizeof(p->rounds));
	p->num_rounds = 0;
}

void party_close(struct party *p)
{
	free_rounds(p);
	cmx_ep_destroy(p->ep);
	cmx_close(p->ctx);
	free(p->placement);
	memset(p, 0, sizeof(*p));
}

/* ------------------------------------------------------------------------- input */

static float draw_value(uint32_t *state)
{
	return (float)(int32_t)bed_random(state) / (float)(1 << 27);
}

static void draw_choices(const struct party *p, enum party_draw draw, int32_t *ids,
			 uint32_t *state)
{
	for (uint32_t k = 0; k < p->desc.topk;) {
		uint32_t other = 0;

		ids[k] = (int32_t)(bed_random(state) % p->desc.experts);
		if (draw == PARTY_NOBODY || (draw == PARTY_ONE_EXPERT && k) ||
		    (draw == PARTY_RANDOM && bed_random(state) % 6 == 0)) {
			ids[k++] = -1;
			continue;
		}
		if (draw == PARTY_ONE_EXPERT)
			ids[k] = 0;
		while (other < k && ids[other] != ids[k])
			other++;
		k += other == k;
	}
}

static void draw_round(struct party *p, struct party_round *r, uint32_t rank,
		       enum party_draw draw, uint32_t *state)
{
	const struct cmx_ep_desc *d = &p->desc;

	r->tokens = d->max_tokens;
	if (draw == PARTY_RANDOM)
		r->tokens = bed_random(state) % (d->max_tokens + 1);
	if (draw == PARTY_ONE_RANK && rank)
		r->tokens = 0;
	for (uint32_t t = 0; t < r->tokens; t++) {
		float *x = (float *)((char *)r->x + t * stride_of(p));
		float *shared = (float *)((char *)r->shared + t * stride_of(p));

		for (uint32_t h = 0; h < d->hidden; h++) {
			x[h] = t % 5 ? draw_value(state) : 0;
			shared[h] = draw_value(state);
		}
		draw_choices(p, draw, r->ids + t * d->topk, state);
		for (uint32_t k = 0; k < d->topk; k++)
			r->weights[t * d->topk + k] = draw_value(state) / 16;
		r->active[t] = draw != PARTY_RANDOM || bed_random(state) % 4;
	}
}

/* The rows that dispatch reads: with CMX_EP_ROWS they are made by the caller, in place. */
static void make_own_rows(struct party *p, struct party_round *r)
{
	for (uint32_t t = 0; t < r->tokens && p->desc.dispatch_format == CMX_EP_ROWS; t++) {
		float *x = (float *)((char *)r->x + t * stride_of(p));

		memcpy((char *)r->shared + t * stride_of(p), x, p->desc.hidden * 4ul);
		own_row(x, p->desc.hidden, (unsigned char *)x);
	}
}

/* Rows as they were drawn. */
static const float *drawn_rows(const struct party *p, const struct party_round *r)
{
	return p->desc.dispatch_format == CMX_EP_ROWS ? r->shared : r->x;
}

static const float *drawn_row(const struct party *p, const struct party_round *r, uint32_t t)
{
	return (const float *)((const char *)drawn_rows(p, r) + t * stride_of(p));
}

/* --------------------------------------------------------------------------- run */

static uint64_t tag(const struct party *p, uint32_t round, enum party_call call, uint32_t rank)
{
	return ((uint64_t)round * PARTY_CALLS + call) * p->desc.ranks + rank;
}

/* The same for the same round, rank and call, in both modes. */
static int be_late(struct party *p, uint32_t round, enum party_call call, uint32_t rank)
{
	uint32_t state = p->seed + (uint32_t)tag(p, round, call, rank) * 2654435761u;
	uint64_t ps = p->jitter_ps ? bed_random(&state) % p->jitter_ps : 0;

	if (!round && call == PARTY_WAIT && rank == 1)
		ps += p->slow_ps;
	return ps ? cmx_queue_delay(p->queues[rank][round & 1], ps, 0, ~0ull) : 0;
}

static int give_choices(struct party *p, const struct party_round *r, uint32_t rank)
{
	uint32_t n = r->tokens * p->desc.topk;
	int32_t *ids = malloc((n + 1) * sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		ids[i] = r->active[i / p->desc.topk] ? r->ids[i] : -1;
	ret = cmx_ep_set_routing(p->ep, rank, ids, r->tokens);
	free(ids);
	return ret;
}

static int post(struct party *p, uint32_t round, uint32_t rank)
{
	const struct party_round *r = &p->rounds[round][rank];
	const struct cmx_ep_dispatch dispatch = {
		.x_va = cmx_va(r->x), .x_stride = stride_of(p), .ids_va = cmx_va(r->ids),
		.active_va = cmx_va(r->active), .tokens = r->tokens,
	};
	int ret = be_late(p, round, PARTY_POST, rank);

	return ret ? ret : cmx_ep_dispatch_post(p->ep, rank, p->queues[rank][round & 1], &dispatch,
						CMX_ENTRY_COMPLETE,
						tag(p, round, PARTY_POST, rank));
}

static int launch_expert(struct party *p, struct cmx_queue *queue, const struct expert_args *args)
{
	const struct cmx_launch_desc desc = {
		.kernel = p->expert, .args = args, .args_size = sizeof(*args),
		.first_ps = UINT64_MAX,
		.launch_flags = p->desc.flags & CMX_EP_TIME_ONLY ? CMX_LAUNCH_TIME_ONLY : 0,
		.cost = { .mem_bytes = 100000, .efficiency = CMX_EFF_GEMM },
	};

	return cmx_queue_launch(queue, &desc, 0, ~0ull);
}

/* Everything of a round behind its post. */
static int rest(struct party *p, uint32_t round, uint32_t rank)
{
	const struct party_round *r = &p->rounds[round][rank];
	const struct cmx_ep_sum sum = {
		.weights_va = cmx_va(r->weights), .x_va = cmx_va(drawn_rows(p, r)),
		.out_va = cmx_va(r->out), .shared_va = cmx_va(r->shared), .stride = stride_of(p),
	};
	struct cmx_queue *queue = p->queues[rank][round & 1];
	struct expert_args args = { .party = p, .rank = rank, .round = round };
	int ret = be_late(p, round, PARTY_WAIT, rank);

	if (!ret)
		ret = cmx_ep_dispatch_wait(p->ep, rank, queue, &args.received, CMX_ENTRY_COMPLETE,
					   tag(p, round, PARTY_WAIT, rank));
	if (!ret)
		ret = launch_expert(p, queue, &args);
	if (!ret)
		ret = be_late(p, round, PARTY_RETURN, rank);
	if (!ret)
		ret = cmx_ep_combine_post(p->ep, rank, queue, cmx_va(r->y), stride_of(p),
					  CMX_ENTRY_COMPLETE, tag(p, round, PARTY_RETURN, rank));
	if (!ret)
		ret = be_late(p, round, PARTY_SUM, rank);
	if (!ret)
		ret = cmx_ep_combine_wait(p->ep, rank, queue, &sum, NULL, CMX_ENTRY_COMPLETE,
					  tag(p, round, PARTY_SUM, rank));
	return ret;
}

static int take(struct party *p, uint32_t n)
{
	const struct cmx_wait_opts opts = { .timeline = p->clock };
	struct cmx_cqe cqe;
	int ret;

	while (n) {
		ret = cmx_wait_completions(p->cq, 1, &opts);
		if (ret)
			return ret;
		while (n && cmx_cq_read(p->cq, &cqe) == 1) {
			uint64_t call = cqe.user_ctx / p->desc.ranks;

			if (cqe.status) {
				p->bad = cqe;
				return -EIO;
			}
			n--;
			p->times[call / PARTY_CALLS][call % PARTY_CALLS]
				[cqe.user_ctx % p->desc.ranks] = cqe.time_ps;
		}
	}
	return 0;
}

static int submit(struct party *p)
{
	int ret = 0;

	for (uint32_t r = 0; r < p->desc.ranks && !ret; r++) {
		ret = cmx_queue_submit(p->queues[r][0]);
		if (!ret)
			ret = cmx_queue_submit(p->queues[r][1]);
	}
	return ret;
}

/* One call after the other of every live rank; the second of two rounds is posted early. */
static int append(struct party *p, uint32_t from, uint32_t to,
		  int (*call)(struct party *, uint32_t, uint32_t))
{
	int ret = 0;

	for (uint32_t round = from; round < to; round++) {
		for (uint32_t r = 0; r < p->desc.ranks && !ret; r++) {
			if (call == post && !p->failed[r] && p->desc.flags & CMX_EP_TIME_ONLY)
				ret = give_choices(p, &p->rounds[round][r], r);
		}
		for (uint32_t r = 0; r < p->desc.ranks && !ret; r++) {
			if (!p->failed[r])
				ret = call(p, round, r);
		}
	}
	return ret;
}

static uint32_t live_ranks(const struct party *p)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < p->desc.ranks; r++)
		n += !p->failed[r];
	return n;
}

int party_run(struct party *p, const enum party_draw *draws, uint32_t n)
{
	uint32_t state = p->seed;
	int ret = 0;

	free_rounds(p);
	p->num_rounds = n;
	for (uint32_t i = 0; i < n * p->desc.ranks && !ret; i++) {
		uint32_t rank = i % p->desc.ranks;
		struct party_round *r = &p->rounds[i / p->desc.ranks][rank];

		ret = make_round(p, r, rank);
		if (!ret)
			draw_round(p, r, rank, draws[i / p->desc.ranks], &state);
		make_own_rows(p, r);
	}
	for (uint32_t i = 0; i < n && !ret; i += 2) {
		uint32_t end = i + 2 < n ? i + 2 : n;

		ret = append(p, i, end, post);
		if (!ret)
			ret = append(p, i, end, rest);
	}
	if (!ret)
		ret = submit(p);
	return ret ? ret : take(p, n * PARTY_CALLS * live_ranks(p));
}

/* ------------------------------------------------------------------------- model */

/* The replica that a token's row goes to: place in the table, or -1. */
static int64_t place_of(const struct party *p, uint32_t source, uint32_t token, int32_t expert)
{
	uint32_t places = p->desc.ranks * p->desc.local, n = 0, want;

	if (expert < 0)
		return -1;
	for (uint32_t i = 0; i < places; i++)
		n += p->placement[i] == expert && !p->failed[i / p->desc.local];
	if (!n)
		return -1;
	want = (source + token) % n;
	for (uint32_t i = 0; i < places; i++) {
		if (p->placement[i] == expert && !p->failed[i / p->desc.local] && !want--)
			return i;
	}
	return -1;
}

static int64_t place_at(const struct party *p, uint32_t round, uint32_t source, uint32_t i)
{
	const struct party_round *r = &p->rounds[round][source];
	uint32_t token = i / p->desc.topk;

	return r->active[token] ? place_of(p, source, token, r->ids[i]) : -1;
}

static uint32_t differs(const char *what, uint32_t round, uint32_t rank, uint32_t i)
{
	fprintf(stderr, "# round %u, rank %u: %s %u differs\n", round, rank, what, i);
	return 1;
}

/* Rows of a rank by expert, source and token, and their plan. */
static uint32_t check_rows(const struct party *p, uint32_t round, uint32_t rank)
{
	const struct party_round *r = &p->rounds[round][rank];
	uint32_t local = p->desc.local, size = row_bytes(p), row = 0, active = 0, bad = 0;
	unsigned char *want = malloc(size);

	for (uint32_t e = 0; e < local; e++) {
		bad += r->plan[2 + e] == row ? 0 : differs("first", round, rank, e);
		for (uint32_t s = 0; s < p->desc.ranks; s++) {
			const struct party_round *from = &p->rounds[round][s];

			uint32_t n = p->failed[s] ? 0 : from->tokens * p->desc.topk;

			for (uint32_t i = 0; i < n; i++) {
				if (place_at(p, round, s, i) != (int64_t)rank * local + e)
					continue;
				encode(p, drawn_row(p, from, i / p->desc.topk), want);
				if (memcmp(want, r->rows + (size_t)row++ * size, size))
					bad += differs("row", round, rank, row - 1);
			}
		}
		active += row > r->plan[2 + e];
	}
	free(want);
	bad += r->plan[0] == active ? 0 : differs("n_active", round, rank, r->plan[0]);
	bad += r->plan[1] == row ? 0 : differs("n_rows", round, rank, r->plan[1]);
	return bad + (r->plan[2 + local] == row ? 0 : differs("last", round, rank, row));
}

/* Tokens of a rank; what is between the rows must not have been touched. */
static uint32_t check_sums(const struct party *p, uint32_t round, uint32_t rank)
{
	const struct party_round *r = &p->rounds[round][rank];
	uint32_t topk = p->desc.topk, bad = 0;
	unsigned char *row = malloc(row_bytes(p));

	for (uint32_t t = 0; t < p->desc.max_tokens; t++) {
		const char *out = (const char *)r->out + t * stride_of(p);
		const float *x = drawn_row(p, r, t);
		const char *shared = (const char *)r->shared + t * stride_of(p);

		encode(p, x, row);
		for (uint32_t h = 0; h < p->desc.hidden && t < r->tokens; h++) {
			float want = x[h];

			for (uint32_t k = 0; k < topk; k++) {
				float y = 0;

				if (place_at(p, round, rank, t * topk + k) >= 0)
					y = expert_of(decode(p, row, h), r->ids[t * topk + k]);
				if (p->desc.combine_format == CMX_EP_BF16)
					y = round_bf16(y);
				want += r->weights[t * topk + k] * y;
			}
			want += ((const float *)shared)[h];
			if (memcmp(&want, out + 4 * h, 4))
				bad += differs("sum of token", round, rank, t);
		}
		for (uint32_t i = t < r->tokens ? 4 * p->desc.hidden : 0; i < stride_of(p); i++)
			bad += out[i] == PARTY_PAD ? 0 : differs("padding", round, rank, t);
	}
	free(row);
	return bad;
}

uint32_t party_check(const struct party *p)
{
	uint32_t bad = 0;

	for (uint32_t round = 0; round < p->num_rounds; round++) {
		for (uint32_t r = 0; r < p->desc.ranks; r++) {
			if (p->failed[r])
				continue;
			bad += check_rows(p, round, r);
			bad += check_sums(p, round, r);
		}
	}
	if (cmx_ep_check(p->ep)) {
		fprintf(stderr, "# %s\n", cmx_last_error()->text);
		bad++;
	}
	return bad;
}
