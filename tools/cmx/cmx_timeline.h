/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces in virtual time, as `cmx infer run --trace` writes them: read, summed up, drawn.
 */
#ifndef CMX_TIMELINE_H
#define CMX_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CMX_TRACE_TEXT	48

/** struct cmx_trace_track - a queue of a die. */
struct cmx_trace_track {
	/** @pid: process of the trace: a die. */
	int64_t pid;
	/** @tid: thread of the trace: a queue. */
	int64_t tid;
	/** @process: its name. */
	char process[CMX_TRACE_TEXT];
	/** @thread: its name. */
	char thread[CMX_TRACE_TEXT];
};

/** struct cmx_trace_kind - what events of one name took. */
struct cmx_trace_kind {
	/** @name: of the events. */
	char name[CMX_TRACE_TEXT];
	/** @count: events. */
	uint64_t count;
	/** @total_ps: their time. */
	uint64_t total_ps;
};

/** struct cmx_trace_event - a command on the virtual clock. */
struct cmx_trace_event {
	/** @track: index into the tracks. */
	uint32_t track;
	/** @kind: index into the kinds. */
	uint32_t kind;
	/** @start_ps: when it began. */
	uint64_t start_ps;
	/** @end_ps: when it ended. */
	uint64_t end_ps;
};

/** struct cmx_trace - events in the order of the file; kinds in that of first appearance. */
struct cmx_trace {
	struct cmx_trace_track *tracks;
	struct cmx_trace_kind *kinds;
	struct cmx_trace_event *events;
	uint32_t num_tracks;
	uint32_t num_kinds;
	uint64_t num_events;
};

/** struct cmx_trace_view - part of a trace, and how to draw it. */
struct cmx_trace_view {
	/** @from_ps: start. */
	uint64_t from_ps;
	/** @to_ps: end. */
	uint64_t to_ps;
	/** @width: pixels. */
	uint32_t width;
	/** @by_name: a row for each name on a track, not one for the track. */
	bool by_name;
};

/** cmx_trace_load() - read a Chrome trace; 0 or -1 with a text on stderr. */
int cmx_trace_load(struct cmx_trace *trace, const char *path);
void cmx_trace_free(struct cmx_trace *trace);

/** cmx_trace_cut() - keep what overlaps the view, clipped to it, and sum it up anew. */
void cmx_trace_cut(struct cmx_trace *trace, const struct cmx_trace_view *view);

/** cmx_trace_svg() - draw; 0 or -1 with a text. Write errors are left to the caller to find. */
int cmx_trace_svg(const struct cmx_trace *trace, const struct cmx_trace_view *view, FILE *to);

#endif /* CMX_TIMELINE_H */
