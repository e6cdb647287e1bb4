// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_timeline_priv.h"

#define RQ_SLOTS	64

struct rq_priv {
	struct cmx_rq rq;
	struct cmx_list node;
	uint64_t ro_size, rw_size;
};

static struct rq_priv *to_priv(struct cmx_rq *rq)
{
	return cmx_container(rq, struct rq_priv, rq);
}

static int rq_map(struct rq_priv *priv, const struct drm_cmx_rq_create *create)
{
	struct cmx_rq *rq = &priv->rq;
	void *ro, *rw;
	int ret;

	ret = cmx_ctx_map_ring(rq->ctx, create->rw_offset, create->rw_size, true,
			       "mapping a receive ring", &rw);
	if (ret)
		return ret;
	ret = cmx_ctx_map_ring(rq->ctx, create->ro_offset, create->ro_size, false,
			       "mapping a receive ring's head", &ro);
	if (ret) {
		cmx_ctx_unmap_ring(rw, create->rw_size);
		return ret;
	}
	priv->ro_size = create->ro_size;
	priv->rw_size = create->rw_size;
	rq->producer = rw;
	rq->slots = (struct cmx_rq_entry *)((char *)rw + CMX_SLOT_SIZE);
	rq->consumer = ro;
	return 0;
}

static void rq_free(struct rq_priv *priv)
{
	struct cmx_rq *rq = &priv->rq;

	cmx_ctx_unmap_ring(rq->producer, priv->rw_size);
	cmx_ctx_unmap_ring(rq->consumer, priv->ro_size);
	free(priv);
}

static int rq_check(const struct cmx_ctx *ctx, const struct cmx_rq_desc *desc)
{
	if (!desc->cq)
		return cmx_fail(-EINVAL, "cq", 0, 0, "a receive ring needs a completion ring");
	if (desc->cq->ctx != ctx)
		return cmx_fail(-EINVAL, "cq", desc->cq->handle, 0,
				"receive ring: a completion ring of another context");
	if (desc->pad || desc->reserved[0] || desc->reserved[1] || desc->reserved[2] ||
	    desc->reserved[3])
		return cmx_fail(-EINVAL, "reserved", 1, 0,
				"receive ring: a reserved field is not zero");
	return 0;
}

static int rq_create_handle(struct cmx_ctx *ctx, const struct cmx_rq_desc *desc,
			    struct drm_cmx_rq_create *create)
{
	*create = (struct drm_cmx_rq_create){
		.slots = desc->slots ? desc->slots : RQ_SLOTS,
		.cq = desc->cq->handle,
		.limit = desc->limit,
		.token_policy = desc->token_policy,
		.token = desc->token,
		.entity = desc->entity,
	};
	return cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_RQ_CREATE, create, "RQ_CREATE");
}

int cmx_rq_create(struct cmx_ctx *ctx, const struct cmx_rq_desc *desc, struct cmx_rq **out)
{
	struct drm_cmx_rq_create create;
	struct rq_priv *priv;
	int ret = rq_check(ctx, desc);

	if (ret)
		return ret;
	priv = calloc(1, sizeof(*priv));
	if (!priv)
		return cmx_fail_call(-ENOMEM, "cmx_rq_create");
	ret = rq_create_handle(ctx, desc, &create);
	if (ret)
		goto err_free;
	priv->rq.ctx = ctx;
	priv->rq.cq = desc->cq;
	priv->rq.status = desc->cq->timeline->status;
	priv->rq.alive = ctx->alive;
	priv->rq.mask = create.slots - 1;
	priv->rq.handle = create.handle;
	ret = rq_map(priv, &create);
	if (ret)
		goto err_destroy;
	cmx_ctx_link(ctx, &ctx->rqs, &priv->node);
	*out = &priv->rq;
	return 0;

err_destroy:
	cmx_ctx_destroy_handle(ctx, CMX_OBJECT_RQ, create.handle);
err_free:
	free(priv);
	return ret;
}

int cmx_rq_destroy(struct cmx_rq *rq)
{
	int ret;

	if (!rq)
		return 0;
	ret = cmx_ctx_destroy_handle(rq->ctx, CMX_OBJECT_RQ, rq->handle);
	if (ret)
		return ret;
	cmx_ctx_unlink(rq->ctx, &to_priv(rq)->node);
	rq_free(to_priv(rq));
	return 0;
}

void cmx_rqs_close(struct cmx_ctx *ctx)
{
	while (!cmx_list_empty(&ctx->rqs)) {
		struct rq_priv *priv = cmx_container(ctx->rqs.next, struct rq_priv, node);

		cmx_list_del(&priv->node);
		rq_free(priv);
	}
}

int cmx_rq_wake(struct cmx_rq *rq)
{
	return cmx_timeline_wake(rq->cq->timeline);
}
