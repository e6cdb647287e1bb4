// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmx_drm.h>

#include "cmx_fail.h"

static __thread struct cmx_error last_error;

const struct cmx_error *cmx_last_error(void)
{
	return &last_error;
}

struct cmx_error *cmx_error_slot(void)
{
	return &last_error;
}

const char *cmx_version(void)
{
	return CMXDRV_VERSION;
}

static void error_set(int code, const char *field, uint64_t value, uint64_t limit)
{
	last_error.code = code;
	last_error.value = value;
	last_error.limit = limit;
	snprintf(last_error.field, sizeof(last_error.field), "%s", field ? field : "");
}

int cmx_fail(int code, const char *field, uint64_t value, uint64_t limit, const char *fmt, ...)
{
	va_list ap;

	error_set(code, field, value, limit);
	va_start(ap, fmt);
	vsnprintf(last_error.text, sizeof(last_error.text), fmt, ap);
	va_end(ap);
	return code;
}

int cmx_fail_call(int code, const char *what)
{
	char reason[64];

	/* The GNU form; the text is a constant or in the buffer. */
	return cmx_fail(code, NULL, 0, 0, "%s: %s", what,
			strerror_r(-code, reason, sizeof(reason)));
}

int cmx_fail_extack(const struct drm_cmx_info_extack *extack)
{
	int field_len = (int)strnlen((const char *)extack->field, sizeof(extack->field));
	int text_len = (int)strnlen((const char *)extack->text, sizeof(extack->text));
	char field[sizeof(extack->field) + 1];

	snprintf(field, sizeof(field), "%.*s", field_len, (const char *)extack->field);
	if (!field_len)
		return cmx_fail(-(int)extack->error, NULL, extack->value, extack->limit, "%.*s",
				text_len, (const char *)extack->text);
	return cmx_fail(-(int)extack->error, field, extack->value, extack->limit,
			"%s %llu (limit %llu): %.*s", field, (unsigned long long)extack->value,
			(unsigned long long)extack->limit, text_len,
			(const char *)extack->text);
}
