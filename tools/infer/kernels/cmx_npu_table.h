/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_NPU_TABLE_H
#define CMX_NPU_TABLE_H

#include "cmx_npu.h"

extern const struct cmx_npu_kernel cmx_npu_table_scalar[CMX_NPU_COUNT];
#ifdef __x86_64__
extern const struct cmx_npu_kernel cmx_npu_table_sse2[CMX_NPU_COUNT];
extern const struct cmx_npu_kernel cmx_npu_table_avx2[CMX_NPU_COUNT];
extern const struct cmx_npu_kernel cmx_npu_table_avx512[CMX_NPU_COUNT];
#endif

#endif
