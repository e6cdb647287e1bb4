/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A measurement: a clock of its own that begins at 0, a completion ring, queues and memory.
 */
#ifndef CMX_RIG_H
#define CMX_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include <cmx/cmx.h>

struct cmx_rig {
	struct cmx_ctx *ctx;
	struct cmx_timeline *timeline;
	struct cmx_cq *cq;
	struct cmx_queue **queues;
	struct cmx_mem **mems;
	uint32_t num_queues, max_queues;
	uint32_t num_mems, max_mems;
	uint64_t launch_ps;		/* what a launch takes that does nothing */
	bool extrapolated;		/* a completion said so */
	char error[640];		/* of the last call that failed */
};

/* Clock and ring; 0 or -errno, as all that follow. Close it in either case. */
int cmx_rig_open(struct cmx_rig *rig, struct cmx_ctx *ctx, uint32_t cqes);
void cmx_rig_close(struct cmx_rig *rig);

/* Fill @rig->error and return @ret. */
int cmx_rig_fail(struct cmx_rig *rig, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with the library's own text behind @what. */
int cmx_rig_lib_fail(struct cmx_rig *rig, int ret, const char *what);

int cmx_rig_queue(struct cmx_rig *rig, uint32_t entity, uint32_t queue_class, uint32_t slots,
		  uint32_t planes, struct cmx_queue **queue);
int cmx_rig_memory(struct cmx_rig *rig, uint32_t entity, uint64_t size, uint32_t flags,
		   struct cmx_mem **mem);

/* Appends an entry that only takes @ps; none when that is 0. */
int cmx_rig_delay(struct cmx_rig *rig, struct cmx_queue *queue, uint64_t ps, uint32_t flags,
		  uint64_t user_ctx);

/*
 * Carry out what was appended until @n completions came, all of which must be good.
 * ends[user_ctx] becomes the time of the last one with that number, below @num_ends.
 */
int cmx_rig_finish(struct cmx_rig *rig, uint32_t n, uint64_t *ends, uint32_t num_ends);

#endif
