// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"

/* A message of a dump is as large as the buffer it is read with, up to this. */
#define BUFFER_SIZE	32768

/* Lists are taken anew so often before one with rows of different moments is returned. */
#define TRIES		8

/* What a call is waiting for, and has seen. */
struct call {
	cmx_fabric_take_t take;
	void *arg;
	int max;
	uint8_t cmd;
	bool done, interrupted;
	int error;
};

static int fail_nl(int nl_error, const char *what)
{
	int code = -EIO;

	switch (-nl_error) {
	case NLE_NOMEM:
		code = -ENOMEM;
		break;
	case NLE_PERM:
	case NLE_NOACCESS:
		code = -EPERM;
		break;
	case NLE_INTR:
		code = -EINTR;
		break;
	default:
		break;
	}
	return cmx_fail(code, NULL, 0, 0, "%s: %s", what, nl_geterror(nl_error));
}

/* ------------------------------------------------------------------------ refusals */

/* What the kernel says of a refused request. */
struct refusal {
	const char *text;
	const char *field;
	uint64_t value, min, max;
	bool has_value, has_min, has_max;
};

/* The attribute at @offset of the request that was sent back behind @err. */
static void refusal_attr(struct refusal *refusal, const struct nlmsgerr *err, uint8_t cmd,
			 uint32_t offset)
{
	const struct nlattr *attr = (const void *)((const char *)&err->msg + offset);

	if (offset < NLMSG_HDRLEN + GENL_HDRLEN || offset > err->msg.nlmsg_len ||
	    !nla_ok(attr, (int)(err->msg.nlmsg_len - offset)))
		return;
	refusal->field = cmx_fabric_attr_name(cmd, nla_type(attr));
	if (nla_len(attr) == sizeof(uint32_t))
		refusal->value = nla_get_u32(attr);
	else if (nla_len(attr) == sizeof(uint64_t))
		refusal->value = nla_get_u64(attr);
	refusal->has_value = nla_len(attr) == sizeof(uint32_t) ||
			     nla_len(attr) == sizeof(uint64_t);
}

static void refusal_policy(struct refusal *refusal, struct nlattr *policy)
{
	struct nlattr *attrs[NL_POLICY_TYPE_ATTR_MAX + 1];

	if (nla_parse_nested(attrs, NL_POLICY_TYPE_ATTR_MAX, policy, NULL))
		return;
	if (attrs[NL_POLICY_TYPE_ATTR_MIN_VALUE_U] &&
	    nla_len(attrs[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]) == sizeof(uint64_t)) {
		refusal->min = nla_get_u64(attrs[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]);
		refusal->has_min = true;
	}
	if (attrs[NL_POLICY_TYPE_ATTR_MAX_VALUE_U] &&
	    nla_len(attrs[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]) == sizeof(uint64_t)) {
		refusal->max = nla_get_u64(attrs[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]);
		refusal->has_max = true;
	}
}

/* libnl leaves extended acknowledgments alone: take them apart here. */
static void refusal_parse(struct refusal *refusal, const struct nlmsgerr *err, struct nlattr *first,
			  int len, uint8_t cmd)
{
	struct nlattr *attrs[NLMSGERR_ATTR_MAX + 1];
	int missing;

	if (len <= 0 || nla_parse(attrs, NLMSGERR_ATTR_MAX, first, len, NULL))
		return;
	if (attrs[NLMSGERR_ATTR_MSG] && nla_len(attrs[NLMSGERR_ATTR_MSG]) > 0 &&
	    memchr(nla_data(attrs[NLMSGERR_ATTR_MSG]), 0,
		   (size_t)nla_len(attrs[NLMSGERR_ATTR_MSG])))
		refusal->text = nla_data(attrs[NLMSGERR_ATTR_MSG]);
	if (err && attrs[NLMSGERR_ATTR_OFFS] &&
	    nla_len(attrs[NLMSGERR_ATTR_OFFS]) == sizeof(uint32_t))
		refusal_attr(refusal, err, cmd, nla_get_u32(attrs[NLMSGERR_ATTR_OFFS]));
	if (attrs[NLMSGERR_ATTR_MISS_TYPE] &&
	    nla_len(attrs[NLMSGERR_ATTR_MISS_TYPE]) == sizeof(uint32_t)) {
		missing = (int)nla_get_u32(attrs[NLMSGERR_ATTR_MISS_TYPE]);
		refusal->field = cmx_fabric_attr_name(cmd, missing);
	}
	if (attrs[NLMSGERR_ATTR_POLICY])
		refusal_policy(refusal, attrs[NLMSGERR_ATTR_POLICY]);
}

static int refusal_fail(const struct refusal *refusal, int code)
{
	const char *field = refusal->field ? refusal->field : "attribute";
	uint64_t limit = refusal->has_min && refusal->value < refusal->min ? refusal->min :
			 refusal->max;
	char reason[64];

	if (refusal->has_value && (refusal->has_min || refusal->has_max))
		return cmx_fail(code, refusal->field, refusal->value, limit,
				"%s %llu (from %llu to %llu): %s", field,
				(unsigned long long)refusal->value,
				(unsigned long long)refusal->min,
				(unsigned long long)refusal->max,
				refusal->text ? refusal->text : "not taken");
	if (refusal->text)
		return cmx_fail(code, refusal->field, refusal->value, 0, "%s", refusal->text);
	return cmx_fail(code, refusal->field, refusal->value, 0, "%s",
			strerror_r(-code, reason, sizeof(reason)));
}

/* -------------------------------------------------------------------------- calls */

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	/* libnl hands out what follows the header. */
	const struct nlmsghdr *hdr = (const struct nlmsghdr *)err - 1;
	struct refusal refusal = { 0 };
	size_t skip = sizeof(*err);
	struct call *call = arg;

	(void)from;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED) && err->msg.nlmsg_len >= NLMSG_HDRLEN)
		skip += err->msg.nlmsg_len - NLMSG_HDRLEN;
	skip = NLMSG_ALIGN(skip);
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS && skip < hdr->nlmsg_len - NLMSG_HDRLEN)
		refusal_parse(&refusal, hdr->nlmsg_flags & NLM_F_CAPPED ? NULL : err,
			      (struct nlattr *)((char *)err + skip),
			      (int)(hdr->nlmsg_len - NLMSG_HDRLEN - skip), call->cmd);
	call->error = refusal_fail(&refusal, err->error);
	call->done = true;
	return NL_STOP;
}

/* The end of a dump, which may carry an error too. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct refusal refusal = { 0 };
	struct call *call = arg;
	int error = 0;

	call->done = true;
	if (nlmsg_datalen(hdr) >= (int)sizeof(error))
		memcpy(&error, nlmsg_data(hdr), sizeof(error));
	if (error >= 0)
		return NL_STOP;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS)
		refusal_parse(&refusal, NULL,
			      (struct nlattr *)((char *)nlmsg_data(hdr) + sizeof(error)),
			      nlmsg_datalen(hdr) - (int)sizeof(error), call->cmd);
	call->error = refusal_fail(&refusal, error);
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;

	(void)msg;
	call->done = true;
	return NL_STOP;
}

static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;

	(void)msg;
	call->interrupted = true;
	return NL_OK;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *header = genlmsg_hdr(nlmsg_hdr(msg));
	struct cmx_nl_answer answer;
	struct call *call = arg;
	int ret;

	if (call->error || !call->take)
		return NL_OK;
	ret = genlmsg_parse(nlmsg_hdr(msg), 0, answer.attrs, call->max, NULL);
	answer.first = genlmsg_attrdata(header, 0);
	answer.len = genlmsg_attrlen(header, 0);
	call->error = ret ? fail_nl(ret, "an answer of the module") :
			    call->take(&answer, call->arg);
	return NL_OK;
}

/* Anybody may send to our port; only what the kernel sent is an answer. */
static int on_message(struct nl_msg *msg, void *arg)
{
	(void)arg;
	return nlmsg_get_src(msg)->nl_pid ? NL_SKIP : NL_OK;
}

static struct nl_cb *call_callbacks(struct call *call)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_set(cb, NL_CB_MSG_IN, NL_CB_CUSTOM, on_message, call);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, call);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, call);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, call);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, call);
	return cb;
}

struct nl_msg *cmx_fabric_request(struct cmx_fabric *fabric, uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg && genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, fabric->family, 0, flags, cmd,
			       CMX_FAMILY_VERSION))
		return msg;
	nlmsg_free(msg);
	cmx_fail_call(-ENOMEM, "a request to the module");
	return NULL;
}

int cmx_fabric_call(struct cmx_fabric *fabric, struct nl_msg *msg, int max,
		    cmx_fabric_take_t take, void *arg)
{
	const struct genlmsghdr *header = nlmsg_data(nlmsg_hdr(msg));
	struct call call = { .take = take, .arg = arg, .max = max, .cmd = header->cmd };
	struct nl_cb *cb = call_callbacks(&call);
	int ret = cb ? nl_send_auto(fabric->sock, msg) : -NLE_NOMEM;

	nlmsg_free(msg);
	while (ret >= 0 && !call.done) {
		ret = nl_recvmsgs(fabric->sock, cb);
		/* What a handler saw says more than the code it leads to. */
		if (call.done)
			ret = 0;
	}
	nl_cb_put(cb);
	if (ret < 0)
		return fail_nl(ret, "netlink");
	return call.error ? call.error : call.interrupted;
}

/* -------------------------------------------------------------------------- lists */

void *cmx_fabric_list_add(struct cmx_fabric_list *list)
{
	size_t capacity = list->capacity ? 2 * list->capacity : 64;
	void *row;

	if (list->count == list->capacity) {
		void *rows = reallocarray(list->rows, capacity, list->row_size);

		if (!rows)
			return NULL;
		list->rows = rows;
		list->capacity = capacity;
	}
	row = (char *)list->rows + list->count++ * list->row_size;
	memset(row, 0, list->row_size);
	return row;
}

static int dump_once(struct cmx_fabric *fabric, uint8_t cmd, int flag, int max,
		     cmx_fabric_take_t take, struct cmx_fabric_list *list)
{
	struct nl_msg *msg = cmx_fabric_request(fabric, cmd, NLM_F_DUMP);

	if (!msg)
		return -ENOMEM;
	if (flag && nla_put_flag(msg, flag)) {
		nlmsg_free(msg);
		return cmx_fail_call(-ENOMEM, "a request to the module");
	}
	list->count = 0;
	return cmx_fabric_call(fabric, msg, max, take, list);
}

int cmx_fabric_dump(struct cmx_fabric *fabric, uint8_t cmd, int flag, int max,
		    cmx_fabric_take_t take, struct cmx_fabric_list *list)
{
	int ret, tries = 0;

	do
		ret = dump_once(fabric, cmd, flag, max, take, list);
	while (ret == 1 && ++tries < TRIES);
	if (ret >= 0)
		return (int)list->count;
	free(list->rows);
	list->rows = NULL;
	return ret;
}

/* ---------------------------------------------------------------------- attributes */

void cmx_nl_read(void *row, struct nlattr *const *attrs, const struct cmx_nl_field *fields,
		 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct nlattr *attr = attrs[fields[i].attr];
		char *member = (char *)row + fields[i].offset;

		if (!attr)
			continue;
		if (fields[i].size == sizeof(bool) && nla_len(attr) >= (int)sizeof(uint32_t))
			*(bool *)member = nla_get_u32(attr);
		else if (fields[i].size > sizeof(bool) && nla_len(attr) >= fields[i].size)
			memcpy(member, nla_data(attr), fields[i].size);
	}
}

void cmx_nl_text(char *text, size_t size, const struct nlattr *attr)
{
	size_t len = attr ? strnlen(nla_data(attr), (size_t)nla_len(attr)) : 0;

	if (len >= size)
		len = size - 1;
	if (len)
		memcpy(text, nla_data(attr), len);
	text[len] = '\0';
}

void cmx_nl_end(struct cmx_fabric_end *end, struct nlattr *attr)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(END, KIND, cmx_fabric_end, kind),
		CMX_NL_FIELD(END, INDEX, cmx_fabric_end, index),
		CMX_NL_FIELD(END, PORT, cmx_fabric_end, port),
	};
	struct nlattr *attrs[CMX_A_END_MAX + 1];

	if (attr && !nla_parse_nested(attrs, CMX_A_END_MAX, attr, NULL))
		cmx_nl_read(end, attrs, fields, sizeof(fields) / sizeof(*fields));
}

const char *cmx_fabric_attr_name(uint8_t cmd, int attr)
{
	static const struct {
		uint8_t cmd;
		int attr;
		const char *name;
	} names[] = {
		{ CMX_CMD_ENTITY_GET, CMX_A_ENTITY_INDEX, "index" },
		{ CMX_CMD_CHIP_GET, CMX_A_CHIP_INDEX, "index" },
		{ CMX_CMD_LINK_GET, CMX_A_LINK_INDEX, "index" },
		{ CMX_CMD_ROUTE_GET, CMX_A_ROUTE_FROM, "from" },
		{ CMX_CMD_ROUTE_GET, CMX_A_ROUTE_TO, "to" },
		{ CMX_CMD_ROUTE_GET, CMX_A_ROUTE_PLANES, "planes" },
		{ CMX_CMD_LINK_SET, CMX_A_LINK_INDEX, "index" },
		{ CMX_CMD_LINK_SET, CMX_A_LINK_UP, "up" },
		{ CMX_CMD_LINK_SET, CMX_A_LINK_PERMILLE, "permille" },
		{ CMX_CMD_CHIP_SET, CMX_A_CHIP_INDEX, "index" },
		{ CMX_CMD_CHIP_SET, CMX_A_CHIP_UP, "up" },
		{ CMX_CMD_ENTITY_SET, CMX_A_ENTITY_INDEX, "index" },
		{ CMX_CMD_ENTITY_SET, CMX_A_ENTITY_UP, "up" },
		{ CMX_CMD_NODE_SET, CMX_A_NODE_INDEX, "index" },
		{ CMX_CMD_NODE_SET, CMX_A_NODE_UP, "up" },
		{ CMX_CMD_PROFILE_SET, CMX_A_PROFILE_NAME, "name" },
		{ CMX_CMD_PROFILE_SET, CMX_A_PROFILE_USE_NODES, "nodes" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].cmd == cmd && names[i].attr == attr)
			return names[i].name;
	}
	return cmd == CMX_CMD_PROFILE_SET ? cmx_profile_attr_name(attr) : NULL;
}

/* ---------------------------------------------------------------------- connection */

static int fabric_connect(struct cmx_fabric *fabric)
{
	int on = 1, ret;

	ret = genl_connect(fabric->sock);
	if (ret)
		return fail_nl(ret, "netlink");
	if (setsockopt(nl_socket_get_fd(fabric->sock), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		       sizeof(on)))
		return cmx_fail_call(-errno, "extended netlink errors");
	ret = nl_socket_set_msg_buf_size(fabric->sock, BUFFER_SIZE);
	if (ret)
		return fail_nl(ret, "netlink");
	fabric->family = genl_ctrl_resolve(fabric->sock, CMX_FAMILY_NAME);
	if (fabric->family == -NLE_OBJ_NOTFOUND)
		return cmx_fail(-ENODEV, NULL, 0, 0, "the module cmx is not loaded");
	return fabric->family < 0 ? fail_nl(fabric->family, "the netlink family cmx") : 0;
}

int cmx_fabric_open(struct cmx_fabric **out)
{
	struct cmx_fabric *fabric = calloc(1, sizeof(*fabric));
	int ret;

	if (!fabric)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_open");
	fabric->sock = nl_socket_alloc();
	ret = fabric->sock ? fabric_connect(fabric) : cmx_fail_call(-ENOMEM, "cmx_fabric_open");
	if (ret) {
		cmx_fabric_close(fabric);
		return ret;
	}
	*out = fabric;
	return 0;
}

void cmx_fabric_close(struct cmx_fabric *fabric)
{
	if (!fabric)
		return;
	nl_socket_free(fabric->sock);
	nl_socket_free(fabric->events);
	free(fabric->queue);
	free(fabric);
}
