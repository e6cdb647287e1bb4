/* SPDX-License-Identifier: GPL-2.0-only */
/* What the machine and its dies know of each other, and of the driver. */
#ifndef CMX_MACHINE_PRIV_H
#define CMX_MACHINE_PRIV_H

#include <cmx/cmx.h>

#include "cmx_die.h"

struct cmx_machine {
	struct cmx_machine_options opt;
	struct cmx_ctx *ctx;
	uint64_t kernel[CMX_NPU_COUNT];
	struct cmx_die **die;
	uint32_t n_dies;
	uint64_t start_ps;	/* of the clock when it was opened */
};

struct cmx_die {
	struct cmx_machine *machine;
	uint32_t entity;
	uint32_t socket;
	struct cmx_cq *cq;
	struct cmx_queue *queue;
	uint32_t pending;	/* appended, completion not read */
	const char **label;	/* of those pending, [window] */
	bool narrow;		/* costs: activations are BF16 */
	uint64_t launches;
	uint64_t now_ps;
	struct cmx_trace_event *event;
	uint64_t n_events;
	uint64_t max_events;
};

/*
 * Room for one more command of @slots slots, which is to complete with the number of those
 * pending; what all dies have is carried out first if there is none. Then it was appended.
 */
int cmx_die_reserve(struct cmx_die *die, uint32_t slots, const char *label,
		    struct cmx_infer_err *err);
void cmx_die_appended(struct cmx_die *die);

/* The library's own text, if it has one for @ret. */
int cmx_machine_fail(struct cmx_infer_err *err, int ret, const char *what);
int cmx_machine_check_stopped(struct cmx_infer_err *err);

int cmx_die_submit(struct cmx_die *die, struct cmx_infer_err *err);
/* Until all is done that was appended to the die. */
int cmx_die_wait(struct cmx_die *die, struct cmx_infer_err *err);
/* Reads the completions that are there; the first that is none of success is an error. */
int cmx_die_collect(struct cmx_die *die, struct cmx_infer_err *err);
void cmx_die_free(struct cmx_die *die);

#endif
