// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: what all answers have in common. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "cmx_current.h"
#include "cmx_netlink_priv.h"

int cmx_nl_view_get(struct cmx_nl_view *view, struct netlink_ext_ack *extack)
{
	memset(view, 0, sizeof(*view));
	view->machine = cmx_current_get(&view->serial);
	if (view->machine)
		return 0;
	NL_SET_ERR_MSG(extack, "there is no machine since a profile failed: load one");
	return -ENODEV;
}

void cmx_nl_view_put(struct cmx_nl_view *view)
{
	cmx_current_put();
}

void cmx_nl_view_lock(struct cmx_nl_view *view)
{
	struct cmx_fabric *fabric = &view->machine->fabric;

	mutex_lock(&fabric->lock);
	view->routes = rcu_dereference_protected(fabric->routes, lockdep_is_held(&fabric->lock));
}

void cmx_nl_view_unlock(struct cmx_nl_view *view)
{
	view->routes = NULL;
	mutex_unlock(&view->machine->fabric.lock);
}

int cmx_nl_index(struct genl_info *info, int attr, const char *name, u32 count, u32 *index)
{
	if (GENL_REQ_ATTR_CHECK(info, attr)) {
		NL_SET_ERR_MSG_FMT(info->extack, "%s is missing", name);
		return -EINVAL;
	}
	*index = nla_get_u32(info->attrs[attr]);
	if (*index < count)
		return 0;
	NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[attr], "%s %u: the last one is %u",
				name, *index, count - 1);
	return -ENOENT;
}

int cmx_nl_reply(struct genl_info *info, struct cmx_nl_view *view, cmx_nl_fill_t fill, u32 index)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;
	int err = -EMSGSIZE;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_iput(skb, info);
	if (header) {
		cmx_nl_view_lock(view);
		err = fill(skb, view, index);
		cmx_nl_view_unlock(view);
	}
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* -------------------------------------------------------------------------- dumps */

/* Two states of two machines have one number only after some 2^31 changes.  0 means none. */
void cmx_nl_dump_seq(struct netlink_callback *cb, const struct cmx_nl_view *view)
{
	cb->seq = view->serial * 0x9e3779b1 + view->routes->generation ?: 1;
}

void *cmx_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	void *header;

	header = genlmsg_put(skb, info->snd_portid, info->snd_seq, &cmx_nl_family, NLM_F_MULTI,
			     info->genlhdr->cmd);
	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

static void cmx_nl_dump_view(struct sk_buff *skb, struct netlink_callback *cb,
			     const struct cmx_nl_view *view, u32 count, cmx_nl_fill_t fill)
{
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);
	void *header;

	for (; dump->index < count; dump->index++) {
		header = cmx_nl_dump_put(skb, cb);
		if (!header)
			return;
		if (fill(skb, view, dump->index)) {
			genlmsg_cancel(skb, header);
			return;
		}
		genlmsg_end(skb, header);
	}
}

int cmx_nl_dump_parts(struct sk_buff *skb, struct netlink_callback *cb, cmx_nl_count_t count,
		      cmx_nl_fill_t fill)
{
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);
	struct cmx_nl_view view;
	int err;

	err = cmx_nl_view_get(&view, cb->extack);
	if (err)
		return err;
	/* Those of another machine would be taken for this one's. */
	if (dump->counts && dump->counts->serial == view.serial)
		view.counts = dump->counts;
	cmx_nl_view_lock(&view);
	cmx_nl_dump_seq(cb, &view);
	cmx_nl_dump_view(skb, cb, &view, count(view.machine), fill);
	cmx_nl_view_unlock(&view);
	cmx_nl_view_put(&view);
	return skb->len;
}

/* ----------------------------------------------------------------------- counters */

struct cmx_nl_counts *cmx_nl_counts_read(const struct cmx_nl_view *view, bool links)
{
	const struct cmx_topology *topo = &view->machine->fabric.topo;
	struct cmx_nl_counts *counts = kzalloc(sizeof(*counts), GFP_KERNEL_ACCOUNT);

	if (!counts)
		return NULL;
	counts->serial = view->serial;
	if (links)
		counts->sum.links = kvcalloc(topo->num_links, sizeof(*counts->sum.links),
					     GFP_KERNEL_ACCOUNT);
	else
		counts->sum.entities = kvcalloc(topo->num_entities,
						sizeof(*counts->sum.entities),
						GFP_KERNEL_ACCOUNT);
	if (!counts->sum.links && !counts->sum.entities) {
		kfree(counts);
		return NULL;
	}
	cmx_counters_read(view->machine, &counts->sum);
	return counts;
}

void cmx_nl_counts_free(struct cmx_nl_counts *counts)
{
	if (!counts)
		return;
	kvfree(counts->sum.links);
	kvfree(counts->sum.entities);
	kfree(counts);
}

int cmx_nl_counts_start(struct netlink_callback *cb, bool links)
{
	struct cmx_nl_view view;
	int err;

	err = cmx_nl_view_get(&view, cb->extack);
	if (err)
		return err;
	cmx_nl_dump_of(cb)->counts = cmx_nl_counts_read(&view, links);
	if (!cmx_nl_dump_of(cb)->counts)
		err = -ENOMEM;
	cmx_nl_view_put(&view);
	return err;
}

int cmx_nl_counted_done(struct netlink_callback *cb)
{
	cmx_nl_counts_free(cmx_nl_dump_of(cb)->counts);
	return 0;
}

/* -------------------------------------------------------------------------- nests */

int cmx_nl_put_end(struct sk_buff *skb, int attr, const struct cmx_end *end)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || nla_put_u32(skb, CMX_A_END_KIND, end->kind) ||
	    nla_put_u32(skb, CMX_A_END_INDEX, end->index) ||
	    nla_put_u32(skb, CMX_A_END_PORT, end->port))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}
