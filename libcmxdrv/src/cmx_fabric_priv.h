/* SPDX-License-Identifier: MIT */
/*
 * A connection to the netlink family, and what the parts of its library share.
 */
#ifndef CMX_FABRIC_PRIV_H
#define CMX_FABRIC_PRIV_H

#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cmx/fabric.h>
#include <cmx_netlink.h>

struct cmx_fabric {
	/* Requests. */
	struct nl_sock *sock;
	/* Events; made by the first subscription. */
	struct nl_sock *events;
	int family;
	/* Events received and not taken: @num_queued from @next on. */
	struct cmx_fabric_event *queue;
	size_t next, num_queued, queue_size;
};

/* An attribute that is a member of a structure; of 1 byte (bool), 4 or 8. */
struct cmx_nl_field {
	uint16_t attr;
	uint16_t offset;
	uint16_t size;
};

#define CMX_NL_FIELD(set, id, type, member) \
	{ CMX_A_##set##_##id, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

/* Set the members whose attributes came, and are long enough. */
void cmx_nl_read(void *row, struct nlattr *const *attrs, const struct cmx_nl_field *fields,
		 size_t count);

/* Copy a text; it is always terminated. */
void cmx_nl_text(char *text, size_t size, const struct nlattr *attr);

/* An end of a link. */
void cmx_nl_end(struct cmx_fabric_end *end, struct nlattr *attr);

/* A request for @cmd; NULL: no memory, and the error is set. */
struct nl_msg *cmx_fabric_request(struct cmx_fabric *fabric, uint8_t cmd, int flags);

/* A message from the module: its attributes by number, and all of them in a row. */
struct cmx_nl_answer {
	struct nlattr *attrs[CMX_A_PROFILE_MAX + 1];
	struct nlattr *first;
	int len;
};

/* Use an answer.  0, or -errno: the call fails. */
typedef int (*cmx_fabric_take_t)(const struct cmx_nl_answer *answer, void *arg);

/*
 * Send @msg (freed in any case) and take all answers; @max is the last attribute of their
 * set.  0, 1 when a dump was interrupted, or -errno with the module's text.
 */
int cmx_fabric_call(struct cmx_fabric *fabric, struct nl_msg *msg, int max,
		    cmx_fabric_take_t take, void *arg);

/* A list that grows; rows are zeroed. */
struct cmx_fabric_list {
	void *rows;
	size_t row_size;
	size_t count, capacity;
};

/* A new row at the end, or NULL. */
void *cmx_fabric_list_add(struct cmx_fabric_list *list);

/*
 * Dump with @cmd (and flag @flag, if not 0) into @list, again while it is interrupted.  The
 * number of rows, or -errno and no rows.  @take gets @list.
 */
int cmx_fabric_dump(struct cmx_fabric *fabric, uint8_t cmd, int flag, int max,
		    cmx_fabric_take_t take, struct cmx_fabric_list *list);

/* Name of an attribute of a request, or NULL. */
const char *cmx_fabric_attr_name(uint8_t cmd, int attr);

/* Name of a constant by its attribute, or NULL. */
const char *cmx_profile_attr_name(int attr);

#endif /* CMX_FABRIC_PRIV_H */
