/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of command-line options; errors name the option, what it was given and the limits. */
#ifndef CMX_OPTION_H
#define CMX_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"

int cmx_option_u64(const char *name, const char *arg, uint64_t min, uint64_t max, uint64_t *val,
		   struct cmx_infer_err *err);
int cmx_option_u32(const char *name, const char *arg, uint32_t min, uint32_t max, uint32_t *val,
		   struct cmx_infer_err *err);
int cmx_option_float(const char *name, const char *arg, float min, float max, float *val,
		     struct cmx_infer_err *err);
/* "int8", the one format that weights can be rounded to. */
int cmx_option_int8(const char *name, const char *arg, bool *val, struct cmx_infer_err *err);
/* After getopt_long() gave @opt, '?' or ':', at @word. */
int cmx_option_bad(int opt, const char *word, struct cmx_infer_err *err);

#endif
