// SPDX-License-Identifier: GPL-2.0-only
/* cmx topo: the tree, a node, ways, the picture. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <kselftest_harness.h>

#include "cmx_command.h"
#include "fake_fabric.h"
#include "run_command.h"

FIXTURE(machine) {
	json_t *json;
};

FIXTURE_SETUP(machine)
{
	fake_fabric_make(48);
	self->json = NULL;
}

FIXTURE_TEARDOWN(machine)
{
	json_decref(self->json);
	fake_fabric_free();
}

static int topo(const char *line)
{
	return run_command(cmx_topo_main, line);
}

static uint32_t set(uint32_t object, uint32_t index, int up, uint32_t permille)
{
	return cmx_fabric_set(&fake_fabric, object, index, up, permille);
}

static json_int_t number(json_t *from, const char *a, const char *b)
{
	json_t *of = json_object_get(from, a);

	return json_integer_value(b ? json_object_get(of, b) : of);
}

TEST_F(machine, nodes_that_are_alike_share_a_branch)
{
	ASSERT_EQ(0, topo("topo"));
	EXPECT_TRUE(run_says("\n|-- nodes 0-47, each:\n"));
	EXPECT_TRUE(run_says("\n|-- UB planes 0-6, each:\n"));
	EXPECT_TRUE(run_has_line("|-- RDMA plane: 768 of 768 RDMA links up"));
	EXPECT_EQ(NULL, strchr(run.out, '\033'));
}

TEST_F(machine, a_part_that_is_down_has_its_own_branch)
{
	set(CMX_FABRIC_OBJ_ENTITY, 100, 0, 0);
	set(CMX_FABRIC_OBJ_CHIP, 48 * 7 + 3 * 16, 0, 0);
	set(CMX_FABRIC_OBJ_LINK, 0, -1, 500);
	ASSERT_EQ(0, topo("topo"));
	EXPECT_TRUE(run_says("\n|-- node 0:\n"));
	EXPECT_TRUE(run_says("\n|-- nodes 1-5,7-47, each:\n"));
	EXPECT_TRUE(run_says("\n|-- node 6:\n"));
	EXPECT_TRUE(run_says("140 of 140 links of dies and sockets up (1 degraded)"));
	EXPECT_TRUE(run_says("8 NPUs: 15 of 16 dies up, 7 of 8 links between dies"));
	EXPECT_TRUE(run_says("15 of 16 L2 chips up"));
	EXPECT_TRUE(run_says("720 of 768 links between L1 and L2 up"));
}

TEST_F(machine, the_tree_as_json)
{
	set(CMX_FABRIC_OBJ_NODE, 47, 0, 0);
	ASSERT_EQ(0, topo("topo --json"));
	self->json = json_loads(run.out, 0, NULL);
	ASSERT_NE(NULL, self->json);
	EXPECT_EQ(48, number(self->json, "machine", "nodes"));
	EXPECT_EQ(752, number(json_object_get(self->json, "all"), "dies", "up"));
	EXPECT_EQ(0, number(json_array_get(json_object_get(self->json, "nodes"), 47), "dies",
			    "up"));
	EXPECT_EQ(752, number(json_array_get(json_object_get(self->json, "planes"), 0), "l2_links",
			      "up"));
}

#define UP	" up"

TEST_F(machine, a_node_has_its_ports_and_chips)
{
	set(CMX_FABRIC_OBJ_LINK, 16 * 7 + 2, 0, 0);
	set(CMX_FABRIC_OBJ_LINK, 17 * 7 + 4, -1, 250);
	ASSERT_EQ(0, topo("topo --node n1"));
	EXPECT_TRUE(run_has_line("16 n1.npu0.die0 0x200 up 112-118" UP UP " down" UP UP UP UP UP UP
				 " -"));
	EXPECT_TRUE(run_has_line("17 n1.npu0.die1 0x201 up 119-125" UP UP UP UP " 250" UP UP UP UP
				 " -"));
	EXPECT_TRUE(run_has_line("772 n1.socket0 0x280 up 5404-5410" UP UP UP UP UP UP UP
				 " - -" UP));
	EXPECT_TRUE(run_has_line("9 n1.plane2 up 35/36 6864-6879 all up"));
	EXPECT_FALSE(run_says("n0.npu0"));
}

TEST_F(machine, a_node_as_json)
{
	ASSERT_EQ(0, topo("topo --node 1 --json"));
	self->json = json_loads(run.out, 0, NULL);
	ASSERT_NE(NULL, self->json);
	EXPECT_EQ(20, json_array_size(json_object_get(self->json, "entities")));
	EXPECT_EQ(7, json_array_size(json_object_get(self->json, "chips")));
	EXPECT_EQ(140 + 112 + 8 + 16 + 1, json_array_size(json_object_get(self->json, "links")));
}

TEST_F(machine, a_way_inside_a_node)
{
	ASSERT_EQ(0, topo("topo n0.npu0.die0 n0.npu1.die1"));
	EXPECT_TRUE(run_has_line("n0.npu0.die0 (entity 0) to n0.npu1.die1 (entity 3): "
				 "2 links in each of the planes 0-6"));
	EXPECT_TRUE(run_has_line("UB plane 6, 28 GB/s"));
	EXPECT_TRUE(run_has_line("link 6: n0.npu0.die0 to n0.plane6"));
	EXPECT_TRUE(run_has_line("link 27: n0.plane6 to n0.npu1.die1"));
	EXPECT_TRUE(run_has_line("read 196 GB/s, 512 bytes in 1.2 us"));
}

TEST_F(machine, a_way_across_nodes_leaves_out_chips_that_are_down)
{
	set(CMX_FABRIC_OBJ_CHIP, 48 * 7 + 5, 0, 0);
	set(CMX_FABRIC_OBJ_LINK, 3, 0, 0);
	ASSERT_EQ(0, topo("topo 0 37"));
	EXPECT_TRUE(run_says("4 links in each of the planes 0-2,4-6\n"));
	EXPECT_TRUE(run_has_line("links 6720-6724,6726-6735: n0.plane0 to plane0.chip0-4,6-15"));
	EXPECT_TRUE(run_has_line("links 6944-6948,6950-6959: plane0.chip0-4,6-15 to n2.plane0"));
	EXPECT_TRUE(run_has_line("UB plane 3: not used"));
	/* A chip serves a way only with both of its links. */
	set(CMX_FABRIC_OBJ_LINK, 6953, 0, 0);
	ASSERT_EQ(0, topo("topo 0 37"));
	EXPECT_TRUE(run_has_line("links 6720-6724,6726-6728,6730-6735: "
				 "n0.plane0 to plane0.chip0-4,6-8,10-15"));
	EXPECT_TRUE(run_has_line("links 6944-6948,6950-6952,6954-6959: "
				 "plane0.chip0-4,6-8,10-15 to n2.plane0"));
	EXPECT_TRUE(run_has_line("link 3: n0.npu0.die0 to n0.plane3 (1 down)"));
}

TEST_F(machine, the_other_ways)
{
	ASSERT_EQ(0, topo("topo 0 1"));
	EXPECT_TRUE(run_has_line("between the dies of an NPU, 270 GB/s"));
	EXPECT_TRUE(run_says(": n0.npu0.die0 to n0.npu0.die1\n"));
	ASSERT_EQ(0, topo("topo 1 0"));
	EXPECT_TRUE(run_says(": n0.npu0.die1 to n0.npu0.die0\n"));
	ASSERT_EQ(0, topo("topo 0 16 --planes rdma"));
	EXPECT_TRUE(run_has_line("RDMA plane, 25 GB/s"));
	EXPECT_TRUE(run_says(": rdma to n1.npu0.die0\n"));
	ASSERT_EQ(0, topo("topo n0.socket2 n1.socket3 --planes vpc"));
	EXPECT_TRUE(run_says(": vpc to n1.socket0\n"));
	ASSERT_EQ(0, topo("topo 0 1 --planes 0,2-3"));
	EXPECT_TRUE(run_says("2 links in each of the planes 0,2-3\n"));
	ASSERT_EQ(0, topo("topo 5 5"));
	EXPECT_TRUE(run_says("the same entity"));
}

TEST_F(machine, cut_off_is_a_failure)
{
	set(CMX_FABRIC_OBJ_ENTITY, 3, 0, 0);
	EXPECT_EQ(CMX_EXIT_FAILED, topo("topo 0 3"));
	EXPECT_TRUE(run_says("cut off, commands end with UB_CR_ACK_TIMEOUT"));
	EXPECT_FALSE(run_says("GB/s"));
	EXPECT_EQ(CMX_EXIT_FAILED, topo("topo 0 3 --json"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_TRUE(json_is_false(json_object_get(self->json, "reachable")));
}

TEST_F(machine, a_way_as_json)
{
	json_t *lane, *hops;

	ASSERT_EQ(0, topo("topo 0 16 --json --planes 2"));
	self->json = json_loads(run.out, 0, NULL);
	ASSERT_NE(NULL, self->json);
	EXPECT_EQ(4, number(self->json, "hops", NULL));
	EXPECT_EQ(1, json_array_size(json_object_get(self->json, "lanes")));
	lane = json_array_get(json_object_get(self->json, "lanes"), 0);
	hops = json_object_get(lane, "hops");
	ASSERT_EQ(4, json_array_size(hops));
	EXPECT_EQ(16, json_array_size(json_array_get(hops, 1)));
	EXPECT_STREQ("plane2.chip15",
		     json_string_value(json_object_get(json_array_get(json_array_get(hops, 2), 15),
						       "from")));
}

TEST_F(machine, what_the_module_says_is_shown)
{
	EXPECT_EQ(CMX_EXIT_FAILED, topo("topo 0 768 --planes rdma"));
	EXPECT_TRUE(run_complains("cmx topo: planes: sockets have no RDMA port"));
	fake_fabric_free();
	EXPECT_EQ(CMX_EXIT_FAILED, topo("topo"));
	EXPECT_TRUE(run_complains("cmx topo: no module"));
}

TEST_F(machine, wrong_use)
{
	static const char * const lines[] = {
		"topo 0", "topo 0 1 2", "topo --node 0 0 1", "topo --planes 0",
		"topo --json --svg -",
		"topo --interval 1", "topo --nonsense", "topo --node 48", "topo 0 960",
		"topo 0 n48.npu0.die0", "topo 0 1 --planes 7", "topo --svg - --interval 0",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		EXPECT_EQ(CMX_EXIT_USAGE, topo(lines[i]))
			TH_LOG("%s", lines[i]);
		EXPECT_NE(0, strlen(run.err))
			TH_LOG("%s", lines[i]);
		EXPECT_EQ(0, strlen(run.out));
	}
}

static uint32_t count(const char *text)
{
	uint32_t n = 0;

	for (const char *at = run.out; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* Each part has a tooltip. */
TEST_F(machine, the_picture_has_every_part)
{
	fake_fabric_load();
	ASSERT_EQ(0, topo("topo --svg -"));
	EXPECT_EQ(768, count("<title>n") - 192 - 336 - 96);
	EXPECT_EQ(112, count("<title>plane"));
	EXPECT_EQ(12 * 7, count("<title>rack"));
	EXPECT_TRUE(run_says(">n47<"));
	EXPECT_TRUE(run_says("switch rack 3"));
	EXPECT_FALSE(run_says("links up, 1 degraded"));
	/* The legend has one of each. */
	EXPECT_EQ(1, count("fill=\"#d63a3a\""));
	EXPECT_EQ(1, count("class=\"p\""));
}

TEST_F(machine, the_picture_marks_what_is_down)
{
	set(CMX_FABRIC_OBJ_ENTITY, 7, 0, 0);
	set(CMX_FABRIC_OBJ_LINK, 0, -1, 500);
	ASSERT_EQ(0, topo("topo --svg -"));
	EXPECT_TRUE(run_says("<title>n0.npu3.die1, down: 0 of 7 links up"));
	EXPECT_TRUE(run_says("<title>n0.npu0.die0: 7 of 7 links up, 1 degraded"));
	/* The die itself, and its node's RDMA port that lost one of 16. */
	EXPECT_EQ(2, count("fill=\"#d63a3a\""));
	EXPECT_EQ(3, count("class=\"p\""));
}

/* A chip that is down is told once; its 48 links are not faults of the other chips. */
TEST_F(machine, the_picture_excuses_links_to_nodes_that_are_down)
{
	set(CMX_FABRIC_OBJ_NODE, 9, 0, 0);
	ASSERT_EQ(0, topo("topo --svg -"));
	EXPECT_EQ(1, count("class=\"p\""));
	EXPECT_EQ(1 + 20 + 7 + 2, count("fill=\"#d63a3a\""));
}

TEST(machines_of_all_sizes_are_drawn)
{
	for (uint32_t nodes = 1; nodes <= 48; nodes++) {
		fake_fabric_make(nodes);
		ASSERT_EQ(0, topo("topo --svg -"));
		EXPECT_EQ(112, count("<title>plane"));
	}
	fake_fabric_free();
}

TEST_HARNESS_MAIN
