// SPDX-License-Identifier: GPL-2.0-only
/* cmx smi, link, counters and monitor. */
#include <errno.h>
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
	setenv("LC_ALL", "C", 1);
	fake_fabric_make(2);
	self->json = NULL;
}

FIXTURE_TEARDOWN(machine)
{
	json_decref(self->json);
	fake_fabric_free();
}

static int smi(const char *line)
{
	return run_command(cmx_smi_main, line);
}

static int link_cmd(const char *line)
{
	return run_command(cmx_link_main, line);
}

static int counters(const char *line)
{
	return run_command(cmx_counters_main, line);
}

static int monitor(const char *line)
{
	return run_command(cmx_monitor_main, line);
}

static void add_client(const char *comm)
{
	fake_fabric.client_entities[0] = (struct cmx_fabric_client_entity){ 17, 2, 512ULL << 20 };
	fake_fabric.client_entities[1] = (struct cmx_fabric_client_entity){ 33, 1, 1ULL << 20 };
	fake_fabric.clients[0] = (struct cmx_fabric_client){
		.id = 5, .pid = 4711, .uid = 1000, .queues = 3, .commands = 99,
		.num_entities = 2, .entities = fake_fabric.client_entities,
	};
	strncpy(fake_fabric.clients[0].comm, comm, 15);
	fake_fabric.num_clients = 1;
	fake_fabric.machine.clients = 3;
}

TEST_F(machine, smi_has_two_dies_per_npu)
{
	fake_fabric_load();
	fake_fabric.entities[17].used = 2873ULL << 20;
	fake_fabric.entities[17].cube_busy_ps = 123000000000ULL;
	ASSERT_EQ(0, smi("smi"));
	EXPECT_TRUE(run_has_line("| 8 n1.npu0 | OK | N/A N/A N/A |"));
	EXPECT_TRUE(run_has_line("| 1 17 | 0x201 | 12.3 N/A 2873 / 65536 |"));
	EXPECT_TRUE(run_says("n0.npu0"));
	ASSERT_EQ(0, smi("smi --node n1"));
	EXPECT_FALSE(run_says("n0.npu0"));
}

/* All lines of the table are as wide as its rules. */
TEST_F(machine, smi_lines_up)
{
	add_client("a-long-name-of-15");
	fake_fabric_load();
	ASSERT_EQ(0, smi("smi"));
	for (const char *at = run.out; *at == '|' || *at == '+';) {
		size_t length = strcspn(at, "\n");

		ASSERT_EQ(98, length)
			TH_LOG("%.*s", (int)length, at);
		at += length + 1;
	}
}

TEST_F(machine, smi_tells_who_uses_what)
{
	add_client("a\tname");
	ASSERT_EQ(0, smi("smi"));
	EXPECT_TRUE(run_has_line("| 8 1 | 4711 | a?name | 512 |"));
	EXPECT_TRUE(run_says("2 of 3 clients are other users' and not shown"));
	ASSERT_EQ(0, smi("smi --node 0"));
	EXPECT_FALSE(run_says("4711"));
	ASSERT_EQ(0, smi("smi --json"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_EQ(32, json_array_size(json_object_get(self->json, "dies")));
	/* A socket is no NPU. */
	EXPECT_EQ(1, json_array_size(json_object_get(self->json, "processes")));
}

TEST_F(machine, smi_health)
{
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_LINK, 0, 0, 0);
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_LINK, 14, -1, 999);
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_ENTITY, 4, 0, 0);
	for (uint32_t p = 0; p < 7; p++)
		cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_LINK, 6 * 7 + p, 0, 0);
	ASSERT_EQ(0, smi("smi --json"));
	self->json = json_loads(run.out, 0, NULL);
	for (size_t i = 0; i < 8; i++) {
		static const char * const want[] = { "Warning", "OK", "Warning", "OK", "Critical",
						     "OK", "Critical", "OK" };
		json_t *die = json_array_get(json_object_get(self->json, "dies"), i);

		EXPECT_STREQ(want[i], json_string_value(json_object_get(die, "health")));
	}
}

TEST_F(machine, smi_map_has_a_letter_for_each_die)
{
	fake_fabric_load();
	for (uint32_t i = 0; i < 32; i++)
		fake_fabric.entities[i].cube_busy_ps = (i == 1 ? 1000 : i == 2 ? 50 : 0) *
						       1000000000ULL;
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_ENTITY, 3, 0, 0);
	ASSERT_EQ(0, smi("smi --map"));
	EXPECT_TRUE(run_has_line("n0 .61x............"));
	EXPECT_TRUE(run_has_line("n1 ................"));
	EXPECT_EQ(NULL, strchr(run.out, '\033'));
	ASSERT_EQ(0, smi("smi --by hbm"));
	EXPECT_TRUE(run_says("memory in use of 16 NPUs"));
}

TEST_F(machine, smi_watches_differences)
{
	fake_fabric_load();
	ASSERT_EQ(0, smi("smi --watch 0.01 --count 3 --json"));
	/* Only the first one has what was before: nothing happens meanwhile. */
	EXPECT_NE(NULL, strstr(run.out, "\"virtual_ps\":1000000000000,"));
	EXPECT_NE(NULL, strstr(run.out, "\n{\"profile\":\"cloudmatrix384\",\"generation\":0,"
				"\"virtual_ps\":0,"));
	ASSERT_EQ(0, smi("smi --watch=0.01 --count 2 --map"));
	EXPECT_TRUE(run_says("over 1 s of virtual time"));
	EXPECT_TRUE(run_says("over 0 ps of virtual time"));
}

TEST_F(machine, link_lists_what_the_filters_leave)
{
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_LINK, 10, -1, 250);
	ASSERT_EQ(0, link_cmd("link"));
	EXPECT_TRUE(run_has_line("10 ub 3 n0.npu0.die1 n0.plane3 28 GB/s 250"));
	EXPECT_TRUE(run_has_line("554 of 554 links"));
	ASSERT_EQ(0, link_cmd("link list --down"));
	EXPECT_TRUE(run_has_line("1 of 554 links"));
	ASSERT_EQ(0, link_cmd("link --node 1"));
	EXPECT_TRUE(run_has_line("277 of 554 links"));
	ASSERT_EQ(0, link_cmd("link --plane 2,4 --kind l2"));
	EXPECT_TRUE(run_has_line("64 of 554 links"));
	ASSERT_EQ(0, link_cmd("link --plane rdma"));
	EXPECT_TRUE(run_has_line("32 of 554 links"));
	ASSERT_EQ(0, link_cmd("link --json --kind die"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_EQ(16, json_array_size(self->json));
}

TEST_F(machine, link_shows_one)
{
	fake_fabric_load();
	cmx_fabric_set(&fake_fabric, CMX_FABRIC_OBJ_CHIP, 3, 0, 0);
	ASSERT_EQ(0, link_cmd("link show 10"));
	EXPECT_TRUE(run_has_line("b: n0.plane3, port 17, down"));
	EXPECT_TRUE(run_has_line("set up, 1000 permille; has 0 permille now; changed 1 times"));
	ASSERT_EQ(0, link_cmd("link show 10 --json"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_EQ(308000000, json_integer_value(json_object_get(self->json, "up_bytes")));
}

TEST_F(machine, link_sets)
{
	ASSERT_EQ(0, link_cmd("link set 10 down"));
	EXPECT_FALSE(fake_fabric.links[10].admin_up);
	ASSERT_EQ(0, link_cmd("link set link:10 500"));
	EXPECT_EQ(500, fake_fabric.links[10].permille);
	EXPECT_FALSE(fake_fabric.links[10].admin_up);
	ASSERT_EQ(0, link_cmd("link set 10 up"));
	EXPECT_EQ(500, fake_fabric.links[10].effective);
	ASSERT_EQ(0, link_cmd("link set chip:plane1.chip2 down"));
	EXPECT_FALSE(fake_fabric.chips[14 + 16 + 2].admin_up);
	ASSERT_EQ(0, link_cmd("link set entity:n1.socket3 down"));
	EXPECT_FALSE(fake_fabric.entities[39].admin_up);
	ASSERT_EQ(0, link_cmd("link set node:n1 down"));
	EXPECT_FALSE(fake_fabric.entities[16].admin_up);
	EXPECT_EQ(0, strlen(run.out));
}

TEST_F(machine, link_shows_why_a_change_is_refused)
{
	fake_fabric.refusal = "changing a link needs CAP_NET_ADMIN";
	EXPECT_EQ(CMX_EXIT_FAILED, link_cmd("link set 10 down"));
	EXPECT_TRUE(run_complains("cmx link: changing a link needs CAP_NET_ADMIN\n"));
}

TEST_F(machine, wrong_use)
{
	static const struct {
		int (*main)(int argc, char **argv);
		const char *line;
	} uses[] = {
		{ cmx_link_main, "link show" },
		{ cmx_link_main, "link show 554" },
		{ cmx_link_main, "link show 1 --down" },
		{ cmx_link_main, "link set 1" },
		{ cmx_link_main, "link set 1 0" },
		{ cmx_link_main, "link set 1 1001" },
		{ cmx_link_main, "link set 554 up" },
		{ cmx_link_main, "link set chip:126 up" },
		{ cmx_link_main, "link set chip:0 500" },
		{ cmx_link_main, "link set node:2 up" },
		{ cmx_link_main, "link set thing:2 up" },
		{ cmx_link_main, "link --kind x" },
		{ cmx_link_main, "link --node 2" },
		{ cmx_link_main, "link nonsense" },
		{ cmx_smi_main, "smi --count 1" },
		{ cmx_smi_main, "smi --watch 0" },
		{ cmx_smi_main, "smi --by power" },
		{ cmx_smi_main, "smi --map --node 0" },
		{ cmx_smi_main, "smi --node 2" },
		{ cmx_smi_main, "smi 5" },
		{ cmx_counters_main, "counters --top 0" },
		{ cmx_counters_main, "counters --rate x" },
		{ cmx_counters_main, "counters 1" },
		{ cmx_monitor_main, "monitor --count 0" },
		{ cmx_monitor_main, "monitor 1" },
	};

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		EXPECT_EQ(CMX_EXIT_USAGE, run_command(uses[i].main, uses[i].line))
			TH_LOG("%s", uses[i].line);
		EXPECT_NE(0, strlen(run.err))
			TH_LOG("%s", uses[i].line);
	}
	EXPECT_TRUE(fake_fabric.links[1].admin_up);
}

TEST_F(machine, counters_begin_with_the_busiest)
{
	fake_fabric.machine.total_ps = 1000000000000ULL;
	fake_fabric.links[7].up_bytes = 2048;
	fake_fabric.links[7].up_busy_ps = 250000000000ULL;
	fake_fabric.links[300].down_bytes = 4096;
	fake_fabric.entities[9].mem_bytes = 1;
	ASSERT_EQ(0, counters("counters --top 2"));
	EXPECT_TRUE(run_says("busy      busy\n   300  l2 "));
	EXPECT_TRUE(run_has_line("7 ub n0.npu0.die1 n0.plane0 2 KiB 0 B 25.0 % 0.0 %"));
	EXPECT_TRUE(run_has_line("9 n0.npu4.die1 1 B 0.0 % 0 0.0 % 0.0 % 0 0 B"));
	EXPECT_TRUE(run_says("links, 2 of 554 by bytes"));
}

/* Both ends of two links through one chip; then bytes that came in and did not go out. */
TEST_F(machine, counters_say_whether_chips_keep_anything)
{
	fake_fabric.links[0].up_bytes = 700;
	fake_fabric.links[7].down_bytes = 700;
	fake_fabric.links[280].up_bytes = 50;
	fake_fabric.links[280 + 112].down_bytes = 50;
	fake_fabric.links[14].up_bytes = 50;
	fake_fabric.links[16 * 7].down_bytes = 50;
	ASSERT_EQ(0, counters("counters"));
	EXPECT_TRUE(run_has_line("126 of 126 chips gave out what they got; all: in 850, out 850"));
	fake_fabric.links[1].up_bytes = 3;
	ASSERT_EQ(0, counters("counters"));
	EXPECT_TRUE(run_has_line("1 n0.plane1 in 3, out 0"));
	EXPECT_TRUE(run_has_line("125 of 126 chips gave out what they got; all: in 853, out 850"));
}

TEST_F(machine, counters_of_clients)
{
	add_client("program");
	ASSERT_EQ(0, counters("counters --clients"));
	EXPECT_TRUE(run_has_line("5 4711 1000 program 3 0 0 0 99 0 0 B"));
	EXPECT_TRUE(run_has_line("1 clients; 2 are other users' and not shown"));
	ASSERT_EQ(0, counters("counters --clients --json"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_EQ(2, json_integer_value(json_object_get(self->json, "clients_hidden")));
}

TEST_F(machine, counters_as_rates)
{
	fake_fabric_load();
	ASSERT_EQ(0, counters("counters --rate 0.01 --json --all"));
	self->json = json_loads(run.out, 0, NULL);
	EXPECT_EQ(554, json_array_size(json_object_get(self->json, "links")));
	EXPECT_EQ(0, json_integer_value(json_object_get(self->json, "virtual_ps")));
}

static void add_events(void)
{
	static const struct cmx_fabric_event events[] = {
		{ .type = CMX_FABRIC_EVENT_STATE, .object = CMX_FABRIC_OBJ_LINK, .index = 3,
		  .up = true, .permille = 250, .generation = 4 },
		{ .type = CMX_FABRIC_EVENT_STATE, .object = CMX_FABRIC_OBJ_CHIP, .index = 14,
		  .generation = 5 },
		{ .type = CMX_FABRIC_EVENT_LOST },
		{ .type = CMX_FABRIC_EVENT_ERROR, .index = 1, .peer = 38, .status = 9,
		  .time_ps = 12345 },
		{ .type = CMX_FABRIC_EVENT_PROFILE, .profile = "mine" },
	};

	memcpy(fake_fabric.events, events, sizeof(events));
	fake_fabric.num_events = 5;
}

TEST_F(machine, monitor_prints_a_line_for_each_event)
{
	add_events();
	ASSERT_EQ(0, monitor("monitor --count 5"));
	EXPECT_STREQ("link 3 (n0.npu0.die0 - n0.plane3) up, 250 permille, state 4\n"
		     "chip 14 (plane0.chip0) down, state 5\n"
		     "lost: events are missing here\n"
		     "error: a command of entity 1 (n0.npu0.die1) ended with status 9 on the way "
		     "to entity 38 (n1.socket2) at 12345 ps of virtual time\n"
		     "profile mine: another machine\n", run.out);
}

TEST_F(machine, monitor_prints_json_lines)
{
	char *at = run.out;

	add_events();
	ASSERT_EQ(0, monitor("monitor --json --count 5"));
	for (int i = 0; i < 5; i++) {
		static const char * const want[] = { "state", "state", "lost", "error",
						     "profile" };
		json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);

		ASSERT_NE(NULL, line);
		EXPECT_STREQ(want[i], json_string_value(json_object_get(line, "event")));
		json_decref(line);
		at = strchr(at, '\n') + 1;
	}
	EXPECT_EQ('\0', *at);
}

TEST_F(machine, monitor_ends_in_time)
{
	add_events();
	EXPECT_EQ(CMX_EXIT_OK, monitor("monitor --timeout 0.01"));
	add_events();
	EXPECT_EQ(CMX_EXIT_FAILED, monitor("monitor --timeout 0.01 --count 6"));
	EXPECT_TRUE(run_complains("time is over after 5 of 6 events"));
}

TEST_HARNESS_MAIN
