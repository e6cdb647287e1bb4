// SPDX-License-Identifier: GPL-2.0-only
/* Rings, clocks and entries on the raw ABI. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cmx_abi.h"

int abi_cq_create(int fd, __u32 entries, __u32 policy, struct abi_cq *cq)
{
	struct drm_cmx_cq_create args = { .entries = entries, .policy = policy };
	int ret;

	memset(cq, 0, sizeof(*cq));
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_CQ_CREATE, &args);
	if (ret)
		return ret;
	cq->handle = args.handle;
	cq->entries = entries;
	cq->ro = (struct abi_map){ args.ro_offset, args.ro_size, NULL };
	cq->rw = (struct abi_map){ args.rw_offset, args.rw_size, NULL };
	ret = abi_mmap(fd, &cq->ro, PROT_READ);
	if (!ret)
		ret = abi_mmap(fd, &cq->rw, PROT_READ | PROT_WRITE);
	if (ret) {
		abi_cq_destroy(fd, cq);
		return ret;
	}
	cq->producer = cq->ro.addr;
	cq->cqes = (const struct cmx_cqe *)((const char *)cq->ro.addr + CMX_SLOT_SIZE);
	cq->consumer = cq->rw.addr;
	return 0;
}

void abi_cq_destroy(int fd, struct abi_cq *cq)
{
	if (!cq->handle)
		return;
	abi_munmap(&cq->ro);
	abi_munmap(&cq->rw);
	abi_destroy(fd, CMX_OBJECT_CQ, cq->handle);
	cq->handle = 0;
}

static int ring_map(int fd, struct abi_ring *ring)
{
	int ret = abi_mmap(fd, &ring->rw, PROT_READ | PROT_WRITE);

	if (!ret)
		ret = abi_mmap(fd, &ring->ro, PROT_READ);
	if (ret)
		return ret;
	ring->producer = ring->rw.addr;
	ring->slot = (void *)((char *)ring->rw.addr + CMX_SLOT_SIZE);
	ring->consumer = ring->ro.addr;
	return 0;
}

static void ring_destroy(int fd, struct abi_ring *ring, __u32 type)
{
	if (!ring->handle)
		return;
	abi_munmap(&ring->rw);
	abi_munmap(&ring->ro);
	abi_destroy(fd, type, ring->handle);
	ring->handle = 0;
}

int abi_rq_create(int fd, __u32 cq, __u32 slots, __u32 limit, struct abi_ring *rq)
{
	struct drm_cmx_rq_create args = { .slots = slots, .cq = cq, .limit = limit };
	int ret;

	memset(rq, 0, sizeof(*rq));
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_RQ_CREATE, &args);
	if (ret)
		return ret;
	rq->handle = args.handle;
	rq->slots = slots;
	rq->rw = (struct abi_map){ args.rw_offset, args.rw_size, NULL };
	rq->ro = (struct abi_map){ args.ro_offset, args.ro_size, NULL };
	ret = ring_map(fd, rq);
	if (ret)
		abi_rq_destroy(fd, rq);
	return ret;
}

void abi_rq_destroy(int fd, struct abi_ring *rq)
{
	ring_destroy(fd, rq, CMX_OBJECT_RQ);
}

/* Valid arguments for a queue of @queue_class on entity 0 and the default timeline. */
void abi_queue_args(struct drm_cmx_queue_create *args, __u32 queue_class, __u32 cq)
{
	*args = (struct drm_cmx_queue_create){
		.queue_class = queue_class,
		.slots = 64,
		.cq = cq,
		.ring_version = CMX_RING_VERSION,
		.trans_mode = queue_class == CMX_QUEUE_UB ? UB_TM_RM : 0,
	};
}

int abi_queue_create(int fd, struct drm_cmx_queue_create *args, struct abi_ring *queue)
{
	int ret;

	memset(queue, 0, sizeof(*queue));
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_CREATE, args);
	if (ret)
		return ret;
	queue->handle = args->handle;
	queue->slots = args->slots;
	queue->doorbell = args->doorbell;
	queue->rw = (struct abi_map){ args->rw_offset, args->rw_size, NULL };
	queue->ro = (struct abi_map){ args->ro_offset, args->ro_size, NULL };
	ret = ring_map(fd, queue);
	if (ret)
		abi_queue_destroy(fd, queue);
	return ret;
}

void abi_queue_destroy(int fd, struct abi_ring *queue)
{
	ring_destroy(fd, queue, CMX_OBJECT_QUEUE);
}

int abi_queue_query(int fd, __u32 handle, struct drm_cmx_queue_query *query)
{
	memset(query, 0, sizeof(*query));
	query->handle = handle;
	return abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_QUERY, query);
}

int abi_queue_state(int fd, __u32 handle, __u32 state)
{
	struct drm_cmx_queue_set_state args = { .handle = handle, .state = state };

	return abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_SET_STATE, &args);
}

int abi_clock_open(int fd, __u32 timeline, struct abi_clock *clock)
{
	struct drm_cmx_timeline_query query = { .handle = timeline };
	int ret;

	memset(clock, 0, sizeof(*clock));
	clock->timeline = timeline;
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query);
	if (ret)
		return ret;
	clock->doorbell_map = (struct abi_map){ query.doorbell_offset, ABI_PAGE, NULL };
	clock->status_map = (struct abi_map){ query.status_offset, ABI_PAGE, NULL };
	ret = abi_mmap(fd, &clock->doorbell_map, PROT_READ | PROT_WRITE);
	if (!ret)
		ret = abi_mmap(fd, &clock->status_map, PROT_READ);
	if (ret)
		abi_clock_close(clock);
	clock->doorbell = clock->doorbell_map.addr;
	clock->status = clock->status_map.addr;
	return ret;
}

void abi_clock_close(struct abi_clock *clock)
{
	abi_munmap(&clock->doorbell_map);
	abi_munmap(&clock->status_map);
}

/* Completions not read yet. */
__u32 abi_cq_ready(const struct abi_cq *cq)
{
	return __atomic_load_n(&cq->producer->tail, __ATOMIC_ACQUIRE) - cq->head;
}

bool abi_cqe_take(struct abi_cq *cq, struct cmx_cqe *cqe)
{
	if (!abi_cq_ready(cq))
		return false;
	*cqe = cq->cqes[cq->head & (cq->entries - 1)];
	__atomic_store_n(&cq->consumer->head, ++cq->head, __ATOMIC_RELEASE);
	return true;
}

/* Writes the slots of @entry (its first byte says how many); false: no room. */
bool abi_post(struct abi_ring *ring, const void *entry)
{
	const __u8 *bytes = entry;
	__u32 head = __atomic_load_n(&ring->consumer->head, __ATOMIC_ACQUIRE);
	__u32 slots = bytes[0] ? bytes[0] : 1, i;

	if (slots > CMX_ENTRY_MAX_SLOTS)
		slots = 1;
	if (ring->tail + slots - head > ring->slots)
		return false;
	for (i = 0; i < slots; i++)
		memcpy(ring->slot[(ring->tail + i) & (ring->slots - 1)],
		       bytes + i * CMX_SLOT_SIZE, CMX_SLOT_SIZE);
	ring->tail += slots;
	return true;
}

void abi_publish(struct abi_ring *ring)
{
	__atomic_store_n(&ring->producer->tail, ring->tail, __ATOMIC_RELEASE);
}

/* The submit side of the wake protocol, as the ABI has it. */
int abi_kick(int fd, struct abi_clock *clock, struct abi_ring *queue)
{
	struct drm_cmx_wake wake = { .timeline = clock->timeline };

	abi_publish(queue);
	/* Release: who sees the bit sees the tail. */
	__atomic_fetch_or(&clock->doorbell[queue->doorbell / 64],
			  1ULL << (queue->doorbell % 64), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&clock->status->need_wakeup, __ATOMIC_RELAXED))
		return 0;
	return abi_ioctl(fd, DRM_IOCTL_CMX_WAKE, &wake);
}

static void entry_start(union abi_entry *entry, __u8 opcode, __u8 slots)
{
	memset(entry, 0, sizeof(*entry));
	entry->header.slots = slots;
	entry->header.opcode = opcode;
	entry->header.flags = CMX_ENTRY_COMPLETE;
}

void abi_entry_copy(union abi_entry *entry, __u64 dst, __u64 src, __u64 len)
{
	entry_start(entry, CMX_OP_COPY, 1);
	entry->copy.dst_va = dst;
	entry->copy.src_va = src;
	entry->copy.len = len;
}

void abi_entry_fill(union abi_entry *entry, __u64 dst, __u64 len, __u64 pattern, __u32 size)
{
	entry_start(entry, CMX_OP_FILL, 1);
	entry->fill.dst_va = dst;
	entry->fill.len = len;
	entry->fill.pattern = pattern;
	entry->fill.pattern_size = size;
}

void abi_entry_wait(union abi_entry *entry, __u64 va, __u32 cond, __u64 value)
{
	entry_start(entry, CMX_OP_WAIT, 1);
	entry->wait.va = va;
	entry->wait.cond = cond;
	entry->wait.value = value;
}

void abi_entry_signal(union abi_entry *entry, __u64 va, __u32 op, __u64 value)
{
	entry_start(entry, CMX_OP_SIGNAL, 1);
	entry->signal.va = va;
	entry->signal.op = op;
	entry->signal.value = value;
}

void abi_entry_sync(union abi_entry *entry, __u8 opcode, __u64 va)
{
	entry_start(entry, opcode, 1);
	entry->sync.va = va;
}

void abi_entry_rma(union abi_entry *entry, __u8 opcode, __u64 local, __u64 remote, __u64 len)
{
	entry_start(entry, opcode, 1);
	entry->rma.local_va = local;
	entry->rma.remote_va = remote;
	entry->rma.len = len;
}

/* A launch without traffic that may be as short as it likes. */
void abi_entry_launch(union abi_entry *entry, __u64 kernel, __u64 vector_ops)
{
	entry_start(entry, CMX_OP_LAUNCH, 2);
	entry->launch.kernel = kernel;
	entry->launch.grid = 1;
	entry->launch.first_ps = ~0ULL;
	entry->launch.cost.vector_ops = vector_ops;
	entry->launch.cost.op_class = CMX_OPS_F32;
	entry->launch.cost.efficiency = CMX_EFF_VECTOR;
}
