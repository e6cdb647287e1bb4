// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_json_output.h"

#include <stdio.h>

#include "cmx_command.h"
#include "cmx_stdout.h"

json_t *cmx_json_number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *cmx_json_hex(const uint8_t *bytes)
{
	char text[33];

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(text);
}

void cmx_json_set(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, cmx_json_number(value));
}

void cmx_json_set_text(json_t *object, const char *name, const char *text)
{
	json_t *string = json_string(text);

	/* A process may call itself anything: what is no UTF-8 is no JSON. */
	json_object_set_new(object, name, string ? string : json_string("?"));
}

int cmx_json_print(const char *command, json_t *root, size_t flags)
{
	if (!root) {
		fprintf(stderr, "cmx %s: no memory for the output\n", command);
		return CMX_EXIT_FAILED;
	}
	/* A failure to write stays with the stream. */
	json_dumpf(root, stdout, flags);
	putchar('\n');
	json_decref(root);
	return cmx_stdout_flush(command);
}
