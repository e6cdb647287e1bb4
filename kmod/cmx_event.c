// SPDX-License-Identifier: GPL-2.0-only
/* Events: posted by the run loop, taken by DRM_IOCTL_CMX_EVENTS, announced by poll(). */
#include <linux/slab.h>

#include "cmx_array.h"
#include "cmx_event.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"

void cmx_event_list_init(struct cmx_event_list *list)
{
	spin_lock_init(&list->lock);
	init_waitqueue_head(&list->wait);
}

void cmx_event_post(struct cmx_file *file, u32 type, u32 object, u32 code, u64 time_ps, u64 value)
{
	struct cmx_event_list *list = &file->events;
	struct cmx_event event = {
		.type = type,
		.object = object,
		.code = code,
		.time_ps = time_ps,
		.value = value,
	};

	spin_lock(&list->lock);
	if (list->tail - list->head < CMX_MAX_EVENTS) {
		list->ring[list->tail++ % CMX_MAX_EVENTS] = event;
	} else {
		list->lost++;
		list->lost_total++;
	}
	spin_unlock(&list->lock);
	wake_up_all(&list->wait);
}

/* Take up to @max events into @events; the lost count comes with them. */
static u32 cmx_event_take(struct cmx_event_list *list, struct cmx_event *events, u32 max, u64 *lost)
{
	u32 i, n;

	spin_lock(&list->lock);
	n = min(max, list->tail - list->head);
	for (i = 0; i < n; i++)
		events[i] = list->ring[list->head++ % CMX_MAX_EVENTS];
	*lost = list->lost;
	list->lost = 0;
	spin_unlock(&list->lock);
	return n;
}

/* Events that were taken and could not be told are lost, and counted so. */
static void cmx_event_untold(struct cmx_event_list *list, u64 lost, u32 untold)
{
	spin_lock(&list->lock);
	list->lost += lost + untold;
	list->lost_total += untold;
	spin_unlock(&list->lock);
	wake_up_all(&list->wait);
}

int cmx_ioctl_events(struct cmx_file *file, void *data)
{
	struct drm_cmx_events *args = data;
	struct cmx_event *events;
	u32 max, n, i;
	int err;

	err = cmx_check_zero(file, "flags", args->flags) ?:
	      cmx_check_zero(file, "pad", args->pad) ?:
	      cmx_array_check(file, "events.stride", &args->events, sizeof(*events));
	if (err)
		return err;

	max = min_t(u32, args->events.count, CMX_MAX_EVENTS);
	events = kvmalloc_array(max ?: 1, sizeof(*events), GFP_KERNEL_ACCOUNT);
	if (!events)
		return -ENOMEM;

	n = cmx_event_take(&file->events, events, max, &args->lost);
	for (i = 0; i < n && !err; i++)
		err = cmx_array_put(&args->events, i, &events[i], sizeof(*events));
	if (err)
		cmx_event_untold(&file->events, args->lost, n - (i - 1));
	args->events.count = n;
	kvfree(events);
	return err;
}
