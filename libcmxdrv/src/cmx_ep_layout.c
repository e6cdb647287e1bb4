// SPDX-License-Identifier: MIT
/*
 * Sizes of the buffers, from a description.
 */
#include <errno.h>

#include "cmx_ep_priv.h"
#include "cmx_fail.h"

/* A record that a flag follows is sent in one slice (kmod): no larger rows. */
#define MAX_ROW		(256u << 10)
#define SLOT		512u
#define MAX_RECORDS	65536u

static int check_number(const char *field, uint64_t value, uint64_t min, uint64_t max)
{
	if (value >= min && value <= max)
		return 0;
	return cmx_fail(-EINVAL, field, value, max, "%s is %llu, not %llu to %llu", field,
			(unsigned long long)value, (unsigned long long)min,
			(unsigned long long)max);
}

static int check_shape(const struct cmx_ep_desc *d)
{
	const struct {
		const char *field;
		uint64_t value, min, max;
	} numbers[] = {
		{ "ranks", d->ranks, 1, CMX_EP_MAX_RANKS },
		{ "hidden", d->hidden, 1, MAX_ROW / sizeof(float) },
		{ "topk", d->topk, 1, CMX_EP_MAX_TOPK },
		{ "experts", d->experts, 1, CMX_EP_MAX_EXPERTS },
		{ "local", d->local, 1, CMX_EP_MAX_LOCAL },
		{ "max_tokens", d->max_tokens, 1, MAX_RECORDS / (d->topk ? d->topk : 1) },
		{ "dispatch_format", d->dispatch_format, 0, CMX_EP_ROWS },
		{ "combine_format", d->combine_format, 0, CMX_EP_BF16 },
		{ "path", d->path, 0, CMX_EP_SDMA },
		{ "flags", d->flags, 0, CMX_EP_TIME_ONLY | CMX_EP_GUARD },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !ret; i++)
		ret = check_number(numbers[i].field, numbers[i].value, numbers[i].min,
				   numbers[i].max);
	for (size_t i = 0; i < 4 && !ret; i++)
		ret = check_number("reserved", d->reserved[i], 0, 0);
	return ret;
}

static int check_formats(const struct cmx_ep_desc *d)
{
	if (d->dispatch_format == CMX_EP_INT8 && d->hidden % 4)
		return cmx_fail(-EINVAL, "hidden", d->hidden, 4,
				"hidden is %u: INT8 needs a multiple of 4", d->hidden);
	if (d->dispatch_format != CMX_EP_ROWS)
		return check_number("row_bytes", d->row_bytes, 0, 0);
	if (d->row_bytes % 4)
		return cmx_fail(-EINVAL, "row_bytes", d->row_bytes, 4,
				"row_bytes is %u, no multiple of 4", d->row_bytes);
	return check_number("row_bytes", d->row_bytes, 4, MAX_ROW);
}

static uint32_t payload_bytes(const struct cmx_ep_desc *d)
{
	switch (d->dispatch_format) {
	case CMX_EP_F32:
		return d->hidden * 4;
	case CMX_EP_BF16:
		return d->hidden * 2;
	case CMX_EP_INT8:
		return d->hidden + 4;
	default:
		return d->row_bytes;
	}
}

static int choose_packet(struct cmx_ep *ep)
{
	const struct cmx_ep_desc *d = &ep->desc;
	uint64_t need = ep_align(payload_bytes(d), 4) + sizeof(struct ep_tail) +
			sizeof(int32_t) * d->topk;

	ep->payload = payload_bytes(d);
	ep->packet = d->packet_bytes ? d->packet_bytes : (uint32_t)ep_align(need, SLOT);
	if (ep->packet % 8)
		return cmx_fail(-EINVAL, "packet_bytes", ep->packet, 8,
				"packet_bytes is %u, no multiple of 8", ep->packet);
	return check_number("packet_bytes", ep->packet, need, MAX_ROW);
}

/* All rows there can be; how many of them a rank is ready for. */
static int choose_rows(struct cmx_ep *ep)
{
	const struct cmx_ep_desc *d = &ep->desc;
	uint64_t most;

	ep->cap = d->max_tokens * ep_min(d->topk, d->local);
	most = (uint64_t)ep->cap * d->ranks;
	ep->max_rows = d->max_rows && d->max_rows < most ? d->max_rows : (uint32_t)most;
	if (most > UINT32_MAX)
		return cmx_fail(-EINVAL, "max_tokens", d->max_tokens, UINT32_MAX / d->ranks,
				"max_tokens %u: %llu rows for a rank are too many",
				d->max_tokens, (unsigned long long)most);
	ep->row_atomics = 2ull * ep->max_rows <= MAX_RECORDS;
	return 0;
}

static uint64_t plan_bytes(const struct cmx_ep *ep)
{
	uint64_t words = 2ull + ep->desc.local + 1 + (uint64_t)ep->desc.local * ep->desc.ranks + 1;

	return ep_align(4 * words, 16) + sizeof(struct ep_origin) * (uint64_t)ep->max_rows;
}

static uint64_t flag_bytes(const struct cmx_ep *ep)
{
	return 8 * ((EP_FLAG_ROUNDS + 2ull) * ep->desc.ranks + EP_WORD_READY);
}

int ep_layout(struct cmx_ep *ep)
{
	const struct cmx_ep_desc *d = &ep->desc;
	uint64_t choices, list = 2 * sizeof(struct cmx_sg);
	int ret = check_shape(d);

	if (!ret)
		ret = check_formats(d);
	if (!ret)
		ret = choose_packet(ep);
	if (!ret)
		ret = choose_rows(ep);
	if (ret)
		return ret;
	choices = (uint64_t)d->max_tokens * d->topk;
	ep->result = d->hidden * (d->combine_format == CMX_EP_F32 ? 4 : 2);
	ep->size[EP_PACKETS_IN] = (uint64_t)d->ranks * ep->cap * ep->packet;
	ep->size[EP_RESULTS_IN] = choices * ep->result;
	ep->size[EP_PACKETS_OUT] = (uint64_t)d->max_tokens * ep->packet;
	ep->size[EP_ROWS] = (uint64_t)ep->max_rows * ep->packet;
	ep->size[EP_RESULTS_OUT] = (ep_is_sdma(ep) ? (uint64_t)d->ranks * ep->cap :
						     ep->max_rows) * ep->result;
	ep->size[EP_PLAN] = plan_bytes(ep);
	ep->size[EP_FLAGS] = flag_bytes(ep);
	ep->size[EP_LISTS] = ep_is_sdma(ep) ? choices * list : 0;
	for (int i = 0; i < EP_REGIONS; i++)
		ep->size[i] = ep_align(ep->size[i], EP_ALIGN);
	return 0;
}

int cmx_ep_query_sizes(const struct cmx_ep_desc *desc, struct cmx_ep_sizes *sizes)
{
	struct cmx_ep ep = { .desc = *desc };
	int ret = ep_layout(&ep);

	if (ret)
		return ret;
	*sizes = (struct cmx_ep_sizes){
		.dispatch = 2 * ep.size[EP_PACKETS_IN],
		.combine = 2 * ep.size[EP_RESULTS_IN],
		.flags = ep.size[EP_FLAGS],
		.staging = 2 * (ep.size[EP_PACKETS_OUT] + ep.size[EP_ROWS] +
				ep.size[EP_RESULTS_OUT] + ep.size[EP_PLAN] + ep.size[EP_LISTS]),
	};
	sizes->total = sizes->dispatch + sizes->combine + sizes->flags + sizes->staging;
	return 0;
}
