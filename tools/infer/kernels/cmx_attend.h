/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attention of a few queries over one tile of keys, with an online softmax.
 * Tiles start at multiples of CMX_KEY_TILE and come in order; within one every
 * sum runs over its index upwards. So the bits of a query depend on its keys
 * alone: not on the queries beside it, the chunk it came in, or the pages.
 */
#ifndef CMX_ATTEND_H
#define CMX_ATTEND_H

#include <math.h>

#include "cmx_npu.h"
#include "cmx_lanes.h"

#define attend_inline static inline __attribute__((always_inline))

/* Dimensions of the keys that are turned into columns at a time. */
#define ATTEND_DIMS	64u
/* Queries and sets of lanes that are summed at a time: as many as there are registers for. */
#if CMX_LEVEL > CMX_LEVEL_AVX2
#define ATTEND_ROWS	4u
#define ATTEND_SETS	4u
#else
#define ATTEND_ROWS	2u
#define ATTEND_SETS	2u
#endif

#define ATTEND_QUERIES	CMX_QUERY_TILE
_Static_assert(CMX_HEAD_TILE <= ATTEND_QUERIES, "heads of a tile are queries");

struct key_tile {
	const float *k1[CMX_KEY_TILE];	/* a key is k1 and k2 side by side */
	const float *k2[CMX_KEY_TILE];
	const float *v[CMX_KEY_TILE];
	uint32_t d1, d2, dv;
	uint32_t first;			/* position of the first key */
	uint32_t n;
	float scale;
};

struct query {
	const float *q1;
	const float *q2;
	float *out;
	float top;
	float sum;
	uint32_t end;			/* it sees the positions below */
};

attend_inline struct lanes attend_fma(struct lanes a, float b, struct lanes c)
{
	return lanes_add(c, lanes_mul(a, lanes_set(b)));
}

/* The queries that have keys in a tile, their scores and what becomes of them. */
struct attend_work {
	struct query *q[ATTEND_QUERIES];
	const float *part[ATTEND_QUERIES];
	float shrink[ATTEND_QUERIES];
	uint32_t n;
	float score[ATTEND_QUERIES][CMX_KEY_TILE];
	float column[ATTEND_DIMS][CMX_KEY_TILE];
};

/* Lanes past the last key are zero: what stands there in memory must not matter. */
static inline void turn_keys(const float *const *key, uint32_t n, uint32_t d, uint32_t dims,
			     struct attend_work *w)
{
	for (uint32_t s = 0; s < n; s++) {
		const float *k = key[s] + d;

		for (uint32_t i = 0; i < dims; i++)
			w->column[i][s] = k[i];
	}
	for (uint32_t s = n; s < CMX_KEY_TILE; s++) {
		for (uint32_t i = 0; i < dims; i++)
			w->column[i][s] = 0;
	}
}

attend_inline void score_queries(struct attend_work *w, uint32_t first, uint32_t rows, uint32_t d,
				 uint32_t dims)
{
	for (uint32_t at = 0; at < CMX_KEY_TILE; at += ATTEND_SETS * CMX_LANES) {
		struct lanes acc[ATTEND_ROWS][ATTEND_SETS];

		for (uint32_t r = 0; r < rows; r++)
			for (uint32_t j = 0; j < ATTEND_SETS; j++)
				acc[r][j] = lanes_load(w->score[first + r] + at + j * CMX_LANES);
		for (uint32_t i = 0; i < dims; i++) {
			for (uint32_t j = 0; j < ATTEND_SETS; j++) {
				struct lanes k = lanes_load(w->column[i] + at + j * CMX_LANES);

				for (uint32_t r = 0; r < rows; r++)
					acc[r][j] = attend_fma(k, w->part[first + r][d + i],
							       acc[r][j]);
			}
		}
		for (uint32_t r = 0; r < rows; r++)
			for (uint32_t j = 0; j < ATTEND_SETS; j++)
				lanes_store(w->score[first + r] + at + j * CMX_LANES, acc[r][j]);
	}
}

/* Adds the products of one part of queries and keys to the scores. */
static inline void add_scores(struct attend_work *w, const float *const *key, uint32_t n,
			      uint32_t dim)
{
	for (uint32_t d = 0; d < dim; d += ATTEND_DIMS) {
		uint32_t dims = dim - d < ATTEND_DIMS ? dim - d : ATTEND_DIMS, i = 0;

		turn_keys(key, n, d, dims, w);
		for (; i + ATTEND_ROWS <= w->n; i += ATTEND_ROWS)
			score_queries(w, i, ATTEND_ROWS, d, dims);
		for (; i < w->n; i++)
			score_queries(w, i, 1, d, dims);
	}
}

static inline uint32_t keys_of(const struct key_tile *t, const struct query *q)
{
	uint32_t left = q->end - t->first;

	return left < t->n ? left : t->n;
}

/* Turns the scores into weights and returns the factor for what was summed before. */
static inline float softmax_tile(struct query *q, float *score, uint32_t n, float scale)
{
	struct lanes top = lanes_set(-INFINITY), sum = lanes_set(0), m;
	float old = q->top, best, shrink[CMX_LANES];

	for (uint32_t i = n; i < CMX_KEY_TILE; i++)
		score[i] = -INFINITY;
	for (uint32_t i = 0; i < CMX_KEY_TILE; i += CMX_LANES) {
		struct lanes s = lanes_mul(lanes_load(score + i), lanes_set(scale));

		lanes_store(score + i, s);
		top = lanes_max(top, s);
	}
	best = lanes_top(top);
	q->top = best > old ? best : old;
	m = lanes_set(q->top);
	for (uint32_t i = 0; i < CMX_KEY_TILE; i += CMX_LANES) {
		struct lanes p = lanes_exp(lanes_sub(lanes_load(score + i), m));

		lanes_store(score + i, p);
		sum = lanes_add(sum, p);
	}
	lanes_store(shrink, lanes_exp(lanes_set(old - q->top)));
	q->sum = q->sum * shrink[0] + lanes_sum(sum);
	return shrink[0];
}

/* Keys [s, end) of the tile for values from @c on; the last lanes may be cut short. */
attend_inline void sum_values(const struct key_tile *t, const struct attend_work *w,
			      uint32_t first, uint32_t rows, uint32_t c, uint32_t s, uint32_t end,
			      struct lanes (*acc)[ATTEND_SETS], uint32_t sets)
{
	for (; s < end; s++) {
		for (uint32_t j = 0; j < sets; j++) {
			uint32_t at = c + j * CMX_LANES;
			struct lanes v = lanes_load_to(t->v[s] + at, t->dv - at, 0);

			for (uint32_t r = 0; r < rows; r++)
				acc[r][j] = attend_fma(v, w->score[first + r][s], acc[r][j]);
		}
	}
}

/*
 * Values [c, c + sets of lanes) of some queries. The keys that all of them see
 * go together, then the rest one query at a time: an unseen value must not even
 * be multiplied by zero.
 */
attend_inline void value_columns(const struct key_tile *t, struct attend_work *w, uint32_t first,
				 uint32_t rows, uint32_t c, uint32_t sets)
{
	struct lanes acc[ATTEND_ROWS][ATTEND_SETS];
	uint32_t shared = CMX_KEY_TILE;

	for (uint32_t r = 0; r < rows; r++) {
		uint32_t n = keys_of(t, w->q[first + r]);

		shared = n < shared ? n : shared;
		for (uint32_t j = 0; j < sets; j++) {
			uint32_t at = c + j * CMX_LANES;

			acc[r][j] = lanes_set(0);
			if (t->first)
				acc[r][j] = lanes_mul(lanes_load_to(w->q[first + r]->out + at,
								    t->dv - at, 0),
						      lanes_set(w->shrink[first + r]));
		}
	}
	sum_values(t, w, first, rows, c, 0, shared, acc, sets);
	for (uint32_t r = 0; r < rows; r++) {
		sum_values(t, w, first + r, 1, c, shared, keys_of(t, w->q[first + r]), acc + r,
			   sets);
		for (uint32_t j = 0; j < sets; j++)
			lanes_store_to(w->q[first + r]->out + c + j * CMX_LANES,
				       t->dv - c - j * CMX_LANES, acc[r][j]);
	}
}

attend_inline void add_values(const struct key_tile *t, struct attend_work *w, uint32_t first,
			      uint32_t rows)
{
	uint32_t c = 0;

	for (; c + ATTEND_SETS * CMX_LANES <= t->dv; c += ATTEND_SETS * CMX_LANES)
		value_columns(t, w, first, rows, c, ATTEND_SETS);
	for (; c < t->dv; c += CMX_LANES)
		value_columns(t, w, first, rows, c, 1);
}

/* Takes the keys of a tile into the queries that see any of them. */
static inline void attend_tile(const struct key_tile *t, struct query *q, uint32_t n)
{
	struct attend_work w;
	uint32_t i = 0;

	w.n = 0;
	for (uint32_t j = 0; j < n; j++) {
		if (q[j].end > t->first)
			w.q[w.n++] = &q[j];
	}
	memset(w.score, 0, w.n * sizeof(w.score[0]));
	for (uint32_t j = 0; j < w.n; j++)
		w.part[j] = w.q[j]->q1;
	add_scores(&w, t->k1, t->n, t->d1);
	for (uint32_t j = 0; j < w.n; j++)
		w.part[j] = w.q[j]->q2;
	add_scores(&w, t->k2, t->n, t->d2);
	for (uint32_t j = 0; j < w.n; j++)
		w.shrink[j] = softmax_tile(w.q[j], w.score[j], keys_of(t, w.q[j]), t->scale);
	for (; i + ATTEND_ROWS <= w.n; i += ATTEND_ROWS)
		add_values(t, &w, i, ATTEND_ROWS);
	for (; i < w.n; i++)
		add_values(t, &w, i, 1);
}

static inline void attend_divide(const struct query *q, uint32_t dv)
{
	for (uint32_t c = 0; c < dv; c += CMX_LANES) {
		struct lanes v = lanes_load_to(q->out + c, dv - c, 0);

		lanes_store_to(q->out + c, dv - c, lanes_div(v, lanes_set(q->sum)));
	}
}

#endif
