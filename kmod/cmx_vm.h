/* SPDX-License-Identifier: GPL-2.0-only */
/* A client's device address space. */
#ifndef CMX_VM_H
#define CMX_VM_H

#include <linux/maple_tree.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include "cmx_bo.h"

#define CMX_VA_BITS	56
#define CMX_RECENT_BITS	9

struct cmx_file;

/** struct cmx_mapping - a range of a BO at a device VA. */
struct cmx_mapping {
	/** @va: first byte. */
	u64 va;
	/** @size: bytes. */
	u64 size;
	/** @bo: a reference. */
	struct cmx_bo *bo;
	/** @offset: first byte in @bo. */
	u64 offset;
	/** @flags: CMX_MAP_*. */
	u32 flags;
	/** @entity: index of @bo's. */
	u32 entity;
	/** @no_data: @bo has no bytes (CMX_BO_NO_DATA). */
	bool no_data;
	/** @next: list of mappings that one UNMAP removes. */
	struct cmx_mapping *next;
};

/** struct cmx_vm - mappings of one file. */
struct cmx_vm {
	/**
	 * @lock: read: translate (held for a bounded slice of work); write: change.
	 * Taken inside a timeline's lock, outside BO locks.
	 */
	struct rw_semaphore lock;
	/** @tree: struct cmx_mapping by page number. */
	struct maple_tree tree;
	/** @generation: counts changes: what was translated before one is void. */
	u64 generation;
	/**
	 * @recent: mappings found last, by a hash of where.  All are in @tree: who takes any
	 * out of there clears this.  Readers of @lock write it as well.
	 */
	struct cmx_mapping *recent[1U << CMX_RECENT_BITS];
};

/** struct cmx_span - a translated range; valid while cmx_vm.lock is held. */
struct cmx_span {
	/** @bo: memory. */
	struct cmx_bo *bo;
	/** @offset: first byte in @bo. */
	u64 offset;
	/** @len: bytes, at most what was asked for. */
	u64 len;
	/** @entity: index of the entity they are in. */
	u32 entity;
	/** @no_data: @bo has no bytes (CMX_BO_NO_DATA). */
	bool no_data;
};

void cmx_vm_init(struct cmx_vm *vm);
/* cmx_vm_fini() - drop all mappings. */
void cmx_vm_fini(struct cmx_vm *vm, struct cmx_file *file);

/*
 * cmx_vm_translate() - first contiguous piece of [@va, @va + @len).
 *
 * Return: 0; -EFAULT when @va is not mapped, -EACCES when not for @access (CMX_MAP_*).
 */
int cmx_vm_translate(struct cmx_vm *vm, u64 va, u64 len, u32 access, struct cmx_span *span);

/*
 * cmx_vm_check() - whether all of [@va, @va + @len) is mapped for @access.
 * @span: out: its first piece
 *
 * Return: as cmx_vm_translate(); -EINVAL when the range is empty or wraps.
 */
int cmx_vm_check(struct cmx_vm *vm, u64 va, u64 len, u32 access, struct cmx_span *span);

#endif
