// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_trace.h"

#include <inttypes.h>

/* Microseconds with all digits of a picosecond count. */
static void put_us(FILE *f, const char *key, uint64_t ps)
{
	fprintf(f, ", \"%s\": %" PRIu64 ".%06" PRIu64, key, ps / 1000000, ps % 1000000);
}

void cmx_trace_begin(FILE *f)
{
	fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", f);
}

void cmx_trace_track(struct cmx_trace_track track, bool first, const struct cmx_trace_event *e,
		     uint64_t n, FILE *f)
{
	fprintf(f, "%s{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %u, ",
		first ? "" : ",\n", track.die);
	fprintf(f, "\"args\": {\"name\": \"die %u\"}},\n", track.die);
	fprintf(f, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %u, \"tid\": %u, ",
		track.die, track.queue);
	fprintf(f, "\"args\": {\"name\": \"stream %u\"}}", track.queue);
	for (uint64_t i = 0; i < n; i++) {
		fprintf(f, ",\n{\"ph\": \"X\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u",
			e[i].label, track.die, track.queue);
		put_us(f, "ts", e[i].start_ps);
		put_us(f, "dur", e[i].end_ps - e[i].start_ps);
		fputs("}", f);
	}
}

void cmx_trace_end(FILE *f)
{
	fputs("\n]}\n", f);
}
