/* SPDX-License-Identifier: MIT */
/*
 * Runner threads: more host threads for the device's work.
 */
#ifndef CMX_RUNNER_H
#define CMX_RUNNER_H

#include <cmx/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * cmx_runner_start - start threads that help those that wait.
 * @ctx: context.
 * @threads: how many beside the waiting ones; 0 to 256.
 *
 * They take blocks of the launches other threads have, and batches of their own.
 * Results and virtual times do not depend on their number.  They block all signals.
 *
 * Return: 0; -EBUSY when there are some already; else -errno, and none was started.
 */
int cmx_runner_start(struct cmx_ctx *ctx, uint32_t threads);

/** cmx_runner_stop - stop and join them; cmx_close() does so too. */
int cmx_runner_stop(struct cmx_ctx *ctx);

/** cmx_runner_count - how many there are. */
uint32_t cmx_runner_count(const struct cmx_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif /* CMX_RUNNER_H */
