/* SPDX-License-Identifier: GPL-2.0-only */
/* What ran when, in virtual time: for Perfetto and `cmx timeline`. */
#ifndef CMX_TRACE_H
#define CMX_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cmx_trace_event {
	const char *label;
	uint64_t start_ps;
	uint64_t end_ps;
};

/* Where the events belong: a process per die, a track per queue. */
struct cmx_trace_track {
	uint32_t die;
	uint32_t queue;
};

/* Chrome's JSON trace format, which Perfetto opens: begin, all tracks, end. */
void cmx_trace_begin(FILE *f);
void cmx_trace_track(struct cmx_trace_track track, bool first, const struct cmx_trace_event *e,
		     uint64_t n, FILE *f);
void cmx_trace_end(FILE *f);

#endif
