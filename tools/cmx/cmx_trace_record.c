// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page of a ring buffer: a header, then events one after another. An event's first word has
 * its length (5 bits) and the time since the one before (27 bits). Where fields lie is read
 * from tracefs, since it differs between kernels.
 */
#include "cmx_trace_record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FIELDS	24
#define MAX_TEXT	16384
#define MAX_PAGE	(1U << 20)
/* Pages of one buffer before the others have their turn. */
#define TURN_PAGES	1024

/* Special lengths of an event, and flags beside a page's length. */
#define LENGTH_PADDING	29
#define LENGTH_EXTEND	30
#define LENGTH_STAMP	31
#define DELTA_BITS	27
#define PAGE_MISSED	(1U << 31)
#define PAGE_STORED	(1U << 30)
#define PAGE_LENGTH	((1U << 27) - 1)
/* An absolute time has 59 bits. */
#define STAMP_HIGH	0xf800000000000000ULL

/** struct field - bytes of an event and the member of a record they go to. */
struct field {
	uint16_t offset;
	uint16_t size;
	uint16_t member;
	uint16_t member_size;
};

/** struct format - fields of a kind of events. */
struct format {
	uint32_t id;
	uint32_t count;
	struct field fields[MAX_FIELDS];
};

/** struct cmx_trace_layout - formats, and that of a page's header. */
struct cmx_trace_layout {
	struct format kinds[CMX_RECORD_KINDS];
	struct field stamp;
	struct field commit;
	struct field data;
};

static const char * const kind_names[CMX_RECORD_KINDS] = {
	[CMX_RECORD_DOORBELL] = "cmx_doorbell",
	[CMX_RECORD_FETCH] = "cmx_fetch",
	[CMX_RECORD_START] = "cmx_start",
	[CMX_RECORD_COMPLETE] = "cmx_complete",
	[CMX_RECORD_WAIT] = "cmx_wait",
	[CMX_RECORD_WAKE] = "cmx_wake",
	[CMX_RECORD_TRANSFER] = "cmx_transfer",
	[CMX_RECORD_ERROR] = "cmx_error",
};

#define MEMBER(name, member) { name, offsetof(struct cmx_trace_record, member), \
			       sizeof(((struct cmx_trace_record *)0)->member) }

static const struct {
	const char *name;
	uint16_t offset;
	uint16_t size;
} members[] = {
	MEMBER("timeline", timeline), MEMBER("uasid", uasid), MEMBER("queue", queue),
	MEMBER("entity", entity), MEMBER("index", index), MEMBER("queue_class", queue_class),
	MEMBER("opcode", opcode), MEMBER("status", status), MEMBER("user_ctx", user_ctx),
	MEMBER("start_ps", start_ps), MEMBER("now_ps", now_ps), MEMBER("done_ps", now_ps),
	MEMBER("len", bytes), MEMBER("bytes", bytes), MEMBER("va", va), MEMBER("value", value),
	MEMBER("from", from), MEMBER("to", to), MEMBER("by_timeline", from),
	MEMBER("by_uasid", to), MEMBER("by_queue", by_queue), MEMBER("by_index", by_index),
};

#define NUM_MEMBERS	(sizeof(members) / sizeof(members[0]))

/* "field:u32 uasid;  offset:8;  size:4;  signed:0;": false at other lines. */
static bool parse_field(const char *line, char name[64], struct field *field)
{
	const char *at = strstr(line, "field:"), *end, *offset, *size;
	const char *start;

	end = at ? strchr(at, ';') : NULL;
	offset = end ? strstr(end, "offset:") : NULL;
	size = end ? strstr(end, "size:") : NULL;
	if (!offset || !size)
		return false;
	for (start = end; start > at && start[-1] != ' ' && start[-1] != '*'; start--)
		;
	snprintf(name, 64, "%.*s", (int)(end - start), start);
	field->offset = (uint16_t)strtoul(offset + 7, NULL, 10);
	field->size = (uint16_t)strtoul(size + 5, NULL, 10);
	return true;
}

static void add_field(struct format *format, const char *name, struct field field)
{
	for (size_t i = 0; i < NUM_MEMBERS && format->count < MAX_FIELDS; i++) {
		if (strcmp(members[i].name, name))
			continue;
		field.member = members[i].offset;
		field.member_size = members[i].size;
		format->fields[format->count++] = field;
	}
}

static int parse_format(struct format *format, char *text)
{
	char *line, *rest = text, name[64];
	struct field field;

	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "ID:", 3))
			format->id = (uint32_t)strtoul(line + 3, NULL, 10);
		else if (parse_field(line, name, &field))
			add_field(format, name, field);
	}
	return format->id ? 0 : -1;
}

static int parse_header(struct cmx_trace_layout *layout, char *text)
{
	char *line, *rest = text, name[64];
	struct field field;

	while ((line = strsep(&rest, "\n"))) {
		if (!parse_field(line, name, &field))
			continue;
		if (!strcmp(name, "timestamp"))
			layout->stamp = field;
		else if (!strcmp(name, "commit"))
			layout->commit = field;
		else if (!strcmp(name, "data"))
			layout->data = field;
	}
	return layout->stamp.size == 8 && layout->commit.size >= 4 && layout->data.size ? 0 : -1;
}

static int learn(struct cmx_trace_layout *layout, const struct cmx_trace_session *session)
{
	char name[64], text[MAX_TEXT];

	if (cmx_trace_session_read(session, "events/header_page", text, sizeof(text)) < 0 ||
	    parse_header(layout, text)) {
		fprintf(stderr, "cmx trace: events/header_page cannot be made sense of\n");
		return -1;
	}
	for (int i = 0; i < CMX_RECORD_KINDS; i++) {
		snprintf(name, sizeof(name), "events/cmx/%s/format", kind_names[i]);
		if (cmx_trace_session_read(session, name, text, sizeof(text)) < 0 ||
		    parse_format(&layout->kinds[i], text)) {
			fprintf(stderr, "cmx trace: %s cannot be made sense of: is cmx.ko older "
				"than cmx?\n", name);
			return -1;
		}
	}
	return 0;
}

int cmx_trace_log_open(struct cmx_trace_log *log, const struct cmx_trace_session *session)
{
	*log = (struct cmx_trace_log){ .layout = calloc(1, sizeof(*log->layout)) };
	log->page = malloc(MAX_PAGE);
	if (!log->layout || !log->page) {
		fprintf(stderr, "cmx trace: no memory\n");
		cmx_trace_log_close(log);
		return -1;
	}
	if (!learn(log->layout, session))
		return 0;
	cmx_trace_log_close(log);
	return -1;
}

static uint64_t load(const uint8_t *at, uint32_t size)
{
	uint64_t value = 0;
	uint32_t word;
	uint16_t half;

	switch (size) {
	case 1:
		return *at;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	case 4:
		memcpy(&word, at, sizeof(word));
		return word;
	case 8:
		memcpy(&value, at, sizeof(value));
		return value;
	default:
		return 0;
	}
}

static struct cmx_trace_record *grow(struct cmx_trace_log *log)
{
	size_t max = log->max_records ? 2 * log->max_records : 4096;
	struct cmx_trace_record *records;

	if (log->num_records < log->max_records)
		return &log->records[log->num_records];
	records = realloc(log->records, max * sizeof(*records));
	if (!records)
		return NULL;
	log->records = records;
	log->max_records = max;
	return &records[log->num_records];
}

static void take_event(struct cmx_trace_log *log, const uint8_t *event, uint32_t size,
		       uint64_t host_ns)
{
	uint64_t id = size >= 2 ? load(event, 2) : 0;
	struct cmx_trace_record *record;
	uint32_t kind = 0;

	while (kind < CMX_RECORD_KINDS && log->layout->kinds[kind].id != id)
		kind++;
	if (kind == CMX_RECORD_KINDS)
		return;
	record = grow(log);
	if (!record) {
		log->lost++;
		return;
	}
	*record = (struct cmx_trace_record){ .host_ns = host_ns, .kind = kind };
	for (uint32_t i = 0; i < log->layout->kinds[kind].count; i++) {
		const struct field *field = &log->layout->kinds[kind].fields[i];
		uint64_t value;

		if ((uint32_t)field->offset + field->size > size)
			continue;
		value = load(event + field->offset, field->size);
		/* Numbers of this machine: the low bytes come first. */
		memcpy((uint8_t *)record + field->member, &value, field->member_size);
	}
	log->num_records++;
}

/* One event of a page; returns its size with its first word, 0: nothing follows. */
static uint32_t take_one(struct cmx_trace_log *log, const uint8_t *at, uint32_t left, uint64_t *ns)
{
	uint32_t word = (uint32_t)load(at, 4), length = word & 31, delta = word >> 5;
	uint64_t extra = left >= 8 ? load(at + 4, 4) : 0;

	switch (length) {
	case LENGTH_PADDING:
		*ns += delta;
		return delta ? (uint32_t)extra + 4 : 0;
	case LENGTH_EXTEND:
		*ns += (extra << DELTA_BITS) + delta;
		return 8;
	case LENGTH_STAMP:
		*ns = (*ns & STAMP_HIGH) | ((extra << DELTA_BITS) + delta);
		return 8;
	case 0:
		*ns += delta;
		if (extra < 4 || extra > left - 4)
			return 0;
		take_event(log, at + 8, (uint32_t)extra - 4, *ns);
		return (uint32_t)extra + 4;
	default:
		*ns += delta;
		if (4 * length > left - 4)
			return 0;
		take_event(log, at + 4, 4 * length, *ns);
		return 4 * length + 4;
	}
}

static void take_page(struct cmx_trace_log *log, const uint8_t *page, uint32_t size)
{
	const struct cmx_trace_layout *layout = log->layout;
	uint32_t commit = (uint32_t)load(page + layout->commit.offset, 4);
	uint32_t length = commit & PAGE_LENGTH, at = 0, step;
	uint64_t ns = load(page + layout->stamp.offset, 8), missed;

	if (length > size - layout->data.offset)
		length = size - layout->data.offset;
	page += layout->data.offset;
	if (commit & PAGE_MISSED) {
		missed = commit & PAGE_STORED && length + 8 <= size - layout->data.offset ?
			 load(page + length, 8) : 1;
		log->lost += missed;
	}
	while (at + 4 <= length) {
		step = take_one(log, page + at, length - at, &ns);
		if (!step)
			break;
		at += (step + 3) & ~3U;
	}
}

/* Returns 1 when there is more to take. */
static int drain_one(struct cmx_trace_log *log, const struct cmx_trace_reader *reader)
{
	ssize_t n = 0;

	for (int i = 0; i < TURN_PAGES; i++) {
		n = read(reader->fd, log->page, MAX_PAGE);
		if (n <= 0)
			break;
		if (n > log->layout->data.offset)
			take_page(log, log->page, (uint32_t)n);
	}
	if (n >= 0 || errno == EAGAIN || errno == EINTR)
		return n > 0;
	fprintf(stderr, "cmx trace: reading events of processor %u: %s\n", reader->cpu,
		strerror(errno));
	return -1;
}

int cmx_trace_log_drain(struct cmx_trace_log *log, const struct cmx_trace_session *session)
{
	int more = 0, ret;

	for (uint32_t i = 0; i < session->num_readers; i++) {
		ret = drain_one(log, &session->readers[i]);
		if (ret < 0)
			return ret;
		more |= ret;
	}
	return more;
}

static int compare_time(const void *a, const void *b)
{
	const struct cmx_trace_record *x = a, *y = b;

	return (x->host_ns > y->host_ns) - (x->host_ns < y->host_ns);
}

void cmx_trace_log_sort(struct cmx_trace_log *log)
{
	if (log->num_records)
		qsort(log->records, log->num_records, sizeof(*log->records), compare_time);
}

void cmx_trace_log_close(struct cmx_trace_log *log)
{
	free(log->layout);
	free(log->records);
	free(log->page);
	*log = (struct cmx_trace_log){ 0 };
}
