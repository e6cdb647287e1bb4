/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON on standard output.
 */
#ifndef CMX_JSON_OUTPUT_H
#define CMX_JSON_OUTPUT_H

#include <jansson.h>
#include <stdint.h>

/* JSON numbers of the library are signed: a larger one becomes the largest. */
json_t *cmx_json_number(uint64_t value);
/* 16 bytes as 32 hexadecimal digits. */
json_t *cmx_json_hex(const uint8_t *bytes);

/* Member by member, so that a long object reads as a list; takes the value over. */
void cmx_json_set(json_t *object, const char *name, uint64_t value);
void cmx_json_set_text(json_t *object, const char *name, const char *text);

/*
 * Prints @root and drops it; NULL is what a failed json_pack() gave. Returns an exit status.
 * @flags: JSON_INDENT(2), or JSON_COMPACT: a line that is flushed at once.
 */
int cmx_json_print(const char *command, json_t *root, size_t flags);

#endif /* CMX_JSON_OUTPUT_H */
