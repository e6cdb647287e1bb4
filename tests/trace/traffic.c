// SPDX-License-Identifier: GPL-2.0-only
/*
 * A little of everything for `cmx trace': prints a line for each completion,
 *   queue user_ctx opcode status time_ps
 * traffic [ROUNDS]: more of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmx/cmx.h>

#define BYTES		(1 << 20)
#define FAR		3
#define MOST		256

struct bed {
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	struct cmx_queue *stream, *sdma, *ub, *far;
	struct cmx_mem *here, *there;
	uint64_t kernel;
	uint64_t next;
	uint32_t expected;
};

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "traffic: %s: %s\n", what, cmx_last_error()->text);
	exit(1);
}

/* Sends half of what it has to the other die while it works. */
static int send_half(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	const uint64_t *va = args;

	(void)block;
	return cmx_dev_write(lc, 2500000, va[1], (const void *)(uintptr_t)va[0], 65536, 1);
}

static void make_queue(struct bed *b, uint32_t entity, uint32_t queue_class, struct cmx_queue **q)
{
	struct cmx_queue_desc desc = {
		.cq = b->cq, .entity = entity, .queue_class = queue_class,
	};

	must(cmx_queue_create(b->ctx, &desc, q), "queue");
}

static void open_bed(struct bed *b)
{
	must(cmx_open(NULL, 0, &b->ctx), "device");
	must(cmx_kernel_register(b->ctx, "send_half", send_half, &b->kernel), "kernel");
	must(cmx_cq_create(b->ctx, NULL, MOST, CMX_CQ_BACKPRESSURE, &b->cq), "ring");
	must(cmx_mem_alloc(b->ctx, 0, BYTES, 0, &b->here), "memory");
	must(cmx_mem_alloc(b->ctx, FAR, BYTES, 0, &b->there), "memory");
	memset(cmx_mem_ptr(b->there), 0, BYTES);
	make_queue(b, 0, CMX_QUEUE_STREAM, &b->stream);
	make_queue(b, 0, CMX_QUEUE_SDMA, &b->sdma);
	make_queue(b, 0, CMX_QUEUE_UB, &b->ub);
	make_queue(b, FAR, CMX_QUEUE_STREAM, &b->far);
}

static uint64_t next(struct bed *b)
{
	b->expected++;
	return ++b->next;
}

/* A word of die FAR that nothing else touches: the wait's, then the host's. */
static uint64_t word(const struct bed *b, uint32_t i)
{
	return cmx_mem_va(b->there) + BYTES - 64 + 8 * i;
}

static void push_waits(struct bed *b)
{
	uint64_t value = b->next + 1;

	must(cmx_queue_wait(b->far, word(b, 0), CMX_COND_EQ, value, CMX_ENTRY_COMPLETE, next(b)),
	     "wait");
	must(cmx_queue_nop(b->far, CMX_ENTRY_COMPLETE, next(b)), "nop");
	must(cmx_queue_copy(b->stream, cmx_mem_va(b->there), cmx_mem_va(b->here), BYTES / 2,
			    CMX_ENTRY_COMPLETE, next(b)), "copy");
	must(cmx_queue_signal(b->stream, word(b, 0), CMX_SIGNAL_SET, value, CMX_ENTRY_COMPLETE,
			      next(b)), "signal");
}

static void push_moves(struct bed *b)
{
	uint64_t here = cmx_mem_va(b->here), there = cmx_mem_va(b->there);
	uint32_t flags = CMX_ENTRY_COMPLETE | CMX_ENTRY_OVERLAP;

	for (uint64_t i = 0; i < 8; i++)
		must(cmx_queue_copy(b->sdma, there + i * 65536, here + i * 65536, 65536, flags,
				    next(b)), "copy");
	must(cmx_queue_copy(b->sdma, here, here + BYTES / 2, 65536, CMX_ENTRY_COMPLETE, next(b)),
	     "local copy");
	must(cmx_queue_read(b->ub, here, there, 4096, CMX_ENTRY_COMPLETE, next(b)), "read");
	must(cmx_queue_write(b->ub, there, here, 4096, CMX_ENTRY_COMPLETE, next(b)), "write");
	must(cmx_queue_atomic(b->ub, UB_OP_FADD, word(b, 1), 8, 1, 0, 0, CMX_ENTRY_COMPLETE,
			      next(b)), "atomic");
}

static void push_launch(struct bed *b)
{
	uint64_t va[] = { cmx_mem_va(b->here), cmx_mem_va(b->there) };
	struct cmx_launch_desc desc = {
		.kernel = b->kernel, .args = va, .args_size = sizeof(va),
		.cost = { .vector_ops = 20000000 },
	};

	must(cmx_queue_launch(b->stream, &desc, CMX_ENTRY_COMPLETE, next(b)), "launch");
}

static void submit_all(struct bed *b)
{
	must(cmx_queue_submit(b->far) || cmx_queue_submit(b->stream) || cmx_queue_submit(b->sdma) ||
	     cmx_queue_submit(b->ub), "submit");
}

static void print_all(struct bed *b)
{
	struct cmx_cqe cqe;

	must(cmx_wait_completions(b->cq, b->expected, NULL), "completions");
	for (; b->expected; b->expected--) {
		must(cmx_cq_read(b->cq, &cqe) != 1, "completion");
		printf("%u %llu %u %u %llu\n", cqe.local_id, (unsigned long long)cqe.user_ctx,
		       cqe.opcode, cqe.status, (unsigned long long)cqe.time_ps);
	}
}

/* The host satisfies a wait, and an address that is not mapped ends the queue. */
static void host_part(struct bed *b)
{
	must(cmx_queue_wait(b->far, word(b, 2), CMX_COND_NE, 0, CMX_ENTRY_COMPLETE, next(b)),
	     "wait");
	must(cmx_queue_submit(b->far), "submit");
	must(cmx_wait_time(b->ctx, 1000000000, NULL), "time");
	must(cmx_signal(b->far->timeline, word(b, 2), CMX_SIGNAL_SET, 1, NULL), "signal");
	print_all(b);
	must(cmx_queue_copy(b->sdma, 4096, cmx_mem_va(b->here), 64, CMX_ENTRY_COMPLETE, next(b)),
	     "bad copy");
	/* The queue then says that nothing of it is left. */
	b->expected++;
	must(cmx_queue_submit(b->sdma), "submit");
	print_all(b);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	struct bed b = { 0 };

	open_bed(&b);
	for (unsigned long i = 0; i < rounds; i++) {
		push_waits(&b);
		push_moves(&b);
		push_launch(&b);
		submit_all(&b);
		print_all(&b);
	}
	host_part(&b);
	cmx_close(b.ctx);
	return 0;
}
