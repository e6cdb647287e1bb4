/* SPDX-License-Identifier: MIT */
/*
 * Inside of a context.
 */
#ifndef CMX_CTX_H
#define CMX_CTX_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <cmx/cmx.h>

#include "cmx_frame.h"
#include "cmx_kernels.h"
#include "cmx_list.h"
#include "cmx_lobby.h"
#include "cmx_va.h"

struct cmx_ctx {
	int fd;
	char path[256];
	struct drm_cmx_info_device device;
	struct drm_cmx_info_limits limits;
	/* A page that reads as zero in a forked child. */
	uint32_t *alive;
	/* Reserved process addresses, and device addresses no process has. */
	void *reserve;
	uint64_t reserve_size;
	struct cmx_va host_va, device_va;
	/* Protects the lists of objects. */
	pthread_mutex_t lock;
	struct cmx_list bos, mems, timelines, cqs, rqs, queues;
	struct cmx_timeline *timeline;
	struct cmx_kernels kernels;
	struct cmx_frames frames;
	struct cmx_lobby lobby;
	struct cmx_runners *runners;
};

/* False in a forked child, which must not touch rings. */
static inline bool cmx_ctx_alive(const struct cmx_ctx *ctx)
{
	return __atomic_load_n(ctx->alive, __ATOMIC_RELAXED);
}

/* -EPERM and a text in a forked child, else 0. */
int cmx_ctx_check(const struct cmx_ctx *ctx);

/* The number under which the module explains mmap() and ioctls of DRM itself. */
#define CMX_CALL_OTHER	UINT32_MAX

/* Fill the error of a call that failed with @code, by the module's explanation if it has one. */
int cmx_ctx_explain(const struct cmx_ctx *ctx, uint32_t nr, int code, const char *what);

/* An ioctl of ours: 0, or -errno with the module's explanation. */
int cmx_ctx_ioctl(struct cmx_ctx *ctx, unsigned long request, void *arg, const char *what);

/* Map ring memory of the device; @what names it in the error. */
int cmx_ctx_map_ring(struct cmx_ctx *ctx, uint64_t offset, uint64_t size, bool writable,
		     const char *what, void **addr);
void cmx_ctx_unmap_ring(const void *addr, uint64_t size);

/* Objects: link and unlink under the context's lock. */
void cmx_ctx_link(struct cmx_ctx *ctx, struct cmx_list *list, struct cmx_list *node);
void cmx_ctx_unlink(struct cmx_ctx *ctx, struct cmx_list *node);

/* Destroy a handle. */
int cmx_ctx_destroy_handle(struct cmx_ctx *ctx, uint32_t type, uint32_t handle);

/* What cmx_close() does with objects the program left. */
void cmx_queues_close(struct cmx_ctx *ctx);
void cmx_rqs_close(struct cmx_ctx *ctx);
void cmx_cqs_close(struct cmx_ctx *ctx);
void cmx_timelines_close(struct cmx_ctx *ctx);
void cmx_mems_close(struct cmx_ctx *ctx);

/* The default timeline, made by cmx_open(). */
int cmx_timeline_open_default(struct cmx_ctx *ctx);

/* The u64 at a device address, if the process has memory there. */
bool cmx_mem_peek(struct cmx_ctx *ctx, uint64_t va, uint64_t *value);

#endif /* CMX_CTX_H */
