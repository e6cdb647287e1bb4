/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test bed: a context with a completion ring and two queues on different dies. A failing
 * call of the library ends the test with its text.
 */
#ifndef BED_H
#define BED_H

#include <stdlib.h>
#include <string.h>

#include <cmx/cmx.h>

/* In a test: the library's call must succeed. */
#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_GE(ok_ret, 0) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

struct bed {
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	/* Stream queues on dies 0 and 3 (or 1). */
	struct cmx_queue *q, *far;
	uint32_t far_die;
};

/* 0, or what the library said. */
int bed_open(struct bed *bed);
void bed_close(struct bed *bed);

/* A queue of another class or die on the bed's completion ring. */
int bed_queue(struct bed *bed, uint32_t entity, uint32_t queue_class, struct cmx_queue **q);

/* Submit both queues, wait for @n completions and read the last; all must have succeeded. */
int bed_finish(struct bed *bed, uint32_t n, struct cmx_cqe *last);

/* Memory filled with numbers that depend on @seed. */
int bed_memory(struct bed *bed, uint32_t entity, uint64_t size, uint32_t seed,
	       struct cmx_mem **mem);
void bed_scramble(void *bytes, uint64_t size, uint32_t seed);

uint32_t bed_random(uint32_t *state);

#endif /* BED_H */
