// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmx_amount.h"
#include "cmx_counters.h"
#include "cmx_part.h"
#include "cmx_stdout.h"

static void put_link(const struct cmx_counters *c, uint32_t i)
{
	const struct cmx_snapshot *s = &c->snapshot;
	const struct cmx_fabric_link *l = &s->links[i];

	printf("%6u  %-4s  %-15s  ", i, cmx_part_link_kind(l->kind),
	       cmx_part_end(&s->machine, &l->a).text);
	printf("%-15s  ", cmx_part_end(&s->machine, &l->b).text);
	if (c->rate)
		printf("%10s  %10s", cmx_amount_rate(cmx_rate(l->up_bytes, s->span_ps)).text,
		       cmx_amount_rate(cmx_rate(l->down_bytes, s->span_ps)).text);
	else
		printf("%10s  %10s", cmx_amount_bytes(l->up_bytes).text,
		       cmx_amount_bytes(l->down_bytes).text);
	printf("  %8s  %8s\n",
	       cmx_amount_permille(cmx_permille(l->up_busy_ps, s->span_ps)).text,
	       cmx_amount_permille(cmx_permille(l->down_busy_ps, s->span_ps)).text);
}

static void put_links(const struct cmx_counters *c)
{
	uint32_t all = c->snapshot.machine.num_links, rows = cmx_counters_rows(c, all);

	printf("links, %u of %u by bytes\n", rows, all);
	printf("  link  kind  %-15s  %-15s  %10s  %10s  %8s  %8s\n", "a", "b", "a to b", "b to a",
	       "busy", "busy");
	for (uint32_t i = 0; i < rows; i++)
		put_link(c, c->links[i]);
}

static void put_entity(const struct cmx_counters *c, uint32_t i)
{
	const struct cmx_snapshot *s = &c->snapshot;
	const struct cmx_fabric_entity *e = &s->entities[i];

	printf("%6u  %-15s  ", i, cmx_part_entity(&s->machine, i).text);
	if (c->rate)
		printf("%10s", cmx_amount_rate(cmx_rate(e->mem_bytes, s->span_ps)).text);
	else
		printf("%10s", cmx_amount_bytes(e->mem_bytes).text);
	printf("  %8s  %10" PRIu64 "  %8s  %8s  %6" PRIu64 "  %10s\n",
	       cmx_amount_permille(cmx_permille(e->mem_busy_ps, s->span_ps)).text, e->launches,
	       cmx_amount_permille(cmx_permille(e->cube_busy_ps, s->span_ps)).text,
	       cmx_amount_permille(cmx_permille(e->vector_busy_ps, s->span_ps)).text, e->errors,
	       cmx_amount_bytes(e->lost_bytes).text);
}

static void put_entities(const struct cmx_counters *c)
{
	uint32_t all = c->snapshot.machine.num_entities, rows = cmx_counters_rows(c, all);

	printf("\nentities, %u of %u by bytes of memory\n", rows, all);
	printf("entity  %-15s  %10s  %8s  %10s  %8s  %8s  %6s  %10s\n", "name", "memory", "busy",
	       "launches", "cube", "vector", "errors", "lost");
	for (uint32_t i = 0; i < rows; i++)
		put_entity(c, c->entities[i]);
}

/* Only chips where something is missing have a line: a transfer on its way, or bytes lost. */
static void put_chips(const struct cmx_counters *c)
{
	const struct cmx_fabric_machine *m = &c->snapshot.machine;
	struct cmx_chip_flow all = {};
	uint32_t differ = 0;

	printf("\nswitch chips, bytes in and out\n");
	for (uint32_t i = 0; i < m->num_chips; i++) {
		const struct cmx_chip_flow flow = cmx_counters_chip(c, i);

		all.in += flow.in;
		all.out += flow.out;
		if (flow.in == flow.out)
			continue;
		differ++;
		if (!c->top || differ <= c->top)
			printf("%6u  %-15s  in %" PRIu64 ", out %" PRIu64 "\n", i,
			       cmx_part_chip(m, i).text, flow.in, flow.out);
	}
	printf("%u of %u chips gave out what they got; all: in %" PRIu64 ", out %" PRIu64 "\n",
	       m->num_chips - differ, m->num_chips, all.in, all.out);
}

static void put_client(const struct cmx_fabric_client *client)
{
	char pid[16] = "-";

	if (client->pid)
		snprintf(pid, sizeof(pid), "%u", client->pid);
	printf("%8" PRIu64 "  %8s  %6u  %-15s  %6u  %5u  %6u  %8u", client->id, pid, client->uid,
	       cmx_part_process(client->comm).text, client->queues, client->cqs, client->bos,
	       client->mappings);
	printf("  %10" PRIu64 "  %9" PRIu64 "  %10s\n", client->commands, client->launches,
	       cmx_amount_bytes(client->bytes).text);
}

static void put_clients(const struct cmx_counters *c)
{
	const struct cmx_snapshot *s = &c->snapshot;

	printf("%8s  %8s  %6s  %-15s  %6s  %5s  %6s  %8s  %10s  %9s  %10s\n", "client", "pid",
	       "uid", "name", "queues", "rings", "BOs", "mappings", "commands", "launches",
	       "bytes");
	for (uint32_t i = 0; i < s->num_clients; i++)
		put_client(&s->clients[i]);
	printf("%u clients", s->num_clients);
	if (s->num_clients < s->machine.clients)
		printf("; %u are other users' and not shown",
		       s->machine.clients - s->num_clients);
	printf("\n");
}

static void put_span(const struct cmx_counters *c)
{
	const struct cmx_snapshot *s = &c->snapshot;

	if (c->rate)
		printf("%s of virtual time in %s of host time; rates per second of virtual time\n",
		       cmx_amount_time(s->span_ps).text,
		       cmx_amount_time(s->host_ns * 1000).text);
	else
		printf("virtual time %s\n", cmx_amount_time(s->span_ps).text);
}

int cmx_counters_print_text(const struct cmx_counters *counters)
{
	put_span(counters);
	if (counters->clients) {
		put_clients(counters);
	} else {
		put_links(counters);
		put_entities(counters);
		put_chips(counters);
	}
	return cmx_stdout_flush("counters");
}
