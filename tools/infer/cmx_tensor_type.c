// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tensor_type.h"

struct type_info {
	const char *name;
	struct cmx_tensor_block block;
};

static const struct type_info type_info[] = {
	[CMX_TENSOR_F32] = { "F32", { 1, 4 } },
	[CMX_TENSOR_F16] = { "F16", { 1, 2 } },
	[CMX_TENSOR_Q4_0] = { "Q4_0", { CMX_Q4_0_VALUES, CMX_Q4_0_BYTES } },
	[CMX_TENSOR_Q8_0] = { "Q8_0", { CMX_Q8_0_VALUES, CMX_Q8_0_BYTES } },
	[CMX_TENSOR_Q4_K] = { "Q4_K", { CMX_Q4_K_VALUES, CMX_Q4_K_BYTES } },
	[CMX_TENSOR_Q6_K] = { "Q6_K", { CMX_Q6_K_VALUES, CMX_Q6_K_BYTES } },
	[CMX_TENSOR_I8] = { "I8", { 1, 1 } },
	[CMX_TENSOR_BF16] = { "BF16", { 1, 2 } },
};

static const struct type_info *find_type(uint32_t type)
{
	static const struct type_info none = { "unsupported", { 0, 0 } };

	if (type >= sizeof(type_info) / sizeof(type_info[0]) || !type_info[type].name)
		return &none;
	return &type_info[type];
}

struct cmx_tensor_block cmx_tensor_block(uint32_t type)
{
	return find_type(type)->block;
}

const char *cmx_tensor_type_name(uint32_t type)
{
	return find_type(type)->name;
}

uint64_t cmx_tensor_bytes(uint32_t type, uint64_t n)
{
	struct cmx_tensor_block b = cmx_tensor_block(type);

	if (!b.values || n % b.values)
		return 0;
	n /= b.values;
	return n > UINT64_MAX / b.bytes ? 0 : n * b.bytes;
}
