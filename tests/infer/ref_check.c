// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares what a run left with references:
 *   ref_check logits GOT.f32 WANT.f32 VOCAB TOLERANCE
 *   ref_check greedy RUN.json WANT.json
 *   ref_check experts GOT.json TRACE.json
 *   ref_check same-virtual A.json B.json
 *   ref_check trace TRACE.json EVENTS
 * Exit status 0 if they agree, 1 with the first difference on stderr if not.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int differ(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

static json_t *load(const char *path)
{
	json_error_t e;
	json_t *j = json_load_file(path, JSON_ALLOW_NUL, &e);

	if (!j) {
		fprintf(stderr, "%s:%d: %s\n", path, e.line, e.text);
		exit(2);
	}
	return j;
}

static float *floats(const char *path, size_t *n)
{
	FILE *f = fopen(path, "re");
	float *x;
	long size;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(2);
	}
	size = ftell(f);
	rewind(f);
	x = malloc((size_t)size + 1);
	*n = (size_t)size / sizeof(*x);
	if (!x || fread(x, sizeof(*x), *n, f) != *n) {
		perror(path);
		exit(2);
	}
	fclose(f);
	return x;
}

static int logits(const char *got_path, const char *want_path, size_t vocab, double tolerance)
{
	size_t n, m;
	float *got = floats(got_path, &n), *want = floats(want_path, &m);
	double max = 0;
	int ret = 0;

	if (n != m || n % vocab)
		return differ("%zu logits, must be %zu", n, m);
	for (size_t i = 0; i < n && !ret; i++) {
		double d = fabs((double)got[i] - (double)want[i]);

		/* Written so that a NaN fails. */
		if (!(d <= tolerance))
			ret = differ("position %zu, token %zu: %.9g, must be %.9g within %g",
				     i / vocab, i % vocab, (double)got[i], (double)want[i],
				     tolerance);
		max = fmax(max, d);
	}
	printf("# %zu positions, largest difference %.2e\n", n / vocab, max);
	free(got);
	free(want);
	return ret;
}

static int greedy(json_t *run, json_t *ref)
{
	const json_t *got = json_object_get(run, "output_ids");
	const json_t *want = json_object_get(ref, "greedy");
	const json_t *margin = json_object_get(ref, "greedy_margin");
	size_t i, n = json_array_size(want);

	if (!n || json_array_size(got) != n)
		return differ("%zu ids, must be %zu", json_array_size(got), n);
	for (i = 0; i < n; i++) {
		if (!json_equal(json_array_get(got, i), json_array_get(want, i)))
			return differ("step %zu: %lld, not %lld (margin %g)", i,
				      json_integer_value(json_array_get(got, i)),
				      json_integer_value(json_array_get(want, i)),
				      json_number_value(json_array_get(margin, i)));
	}
	return 0;
}

static int layer_experts(const char *layer, json_t *got, json_t *want)
{
	size_t t;
	json_t *one;

	/* The run has generated tokens behind the prompt that the reference lacks. */
	json_array_foreach(want, t, one) {
		if (!json_equal(json_array_get(got, t), one)) {
			char *a = json_dumps(json_array_get(got, t), JSON_ENCODE_ANY);
			char *b = json_dumps(one, JSON_ENCODE_ANY);
			int ret = differ("layer %s, token %zu: experts %s, must be %s", layer, t,
					 a ? a : "missing", b);

			free(a);
			free(b);
			return ret;
		}
	}
	return 0;
}

static int experts(json_t *got, json_t *ref)
{
	json_t *layers = json_object_get(got, "experts"), *mine;
	json_t *want = json_object_get(ref, "experts");
	const char *layer;
	int ret = 0;

	if (!json_object_size(layers))
		return differ("no experts");
	/* The reference also has the layer that predicts a second token. */
	json_object_foreach(layers, layer, mine) {
		json_t *w = json_object_get(want, layer);

		if (!w)
			return differ("layer %s is not in the reference", layer);
		if (!ret)
			ret = layer_experts(layer, mine, w);
	}
	return ret;
}

static int same_virtual(json_t *a, json_t *b)
{
	static const char * const keys[] = { "virtual", "output_ids", "text", "npu_launches",
					     "moved_bytes" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);

		if (!x || !json_equal(x, y)) {
			char *p = json_dumps(x, JSON_ENCODE_ANY);
			char *q = json_dumps(y, JSON_ENCODE_ANY);
			int ret = differ("%s: %s\nand %s", keys[i], p ? p : "missing",
					 q ? q : "missing");

			free(p);
			free(q);
			return ret;
		}
	}
	return 0;
}

/* Well formed, with at least @least complete events that do not overlap on their track. */
static int trace(json_t *t, size_t least)
{
	json_t *events = json_object_get(t, "traceEvents"), *e;
	size_t i, count = 0;
	double end = 0;

	json_array_foreach(events, i, e) {
		const char *ph = json_string_value(json_object_get(e, "ph"));
		double ts = json_number_value(json_object_get(e, "ts"));

		if (!ph || !json_string_value(json_object_get(e, "name")))
			return differ("event %zu has no phase or name", i);
		if (strcmp(ph, "X"))
			continue;
		count++;
		if (ts < end - 1e-6)
			return differ("event %zu starts at %f, before %f", i, ts, end);
		end = ts + json_number_value(json_object_get(e, "dur"));
	}
	if (count < least || !(end > 0))
		return differ("%zu events until %f us, must be %zu or more", count, end, least);
	return 0;
}

int main(int argc, char **argv)
{
	json_t *a, *b;
	int ret = 2;

	if (argc == 6 && !strcmp(argv[1], "logits"))
		return logits(argv[2], argv[3], strtoul(argv[4], NULL, 0), atof(argv[5]));
	if (argc != 4)
		return differ("usage: ref_check logits|greedy|experts|same-virtual GOT WANT...");
	a = load(argv[2]);
	if (!strcmp(argv[1], "trace")) {
		ret = trace(a, strtoul(argv[3], NULL, 0));
		json_decref(a);
		return ret;
	}
	b = load(argv[3]);
	if (!strcmp(argv[1], "greedy"))
		ret = greedy(a, b);
	else if (!strcmp(argv[1], "experts"))
		ret = experts(a, b);
	else if (!strcmp(argv[1], "same-virtual"))
		ret = same_virtual(a, b);
	json_decref(a);
	json_decref(b);
	return ret;
}
