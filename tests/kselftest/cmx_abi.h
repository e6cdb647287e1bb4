/* SPDX-License-Identifier: GPL-2.0-only */
/* What the test programs share: thin wrappers of the raw ABI, no policy. */
#ifndef CMX_ABI_H
#define CMX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmx_drm.h"

#define ABI_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ABI_HOST_TIMEOUT_NS	(20ULL * 1000 * 1000 * 1000)
#define ABI_VA			0x100000000ULL	/* first device VA the programs use */
#define ABI_PAGE		4096ULL

static inline __u64 abi_addr(const void *pointer)
{
	return (__u64)(uintptr_t)pointer;
}

/** struct abi_map - a mapping of the device. */
struct abi_map {
	/** @offset: mmap offset. */
	__u64 offset;
	/** @size: bytes. */
	__u64 size;
	/** @addr: where it is, NULL: not mapped. */
	void *addr;
};

/** struct abi_cq - completion ring. */
struct abi_cq {
	/** @handle: handle. */
	__u32 handle;
	/** @entries: size. */
	__u32 entries;
	/** @head: entries read. */
	__u32 head;
	/** @ro: kernel-written part. */
	struct abi_map ro;
	/** @rw: client-written part. */
	struct abi_map rw;
	/** @producer: start of @ro. */
	const struct cmx_cq_producer *producer;
	/** @cqes: entries. */
	const struct cmx_cqe *cqes;
	/** @consumer: start of @rw. */
	struct cmx_cq_consumer *consumer;
};

/** struct abi_ring - queue or receive ring. */
struct abi_ring {
	/** @handle: handle. */
	__u32 handle;
	/** @slots: size. */
	__u32 slots;
	/** @tail: slots written, not yet published. */
	__u32 tail;
	/** @doorbell: bit in the doorbell page (queues). */
	__u32 doorbell;
	/** @rw: client-written part. */
	struct abi_map rw;
	/** @ro: kernel-written part. */
	struct abi_map ro;
	/** @producer: start of @rw. */
	struct cmx_ring_producer *producer;
	/** @slot: slots. */
	__u8 (*slot)[CMX_SLOT_SIZE];
	/** @consumer: start of @ro. */
	const struct cmx_ring_consumer *consumer;
};

/** struct abi_clock - a file's view of a timeline. */
struct abi_clock {
	/** @timeline: handle. */
	__u32 timeline;
	/** @doorbell_map: doorbell page. */
	struct abi_map doorbell_map;
	/** @status_map: status page. */
	struct abi_map status_map;
	/** @doorbell: start of it. */
	__u64 *doorbell;
	/** @status: start of it. */
	const struct cmx_timeline_status *status;
};

/** struct abi_mem - a BO, mapped for the device and for the CPU. */
struct abi_mem {
	/** @handle: GEM handle. */
	__u32 handle;
	/** @va: device VA. */
	__u64 va;
	/** @map: CPU mapping. */
	struct abi_map map;
	/** @bytes: start of it. */
	__u8 *bytes;
	/** @words: the same. */
	__u64 *words;
};

/** union abi_entry - any entry. */
union abi_entry {
	__u8 bytes[CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE];
	__u64 words[CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE / 8];
	struct cmx_entry_header header;
	struct {
		struct cmx_entry_rma rma;
		struct cmx_entry_rma_ext ext;
		struct cmx_entry_sgl sgl[2];
	};
	struct cmx_entry_copy copy;
	struct cmx_entry_copy_sg copy_sg;
	struct cmx_entry_fill fill;
	struct cmx_entry_wait wait;
	struct cmx_entry_signal signal;
	struct cmx_entry_sync sync;
	struct cmx_entry_delay delay;
	struct cmx_entry_launch launch;
};

/* Device and ioctls: 0 or a descriptor, else a negative errno. */
int abi_open(void);
int abi_ioctl(int fd, unsigned long request, void *arg);
int abi_sysfs_device(char *path, size_t size);
int abi_info(int fd, __u32 type, __u32 index, void *info, __u32 size);
int abi_extack(int fd, struct drm_cmx_info_extack *extack);
int abi_entity(int fd, __u32 index, struct drm_cmx_info_entity *entity);
int abi_gem_close(int fd, __u32 handle);
int abi_prime_export(int fd, __u32 handle);
int abi_prime_import(int fd, int dmabuf, __u32 *handle);
int abi_destroy(int fd, __u32 type, __u32 handle);

/* Mappings. */
int abi_mmap(int fd, struct abi_map *map, int prot);
void abi_munmap(struct abi_map *map);

/* Memory. */
int abi_bo(int fd, __u32 entity, __u64 size, __u32 flags, __u32 *handle);
int abi_map_va(int fd, __u32 handle, __u64 va, __u64 size, __u32 flags);
int abi_unmap_va(int fd, __u64 va, __u64 size);
int abi_mem_create(int fd, __u32 entity, __u64 va, __u64 size, struct abi_mem *mem);
void abi_mem_destroy(int fd, struct abi_mem *mem);

/* Rings; a NULL or zeroed structure is destroyed for free. */
int abi_cq_create(int fd, __u32 entries, __u32 policy, struct abi_cq *cq);
void abi_cq_destroy(int fd, struct abi_cq *cq);
int abi_rq_create(int fd, __u32 cq, __u32 slots, __u32 limit, struct abi_ring *rq);
void abi_rq_destroy(int fd, struct abi_ring *rq);
void abi_queue_args(struct drm_cmx_queue_create *args, __u32 queue_class, __u32 cq);
int abi_queue_create(int fd, struct drm_cmx_queue_create *args, struct abi_ring *queue);
void abi_queue_destroy(int fd, struct abi_ring *queue);
int abi_queue_query(int fd, __u32 handle, struct drm_cmx_queue_query *query);
int abi_queue_state(int fd, __u32 handle, __u32 state);
int abi_clock_open(int fd, __u32 timeline, struct abi_clock *clock);
void abi_clock_close(struct abi_clock *clock);
bool abi_cqe_take(struct abi_cq *cq, struct cmx_cqe *cqe);
__u32 abi_cq_ready(const struct abi_cq *cq);

/* Submitting. */
bool abi_post(struct abi_ring *ring, const void *entry);
void abi_publish(struct abi_ring *ring);
int abi_kick(int fd, struct abi_clock *clock, struct abi_ring *queue);

/* Entries: zeroed, then filled in; flags and context are the caller's. */
void abi_entry_copy(union abi_entry *entry, __u64 dst, __u64 src, __u64 len);
void abi_entry_fill(union abi_entry *entry, __u64 dst, __u64 len, __u64 pattern, __u32 size);
void abi_entry_wait(union abi_entry *entry, __u64 va, __u32 cond, __u64 value);
void abi_entry_signal(union abi_entry *entry, __u64 va, __u32 op, __u64 value);
void abi_entry_sync(union abi_entry *entry, __u8 opcode, __u64 va);
void abi_entry_rma(union abi_entry *entry, __u8 opcode, __u64 local, __u64 remote, __u64 len);
void abi_entry_launch(union abi_entry *entry, __u64 kernel, __u64 vector_ops);

/* Seeded random numbers: the same sequence everywhere. */
struct abi_random {
	__u64 state;
};

__u64 abi_random(struct abi_random *random);
__u64 abi_seed(void);
unsigned int abi_setting(const char *name, unsigned int standard);

#endif
