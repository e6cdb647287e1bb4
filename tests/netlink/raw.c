// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"

#define ALIGN4(n)	(((n) + 3U) & ~3U)

/* ------------------------------------------------------------------------ requests */

void raw_begin(struct raw *raw, struct raw_request *req, uint8_t cmd, uint16_t flags)
{
	memset(req, 0, sizeof(*req));
	req->hdr.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	req->hdr.nlmsg_type = raw->family;
	req->hdr.nlmsg_flags = NLM_F_REQUEST | flags;
	req->hdr.nlmsg_seq = ++raw->seq;
	req->genl.cmd = cmd;
	req->genl.version = CMX_FAMILY_VERSION;
}

void raw_put(struct raw_request *req, uint16_t type, const void *data, uint16_t len)
{
	struct nlattr *attr = (struct nlattr *)((char *)req + req->hdr.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = (uint16_t)(NLA_HDRLEN + len);
	if (len)
		memcpy(attr + 1, data, len);
	req->hdr.nlmsg_len += ALIGN4(NLA_HDRLEN + len);
}

void raw_put_u32(struct raw_request *req, uint16_t type, uint32_t value)
{
	raw_put(req, type, &value, sizeof(value));
}

void raw_put_u64(struct raw_request *req, uint16_t type, uint64_t value)
{
	raw_put(req, type, &value, sizeof(value));
}

struct nlattr *raw_find(struct raw_request *req, uint16_t type)
{
	uint32_t at = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlattr *attr;

	for (; at < req->hdr.nlmsg_len; at += ALIGN4(attr->nla_len)) {
		attr = (struct nlattr *)((char *)req + at);
		if (attr->nla_type == type)
			return attr;
	}
	return NULL;
}

void raw_remove(struct raw_request *req, uint16_t type)
{
	struct nlattr *attr = raw_find(req, type);
	char *end = (char *)req + req->hdr.nlmsg_len;
	uint32_t len;

	if (!attr)
		return;
	len = ALIGN4(attr->nla_len);
	memmove(attr, (char *)attr + len, (size_t)(end - (char *)attr) - len);
	req->hdr.nlmsg_len -= len;
}

/* ------------------------------------------------------------------------- answers */

static const struct nlattr *attr_next(const struct nlattr *attr, int *len)
{
	int step = (int)ALIGN4(attr->nla_len);

	*len -= step;
	return (const struct nlattr *)((const char *)attr + step);
}

static bool attr_ok(const struct nlattr *attr, int len)
{
	return len >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr) && attr->nla_len <= len;
}

uint64_t raw_get(const struct nlattr *attrs, int len, uint16_t type, uint64_t otherwise)
{
	uint32_t value32;
	uint64_t value;

	for (; attr_ok(attrs, len); attrs = attr_next(attrs, &len)) {
		if ((attrs->nla_type & NLA_TYPE_MASK) != type)
			continue;
		if (attrs->nla_len - NLA_HDRLEN == sizeof(value)) {
			memcpy(&value, attrs + 1, sizeof(value));
			return value;
		}
		memcpy(&value32, attrs + 1, sizeof(value32));
		return value32;
	}
	return otherwise;
}

static void take_text(struct raw *raw, const struct nlmsghdr *hdr, uint32_t skip)
{
	const struct nlattr *attr = (const struct nlattr *)((const char *)NLMSG_DATA(hdr) + skip);
	int len = (int)hdr->nlmsg_len - NLMSG_HDRLEN - (int)skip;

	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	for (; attr_ok(attr, len); attr = attr_next(attr, &len)) {
		if (attr->nla_type == NLMSGERR_ATTR_MSG)
			strncpy(raw->text, (const char *)(attr + 1), sizeof(raw->text) - 1);
		if (attr->nla_type == NLMSGERR_ATTR_MISS_TYPE)
			memcpy(&raw->missing, attr + 1, sizeof(raw->missing));
	}
}

/* 1: goes on, else how it ended. */
static int take_message(struct raw *raw, const struct nlmsghdr *hdr, raw_take_t take, void *arg)
{
	const struct nlmsgerr *err = NLMSG_DATA(hdr);
	uint32_t skip = sizeof(*err);
	int code = 0;

	raw->interrupted |= hdr->nlmsg_flags & NLM_F_DUMP_INTR;
	if (hdr->nlmsg_type == NLMSG_ERROR) {
		if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
			skip += err->msg.nlmsg_len - NLMSG_HDRLEN;
		take_text(raw, hdr, ALIGN4(skip));
		return err->error;
	}
	if (hdr->nlmsg_type == NLMSG_DONE) {
		memcpy(&code, NLMSG_DATA(hdr), sizeof(code));
		take_text(raw, hdr, sizeof(code));
		return code;
	}
	raw->messages++;
	if (take)
		take((const struct nlattr *)((const char *)NLMSG_DATA(hdr) + GENL_HDRLEN),
		     (int)hdr->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, arg);
	return 1;
}

int raw_read(struct raw *raw, raw_take_t take, void *arg)
{
	/* The module fills what is asked for: a small one makes a dump take many calls. */
	char bytes[8192] __attribute__((aligned(8)));
	const struct nlmsghdr *hdr = (const struct nlmsghdr *)bytes;
	ssize_t got = recv(raw->fd, bytes, sizeof(bytes), 0);
	uint32_t len;
	int ret = 1;

	if (got < 0)
		return -errno;
	for (len = (uint32_t)got; NLMSG_OK(hdr, len); hdr = NLMSG_NEXT(hdr, len))
		ret = take_message(raw, hdr, take, arg);
	return ret;
}

int raw_send(struct raw *raw, const struct raw_request *req)
{
	raw->messages = 0;
	raw->interrupted = false;
	raw->missing = 0;
	memset(raw->text, 0, sizeof(raw->text));
	return send(raw->fd, req, req->hdr.nlmsg_len, 0) < 0 ? -errno : 0;
}

int raw_call(struct raw *raw, const struct raw_request *req, raw_take_t take, void *arg)
{
	int ret = raw_send(raw, req);

	if (ret)
		return ret;
	do
		ret = raw_read(raw, take, arg);
	while (ret == 1);
	return ret;
}

/* ---------------------------------------------------------------------- connection */

static void take_family(const struct nlattr *attrs, int len, void *arg)
{
	const struct nlattr *attr = attrs;

	for (; attr_ok(attr, len); attr = attr_next(attr, &len)) {
		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(arg, attr + 1, sizeof(uint16_t));
	}
}

int raw_open(struct raw *raw)
{
	struct raw_request req;
	uint16_t family = 0;
	int on = 1, ret;

	memset(raw, 0, sizeof(*raw));
	raw->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (raw->fd < 0)
		return -errno;
	setsockopt(raw->fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	raw->family = GENL_ID_CTRL;
	raw_begin(raw, &req, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	raw_put(&req, CTRL_ATTR_FAMILY_NAME, CMX_FAMILY_NAME, sizeof(CMX_FAMILY_NAME));
	ret = raw_call(raw, &req, take_family, &family);
	raw->family = family;
	if (ret)
		raw_close(raw);
	return ret;
}

void raw_close(struct raw *raw)
{
	close(raw->fd);
	raw->fd = -1;
}

/* An attribute that is looked for. */
struct wanted {
	uint16_t type;
	uint64_t value;
};

static void take_wanted(const struct nlattr *attrs, int len, void *arg)
{
	struct wanted *wanted = arg;

	wanted->value = raw_get(attrs, len, wanted->type, UINT64_MAX);
}

uint64_t raw_machine(struct raw *raw, uint16_t type)
{
	struct wanted wanted = { .type = type, .value = UINT64_MAX };
	struct raw_request req;

	raw_begin(raw, &req, CMX_CMD_MACHINE_GET, NLM_F_ACK);
	return raw_call(raw, &req, take_wanted, &wanted) ? UINT64_MAX : wanted.value;
}

int raw_set(struct raw *raw, uint8_t cmd, uint32_t index, uint32_t up)
{
	struct raw_request req;

	raw_begin(raw, &req, cmd, NLM_F_ACK);
	switch (cmd) {
	case CMX_CMD_LINK_SET:
		raw_put_u32(&req, CMX_A_LINK_INDEX, index);
		raw_put_u32(&req, CMX_A_LINK_UP, up);
		break;
	case CMX_CMD_CHIP_SET:
		raw_put_u32(&req, CMX_A_CHIP_INDEX, index);
		raw_put_u32(&req, CMX_A_CHIP_UP, up);
		break;
	case CMX_CMD_ENTITY_SET:
		raw_put_u32(&req, CMX_A_ENTITY_INDEX, index);
		raw_put_u32(&req, CMX_A_ENTITY_UP, up);
		break;
	default:
		raw_put_u32(&req, CMX_A_NODE_INDEX, index);
		raw_put_u32(&req, CMX_A_NODE_UP, up);
		break;
	}
	return raw_call(raw, &req, NULL, NULL);
}

static void take_constants(const struct nlattr *attrs, int len, void *arg)
{
	for (; attr_ok(attrs, len); attrs = attr_next(attrs, &len)) {
		if (attrs->nla_len == NLA_HDRLEN + sizeof(uint64_t))
			raw_put(arg, attrs->nla_type, attrs + 1, sizeof(uint64_t));
	}
}

int raw_profile(struct raw *raw, struct raw_request *req, const char *name, uint32_t nodes)
{
	struct raw_request get;

	raw_begin(raw, &get, CMX_CMD_PROFILE_GET, NLM_F_ACK);
	raw_begin(raw, req, CMX_CMD_PROFILE_SET, NLM_F_ACK);
	raw_put(req, CMX_A_PROFILE_NAME, name, (uint16_t)(strlen(name) + 1));
	raw_put_u32(req, CMX_A_PROFILE_USE_NODES, nodes);
	return raw_call(raw, &get, take_constants, req);
}

uint32_t raw_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}
