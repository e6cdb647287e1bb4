/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every block that host threads carried out, as text: how launches are cut and
 * what their parts take is what more threads can gain.
 */
#ifndef CMX_BLOCK_LOG_H
#define CMX_BLOCK_LOG_H

#include <stdio.h>

#include "cmx_infer_err.h"
#include "cmx_infer_report.h"

/* From now on, while nothing is on its way. */
int cmx_block_log_start(struct cmx_infer_err *err);
/*
 * Lines of words between single spaces: "phase NAME TICKS", all the time of prompt and output
 * (a batch is all output), then "block PHASE KERNEL BLOCK GRID THREAD START TICKS". Ticks are
 * kernels/cmx_kernel_clock.h's, START counts from the first phase's. -ENOSPC if there were too
 * many blocks.
 */
int cmx_block_log_write(const struct cmx_infer_report *r, FILE *f, struct cmx_infer_err *err);
void cmx_block_log_end(void);

#endif
