// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define CALIBRATION_NS	20000000u

void bench_must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, cmx_last_error()->text);
	exit(1);
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double counter_rate(void)
{
	uint64_t ns = clock_ns(), ticks = bench_ticks(), now;

	do {
		now = clock_ns();
	} while (now - ns < CALIBRATION_NS);
	return (double)(bench_ticks() - ticks) / (double)(now - ns);
}

static void usage(const char *name, FILE *to)
{
	fprintf(to,
		"usage: %s [--json] [--quick]\n\n"
		"  --json   one JSON object instead of a table\n"
		"  --quick  a tenth of the rounds\n", name);
}

void bench_begin(struct bench *b, int argc, char **argv, const char *title)
{
	memset(b, 0, sizeof(*b));
	b->title = title;
	b->quick = 1;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			b->json = true;
		} else if (!strcmp(argv[i], "--quick")) {
			b->quick = 10;
		} else {
			bool help = !strcmp(argv[i], "--help");

			usage(argv[0], help ? stdout : stderr);
			exit(help ? 0 : 2);
		}
	}
	b->ticks_per_ns = counter_rate();
	MUST(cmx_open(NULL, 0, &b->ctx));
}

static void print_json(const struct bench *b)
{
	printf("{\"bench\": \"%s\", \"rows\": [", b->title);
	for (uint32_t i = 0; i < b->num_rows; i++) {
		const struct bench_row *row = &b->rows[i];

		/* The table's indent is no part of the name. */
		printf("%s\n  {\"name\": \"%s\", \"value\": %.6g, ", i ? "," : "",
		       row->name + strspn(row->name, " "), row->value);
		printf("\"unit\": \"%s\", \"clock\": \"%s\"}", row->unit, row->clock);
	}
	printf("\n]}\n");
}

static void print_table(const struct bench *b)
{
	printf("%s\n", b->title);
	for (uint32_t i = 0; i < b->num_rows; i++) {
		const struct bench_row *row = &b->rows[i];

		printf("  %-52s %14.*f %-10s %s\n", row->name, row->value < 100 ? 2 : 0,
		       row->value, row->unit, row->clock);
	}
}

int bench_end(struct bench *b)
{
	cmx_close(b->ctx);
	if (b->json)
		print_json(b);
	else
		print_table(b);
	return fflush(stdout) ? 1 : 0;
}

double bench_ns(const struct bench *b, uint64_t ticks)
{
	return (double)ticks / b->ticks_per_ns;
}

static int compare_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

double bench_rank_ns(const struct bench *b, uint64_t *ticks, uint32_t n, uint32_t permille)
{
	qsort(ticks, n, sizeof(*ticks), compare_ticks);
	return bench_ns(b, ticks[(uint64_t)(n - 1) * permille / 1000]);
}

uint32_t bench_rounds(const struct bench *b, uint32_t rounds)
{
	uint32_t n = rounds / b->quick;

	return n ? n : 1;
}

static void put_row(struct bench *b, const char *name, double value, const char *unit,
		    const char *clock)
{
	struct bench_row *row;

	if (b->num_rows == sizeof(b->rows) / sizeof(b->rows[0])) {
		fprintf(stderr, "%s: more than %u rows\n", name, b->num_rows);
		exit(1);
	}
	row = &b->rows[b->num_rows++];
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->value = value;
	row->unit = unit;
	row->clock = clock;
}

void bench_host(struct bench *b, const char *name, double value, const char *unit)
{
	put_row(b, name, value, unit, "host");
}

void bench_virtual(struct bench *b, const char *name, double value, const char *unit)
{
	put_row(b, name, value, unit, "virtual");
}

void *bench_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (p)
		return p;
	fprintf(stderr, "no memory for %zu bytes\n", size);
	exit(1);
}

struct cmx_mem *bench_memory(struct bench *b, uint32_t entity, uint64_t size, uint32_t flags)
{
	struct cmx_mem *mem = NULL;

	MUST(cmx_mem_alloc(b->ctx, entity, size, flags, &mem));
	return mem;
}

struct cmx_cq *bench_cq(struct bench *b, uint32_t entries)
{
	struct cmx_cq *cq = NULL;

	MUST(cmx_cq_create(b->ctx, NULL, entries, CMX_CQ_BACKPRESSURE, &cq));
	return cq;
}

struct cmx_queue *bench_queue(struct bench *b, struct cmx_cq *cq, uint32_t entity,
			      uint32_t queue_class, uint32_t slots)
{
	struct cmx_queue_desc desc = {
		.cq = cq,
		.entity = entity,
		.queue_class = queue_class,
		.slots = slots,
	};
	struct cmx_queue *q = NULL;

	MUST(cmx_queue_create(b->ctx, &desc, &q));
	return q;
}

void bench_finish(struct cmx_cq *cq, uint32_t n)
{
	MUST(cmx_wait_completions(cq, n, NULL));
	for (uint32_t i = 0; i < n; i++) {
		const struct cmx_cqe *cqe = cmx_cq_peek(cq, i);

		if (!cqe->status)
			continue;
		fprintf(stderr, "entry %llu, opcode %#x: status %u\n",
			(unsigned long long)cqe->user_ctx, cqe->opcode, cqe->status);
		exit(1);
	}
	cmx_cq_consume(cq, n);
}
