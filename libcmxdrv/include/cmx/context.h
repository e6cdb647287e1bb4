/* SPDX-License-Identifier: MIT */
/*
 * Contexts: an open device, its reserved addresses and its default timeline.
 */
#ifndef CMX_CONTEXT_H
#define CMX_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <cmx_drm.h>

#include <cmx/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Contexts
 *
 * A context is one open file of the device: one client with an address space and a
 * default timeline.  Its functions may be called from any thread of the process that
 * opened it; an object (a queue, a completion ring) belongs to one thread at a time
 * unless its own text says otherwise.
 *
 * Device addresses equal process addresses: a context reserves a range of the process'
 * address space and places every mapping of the device there, so one pointer is good
 * for host code, kernels and commands.
 *
 * Nothing is inherited by fork(): in a child every function that could fail does so, with
 * -EPERM, and touches neither rings nor device.  The child may call cmx_close(), which
 * then only closes its copy of the file.
 */
struct cmx_ctx;

/** cmx_va - the device address of a pointer into a context's memory. */
#define cmx_va(ptr)	((uint64_t)(uintptr_t)(ptr))

/**
 * cmx_open - open a device.
 * @path: device node, or NULL for $CMX_DEVICE, else the first one found.
 * @flags: must be zero.
 * @ctx: receives the context.
 *
 * Return: 0; -ENODEV without a device; -EPROTO when the module speaks another version;
 * else -errno.
 */
int cmx_open(const char *path, uint32_t flags, struct cmx_ctx **ctx);

/**
 * cmx_close - close a context and free all that belongs to it.
 * @ctx: context, or NULL.
 *
 * Every object made with the context is gone afterwards, also those not destroyed one
 * by one.  No other thread may use the context.
 */
void cmx_close(struct cmx_ctx *ctx);

/** cmx_fd - the context's file descriptor, for poll(); it stays the context's. */
int cmx_fd(const struct cmx_ctx *ctx);

/**
 * cmx_info_query - ask the module; see the inline functions of cmx/device.h.
 * @ctx: context.
 * @type: enum drm_cmx_info_type.
 * @index: entity for CMX_INFO_ENTITY, else 0.
 * @info: structure of that type.
 * @size: its size; what an older module does not know reads as zero.
 */
int cmx_info_query(struct cmx_ctx *ctx, uint32_t type, uint32_t index, void *info,
		   size_t size);

/**
 * cmx_events - take events; poll() on cmx_fd() says POLLIN when there are any.
 * @ctx: context.
 * @events: array.
 * @max: its elements.
 * @lost: receives the number of events lost since the last call; may be NULL.
 *
 * Return: events taken, 0 to @max, or -errno.
 */
int cmx_events(struct cmx_ctx *ctx, struct cmx_event *events, uint32_t max,
	       uint64_t *lost);

/**
 * cmx_describe - say what every queue that is not empty waits for.
 * @ctx: context.
 * @buf: receives the text, one line for each queue; may be NULL when @size is 0.
 * @size: bytes at @buf.
 *
 * Return: length of the whole text as snprintf() counts it, or -errno.
 */
int cmx_describe(struct cmx_ctx *ctx, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CMX_CONTEXT_H */
