/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a trace shows: commands as slices on tracks of queues, what arrived at entities on
 * tracks beside them. A track has no two slices at a time.
 */
#ifndef CMX_TRACE_SCENE_H
#define CMX_TRACE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_trace_record.h"

#define CMX_NO_TRACK	UINT32_MAX

/** struct cmx_trace_slice - a command. */
struct cmx_trace_slice {
	/** @record: its completion; of one that did not complete, its start. */
	const struct cmx_trace_record *record;
	/** @wait: WAIT: what it waited for, or NULL. */
	const struct cmx_trace_record *wait;
	/** @wake: WAIT: who satisfied it, or NULL. */
	const struct cmx_trace_record *wake;
	/** @begin: picoseconds on the clock shown. */
	uint64_t begin;
	/** @end: the same. */
	uint64_t end;
	/** @track: index into the tracks. */
	uint32_t track;
	/** @finished: it completed. */
	bool finished;
};

/** struct cmx_trace_arrow - bytes that came to an entity. */
struct cmx_trace_arrow {
	/** @record: the transfer. */
	const struct cmx_trace_record *record;
	/** @slice: the command, or NULL: its completion is not in the trace. */
	const struct cmx_trace_slice *slice;
	/** @track: of the receiver. */
	uint32_t track;
};

/** struct cmx_trace_lane - a track. */
struct cmx_trace_lane {
	/** @process: index into the processes. */
	uint32_t process;
	/** @tid: number in the process. */
	uint32_t tid;
	/** @uasid: client; 0: what arrives at the entity. */
	uint32_t uasid;
	/** @queue: handle. */
	uint32_t queue;
	/** @queue_class: enum drm_cmx_queue_class. */
	uint32_t queue_class;
	/** @number: which of those of the queue. */
	uint32_t number;
};

/** struct cmx_trace_place - a process: an entity on a clock. */
struct cmx_trace_place {
	/** @timeline: clock. */
	uint32_t timeline;
	/** @entity: entity. */
	uint32_t entity;
	/** @tracks: so far. */
	uint32_t tracks;
};

/** struct cmx_trace_scene - all of it. */
struct cmx_trace_scene {
	/** @log: records, sorted. */
	const struct cmx_trace_log *log;
	/** @host: times are the host's. */
	bool host;
	/** @slices: by timeline, client, queue, entry. */
	struct cmx_trace_slice *slices;
	size_t num_slices;
	/** @arrows: by timeline, receiver, start. */
	struct cmx_trace_arrow *arrows;
	size_t num_arrows;
	/** @lanes: tracks. */
	struct cmx_trace_lane *lanes;
	uint32_t num_lanes;
	/** @num_queue_lanes: tracks of queues; those of what arrives follow. */
	uint32_t num_queue_lanes;
	/** @places: processes by timeline and entity. */
	struct cmx_trace_place *places;
	uint32_t num_places;
	/** @timelines: clocks. */
	uint32_t timelines;
	/** @unfinished: slices without a completion. */
	size_t unfinished;
};

/** cmx_trace_scene_build() - 0, or -1 with a text; the log must stay. */
int cmx_trace_scene_build(struct cmx_trace_scene *scene, const struct cmx_trace_log *log,
			  bool host);
void cmx_trace_scene_free(struct cmx_trace_scene *scene);

/** cmx_trace_scene_find() - slice of a command at a time, or NULL. */
const struct cmx_trace_slice *cmx_trace_scene_find(const struct cmx_trace_scene *scene,
						   const struct cmx_trace_record *record);

/** cmx_trace_scene_queue() - first track of a record's queue, or CMX_NO_TRACK. */
uint32_t cmx_trace_scene_queue(const struct cmx_trace_scene *scene,
			       const struct cmx_trace_record *record);

#endif /* CMX_TRACE_SCENE_H */
