/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One die of the machine as the engine uses it: its memory, memory of the CPU
 * socket beside it, and one in-order stream queue for launches and copies. With
 * cmx_machine.h the only part of the engine that knows the driver.
 */
#ifndef CMX_DIE_H
#define CMX_DIE_H

#include "cmx_machine.h"
#include "cmx_trace.h"
#include "kernels/cmx_npu_cost.h"

enum cmx_place {
	CMX_PLACE_DIE,		/* no bytes in time-only mode: the host must not look */
	CMX_PLACE_HOST,		/* on the socket: bytes in both modes */
};

struct cmx_die;

/* Lives as long as the machine; an entity may be opened more than once. */
int cmx_die_open(struct cmx_machine *m, uint32_t entity, struct cmx_die **out,
		 struct cmx_infer_err *err);
struct cmx_machine *cmx_die_machine(const struct cmx_die *die);
bool cmx_die_time_only(const struct cmx_die *die);

/* Bytes of the die's memory that are not taken. */
int cmx_die_room(const struct cmx_die *die, uint64_t *bytes, struct cmx_infer_err *err);

/* Zeroed memory, freed when the machine is closed. @what names it in errors. */
int cmx_die_alloc(struct cmx_die *die, enum cmx_place place, uint64_t size, const char *what,
		  void **va, struct cmx_infer_err *err);

/* From now on launches cost what they do with activations and a cache in BF16. */
void cmx_die_set_narrow(struct cmx_die *die, bool narrow);

/*
 * Appends a launch to the queue. If its cost is data, @load is what experts have to do when
 * time-only; otherwise that is read after execution.
 * @label must outlive the machine. This and what else appends may carry out what all dies
 * have so far, and then fails as cmx_machine_finish() does.
 */
int cmx_die_launch(struct cmx_die *die, enum cmx_npu_id id, const void *args, const char *label,
		   const struct cmx_npu_load *load, struct cmx_infer_err *err);
/* Appends a copy between any two places. */
int cmx_die_copy(struct cmx_die *die, void *dst, const void *src, uint64_t len, const char *label,
		 struct cmx_infer_err *err);
/* cmx_machine_finish() of the die's machine. */
int cmx_die_finish(struct cmx_die *die, struct cmx_infer_err *err);
/* All commands so far, if the machine was opened with trace. */
const struct cmx_trace_event *cmx_die_events(const struct cmx_die *die, uint64_t *n);
struct cmx_trace_track cmx_die_track(const struct cmx_die *die);

#endif
