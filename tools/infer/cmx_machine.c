// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_machine_priv.h"
#include "cmx_stop.h"
#include "kernels/cmx_npu_entry.h"

int cmx_machine_fail(struct cmx_infer_err *err, int ret, const char *what)
{
	const struct cmx_error *e = cmx_last_error();

	return cmx_infer_fail(err, ret, "%s: %s", what, e->code == ret ? e->text : strerror(-ret));
}

int cmx_machine_check_stopped(struct cmx_infer_err *err)
{
	return cmx_stopped() ? cmx_infer_fail(err, -EINTR, "interrupted") : 0;
}

static int check_window(uint32_t window, struct cmx_infer_err *err)
{
	if (window >= 2 && window <= CMX_MACHINE_MAX_WINDOW && !(window & (window - 1)))
		return 0;
	return cmx_infer_fail(err, -EINVAL,
			      "commands on their way: %u, must be a power of two in 2..%u", window,
			      CMX_MACHINE_MAX_WINDOW);
}

static int register_kernels(struct cmx_machine *m, struct cmx_infer_err *err)
{
	const struct cmx_kernel_desc *k = cmx_npu_entries(m->opt.isa);

	for (int i = 0; i < CMX_NPU_COUNT; i++) {
		int ret = cmx_kernel_register_desc(m->ctx, &k[i], &m->kernel[i]);

		if (ret)
			return cmx_machine_fail(err, ret, k[i].name);
	}
	return 0;
}

static int start_threads(struct cmx_machine *m, struct cmx_infer_err *err)
{
	/* The waiting thread works too. */
	int ret = cmx_runner_start(m->ctx, m->opt.threads - 1);

	return ret ? cmx_machine_fail(err, ret, "threads") : 0;
}

int cmx_machine_open(const struct cmx_machine_options *opt, struct cmx_machine **out,
		     struct cmx_infer_err *err)
{
	struct cmx_machine *m = calloc(1, sizeof(*m));
	int ret;

	if (!m)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a machine");
	m->opt = *opt;
	if (!m->opt.window)
		m->opt.window = CMX_MACHINE_WINDOW;
	ret = check_window(m->opt.window, err);
	if (!ret) {
		ret = cmx_open(NULL, 0, &m->ctx);
		if (ret)
			cmx_machine_fail(err, ret, "device");
	}
	if (!ret)
		ret = register_kernels(m, err);
	if (!ret)
		ret = start_threads(m, err);
	if (ret) {
		cmx_machine_close(m);
		return ret;
	}
	m->start_ps = cmx_timeline_now(cmx_timeline_default(m->ctx));
	*out = m;
	return 0;
}

void cmx_machine_close(struct cmx_machine *m)
{
	if (!m)
		return;
	/* Takes memory, queues, rings and threads with it. */
	cmx_close(m->ctx);
	for (uint32_t i = 0; i < m->n_dies; i++)
		cmx_die_free(m->die[i]);
	free(m->die);
	free(m);
}

uint32_t cmx_machine_dies(const struct cmx_machine *m)
{
	return cmx_device(m->ctx)->num_dies;
}

/* What a die that failed says goes before the stall of those that wait for it. */
static int collect(struct cmx_machine *m, int waited, struct cmx_infer_err *err)
{
	for (uint32_t i = 0; i < m->n_dies; i++) {
		int ret = cmx_die_collect(m->die[i], err);

		if (ret)
			return ret;
	}
	return waited;
}

int cmx_machine_finish(struct cmx_machine *m, struct cmx_infer_err *err)
{
	int ret = cmx_machine_check_stopped(err);

	for (uint32_t i = 0; i < m->n_dies && !ret; i++)
		ret = cmx_die_submit(m->die[i], err);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < m->n_dies && !ret; i++)
		ret = cmx_die_wait(m->die[i], err);
	return ret == -EINTR ? ret : collect(m, ret, err);
}

int cmx_machine_stats(const struct cmx_machine *m, struct cmx_machine_stats *stats,
		      struct cmx_infer_err *err)
{
	struct drm_cmx_info_client c;
	int ret = cmx_client_info(m->ctx, &c);

	if (ret)
		return cmx_machine_fail(err, ret, "client info");
	*stats = (struct cmx_machine_stats){
		.moved_bytes = c.bytes, .now_ps = cmx_machine_now(m),
	};
	for (uint32_t i = 0; i < m->n_dies; i++)
		stats->launches += m->die[i]->launches;
	return 0;
}

uint64_t cmx_machine_now(const struct cmx_machine *m)
{
	uint64_t now = m->start_ps;

	for (uint32_t i = 0; i < m->n_dies; i++) {
		if (m->die[i]->now_ps > now)
			now = m->die[i]->now_ps;
	}
	return now;
}
