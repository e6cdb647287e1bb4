/* SPDX-License-Identifier: GPL-2.0-only */
/* Traffic: queues with commands, what they should carry where, and when they ended. */
#ifndef LOAD_H
#define LOAD_H

#include "world.h"

#define MAX_QUEUES	12
#define MAX_OPS		24
#define MAX_ENTITIES	64
#define MAX_BYTES	(4 << 20)

/** enum op_kind - what a command does. */
enum op_kind {
	OP_READ,	/* the queue's entity reads another's memory */
	OP_WRITE,	/* and writes it */
	OP_COPY,	/* it copies from one's to another's */
	OP_ATOMIC,	/* it adds to a word there */
	OP_RECORD,	/* a launch sends */
	OP_DELAY,	/* takes time */
	OP_KINDS,
};

/** struct op - a command, and what came of it. */
struct op {
	enum op_kind kind;
	/** @from: entity the bytes come from. */
	uint32_t from;
	/** @to: entity they go to. */
	uint32_t to;
	/** @bytes: how many. */
	uint64_t bytes;
	/** @ps: DELAY: how long. */
	uint64_t ps;
	/** @status: of its completion. */
	uint32_t status;
	/** @done: its time. */
	uint64_t done;
};

/** struct line - a queue and its commands. */
struct line {
	uint32_t entity;
	uint32_t queue_class;
	uint32_t planes;
	/** @overlap: commands do not wait for one another. */
	bool overlap;
	uint32_t count;
	struct op ops[MAX_OPS];
};

/** struct load - traffic of one clock. */
struct load {
	uint32_t count;
	struct line lines[MAX_QUEUES];
	/** @end: the clock when all was over. */
	uint64_t end;
};

/** struct part - entities that traffic may use: all that @has. */
struct part {
	bool has[MAX_ENTITIES];
};

struct part part_all(const struct world *world);
/* Entities of nodes @first to @last - 1. */
struct part part_nodes(const struct world *world, uint32_t first, uint32_t last);
/* Any of them. */
uint32_t part_pick(const struct world *world, const struct part *part, struct random *random);

/** load_add_line() - a queue with @ops random commands among the part's entities. */
struct line *load_add_line(struct load *load, const struct world *world, const struct part *part,
			   uint32_t ops, struct random *random);
/** load_add() - some queues. */
void load_add(struct load *load, const struct world *world, const struct part *part,
	      uint32_t lines, uint32_t ops, struct random *random);
/** op_random() - a command that @line may have. */
struct op op_random(const struct world *world, const struct part *part, const struct line *line,
		    struct random *random);

/** load_in_order() - no command overlaps the one before. */
void load_in_order(struct load *load);

/** load_run() - carry it out on a clock of its own: 0 or -errno with a text. */
int load_run(struct load *load, const struct world *world);

/** load_same_times() - the first lines of two loads ended at the same times. */
bool load_same_times(const struct load *a, const struct load *b, uint32_t lines);

#endif /* LOAD_H */
