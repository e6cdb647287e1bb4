/* SPDX-License-Identifier: MIT */
/*
 * NPU kernels: C functions that launches run, and what they may call.
 */
#ifndef CMX_KERNEL_H
#define CMX_KERNEL_H

#include <cmx/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Kernels
 *
 * A launch runs the kernel's function once for each block of its grid, on any threads
 * and in any order.  Blocks of one launch must not write the same bytes; what a launch
 * computes, and what it charges, may depend on its arguments and memory only.
 *
 * A kernel never blocks: it must not wait, submit, or create objects.  What it wants
 * other entities to see goes through cmx_dev_write(), cmx_dev_signal() and
 * cmx_dev_atomic(), which append to the launch's record; the module checks it, charges
 * the fabric and applies it at arrival.
 */

/** struct cmx_launch_ctx - the launch, as one block sees it. */
struct cmx_launch_ctx;

/**
 * typedef cmx_kernel_fn - one block of a launch.
 * @lc: the launch.
 * @args: argument bytes, 8-byte aligned.
 * @block: 0 to grid - 1.
 *
 * Return: 0, or a code that fails the launch (CMX_CR_KERNEL_ERR); with several blocks
 * that fail, the code of the first one counts.
 */
typedef int (*cmx_kernel_fn)(struct cmx_launch_ctx *lc, const void *args, uint32_t block);

/**
 * typedef cmx_kernel_post_fn - runs once, after all blocks; may set the final cost.
 * @lc: the launch.
 * @args: argument bytes.
 *
 * Return: 0, or a code that fails the launch.
 */
typedef int (*cmx_kernel_post_fn)(struct cmx_launch_ctx *lc, const void *args);

/**
 * typedef cmx_kernel_cost_fn - the cost of a launch, from its arguments alone.
 * @args: argument bytes; device memory must not be read.
 * @args_size: how many.
 * @grid: blocks.
 * @cost: zero at entry.
 *
 * Return: 0 or -errno.
 */
typedef int (*cmx_kernel_cost_fn)(const void *args, uint32_t args_size, uint32_t grid,
				  struct cmx_cost *cost);

/* Flags of a kernel. */
#define CMX_KERNEL_LOCAL	(1U << 0)	/* records no remote traffic */

/** struct cmx_kernel_desc - a kernel. */
struct cmx_kernel_desc {
	/** @name: unique in the context, 1 to 63 characters. */
	const char *name;
	/** @run: one block. */
	cmx_kernel_fn run;
	/** @post: after all blocks, or NULL. */
	cmx_kernel_post_fn post;
	/** @cost: declared cost, or NULL. */
	cmx_kernel_cost_fn cost;
	/** @flags: CMX_KERNEL_*. */
	uint32_t flags;
	/** @args_size: exact argument bytes, or 0: not checked. */
	uint32_t args_size;
	/** @reserved: must be zero. */
	uint64_t reserved[2];
};

#define CMX_KERNEL_TABLE_VERSION	1

/**
 * struct cmx_kernel_table - what a shared object with kernels exports.
 *
 * The symbol is named cmx_kernel_table:
 * const struct cmx_kernel_table cmx_kernel_table = { CMX_KERNEL_TABLE_VERSION, n, kernels };
 */
struct cmx_kernel_table {
	/** @version: CMX_KERNEL_TABLE_VERSION. */
	uint32_t version;
	/** @count: elements. */
	uint32_t count;
	/** @kernels: the kernels. */
	const struct cmx_kernel_desc *kernels;
};

/**
 * cmx_kernel_register - name a function; any number of threads may do so.
 * @ctx: context.
 * @name: unique in the context, 1 to 63 characters, copied.
 * @fn: one block.
 * @kernel: receives the kernel's number.
 *
 * Return: 0; -EEXIST; -ENOSPC past 4096 kernels; else -errno.
 */
int cmx_kernel_register(struct cmx_ctx *ctx, const char *name, cmx_kernel_fn fn,
			uint64_t *kernel);

/** cmx_kernel_register_desc - cmx_kernel_register() with all there is to say. */
int cmx_kernel_register_desc(struct cmx_ctx *ctx, const struct cmx_kernel_desc *desc,
			     uint64_t *kernel);

/**
 * cmx_kernel_load - register the kernels of a shared object.
 * @ctx: context, which keeps the object loaded.
 * @path: shared object that exports cmx_kernel_table.
 *
 * All of its kernels are registered, or none.
 *
 * Return: their number, or -errno.
 */
int cmx_kernel_load(struct cmx_ctx *ctx, const char *path);

/**
 * cmx_kernel_find - the number of a registered kernel.
 * @ctx: context.
 * @name: its name.
 * @kernel: receives the number.
 *
 * Return: 0 or -ENOENT.
 */
int cmx_kernel_find(struct cmx_ctx *ctx, const char *name, uint64_t *kernel);

/**
 * cmx_kernel_cost - what the kernel's cost function says of a launch.
 * @ctx: context.
 * @kernel: number of cmx_kernel_register().
 * @args: argument bytes.
 * @args_size: how many.
 * @grid: blocks.
 * @cost: receives the cost.
 *
 * Return: 0; -ENOENT without such a kernel; what the function returns.  A kernel without
 * one costs nothing but the overhead of a launch.
 */
int cmx_kernel_cost(struct cmx_ctx *ctx, uint64_t kernel, const void *args,
		    uint32_t args_size, uint32_t grid, struct cmx_cost *cost);

/** enum cmx_kernel_code - codes of launches that the library fails. */
enum cmx_kernel_code {
	/** @CMX_CODE_NO_KERNEL: no kernel has the number. */
	CMX_CODE_NO_KERNEL = 0x40000001,
	/** @CMX_CODE_ARGS_SIZE: the kernel takes another number of argument bytes. */
	CMX_CODE_ARGS_SIZE,
	/** @CMX_CODE_NO_MEMORY: no memory for the record. */
	CMX_CODE_NO_MEMORY,
	/** @CMX_CODE_RECORDS: more records than the module takes. */
	CMX_CODE_RECORDS,
	/** @CMX_CODE_LOCAL: a kernel with CMX_KERNEL_LOCAL recorded traffic. */
	CMX_CODE_LOCAL,
	/** @CMX_CODE_REFUSED: the module refused the outcome. */
	CMX_CODE_REFUSED,
};

/* --------------------------------------------------------- for use by kernels */

/** cmx_launch_entity - entity the launch runs on. */
uint32_t cmx_launch_entity(const struct cmx_launch_ctx *lc);

/** cmx_launch_grid - blocks. */
uint32_t cmx_launch_grid(const struct cmx_launch_ctx *lc);

/** cmx_launch_args_size - argument bytes. */
uint32_t cmx_launch_args_size(const struct cmx_launch_ctx *lc);

/** cmx_launch_user_ctx - the entry's user_ctx. */
uint64_t cmx_launch_user_ctx(const struct cmx_launch_ctx *lc);

/** cmx_launch_cost - the declared cost, or the one set last. */
void cmx_launch_cost(const struct cmx_launch_ctx *lc, struct cmx_cost *cost);

/** cmx_launch_set_cost - set the final cost; in the post function only (else -EPERM). */
int cmx_launch_set_cost(struct cmx_launch_ctx *lc, const struct cmx_cost *cost);

/**
 * cmx_dev_write - write bytes to another entity's memory.
 * @lc: the launch.
 * @at_ps: when sent, from the launch's start.
 * @dst_va: where to.
 * @src: device memory, which must keep the bytes until they have arrived.
 * @len: bytes.
 * @messages: messages they are sent in; 0: 1.
 *
 * Of all that a launch records the order is time, then block, then program order.
 *
 * Return: 0 or -errno; the launch fails too, so it need not be looked at.
 */
int cmx_dev_write(struct cmx_launch_ctx *lc, uint64_t at_ps, uint64_t dst_va, const void *src,
		  uint64_t len, uint32_t messages);

/** cmx_dev_signal - set a u64 that others wait on, behind what was written before. */
int cmx_dev_signal(struct cmx_launch_ctx *lc, uint64_t at_ps, uint64_t va, uint64_t value);

/** cmx_dev_atomic - UB_OP_FADD, FAND, FOR, FXOR or SWAP on 4 or 8 bytes. */
int cmx_dev_atomic(struct cmx_launch_ctx *lc, uint64_t at_ps, uint32_t opcode, uint64_t va,
		   uint32_t len, uint64_t value);

/** cmx_dev_record - any record; see struct cmx_record. */
int cmx_dev_record(struct cmx_launch_ctx *lc, const struct cmx_record *record);

#ifdef __cplusplus
}
#endif

#endif /* CMX_KERNEL_H */
