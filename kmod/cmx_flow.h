/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfers on the clock: from server to server, a slice at a time. */
#ifndef CMX_FLOW_H
#define CMX_FLOW_H

#include <linux/types.h>

struct cmx_routes;
struct cmx_servers;

/** struct cmx_transfer - bytes that go from one entity to another. */
struct cmx_transfer {
	/** @initiator: entity that asks. */
	u32 initiator;
	/** @from: entity the bytes are read from. */
	u32 from;
	/** @to: entity they are written to. */
	u32 to;
	/** @messages: messages they are sent in. */
	u32 messages;
	/** @bytes: how many. */
	u64 bytes;
};

/**
 * struct cmx_flow - a transfer being charged.
 *
 * It asks one server after another, and where it has to wait it goes back to the heap, so
 * that servers see what asks them in the order of the clock.
 */
struct cmx_flow {
	/** @start: where on the clock it began. */
	u64 start;
	/** @at: where it goes on. */
	u64 at;
	/** @end: latest end of what was charged; when all is: with its latency. */
	u64 end;
	/** @first_end: end of the present slice's first stage. */
	u64 first_end;
	/** @bytes: all. */
	u64 bytes;
	/** @sent: those of earlier slices. */
	u64 sent;
	/** @len: those of the present slice. */
	u64 len;
	/** @slice: most bytes of a slice. */
	u64 slice;
	/** @rate: a launch's use of its memory: bytes/s, else 0. */
	u64 rate;
	/** @routes: what the present slice began with; a reference while it waits, or NULL. */
	struct cmx_routes *routes;
	/** @initiator: entity that asks. */
	u32 initiator;
	/** @from: entity the bytes are read from. */
	u32 from;
	/** @to: entity they are written to. */
	u32 to;
	/** @from_node: node of @from; a launch's own memory: unused. */
	u32 from_node;
	/** @to_node: node of @to; likewise. */
	u32 to_node;
	/** @planes: as in struct drm_cmx_queue_create. */
	u32 planes;
	/** @messages: messages they are sent in. */
	u32 messages;
	/** @stages: bit for each enum cmx_stage of a slice. */
	u16 stages;
	/** @left: those the present slice still has to pass. */
	u16 left;
	/** @way: enum cmx_way. */
	u8 way;
	/** @far: another node is addressed. */
	bool far;
};

/* cmx_flow_has_entered() - the last slice is past the first stage. */
static inline bool cmx_flow_has_entered(const struct cmx_flow *flow)
{
	return flow->left && flow->left != flow->stages &&
	       flow->sent + flow->len >= flow->bytes;
}

/* cmx_flow_begin() - a transfer that begins at @at over @planes. */
void cmx_flow_begin(struct cmx_flow *flow, const struct cmx_servers *servers,
		    const struct cmx_transfer *x, u32 planes, u64 at);

/* cmx_flow_begin_launch() - @bytes that a launch reads and writes in its own memory. */
void cmx_flow_begin_launch(struct cmx_flow *flow, u32 entity, u64 bytes, u64 rate, u64 at);

/*
 * cmx_flow_step() - charge what happens up to @now.
 *
 * Return: 0: all is charged, and arrives at cmx_flow.end; 1: come back at cmx_flow.at;
 * -EOVERFLOW; -EHOSTUNREACH: what is left of it has no way; -EINVAL: an end is not on the
 * plane.  After an error the flow is over.
 */
int cmx_flow_step(struct cmx_servers *servers, struct cmx_flow *flow, u64 now);

/* cmx_flow_drop() - forget a flow, wherever it is. */
void cmx_flow_drop(struct cmx_flow *flow);

#endif
