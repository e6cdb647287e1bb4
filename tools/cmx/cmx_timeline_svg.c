// SPDX-License-Identifier: GPL-2.0-only
/*
 * A picture of a trace: virtual time from left to right, a row for each queue (or for each
 * name of a queue's events), a colour for each name. Tooltips give times to the picosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "cmx_svg.h"
#include "cmx_timeline.h"

#define LEFT		120
#define RIGHT		20
#define TOP		56
#define ROW		22
#define BAR		16
#define GAP		10
#define LETTER		6.2
#define NO_ROW		UINT32_MAX

static const char * const colours[] = {
	"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1",
	"#edc948", "#9c755f", "#ff9da7", "#86bcb6", "#8cd17d", "#a0a0a0",
};

#define NUM_COLOURS	(sizeof(colours) / sizeof(colours[0]))

struct drawing {
	const struct cmx_trace *trace;
	const struct cmx_trace_view *view;
	FILE *to;
	/* Row of track t and kind k: rows[t * num_kinds + k]. */
	uint32_t *rows;
	uint32_t num_rows;
};

static double x_of(const struct drawing *d, uint64_t ps)
{
	double span = (double)(d->view->to_ps - d->view->from_ps);

	return LEFT + (double)(ps - d->view->from_ps) / span * (d->view->width - LEFT - RIGHT);
}

static uint32_t y_of(uint32_t row)
{
	return TOP + row * ROW;
}

/* Rows in the order of tracks and, on a track, in that of the names' first events. */
static void lay_rows(struct drawing *d)
{
	const struct cmx_trace *t = d->trace;

	for (uint64_t i = 0; i < (uint64_t)t->num_tracks * t->num_kinds; i++)
		d->rows[i] = NO_ROW;
	for (uint32_t track = 0; track < t->num_tracks; track++) {
		uint32_t *rows = d->rows + (uint64_t)track * t->num_kinds;
		bool any = false;

		for (uint64_t i = 0; i < t->num_events; i++) {
			const struct cmx_trace_event *e = &t->events[i];

			if (e->track != track || rows[e->kind] != NO_ROW)
				continue;
			rows[e->kind] = d->num_rows;
			d->num_rows += d->view->by_name;
			any = true;
		}
		d->num_rows += any && !d->view->by_name;
	}
}

static void put_row_names(const struct drawing *d)
{
	const struct cmx_trace *t = d->trace;
	uint32_t last = NO_ROW;

	for (uint64_t i = 0; i < (uint64_t)t->num_tracks * t->num_kinds; i++) {
		const struct cmx_trace_track *track = &t->tracks[i / t->num_kinds];

		if (d->rows[i] == NO_ROW || d->rows[i] == last)
			continue;
		last = d->rows[i];
		fprintf(d->to, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LEFT - 8,
			y_of(last) + BAR - 4);
		if (d->view->by_name) {
			cmx_svg_text(d->to, t->kinds[i % t->num_kinds].name);
		} else {
			cmx_svg_text(d->to, track->process);
			fputs(", ", d->to);
			cmx_svg_text(d->to, track->thread);
		}
		fputs("</text>\n", d->to);
	}
}

/* 1, 2 or 5 times a power of ten that gives at most ten ticks. */
static uint64_t tick_step(uint64_t span)
{
	uint64_t step = 1;

	for (;;) {
		for (uint32_t i = 0; i < 3; i++) {
			static const uint64_t of[] = { 1, 2, 5 };

			if (step * of[i] * 10 >= span)
				return step * of[i];
		}
		step *= 10;
	}
}

static void put_axis(const struct drawing *d)
{
	const struct cmx_trace_view *v = d->view;
	uint64_t step = tick_step(v->to_ps - v->from_ps);
	uint32_t bottom = y_of(d->num_rows);

	for (uint64_t t = 0; t <= v->to_ps - v->from_ps; t += step) {
		double x = x_of(d, v->from_ps + t);

		fprintf(d->to,
			"<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%u\" stroke=\"#ddd\"/>\n"
			"<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			x, TOP - 6, x, bottom, x, TOP - 10, (double)t / 1e6);
	}
}

static void put_event(const struct drawing *d, const struct cmx_trace_event *e)
{
	const char *name = d->trace->kinds[e->kind].name;
	uint32_t row = d->rows[(uint64_t)e->track * d->trace->num_kinds + e->kind];
	double x = x_of(d, e->start_ps), w = x_of(d, e->end_ps) - x;

	fprintf(d->to, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
		x, y_of(row), w > 0.3 ? w : 0.3, BAR, colours[e->kind % NUM_COLOURS]);
	cmx_svg_text(d->to, name);
	fprintf(d->to, " %.6f us</title></rect>\n", (double)(e->end_ps - e->start_ps) / 1e6);
	if (d->view->by_name || w < LETTER * (double)strlen(name))
		return;
	fprintf(d->to, "<text x=\"%.2f\" y=\"%u\" fill=\"#fff\" text-anchor=\"middle\">", x + w / 2,
		y_of(row) + BAR - 4);
	cmx_svg_text(d->to, name);
	fputs("</text>\n", d->to);
}

static void put_legend(const struct drawing *d)
{
	uint32_t y = y_of(d->num_rows) + GAP, column = 0;
	uint32_t columns = (d->view->width - RIGHT) / 190;

	for (uint32_t i = 0; i < d->trace->num_kinds; i++) {
		const struct cmx_trace_kind *kind = &d->trace->kinds[i];
		uint32_t x = RIGHT + 190 * (column % columns), row = column / columns;

		if (!kind->count)
			continue;
		fprintf(d->to,
			"<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>\n"
			"<text x=\"%u\" y=\"%u\">",
			x, y + row * 18, colours[i % NUM_COLOURS], x + 17, y + row * 18 + 10);
		cmx_svg_text(d->to, kind->name);
		fprintf(d->to, ": %llu, %.2f us</text>\n", (unsigned long long)kind->count,
			(double)kind->total_ps / 1e6);
		column++;
	}
}

static uint32_t picture_height(const struct drawing *d)
{
	uint32_t columns = (d->view->width - RIGHT) / 190, kinds = 0;

	for (uint32_t i = 0; i < d->trace->num_kinds; i++)
		kinds += !!d->trace->kinds[i].count;
	return y_of(d->num_rows) + 2 * GAP + 18 * ((kinds + columns - 1) / columns);
}

int cmx_trace_svg(const struct cmx_trace *trace, const struct cmx_trace_view *view, FILE *to)
{
	struct drawing d = { .trace = trace, .view = view, .to = to };

	d.rows = malloc((size_t)trace->num_tracks * trace->num_kinds * sizeof(*d.rows));
	if (!d.rows) {
		fprintf(stderr, "cmx timeline: no memory for the rows\n");
		return -1;
	}
	lay_rows(&d);
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"18\" font-size=\"13\">Virtual time, us, from %.6f us on</text>\n",
		view->width, picture_height(&d), LEFT, (double)view->from_ps / 1e6);
	put_axis(&d);
	put_row_names(&d);
	for (uint64_t i = 0; i < trace->num_events; i++)
		put_event(&d, &trace->events[i]);
	put_legend(&d);
	fputs("</svg>\n", to);
	free(d.rows);
	return 0;
}
