// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_snapshot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"

/* Times to read everything again when a part changed meanwhile. */
#define TRIES	4

void cmx_snapshot_free(struct cmx_snapshot *snapshot)
{
	free(snapshot->entities);
	free(snapshot->chips);
	free(snapshot->links);
	free(snapshot->clients);
	memset(snapshot, 0, sizeof(*snapshot));
}

static int read_lists(struct cmx_fabric *fabric, uint32_t what, struct cmx_snapshot *s,
		      int counts[3])
{
	int clients = 0;

	if (what & CMX_SNAPSHOT_ENTITIES)
		counts[0] = cmx_fabric_entities(fabric, &s->entities);
	if (what & CMX_SNAPSHOT_CHIPS && counts[0] >= 0)
		counts[1] = cmx_fabric_chips(fabric, &s->chips);
	if (what & CMX_SNAPSHOT_LINKS && counts[0] >= 0 && counts[1] >= 0)
		counts[2] = cmx_fabric_links(fabric, &s->links);
	else if (what & CMX_SNAPSHOT_STATES && counts[0] >= 0 && counts[1] >= 0)
		counts[2] = cmx_fabric_link_states(fabric, &s->links);
	if (counts[0] < 0 || counts[1] < 0 || counts[2] < 0)
		return -1;
	if (what & CMX_SNAPSHOT_CLIENTS)
		clients = cmx_fabric_clients(fabric, &s->clients);
	s->num_clients = clients > 0 ? (uint32_t)clients : 0;
	return clients < 0 ? -1 : 0;
}

/* All lists are of the machine as @now has it, and that is what it was before them. */
static bool has_shape(const struct cmx_snapshot *s, const struct cmx_fabric_machine *now,
		      const int counts[3])
{
	return now->num_links == s->machine.num_links &&
	       !strcmp(now->profile, s->machine.profile) &&
	       (!s->entities || counts[0] == (int)now->num_entities) &&
	       (!s->chips || counts[1] == (int)now->num_chips) &&
	       (!s->links || counts[2] == (int)now->num_links);
}

/* 2: all of one moment; 1: a part changed meanwhile; 0: the machine did; -1: an error. */
static int read_once(struct cmx_fabric *fabric, uint32_t what, struct cmx_snapshot *s)
{
	struct cmx_fabric_machine after;
	int counts[3] = {}, ret;

	if (cmx_fabric_get_machine(fabric, &s->machine) || read_lists(fabric, what, s, counts) ||
	    cmx_fabric_get_machine(fabric, &after))
		return -1;
	s->host_ns = cmx_clock_ns();
	if (!has_shape(s, &after, counts))
		return 0;
	ret = after.generation == s->machine.generation ? 2 : 1;
	/* Counters were read before these clocks: no share is above the whole. */
	s->machine = after;
	s->span_ps = after.total_ps;
	return ret;
}

int cmx_snapshot_take(const char *command, struct cmx_fabric *fabric, uint32_t what,
		      struct cmx_snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	for (int i = 1; i <= TRIES; i++) {
		int ret = read_once(fabric, what, snapshot);

		/* Parts that change without pause are shown as they were met. */
		if (ret == 2 || (ret == 1 && i == TRIES))
			return 0;
		cmx_snapshot_free(snapshot);
		if (ret < 0) {
			fprintf(stderr, "cmx %s: %s\n", command, cmx_last_error()->text);
			return -1;
		}
	}
	fprintf(stderr, "cmx %s: another machine was made %d times while it was read\n", command,
		TRIES);
	return -1;
}

/* Counters of what was made anew begin at zero. */
static uint64_t added(uint64_t now, uint64_t earlier)
{
	return now > earlier ? now - earlier : 0;
}

static struct cmx_fabric_entity entity_since(const struct cmx_fabric_entity *now,
					     const struct cmx_fabric_entity *earlier)
{
	struct cmx_fabric_entity e = *now;

	e.launches = added(now->launches, earlier->launches);
	e.cube_busy_ps = added(now->cube_busy_ps, earlier->cube_busy_ps);
	e.vector_busy_ps = added(now->vector_busy_ps, earlier->vector_busy_ps);
	e.mem_busy_ps = added(now->mem_busy_ps, earlier->mem_busy_ps);
	e.mem_bytes = added(now->mem_bytes, earlier->mem_bytes);
	e.errors = added(now->errors, earlier->errors);
	e.lost_bytes = added(now->lost_bytes, earlier->lost_bytes);
	return e;
}

static struct cmx_fabric_link link_since(const struct cmx_fabric_link *now,
					 const struct cmx_fabric_link *earlier)
{
	struct cmx_fabric_link l = *now;

	l.up_bytes = added(now->up_bytes, earlier->up_bytes);
	l.down_bytes = added(now->down_bytes, earlier->down_bytes);
	l.up_busy_ps = added(now->up_busy_ps, earlier->up_busy_ps);
	l.down_busy_ps = added(now->down_busy_ps, earlier->down_busy_ps);
	l.changes = now->changes - earlier->changes;
	return l;
}

/* Clients come and go, in the order of their numbers. */
static int clients_since(const struct cmx_snapshot *now, struct cmx_snapshot *earlier)
{
	struct cmx_fabric_client *list = calloc(now->num_clients + 1, sizeof(*list));
	uint32_t b = 0;

	if (!list)
		return -1;
	for (uint32_t i = 0; i < now->num_clients; i++) {
		const struct cmx_fabric_client *old = &earlier->clients[b];

		list[i] = now->clients[i];
		while (b < earlier->num_clients && old->id < list[i].id)
			old = &earlier->clients[++b];
		if (b == earlier->num_clients || old->id != list[i].id)
			continue;
		list[i].commands = added(list[i].commands, old->commands);
		list[i].launches = added(list[i].launches, old->launches);
		list[i].bytes = added(list[i].bytes, old->bytes);
	}
	free(earlier->clients);
	earlier->clients = list;
	earlier->num_clients = now->num_clients;
	return 0;
}

static bool is_same_machine(const struct cmx_fabric_machine *a, const struct cmx_fabric_machine *b)
{
	return a->num_links == b->num_links && a->num_entities == b->num_entities &&
	       a->num_chips == b->num_chips && !strcmp(a->profile, b->profile);
}

int cmx_snapshot_since(const char *command, const struct cmx_snapshot *now,
		       struct cmx_snapshot *earlier)
{
	const struct cmx_fabric_machine *m = &now->machine;

	if (!is_same_machine(m, &earlier->machine)) {
		fprintf(stderr, "cmx %s: another machine was made meanwhile\n", command);
		return -1;
	}
	if (now->clients && clients_since(now, earlier)) {
		fprintf(stderr, "cmx %s: no memory for %u clients\n", command, now->num_clients);
		return -1;
	}
	for (uint32_t i = 0; now->entities && i < m->num_entities; i++)
		earlier->entities[i] = entity_since(&now->entities[i], &earlier->entities[i]);
	for (uint32_t i = 0; now->links && i < m->num_links; i++)
		earlier->links[i] = link_since(&now->links[i], &earlier->links[i]);
	if (now->chips)
		memcpy(earlier->chips, now->chips, m->num_chips * sizeof(*now->chips));
	earlier->machine = *m;
	earlier->span_ps = added(now->span_ps, earlier->span_ps);
	earlier->host_ns = now->host_ns - earlier->host_ns;
	return 0;
}
