/* SPDX-License-Identifier: GPL-2.0-only */
/* A model as Hugging Face folders have it: config.json and safetensors, one file or shards. */
#ifndef CMX_HF_FOLDER_H
#define CMX_HF_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "cmx_safetensors.h"

struct cmx_hf_folder;

struct cmx_hf_tensor {
	const struct cmx_safetensor *t;
	const struct cmx_weight_file *file;
	const char *file_name;
};

/* Opens every shard and checks its header; errors name the file. */
int cmx_hf_folder_open(const char *path, struct cmx_hf_folder **out, struct cmx_infer_err *err);
void cmx_hf_folder_close(struct cmx_hf_folder *f);

const json_t *cmx_hf_folder_config(const struct cmx_hf_folder *f);
/* False if no shard has it. */
bool cmx_hf_folder_find(const struct cmx_hf_folder *f, const char *name, struct cmx_hf_tensor *t);
/* Names of the files that the model consists of; NULL behind the last. */
const char *cmx_hf_folder_file(const struct cmx_hf_folder *f, size_t i);
size_t cmx_hf_folder_tensors(const struct cmx_hf_folder *f);
/* Nothing more will be read: see cmx_weight_file_drop(). */
void cmx_hf_folder_drop(const struct cmx_hf_folder *f);

#endif
