/* SPDX-License-Identifier: MIT */
/*
 * Filling the calling thread's last error.
 */
#ifndef CMX_FAIL_H
#define CMX_FAIL_H

#include <stdint.h>

#include <cmx/error.h>

struct drm_cmx_info_extack;

/* Set the error and return @code (-errno). @field may be NULL. */
int cmx_fail(int code, const char *field, uint64_t value, uint64_t limit, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* A refused ioctl that the module explained. */
int cmx_fail_extack(const struct drm_cmx_info_extack *extack);

/* A failed system call: @what, and what strerror() says of -@code. */
int cmx_fail_call(int code, const char *what);

/* The calling thread's error, to be written to. */
struct cmx_error *cmx_error_slot(void);

#endif /* CMX_FAIL_H */
