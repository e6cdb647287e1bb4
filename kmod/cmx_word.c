// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic operations on words of device memory.  They are atomic against the clients'
 * CPUs as well, which may map the same memory.
 */
#include <linux/atomic.h>
#include <linux/err.h>

#include "cmx_exec.h"
#include "cmx_file.h"
#include "cmx_timeline.h"
#include "cmx_watch.h"

static u64 cmx_word_result(u32 op, u64 old, u64 operand, u64 compare)
{
	switch (op) {
	case UB_OP_CAS:
		return old == compare ? operand : old;
	case UB_OP_SWAP:
		return operand;
	case UB_OP_FADD:
		return old + operand;
	case UB_OP_FSUB:
		return old - operand;
	case UB_OP_FAND:
		return old & operand;
	case UB_OP_FOR:
		return old | operand;
	default:
		return old ^ operand;
	}
}

static u64 cmx_word_update32(u32 *word, u32 op, u32 operand, u32 compare)
{
	u32 old = READ_ONCE(*word);

	while (!try_cmpxchg(word, &old, (u32)cmx_word_result(op, old, operand, compare)))
		;
	return old;
}

static u64 cmx_word_update64(u64 *word, u32 op, u64 operand, u64 compare)
{
	u64 old = READ_ONCE(*word);

	while (!try_cmpxchg64(word, &old, cmx_word_result(op, old, operand, compare)))
		;
	return old;
}

int cmx_word_update(struct cmx_file *file, struct cmx_timeline *tl, u32 op, u64 va, u32 len,
		    u64 operand, u64 compare, u64 *old)
{
	struct cmx_span span;
	size_t size = len;
	void *word;

	guard(rwsem_read)(&file->vm.lock);
	if (cmx_vm_check(&file->vm, va, len, CMX_MAP_WRITE, &span))
		return -EREMOTEIO;
	if (span.no_data)
		return -EOPNOTSUPP;
	word = cmx_bo_access(span.bo, span.offset, &size, true);
	if (IS_ERR(word))
		return PTR_ERR(word);
	*old = len == 4 ? cmx_word_update32(word, op, operand, compare) :
			  cmx_word_update64(word, op, operand, compare);
	cmx_watch_notify(span.bo, span.offset, len, tl, tl->now);
	return 0;
}
