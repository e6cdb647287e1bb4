// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chrome's trace format, as far as it is needed: complete events (ph X) and the names of
 * processes and threads (ph M). Times are microseconds with six digits behind the point,
 * so that picoseconds come back exactly up to 2.5 hours.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmx_timeline.h"

/* 2^53 ps: beyond that a double has no single picoseconds. */
#define MAX_US	9007199254.0

static int refuse(size_t index, const char *what)
{
	fprintf(stderr, "cmx timeline: traceEvents[%zu]: %s\n", index, what);
	return -1;
}

/* Room for one more element behind @n of them: grown by doubling. */
static void *grow(void *array, uint64_t n, size_t size)
{
	void *more = array;

	if (!(n & (n - 1)))
		more = realloc(array, (n ? 2 * n : 1) * size);
	if (!more)
		fprintf(stderr, "cmx timeline: no memory for %llu elements\n",
			(unsigned long long)n);
	return more;
}

static struct cmx_trace_track *find_track(struct cmx_trace *trace, int64_t pid, int64_t tid)
{
	struct cmx_trace_track *tracks;

	for (uint32_t i = 0; i < trace->num_tracks; i++)
		if (trace->tracks[i].pid == pid && trace->tracks[i].tid == tid)
			return &trace->tracks[i];
	tracks = grow(trace->tracks, trace->num_tracks, sizeof(*tracks));
	if (!tracks)
		return NULL;
	trace->tracks = tracks;
	tracks += trace->num_tracks++;
	memset(tracks, 0, sizeof(*tracks));
	tracks->pid = pid;
	tracks->tid = tid;
	snprintf(tracks->process, sizeof(tracks->process), "%lld", (long long)pid);
	snprintf(tracks->thread, sizeof(tracks->thread), "%lld", (long long)tid);
	return tracks;
}

/* As much of a name as there is room for, in whole characters (the parser checks UTF-8). */
static void copy_name(char to[CMX_TRACE_TEXT], const char *name)
{
	size_t len = strlen(name);

	if (len > CMX_TRACE_TEXT - 1) {
		len = CMX_TRACE_TEXT - 1;
		while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(to, name, len);
	to[len] = '\0';
}

static struct cmx_trace_kind *find_kind(struct cmx_trace *trace, const char *full)
{
	struct cmx_trace_kind *kinds;
	char name[CMX_TRACE_TEXT];

	copy_name(name, full);
	for (uint32_t i = 0; i < trace->num_kinds; i++)
		if (!strcmp(trace->kinds[i].name, name))
			return &trace->kinds[i];
	kinds = grow(trace->kinds, trace->num_kinds, sizeof(*kinds));
	if (!kinds)
		return NULL;
	trace->kinds = kinds;
	kinds += trace->num_kinds++;
	memset(kinds, 0, sizeof(*kinds));
	memcpy(kinds->name, name, sizeof(name));
	return kinds;
}

static int get_us(const json_t *event, const char *key, uint64_t *ps)
{
	const json_t *value = json_object_get(event, key);
	double us = json_number_value(value);

	if (!json_is_number(value) || us < 0 || us > MAX_US)
		return -1;
	*ps = (uint64_t)llround(us * 1e6);
	return 0;
}

static int add_event(struct cmx_trace *trace, size_t index, const json_t *event, const char *name,
		     struct cmx_trace_track *track)
{
	struct cmx_trace_event *events;
	struct cmx_trace_kind *kind;
	uint64_t start, duration;

	if (get_us(event, "ts", &start))
		return refuse(index, "ts is not a time from 0 to 9007199254 us");
	if (get_us(event, "dur", &duration))
		return refuse(index, "dur is not a time from 0 to 9007199254 us");
	kind = find_kind(trace, name);
	events = kind ? grow(trace->events, trace->num_events, sizeof(*events)) : NULL;
	if (!events)
		return -1;
	trace->events = events;
	events[trace->num_events++] = (struct cmx_trace_event){
		.track = (uint32_t)(track - trace->tracks),
		.kind = (uint32_t)(kind - trace->kinds),
		.start_ps = start,
		.end_ps = start + duration,
	};
	kind->count++;
	kind->total_ps += duration;
	return 0;
}

static int add_name(struct cmx_trace *trace, size_t index, const json_t *event, const char *what,
		    struct cmx_trace_track *track)
{
	const char *name = json_string_value(json_object_get(json_object_get(event, "args"),
							     "name"));

	if (!name)
		return refuse(index, "args.name is not a string");
	if (!strcmp(what, "thread_name"))
		copy_name(track->thread, name);
	if (strcmp(what, "process_name"))
		return 0;
	for (uint32_t i = 0; i < trace->num_tracks; i++)
		if (trace->tracks[i].pid == track->pid)
			copy_name(trace->tracks[i].process, name);
	return 0;
}

static int add(struct cmx_trace *trace, size_t index, const json_t *event, bool names)
{
	const char *ph = json_string_value(json_object_get(event, "ph"));
	const char *name = json_string_value(json_object_get(event, "name"));
	const json_t *pid = json_object_get(event, "pid"), *tid = json_object_get(event, "tid");
	struct cmx_trace_track *track;

	if (!ph || !name)
		return refuse(index, "ph or name is not a string");
	if (strcmp(ph, names ? "M" : "X"))
		return 0;
	if (!json_is_integer(pid) || (tid && !json_is_integer(tid)) || (!tid && !names))
		return refuse(index, "pid or tid is not an integer");
	if (!tid && strcmp(name, "process_name"))
		return 0;
	/* A process's name comes without a thread: it names tracks that are there. */
	track = tid ? find_track(trace, json_integer_value(pid), json_integer_value(tid)) :
		&(struct cmx_trace_track){ .pid = json_integer_value(pid) };
	if (!track)
		return -1;
	return names ? add_name(trace, index, event, name, track) :
		       add_event(trace, index, event, name, track);
}

/* Events first, so that names meet all tracks wherever they stand. */
static int add_all(struct cmx_trace *trace, const json_t *events)
{
	const json_t *event;
	size_t i;
	int ret = 0;

	for (int names = 0; names < 2; names++)
		json_array_foreach(events, i, event) {
			ret = add(trace, i, event, names);
			if (ret)
				return ret;
		}
	if (trace->num_events)
		return 0;
	fprintf(stderr, "cmx timeline: no complete events (ph X) in it\n");
	return -1;
}

int cmx_trace_load(struct cmx_trace *trace, const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	const json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
	int ret = -1;

	memset(trace, 0, sizeof(*trace));
	if (!root)
		fprintf(stderr, "cmx timeline: %s: line %d: %s\n", path, error.line, error.text);
	else if (!json_is_array(events))
		fprintf(stderr, "cmx timeline: %s: traceEvents is not an array\n", path);
	else
		ret = add_all(trace, events);
	json_decref(root);
	return ret;
}

void cmx_trace_free(struct cmx_trace *trace)
{
	free(trace->tracks);
	free(trace->kinds);
	free(trace->events);
	memset(trace, 0, sizeof(*trace));
}

void cmx_trace_cut(struct cmx_trace *trace, const struct cmx_trace_view *view)
{
	uint64_t kept = 0;

	for (uint32_t i = 0; i < trace->num_kinds; i++) {
		trace->kinds[i].count = 0;
		trace->kinds[i].total_ps = 0;
	}
	for (uint64_t i = 0; i < trace->num_events; i++) {
		struct cmx_trace_event e = trace->events[i];

		if (e.end_ps <= view->from_ps || e.start_ps >= view->to_ps)
			continue;
		if (e.start_ps < view->from_ps)
			e.start_ps = view->from_ps;
		if (e.end_ps > view->to_ps)
			e.end_ps = view->to_ps;
		trace->kinds[e.kind].count++;
		trace->kinds[e.kind].total_ps += e.end_ps - e.start_ps;
		trace->events[kept++] = e;
	}
	trace->num_events = kept;
}
