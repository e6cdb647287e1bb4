/* SPDX-License-Identifier: MIT */
/*
 * Errors: every function returns 0 (or a count) or -errno, and leaves a text.
 */
#ifndef CMX_ERROR_H
#define CMX_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct cmx_error - why the calling thread's last failed call failed.
 *
 * Filled from the module's own explanation when an ioctl was refused, or by the
 * library.  A call that succeeds leaves it alone.
 */
struct cmx_error {
	/** @code: -errno that the call returned; 0: no call has failed yet. */
	int code;
	/** @field: name of the offending field or argument, or empty. */
	char field[24];
	/** @value: its value. */
	uint64_t value;
	/** @limit: what it was compared with. */
	uint64_t limit;
	/** @text: sentence for people. */
	char text[512];
};

/**
 * cmx_last_error - the calling thread's last error.
 *
 * Return: storage of the thread, never NULL, valid until the thread's next failing call.
 */
const struct cmx_error *cmx_last_error(void);

/**
 * cmx_version - version of the library that is loaded, as "1.0.0".
 */
const char *cmx_version(void);

#ifdef __cplusplus
}
#endif

#endif /* CMX_ERROR_H */
