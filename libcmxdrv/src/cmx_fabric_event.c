// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

/* Room for what comes while the listener is busy; without rights the system allows less. */
#define EVENT_BUFFER	(4 << 20)

/* Larger than any message with events. */
#define READ_SIZE	16384

/* --------------------------------------------------------------------- subscription */

static void grow_buffer(int fd)
{
	int size = EVENT_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int open_events(struct cmx_fabric *fabric)
{
	int ret;

	if (fabric->events)
		return 0;
	fabric->events = nl_socket_alloc();
	if (!fabric->events)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_subscribe");
	ret = genl_connect(fabric->events);
	if (!ret) {
		grow_buffer(nl_socket_get_fd(fabric->events));
		return 0;
	}
	nl_socket_free(fabric->events);
	fabric->events = NULL;
	return cmx_fail(-EIO, NULL, 0, 0, "netlink: %s", nl_geterror(ret));
}

static int join_group(struct cmx_fabric *fabric, const char *name)
{
	int group = genl_ctrl_resolve_grp(fabric->sock, CMX_FAMILY_NAME, name);
	int ret = group;

	if (group >= 0)
		ret = nl_socket_add_memberships(fabric->events, group, 0);
	if (ret < 0)
		return cmx_fail(-EIO, "groups", 0, 0, "the event group %s: %s", name,
				nl_geterror(ret));
	return 0;
}

int cmx_fabric_subscribe(struct cmx_fabric *fabric, uint32_t groups)
{
	static const char *const names[] = { "link", "entity", "error" };
	int ret;

	if (!groups || groups & ~CMX_FABRIC_EVENTS_ALL)
		return cmx_fail(-EINVAL, "groups", groups, CMX_FABRIC_EVENTS_ALL,
				"groups %#x: some of %#x", groups, CMX_FABRIC_EVENTS_ALL);
	ret = open_events(fabric);
	for (uint32_t i = 0; !ret && i < COUNT(names); i++) {
		if (groups & (1U << i))
			ret = join_group(fabric, names[i]);
	}
	return ret;
}

int cmx_fabric_fd(const struct cmx_fabric *fabric)
{
	return fabric->events ? nl_socket_get_fd(fabric->events) : -1;
}

/* -------------------------------------------------------------------------- events */

static int read_state(struct cmx_fabric_event *event, struct nlmsghdr *hdr)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(STATE, PART, cmx_fabric_event, object),
		CMX_NL_FIELD(STATE, INDEX, cmx_fabric_event, index),
		CMX_NL_FIELD(STATE, UP, cmx_fabric_event, up),
		CMX_NL_FIELD(STATE, PERMILLE, cmx_fabric_event, permille),
		CMX_NL_FIELD(STATE, GENERATION, cmx_fabric_event, generation),
	};
	struct nlattr *attrs[CMX_A_STATE_MAX + 1];

	if (genlmsg_parse(hdr, 0, attrs, CMX_A_STATE_MAX, NULL))
		return -EBADMSG;
	event->type = CMX_FABRIC_EVENT_STATE;
	cmx_nl_read(event, attrs, fields, COUNT(fields));
	return 0;
}

static int read_error(struct cmx_fabric_event *event, struct nlmsghdr *hdr)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(ERROR, ENTITY, cmx_fabric_event, index),
		CMX_NL_FIELD(ERROR, PEER, cmx_fabric_event, peer),
		CMX_NL_FIELD(ERROR, STATUS, cmx_fabric_event, status),
		CMX_NL_FIELD(ERROR, TIME_PS, cmx_fabric_event, time_ps),
	};
	struct nlattr *attrs[CMX_A_ERROR_MAX + 1];

	if (genlmsg_parse(hdr, 0, attrs, CMX_A_ERROR_MAX, NULL))
		return -EBADMSG;
	event->type = CMX_FABRIC_EVENT_ERROR;
	event->peer = UINT32_MAX;
	cmx_nl_read(event, attrs, fields, COUNT(fields));
	return 0;
}

static int read_profile(struct cmx_fabric_event *event, struct nlmsghdr *hdr)
{
	struct nlattr *attrs[CMX_A_PROFILE_MAX + 1];

	if (genlmsg_parse(hdr, 0, attrs, CMX_A_PROFILE_MAX, NULL))
		return -EBADMSG;
	event->type = CMX_FABRIC_EVENT_PROFILE;
	cmx_nl_text(event->profile, sizeof(event->profile), attrs[CMX_A_PROFILE_NAME]);
	return 0;
}

/* Events of a newer module that this library does not know are passed over. */
static int read_event(struct cmx_fabric_event *event, struct nlmsghdr *hdr)
{
	const struct genlmsghdr *header = nlmsg_data(hdr);

	if (!genlmsg_valid_hdr(hdr, 0))
		return -EBADMSG;
	switch (header->cmd) {
	case CMX_CMD_LINK_NTF:
	case CMX_CMD_ENTITY_NTF:
		return read_state(event, hdr);
	case CMX_CMD_ERROR_NTF:
		return read_error(event, hdr);
	case CMX_CMD_PROFILE_NTF:
		return read_profile(event, hdr);
	default:
		return -EBADMSG;
	}
}

static struct cmx_fabric_event *queue_add(struct cmx_fabric *fabric)
{
	size_t size = fabric->queue_size ? 2 * fabric->queue_size : 16;
	struct cmx_fabric_event *queue;

	if (fabric->num_queued == fabric->queue_size) {
		queue = reallocarray(fabric->queue, size, sizeof(*queue));
		if (!queue)
			return NULL;
		fabric->queue = queue;
		fabric->queue_size = size;
	}
	queue = &fabric->queue[fabric->num_queued++];
	*queue = (struct cmx_fabric_event){ 0 };
	return queue;
}

static int queue_messages(struct cmx_fabric *fabric, void *bytes, int len)
{
	struct nlmsghdr *hdr = bytes;
	struct cmx_fabric_event *event;

	for (; nlmsg_ok(hdr, len); hdr = nlmsg_next(hdr, &len)) {
		if (hdr->nlmsg_type != fabric->family)
			continue;
		event = queue_add(fabric);
		if (!event)
			return cmx_fail_call(-ENOMEM, "cmx_fabric_next_event");
		if (read_event(event, hdr))
			fabric->num_queued--;
	}
	return 0;
}

/* 1: something was read, 0: nothing is there. */
static int receive(struct cmx_fabric *fabric)
{
	char bytes[READ_SIZE] __attribute__((aligned(8)));
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	struct cmx_fabric_event *lost;
	ssize_t len;
	int ret;

	len = recvfrom(nl_socket_get_fd(fabric->events), bytes, sizeof(bytes), MSG_DONTWAIT,
		       (struct sockaddr *)&from, &from_len);
	if (len < 0 && errno == ENOBUFS) {
		lost = queue_add(fabric);
		if (!lost)
			return cmx_fail_call(-ENOMEM, "cmx_fabric_next_event");
		lost->type = CMX_FABRIC_EVENT_LOST;
		return 1;
	}
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : cmx_fail_call(-errno, "events");
	/* Anybody may send to our port; only what the kernel sent is an event. */
	if (from.nl_pid)
		return 1;
	ret = queue_messages(fabric, bytes, (int)len);
	return ret ? ret : 1;
}

int cmx_fabric_next_event(struct cmx_fabric *fabric, struct cmx_fabric_event *event)
{
	int ret;

	if (!fabric->events)
		return cmx_fail(-EINVAL, NULL, 0, 0, "no events were subscribed to");
	while (fabric->next == fabric->num_queued) {
		fabric->next = 0;
		fabric->num_queued = 0;
		ret = receive(fabric);
		if (ret <= 0)
			return ret;
	}
	*event = fabric->queue[fabric->next++];
	return 1;
}
