/* SPDX-License-Identifier: MIT */
/*
 * Carrying out one launch.
 */
#ifndef CMX_EXEC_H
#define CMX_EXEC_H

#include "cmx_frame.h"

/* The launch as one block sees it; see cmx/kernel.h. */
struct cmx_launch_ctx {
	struct cmx_exec *exec;
	uint32_t block;
	uint32_t sequence;
	bool post;
	/* What went wrong in an intrinsic: a code of enum cmx_kernel_code, or 0. */
	uint32_t fault;
	/* Those kept, and all there were. */
	struct cmx_records records;
	uint64_t recorded;
};

/* Prepare a launch that was just handed out. */
void cmx_exec_init(struct cmx_exec *exec, struct cmx_frame *frame, uint32_t index);

/* Whether a launch is ready and has blocks that nobody took. */
bool cmx_exec_has_blocks(const struct cmx_exec *exec);

/* Let a thread's blocks record into the memory of earlier launches; with the lobby's lock. */
void cmx_exec_lend(struct cmx_exec *exec, struct cmx_launch_ctx *lc);

/* Run blocks until there are none left; without the lobby's lock. */
void cmx_exec_run(struct cmx_exec *exec, struct cmx_launch_ctx *lc, uint32_t *fail_block,
		  uint32_t *fail_code);

/* Add what a thread's blocks recorded; with the lobby's lock. */
void cmx_exec_merge(struct cmx_exec *exec, struct cmx_launch_ctx *lc, uint32_t fail_block,
		    uint32_t fail_code);

/* After all blocks: post function and outcome; without the lock, by one thread. */
void cmx_exec_finish(struct cmx_exec *exec);

/* The outcome of a launch that is not carried out. */
void cmx_exec_skip(struct cmx_exec *exec);

#endif /* CMX_EXEC_H */
