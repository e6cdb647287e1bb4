// SPDX-License-Identifier: GPL-2.0-only
/* How fast a copy command moves bytes, beside memcpy() in the same machine. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define SIZE	(64ULL << 20)
#define ROUNDS	16

struct device {
	struct cmx_cq *cq;
	struct cmx_queue *q;
};

static double gigabytes(double ns)
{
	return ns > 0 ? (double)SIZE / ns : 0;
}

static void *anonymous(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		return p;
	perror("mmap");
	exit(1);
}

static uint64_t host_copy(void *dst, const void *src)
{
	uint64_t start = bench_ticks();

	memcpy(dst, src, SIZE);
	/* The compiler must not know that nobody reads it. */
	__asm__ volatile("" : : "r"(dst) : "memory");
	return bench_ticks() - start;
}

static uint64_t device_copy(struct device *d, uint64_t dst, uint64_t src)
{
	uint64_t start = bench_ticks();

	MUST(cmx_queue_copy(d->q, dst, src, SIZE, CMX_ENTRY_COMPLETE, 1));
	MUST(cmx_queue_submit(d->q));
	bench_finish(d->cq, 1);
	return bench_ticks() - start;
}

/* Taken in turns, so that what else the machine does meets both of a round alike. */
static void compare_touched(struct bench *b, struct device *d, struct cmx_mem *dst,
			    struct cmx_mem *src, const char *name)
{
	uint64_t device[ROUNDS], host[ROUNDS], ratio[ROUNDS];
	uint32_t n = bench_rounds(b, ROUNDS);
	void *to = anonymous(), *from = anonymous();
	char text[64];

	memset(to, 1, SIZE);
	memset(from, 2, SIZE);
	device_copy(d, cmx_mem_va(dst), cmx_mem_va(src));
	for (uint32_t i = 0; i < n; i++) {
		device[i] = device_copy(d, cmx_mem_va(dst), cmx_mem_va(src));
		host[i] = host_copy(to, from);
		ratio[i] = 1000000 * host[i] / device[i];
	}
	snprintf(text, sizeof(text), "%s: copy command, both touched", name);
	bench_host(b, text, gigabytes(bench_rank_ns(b, device, n, 500)), "GB/s");
	snprintf(text, sizeof(text), "  %s: memcpy(), both touched", name);
	bench_host(b, text, gigabytes(bench_rank_ns(b, host, n, 500)), "GB/s");
	snprintf(text, sizeof(text), "  %s: ratio, median of the rounds", name);
	bench_host(b, text, bench_rank_ns(b, ratio, n, 500) * b->ticks_per_ns / 1e6, "x");
	munmap(to, SIZE);
	munmap(from, SIZE);
}

static void compare_first_touch(struct bench *b, struct device *d, struct cmx_mem *src)
{
	uint64_t device[ROUNDS], host[ROUNDS];
	uint32_t n = bench_rounds(b, ROUNDS);
	double device_ns, host_ns;

	for (uint32_t i = 0; i < n; i++) {
		struct cmx_mem *dst = bench_memory(b, 0, SIZE, 0);
		void *to = anonymous();

		device[i] = device_copy(d, cmx_mem_va(dst), cmx_mem_va(src));
		host[i] = host_copy(to, cmx_mem_ptr(src));
		cmx_mem_free(dst);
		munmap(to, SIZE);
	}
	device_ns = bench_rank_ns(b, device, n, 500);
	host_ns = bench_rank_ns(b, host, n, 500);
	bench_host(b, "copy command, first touch of the target", gigabytes(device_ns), "GB/s");
	bench_host(b, "memcpy(), first touch of the target", gigabytes(host_ns), "GB/s");
	bench_host(b, "first touch: ratio", host_ns / device_ns, "x");
}

static void host_through_mapping(struct bench *b, struct cmx_mem *dst, struct cmx_mem *src)
{
	uint64_t host[ROUNDS];
	uint32_t n = bench_rounds(b, ROUNDS);

	memset(cmx_mem_ptr(dst), 3, SIZE);
	for (uint32_t i = 0; i < n; i++)
		host[i] = host_copy(cmx_mem_ptr(dst), cmx_mem_ptr(src));
	bench_host(b, "memcpy() through the mappings of BOs",
		   gigabytes(bench_rank_ns(b, host, n, 500)), "GB/s");
}

static double virtual_ns(struct bench *b, struct device *d, uint64_t dst, uint64_t src)
{
	struct cmx_timeline *tl = cmx_timeline_default(b->ctx);
	uint64_t start = cmx_timeline_now(tl);

	device_copy(d, dst, src);
	return (double)(cmx_timeline_now(tl) - start) / 1000;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct device d;
	struct cmx_mem *src, *local, *remote;

	bench_begin(&b, argc, argv, "64 MiB copy");
	d.cq = bench_cq(&b, 16);
	d.q = bench_queue(&b, d.cq, 0, CMX_QUEUE_SDMA, 16);
	src = bench_memory(&b, 0, SIZE, 0);
	local = bench_memory(&b, 0, SIZE, 0);
	remote = bench_memory(&b, 1, SIZE, 0);
	memset(cmx_mem_ptr(src), 5, SIZE);
	device_copy(&d, cmx_mem_va(local), cmx_mem_va(src));
	device_copy(&d, cmx_mem_va(remote), cmx_mem_va(src));

	compare_touched(&b, &d, local, src, "same die");
	compare_touched(&b, &d, remote, src, "other die");
	compare_first_touch(&b, &d, src);
	host_through_mapping(&b, remote, src);
	bench_virtual(&b, "same die", virtual_ns(&b, &d, cmx_mem_va(local), cmx_mem_va(src)), "ns");
	bench_virtual(&b, "other die of the NPU",
		      virtual_ns(&b, &d, cmx_mem_va(remote), cmx_mem_va(src)), "ns");
	return bench_end(&b);
}
