/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AVX-512 on machines without it: SIMDe's emulation under the intrinsics' own names,
 * and the few that it lacks.
 */
#ifndef SIMDE_AVX512_H
#define SIMDE_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

static inline simde__m512 simde_avx512_from_int(simde__m512i v)
{
	int32_t n[16];
	float f[16];

	simde_mm512_storeu_si512(n, v);
	for (int i = 0; i < 16; i++)
		f[i] = (float)n[i];
	return simde_mm512_loadu_ps(f);
}

#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps(v) simde_avx512_from_int(v)

#endif
