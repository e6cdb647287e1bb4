// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netlink: open files and what they hold.  A client with much to tell takes several
 * messages.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/uidgid.h>

#include <net/sock.h>

#include <drm/drm_file.h>

#include "cmx_bo.h"
#include "cmx_device.h"
#include "cmx_file.h"
#include "cmx_netlink_priv.h"
#include "cmx_queue.h"

/** struct cmx_nl_holding - what a client has on one entity. */
struct cmx_nl_holding {
	/** @queues: queues. */
	u32 queues;
	/** @bytes: memory of its BOs. */
	u64 bytes;
};

/*
 * Both must be the user whose clients are shown: who opened the socket, and who asks
 * through it now, which may be a program with more rights that was handed the socket.
 */
int cmx_nl_client_start(struct netlink_callback *cb)
{
	kuid_t opener = NETLINK_CB(cb->skb).sk->sk_socket->file->f_cred->euid;
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);

	dump->all = netlink_capable(cb->skb, CAP_NET_ADMIN);
	dump->uid = uid_eq(opener, current_euid()) ? opener : INVALID_UID;
	return 0;
}

static kuid_t cmx_nl_client_uid(const struct drm_file *drm_file)
{
	return drm_file->filp->f_cred->euid;
}

/* The client that is next: the one that is half told, or that with the next higher number. */
static struct drm_file *cmx_nl_client_next(struct drm_device *drm, const struct cmx_nl_dump *dump)
{
	struct drm_file *drm_file, *next = NULL;

	lockdep_assert_held(&drm->filelist_mutex);
	list_for_each_entry(drm_file, &drm->filelist, lhead) {
		if (!dump->all && !uid_eq(cmx_nl_client_uid(drm_file), dump->uid))
			continue;
		if (dump->sub && drm_file->client_id == dump->client)
			return drm_file;
		if (drm_file->client_id > dump->client &&
		    (!next || drm_file->client_id < next->client_id))
			next = drm_file;
	}
	return next;
}

/* A handle that can be found under the lock of its table keeps what it names. */
static void cmx_nl_client_holdings(struct drm_file *drm_file, struct cmx_nl_holding *holdings)
{
	struct cmx_file *file = drm_file->driver_priv;
	struct drm_gem_object *gem;
	struct cmx_object *obj;
	unsigned long handle;
	struct cmx_bo *bo;
	int id;

	xa_lock(&file->objects);
	xa_for_each(&file->objects, handle, obj) {
		if (obj->type == CMX_OBJECT_QUEUE)
			holdings[container_of(obj, struct cmx_queue, obj)->args.entity].queues++;
	}
	xa_unlock(&file->objects);
	spin_lock(&drm_file->table_lock);
	idr_for_each_entry(&drm_file->object_idr, gem, id) {
		bo = to_cmx_bo(gem);
		holdings[bo->entity->index].bytes += gem->size;
	}
	spin_unlock(&drm_file->table_lock);
}

static int cmx_nl_put_process(struct sk_buff *skb, const struct drm_file *drm_file)
{
	char comm[TASK_COMM_LEN] = "";
	struct task_struct *task;
	struct pid *pid;
	u32 nr;

	rcu_read_lock();
	pid = rcu_dereference(drm_file->pid);
	nr = pid_nr_ns(pid, task_active_pid_ns(current));
	task = pid_task(pid, PIDTYPE_TGID);
	if (task)
		get_task_comm(comm, task);
	rcu_read_unlock();
	return nla_put_u32(skb, CMX_A_CLIENT_PID, nr) ?:
	       nla_put_string(skb, CMX_A_CLIENT_COMM, comm);
}

static int cmx_nl_put_usage(struct sk_buff *skb, const struct cmx_file *file)
{
	return nla_put_u32(skb, CMX_A_CLIENT_QUEUES,
			   atomic_read(&file->counts[CMX_LIMIT_QUEUES])) ?:
	       nla_put_u32(skb, CMX_A_CLIENT_CQS, atomic_read(&file->counts[CMX_LIMIT_CQS])) ?:
	       nla_put_u32(skb, CMX_A_CLIENT_BOS, atomic_read(&file->counts[CMX_LIMIT_BOS])) ?:
	       nla_put_u32(skb, CMX_A_CLIENT_MAPPINGS,
			   atomic_read(&file->counts[CMX_LIMIT_MAPPINGS])) ?:
	       nla_put_u64_64bit(skb, CMX_A_CLIENT_COMMANDS, atomic64_read(&file->commands),
				 CMX_A_CLIENT_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_CLIENT_LAUNCHES, atomic64_read(&file->launches),
				 CMX_A_CLIENT_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_CLIENT_BYTES, atomic64_read(&file->bytes),
				 CMX_A_CLIENT_PAD);
}

static int cmx_nl_put_client(struct sk_buff *skb, struct netlink_callback *cb,
			     const struct drm_file *drm_file)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);

	return cmx_nl_put_process(skb, drm_file) ?:
	       nla_put_u32(skb, CMX_A_CLIENT_UID,
			   from_kuid_munged(ns, cmx_nl_client_uid(drm_file))) ?:
	       cmx_nl_put_usage(skb, drm_file->driver_priv);
}

static int cmx_nl_put_holding(struct sk_buff *skb, u32 index, const struct cmx_nl_holding *holding)
{
	struct nlattr *nest = nla_nest_start(skb, CMX_A_CLIENT_ENTITY);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CMX_A_CLIENT_ENTITY_INDEX, index) ||
	    nla_put_u32(skb, CMX_A_CLIENT_ENTITY_QUEUES, holding->queues) ||
	    nla_put_u64_64bit(skb, CMX_A_CLIENT_ENTITY_BYTES, holding->bytes,
			      CMX_A_CLIENT_ENTITY_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* One message; dump->sub is one more than the entity to begin with, or 0: from the start. */
static int cmx_nl_dump_client(struct sk_buff *skb, struct netlink_callback *cb,
			      const struct drm_file *drm_file,
			      const struct cmx_nl_holding *holdings, u32 count)
{
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);
	u32 told = 0, i = dump->sub ? dump->sub - 1 : 0;
	void *header = cmx_nl_dump_put(skb, cb);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, CMX_A_CLIENT_ID, drm_file->client_id, CMX_A_CLIENT_PAD) ||
	    (!dump->sub && cmx_nl_put_client(skb, cb, drm_file)))
		goto err_cancel;
	for (; i < count; i++) {
		if (!holdings[i].queues && !holdings[i].bytes)
			continue;
		if (cmx_nl_put_holding(skb, i, &holdings[i]))
			break;
		told++;
	}
	if (i < count && !told && dump->sub)
		goto err_cancel;
	genlmsg_end(skb, header);
	dump->client = drm_file->client_id;
	dump->sub = i < count ? i + 1 : 0;
	return 0;

err_cancel:
	genlmsg_cancel(skb, header);
	return -EMSGSIZE;
}

static void cmx_nl_dump_clients(struct sk_buff *skb, struct netlink_callback *cb,
				struct drm_device *drm, struct cmx_nl_holding *holdings, u32 count)
{
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);
	struct drm_file *drm_file;

	mutex_lock(&drm->filelist_mutex);
	while ((drm_file = cmx_nl_client_next(drm, dump))) {
		/* The one that was half told may be gone. */
		if (drm_file->client_id != dump->client)
			dump->sub = 0;
		memset(holdings, 0, array_size(count, sizeof(*holdings)));
		cmx_nl_client_holdings(drm_file, holdings);
		if (cmx_nl_dump_client(skb, cb, drm_file, holdings, count))
			break;
	}
	mutex_unlock(&drm->filelist_mutex);
}

int cmx_nl_client_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cmx_nl_holding *holdings;
	struct cmx_device *cdev;
	struct cmx_nl_view view;
	u32 count;
	int err;

	err = cmx_nl_view_get(&view, cb->extack);
	if (err)
		return err;
	cb->seq = view.serial;
	count = view.machine->num_entities;
	holdings = kvcalloc(count, sizeof(*holdings), GFP_KERNEL);
	if (!holdings) {
		err = -ENOMEM;
		goto out_put_view;
	}
	/* The device stays while its driver cannot be unbound. */
	device_lock(&view.machine->dev);
	cdev = dev_get_drvdata(&view.machine->dev);
	if (cdev)
		cmx_nl_dump_clients(skb, cb, &cdev->drm, holdings, count);
	device_unlock(&view.machine->dev);
	kvfree(holdings);
out_put_view:
	cmx_nl_view_put(&view);
	return err ?: skb->len;
}
