/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfers that begin at once on a clock of their own, and how long each took. */
#ifndef HAUL_H
#define HAUL_H

#include "bed.h"

#define MIB		(1ull << 20)
#define LARGE		(64 * MIB)
#define GB		1000000000ull
#define NS		1000ull
#define PS_PER_S	1000000000000ull
#define HAUL_JOBS	64

/* Constants of the built-in profile, see docs/timing.md. */
#define DIE_PORT	(196 * GB * 944 / 1000)
#define SOCKET_PORT	(160 * GB * 944 / 1000)
#define LINK		(28 * GB * 944 / 1000)

/** struct job - one transfer. */
struct job {
	/* Entity whose queue asks, and the one it reads or writes. */
	uint32_t entity, peer;
	uint64_t bytes;
	bool write;
	/* As in struct cmx_queue_desc. */
	uint32_t planes, err_timeout;
};

struct haul {
	struct cmx_ctx *ctx;
	struct cmx_timeline *clock;
	struct cmx_cq *cq;
	uint32_t nodes, dies, per_node, sockets_per_node;
	/* By job: picoseconds, and the completion's status. */
	uint64_t took[HAUL_JOBS];
	uint32_t status[HAUL_JOBS];
};

/* All return 0, or what the library said. */
int haul_open(struct haul *h);
void haul_close(struct haul *h);

/* All jobs at once, each on a queue of its own. */
int haul_run(struct haul *h, const struct job *jobs, uint32_t n);
/* One job, which must succeed. */
int haul_run_one(struct haul *h, const struct job *job, uint64_t *took);
/* One job: its status. */
int haul_status(struct haul *h, const struct job *job);
/* Read @n completions of entries with user_ctx below HAUL_JOBS. */
int haul_read(struct haul *h, uint64_t start, uint32_t n);

uint64_t haul_now(const struct haul *h);
uint32_t haul_die(const struct haul *h, uint32_t node, uint32_t i);
uint32_t haul_socket(const struct haul *h, uint32_t node, uint32_t i);

/* Picoseconds of @bytes at @rate. */
uint64_t time_of(uint64_t bytes, uint64_t rate);
/* Difference in permille of what was expected. */
uint64_t off(uint64_t got, uint64_t want);

/* @i: which of several. */
#define EXPECT_NEAR(i, permille, want, got) do { \
	uint64_t near_got = (got), near_want = (want); \
	EXPECT_LE(off(near_got, near_want), permille) \
		TH_LOG("%u: %s: %llu, expected %llu", i, #got, (unsigned long long)near_got, \
		       (unsigned long long)near_want); \
} while (0)

#endif /* HAUL_H */
