/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_INFER_ERR_H
#define CMX_INFER_ERR_H

/* Text of the last failure: names the field, the value and the limit. */
struct cmx_infer_err {
	char text[320];
};

/*
 * Fill @err (which may be NULL) and return @code. Bytes that could come from
 * a hostile file are made printable, so the text is safe on a terminal.
 */
int cmx_infer_fail(struct cmx_infer_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
