// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_f64math.h"

#include <stdint.h>
#include <string.h>

/* Adding this rounds to an integer; it then sits in the low bits. */
#define ROUND_MAGIC	0x1.8p52

#define LN2_HI		0x1.62e42fefap-1	/* 33 bits: a product with n is exact */
#define LN2_LO		0x1.cf79abc9e3b39p-40

/* pi/2 in pieces of 25 bits, so that products with n < 2^27 are exact. */
#define PIO2_1		0x1.921fb5p+0
#define PIO2_2		0x1.110b46p-26
#define PIO2_3		0x1.1a62630p-54
#define PIO2_4		0x1.8a2e037p-81

static double scale2(double x, int64_t n)
{
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double p;

	memcpy(&p, &bits, sizeof(p));
	return x * p;
}

double cmx_f64_exp(double x)
{
	double n = x * 0x1.71547652b82fep+0 + ROUND_MAGIC - ROUND_MAGIC;
	double r = x - n * LN2_HI - n * LN2_LO;
	double p = 1;

	for (int i = 14; i > 0; i--)
		p = p * r / i + 1;
	return scale2(p, (int64_t)n);
}

double cmx_f64_log(double x)
{
	uint64_t bits;
	double m, s, z, p = 0;
	int64_t e;

	memcpy(&bits, &x, sizeof(bits));
	e = (int64_t)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
	memcpy(&m, &bits, sizeof(m));
	if (m > 0x1.6a09e667f3bcdp+0) {
		m /= 2;
		e++;
	}
	/* log m = 2 atanh s, a series in odd powers of s. */
	s = (m - 1) / (m + 1);
	z = s * s;
	for (int i = 27; i > 0; i -= 2)
		p = p * z + 1.0 / i;
	return (double)e * LN2_HI + (2 * s * p + (double)e * LN2_LO);
}

static double sin_series(double r)
{
	double z = r * r, p = 1;

	for (int i = 18; i > 0; i -= 2)
		p = 1 - p * z / (double)(i * (i + 1));
	return r * p;
}

static double cos_series(double r)
{
	double z = r * r, p = 1;

	for (int i = 19; i > 0; i -= 2)
		p = 1 - p * z / (double)(i * (i + 1));
	return p;
}

void cmx_f64_sincos(double x, double *s, double *c)
{
	double n = x * 0x1.45f306dc9c883p-1 + ROUND_MAGIC - ROUND_MAGIC;
	double r = x - n * PIO2_1 - n * PIO2_2 - n * PIO2_3 - n * PIO2_4;
	double sn = sin_series(r), cs = cos_series(r);

	switch ((int64_t)n & 3) {
	case 0:
		*s = sn;
		*c = cs;
		break;
	case 1:
		*s = cs;
		*c = -sn;
		break;
	case 2:
		*s = -sn;
		*c = -cs;
		break;
	default:
		*s = -cs;
		*c = sn;
		break;
	}
}
