/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands where the device would be: a drmIoctl() that a test scripts, and a context without
 * a file.
 */
#ifndef FAKE_MODULE_H
#define FAKE_MODULE_H

#include "cmx_ctx.h"
#include "cmx_timeline_priv.h"

struct fake_module {
	/* Calls by ioctl number. */
	uint32_t calls[64];
	/* Answers to RUN: 0, or -1 with errno set. */
	int (*run)(struct drm_cmx_run *run);
	/* DESTROY succeeds. */
	bool destroys;
	/* What the next refused call leaves for CMX_INFO_EXTACK. */
	struct drm_cmx_info_extack extack;
};

extern struct fake_module fake_module;

/* A context good for queues in plain memory, kernels and launches; never closed. */
struct cmx_ctx *fake_ctx(void);

/* A queue of @slots on plain memory. */
struct cmx_queue *fake_queue(struct cmx_ctx *ctx, uint32_t slots, uint32_t flags);

/* Free what the two made. */
void fake_queue_free(struct cmx_queue *queue);
void fake_ctx_free(struct cmx_ctx *ctx);

#endif /* FAKE_MODULE_H */
