// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of cmx verify as JSON, and its comparison with a committed one.
 */
#include <errno.h>
#include <string.h>

#include "cmx_output_file.h"
#include "cmx_perf.h"
#include "cmx_verify.h"

const char *cmx_verify_kind_name(enum cmx_verify_kind kind)
{
	static const char *const names[] = { "fitted", "predicted", "orientation" };

	return names[kind];
}

json_t *cmx_verify_json(const struct cmx_verify_result *results)
{
	json_t *table = json_array();

	for (uint32_t i = 0; i < cmx_verify_num_rows; i++) {
		const struct cmx_verify_row *row = &cmx_verify_rows[i];

		if (!results[i].measured)
			continue;
		json_array_append_new(table,
				      json_pack("{s:s, s:f, s:f, s:f, s:s}", "id", row->id,
						"published", row->published,
						"modelled", results[i].modelled,
						"error_pct", results[i].error_pct,
						"kind", cmx_verify_kind_name(row->kind)));
	}
	return table;
}

int cmx_verify_write(const char *path, const json_t *table)
{
	struct cmx_output_file out;
	int ret = cmx_output_open(&out, path);

	if (!ret && (json_dumpf(table, out.f, CMX_PERF_JSON) || fputc('\n', out.f) == EOF))
		ret = -EIO;
	if (!ret)
		ret = cmx_output_commit(&out);
	else
		cmx_output_abort(&out);
	if (ret)
		fprintf(stderr, "cmx verify: %s: %s\n", path, strerror(-ret));
	return ret;
}

static const json_t *find(const json_t *table, const char *id)
{
	size_t i;
	json_t *row;

	json_array_foreach(table, i, row) {
		const char *other = json_string_value(json_object_get(row, "id"));

		if (other && !strcmp(other, id))
			return row;
	}
	return NULL;
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* In text, as both are printed: a number that was read back may differ in its last bit. */
static bool same(double a, double b)
{
	char x[40], y[40];

	snprintf(x, sizeof(x), "%.3f", a);
	snprintf(y, sizeof(y), "%.3f", b);
	return !strcmp(x, y);
}

static int compare_row(const json_t *was, const json_t *is, const char *id)
{
	const char *kind;

	if (!was) {
		fprintf(stderr, "cmx verify: %s is not in the committed table\n", id);
		return 1;
	}
	kind = json_string_value(json_object_get(was, "kind"));
	if (same(number(was, "published"), number(is, "published")) &&
	    same(number(was, "modelled"), number(is, "modelled")) && kind &&
	    !strcmp(kind, json_string_value(json_object_get(is, "kind"))))
		return 0;
	fprintf(stderr, "cmx verify: %s changed: committed %s %.3f of %.3f, now %s %.3f of %.3f\n",
		id, kind ? kind : "?", number(was, "modelled"), number(was, "published"),
		json_string_value(json_object_get(is, "kind")), number(is, "modelled"),
		number(is, "published"));
	return 1;
}

int cmx_verify_compare(const char *path, const json_t *table, bool whole)
{
	json_error_t error;
	json_t *was = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *row;
	int changes = 0;
	size_t i;

	if (!json_is_array(was)) {
		fprintf(stderr, "cmx verify: %s: %s\n", path,
			was ? "is not a table" : error.text);
		json_decref(was);
		return -1;
	}
	json_array_foreach(table, i, row) {
		const char *id = json_string_value(json_object_get(row, "id"));

		changes += compare_row(find(was, id), row, id);
	}
	json_array_foreach(was, i, row) {
		const char *id = json_string_value(json_object_get(row, "id"));

		if (!whole || (id && find(table, id)))
			continue;
		fprintf(stderr, "cmx verify: %s of the committed table is gone\n", id ? id : "?");
		changes++;
	}
	json_decref(was);
	return changes;
}
