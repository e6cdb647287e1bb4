/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual machine as the engine uses it: one context with its clock, the NPU
 * kernels and the host threads that carry out launches, shared by all dies that
 * are opened on it (cmx_die.h). What dies do is issued together, so a command of
 * one may wait for what another one sends.
 */
#ifndef CMX_MACHINE_H
#define CMX_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"
#include "kernels/cmx_npu.h"

/* Commands of a die on their way at a time. */
#define CMX_MACHINE_WINDOW	512u
#define CMX_MACHINE_MAX_WINDOW	16384u

struct cmx_machine_options {
	uint32_t threads;	/* that carry out launches, the waiting one among them */
	enum cmx_isa isa;
	bool time_only;		/* nothing is executed, memory of dies has no bytes */
	bool trace;		/* keep start and end of every command */
	/*
	 * A power of two to CMX_MACHINE_MAX_WINDOW, 0: CMX_MACHINE_WINDOW. Where dies wait for
	 * each other a full window is a meeting of all, which takes virtual time: make it as
	 * large as a step.
	 */
	uint32_t window;
};

struct cmx_machine_stats {
	uint64_t launches;	/* on all dies */
	uint64_t moved_bytes;	/* by copies */
	uint64_t now_ps;	/* virtual time of the last completion */
};

struct cmx_machine;

int cmx_machine_open(const struct cmx_machine_options *opt, struct cmx_machine **out,
		     struct cmx_infer_err *err);
/* Closes its dies as well. */
void cmx_machine_close(struct cmx_machine *m);

/* Dies there are, by number from 0. */
uint32_t cmx_machine_dies(const struct cmx_machine *m);

/*
 * Carries out all that was appended to any die; memory and stats are up to date then.
 * -EINTR after a signal to stop, within about one block's time.
 */
int cmx_machine_finish(struct cmx_machine *m, struct cmx_infer_err *err);
int cmx_machine_stats(const struct cmx_machine *m, struct cmx_machine_stats *stats,
		      struct cmx_infer_err *err);
uint64_t cmx_machine_now(const struct cmx_machine *m);

#endif
