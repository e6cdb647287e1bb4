// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"
#include "cmx_timeline_priv.h"

#define QUEUE_SLOTS	256

static int queue_check_objects(const struct cmx_ctx *ctx, const struct cmx_queue_desc *desc,
			       const struct cmx_timeline *timeline)
{
	if (timeline->ctx != ctx)
		return cmx_fail(-EINVAL, "timeline", timeline->handle, 0,
				"queue: a timeline of another context");
	if (!desc->cq)
		return cmx_fail(-EINVAL, "cq", 0, 0, "a queue needs a completion ring");
	if (desc->cq->ctx != ctx)
		return cmx_fail(-EINVAL, "cq", desc->cq->handle, 0,
				"queue: a completion ring of another context");
	if (desc->cq->timeline != timeline)
		return cmx_fail(-EINVAL, "cq", desc->cq->handle, 0,
				"queue: its clock is not its completion ring's");
	if (desc->rq && desc->rq->ctx != ctx)
		return cmx_fail(-EINVAL, "rq", desc->rq->handle, 0,
				"queue: a receive ring of another context");
	return 0;
}

static int queue_check(const struct cmx_queue_desc *desc)
{
	if (desc->flags & ~CMX_SUBMIT_LOCKED)
		return cmx_fail(-EINVAL, "flags", desc->flags, CMX_SUBMIT_LOCKED,
				"queue: unknown flags %#x", desc->flags);
	if (desc->reserved[0] || desc->reserved[1] || desc->reserved[2] || desc->reserved[3])
		return cmx_fail(-EINVAL, "reserved", 1, 0, "queue: a reserved field is not zero");
	return 0;
}

static int queue_create_handle(struct cmx_ctx *ctx, const struct cmx_queue_desc *desc,
			       struct cmx_timeline *timeline, struct drm_cmx_queue_create *create)
{
	bool ub = desc->queue_class == CMX_QUEUE_UB;

	*create = (struct drm_cmx_queue_create){
		.timeline = timeline->handle,
		.entity = desc->entity,
		.queue_class = desc->queue_class,
		.slots = desc->slots ? desc->slots : QUEUE_SLOTS,
		.cq = desc->cq->handle,
		.rq = desc->rq ? desc->rq->handle : 0,
		.ring_version = CMX_RING_VERSION,
		.cube_cores = desc->cube_cores,
		.vector_cores = desc->vector_cores,
		.trans_mode = ub && !desc->trans_mode ? UB_TM_RM : desc->trans_mode,
		.order_type = desc->order_type,
		.priority = desc->priority,
		.rnr_retry = desc->rnr_retry,
		.err_timeout = desc->err_timeout,
		.planes = desc->planes,
	};
	return cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_QUEUE_CREATE, create, "QUEUE_CREATE");
}

static int queue_map(struct cmx_queue_priv *priv, const struct drm_cmx_queue_create *create)
{
	struct cmx_queue *q = &priv->q;
	void *rw, *ro;
	int ret;

	ret = cmx_ctx_map_ring(q->ctx, create->rw_offset, create->rw_size, true,
			       "mapping a queue", &rw);
	if (ret)
		return ret;
	ret = cmx_ctx_map_ring(q->ctx, create->ro_offset, create->ro_size, false,
			       "mapping a queue's head", &ro);
	if (ret) {
		cmx_ctx_unmap_ring(rw, create->rw_size);
		return ret;
	}
	priv->rw_size = create->rw_size;
	priv->ro_size = create->ro_size;
	q->producer = rw;
	q->slots = (unsigned char *)rw + CMX_SLOT_SIZE;
	q->consumer = ro;
	return 0;
}

static void queue_init(struct cmx_queue_priv *priv, const struct cmx_queue_desc *desc,
		       struct cmx_timeline *timeline, const struct drm_cmx_queue_create *create)
{
	struct cmx_queue *q = &priv->q;

	q->ctx = timeline->ctx;
	q->timeline = timeline;
	q->cq = desc->cq;
	q->status = timeline->status;
	q->doorbell = &timeline->doorbells[create->doorbell / 64 % CMX_DOORBELL_WORDS];
	q->doorbell_bit = 1ull << (create->doorbell % 64);
	q->alive = q->ctx->alive;
	q->mask = create->slots - 1;
	q->flags = desc->flags;
	q->handle = create->handle;
	q->entity = desc->entity;
	q->queue_class = desc->queue_class;
	priv->cube_cores = desc->cube_cores ? desc->cube_cores : priv->entity.cube_cores;
	priv->vector_cores = desc->vector_cores ? desc->vector_cores : priv->entity.vector_cores;
	pthread_mutex_init(&priv->lock, NULL);
}

static void queue_free(struct cmx_queue_priv *priv)
{
	struct cmx_queue *q = &priv->q;

	cmx_ctx_unmap_ring(q->producer, priv->rw_size);
	cmx_ctx_unmap_ring(q->consumer, priv->ro_size);
	pthread_mutex_destroy(&priv->lock);
	free(priv);
}

int cmx_queue_create(struct cmx_ctx *ctx, const struct cmx_queue_desc *desc,
		     struct cmx_queue **out)
{
	struct cmx_timeline *timeline = desc->timeline ? desc->timeline : ctx->timeline;
	struct drm_cmx_queue_create create;
	struct cmx_queue_priv *priv;
	int ret = queue_check_objects(ctx, desc, timeline);

	if (!ret)
		ret = queue_check(desc);
	if (ret)
		return ret;
	priv = calloc(1, sizeof(*priv));
	if (!priv)
		return cmx_fail_call(-ENOMEM, "cmx_queue_create");
	ret = cmx_entity_info(ctx, desc->entity, &priv->entity);
	if (ret)
		goto err_free;
	ret = queue_create_handle(ctx, desc, timeline, &create);
	if (ret)
		goto err_free;
	queue_init(priv, desc, timeline, &create);
	ret = queue_map(priv, &create);
	if (ret)
		goto err_destroy;
	cmx_ctx_link(ctx, &ctx->queues, &priv->node);
	*out = &priv->q;
	return 0;

err_destroy:
	cmx_ctx_destroy_handle(ctx, CMX_OBJECT_QUEUE, create.handle);
	pthread_mutex_destroy(&priv->lock);
err_free:
	free(priv);
	return ret;
}

int cmx_queue_destroy(struct cmx_queue *queue)
{
	int ret;

	if (!queue)
		return 0;
	ret = cmx_ctx_destroy_handle(queue->ctx, CMX_OBJECT_QUEUE, queue->handle);
	if (ret)
		return ret;
	cmx_ctx_unlink(queue->ctx, &cmx_queue_priv(queue)->node);
	queue_free(cmx_queue_priv(queue));
	return 0;
}

void cmx_queues_close(struct cmx_ctx *ctx)
{
	while (!cmx_list_empty(&ctx->queues)) {
		struct cmx_queue_priv *priv =
			cmx_container(ctx->queues.next, struct cmx_queue_priv, node);

		cmx_list_del(&priv->node);
		queue_free(priv);
	}
}

int cmx_queue_query(struct cmx_queue *queue, struct drm_cmx_queue_query *query, size_t size)
{
	struct drm_cmx_queue_query own = { .handle = queue->handle };
	int ret = cmx_ctx_ioctl(queue->ctx, DRM_IOCTL_CMX_QUEUE_QUERY, &own, "QUEUE_QUERY");

	if (ret)
		return ret;
	memset(query, 0, size);
	memcpy(query, &own, size < sizeof(own) ? size : sizeof(own));
	return 0;
}

int cmx_queue_set_state(struct cmx_queue *queue, uint32_t state)
{
	struct drm_cmx_queue_set_state set = { .handle = queue->handle, .state = state };

	return cmx_ctx_ioctl(queue->ctx, DRM_IOCTL_CMX_QUEUE_SET_STATE, &set, "QUEUE_SET_STATE");
}

int cmx_queue_wake(struct cmx_queue *queue)
{
	return cmx_timeline_wake(queue->timeline);
}
