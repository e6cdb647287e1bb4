// SPDX-License-Identifier: GPL-2.0-only
#include "fake_fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmx_drm.h>

#define GIGA	1000000000ULL

struct cmx_fabric fake_fabric;

static struct cmx_error error;

static int fail(int code, const char *text)
{
	error.code = code;
	snprintf(error.text, sizeof(error.text), "%s", text);
	return code;
}

const struct cmx_error *cmx_last_error(void)
{
	return &error;
}

const char *cmx_version(void)
{
	return "1.2.3";
}

static void make_entities(struct cmx_fabric *f)
{
	const struct cmx_fabric_machine *m = &f->machine;
	uint32_t per_node = m->npus_per_node * m->dies_per_npu;

	for (uint32_t i = 0; i < m->num_entities; i++) {
		struct cmx_fabric_entity *e = &f->entities[i];
		uint32_t s = i - m->num_dies;

		e->index = i;
		e->kind = i < m->num_dies ? CMX_ENTITY_DIE : CMX_ENTITY_SOCKET;
		e->node = i < m->num_dies ? i / per_node : s / m->sockets_per_node;
		e->npu = i < m->num_dies ? i % per_node / m->dies_per_npu : UINT32_MAX;
		e->unit = i < m->num_dies ? i % m->dies_per_npu : s % m->sockets_per_node;
		e->cna = (e->node + 1) << 8 | (i < m->num_dies ? i % per_node : 0x80 | e->unit);
		e->admin_up = true;
		e->capacity = 64ULL << 30;
	}
}

static void make_chips(struct cmx_fabric *f)
{
	const struct cmx_fabric_machine *m = &f->machine;

	for (uint32_t i = 0; i < m->num_chips; i++) {
		struct cmx_fabric_chip *c = &f->chips[i];
		bool l1 = i < m->num_l1;

		c->index = i;
		c->level = l1 ? 1 : 2;
		c->plane = l1 ? i % m->planes : (i - m->num_l1) / m->l2_per_plane;
		c->unit = l1 ? i / m->planes : (i - m->num_l1) % m->l2_per_plane;
		c->ports = l1 ? m->num_entities / m->nodes + m->l2_per_plane : m->nodes;
		c->admin_up = true;
	}
}

static void make_link(struct cmx_fabric *f, uint32_t kind, uint32_t plane,
		      struct cmx_fabric_end a, struct cmx_fabric_end b, uint64_t rate)
{
	struct cmx_fabric_link *l = &f->links[f->machine.num_links];

	*l = (struct cmx_fabric_link){
		.index = f->machine.num_links++,
		.kind = kind,
		.plane = plane,
		.a = a,
		.b = b,
		.rate = rate,
		.admin_up = true,
		.permille = 1000,
	};
}

#define END(kind, index, port)	((struct cmx_fabric_end){ CMX_FABRIC_##kind, index, port })

static struct cmx_fabric_end end_of_chip(uint32_t chip, uint32_t port)
{
	return END(CHIP, chip, port);
}

static void make_links(struct cmx_fabric *f)
{
	struct cmx_fabric_machine *m = &f->machine;
	uint32_t per_node = m->num_entities / m->nodes;

	m->num_links = 0;
	for (uint32_t e = 0; e < m->num_entities; e++)
		for (uint32_t p = 0; p < m->planes; p++)
			make_link(f, CMX_FABRIC_LINK_UB, p, END(ENTITY, e, p),
				  end_of_chip(f->entities[e].node * m->planes + p,
					      m->l2_per_plane + e % per_node),
				  e < m->num_dies ? 28 * GIGA : 160 * GIGA / m->planes);
	for (uint32_t c = 0; c < m->num_l1 * m->l2_per_plane; c++) {
		uint32_t l1 = c / m->l2_per_plane, p = l1 % m->planes;

		make_link(f, CMX_FABRIC_LINK_L2, p, END(CHIP, l1, c % m->l2_per_plane),
			  END(CHIP, m->num_l1 + p * m->l2_per_plane + c % m->l2_per_plane,
			      l1 / m->planes), 28 * GIGA);
	}
	for (uint32_t d = 0; m->dies_per_npu == 2 && d < m->num_dies; d += 2)
		make_link(f, CMX_FABRIC_LINK_DIE, UINT32_MAX, END(ENTITY, d, m->planes),
			  END(ENTITY, d + 1, m->planes), 270 * GIGA);
	for (uint32_t d = 0; d < m->num_dies; d++)
		make_link(f, CMX_FABRIC_LINK_RDMA, UINT32_MAX, END(ENTITY, d, m->planes + 1),
			  END(RDMA, 0, d), 25 * GIGA);
	for (uint32_t n = 0; n < m->nodes; n++)
		make_link(f, CMX_FABRIC_LINK_VPC, UINT32_MAX,
			  END(ENTITY, m->num_dies + n * m->sockets_per_node, m->planes + 1),
			  END(VPC, 0, n), 50 * GIGA);
}

static bool end_is_up(const struct cmx_fabric *f, const struct cmx_fabric_end *end)
{
	if (end->kind == CMX_FABRIC_ENTITY)
		return f->entities[end->index].admin_up;
	return end->kind != CMX_FABRIC_CHIP || f->chips[end->index].admin_up;
}

static void count_port(struct cmx_fabric *f, const struct cmx_fabric_link *l,
		       const struct cmx_fabric_end *end)
{
	if (end->kind == CMX_FABRIC_CHIP)
		f->chips[end->index].ports_up += l->effective > 0;
	else if (end->kind == CMX_FABRIC_ENTITY && l->kind == CMX_FABRIC_LINK_UB)
		f->entities[end->index].ports_up += l->effective > 0;
}

static void settle(struct cmx_fabric *f)
{
	struct cmx_fabric_machine *m = &f->machine;

	m->links_down = 0;
	m->links_degraded = 0;
	for (uint32_t i = 0; i < m->num_chips; i++)
		f->chips[i].ports_up = 0;
	for (uint32_t i = 0; i < m->num_entities; i++)
		f->entities[i].ports_up = 0;
	for (uint32_t i = 0; i < m->num_links; i++) {
		struct cmx_fabric_link *l = &f->links[i];
		bool up = l->admin_up && end_is_up(f, &l->a) && end_is_up(f, &l->b);

		l->changes += l->effective != (up ? l->permille : 0);
		l->effective = up ? l->permille : 0;
		m->links_down += !l->effective;
		m->links_degraded += l->effective && l->effective < 1000;
		count_port(f, l, &l->a);
		count_port(f, l, &l->b);
	}
}

void fake_fabric_make(uint32_t nodes)
{
	struct cmx_fabric *f = &fake_fabric;
	struct cmx_fabric_machine *m = &f->machine;

	fake_fabric_free();
	*m = (struct cmx_fabric_machine){
		.profile = "cloudmatrix384", .nodes = nodes, .npus_per_node = 8,
		.dies_per_npu = 2, .sockets_per_node = 4, .planes = 7, .l2_per_plane = 16,
		.num_dies = nodes * 16, .num_entities = nodes * 20, .num_l1 = nodes * 7,
		.num_chips = nodes * 7 + 112,
	};
	f->entities = calloc(m->num_entities, sizeof(*f->entities));
	f->chips = calloc(m->num_chips, sizeof(*f->chips));
	f->links = calloc(nodes * (20 * 7 + 7 * 16 + 8 + 16 + 1), sizeof(*f->links));
	make_entities(f);
	make_chips(f);
	make_links(f);
	settle(f);
	for (uint32_t i = 0; i < m->num_links; i++)
		f->links[i].changes = 0;
}

void fake_fabric_free(void)
{
	free(fake_fabric.entities);
	free(fake_fabric.chips);
	free(fake_fabric.links);
	memset(&fake_fabric, 0, sizeof(fake_fabric));
}

void fake_fabric_load(void)
{
	struct cmx_fabric *f = &fake_fabric;

	f->machine.now_ps = 1000 * GIGA;
	f->machine.total_ps = 1000 * GIGA;
	f->machine.timelines = 1;
	for (uint32_t i = 0; i < f->machine.num_links; i++) {
		struct cmx_fabric_link *l = &f->links[i];
		uint32_t node = l->a.kind == CMX_FABRIC_CHIP ? l->a.index / f->machine.planes :
				f->entities[l->a.index].node;
		uint64_t permille = (node * 37 + l->a.index % 16 * 11) % 900;

		l->up_busy_ps = permille * GIGA;
		l->down_busy_ps = permille * GIGA / 2;
		l->up_bytes = l->rate * permille / 1000;
		l->down_bytes = l->up_bytes / 2;
	}
	for (uint32_t i = 0; i < f->machine.num_entities; i++) {
		struct cmx_fabric_entity *e = &f->entities[i];

		e->used = (uint64_t)(i * 7 % 64) << 30;
		e->launches = i < f->machine.num_dies ? i * 3 : 0;
		e->cube_busy_ps = i < f->machine.num_dies ? i * 13 % 1000 * GIGA : 0;
		e->mem_bytes = i * GIGA;
	}
}

/* ------------------------------------------------------------------ the library's part */
int cmx_fabric_open(struct cmx_fabric **fabric)
{
	*fabric = &fake_fabric;
	return fake_fabric.links ? 0 : fail(-ENODEV, "no module");
}

void cmx_fabric_close(struct cmx_fabric *fabric)
{
	(void)fabric;
}

int cmx_fabric_get_machine(struct cmx_fabric *fabric, struct cmx_fabric_machine *machine)
{
	*machine = fabric->machine;
	return 0;
}

static int copy(struct cmx_fabric *f, void **list, const void *from, size_t size, uint32_t count)
{
	*list = malloc(size * (count ? count : 1));
	if (!*list)
		return fail(-ENOMEM, "no memory");
	memcpy(*list, from, size * count);
	if (f->restless) {
		f->restless--;
		f->machine.generation++;
	}
	return (int)count;
}

int cmx_fabric_entities(struct cmx_fabric *f, struct cmx_fabric_entity **list)
{
	return copy(f, (void **)list, f->entities, sizeof(**list), f->machine.num_entities);
}

int cmx_fabric_chips(struct cmx_fabric *f, struct cmx_fabric_chip **list)
{
	return copy(f, (void **)list, f->chips, sizeof(**list), f->machine.num_chips);
}

int cmx_fabric_links(struct cmx_fabric *f, struct cmx_fabric_link **list)
{
	return copy(f, (void **)list, f->links, sizeof(**list), f->machine.num_links);
}

int cmx_fabric_link_states(struct cmx_fabric *f, struct cmx_fabric_link **list)
{
	int count = cmx_fabric_links(f, list);

	for (int i = 0; i < count; i++) {
		(*list)[i].up_bytes = 0;
		(*list)[i].down_bytes = 0;
		(*list)[i].up_busy_ps = 0;
		(*list)[i].down_busy_ps = 0;
		(*list)[i].changes = 0;
	}
	return count;
}

int cmx_fabric_clients(struct cmx_fabric *f, struct cmx_fabric_client **list)
{
	return copy(f, (void **)list, f->clients, sizeof(**list), (uint32_t)f->num_clients);
}

/* One L2 link up and one down, of the same chip. */
static uint32_t trunk_chips(const struct cmx_fabric *f, uint32_t from, uint32_t to, uint32_t plane)
{
	const struct cmx_fabric_machine *m = &f->machine;
	uint32_t first = m->num_entities * m->planes, chips = 0;

	for (uint32_t c = 0; c < m->l2_per_plane; c++) {
		uint32_t up = first + (from * m->planes + plane) * m->l2_per_plane + c;
		uint32_t down = first + (to * m->planes + plane) * m->l2_per_plane + c;

		chips += f->links[up].effective && f->links[down].effective;
	}
	return chips;
}

static void route_over_planes(const struct cmx_fabric *f, struct cmx_fabric_route *r,
			      uint32_t planes)
{
	const struct cmx_fabric_machine *m = &f->machine;
	uint32_t from = f->entities[r->from].node, to = f->entities[r->to].node;

	r->hops = from == to ? 2 : 4;
	for (uint32_t p = 0; p < m->planes; p++) {
		const struct cmx_fabric_link *a = &f->links[r->from * m->planes + p];
		const struct cmx_fabric_link *b = &f->links[r->to * m->planes + p];
		uint32_t chips = from == to ? 1 : trunk_chips(f, from, to, p);

		if ((planes && !(planes >> p & 1)) || !a->effective || !b->effective || !chips)
			continue;
		r->planes |= 1U << p;
		r->plane_rate[p] = a->rate * a->effective / 1000;
		r->plane_chips[p] = from == to ? 0 : chips;
		r->read_rate += r->plane_rate[p];
	}
	r->reachable = r->planes != 0;
}

int cmx_fabric_get_route(struct cmx_fabric *f, uint32_t from, uint32_t to, uint32_t planes,
			 struct cmx_fabric_route *r)
{
	uint32_t dies = f->machine.num_dies;

	memset(r, 0, sizeof(*r));
	r->from = from;
	r->to = to;
	r->reachable = true;
	r->read_ps = 1200000;
	r->write_ps = 1300000;
	if (planes >> CMX_FABRIC_PLANE_RDMA & 1 && (from >= dies || to >= dies))
		return fail(-EINVAL, "planes: sockets have no RDMA port");
	if (from == to)
		return 0;
	if (!planes && from < dies && to < dies && (from ^ to) == 1) {
		r->sibling = true;
		r->hops = 1;
	} else if (planes >> CMX_FABRIC_PLANE_RDMA) {
		r->hops = 2;
	} else {
		route_over_planes(f, r, planes);
	}
	r->write_rate = r->read_rate;
	return 0;
}

static int set_node(struct cmx_fabric *f, uint32_t node, bool up)
{
	for (uint32_t i = 0; i < f->machine.num_entities; i++)
		if (f->entities[i].node == node)
			f->entities[i].admin_up = up;
	for (uint32_t i = node * f->machine.planes; i < (node + 1) * f->machine.planes; i++)
		f->chips[i].admin_up = up;
	return 0;
}

int cmx_fabric_set(struct cmx_fabric *f, uint32_t object, uint32_t index, int up,
		   uint32_t permille)
{
	if (f->refusal)
		return fail(-EPERM, f->refusal);
	switch (object) {
	case CMX_FABRIC_OBJ_LINK:
		if (up >= 0)
			f->links[index].admin_up = up;
		if (permille)
			f->links[index].permille = permille;
		break;
	case CMX_FABRIC_OBJ_CHIP:
		f->chips[index].admin_up = up;
		break;
	case CMX_FABRIC_OBJ_ENTITY:
		f->entities[index].admin_up = up;
		break;
	case CMX_FABRIC_OBJ_NODE:
		set_node(f, index, up);
		break;
	}
	f->machine.generation++;
	settle(f);
	return 0;
}

int cmx_fabric_subscribe(struct cmx_fabric *f, uint32_t groups)
{
	(void)f;
	return groups ? 0 : fail(-EINVAL, "no groups");
}

/* One that is never readable: events are taken without waiting. */
int cmx_fabric_fd(const struct cmx_fabric *f)
{
	(void)f;
	return eventfd(0, EFD_CLOEXEC);
}

int cmx_fabric_next_event(struct cmx_fabric *f, struct cmx_fabric_event *event)
{
	if (!f->num_events)
		return 0;
	*event = f->events[0];
	f->num_events--;
	memmove(f->events, f->events + 1, (size_t)f->num_events * sizeof(*event));
	return 1;
}
