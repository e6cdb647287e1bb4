// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmx_json_output.h"
#include "cmx_monitor.h"
#include "cmx_part.h"
#include "cmx_stdout.h"

struct name {
	char text[2 * sizeof(struct cmx_part) + 4];
};

/* "n0.npu0.die0 - n0.plane3" of a link, else the part's own name. */
static struct name name_of(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event)
{
	const struct cmx_fabric_machine *m = &shape->machine;
	struct name name = { "" };
	struct cmx_part part;

	if (event->object == CMX_FABRIC_OBJ_LINK) {
		if (event->index < m->num_links)
			snprintf(name.text, sizeof(name.text), "%s - %s",
				 cmx_part_end(m, &shape->links[event->index].a).text,
				 cmx_part_end(m, &shape->links[event->index].b).text);
		return name;
	}
	if (event->object == CMX_FABRIC_OBJ_CHIP)
		part = cmx_part_chip(m, event->index);
	else if (event->object == CMX_FABRIC_OBJ_ENTITY)
		part = cmx_part_entity(m, event->index);
	else
		part = cmx_part_node(event->index);
	snprintf(name.text, sizeof(name.text), "%s", part.text);
	return name;
}

static void put_state(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event)
{
	printf("%s %u (%s) %s", cmx_part_object(event->object), event->index,
	       name_of(shape, event).text, event->up ? "up" : "down");
	if (event->object == CMX_FABRIC_OBJ_LINK && event->permille < 1000)
		printf(", %u permille", event->permille);
	printf(", state %u\n", event->generation);
}

static void put_error(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event)
{
	printf("error: a command of entity %u (%s) ended with status %u", event->index,
	       cmx_part_entity(&shape->machine, event->index).text, event->status);
	if (event->peer != UINT32_MAX)
		printf(" on the way to entity %u (%s)", event->peer,
		       cmx_part_entity(&shape->machine, event->peer).text);
	printf(" at %" PRIu64 " ps of virtual time\n", event->time_ps);
}

int cmx_monitor_print_text(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event)
{
	switch (event->type) {
	case CMX_FABRIC_EVENT_STATE:
		put_state(shape, event);
		break;
	case CMX_FABRIC_EVENT_ERROR:
		put_error(shape, event);
		break;
	case CMX_FABRIC_EVENT_PROFILE:
		printf("profile %s: another machine\n", event->profile);
		break;
	case CMX_FABRIC_EVENT_LOST:
		printf("lost: events are missing here\n");
		break;
	default:
		printf("event of type %u\n", event->type);
	}
	return cmx_stdout_flush("monitor");
}

static void add_state(json_t *object, const struct cmx_snapshot *shape,
		      const struct cmx_fabric_event *event)
{
	cmx_json_set_text(object, "object", cmx_part_object(event->object));
	cmx_json_set(object, "index", event->index);
	cmx_json_set_text(object, "name", name_of(shape, event).text);
	json_object_set_new(object, "up", json_boolean(event->up));
	if (event->object == CMX_FABRIC_OBJ_LINK)
		cmx_json_set(object, "permille", event->permille);
	cmx_json_set(object, "generation", event->generation);
}

static void add_error(json_t *object, const struct cmx_fabric_event *event)
{
	cmx_json_set(object, "entity", event->index);
	if (event->peer != UINT32_MAX)
		cmx_json_set(object, "peer", event->peer);
	cmx_json_set(object, "status", event->status);
	cmx_json_set(object, "time_ps", event->time_ps);
}

int cmx_monitor_print_json(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event)
{
	static const char * const types[] = {
		[CMX_FABRIC_EVENT_STATE] = "state",
		[CMX_FABRIC_EVENT_ERROR] = "error",
		[CMX_FABRIC_EVENT_PROFILE] = "profile",
		[CMX_FABRIC_EVENT_LOST] = "lost",
	};
	bool known = event->type && event->type < sizeof(types) / sizeof(types[0]);
	json_t *object = json_object();

	cmx_json_set_text(object, "event", known ? types[event->type] : "unknown");
	if (event->type == CMX_FABRIC_EVENT_STATE)
		add_state(object, shape, event);
	else if (event->type == CMX_FABRIC_EVENT_ERROR)
		add_error(object, event);
	else if (event->type == CMX_FABRIC_EVENT_PROFILE)
		cmx_json_set_text(object, "profile", event->profile);
	return cmx_json_print("monitor", object, JSON_COMPACT);
}
