// SPDX-License-Identifier: GPL-2.0-only
#include "model_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_die.h"

#define PAGE_SHIFT 4u

int model_run_file(const struct model_form *form)
{
	int fd = memfd_create("model", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");

	if (!f || tinymoe_write(form->p, form->type, form->legacy, MODEL_RUN_SEED, f) || fclose(f))
		abort();
	return fd;
}

struct cmx_source *model_run_source(const struct model_form *form, struct hf_make *dir,
				    struct cmx_infer_err *err)
{
	struct cmx_source *src = NULL;
	int fd, ret;

	if (!form->hf) {
		fd = model_run_file(form);
		ret = cmx_source_open_fd(fd, &src, err);
		close(fd);
	} else {
		hf_make_dir(dir);
		ret = tinymoe_write_hf(form->p, form->type, 2, MODEL_RUN_SEED, dir->path);
		if (!ret)
			ret = cmx_source_open(dir->path, &src, err);
	}
	return ret ? NULL : src;
}

enum cmx_isa model_run_isa(void)
{
	enum cmx_isa isa = CMX_ISA_COUNT - 1;

	while (!cmx_npu_kernels(isa))
		isa--;
	return isa;
}

static int open_die(struct model_run *r)
{
	const struct cmx_machine_options opt = { .isa = model_run_isa(), .threads = 1 };

	return host_die_open(&opt, &r->die, &r->err);
}

/* From the last one down: no page is where its positions would be without pages. */
static int hand_out_pages(struct model_run *r, uint32_t n)
{
	r->pages = calloc(n, sizeof(*r->pages));
	if (!r->pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		r->pages[i] = n - 1 - i;
	return 0;
}

int model_run_open(struct model_run *r, const struct model_form *form, uint32_t ctx,
		   uint32_t chunk)
{
	const struct cmx_forward_options opt = {
		.ctx = ctx, .rows = chunk, .seqs = 1, .page_shift = PAGE_SHIFT,
		.pages = (ctx >> PAGE_SHIFT) + 1, .all_logits = true,
	};
	const struct cmx_load_options load = { 0 };
	struct hf_make dir = { .path = "" };
	struct cmx_source *src;
	int ret;

	memset(r, 0, sizeof(*r));
	src = model_run_source(form, &dir, &r->err);
	ret = src ? open_die(r) : -EIO;
	if (!ret)
		ret = cmx_model_load(src, r->die, &load, &r->model, &r->err);
	if (!ret)
		ret = cmx_forward_init(&r->fwd, &r->model, r->die, &opt, &r->err);
	if (!ret)
		ret = hand_out_pages(r, opt.pages);
	cmx_source_close(src);
	hf_make_remove(&dir);
	if (ret)
		fprintf(stderr, "%s: %s\n", form->p->name, r->err.text);
	return ret;
}

void model_run_close(struct model_run *r)
{
	free(r->logits);
	free(r->experts);
	free(r->pages);
	cmx_forward_free(&r->fwd);
	cmx_model_free(&r->model);
	host_die_close(r->die);
	memset(r, 0, sizeof(*r));
}

static void keep_chunk(struct model_run *r, uint32_t pos, uint32_t n)
{
	const struct cmx_model_config *c = &r->model.cfg;

	memcpy(r->logits + (size_t)pos * c->vocab, r->fwd.logits,
	       (size_t)n * c->vocab * sizeof(*r->logits));
	for (uint32_t l = 0; l < cmx_model_n_moe(c); l++)
		memcpy(r->experts + ((size_t)l * r->n + pos) * c->n_used,
		       cmx_forward_experts(&r->fwd, l, 0), n * c->n_used * sizeof(*r->experts));
}

int model_run_prompt(struct model_run *r, const uint32_t *ids, uint32_t n, uint32_t chunk)
{
	const struct cmx_model_config *c = &r->model.cfg;
	int ret;

	free(r->logits);
	free(r->experts);
	r->logits = calloc((size_t)n * c->vocab, sizeof(*r->logits));
	r->experts = calloc((size_t)cmx_model_n_moe(c) * n * c->n_used + 1, sizeof(*r->experts));
	if (!r->logits || !r->experts)
		return -ENOMEM;
	r->n = n;
	ret = cmx_forward_prompt(&r->fwd, 0, ids, n, &r->err);
	for (uint32_t pos = 0; pos < n && !ret; pos += chunk) {
		uint32_t step = n - pos < chunk ? n - pos : chunk;
		struct cmx_part part = {
			.pages = r->pages, .pos = pos, .n = step, .absorbed = chunk == 1,
			.want = step,
		};

		ret = cmx_forward_step(&r->fwd, &part, 1, &r->err);
		if (!ret)
			ret = cmx_die_finish(r->die, &r->err);
		if (!ret)
			keep_chunk(r, pos, step);
	}
	if (ret)
		fprintf(stderr, "%s\n", r->err.text);
	return ret;
}

double model_run_max_diff(const float *got, const double *want, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)got[i] - want[i]);

		if (!(d <= max))
			max = isnan(d) ? INFINITY : d;
	}
	return max;
}

double model_run_apart(const float *a, const float *b, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)a[i] - (double)b[i]);

		if (!(d <= max))
			max = isnan(d) ? INFINITY : d;
	}
	return max;
}

float *model_run_floats(const char *path, size_t n)
{
	float *x = malloc(n * sizeof(*x));
	FILE *f = fopen(path, "re");

	if (!x || !f || fread(x, sizeof(*x), n, f) != n)
		abort();
	fclose(f);
	return x;
}

double model_run_distance(const struct model_run *r, const struct tinymoe_model *m,
			  const uint32_t *ids)
{
	size_t n = (size_t)r->n * m->p->vocab;
	double *want = calloc(n, sizeof(*want)), diff = INFINITY;

	if (want && r->logits && !tinymoe_forward(m, ids, r->n, r->experts, NULL, want))
		diff = model_run_max_diff(r->logits, want, n);
	free(want);
	return diff;
}
