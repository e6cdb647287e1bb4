// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times are microseconds with all digits of a picosecond count. 64-bit numbers that need not
 * be counted with are text: JSON readers take numbers for floating point.
 */
#include "cmx_trace_chrome.h"

#include <inttypes.h>

#include <cmx/cmx.h>

#define PS_PER_US	1000000
#define PS_PER_NS	1000

struct writer {
	const struct cmx_trace_scene *scene;
	struct cmx_trace_summary *sum;
	uint32_t num_dies;
	/* Host times are from here on. */
	uint64_t base;
	uint64_t flows;
	bool any;
	FILE *to;
};

static const char *opcode_name(uint32_t opcode)
{
	static const struct {
		uint32_t opcode;
		const char *name;
	} names[] = {
		{ UB_OP_WRITE, "WRITE" }, { UB_OP_WRITE_IMM, "WRITE_IMM" },
		{ UB_OP_WRITE_NOTIFY, "WRITE_NOTIFY" }, { UB_OP_READ, "READ" },
		{ UB_OP_CAS, "CAS" }, { UB_OP_SWAP, "SWAP" }, { UB_OP_FADD, "FADD" },
		{ UB_OP_FSUB, "FSUB" }, { UB_OP_FAND, "FAND" }, { UB_OP_FOR, "FOR" },
		{ UB_OP_FXOR, "FXOR" }, { UB_OP_SEND, "SEND" }, { UB_OP_SEND_IMM, "SEND_IMM" },
		{ UB_OP_NOP, "NOP" }, { CMX_OP_COPY, "COPY" }, { CMX_OP_COPY_2D, "COPY_2D" },
		{ CMX_OP_COPY_SG, "COPY_SG" }, { CMX_OP_FILL, "FILL" }, { CMX_OP_WAIT, "WAIT" },
		{ CMX_OP_SIGNAL, "SIGNAL" }, { CMX_OP_TIMESTAMP, "TIMESTAMP" },
		{ CMX_OP_BARRIER, "BARRIER" }, { CMX_OP_DELAY, "DELAY" },
		{ CMX_OP_LAUNCH, "LAUNCH" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].opcode == opcode)
			return names[i].name;
	return "?";
}

static const char *class_name(uint32_t queue_class)
{
	static const char * const names[] = {
		[CMX_QUEUE_STREAM] = "stream", [CMX_QUEUE_SDMA] = "sdma", [CMX_QUEUE_UB] = "ub",
	};

	return queue_class < sizeof(names) / sizeof(names[0]) ? names[queue_class] : "?";
}

static void put_ps(const struct writer *w, const char *key, uint64_t ps)
{
	fprintf(w->to, ", \"%s\": %" PRIu64 ".%06" PRIu64, key, ps / PS_PER_US, ps % PS_PER_US);
}

static uint32_t pid_of(uint32_t process)
{
	return process + 1;
}

static void begin_event(struct writer *w, const char *phase)
{
	fprintf(w->to, "%s\n{\"ph\": \"%s\"", w->any ? "," : "", phase);
	w->any = true;
}

static void put_track(const struct writer *w, uint32_t track)
{
	const struct cmx_trace_lane *lane = &w->scene->lanes[track];

	fprintf(w->to, ", \"pid\": %u, \"tid\": %u", pid_of(lane->process), lane->tid);
}

static void put_meta(struct writer *w, const char *name, uint32_t pid, uint32_t tid)
{
	begin_event(w, "M");
	fprintf(w->to, ", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, \"args\": {", name, pid, tid);
}

static void put_entity(const struct writer *w, uint32_t entity)
{
	bool die = entity < w->num_dies;

	fprintf(w->to, "%s %u", die ? "die" : "socket", die ? entity : entity - w->num_dies);
}

static void put_process(struct writer *w, uint32_t process)
{
	const struct cmx_trace_place *place = &w->scene->places[process];

	put_meta(w, "process_name", pid_of(process), 0);
	fputs("\"name\": \"", w->to);
	put_entity(w, place->entity);
	if (w->scene->timelines > 1)
		fprintf(w->to, ", clock %u", place->timeline);
	fputs("\"}}", w->to);
	put_meta(w, "process_sort_index", pid_of(process), 0);
	fprintf(w->to, "\"sort_index\": %u}}", process);
}

static void put_lane(struct writer *w, const struct cmx_trace_lane *lane)
{
	uint32_t pid = pid_of(lane->process);

	put_meta(w, "thread_name", pid, lane->tid);
	if (lane->uasid)
		fprintf(w->to, "\"name\": \"%s queue %u of client %u",
			class_name(lane->queue_class), lane->queue, lane->uasid);
	else
		fputs("\"name\": \"arrivals", w->to);
	if (lane->number)
		fprintf(w->to, " (%u)", lane->number + 1);
	fputs("\"}}", w->to);
	put_meta(w, "thread_sort_index", pid, lane->tid);
	fprintf(w->to, "\"sort_index\": %u}}", lane->tid);
}

static void put_wait(const struct writer *w, const struct cmx_trace_slice *slice)
{
	const struct cmx_trace_record *wake = slice->wake;
	const struct cmx_trace_slice *by;

	fprintf(w->to, ", \"va\": \"%#" PRIx64 "\", \"value\": \"%#" PRIx64 "\"", slice->wait->va,
		slice->wait->value);
	if (!wake)
		return;
	if (!wake->to) {
		fputs(", \"by\": \"host\"", w->to);
		return;
	}
	by = cmx_trace_scene_find(w->scene, &(struct cmx_trace_record){
		.host_ns = wake->host_ns, .timeline = wake->from, .uasid = wake->to,
		.queue = wake->by_queue, .index = wake->by_index });
	fputs(", \"by\": \"", w->to);
	if (by) {
		fprintf(w->to, "%s on ", opcode_name(by->record->opcode));
		put_entity(w, by->record->entity);
		fputs(", ", w->to);
	}
	fprintf(w->to, "queue %u of client %u, entry %u\"", wake->by_queue, wake->to,
		wake->by_index);
}

static void put_slice(struct writer *w, const struct cmx_trace_slice *slice)
{
	const struct cmx_trace_record *r = slice->record;

	begin_event(w, "X");
	put_track(w, slice->track);
	put_ps(w, "ts", slice->begin - w->base);
	put_ps(w, "dur", slice->end - slice->begin);
	fprintf(w->to, ", \"cat\": \"command\", \"name\": \"%s%s\", \"args\": {",
		opcode_name(r->opcode), slice->finished && r->status ? " (failed)" : "");
	fprintf(w->to, "\"entry\": %u, \"user_ctx\": \"%#" PRIx64 "\"", r->index, r->user_ctx);
	if (slice->finished)
		fprintf(w->to, ", \"status\": %u, \"bytes\": %" PRIu64, r->status, r->bytes);
	else
		fputs(", \"unfinished\": true", w->to);
	if (slice->wait)
		put_wait(w, slice);
	fputs("}}", w->to);
	w->sum->commands++;
	w->sum->unfinished += !slice->finished;
	w->sum->failed += slice->finished && r->status;
	w->sum->waits += slice->wait && slice->wake;
}

/* Drawn from the command's slice to the one of the arrival, both at its start. */
static void put_flow(struct writer *w, const struct cmx_trace_arrow *arrow, const char *phase,
		     uint32_t track)
{
	begin_event(w, phase);
	put_track(w, track);
	put_ps(w, "ts", arrow->record->start_ps);
	fprintf(w->to, ", \"cat\": \"transfer\", \"name\": \"transfer\", \"id\": %" PRIu64 "%s}",
		w->flows, *phase == 'f' ? ", \"bp\": \"e\"" : "");
}

static void put_arrow(struct writer *w, const struct cmx_trace_arrow *arrow)
{
	const struct cmx_trace_record *r = arrow->record;

	begin_event(w, "X");
	put_track(w, arrow->track);
	put_ps(w, "ts", r->start_ps);
	put_ps(w, "dur", r->now_ps - r->start_ps);
	fputs(", \"cat\": \"arrival\", \"name\": \"from ", w->to);
	put_entity(w, r->from);
	fprintf(w->to, "\", \"args\": {\"bytes\": %" PRIu64 ", \"queue\": %u, \"client\": %u, "
		"\"entry\": %u}}", r->bytes, r->queue, r->uasid, r->index);
	w->sum->transfers++;
	w->sum->bytes += r->bytes;
	if (!arrow->slice)
		return;
	w->flows++;
	put_flow(w, arrow, "s", arrow->slice->track);
	put_flow(w, arrow, "f", arrow->track);
}

static void put_instant(struct writer *w, const struct cmx_trace_record *r, const char *name)
{
	uint32_t track = cmx_trace_scene_queue(w->scene, r);

	if (track == CMX_NO_TRACK) {
		w->sum->unplaced++;
		return;
	}
	begin_event(w, "i");
	put_track(w, track);
	put_ps(w, "ts", w->scene->host ? r->host_ns * PS_PER_NS - w->base : r->now_ps);
	fprintf(w->to, ", \"s\": \"t\", \"name\": \"%s\"", name);
	if (r->kind == CMX_RECORD_FETCH)
		fprintf(w->to, ", \"args\": {\"entry\": %u, \"opcode\": \"%s\"}", r->index,
			opcode_name(r->opcode));
	else if (r->kind == CMX_RECORD_ERROR)
		fprintf(w->to, ", \"args\": {\"status\": %u}", r->status);
	else if (r->kind == CMX_RECORD_TRANSFER)
		fprintf(w->to, ", \"args\": {\"from\": %u, \"to\": %u, \"bytes\": %" PRIu64 "}",
			r->from, r->to, r->bytes);
	fputs("}", w->to);
}

static void put_instants(struct writer *w)
{
	static const char * const names[CMX_RECORD_KINDS] = {
		[CMX_RECORD_DOORBELL] = "doorbell",
		[CMX_RECORD_FETCH] = "fetch",
		[CMX_RECORD_ERROR] = "queue error",
		[CMX_RECORD_TRANSFER] = "transfer",
	};

	for (size_t i = 0; i < w->scene->log->num_records; i++) {
		const struct cmx_trace_record *r = &w->scene->log->records[i];

		/* On the virtual clock transfers are slices. */
		if (names[r->kind] && (r->kind != CMX_RECORD_TRANSFER || w->scene->host))
			put_instant(w, r, names[r->kind]);
	}
}

void cmx_trace_chrome_write(const struct cmx_trace_scene *scene, uint32_t num_dies,
			    struct cmx_trace_summary *summary, FILE *to)
{
	struct writer w = { .scene = scene, .sum = summary, .num_dies = num_dies, .to = to };

	summary->events = scene->log->num_records;
	summary->timelines = scene->timelines;
	if (scene->host && summary->events)
		w.base = scene->log->records[0].host_ns * PS_PER_NS;
	fprintf(to, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"clock\": \"%s\", "
		"\"lost\": %" PRIu64 "},\n", scene->host ? "host" : "virtual", summary->lost);
	fputs("\"traceEvents\": [", to);
	for (uint32_t i = 0; i < scene->num_places; i++)
		put_process(&w, i);
	for (uint32_t i = 0; i < scene->num_lanes; i++)
		put_lane(&w, &scene->lanes[i]);
	for (size_t i = 0; i < scene->num_slices; i++)
		put_slice(&w, &scene->slices[i]);
	for (size_t i = 0; i < scene->num_arrows; i++)
		put_arrow(&w, &scene->arrows[i]);
	put_instants(&w);
	summary->flows = w.flows;
	fputs("\n]}\n", to);
}
