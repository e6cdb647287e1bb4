// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_err.h"

#include <stdarg.h>
#include <stdio.h>

int cmx_infer_fail(struct cmx_infer_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	for (char *p = err->text; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	return code;
}
