/* SPDX-License-Identifier: GPL-2.0-only */
/* Every ioctl in one table: how to make a valid call, and what each field is. */
#ifndef CMX_CALLS_H
#define CMX_CALLS_H

#include "cmx_abi.h"

#define ABI_ARG_SIZE	256	/* room for the largest argument */
#define ABI_WORLD_PAGES	32

/** struct abi_world - a file with one of everything. */
struct abi_world {
	/** @fd: file. */
	int fd;
	/** @other: another file, for what is shared between two. */
	int other;
	/** @shared: timeline of @other as a descriptor. */
	int shared;
	/** @clock: default timeline. */
	struct abi_clock clock;
	/** @cq: completion ring. */
	struct abi_cq cq;
	/** @rq: receive ring. */
	struct abi_ring rq;
	/** @stream: queue that launches. */
	struct abi_ring stream;
	/** @sdma: queue that copies. */
	struct abi_ring sdma;
	/** @ub: queue that does remote operations. */
	struct abi_ring ub;
	/** @mem: memory on entity 0 at ABI_VA. */
	struct abi_mem mem;
	/** @limits: limits of the device. */
	struct drm_cmx_info_limits limits;
	/** @device: the device. */
	struct drm_cmx_info_device device;
	/** @scratch: where answers and arrays go. */
	__u64 scratch[128];
};

int abi_world_open(struct abi_world *world);
void abi_world_close(struct abi_world *world);

/** enum abi_kind - what a field is. */
enum abi_kind {
	ABI_IN,		/* valid as prepared */
	ABI_OUT,	/* written by the kernel, never read */
	ABI_PAD,	/* must be zero */
	ABI_FLAGS,	/* bits outside @known are refused */
	ABI_ENUM,	/* values above @known are refused */
	ABI_BO,		/* GEM handle */
	ABI_OBJECT,	/* handle of type @known */
	ABI_OPTIONAL,	/* the same, or 0 */
};

/** struct abi_field - one field of an argument. */
struct abi_field {
	/** @name: as in cmx_drm.h. */
	const char *name;
	/** @offset: bytes from the start. */
	__u16 offset;
	/** @size: bytes. */
	__u16 size;
	/** @kind: enum abi_kind. */
	__u32 kind;
	/** @known: see enum abi_kind; ABI_OUT: 1 if all ones is a valid answer. */
	__u64 known;
};

/** struct abi_call - one ioctl. */
struct abi_call {
	/** @name: name. */
	const char *name;
	/** @request: ioctl number. */
	unsigned long request;
	/** @prepare: makes valid arguments (zeroed before), and what they need. */
	int (*prepare)(struct abi_world *world, void *arg);
	/** @undo: removes what @prepare and a successful call made. */
	void (*undo)(struct abi_world *world, void *arg, int ret);
	/** @fields: fields. */
	const struct abi_field *fields;
	/** @num_fields: how many. */
	__u32 num_fields;
};

extern const struct abi_call abi_calls[];
extern const unsigned int abi_num_calls;

int abi_prepare(struct abi_world *world, const struct abi_call *call, void *arg);
void abi_undo(struct abi_world *world, const struct abi_call *call, void *arg, int ret);
__u64 abi_field_get(const struct abi_field *field, const void *arg);
void abi_field_set(const struct abi_field *field, void *arg, __u64 value);
const struct abi_call *abi_call_find(unsigned long request);
const struct abi_field *abi_field_find(const struct abi_call *call, const char *name);

#endif
