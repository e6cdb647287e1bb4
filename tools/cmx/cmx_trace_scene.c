// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_trace_scene.h"

#include <stdio.h>
#include <stdlib.h>

#define PS_PER_NS	1000

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By queue. */
static int compare_queue(const struct cmx_trace_record *a, const struct cmx_trace_record *b)
{
	int ret = order(a->timeline, b->timeline);

	if (!ret)
		ret = order(a->uasid, b->uasid);
	return ret ? ret : order(a->queue, b->queue);
}

static int compare_entry(const struct cmx_trace_record *a, const struct cmx_trace_record *b)
{
	int ret = compare_queue(a, b);

	return ret ? ret : order(a->index, b->index);
}

/* An entry's number comes again after 2^32 slots, or with a queue that has an old handle. */
static int compare_slices(const void *a, const void *b)
{
	const struct cmx_trace_slice *x = a, *y = b;
	int ret = compare_entry(x->record, y->record);

	return ret ? ret : order(x->record->host_ns, y->record->host_ns);
}

/* First slice of a command that had not ended when the host saw @record; index, or @count. */
static size_t find_slice(const struct cmx_trace_scene *scene, size_t count,
			 const struct cmx_trace_record *record)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct cmx_trace_record *r = scene->slices[mid].record;
		int ret = compare_entry(r, record);

		if (ret < 0 || (!ret && r->host_ns < record->host_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && !compare_entry(scene->slices[low].record, record) ? low : count;
}

/* The same, or the last one: what a launch sent may be under way when it has ended. */
static struct cmx_trace_slice *find_owner(const struct cmx_trace_scene *scene,
					  const struct cmx_trace_record *record)
{
	struct cmx_trace_record late = *record;
	size_t i = find_slice(scene, scene->num_slices, record);

	if (i < scene->num_slices)
		return &scene->slices[i];
	late.host_ns = 0;
	i = find_slice(scene, scene->num_slices, &late);
	if (i == scene->num_slices)
		return NULL;
	while (i + 1 < scene->num_slices && !compare_entry(scene->slices[i + 1].record, record))
		i++;
	return &scene->slices[i];
}

const struct cmx_trace_slice *cmx_trace_scene_find(const struct cmx_trace_scene *scene,
						   const struct cmx_trace_record *record)
{
	return find_owner(scene, record);
}

static void add_completions(struct cmx_trace_scene *scene)
{
	for (size_t i = 0; i < scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &scene->log->records[i];

		if (r->kind != CMX_RECORD_COMPLETE)
			continue;
		scene->slices[scene->num_slices++] = (struct cmx_trace_slice){
			.record = r,
			.begin = scene->host ? r->host_ns * PS_PER_NS : r->start_ps,
			.end = scene->host ? r->host_ns * PS_PER_NS : r->now_ps,
			.finished = true,
		};
	}
	qsort(scene->slices, scene->num_slices, sizeof(*scene->slices), compare_slices);
}

/* Starts: when the host began, or commands that did not complete. */
static void add_starts(struct cmx_trace_scene *scene)
{
	size_t done = scene->num_slices;

	for (size_t i = 0; i < scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &scene->log->records[i];
		struct cmx_trace_slice *slice;
		size_t at;

		if (r->kind != CMX_RECORD_START)
			continue;
		at = find_slice(scene, done, r);
		if (at < done && scene->host)
			scene->slices[at].begin = r->host_ns * PS_PER_NS;
		if (at < done)
			continue;
		slice = &scene->slices[scene->num_slices++];
		*slice = (struct cmx_trace_slice){ .record = r };
		slice->begin = scene->host ? r->host_ns * PS_PER_NS : r->start_ps;
		slice->end = slice->begin;
		scene->unfinished++;
	}
}

/* The latest that is known of a clock. */
static uint64_t last_of(const struct cmx_trace_scene *scene, uint32_t timeline)
{
	uint64_t last = 0;

	for (size_t i = 0; i < scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &scene->log->records[i];
		uint64_t now = scene->host ? r->host_ns * PS_PER_NS : r->now_ps;

		/* A transfer is told of before it arrives. */
		if (r->timeline == timeline && r->kind != CMX_RECORD_TRANSFER && now > last)
			last = now;
	}
	return last;
}

/* Commands that did not complete last as long as anything is known; clocks come in order. */
static void stretch_unfinished(struct cmx_trace_scene *scene)
{
	uint32_t timeline = 0;
	uint64_t last = 0;

	for (size_t i = 0; i < scene->num_slices; i++) {
		struct cmx_trace_slice *slice = &scene->slices[i];

		if (slice->finished)
			continue;
		if (slice->record->timeline != timeline) {
			timeline = slice->record->timeline;
			last = last_of(scene, timeline);
		}
		if (last > slice->end)
			slice->end = last;
	}
}

static void add_waits(struct cmx_trace_scene *scene)
{
	for (size_t i = 0; i < scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &scene->log->records[i];
		struct cmx_trace_slice *slice;

		if (r->kind != CMX_RECORD_WAIT && r->kind != CMX_RECORD_WAKE)
			continue;
		slice = find_owner(scene, r);
		if (!slice)
			continue;
		if (r->kind == CMX_RECORD_WAIT)
			slice->wait = r;
		else
			slice->wake = r;
	}
}

static int build_slices(struct cmx_trace_scene *scene)
{
	scene->slices = calloc(scene->log->num_records + 1, sizeof(*scene->slices));
	if (!scene->slices)
		return -1;
	add_completions(scene);
	add_starts(scene);
	qsort(scene->slices, scene->num_slices, sizeof(*scene->slices), compare_slices);
	if (scene->unfinished)
		stretch_unfinished(scene);
	add_waits(scene);
	return 0;
}

/* Bytes that stay where they are arrive nowhere. */
static bool is_arrow(const struct cmx_trace_scene *scene, const struct cmx_trace_record *r)
{
	return r->kind == CMX_RECORD_TRANSFER && r->from != r->to && !scene->host;
}

static int compare_arrows(const void *a, const void *b)
{
	const struct cmx_trace_record *x = ((const struct cmx_trace_arrow *)a)->record;
	const struct cmx_trace_record *y = ((const struct cmx_trace_arrow *)b)->record;
	int ret = order(x->timeline, y->timeline);

	if (!ret)
		ret = order(x->to, y->to);
	if (!ret)
		ret = order(x->start_ps, y->start_ps);
	return ret ? ret : order(x->now_ps, y->now_ps);
}

static int build_arrows(struct cmx_trace_scene *scene)
{
	scene->arrows = calloc(scene->log->num_records + 1, sizeof(*scene->arrows));
	if (!scene->arrows)
		return -1;
	for (size_t i = 0; i < scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &scene->log->records[i];

		if (!is_arrow(scene, r))
			continue;
		scene->arrows[scene->num_arrows++] = (struct cmx_trace_arrow){
			.record = r,
			.slice = cmx_trace_scene_find(scene, r),
		};
	}
	qsort(scene->arrows, scene->num_arrows, sizeof(*scene->arrows), compare_arrows);
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct cmx_trace_place *x = a, *y = b;
	int ret = order(x->timeline, y->timeline);

	return ret ? ret : order(x->entity, y->entity);
}

static int build_places(struct cmx_trace_scene *scene)
{
	struct cmx_trace_place *places;
	uint32_t n = 0;

	places = calloc(scene->num_slices + scene->num_arrows + 1, sizeof(*places));
	scene->places = places;
	if (!places)
		return -1;
	for (size_t i = 0; i < scene->num_slices; i++, n++)
		places[n] = (struct cmx_trace_place){ scene->slices[i].record->timeline,
						      scene->slices[i].record->entity, 0 };
	for (size_t i = 0; i < scene->num_arrows; i++, n++)
		places[n] = (struct cmx_trace_place){ scene->arrows[i].record->timeline,
						      scene->arrows[i].record->to, 0 };
	qsort(places, n, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < n; i++) {
		scene->timelines += !i || places[i].timeline != places[i - 1].timeline;
		if (!i || compare_places(&places[i], &places[scene->num_places - 1]))
			places[scene->num_places++] = places[i];
	}
	return 0;
}

static uint32_t place_of(const struct cmx_trace_scene *scene, uint32_t timeline, uint32_t entity)
{
	struct cmx_trace_place key = { timeline, entity, 0 }, *place;

	place = bsearch(&key, scene->places, scene->num_places, sizeof(key), compare_places);
	return (uint32_t)(place - scene->places);
}

/** struct lanes - tracks of one queue or receiver, and when each is free. */
struct lanes {
	struct cmx_trace_lane like;
	uint32_t first;
	uint32_t count;
	uint32_t max;
	uint64_t *free;
};

/* A track that is free at @begin; makes one if there is none. */
static uint32_t take_lane(struct cmx_trace_scene *scene, struct lanes *lanes, uint64_t begin,
			  uint64_t end)
{
	uint32_t i = 0;
	uint64_t *grown;

	while (i < lanes->count && lanes->free[i] > begin)
		i++;
	if (i == lanes->max) {
		grown = realloc(lanes->free, (2 * i + 8) * sizeof(*grown));
		if (!grown)
			return CMX_NO_TRACK;
		lanes->free = grown;
		lanes->max = 2 * i + 8;
	}
	lanes->free[i] = end;
	if (i < lanes->count)
		return lanes->first + i;
	lanes->like.number = lanes->count++;
	lanes->like.tid = ++scene->places[lanes->like.process].tracks;
	scene->lanes[scene->num_lanes++] = lanes->like;
	return lanes->first + i;
}

static void next_lanes(const struct cmx_trace_scene *scene, struct lanes *lanes,
		       struct cmx_trace_lane like)
{
	lanes->like = like;
	lanes->first = scene->num_lanes;
	lanes->count = 0;
}

static int compare_begin(const void *a, const void *b)
{
	const struct cmx_trace_slice *x = *(struct cmx_trace_slice *const *)a;
	const struct cmx_trace_slice *y = *(struct cmx_trace_slice *const *)b;
	int ret = compare_queue(x->record, y->record);

	if (!ret)
		ret = order(x->begin, y->begin);
	if (!ret)
		ret = order(x->end, y->end);
	return ret ? ret : order(x->record->index, y->record->index);
}

static int lay_slices(struct cmx_trace_scene *scene, struct lanes *lanes)
{
	struct cmx_trace_slice **sorted = calloc(scene->num_slices + 1, sizeof(*sorted));
	int ret = sorted ? 0 : -1;

	for (size_t i = 0; !ret && i < scene->num_slices; i++)
		sorted[i] = &scene->slices[i];
	if (!ret)
		qsort(sorted, scene->num_slices, sizeof(*sorted), compare_begin);
	for (size_t i = 0; !ret && i < scene->num_slices; i++) {
		const struct cmx_trace_record *r = sorted[i]->record;

		if (!i || compare_queue(sorted[i - 1]->record, r))
			next_lanes(scene, lanes, (struct cmx_trace_lane){
				.process = place_of(scene, r->timeline, r->entity),
				.uasid = r->uasid, .queue = r->queue,
				.queue_class = r->queue_class });
		sorted[i]->track = take_lane(scene, lanes, sorted[i]->begin, sorted[i]->end);
		ret = sorted[i]->track == CMX_NO_TRACK ? -1 : 0;
	}
	free(sorted);
	return ret;
}

static int lay_arrows(struct cmx_trace_scene *scene, struct lanes *lanes)
{
	for (size_t i = 0; i < scene->num_arrows; i++) {
		struct cmx_trace_arrow *arrow = &scene->arrows[i];
		const struct cmx_trace_record *r = arrow->record;
		uint32_t process = place_of(scene, r->timeline, r->to);

		if (!i || lanes->like.process != process || lanes->like.uasid)
			next_lanes(scene, lanes, (struct cmx_trace_lane){ .process = process });
		arrow->track = take_lane(scene, lanes, r->start_ps, r->now_ps);
		if (arrow->track == CMX_NO_TRACK)
			return -1;
	}
	return 0;
}

static int build_lanes(struct cmx_trace_scene *scene)
{
	struct lanes lanes = { .free = NULL };
	int ret;

	scene->lanes = calloc(scene->num_slices + scene->num_arrows + 1, sizeof(*scene->lanes));
	if (!scene->lanes)
		return -1;
	ret = lay_slices(scene, &lanes);
	scene->num_queue_lanes = scene->num_lanes;
	if (!ret)
		ret = lay_arrows(scene, &lanes);
	free(lanes.free);
	return ret;
}

int cmx_trace_scene_build(struct cmx_trace_scene *scene, const struct cmx_trace_log *log,
			  bool host)
{
	*scene = (struct cmx_trace_scene){ .log = log, .host = host };
	if (!build_slices(scene) && !build_arrows(scene) && !build_places(scene) &&
	    !build_lanes(scene))
		return 0;
	fprintf(stderr, "cmx trace: no memory to lay out %zu events\n", log->num_records);
	cmx_trace_scene_free(scene);
	return -1;
}

/* Tracks of queues come first, by clock, client, queue and number. */
uint32_t cmx_trace_scene_queue(const struct cmx_trace_scene *scene,
			       const struct cmx_trace_record *record)
{
	uint32_t low = 0, high = scene->num_queue_lanes;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct cmx_trace_lane *lane = &scene->lanes[mid];
		struct cmx_trace_record key = {
			.timeline = scene->places[lane->process].timeline,
			.uasid = lane->uasid, .queue = lane->queue,
		};

		if (compare_queue(&key, record) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == scene->num_queue_lanes || scene->lanes[low].uasid != record->uasid ||
	    scene->lanes[low].queue != record->queue ||
	    scene->places[scene->lanes[low].process].timeline != record->timeline)
		return CMX_NO_TRACK;
	return low;
}

void cmx_trace_scene_free(struct cmx_trace_scene *scene)
{
	free(scene->slices);
	free(scene->arrows);
	free(scene->lanes);
	free(scene->places);
	*scene = (struct cmx_trace_scene){ .log = NULL };
}
