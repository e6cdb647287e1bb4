// SPDX-License-Identifier: MIT
/*
 * Rows as they travel.
 */
#include <math.h>
#include <string.h>

#include "cmx_bf16.h"
#include "cmx_ep_priv.h"

#define LARGEST_INT8	127

static void to_bf16_row(const float *x, uint32_t n, uint16_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = cmx_to_bf16(x[i]);
}

static void to_int8_row(const float *x, uint32_t n, int8_t *out)
{
	float largest = 0, scale;

	for (uint32_t i = 0; i < n; i++)
		largest = fmaxf(largest, fabsf(x[i]));
	scale = largest > 0 ? largest / LARGEST_INT8 : 1;
	for (uint32_t i = 0; i < n; i++)
		out[i] = (int8_t)lrintf(x[i] / scale);
	memcpy(out + n, &scale, sizeof(scale));
}

void ep_row_pack(const struct cmx_ep *ep, const void *x, void *payload)
{
	switch (ep->desc.dispatch_format) {
	case CMX_EP_BF16:
		to_bf16_row(x, ep->desc.hidden, payload);
		break;
	case CMX_EP_INT8:
		to_int8_row(x, ep->desc.hidden, payload);
		break;
	default:
		memcpy(payload, x, ep->payload);
	}
}

void ep_result_pack(const struct cmx_ep *ep, const float *y, void *result)
{
	if (ep->desc.combine_format == CMX_EP_BF16)
		to_bf16_row(y, ep->desc.hidden, result);
	else
		memcpy(result, y, ep->result);
}

float ep_result_at(const struct cmx_ep *ep, const void *result, uint32_t i)
{
	if (ep->desc.combine_format == CMX_EP_BF16)
		return cmx_from_bf16(((const uint16_t *)result)[i]);
	return ((const float *)result)[i];
}
