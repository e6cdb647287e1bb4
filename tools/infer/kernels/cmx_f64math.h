/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few double functions the position table needs. libm's differ from one
 * CPU to the next (it picks FMA variants); these give the same bits anywhere.
 */
#ifndef CMX_F64MATH_H
#define CMX_F64MATH_H

double cmx_f64_exp(double x);			/* |x| < 700 */
double cmx_f64_log(double x);			/* normal x > 0 */
void cmx_f64_sincos(double x, double *s, double *c);	/* |x| < 2^27 */

#endif
