// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_link_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_amount.h"

static void add(struct cmx_link_sum *sum, const struct cmx_fabric_link *link)
{
	sum->links++;
	sum->up += link->effective > 0;
	sum->degraded += link->effective > 0 && link->effective < 1000;
	sum->up_bytes += link->up_bytes;
	sum->down_bytes += link->down_bytes;
	sum->up_busy_ps += link->up_busy_ps;
	sum->down_busy_ps += link->down_busy_ps;
}

static void add_link(struct cmx_link_sums *s, const struct cmx_fabric_machine *machine,
		     const struct cmx_fabric_link *link)
{
	add(&s->kinds[link->kind], link);
	switch (link->kind) {
	case CMX_FABRIC_LINK_UB:
		add(&s->entities[link->a.index], link);
		add(&s->chips_below[link->b.index], link);
		add(&s->planes_ub[link->plane], link);
		break;
	case CMX_FABRIC_LINK_L2:
		add(&s->chips_above[link->a.index], link);
		add(&s->chips_below[link->b.index], link);
		add(&s->planes_l2[link->plane], link);
		break;
	case CMX_FABRIC_LINK_DIE:
		add(&s->siblings[link->a.index], link);
		add(&s->siblings[link->b.index], link);
		break;
	case CMX_FABRIC_LINK_RDMA:
		add(&s->rdma[link->a.index], link);
		break;
	case CMX_FABRIC_LINK_VPC:
		add(&s->vpc[(link->a.index - machine->num_dies) / machine->sockets_per_node], link);
		break;
	}
}

static int end_is_known(const struct cmx_fabric_machine *m, const struct cmx_fabric_end *end)
{
	if (end->kind == CMX_FABRIC_ENTITY)
		return end->index < m->num_entities;
	return end->kind != CMX_FABRIC_CHIP || end->index < m->num_chips;
}

/* The module is another program: what it says is not used as an index unseen. */
static int link_is_sound(const struct cmx_fabric_machine *m, const struct cmx_fabric_link *link)
{
	static const struct {
		uint32_t a;
		uint32_t b;
	} ends[] = {
		[CMX_FABRIC_LINK_UB] = { CMX_FABRIC_ENTITY, CMX_FABRIC_CHIP },
		[CMX_FABRIC_LINK_L2] = { CMX_FABRIC_CHIP, CMX_FABRIC_CHIP },
		[CMX_FABRIC_LINK_DIE] = { CMX_FABRIC_ENTITY, CMX_FABRIC_ENTITY },
		[CMX_FABRIC_LINK_RDMA] = { CMX_FABRIC_ENTITY, CMX_FABRIC_RDMA },
		[CMX_FABRIC_LINK_VPC] = { CMX_FABRIC_ENTITY, CMX_FABRIC_VPC },
	};

	if (link->kind < CMX_FABRIC_LINK_UB || link->kind > CMX_FABRIC_LINK_VPC ||
	    link->a.kind != ends[link->kind].a || link->b.kind != ends[link->kind].b)
		return 0;
	if (link->kind <= CMX_FABRIC_LINK_L2 && link->plane >= m->planes)
		return 0;
	if (link->kind == CMX_FABRIC_LINK_VPC && link->a.index < m->num_dies)
		return 0;
	return end_is_known(m, &link->a) && end_is_known(m, &link->b);
}

static int allocate(struct cmx_link_sums *s, const struct cmx_fabric_machine *m)
{
	size_t count = 3 * (size_t)m->num_entities + 2 * (size_t)m->num_chips + m->nodes;

	memset(s, 0, sizeof(*s));
	s->storage = calloc(count, sizeof(*s->storage));
	if (!s->storage)
		return -1;
	s->entities = s->storage;
	s->siblings = s->entities + m->num_entities;
	s->rdma = s->siblings + m->num_entities;
	s->chips_below = s->rdma + m->num_entities;
	s->chips_above = s->chips_below + m->num_chips;
	s->vpc = s->chips_above + m->num_chips;
	return 0;
}

int cmx_link_sums_make(const char *command, const struct cmx_snapshot *snapshot,
		       struct cmx_link_sums *sums)
{
	const struct cmx_fabric_machine *m = &snapshot->machine;

	if (m->planes > CMX_FABRIC_MAX_PLANES || allocate(sums, m)) {
		fprintf(stderr, "cmx %s: no memory for the sums of %u links\n", command,
			m->num_links);
		return -1;
	}
	for (uint32_t i = 0; i < m->num_links; i++) {
		if (!link_is_sound(m, &snapshot->links[i])) {
			fprintf(stderr, "cmx %s: link %u: its ends make no sense\n", command, i);
			cmx_link_sums_free(sums);
			return -1;
		}
		add_link(sums, m, &snapshot->links[i]);
	}
	return 0;
}

void cmx_link_sums_free(struct cmx_link_sums *sums)
{
	free(sums->storage);
	memset(sums, 0, sizeof(*sums));
}

void cmx_link_sum_add(struct cmx_link_sum *sum, const struct cmx_link_sum *other)
{
	sum->links += other->links;
	sum->up += other->up;
	sum->degraded += other->degraded;
	sum->up_bytes += other->up_bytes;
	sum->down_bytes += other->down_bytes;
	sum->up_busy_ps += other->up_busy_ps;
	sum->down_busy_ps += other->down_busy_ps;
}

uint32_t cmx_link_sum_busy(const struct cmx_link_sum *sum, uint64_t span_ps)
{
	uint64_t busy = sum->up_busy_ps > sum->down_busy_ps ? sum->up_busy_ps : sum->down_busy_ps;

	/* A link that went down keeps what it did before. */
	if (!sum->up)
		return 0;
	return (uint32_t)cmx_permille(busy / sum->up, span_ps);
}
