/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands where the library and the module would be: a supernode in memory that answers
 * cmx_fabric_*(). Wired by the same numbers, without time of its own: a test sets counters.
 */
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

#include <cmx/fabric.h>

#define FAKE_EVENTS	16

struct cmx_fabric {
	struct cmx_fabric_machine machine;
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_chip *chips;
	struct cmx_fabric_link *links;
	/* Its first @num_clients are answered. */
	struct cmx_fabric_client clients[4];
	struct cmx_fabric_client_entity client_entities[4];
	int num_clients;
	struct cmx_fabric_event events[FAKE_EVENTS];
	int num_events;
	/* The next calls of this many lists find the machine changed. */
	int restless;
	/* Refuses every change with this text. */
	const char *refusal;
};

/* The one there is; cmx_fabric_open() answers with it. */
extern struct cmx_fabric fake_fabric;

/* Makes it anew: of a cloudmatrix384 with @nodes nodes. */
void fake_fabric_make(uint32_t nodes);
void fake_fabric_free(void);

/* Every link gets some load, after a pattern; 1 s of virtual time goes by. */
void fake_fabric_load(void);

#endif /* FAKE_FABRIC_H */
