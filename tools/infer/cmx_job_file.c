// SPDX-License-Identifier: GPL-2.0-only
/* Requests from a file, a JSON object each line. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_job.h"

#define LINE_MAX_BYTES	(64u << 20)

static int read_text(const char *name, const json_t *v, char **out, struct cmx_infer_err *err)
{
	const char *s = json_string_value(v);

	if (!s)
		return cmx_infer_fail(err, -EINVAL, "%s is no string", name);
	if (strlen(s) != json_string_length(v))
		return cmx_infer_fail(err, -EINVAL, "%s has a zero byte in it", name);
	free(*out);
	*out = strdup(s);
	return *out ? 0 : cmx_infer_fail(err, -ENOMEM, "no memory for %s", name);
}

static int read_integer(const char *name, const json_t *v, json_int_t max, uint64_t *out,
			struct cmx_infer_err *err)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return cmx_infer_fail(err, -EINVAL, "%s is no integer", name);
	if (n < 0 || n > max)
		return cmx_infer_fail(err, -EINVAL, "%s is %lld, must be 0..%lld", name,
				      (long long)n, (long long)max);
	*out = (uint64_t)n;
	return 0;
}

static int read_u32(const char *name, const json_t *v, uint32_t max, uint32_t *out,
		    struct cmx_infer_err *err)
{
	uint64_t wide = 0;
	int ret = read_integer(name, v, max, &wide, err);

	*out = (uint32_t)wide;
	return ret;
}

static int read_float(const char *name, const json_t *v, double min, double max, float *out,
		      struct cmx_infer_err *err)
{
	double x = json_number_value(v);

	if (!json_is_number(v))
		return cmx_infer_fail(err, -EINVAL, "%s is no number", name);
	if (!(x >= min && x <= max))
		return cmx_infer_fail(err, -EINVAL, "%s is %g, must be %g..%g", name, x, min, max);
	*out = (float)x;
	return 0;
}

static int read_ids(const json_t *v, struct cmx_job *j, struct cmx_infer_err *err)
{
	size_t n = json_array_size(v);
	int ret = 0;

	if (!json_is_array(v))
		return cmx_infer_fail(err, -EINVAL, "ids is no array");
	if (n > CMX_MAX_TOKENS)
		return cmx_infer_fail(err, -E2BIG, "more than %u ids", CMX_MAX_TOKENS);
	j->ids = malloc((n + 1) * sizeof(*j->ids));
	if (!j->ids)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu ids", n);
	for (; j->n_prompt < n && !ret; j->n_prompt++) {
		char name[32];

		snprintf(name, sizeof(name), "id %u", j->n_prompt);
		ret = read_u32(name, json_array_get(v, j->n_prompt), UINT32_MAX,
			       &j->ids[j->n_prompt], err);
	}
	return ret;
}

static int add_stop(const json_t *v, struct cmx_job *j, struct cmx_infer_err *err)
{
	size_t len = json_string_length(v);

	if (j->n_stops == CMX_STOP_STRINGS_MAX)
		return cmx_infer_fail(err, -EINVAL, "stop has more than %d strings",
				      CMX_STOP_STRINGS_MAX);
	if (json_is_string(v) && (!len || len > CMX_STOP_STRING_BYTES))
		return cmx_infer_fail(err, -EINVAL, "stop has %zu bytes, must be 1..%d", len,
				      CMX_STOP_STRING_BYTES);
	return read_text("stop", v, &j->stop[j->n_stops++], err);
}

/* In place of those of the command line. */
static int read_stops(const json_t *v, struct cmx_job *j, struct cmx_infer_err *err)
{
	const json_t *one;
	int ret = 0;
	size_t i;

	for (; j->n_stops; j->n_stops--) {
		free(j->stop[j->n_stops - 1]);
		j->stop[j->n_stops - 1] = NULL;
	}
	if (!json_is_array(v))
		return add_stop(v, j, err);
	json_array_foreach(v, i, one) {
		ret = ret ? ret : add_stop(one, j, err);
	}
	return ret;
}

static int read_flag(const char *name, const json_t *v, bool *out, struct cmx_infer_err *err)
{
	if (!json_is_boolean(v))
		return cmx_infer_fail(err, -EINVAL, "%s is neither true nor false", name);
	*out = json_is_true(v);
	return 0;
}

static int read_sampling(const char *name, const json_t *v, struct cmx_sampling *s,
			 struct cmx_infer_err *err)
{
	if (!strcmp(name, "temp"))
		return read_float(name, v, 0, 100, &s->temp, err);
	if (!strcmp(name, "top_k"))
		return read_u32(name, v, UINT32_MAX, &s->top_k, err);
	if (!strcmp(name, "top_p"))
		return read_float(name, v, 1e-6, 1, &s->top_p, err);
	if (!strcmp(name, "min_p"))
		return read_float(name, v, 0, 1, &s->min_p, err);
	if (!strcmp(name, "repeat_penalty"))
		return read_float(name, v, 0.1, 10, &s->penalty, err);
	if (!strcmp(name, "seed"))
		return read_integer(name, v, INT64_MAX, &s->seed, err);
	return cmx_infer_fail(err, -EINVAL, "unknown field '%.60s'", name);
}

static int read_field(const char *name, const json_t *v, struct cmx_job *j,
		      struct cmx_infer_err *err)
{
	if (!strcmp(name, "prompt"))
		return read_text(name, v, &j->text, err);
	if (!strcmp(name, "ids"))
		return read_ids(v, j, err);
	if (!strcmp(name, "system"))
		return read_text(name, v, &j->system, err);
	if (!strcmp(name, "n"))
		return read_u32(name, v, CMX_MAX_TOKENS, &j->n, err);
	if (!strcmp(name, "stop"))
		return read_stops(v, j, err);
	if (!strcmp(name, "ignore_eos"))
		return read_flag(name, v, &j->ignore_eos, err);
	return read_sampling(name, v, &j->sampling, err);
}

static int read_object(json_t *root, struct cmx_job *j, const struct cmx_infer_options *o,
		       struct cmx_infer_err *err)
{
	const char *name;
	json_t *v;
	int ret = 0;

	if (!json_is_object(root))
		return cmx_infer_fail(err, -EINVAL, "is no JSON object");
	json_object_foreach(root, name, v) {
		ret = ret ? ret : read_field(name, v, j, err);
	}
	if (ret)
		return ret;
	if (!j->text == !j->ids)
		return cmx_infer_fail(err, -EINVAL, "must have one of prompt and ids");
	if (json_object_get(root, "system") && !(o->chat && j->text))
		return cmx_infer_fail(err, -EINVAL, "system needs --chat and a prompt");
	return 0;
}

static int read_line(struct cmx_jobs *jobs, const char *line, size_t len,
		     const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	struct cmx_job *j;
	json_error_t why;
	json_t *root;
	int ret;

	if (len > LINE_MAX_BYTES)
		return cmx_infer_fail(err, -E2BIG, "%zu bytes, the limit is %u", len,
				      LINE_MAX_BYTES);
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return cmx_infer_fail(err, -EINVAL, "column %d: %s", why.column, why.text);
	ret = cmx_jobs_add(jobs, o, &j, err);
	if (!ret)
		ret = read_object(root, j, o, err);
	json_decref(root);
	return ret;
}

static int read_lines(struct cmx_jobs *jobs, FILE *f, const struct cmx_infer_options *o,
		      struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	unsigned long number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int ret = 0;

	while (!ret && (len = getline(&line, &room, f)) > 0) {
		number++;
		if (strspn(line, " \t\r\n") == (size_t)len)
			continue;
		ret = read_line(jobs, line, (size_t)len, o, &why);
		if (ret)
			cmx_infer_fail(err, ret, "line %lu: %s", number, why.text);
	}
	free(line);
	if (!ret && ferror(f))
		ret = cmx_infer_fail(err, -EIO, "read failed");
	if (!ret && !jobs->n)
		ret = cmx_infer_fail(err, -EINVAL, "no requests in the file");
	return ret;
}

int cmx_jobs_read(struct cmx_jobs *jobs, const char *path, const struct cmx_infer_options *o,
		  struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	FILE *f = fopen(path, "re");
	int ret;

	if (!f)
		return cmx_infer_fail(err, -errno, "%.120s: %s", path, strerror(errno));
	ret = read_lines(jobs, f, o, &why);
	fclose(f);
	return ret ? cmx_infer_fail(err, ret, "%.120s: %s", path, why.text) : 0;
}
