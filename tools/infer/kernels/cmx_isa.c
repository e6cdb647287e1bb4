// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_npu_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static const char * const isa_names[CMX_ISA_COUNT] = {
	[CMX_ISA_SCALAR] = "scalar",
	[CMX_ISA_SSE2] = "sse2",
	[CMX_ISA_AVX2] = "avx2",
	[CMX_ISA_AVX512] = "avx512",
};

const char *cmx_isa_name(enum cmx_isa isa)
{
	return isa_names[isa];
}

#ifdef __x86_64__
/* The instructions, and an operating system that keeps their registers. */
static int has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("f16c");
}

static int has_avx512(void)
{
#ifdef CMX_SIMDE
	return has_avx2();
#else
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
#endif
}

static const struct cmx_npu_kernel *isa_table(enum cmx_isa isa)
{
	switch (isa) {
	case CMX_ISA_AVX512:
		return has_avx512() ? cmx_npu_table_avx512 : NULL;
	case CMX_ISA_AVX2:
		return has_avx2() ? cmx_npu_table_avx2 : NULL;
	case CMX_ISA_SSE2:
		return cmx_npu_table_sse2;
	default:
		return cmx_npu_table_scalar;
	}
}

/* QEMU without hardware virtualisation: each vector instruction is a helper call. */
static int emulated_cpu(void)
{
	unsigned int a, b, c, d;
	char sig[12];

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return 0;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(sig, &b, 4);
	memcpy(sig + 4, &c, 4);
	memcpy(sig + 8, &d, 4);
	return !memcmp(sig, "TCGTCGTCGTCG", sizeof(sig));
}

static enum cmx_isa isa_detect(const char **why)
{
	if (emulated_cpu()) {
		*why = "the CPU is emulated (TCG), where AVX2 is slower";
		return CMX_ISA_SSE2;
	}
	if (isa_table(CMX_ISA_AVX512)) {
		*why = "the CPU has AVX-512 F, BW, DQ and VL";
		return CMX_ISA_AVX512;
	}
	if (isa_table(CMX_ISA_AVX2)) {
		*why = "the CPU has AVX2, FMA and F16C";
		return CMX_ISA_AVX2;
	}
	*why = "the CPU lacks AVX2, FMA or F16C";
	return CMX_ISA_SSE2;
}
#else
static const struct cmx_npu_kernel *isa_table(enum cmx_isa isa)
{
	return isa == CMX_ISA_SCALAR ? cmx_npu_table_scalar : NULL;
}

static enum cmx_isa isa_detect(const char **why)
{
	*why = "no SIMD level for this architecture";
	return CMX_ISA_SCALAR;
}
#endif

const struct cmx_npu_kernel *cmx_npu_kernels(enum cmx_isa isa)
{
	return isa < CMX_ISA_COUNT ? isa_table(isa) : NULL;
}

int cmx_isa_choose(enum cmx_isa *isa, const char **why, struct cmx_infer_err *err)
{
	const char *env = getenv("CMX_ISA"), *text;

	if (!why)
		why = &text;
	if (!env) {
		*isa = isa_detect(why);
		return 0;
	}
	*why = "CMX_ISA is set";
	for (int i = 0; i < CMX_ISA_COUNT; i++) {
		if (strcmp(env, isa_names[i]))
			continue;
		*isa = i;
		if (!isa_table(i))
			return cmx_infer_fail(err, -ENOTSUP,
					      "CMX_ISA is %s, which this machine lacks", env);
		return 0;
	}
	return cmx_infer_fail(err, -EINVAL, "CMX_ISA is '%s', must be scalar, sse2, avx2 or avx512",
			      env);
}
