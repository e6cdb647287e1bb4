/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scene as a Chrome trace.
 */
#ifndef CMX_TRACE_CHROME_H
#define CMX_TRACE_CHROME_H

#include <stdio.h>

#include "cmx_trace_scene.h"

/** struct cmx_trace_summary - what a trace has. */
struct cmx_trace_summary {
	/** @events: events taken from the kernel. */
	uint64_t events;
	/** @commands: slices of commands. */
	uint64_t commands;
	/** @unfinished: of those, without a completion. */
	uint64_t unfinished;
	/** @failed: of those, with an error. */
	uint64_t failed;
	/** @waits: WAITs that waited. */
	uint64_t waits;
	/** @transfers: transfers between entities. */
	uint64_t transfers;
	/** @flows: arrows. */
	uint64_t flows;
	/** @bytes: bytes of the transfers. */
	uint64_t bytes;
	/** @unplaced: events of queues without a command in the trace. */
	uint64_t unplaced;
	/** @lost: events that are missing. */
	uint64_t lost;
	/** @timelines: clocks. */
	uint32_t timelines;
};

/**
 * cmx_trace_chrome_write() - write and count.
 * @num_dies: entities below are dies, the others sockets.
 * @summary: @lost is set by the caller.
 *
 * Write errors are left to the caller to find.
 */
void cmx_trace_chrome_write(const struct cmx_trace_scene *scene, uint32_t num_dies,
			    struct cmx_trace_summary *summary, FILE *to);

#endif /* CMX_TRACE_CHROME_H */
