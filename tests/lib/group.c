// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "group.h"

#define GUARD	192u	/* bytes between what calls use */

static int open_group(struct group *g, uint32_t flags, uint32_t backward)
{
	uint32_t dies[GROUP_MAX];
	struct cmx_ccl_desc desc = {
		.entities = dies, .ranks = g->n, .flags = flags, .max_bytes = GROUP_MAX_BYTES,
	};

	for (uint32_t i = 0; i < g->n; i++)
		dies[i] = backward ? g->n - 1 - i : i;
	return cmx_ccl_create(g->ctx, &desc, &g->ccl[backward]);
}

static int open_rank(struct group *g, uint32_t i)
{
	struct cmx_queue_desc desc = {
		.cq = g->cq, .entity = i, .queue_class = CMX_QUEUE_STREAM, .slots = 1024,
	};
	int ret = cmx_queue_create(g->ctx, &desc, &g->q[i]);

	return ret ? ret : cmx_mem_alloc(g->ctx, i, GROUP_ARENA,
					 g->time_only ? CMX_MEM_NO_DATA : 0, &g->mem[i]);
}

int group_open(struct group *g, uint32_t n, uint32_t flags, uint32_t threads)
{
	int ret;

	memset(g, 0, sizeof(*g));
	g->n = n;
	g->time_only = flags & CMX_CCL_TIME_ONLY;
	ret = cmx_open(NULL, 0, &g->ctx);
	if (!ret)
		ret = cmx_cq_create(g->ctx, NULL, 1024, CMX_CQ_BACKPRESSURE, &g->cq);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = open_rank(g, i);
	for (uint32_t i = 0; i < 2 && !ret; i++)
		ret = open_group(g, flags, i);
	return ret ? ret : cmx_runner_start(g->ctx, threads);
}

void group_close(struct group *g)
{
	cmx_ccl_destroy(g->ccl[0]);
	cmx_ccl_destroy(g->ccl[1]);
	cmx_close(g->ctx);
}

/* ---------------------------------------------------------------------------- drawing */

static uint64_t element(const struct group_call *c)
{
	if (c->op != GROUP_SCATTER && c->op != GROUP_REDUCE)
		return 1;
	return c->dtype == CMX_CCL_F32 ? 4 : 2;
}

/* Bytes of a rank's source or destination. */
static uint64_t span(const struct group_call *c, uint32_t n, bool dst)
{
	uint64_t bytes = c->size * element(c);

	switch (c->op) {
	case GROUP_GATHER:
		return dst ? n * bytes : bytes;
	case GROUP_SCATTER:
		return dst ? bytes : n * bytes;
	case GROUP_ALLTOALL:
		return n * bytes;
	case GROUP_ALLTOALLV:
		return 2 * GROUP_MAX_BYTES;
	case GROUP_BARRIER:
		return 0;
	default:
		return bytes;
	}
}

static uint64_t dst_of(const struct group_call *c, uint32_t rank)
{
	return c->dst + (c->in_place && c->op == GROUP_SCATTER ? rank * c->size * element(c) : 0);
}

static uint64_t src_of(const struct group_call *c, uint32_t rank)
{
	return c->src + (c->in_place && c->op == GROUP_GATHER ? rank * c->size : 0);
}

static void draw_pieces(struct group_call *c, uint32_t n, uint32_t *state)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			c->pieces[i][j] = bed_random(state) % 3 ?
					  bed_random(state) % (GROUP_MAX_BYTES / n) : 0;
	/* One sends all it may to one. */
	if (bed_random(state) % 2) {
		uint32_t i = bed_random(state) % n;

		memset(c->pieces[i], 0, sizeof(c->pieces[i]));
		c->pieces[i][bed_random(state) % n] = GROUP_MAX_BYTES;
	}
}

static void draw_call(struct group_call *c, uint32_t n, uint32_t *state)
{
	uint64_t most = GROUP_MAX_BYTES;

	memset(c, 0, sizeof(*c));
	c->op = bed_random(state) % GROUP_OPS;
	c->dtype = bed_random(state) % CMX_CCL_DTYPES;
	c->root = bed_random(state) % n;
	c->backward = bed_random(state) % 2;
	if (c->op == GROUP_SCATTER || c->op == GROUP_ALLTOALL)
		most /= n;
	most /= element(c);
	/* From nothing to all there is, small ones often. */
	c->size = bed_random(state) % ((most >> bed_random(state) % 12) + 1);
	if (c->op == GROUP_ALLTOALLV)
		draw_pieces(c, n, state);
	if (c->op != GROUP_SCATTER && c->op != GROUP_REDUCE)
		c->dtype = 0;
}

uint64_t group_draw(struct group_call *calls, uint32_t count, uint32_t n, uint32_t seed)
{
	uint64_t at = GUARD;

	for (uint32_t i = 0; i < count; i++) {
		struct group_call *c = &calls[i];
		uint64_t dst, src;

		draw_call(c, n, &seed);
		dst = span(c, n, true);
		src = span(c, n, false);
		c->in_place = bed_random(&seed) % 2 && c->op != GROUP_ALLTOALLV;
		c->dst = at;
		c->src = at + (c->in_place ? 0 : (dst + GUARD) & ~63ull);
		at = (c->src + (src > dst ? src : dst) + GUARD) & ~63ull;
	}
	return at + GUARD;
}

/* Numbers of moderate size: a sum must be one number, whatever adds it. */
static void fill_numbers(uint8_t *bytes, uint64_t size, uint32_t dtype, uint32_t *state)
{
	for (uint64_t i = 0; dtype == CMX_CCL_BF16 && i + 2 <= size; i += 2) {
		uint16_t x = (uint16_t)(bed_random(state) & 0x87ff) | 0x3c00;

		memcpy(bytes + i, &x, sizeof(x));
	}
	for (uint64_t i = 0; dtype == CMX_CCL_F32 && i + 4 <= size; i += 4) {
		uint32_t x = (bed_random(state) << 8 & 0x87ff0000) | (bed_random(state) & 0xffff) |
			     0x3c000000;

		memcpy(bytes + i, &x, sizeof(x));
	}
}

void group_fill(const struct group_call *calls, uint32_t count, uint32_t n, uint32_t rank,
		uint64_t size, uint8_t *bytes, uint32_t seed)
{
	uint32_t state = seed * 64 + rank;

	for (uint64_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word = (i + 1 + state) * 0x9e3779b97f4a7c15ull;

		word ^= word >> 29;
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct group_call *c = &calls[i];

		if (element(c) > 1)
			fill_numbers(bytes + c->src, span(c, n, false), c->dtype, &state);
	}
}

/* ------------------------------------------------------------------------------ model */

static float number(const uint8_t *bytes, uint64_t i, uint32_t dtype)
{
	uint32_t bits = 0;
	float x;

	if (dtype == CMX_CCL_F32)
		memcpy(&bits, bytes + 4 * i, 4);
	else
		memcpy((uint8_t *)&bits + 2, bytes + 2 * i, 2);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static void put_number(uint8_t *bytes, uint64_t i, uint32_t dtype, float x)
{
	uint32_t bits;
	uint16_t half;

	memcpy(&bits, &x, sizeof(bits));
	if (dtype == CMX_CCL_F32) {
		memcpy(bytes + 4 * i, &bits, 4);
		return;
	}
	half = (uint16_t)(bits >> 16);
	bits &= 0xffff;
	if (bits > 0x8000 || (bits == 0x8000 && half & 1))
		half++;
	memcpy(bytes + 2 * i, &half, 2);
}

/* Rank @i's memory before the call; ranks of the group, not dies. */
struct before {
	uint8_t *bytes[GROUP_MAX];
};

static void model_sum(const struct group_call *c, uint32_t n, const struct before *b,
		      uint64_t first, uint64_t count, uint8_t *to)
{
	for (uint64_t k = 0; k < count; k++) {
		float sum = number(b->bytes[0] + c->src, first + k, c->dtype);

		for (uint32_t i = 1; i < n; i++)
			sum += number(b->bytes[i] + c->src, first + k, c->dtype);
		put_number(to, k, c->dtype, sum);
	}
}

static void model_pieces(const struct group_call *c, uint32_t n, const struct before *b,
			 uint32_t rank, uint8_t *to)
{
	uint64_t put = 0;

	for (uint32_t from = 0; from < n; from++) {
		uint64_t take = 0;

		for (uint32_t j = 0; j < rank; j++)
			take += c->pieces[from][j];
		memcpy(to + put, b->bytes[from] + c->src + take, c->pieces[from][rank]);
		put += c->pieces[from][rank];
	}
}

static void model_rank(const struct group_call *c, uint32_t n, const struct before *b,
		       uint32_t rank, uint8_t *to)
{
	switch (c->op) {
	case GROUP_GATHER:
		for (uint32_t i = 0; i < n; i++)
			memcpy(to + i * c->size, b->bytes[i] + src_of(c, i), c->size);
		break;
	case GROUP_SCATTER:
		model_sum(c, n, b, rank * c->size, c->size, to);
		break;
	case GROUP_REDUCE:
		model_sum(c, n, b, 0, c->size, to);
		break;
	case GROUP_ALLTOALL:
		for (uint32_t i = 0; i < n; i++)
			memcpy(to + i * c->size, b->bytes[i] + c->src + rank * c->size,
			       c->size);
		break;
	case GROUP_ALLTOALLV:
		model_pieces(c, n, b, rank, to);
		break;
	case GROUP_BROADCAST:
		memcpy(to, b->bytes[c->root] + c->src, c->size);
	}
}

/* All results are worked out before any is stored. */
void group_model(const struct group_call *calls, uint32_t count, uint32_t n, uint8_t **bytes)
{
	for (uint32_t k = 0; k < count; k++) {
		const struct group_call *c = &calls[k];
		uint8_t *results[GROUP_MAX];
		struct before b;

		for (uint32_t i = 0; i < n; i++)
			b.bytes[i] = bytes[c->backward ? n - 1 - i : i];
		for (uint32_t i = 0; i < n; i++) {
			results[i] = malloc(span(c, n, true) + 1);
			memcpy(results[i], b.bytes[i] + dst_of(c, i), span(c, n, true));
			model_rank(c, n, &b, i, results[i]);
		}
		for (uint32_t i = 0; i < n; i++) {
			memcpy(b.bytes[i] + dst_of(c, i), results[i], span(c, n, true));
			free(results[i]);
		}
	}
}

/* ------------------------------------------------------------------------------- calls */

static int call_v(struct group *g, const struct group_call *c, uint32_t rank,
		  struct cmx_queue *q, uint64_t base, uint64_t user_ctx)
{
	uint64_t recv[GROUP_MAX];
	struct cmx_ccl_pieces pieces = { .send_bytes = c->pieces[rank], .recv_bytes = recv };

	for (uint32_t i = 0; i < g->n; i++)
		recv[i] = c->pieces[i][rank];
	return cmx_ccl_all_to_all_v(g->ccl[c->backward], rank, q, base + c->dst, base + c->src,
				    &pieces, CMX_ENTRY_COMPLETE, user_ctx);
}

int group_call(struct group *g, const struct group_call *c, uint32_t die, uint64_t user_ctx)
{
	struct cmx_ccl *ccl = g->ccl[c->backward];
	uint32_t rank = c->backward ? g->n - 1 - die : die, flags = CMX_ENTRY_COMPLETE;
	uint64_t base = cmx_mem_va(g->mem[die]);
	uint64_t dst = base + dst_of(c, rank), src = base + src_of(c, rank);
	struct cmx_queue *q = g->q[die];

	switch (c->op) {
	case GROUP_GATHER:
		return cmx_ccl_all_gather(ccl, rank, q, dst, src, c->size, flags, user_ctx);
	case GROUP_SCATTER:
		return cmx_ccl_reduce_scatter(ccl, rank, q, dst, src, c->size, c->dtype, flags,
					      user_ctx);
	case GROUP_REDUCE:
		return cmx_ccl_all_reduce(ccl, rank, q, dst, src, c->size, c->dtype, flags,
					  user_ctx);
	case GROUP_ALLTOALL:
		return cmx_ccl_all_to_all(ccl, rank, q, dst, src, c->size, flags, user_ctx);
	case GROUP_ALLTOALLV:
		return call_v(g, c, rank, q, base, user_ctx);
	case GROUP_BROADCAST:
		return cmx_ccl_broadcast(ccl, rank, q, dst, src, c->size, c->root, flags,
					 user_ctx);
	default:
		return cmx_ccl_barrier(ccl, rank, q, flags, user_ctx);
	}
}

int group_finish(struct group *g, uint32_t n, uint64_t *times)
{
	struct cmx_cqe cqe;
	int ret = 0;

	for (uint32_t i = 0; i < g->n && !ret; i++)
		ret = cmx_queue_submit(g->q[i]);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = cmx_wait_completions(g->cq, 1, NULL);
		if (!ret && cmx_cq_read(g->cq, &cqe) != 1)
			return -ENODATA;
		if (!ret && cqe.status) {
			fprintf(stderr, "# call %llu: opcode %#x, status %u, imm %llu\n",
				(unsigned long long)cqe.user_ctx, cqe.opcode, cqe.status,
				(unsigned long long)cqe.imm);
			return -EIO;
		}
		if (!ret)
			times[cqe.user_ctx] = cqe.time_ps;
	}
	return ret;
}
