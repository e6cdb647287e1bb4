/* SPDX-License-Identifier: MIT */
/*
 * Memory on an entity, mapped for the device and for the process at one address.
 */
#ifndef CMX_MEMORY_H
#define CMX_MEMORY_H

#include <cmx/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct cmx_mem - memory on an entity. */
struct cmx_mem;

/* Capacity is accounted, bytes never exist: no pointer, only a device address. */
#define CMX_MEM_NO_DATA		(1U << 0)
/* Commands may only read it (host code may write). */
#define CMX_MEM_DEVICE_READ	(1U << 1)

/**
 * cmx_mem_alloc - allocate memory.
 * @ctx: context.
 * @entity: die or socket.
 * @size: bytes, rounded up to pages.
 * @flags: CMX_MEM_*.
 * @mem: receives the memory.
 *
 * No host memory is used before it is touched; it reads as zero.  Addresses are aligned
 * to 2 MiB when the size is at least that.
 *
 * Return: 0; -ENOSPC over the entity's capacity (the text has the numbers); else -errno.
 */
int cmx_mem_alloc(struct cmx_ctx *ctx, uint32_t entity, uint64_t size, uint32_t flags,
		  struct cmx_mem **mem);

/**
 * cmx_mem_import - memory that another file or process exported.
 * @ctx: context.
 * @fd: file descriptor of cmx_mem_export(); it stays the caller's.
 * @flags: CMX_MEM_DEVICE_READ or 0.
 * @mem: receives the memory.
 */
int cmx_mem_import(struct cmx_ctx *ctx, int fd, uint32_t flags, struct cmx_mem **mem);

/**
 * cmx_mem_export - a file descriptor that stands for the memory (close on exec).
 * @mem: memory.
 * @fd: receives the descriptor.
 */
int cmx_mem_export(struct cmx_mem *mem, int *fd);

/**
 * cmx_mem_free - unmap and free memory.
 * @mem: memory, or NULL.
 *
 * Commands that still name it fail with UB_CR_LOC_ACCESS_ERR.
 */
void cmx_mem_free(struct cmx_mem *mem);

/** cmx_mem_ptr - pointer to the memory, NULL with CMX_MEM_NO_DATA. */
void *cmx_mem_ptr(const struct cmx_mem *mem);

/** cmx_mem_va - device address; equal to the pointer where there is one. */
uint64_t cmx_mem_va(const struct cmx_mem *mem);

/** cmx_mem_size - bytes, whole pages. */
uint64_t cmx_mem_size(const struct cmx_mem *mem);

/** cmx_mem_entity - entity the memory is on. */
uint32_t cmx_mem_entity(const struct cmx_mem *mem);

/** cmx_mem_handle - GEM handle in the context's file. */
uint32_t cmx_mem_handle(const struct cmx_mem *mem);

/**
 * cmx_mem_resident - bytes backed by host memory now.
 * @mem: memory.
 * @bytes: receives the number.
 */
int cmx_mem_resident(const struct cmx_mem *mem, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* CMX_MEMORY_H */
