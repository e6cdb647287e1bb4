/* SPDX-License-Identifier: GPL-2.0-only */
/* What links and entities have done, summed over all virtual clocks, past ones included. */
#ifndef CMX_COUNTER_H
#define CMX_COUNTER_H

#include <linux/types.h>

struct cmx_machine;
struct cmx_servers;

/** struct cmx_link_counters - a link, both directions; up: from its lower end. */
struct cmx_link_counters {
	/** @up_bytes: bytes of users carried. */
	u64 up_bytes;
	/** @down_bytes: the same, other direction. */
	u64 down_bytes;
	/** @up_busy: virtual time it was busy, picoseconds. */
	u64 up_busy;
	/** @down_busy: the same, other direction. */
	u64 down_busy;
};

/** struct cmx_entity_counters - an entity. */
struct cmx_entity_counters {
	/** @mem_bytes: bytes its memory carried. */
	u64 mem_bytes;
	/** @mem_busy: virtual time it was busy, picoseconds. */
	u64 mem_busy;
	/** @launches: kernels completed. */
	u64 launches;
	/** @cube_busy: virtual time of launches, weighed by their share of the cube cores. */
	u64 cube_busy;
	/** @vector_busy: the same of the vector cores. */
	u64 vector_busy;
	/** @errors: commands of its queues that failed for the fabric's sake. */
	u64 errors;
	/** @lost_bytes: bytes of them that never left. */
	u64 lost_bytes;
};

/** struct cmx_counters - room for all; the caller allocates the arrays, zeroed. */
struct cmx_counters {
	/** @links: by link, or NULL: not wanted. */
	struct cmx_link_counters *links;
	/** @entities: by entity, or NULL: not wanted. */
	struct cmx_entity_counters *entities;
	/** @timelines: out: virtual clocks. */
	u32 timelines;
	/** @now: out: the furthest of them. */
	u64 now;
	/** @total: out: the times of all of them, added up; the most there is when that is more. */
	u64 total;
};

/** struct cmx_totals - of timelines that are gone; the list of timelines has the lock. */
struct cmx_totals {
	/** @num_links: elements of @counters.links. */
	u32 num_links;
	/** @num_entities: elements of @counters.entities. */
	u32 num_entities;
	/** @counters: sums. */
	struct cmx_counters counters;
};

int cmx_totals_init(struct cmx_totals *totals, const struct cmx_machine *machine);
void cmx_totals_fini(struct cmx_totals *totals);
/* cmx_totals_keep() - a timeline is going: keep what it counted. */
void cmx_totals_keep(struct cmx_totals *totals, const struct cmx_servers *servers, u64 now);
/* cmx_totals_add() - add what was kept to @sum. */
void cmx_totals_add(const struct cmx_totals *totals, struct cmx_counters *sum);

/* cmx_counters_read() - add up past and present timelines; may sleep. */
void cmx_counters_read(struct cmx_machine *machine, struct cmx_counters *sum);
/* cmx_counters_add() - add what @servers counted. */
void cmx_counters_add(struct cmx_counters *sum, const struct cmx_servers *servers);
/* cmx_counters_add_time() - add the time of a virtual clock. */
void cmx_counters_add_time(struct cmx_counters *sum, u64 now, u64 total);

#endif
