/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One die of the machine as the engine uses it: its memory, memory of the CPU
 * socket beside it, and one in-order stream queue for launches and copies. The
 * only part of the engine that knows the driver.
 */
#ifndef CMX_DIE_H
#define CMX_DIE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"
#include "cmx_trace.h"
#include "kernels/cmx_npu.h"

struct cmx_die_options {
	uint32_t entity;
	uint32_t threads;	/* that carry out launches */
	enum cmx_isa isa;
	bool time_only;		/* nothing is executed, memory has no bytes */
	bool trace;		/* keep start and end of every launch */
};

struct cmx_die_stats {
	uint64_t launches;
	uint64_t moved_bytes;	/* by copies */
	uint64_t now_ps;	/* virtual time of the last completion */
};

enum cmx_place {
	CMX_PLACE_DIE,		/* no bytes in time-only mode: the host must not look */
	CMX_PLACE_HOST,		/* on the socket: bytes in both modes */
};

struct cmx_die;

int cmx_die_open(const struct cmx_die_options *opt, struct cmx_die **out,
		 struct cmx_infer_err *err);
void cmx_die_close(struct cmx_die *die);
bool cmx_die_time_only(const struct cmx_die *die);

/* Bytes of the die's memory that are not taken. */
int cmx_die_room(const struct cmx_die *die, uint64_t *bytes, struct cmx_infer_err *err);

/* Zeroed memory, freed when the die is closed. @what names it in errors. */
int cmx_die_alloc(struct cmx_die *die, enum cmx_place place, uint64_t size, const char *what,
		  void **va, struct cmx_infer_err *err);

/*
 * Appends a launch to the queue. @n_active is the number of active experts of
 * an expert kernel when time-only; otherwise it is read after execution.
 * @label must outlive the die.
 */
int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   uint32_t n_active, struct cmx_infer_err *err);
/* Appends a copy between any two places. */
int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err);
/*
 * Carries out all that was appended; memory and stats are up to date then.
 * This and what appends give -EINTR after a signal to stop, within about one block's time.
 */
int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err);
int cmx_die_stats(const struct cmx_die *die, struct cmx_die_stats *stats,
		  struct cmx_infer_err *err);
/* All commands so far, if the die was opened with trace. */
const struct cmx_trace_event *cmx_die_events(const struct cmx_die *die, uint64_t *n);
struct cmx_trace_track cmx_die_track(const struct cmx_die *die);

#endif
