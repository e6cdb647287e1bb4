// SPDX-License-Identifier: MIT
#include <errno.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_timeline_priv.h"

#define ACTOR_BINDINGS	8

/* Which actor this thread is, on the timelines where it is not number 0. */
static __thread struct actor_binding {
	uint64_t timeline;	/* struct cmx_timeline.id, 0: free */
	uint32_t actor;
} bindings[ACTOR_BINDINGS];

static struct actor_binding *binding_find(uint64_t timeline)
{
	for (int i = 0; i < ACTOR_BINDINGS; i++) {
		if (bindings[i].timeline == timeline)
			return &bindings[i];
	}
	return NULL;
}

uint32_t cmx_actor_current(const struct cmx_timeline *timeline)
{
	const struct actor_binding *binding = binding_find(timeline->id);

	return binding ? binding->actor : 0;
}

int cmx_actor_add(struct cmx_timeline *timeline, uint32_t *actor)
{
	struct drm_cmx_actor add = { .timeline = timeline->handle, .op = CMX_ACTOR_ADD };
	int ret = cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_ACTOR, &add, "ACTOR");

	if (!ret)
		*actor = add.actor;
	return ret;
}

int cmx_actor_bind(struct cmx_timeline *timeline, uint32_t actor)
{
	struct actor_binding *binding = binding_find(timeline->id);

	if (!actor) {
		if (binding)
			binding->timeline = 0;
		return 0;
	}
	if (!binding)
		binding = binding_find(0);
	if (!binding)
		return cmx_fail(-ENOSPC, "timeline", ACTOR_BINDINGS + 1, ACTOR_BINDINGS,
				"the thread is an actor of %d timelines already", ACTOR_BINDINGS);
	binding->timeline = timeline->id;
	binding->actor = actor;
	return 0;
}

int cmx_actor_remove(struct cmx_timeline *timeline, uint32_t actor)
{
	struct drm_cmx_actor remove = {
		.timeline = timeline->handle,
		.op = CMX_ACTOR_REMOVE,
		.actor = actor,
	};
	int ret = cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_ACTOR, &remove, "ACTOR");

	if (!ret && actor && cmx_actor_current(timeline) == actor)
		cmx_actor_bind(timeline, 0);
	return ret;
}
