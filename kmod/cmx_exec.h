/* SPDX-License-Identifier: GPL-2.0-only */
/* Carrying out commands: what happens at issue and at completion. */
#ifndef CMX_EXEC_H
#define CMX_EXEC_H

#include <linux/types.h>

struct cmx_cmd;
struct cmx_file;
struct cmx_timeline;

/*
 * cmx_cmd_start() - issue a command whose event was taken from the heap.
 * @budget: what it costs the host counts against the slice
 *
 * Return: 0, or -ENOMEM: nothing was done, the event is back in the heap.
 */
int cmx_cmd_start(struct cmx_cmd *cmd, size_t *budget);

/*
 * cmx_cmd_apply() - let a command take effect; its event is still in the heap.
 * @budget: bytes that may still be moved in this slice
 *
 * Return: 0 it is over; -EAGAIN @budget is used up; -ENOMEM try again.
 */
int cmx_cmd_apply(struct cmx_cmd *cmd, size_t *budget);

/*
 * cmx_word_update() - atomic read-modify-write of 4 or 8 bytes of device memory.
 * @op: UB_OP_CAS to UB_OP_FXOR
 * @old: out: value before
 *
 * Waiters see it at the timeline's time.
 * Return: 0, -EREMOTEIO not mapped for writing, -EOPNOTSUPP no bytes, -ENOMEM.
 */
int cmx_word_update(struct cmx_file *file, struct cmx_timeline *tl, u32 op, u64 va, u32 len,
		    u64 operand, u64 compare, u64 *old);

#endif
