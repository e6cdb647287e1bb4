// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_tensor_type.h"
#include "kernels/cmx_panel.h"

#define READ_AHEAD	(1u << 20)

uint64_t cmx_layout_bytes(const struct cmx_layout *l, uint64_t n)
{
	uint64_t pairs = n / ((uint64_t)l->rows[0] + l->rows[1]);

	return pairs * (cmx_packed_bytes(l->type, l->rows[0], l->k) +
			cmx_packed_bytes(l->type, l->rows[1], l->k));
}

int cmx_packing_init(struct cmx_packing *p, const struct cmx_layout *l, uint64_t n_rows,
		     cmx_read_rows read, void *ctx, struct cmx_infer_err *err)
{
	uint64_t row = cmx_tensor_bytes(l->type, l->k);

	*p = (struct cmx_packing){
		.layout = *l, .read = read, .ctx = ctx, .n_rows = n_rows,
		.max_read = row < READ_AHEAD / CMX_PANEL ? READ_AHEAD / row : CMX_PANEL,
	};
	if (p->max_read > n_rows)
		p->max_read = n_rows;
	p->rows = malloc(p->max_read * row);
	p->panel = malloc(cmx_panel_bytes(l->type, l->k));
	if (p->rows && p->panel)
		return 0;
	cmx_packing_fini(p);
	return cmx_infer_fail(err, -ENOMEM, "no memory to pack rows of %u weights", l->k);
}

void cmx_packing_fini(struct cmx_packing *p)
{
	free(p->rows);
	free(p->panel);
	p->rows = NULL;
	p->panel = NULL;
}

/* Has rows [p->next, p->next + n) in p->rows. */
static int read_ahead(struct cmx_packing *p, uint32_t n, struct cmx_infer_err *err)
{
	uint64_t max = p->n_rows - p->next;
	int ret;

	if (p->next + n <= p->end_read)
		return 0;
	if (max > p->max_read)
		max = p->max_read;
	ret = p->read(p->ctx, p->next, max, p->rows, err);
	p->first_read = p->next;
	p->end_read = p->next + max;
	return ret;
}

static int next_panel(struct cmx_packing *p, char *to, struct cmx_infer_err *err)
{
	const struct cmx_layout *l = &p->layout;
	uint32_t left = l->rows[p->group] - p->in_group, n = left < CMX_PANEL ? left : CMX_PANEL;
	int ret = read_ahead(p, n, err);

	if (ret)
		return ret;
	cmx_panel_pack(l->type, l->k, p->rows + (p->next - p->first_read) *
		       cmx_tensor_bytes(l->type, l->k), n, to);
	p->next += n;
	p->in_group += n;
	if (n == left) {
		p->in_group = 0;
		p->group ^= l->rows[1] > 0;
	}
	return 0;
}

int cmx_packing_slice(struct cmx_packing *p, uint64_t len, char *to, struct cmx_infer_err *err)
{
	uint64_t panel = cmx_panel_bytes(p->layout.type, p->layout.k);
	int ret = 0;

	while (len && !ret) {
		uint64_t n = p->panel_left < len ? p->panel_left : len;

		if (n) {
			memcpy(to, p->panel + panel - p->panel_left, n);
			p->panel_left -= n;
		} else if (len >= panel) {
			ret = next_panel(p, to, err);
			n = panel;
		} else {
			ret = next_panel(p, p->panel, err);
			p->panel_left = panel;
		}
		to += n;
		len -= n;
	}
	return ret;
}
