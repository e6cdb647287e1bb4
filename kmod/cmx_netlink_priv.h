/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the netlink family share. */
#ifndef CMX_NETLINK_PRIV_H
#define CMX_NETLINK_PRIV_H

#include <net/genetlink.h>

#include "cmx_counter.h"
#include "cmx_entity.h"
#include "cmx_nl_gen.h"
#include "cmx_routes.h"

/** struct cmx_nl_counts - counters of one moment, which a dump carries along. */
struct cmx_nl_counts {
	/** @serial: machine they are of. */
	u32 serial;
	/** @sum: counters; one of its arrays, or none. */
	struct cmx_counters sum;
};

/** struct cmx_nl_view - the machine while a message is answered. */
struct cmx_nl_view {
	/** @machine: held (cmx_current_get()). */
	struct cmx_machine *machine;
	/** @serial: machines made up to it. */
	u32 serial;
	/** @routes: while the fabric is locked: its present table. */
	const struct cmx_routes *routes;
	/** @counts: counters of this machine, or NULL. */
	const struct cmx_nl_counts *counts;
};

/* cmx_nl_view_get() - -ENODEV with a text when there is no machine. */
int cmx_nl_view_get(struct cmx_nl_view *view, struct netlink_ext_ack *extack);
void cmx_nl_view_put(struct cmx_nl_view *view);
/* cmx_nl_view_lock() - keep the state as it is, and see @routes. */
void cmx_nl_view_lock(struct cmx_nl_view *view);
void cmx_nl_view_unlock(struct cmx_nl_view *view);

/*
 * cmx_nl_index() - a required number of a part.
 * @attr: attribute, also when it is missing
 * @name: of it
 * @count: numbers go up to here
 *
 * Return: 0, -EINVAL when it is missing or -ENOENT, with a text.
 */
int cmx_nl_index(struct genl_info *info, int attr, const char *name, u32 count, u32 *index);

/* How many parts of a kind a machine has. */
typedef u32 (*cmx_nl_count_t)(const struct cmx_machine *machine);
u32 cmx_nl_count_entities(const struct cmx_machine *machine);
u32 cmx_nl_count_chips(const struct cmx_machine *machine);
u32 cmx_nl_count_nodes(const struct cmx_machine *machine);
u32 cmx_nl_count_links(const struct cmx_machine *machine);

/* Fills a message about part @index, fabric locked; -EMSGSIZE when there is no room. */
typedef int (*cmx_nl_fill_t)(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index);

/* cmx_nl_reply() - answer a request with one message about part @index. */
int cmx_nl_reply(struct genl_info *info, struct cmx_nl_view *view, cmx_nl_fill_t fill, u32 index);

/** struct cmx_nl_dump - a dump between two of its calls, in netlink_callback.ctx. */
struct cmx_nl_dump {
	/** @counts: counters, or NULL. */
	struct cmx_nl_counts *counts;
	/** @index: part that is next. */
	u32 index;
	/** @sub: what of it is next. */
	u32 sub;
	/** @client: the last one told of. */
	u64 client;
	/** @uid: whose clients are shown. */
	kuid_t uid;
	/** @all: those of everybody. */
	bool all;
};

static inline struct cmx_nl_dump *cmx_nl_dump_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct cmx_nl_dump) > sizeof(cb->ctx));
	return (struct cmx_nl_dump *)cb->ctx;
}

/*
 * cmx_nl_dump_parts() - as many messages as there is room for, from where the last call ended.
 * @count: says how many there are
 *
 * Marks the dump as interrupted when anything changed since the last call.
 */
int cmx_nl_dump_parts(struct sk_buff *skb, struct netlink_callback *cb, cmx_nl_count_t count,
		      cmx_nl_fill_t fill);
/* cmx_nl_dump_seq() - let the core compare @view, locked, with that of the last call. */
void cmx_nl_dump_seq(struct netlink_callback *cb, const struct cmx_nl_view *view);
/* cmx_nl_dump_put() - header of one message of a dump, or NULL: no room. */
void *cmx_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb);

/* cmx_nl_counts_read() - counters of all links, or of all entities; NULL: no memory. */
struct cmx_nl_counts *cmx_nl_counts_read(const struct cmx_nl_view *view, bool links);
void cmx_nl_counts_free(struct cmx_nl_counts *counts);
/* cmx_nl_counts_start() - the same for a dump. */
int cmx_nl_counts_start(struct netlink_callback *cb, bool links);

/* cmx_nl_put_end() - @end as a nest. */
int cmx_nl_put_end(struct sk_buff *skb, int attr, const struct cmx_end *end);

#endif
