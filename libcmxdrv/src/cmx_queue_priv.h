/* SPDX-License-Identifier: MIT */
/*
 * Inside of a queue.
 */
#ifndef CMX_QUEUE_PRIV_H
#define CMX_QUEUE_PRIV_H

#include <pthread.h>

#include <cmx/queue.h>

#include "cmx_list.h"

struct cmx_queue_priv {
	struct cmx_queue q;
	struct cmx_list node;
	uint64_t rw_size, ro_size;
	/* Serialises pushing and submitting with CMX_SUBMIT_LOCKED. */
	pthread_mutex_t lock;
	/* For bounds: the entity's full rates, and the queue's share of its cores. */
	struct drm_cmx_info_entity entity;
	uint32_t cube_cores, vector_cores;
};

static inline struct cmx_queue_priv *cmx_queue_priv(const struct cmx_queue *queue)
{
	return cmx_container(queue, struct cmx_queue_priv, q);
}

#endif /* CMX_QUEUE_PRIV_H */
