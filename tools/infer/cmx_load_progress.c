// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_load_progress.h"

#include <stdio.h>
#include <unistd.h>

void cmx_load_progress(void *p, uint64_t done, uint64_t total)
{
	struct cmx_load_progress *l = p;
	uint64_t now = total ? done / ((total + 99) / 100) : 100;

	if (!isatty(STDERR_FILENO) || (l->open && now == l->shown && done < total))
		return;
	fprintf(stderr, "\r%s %.1f/%.1f MB", l->what, (double)done / 1e6, (double)total / 1e6);
	l->shown = now;
	l->open = done < total;
	if (!l->open)
		fputc('\n', stderr);
}
