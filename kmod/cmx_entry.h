/* SPDX-License-Identifier: GPL-2.0-only */
/* What an entry must look like. */
#ifndef CMX_ENTRY_H
#define CMX_ENTRY_H

#include <linux/bits.h>
#include <linux/types.h>

struct cmx_cmd;

#define CMX_MAX_DELAY		BIT_ULL(63)	/* picoseconds of one entry */
#define CMX_MAX_LEN		BIT_ULL(40)	/* bytes of one entry */
#define CMX_MAX_SG_LIST		65536
#define CMX_MAX_SPANS		131072	/* translations one entry may need */
#define CMX_MAX_INLINE		128
#define CMX_MAX_SGE		8

/*
 * cmx_entry_check() - form of a copied entry: fields, flags, sizes; not its addresses.
 *
 * Return: enum ub_cr_status.
 */
u32 cmx_entry_check(const struct cmx_cmd *cmd, u32 queue_class);

/* cmx_exec_opcodes() - bit map of the opcodes carried out. */
void cmx_exec_opcodes(u64 bits[4]);

#endif
