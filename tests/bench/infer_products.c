// SPDX-License-Identifier: GPL-2.0-only
/*
 * The products of a model, as ratios within one run: a step of one token against a plain
 * read of the same bytes, a prompt against the fastest library GEMM on the same shapes. One
 * thread, no device. Rounds take turns and the best of each counts, so that what else the
 * machine does hits all alike.
 *
 * INT8 products are compared with the library's of INT8 as well: its sums are without scales.
 *
 *   infer_products [--quick] [F32|F16|BF16|Q8_0|Q4_0|Q4_K|Q6_K|I8]...
 */
#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "kernels/cmx_npu.h"
#include "kernels/cmx_panel.h"

#define PROMPT	512u

/* The matrices of the test model v3mid, and how often a token passes through each. */
struct shape {
	const char *name;
	uint32_t rows;
	uint32_t k;
	uint32_t count;
	uint32_t tokens;	/* of a prompt that meet one of them */
};

static const struct shape shapes[] = {
	{ "q_a", 256, 1024, 5, PROMPT },
	{ "q_b", 1536, 256, 5, PROMPT },
	{ "kv_a", 288, 1024, 5, PROMPT },
	{ "keys and values", 2048, 256, 5, PROMPT },
	{ "attention output", 1024, 1024, 5, PROMPT },
	{ "dense gate, up", 2816, 1024, 2, PROMPT },
	{ "dense down", 1024, 2816, 1, PROMPT },
	{ "shared gate, up", 256, 1024, 8, PROMPT },
	{ "shared down", 1024, 256, 4, PROMPT },
	{ "expert gate, up", 256, 1024, 32, PROMPT * 4 / 64 },
	{ "expert down", 1024, 256, 16, PROMPT * 4 / 64 },
	{ "head", 8192, 1024, 1, 1 },
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))
#define TOKEN_MATRICES	89u	/* sum of the counts */

static const uint32_t types[] = { CMX_TENSOR_F32, CMX_TENSOR_F16, CMX_TENSOR_BF16,
				  CMX_TENSOR_Q8_0, CMX_TENSOR_Q4_0, CMX_TENSOR_Q4_K,
				  CMX_TENSOR_Q6_K, CMX_TENSOR_I8 };

static const struct cmx_npu_kernel *kernels;
static uint32_t rounds = 60;
static float *x, *out, *plain;
static char *packed;

static double ticks_per_second;

/* The clocks of User Mode Linux are either coarse or slow. */
static double seconds(void)
{
	return (double)bench_ticks() / ticks_per_second;
}

static void calibrate(void)
{
	struct timespec from, to;
	uint64_t start = bench_ticks();
	double s;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		clock_gettime(CLOCK_MONOTONIC, &to);
		s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	} while (s < 0.1);
	ticks_per_second = (double)(bench_ticks() - start) / s;
}

static void *alloc(size_t size)
{
	void *p = aligned_alloc(4096, (size + 4095) / 4096 * 4096);

	if (!p) {
		fprintf(stderr, "no memory for %zu bytes\n", size);
		exit(1);
	}
	memset(p, 0, size);
	return p;
}

static void fill(float *p, size_t n)
{
	uint32_t r = 1;

	for (size_t i = 0; i < n; i++) {
		r = r * 1664525u + 1013904223u;
		p[i] = (float)(int32_t)r * 0x1p-31f;
	}
}

static size_t matrix_bytes(uint32_t type, const struct shape *s)
{
	return cmx_packed_bytes(type, s->rows, s->k);
}

/* All that a token touches. */
static size_t active_bytes(uint32_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < N_SHAPES; i++)
		n += shapes[i].count * matrix_bytes(type, &shapes[i]);
	return n;
}

/* Number @i of those that a token passes through. */
static const struct shape *matrix_of(size_t i)
{
	const struct shape *s = shapes;

	while (i >= s->count)
		i -= s++->count;
	return s;
}

static void multiply(uint32_t type, const struct shape *s, const char *w, uint32_t tokens)
{
	const struct cmx_k_matmul a = {
		.w = w, .type = type, .x = x, .out = out, .rows = s->rows, .k = s->k, .heads = 1,
		.tokens = tokens, .x_stride = s->k, .out_stride = s->rows,
	};
	uint64_t blocks = 1 + 2ull * tokens * s->rows * s->k / 65536;

	if (blocks > s->rows / CMX_PANEL)
		blocks = s->rows / CMX_PANEL;
	if (blocks > 64)
		blocks = 64;
	for (uint32_t b = 0; b < blocks; b++)
		kernels[CMX_NPU_MATMUL].fn(&a, b, (uint32_t)blocks);
}

/* As fast as plain C reads memory front to back. */
static __attribute__((noinline)) uint64_t read_all(const char *p, size_t n)
{
	typedef uint64_t vec __attribute__((vector_size(32), aligned(1), may_alias));
	vec a[4] = { { 0 } };

	for (size_t i = 0; i + sizeof(a) <= n; i += sizeof(a)) {
		for (size_t j = 0; j < 4; j++)
			a[j] += *(const vec *)(p + i + j * sizeof(vec));
	}
	a[0] += a[1] + a[2] + a[3];
	return a[0][0] + a[0][1] + a[0][2] + a[0][3];
}

static void keep_best(double *best, double s)
{
	if (!*best || s < *best)
		*best = s;
}

/* Each matrix is timed apart, since a slice of the processor's time is not long. */
static void bench_decode(uint32_t type)
{
	static double ours[128], reading[128];
	double sum_ours = 0, sum_reading = 0, n = (double)active_bytes(type), start;
	volatile uint64_t sink;
	size_t m = 0;

	memset(ours, 0, sizeof(ours));
	memset(reading, 0, sizeof(reading));
	for (uint32_t r = 0; r < rounds; r++) {
		const char *w = packed;

		m = 0;
		for (size_t i = 0; i < TOKEN_MATRICES; i++, m++) {
			const struct shape *s = matrix_of(i);
			size_t size = matrix_bytes(type, s);

			start = seconds();
			if (r & 1)
				multiply(type, s, w, 1);
			else
				sink = read_all(w, size);
			keep_best(r & 1 ? &ours[m] : &reading[m], seconds() - start);
			w += size;
		}
	}
	(void)sink;
	for (size_t i = 0; i < m; i++) {
		sum_ours += ours[i];
		sum_reading += reading[i];
	}
	printf("decode  %-5s %6.1f MB a token: reading %5.2f GB/s, products %5.2f, ratio %.2f\n",
	       cmx_tensor_type_name(type), n / 1e6, n / sum_reading / 1e9, n / sum_ours / 1e9,
	       sum_reading / sum_ours);
}

static void openblas(const struct shape *s, uint32_t tokens)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)tokens, (int)s->rows, (int)s->k,
		    1, x, (int)s->k, plain, (int)s->k, 0, out, (int)s->rows);
}

static void onednn(const struct shape *s, uint32_t tokens)
{
	if (dnnl_sgemm('N', 'T', tokens, s->rows, s->k, 1, x, s->k, plain, s->k, 0, out,
		       s->rows) != dnnl_success)
		exit(1);
}

static void onednn_int8(const struct shape *s, uint32_t tokens)
{
	const int32_t zero = 0;

	if (dnnl_gemm_s8s8s32('N', 'T', 'F', tokens, s->rows, s->k, 1, (const int8_t *)x, s->k, 0,
			      (const int8_t *)plain, s->k, 0, 0, (int32_t *)out, s->rows,
			      &zero) != dnnl_success)
		exit(1);
}

/* Best times of one product: ours and the two libraries'. */
static void time_shape(uint32_t type, const struct shape *s, double *best)
{
	for (uint32_t r = 0; r < rounds / 4 + 1; r++) {
		double start = seconds(), now;

		multiply(type, s, packed, s->tokens);
		now = seconds();
		keep_best(&best[0], now - start);
		openblas(s, s->tokens);
		start = seconds();
		keep_best(&best[1], start - now);
		onednn(s, s->tokens);
		now = seconds();
		keep_best(&best[2], now - start);
		if (type != CMX_TENSOR_I8)
			continue;
		onednn_int8(s, s->tokens);
		keep_best(&best[2], seconds() - now);
	}
}

static void bench_prefill(uint32_t type)
{
	double ours = 0, fastest = 0;

	for (size_t i = 0; i < N_SHAPES; i++) {
		const struct shape *s = &shapes[i];
		double best[3] = { 0 }, lib, n = s->count;

		/* A prompt's experts are all of them. */
		if (s->tokens < PROMPT && s->tokens > 1)
			n *= 64. / 4;
		time_shape(type, s, best);
		lib = best[1] < best[2] ? best[1] : best[2];
		ours += n * best[0];
		fastest += n * lib;
		printf("prefill %-5s %-17s %4u x %4u, %3u tokens: ", cmx_tensor_type_name(type),
		       s->name, s->rows, s->k, s->tokens);
		n = 2e-9 * s->rows * s->k * s->tokens;
		printf("%5.1f GFLOP/s, OpenBLAS %5.1f, oneDNN %5.1f, ratio %.2f\n", n / best[0],
		       n / best[1], n / best[2], lib / best[0]);
	}
	printf("prefill %-5s all products of %u tokens: ratio to the fastest of each %.2f\n",
	       cmx_tensor_type_name(type), PROMPT, fastest / ours);
}

static void pack_all(uint32_t type)
{
	size_t n = active_bytes(type);
	uint32_t k = 1024;

	/*
	 * Any bytes will do for speed, but not denormals: half floats of 1, small numbers. So
	 * will those of x for INT8's rows.
	 */
	if (type != CMX_TENSOR_F32) {
		memset(packed, 0x3c, n);
		return;
	}
	for (size_t at = 0; at + cmx_panel_bytes(type, k) <= n; at += cmx_panel_bytes(type, k))
		cmx_panel_pack(type, k, plain, CMX_PANEL, packed + at);
}

static int chosen(uint32_t type, int argc, char **argv)
{
	int named = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], cmx_tensor_type_name(type)))
			return 1;
		named += argv[i][0] != '-';
	}
	return !named;
}

int main(int argc, char **argv)
{
	struct cmx_infer_err err;
	const char *why;
	enum cmx_isa isa;

	if (cmx_isa_choose(&isa, &why, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (argc > 1 && !strcmp(argv[1], "--quick"))
		rounds = 20;
	calibrate();
	openblas_set_num_threads(1);
	kernels = cmx_npu_kernels(isa);
	x = alloc(sizeof(*x) * PROMPT * 2816);
	out = alloc(sizeof(*out) * PROMPT * 8192);
	plain = alloc(sizeof(*plain) * 8192 * 1024);
	packed = alloc(active_bytes(CMX_TENSOR_F32));
	fill(x, PROMPT * 2816);
	fill(plain, 8192 * 1024);
	printf("kernels: %s (%s)\n", cmx_isa_name(isa), why);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		if (!chosen(types[t], argc, argv))
			continue;
		pack_all(types[t]);
		bench_decode(types[t]);
		bench_prefill(types[t]);
	}
	return 0;
}
