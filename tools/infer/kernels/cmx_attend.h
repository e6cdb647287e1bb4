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

/* Dimensions of the keys that are turned into columns at a time, and of the values. */
#define ATTEND_DIMS	64u
/* Queries that are summed at a time: as many as there are registers for. */
#if defined(__AVX512F__)
#define ATTEND_ROWS	8u
#elif defined(__AVX2__)
#define ATTEND_ROWS	6u
#else
#define ATTEND_ROWS	2u
#endif

/* Sums live in registers only if no loop over them is left; see that it stays so. */
#if !CMX_LEVEL || defined(__SANITIZE_ADDRESS__)
#define ATTEND_UNROLL
#else
#define ATTEND_UNROLL _Pragma("GCC unroll 8")
#endif

#define for_each_row(r, n) ATTEND_UNROLL for (uint32_t r = 0; r < (n); r++)

/* Heads of a tile are queries, too. */
#define ATTEND_QUERIES	CMX_QUERY_TILE
_Static_assert(ATTEND_QUERIES / CMX_HEAD_TILE, "a tile of heads has room");

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

/* The queries that have keys in a tile, their scores and what becomes of them. */
struct attend_work {
	struct query *q[ATTEND_QUERIES];
	const float *part[ATTEND_QUERIES];
	float shrink[ATTEND_QUERIES];
	uint32_t n;
	float score[ATTEND_QUERIES][CMX_KEY_TILE];
	/* Keys or values side by side; rows far apart would share few places in a cache. */
	union {
		float column[ATTEND_DIMS][CMX_KEY_TILE];
		float value[CMX_KEY_TILE][ATTEND_DIMS];
	};
};

typedef float four __attribute__((vector_size(16), aligned(4)));
typedef float eight __attribute__((vector_size(32), aligned(4)));

/* Four values of one key and of the fourth one after it. */
attend_inline void two_keys(const float *const *key, size_t d, eight *out)
{
	four a = *(const four *)(key[0] + d), b = *(const four *)(key[4] + d);

	*out = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Four dimensions of eight keys, from rows to columns. */
attend_inline void turn_eight(const float *const *key, size_t d, float *out)
{
	eight a, b, c, e, ab, ce, ab2, ce2;

	two_keys(key, d, &a);
	two_keys(key + 1, d, &b);
	two_keys(key + 2, d, &c);
	two_keys(key + 3, d, &e);
	ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
	ce = __builtin_shufflevector(c, e, 0, 8, 1, 9, 4, 12, 5, 13);
	ab2 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
	ce2 = __builtin_shufflevector(c, e, 2, 10, 3, 11, 6, 14, 7, 15);
	*(eight *)out = __builtin_shufflevector(ab, ce, 0, 1, 8, 9, 4, 5, 12, 13);
	*(eight *)(out + CMX_KEY_TILE) =
		__builtin_shufflevector(ab, ce, 2, 3, 10, 11, 6, 7, 14, 15);
	*(eight *)(out + 2 * CMX_KEY_TILE) =
		__builtin_shufflevector(ab2, ce2, 0, 1, 8, 9, 4, 5, 12, 13);
	*(eight *)(out + 3 * CMX_KEY_TILE) =
		__builtin_shufflevector(ab2, ce2, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* Lanes past the last key are zero: what stands there in memory must not matter. */
static inline void turn_keys(const float *const *key, uint32_t n, uint32_t d, uint32_t dims,
			     struct attend_work *w)
{
	uint32_t s = 0;

	for (; s + 8 <= n; s += 8) {
		/* Stores to the columns cannot change these. */
		const float *const k[8] = { key[s], key[s + 1], key[s + 2], key[s + 3],
					    key[s + 4], key[s + 5], key[s + 6], key[s + 7] };
		size_t i = 0;

		for (; i + 4 <= dims; i += 4)
			turn_eight(k, d + i, w->column[i] + s);
		for (; i < dims; i++) {
			for (uint32_t j = 0; j < 8; j++)
				w->column[i][s + j] = k[j][d + i];
		}
	}
	for (; s < CMX_KEY_TILE; s++) {
		for (uint32_t i = 0; i < dims; i++)
			w->column[i][s] = s < n ? key[s][d + i] : 0;
	}
}

attend_inline void score_queries(struct attend_work *w, uint32_t first, uint32_t rows, uint32_t d,
				 uint32_t dims)
{
	float (*score)[CMX_KEY_TILE] = w->score + first;
	const float *q[ATTEND_ROWS];

	for_each_row(r, rows)
		q[r] = w->part[first + r] + d;
	for (size_t at = 0; at < CMX_KEY_TILE; at += CMX_LANES) {
		struct lanes acc[ATTEND_ROWS];

		for_each_row(r, rows)
			acc[r] = lanes_load(score[r] + at);
		for (size_t i = 0; i < dims; i++) {
			struct lanes k = lanes_load(w->column[i] + at);

			for_each_row(r, rows)
				acc[r] = lanes_fma(k, lanes_set(q[r][i]), acc[r]);
		}
		for_each_row(r, rows)
			lanes_store(score[r] + at, acc[r]);
	}
}

/* Calls for up to ATTEND_ROWS queries, each number of them with code of its own. */
#define FOR_QUERIES(n, call) do { \
	uint32_t first = 0; \
	\
	for (; first + ATTEND_ROWS <= (n); first += ATTEND_ROWS) \
		call(ATTEND_ROWS); \
	ATTEND_UNROLL \
	for (uint32_t rest = 1; rest < ATTEND_ROWS; rest++) { \
		if ((n) - first == rest) \
			call(rest); \
	} \
} while (0)

/* Adds the products of one part of queries and keys to the scores. */
static inline void add_scores(struct attend_work *w, const float *const *key, uint32_t n,
			      uint32_t dim)
{
	for (uint32_t d = 0; d < dim; d += ATTEND_DIMS) {
		uint32_t dims = dim - d < ATTEND_DIMS ? dim - d : ATTEND_DIMS;

		turn_keys(key, n, d, dims, w);
#define SCORE(rows)	score_queries(w, first, rows, d, dims)
		FOR_QUERIES(w->n, SCORE);
#undef SCORE
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

/* Keys [s, end) of the tile for the values from @c on in the work's part of them. */
attend_inline void sum_values(const struct attend_work *w, uint32_t first, uint32_t rows,
			      uint32_t c, uint32_t s, uint32_t end, struct lanes *acc)
{
	const float (*score)[CMX_KEY_TILE] = w->score + first;

	for (size_t i = s; i < end; i++) {
		struct lanes v = lanes_load(w->value[i] + c);

		for_each_row(r, rows)
			acc[r] = lanes_fma(v, lanes_set(score[r][i]), acc[r]);
	}
}

/*
 * Values [d + c, d + c + @left) of some queries, at most as many as there are
 * lanes. The keys that all of them see go together, then the rest one query at a
 * time: an unseen value must not even be multiplied by zero.
 */
attend_inline void value_columns(const struct key_tile *t, struct attend_work *w, uint32_t first,
				 uint32_t rows, uint32_t d, uint32_t c, uint32_t left)
{
	struct lanes acc[ATTEND_ROWS];
	uint32_t shared = CMX_KEY_TILE;

	for_each_row(r, rows) {
		uint32_t n = keys_of(t, w->q[first + r]);

		shared = n < shared ? n : shared;
		acc[r] = lanes_set(0);
		if (t->first)
			acc[r] = lanes_mul(lanes_load_to(w->q[first + r]->out + d + c, left, 0),
					   lanes_set(w->shrink[first + r]));
	}
	sum_values(w, first, rows, c, 0, shared, acc);
	for_each_row(r, rows) {
		sum_values(w, first + r, 1, c, shared, keys_of(t, w->q[first + r]), acc + r);
		lanes_store_to(w->q[first + r]->out + d + c, left, acc[r]);
	}
}

/* Lanes past the last value are zero. */
static inline void take_values(const struct key_tile *t, uint32_t d, uint32_t dims,
			       struct attend_work *w)
{
	for (uint32_t s = 0; s < t->n; s++) {
		for (uint32_t c = 0; c < dims; c += CMX_LANES)
			lanes_store(w->value[s] + c,
				    lanes_load_to(t->v[s] + d + c, dims - c, 0));
	}
}

static inline void add_values(const struct key_tile *t, struct attend_work *w)
{
	for (uint32_t d = 0; d < t->dv; d += ATTEND_DIMS) {
		uint32_t dims = t->dv - d < ATTEND_DIMS ? t->dv - d : ATTEND_DIMS;

		take_values(t, d, dims, w);
		for (uint32_t c = 0; c < dims; c += CMX_LANES) {
#define SUM(rows)	value_columns(t, w, first, rows, d, c, dims - c)
			FOR_QUERIES(w->n, SUM);
#undef SUM
		}
	}
}

/* Takes the keys of a tile into the queries that see any of them. */
static inline void attend_tile(const struct key_tile *t, struct query *q, uint32_t n)
{
	struct attend_work w;

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
	add_values(t, &w);
}

static inline void attend_divide(const struct query *q, uint32_t dv)
{
	for (uint32_t c = 0; c < dv; c += CMX_LANES) {
		struct lanes v = lanes_load_to(q->out + c, dv - c, 0);

		lanes_store_to(q->out + c, dv - c, lanes_div(v, lanes_set(q->sum)));
	}
}

#endif
