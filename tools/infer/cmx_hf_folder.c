// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_hf_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_json_file.h"

#define CONFIG_NAME	"config.json"
#define INDEX_NAME	"model.safetensors.index.json"
#define SINGLE_NAME	"model.safetensors"
#define MAX_CONFIG	(1u << 20)
#define MAX_INDEX	(256u << 20)
#define MAX_SHARDS	512u
#define MAX_NAME	128u

struct shard {
	char *name;
	struct cmx_safetensors *file;
};

struct cmx_hf_folder {
	const char *path;	/* the caller's while it opens */
	json_t *config;
	struct shard *shard;
	uint32_t n_shards;
	struct cmx_hf_tensor *tensor;	/* of all shards, by name */
	size_t n_tensors;
	bool has_index;
};

static int file_fail(struct cmx_infer_err *err, int ret, const char *name,
		     const struct cmx_infer_err *why)
{
	return cmx_infer_fail(err, ret, "%.120s: %s", name, why->text);
}

static int path_of(const struct cmx_hf_folder *f, const char *name, char *out,
		   struct cmx_infer_err *err)
{
	if (snprintf(out, PATH_MAX, "%s/%s", f->path, name) < PATH_MAX)
		return 0;
	return cmx_infer_fail(err, -ENAMETOOLONG, "%.120s: the path is longer than %u", name,
			      PATH_MAX);
}

static int load_json(const struct cmx_hf_folder *f, const char *name, uint64_t max, json_t **out,
		     struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	char path[PATH_MAX];
	int ret = path_of(f, name, path, err);

	if (ret)
		return ret;
	ret = cmx_json_file_load(path, max, out, &why);
	return ret ? file_fail(err, ret, name, &why) : 0;
}

/* A shard is a file of the folder itself, whatever the index says. */
static int check_shard_name(const char *name, struct cmx_infer_err *err)
{
	size_t len = strlen(name);

	if (len < 13 || len > MAX_NAME || strcmp(name + len - 12, ".safetensors") ||
	    strchr(name, '/') || name[0] == '.')
		return cmx_infer_fail(err, -EINVAL,
				      INDEX_NAME
				      ": weight_map: '%.128s' is not the name of a .safetensors file of the folder",
				      name);
	return 0;
}

static int open_shard(struct cmx_hf_folder *f, const char *name, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	struct shard *s = &f->shard[f->n_shards];
	char path[PATH_MAX];
	int ret = path_of(f, name, path, err);

	if (ret)
		return ret;
	s->name = strdup(name);
	if (!s->name)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a shard");
	f->n_shards++;
	ret = cmx_safetensors_open(path, &s->file, &why);
	if (ret)
		return file_fail(err, ret, name, &why);
	f->n_tensors += cmx_safetensors_count(s->file);
	return 0;
}

static struct shard *find_shard(struct cmx_hf_folder *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_shards; i++) {
		if (!strcmp(f->shard[i].name, name))
			return &f->shard[i];
	}
	return NULL;
}

static int open_mapped_shards(struct cmx_hf_folder *f, json_t *map, struct cmx_infer_err *err)
{
	const char *tensor, *name;
	const json_t *v;
	int ret;

	json_object_foreach(map, tensor, v) {
		name = json_string_value(v);
		if (!name)
			return cmx_infer_fail(err, -EINVAL, INDEX_NAME
					      ": weight_map: '%.100s' must be a string", tensor);
		if (find_shard(f, name))
			continue;
		if (f->n_shards == MAX_SHARDS)
			return cmx_infer_fail(err, -EINVAL, INDEX_NAME
					      ": weight_map: more than %u files", MAX_SHARDS);
		ret = check_shard_name(name, err);
		if (!ret)
			ret = open_shard(f, name, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct cmx_hf_tensor *x = a, *y = b;

	return strcmp(x->t->name, y->t->name);
}

static int list_tensors(struct cmx_hf_folder *f, struct cmx_infer_err *err)
{
	size_t n = 0;

	f->tensor = calloc(f->n_tensors + 1, sizeof(*f->tensor));
	if (!f->tensor)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu tensors", f->n_tensors);
	for (uint32_t i = 0; i < f->n_shards; i++) {
		const struct shard *s = &f->shard[i];

		for (size_t j = 0; j < cmx_safetensors_count(s->file); j++)
			f->tensor[n++] = (struct cmx_hf_tensor){
				cmx_safetensors_at(s->file, j), cmx_safetensors_file(s->file),
				s->name,
			};
	}
	qsort(f->tensor, n, sizeof(*f->tensor), by_name);
	for (size_t i = 1; i < n; i++) {
		if (!by_name(&f->tensor[i - 1], &f->tensor[i]))
			return cmx_infer_fail(err, -EINVAL,
					      "tensor '%.100s' is in %.80s and in %.80s",
					      f->tensor[i].t->name, f->tensor[i - 1].file_name,
					      f->tensor[i].file_name);
	}
	return 0;
}

/* Each tensor must be where the index says. */
static int check_map(const struct cmx_hf_folder *f, json_t *map, struct cmx_infer_err *err)
{
	const char *name;
	const json_t *v;

	json_object_foreach(map, name, v) {
		struct cmx_hf_tensor t;

		if (!cmx_hf_folder_find(f, name, &t) || strcmp(t.file_name, json_string_value(v)))
			return cmx_infer_fail(err, -EINVAL, INDEX_NAME
					      ": weight_map: tensor '%.100s' is not in %.80s", name,
					      json_string_value(v));
	}
	return 0;
}

static int open_indexed(struct cmx_hf_folder *f, struct cmx_infer_err *err)
{
	json_t *index = NULL, *map = NULL;
	int ret = load_json(f, INDEX_NAME, MAX_INDEX, &index, err);

	if (!ret)
		map = json_object_get(index, "weight_map");
	if (!ret && !json_object_size(map))
		ret = cmx_infer_fail(err, -EINVAL, INDEX_NAME
				     ": weight_map must be an object with entries");
	if (!ret)
		ret = open_mapped_shards(f, map, err);
	if (!ret)
		ret = list_tensors(f, err);
	if (!ret)
		ret = check_map(f, map, err);
	json_decref(index);
	return ret;
}

static int open_files(struct cmx_hf_folder *f, struct cmx_infer_err *err)
{
	char path[PATH_MAX];
	int ret = load_json(f, CONFIG_NAME, MAX_CONFIG, &f->config, err);

	if (!ret)
		ret = path_of(f, INDEX_NAME, path, err);
	if (ret)
		return ret;
	f->shard = calloc(MAX_SHARDS, sizeof(*f->shard));
	if (!f->shard)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the list of shards");
	f->has_index = !access(path, F_OK);
	if (f->has_index)
		return open_indexed(f, err);
	ret = open_shard(f, SINGLE_NAME, err);
	return ret ? ret : list_tensors(f, err);
}

int cmx_hf_folder_open(const char *path, struct cmx_hf_folder **out, struct cmx_infer_err *err)
{
	struct cmx_hf_folder *f = calloc(1, sizeof(*f));
	struct cmx_infer_err why = { .text = "" };
	int ret;

	if (!f)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a model folder");
	f->path = path;
	ret = open_files(f, &why);
	f->path = NULL;
	if (!ret) {
		*out = f;
		return 0;
	}
	cmx_hf_folder_close(f);
	return cmx_infer_fail(err, ret, "%.100s/%s", path, why.text);
}

void cmx_hf_folder_close(struct cmx_hf_folder *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_shards; i++) {
		cmx_safetensors_close(f->shard[i].file);
		free(f->shard[i].name);
	}
	json_decref(f->config);
	free(f->tensor);
	free(f->shard);
	free(f);
}

const json_t *cmx_hf_folder_config(const struct cmx_hf_folder *f)
{
	return f->config;
}

bool cmx_hf_folder_find(const struct cmx_hf_folder *f, const char *name, struct cmx_hf_tensor *t)
{
	size_t lo = 0, hi = f->n_tensors;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = strcmp(f->tensor[mid].t->name, name);

		if (!d) {
			*t = f->tensor[mid];
			return true;
		}
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

const char *cmx_hf_folder_file(const struct cmx_hf_folder *f, size_t i)
{
	if (!i)
		return CONFIG_NAME;
	if (f->has_index && i-- == 1)
		return INDEX_NAME;
	return i - 1 < f->n_shards ? f->shard[i - 1].name : NULL;
}

size_t cmx_hf_folder_tensors(const struct cmx_hf_folder *f)
{
	return f->n_tensors;
}

void cmx_hf_folder_drop(const struct cmx_hf_folder *f)
{
	for (uint32_t i = 0; i < f->n_shards; i++) {
		const struct cmx_weight_file *file = cmx_safetensors_file(f->shard[i].file);

		cmx_weight_file_drop(file, 0, file->size);
	}
}
