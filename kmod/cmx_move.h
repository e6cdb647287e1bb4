/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes moved by commands: where they are, what they cost, moving them. */
#ifndef CMX_MOVE_H
#define CMX_MOVE_H

#include <linux/types.h>

#include "cmx_vm.h"

struct cmx_cmd;
struct cmx_timeline;

/** struct cmx_cursor - a place in a command's list of pieces. */
struct cmx_cursor {
	/** @piece: piece. */
	u32 piece;
	/** @done: bytes of it that are done. */
	u64 done;
	/** @total: bytes done of all pieces. */
	u64 total;
};

/** struct cmx_bytes - a range to copy, fill or drop, translated piece by piece. */
struct cmx_bytes {
	/** @dst: device VA written. */
	u64 dst;
	/** @src: device VA read, unless @data or @pattern_size is set. */
	u64 src;
	/** @len: bytes. */
	u64 len;
	/** @data: bytes in kernel memory, or NULL. */
	const void *data;
	/** @pattern: value to fill with. */
	u64 pattern;
	/** @pattern_size: its size, 0: not a fill. */
	u32 pattern_size;
	/** @more: the next piece goes on where @dst ends. */
	bool more;
};

/** struct cmx_ends - both ends of some bytes, translated; valid under the vm lock. */
struct cmx_ends {
	/** @src: where they come from, if that is device memory. */
	struct cmx_span src;
	/** @dst: where they go. */
	struct cmx_span dst;
	/** @len: how many. */
	u64 len;
};

/* Statuses below: 0, -EFAULT or -EACCES at the source, -EREMOTEIO at the destination. */

/*
 * cmx_bytes_move() - move a part of @bytes.
 * @tl: timeline, for waiters on what is written
 * @moved: out: how much
 * @budget: in, out: bytes that may still be moved
 *
 * Return: status, or -ENOMEM.
 */
int cmx_bytes_move(struct cmx_vm *vm, const struct cmx_bytes *bytes, struct cmx_timeline *tl,
		   u64 *moved, size_t *budget);

/*
 * cmx_move_start() - check that all of a command's bytes are mapped, and find its legs.
 * @budget: in, out: a slot for each translation counts against the slice
 *
 * Return: status or -ENOMEM.
 */
int cmx_move_start(struct cmx_cmd *cmd, size_t *budget);

/*
 * cmx_move_apply() - move what is left of a command's bytes.
 *
 * Return: status, -EAGAIN when @budget is used up, -ENOMEM.
 */
int cmx_move_apply(struct cmx_cmd *cmd, size_t *budget);

/* cmx_move_load_list() - copy the list of a CMX_OP_COPY_SG; status or -ENOMEM. */
int cmx_move_load_list(struct cmx_cmd *cmd);

/* cmx_vm_read() - copy from device memory to kernel memory; status or -ENOMEM. */
int cmx_vm_read(struct cmx_vm *vm, u64 va, void *to, size_t len);

#endif
