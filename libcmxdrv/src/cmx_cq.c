// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_timeline_priv.h"

struct cq_priv {
	struct cmx_cq cq;
	struct cmx_list node;
	uint64_t ro_size, rw_size;
};

static struct cq_priv *to_priv(struct cmx_cq *cq)
{
	return cmx_container(cq, struct cq_priv, cq);
}

static int cq_map(struct cq_priv *priv, const struct drm_cmx_cq_create *create)
{
	struct cmx_cq *cq = &priv->cq;
	void *ro, *rw;
	int ret;

	ret = cmx_ctx_map_ring(cq->ctx, create->ro_offset, create->ro_size, false,
			       "mapping completions", &ro);
	if (ret)
		return ret;
	ret = cmx_ctx_map_ring(cq->ctx, create->rw_offset, create->rw_size, true,
			       "mapping a completion ring's head", &rw);
	if (ret) {
		cmx_ctx_unmap_ring(ro, create->ro_size);
		return ret;
	}
	priv->ro_size = create->ro_size;
	priv->rw_size = create->rw_size;
	cq->producer = ro;
	cq->entries = (const struct cmx_cqe *)((const char *)ro + CMX_SLOT_SIZE);
	cq->consumer = rw;
	return 0;
}

static void cq_free(struct cq_priv *priv)
{
	struct cmx_cq *cq = &priv->cq;

	cmx_ctx_unmap_ring(cq->producer, priv->ro_size);
	cmx_ctx_unmap_ring(cq->consumer, priv->rw_size);
	free(priv);
}

int cmx_cq_create(struct cmx_ctx *ctx, struct cmx_timeline *timeline, uint32_t entries,
		  uint32_t policy, struct cmx_cq **out)
{
	struct drm_cmx_cq_create create = { .entries = entries, .policy = policy };
	struct cq_priv *priv;
	int ret;

	if (timeline && timeline->ctx != ctx)
		return cmx_fail(-EINVAL, "timeline", timeline->handle, 0,
				"completion ring: a timeline of another context");
	priv = calloc(1, sizeof(*priv));
	if (!priv)
		return cmx_fail_call(-ENOMEM, "cmx_cq_create");
	ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_CQ_CREATE, &create, "CQ_CREATE");
	if (ret)
		goto err_free;
	priv->cq.ctx = ctx;
	priv->cq.timeline = timeline ? timeline : ctx->timeline;
	priv->cq.alive = ctx->alive;
	priv->cq.mask = entries - 1;
	priv->cq.policy = policy;
	priv->cq.handle = create.handle;
	ret = cq_map(priv, &create);
	if (ret)
		goto err_destroy;
	cmx_ctx_link(ctx, &ctx->cqs, &priv->node);
	*out = &priv->cq;
	return 0;

err_destroy:
	cmx_ctx_destroy_handle(ctx, CMX_OBJECT_CQ, create.handle);
err_free:
	free(priv);
	return ret;
}

int cmx_cq_destroy(struct cmx_cq *cq)
{
	int ret;

	if (!cq)
		return 0;
	ret = cmx_ctx_destroy_handle(cq->ctx, CMX_OBJECT_CQ, cq->handle);
	if (ret)
		return ret;
	cmx_ctx_unlink(cq->ctx, &to_priv(cq)->node);
	cq_free(to_priv(cq));
	return 0;
}

void cmx_cqs_close(struct cmx_ctx *ctx)
{
	while (!cmx_list_empty(&ctx->cqs)) {
		struct cq_priv *priv = cmx_container(ctx->cqs.next, struct cq_priv, node);

		cmx_list_del(&priv->node);
		cq_free(priv);
	}
}

int cmx_cq_poll_help(struct cmx_cq *cq)
{
	struct cmx_wait_opts opts = { .timeline = cq->timeline };

	return cmx_wait_progress(cq->ctx, &opts);
}
