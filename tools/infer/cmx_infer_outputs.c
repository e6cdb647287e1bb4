// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_outputs.h"

#include <errno.h>
#include <string.h>

#define NUM_OUTPUTS	5

struct output {
	const char *option;
	const char *path;
	struct cmx_output_file *file;
};

static void list_outputs(struct cmx_infer_outputs *all, const struct cmx_infer_options *o,
			 struct output out[NUM_OUTPUTS])
{
	out[0] = (struct output){ "--logits", o->logits, &all->logits };
	out[1] = (struct output){ "--record", o->record, &all->record };
	out[2] = (struct output){ "--trace", o->trace, &all->trace };
	out[3] = (struct output){ "--experts-out", o->experts, &all->experts };
	out[4] = (struct output){ "--blocks", o->blocks, &all->blocks };
}

static int check_other(const struct output *o, const char *option, const char *path,
		       struct cmx_infer_err *err)
{
	if (!path || !cmx_output_replaces(o->file, path))
		return 0;
	return cmx_infer_fail(err, -EINVAL, "%s and %s are one file: %.200s", option, o->option,
			      o->path);
}

static int open_output(const struct output *out, const struct cmx_infer_options *o,
		       struct cmx_infer_err *err)
{
	const struct {
		const char *option;
		const char *path;
	} inputs[] = {
		{ "--model", o->model }, { "--tokenizer", o->tokenizer }, { "--ids", o->ids },
		{ "--batch", o->batch }, { "--replay", o->replay },
	};
	int ret = cmx_output_open(out->file, out->path);

	if (ret)
		return cmx_infer_fail(err, ret, "%s: %.200s: %s", out->option, out->path,
				      strerror(-ret));
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]) && !ret; i++)
		ret = check_other(out, inputs[i].option, inputs[i].path, err);
	return ret;
}

int cmx_infer_outputs_open(struct cmx_infer_outputs *all, const struct cmx_infer_options *o,
			   struct cmx_infer_err *err)
{
	struct output out[NUM_OUTPUTS];
	int ret = 0;

	list_outputs(all, o, out);
	for (int i = 0; i < NUM_OUTPUTS && !ret; i++) {
		if (out[i].path)
			ret = open_output(&out[i], o, err);
		for (int j = 0; j < i && !ret && out[i].path; j++)
			ret = check_other(&out[i], out[j].option, out[j].path, err);
	}
	return ret;
}

int cmx_infer_outputs_commit(struct cmx_infer_outputs *all, const struct cmx_infer_options *o,
			     struct cmx_infer_err *err)
{
	struct output out[NUM_OUTPUTS];
	int ret = 0;

	list_outputs(all, o, out);
	for (int i = 0; i < NUM_OUTPUTS && !ret; i++) {
		ret = cmx_output_commit(out[i].file);
		if (ret)
			cmx_infer_fail(err, ret, "%s: %.200s: %s", out[i].option, out[i].path,
				       strerror(-ret));
	}
	return ret;
}

void cmx_infer_outputs_abort(struct cmx_infer_outputs *out)
{
	cmx_output_abort(&out->logits);
	cmx_output_abort(&out->trace);
	cmx_output_abort(&out->record);
	cmx_output_abort(&out->experts);
	cmx_output_abort(&out->blocks);
}
