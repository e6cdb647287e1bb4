/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernels as the driver library takes them. */
#ifndef CMX_NPU_ENTRY_H
#define CMX_NPU_ENTRY_H

#include <cmx/kernel.h>

#include "cmx_npu.h"

extern const struct cmx_kernel_desc cmx_npu_entry_scalar[CMX_NPU_COUNT];
#ifdef __x86_64__
extern const struct cmx_kernel_desc cmx_npu_entry_sse2[CMX_NPU_COUNT];
extern const struct cmx_kernel_desc cmx_npu_entry_avx2[CMX_NPU_COUNT];
extern const struct cmx_kernel_desc cmx_npu_entry_avx512[CMX_NPU_COUNT];
#endif

static inline const struct cmx_kernel_desc *cmx_npu_entries(enum cmx_isa isa)
{
#ifdef __x86_64__
	if (isa == CMX_ISA_AVX512)
		return cmx_npu_entry_avx512;
	if (isa == CMX_ISA_AVX2)
		return cmx_npu_entry_avx2;
	if (isa == CMX_ISA_SSE2)
		return cmx_npu_entry_sse2;
#endif
	(void)isa;
	return cmx_npu_entry_scalar;
}

#endif
