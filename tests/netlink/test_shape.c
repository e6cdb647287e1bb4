// SPDX-License-Identifier: GPL-2.0-only
/* What can be read, and that it fits together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_LE(0, ok_ret) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

FIXTURE(shape)
{
	struct cmx_fabric *fabric;
	struct cmx_fabric_machine m;
};

FIXTURE_SETUP(shape)
{
	OK(cmx_fabric_open(&self->fabric));
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
}

FIXTURE_TEARDOWN(shape)
{
	cmx_fabric_close(self->fabric);
}

TEST_F(shape, machine)
{
	const struct cmx_fabric_machine *m = &self->m;
	uint32_t ub, l2;

	EXPECT_EQ(m->nodes * m->npus_per_node * m->dies_per_npu, m->num_dies);
	EXPECT_EQ(m->num_dies + m->nodes * m->sockets_per_node, m->num_entities);
	EXPECT_EQ(m->nodes * m->planes, m->num_l1);
	EXPECT_EQ(m->num_l1 + m->planes * m->l2_per_plane, m->num_chips);
	ub = m->num_entities * m->planes;
	l2 = m->num_l1 * m->l2_per_plane;
	EXPECT_EQ(ub + l2 + m->num_dies / 2 + m->num_dies + m->nodes, m->num_links);
	EXPECT_EQ(0, m->links_down);
	EXPECT_EQ(0, m->links_degraded);
	EXPECT_EQ(0, m->clients);
}

TEST_F(shape, entities)
{
	struct cmx_fabric_entity *list;
	const uint8_t none[16] = { 0 };

	ASSERT_EQ((int)self->m.num_entities, cmx_fabric_entities(self->fabric, &list));
	for (uint32_t i = 0; i < self->m.num_entities; i++) {
		const struct cmx_fabric_entity *e = &list[i];
		bool die = i < self->m.num_dies;

		EXPECT_EQ(i, e->index);
		EXPECT_EQ(die ? CMX_ENTITY_DIE : CMX_ENTITY_SOCKET, (int)e->kind);
		EXPECT_EQ(die ? i % 16 / 2 : UINT32_MAX, e->npu);
		EXPECT_EQ(die ? i / 16 : (i - self->m.num_dies) / 4, e->node);
		EXPECT_EQ(die ? i % 2 : (i - self->m.num_dies) % 4, e->unit);
		EXPECT_TRUE(e->admin_up);
		EXPECT_EQ(self->m.planes, e->ports_up);
		EXPECT_NE(0, memcmp(none, e->eid, 16));
		EXPECT_NE(0, memcmp(none, e->guid, 16));
		EXPECT_LT(0, e->capacity);
		EXPECT_EQ(0, e->used);
	}
	free(list);
}

TEST_F(shape, chips_and_nodes)
{
	struct cmx_fabric_chip *chips;
	struct cmx_fabric_node *nodes;

	ASSERT_EQ((int)self->m.num_chips, cmx_fabric_chips(self->fabric, &chips));
	for (uint32_t i = 0; i < self->m.num_chips; i++) {
		uint32_t l2 = i - self->m.num_l1;
		bool l1 = i < self->m.num_l1;

		EXPECT_EQ(i, chips[i].index);
		EXPECT_EQ(l1 ? 1 : 2, chips[i].level);
		EXPECT_EQ(l1 ? i % 7 : l2 / 16, chips[i].plane);
		EXPECT_EQ(l1 ? i / 7 : l2 % 16, chips[i].unit);
		EXPECT_EQ(l1 ? 16 + 20 : self->m.nodes, chips[i].ports);
		EXPECT_EQ(chips[i].ports, chips[i].ports_up);
		EXPECT_TRUE(chips[i].admin_up);
	}
	ASSERT_EQ((int)self->m.nodes, cmx_fabric_nodes(self->fabric, &nodes));
	for (uint32_t i = 0; i < self->m.nodes; i++) {
		EXPECT_EQ(i, nodes[i].index);
		EXPECT_TRUE(nodes[i].admin_up);
	}
	free(chips);
	free(nodes);
}

static bool same_end(const struct cmx_fabric_end *x, const struct cmx_fabric_end *y)
{
	return x->kind == y->kind && x->index == y->index && x->port == y->port;
}

/* Each link has two ends, and each end that is an entity's or a chip's is one port. */
TEST_F(shape, ports_are_the_ends_of_links)
{
	struct cmx_fabric_link *links;
	struct cmx_fabric_port *ports;
	uint32_t ends = 0;
	int num_ports;

	ASSERT_EQ((int)self->m.num_links, cmx_fabric_links(self->fabric, &links));
	for (uint32_t i = 0; i < self->m.num_links; i++) {
		EXPECT_EQ(i, links[i].index);
		EXPECT_EQ(1000, links[i].effective);
		EXPECT_LT(0, links[i].rate);
		ends += links[i].a.kind <= CMX_FABRIC_CHIP;
		ends += links[i].b.kind <= CMX_FABRIC_CHIP;
	}
	num_ports = cmx_fabric_ports(self->fabric, &ports);
	ASSERT_EQ((int)ends, num_ports);
	for (int i = 0; i < num_ports; i++) {
		const struct cmx_fabric_port *port = &ports[i];
		const struct cmx_fabric_link *link;
		bool at_a;

		ASSERT_GT(self->m.num_links, port->link);
		link = &links[port->link];
		at_a = same_end(&port->own, &link->a);
		EXPECT_TRUE(at_a || same_end(&port->own, &link->b));
		EXPECT_TRUE(same_end(&port->peer, at_a ? &link->b : &link->a));
		EXPECT_EQ(link->kind, port->link_kind);
		EXPECT_EQ(link->plane, port->plane);
		/* In order, each once. */
		if (i && ports[i - 1].own.kind == port->own.kind)
			EXPECT_LT((uint64_t)ports[i - 1].own.index << 32 | ports[i - 1].own.port,
				  (uint64_t)port->own.index << 32 | port->own.port);
	}
	free(links);
	free(ports);
}

TEST_F(shape, one_link_is_as_in_the_list)
{
	struct cmx_fabric_link *list, *states, one;

	OK(cmx_fabric_links(self->fabric, &list));
	OK(cmx_fabric_link_states(self->fabric, &states));
	for (uint32_t i = 0; i < self->m.num_links; i += 97) {
		OK(cmx_fabric_get_link(self->fabric, i, &one));
		EXPECT_EQ(0, memcmp(&one, &list[i], sizeof(one)));
		EXPECT_EQ(0, memcmp(&one, &states[i], offsetof(struct cmx_fabric_link, up_bytes)));
	}
	free(list);
	free(states);
}

TEST_F(shape, routes)
{
	struct cmx_fabric_route r;
	uint32_t socket = self->m.num_dies;

	OK(cmx_fabric_get_route(self->fabric, 3, 3, 0, &r));
	EXPECT_EQ(0, r.hops);
	EXPECT_TRUE(r.reachable);
	EXPECT_EQ(0, r.planes);
	OK(cmx_fabric_get_route(self->fabric, 2, 3, 0, &r));
	EXPECT_EQ(1, r.hops);
	EXPECT_TRUE(r.sibling);
	OK(cmx_fabric_get_route(self->fabric, 2, 3, 0x7f, &r));
	EXPECT_EQ(2, r.hops);
	EXPECT_FALSE(r.sibling);
	EXPECT_EQ(0x7f, r.planes);
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 0x12, &r));
	EXPECT_EQ(0x12, r.planes);
	EXPECT_EQ(28000000000, r.plane_rate[1]);
	EXPECT_EQ(0, r.plane_rate[0]);
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 1 << CMX_FABRIC_PLANE_RDMA, &r));
	EXPECT_TRUE(r.reachable);
	OK(cmx_fabric_get_route(self->fabric, socket, socket + 1, 1 << CMX_FABRIC_PLANE_VPC, &r));
	EXPECT_TRUE(r.reachable);
	OK(cmx_fabric_get_route(self->fabric, 0, 15, 0, &r));
	EXPECT_LT(0, r.read_rate);
	EXPECT_LT(0, r.write_ps);
	if (self->m.nodes == 1)
		return;
	OK(cmx_fabric_get_route(self->fabric, 0, 16, 0, &r));
	EXPECT_EQ(4, r.hops);
	EXPECT_EQ(0x7f, r.planes);
	for (uint32_t p = 0; p < 7; p++)
		EXPECT_EQ(16, r.plane_chips[p]);
}

TEST_F(shape, changes_are_shown)
{
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_chip *chips;
	struct cmx_fabric_link one;
	struct cmx_fabric_route r;
	struct cmx_fabric_node *nodes;

	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, 0, -1, 250));
	OK(cmx_fabric_get_link(self->fabric, 0, &one));
	EXPECT_EQ(250, one.permille);
	EXPECT_EQ(250, one.effective);
	EXPECT_EQ(1, one.changes);
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 0, &r));
	EXPECT_EQ(7000000000, r.plane_rate[0]);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, 0, 0, 1000));
	OK(cmx_fabric_get_link(self->fabric, 0, &one));
	EXPECT_FALSE(one.admin_up);
	EXPECT_EQ(0, one.effective);
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 0, &r));
	EXPECT_EQ(0x7e, r.planes);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, 0, 1, 0));

	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_CHIP, 6, 0, 0));
	OK(cmx_fabric_entities(self->fabric, &entities));
	EXPECT_EQ(6, entities[1].ports_up);
	OK(cmx_fabric_chips(self->fabric, &chips));
	EXPECT_FALSE(chips[6].admin_up);
	EXPECT_EQ(0, chips[6].ports_up);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_CHIP, 6, 1, 0));
	free(entities);
	free(chips);

	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, 0, 0, 0));
	OK(cmx_fabric_entities(self->fabric, &entities));
	EXPECT_FALSE(entities[15].admin_up);
	EXPECT_EQ(0, entities[15].ports_up);
	OK(cmx_fabric_nodes(self->fabric, &nodes));
	EXPECT_FALSE(nodes[0].admin_up);
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 0, &r));
	EXPECT_FALSE(r.reachable);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, 0, 1, 0));
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_ENTITY, 5, 0, 0));
	OK(cmx_fabric_get_route(self->fabric, 0, 5, 0, &r));
	EXPECT_FALSE(r.reachable);
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_ENTITY, 5, 1, 0));
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	EXPECT_EQ(0, self->m.links_down);
	EXPECT_EQ(9, self->m.generation);
	free(entities);
	free(nodes);
}

/* The library's own refusals, and the module's as the library tells them. */
TEST_F(shape, errors_name_field_value_and_limit)
{
	struct cmx_fabric_route r;

	EXPECT_EQ(-EINVAL, cmx_fabric_set(self->fabric, 5, 0, 1, 0));
	EXPECT_STREQ("object", cmx_last_error()->field);
	EXPECT_EQ(-EINVAL, cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, 0, 1, 5));
	EXPECT_STREQ("permille", cmx_last_error()->field);
	EXPECT_EQ(-ERANGE, cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, 0, -1, 1001));
	EXPECT_STREQ("permille", cmx_last_error()->field);
	EXPECT_EQ(1001, cmx_last_error()->value);
	EXPECT_EQ(1000, cmx_last_error()->limit);
	EXPECT_STREQ("permille 1001 (from 1 to 1000): integer out of range",
		     cmx_last_error()->text);
	EXPECT_EQ(-ENOENT, cmx_fabric_get_route(self->fabric, 0, 99999, 0, &r));
	EXPECT_STREQ("to", cmx_last_error()->field);
	EXPECT_EQ(99999, cmx_last_error()->value);
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "to 99999: the last one is "));
	EXPECT_EQ(-EINVAL, cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_CHIP, 0, -1, 0));
	EXPECT_STREQ("up", cmx_last_error()->field);
}

static double milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Far above what it takes: some hundred milliseconds on a slow machine. */
#define READ_ALL_MS	5000

TEST_F(shape, time_to_read_all)
{
	double t0 = milliseconds(), t1, t2, t3, t4;
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_link *links, *states;
	struct cmx_fabric_port *ports;

	OK(cmx_fabric_entities(self->fabric, &entities));
	t1 = milliseconds();
	OK(cmx_fabric_links(self->fabric, &links));
	t2 = milliseconds();
	OK(cmx_fabric_link_states(self->fabric, &states));
	t3 = milliseconds();
	OK(cmx_fabric_ports(self->fabric, &ports));
	t4 = milliseconds();
	TH_LOG("%u nodes, ms: %u entities %.1f, %u links %.1f, without counters %.1f, ports %.1f",
	       self->m.nodes, self->m.num_entities, t1 - t0, self->m.num_links, t2 - t1, t3 - t2,
	       t4 - t3);
	EXPECT_GT(READ_ALL_MS, t4 - t0);
	free(entities);
	free(links);
	free(states);
	free(ports);
}

TEST_HARNESS_MAIN
