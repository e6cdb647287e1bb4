// SPDX-License-Identifier: GPL-2.0-only
/* Dumps while the machine changes, is replaced, or goes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "raw.h"

FIXTURE(churn)
{
	struct raw raw, admin;
	struct raw_request req;
};

FIXTURE_SETUP(churn)
{
	ASSERT_EQ(0, raw_open(&self->raw));
	ASSERT_EQ(0, raw_open(&self->admin));
}

FIXTURE_TEARDOWN(churn)
{
	raw_close(&self->raw);
	raw_close(&self->admin);
}

/* Links of chip 0, and how many of them carry traffic. */
struct seen {
	uint32_t next;
	uint32_t links, up;
	bool out_of_order;
};

static bool at_chip_0(const struct nlattr *attrs, int len, uint16_t end)
{
	const struct nlattr *attr = attrs;
	int left = len;

	while (left >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr)) {
		if ((attr->nla_type & NLA_TYPE_MASK) == end)
			return raw_get(attr + 1, attr->nla_len - NLA_HDRLEN, CMX_A_END_KIND, 0) ==
				CMX_END_TYPE_CHIP &&
			       !raw_get(attr + 1, attr->nla_len - NLA_HDRLEN, CMX_A_END_INDEX, 1);
		left -= NLA_ALIGN(attr->nla_len);
		attr = (const struct nlattr *)((const char *)attr + NLA_ALIGN(attr->nla_len));
	}
	return false;
}

static void take_link(const struct nlattr *attrs, int len, void *arg)
{
	struct seen *seen = arg;

	seen->out_of_order |= raw_get(attrs, len, CMX_A_LINK_INDEX, UINT32_MAX) != seen->next++;
	if (!at_chip_0(attrs, len, CMX_A_LINK_A) && !at_chip_0(attrs, len, CMX_A_LINK_B))
		return;
	seen->links++;
	seen->up += raw_get(attrs, len, CMX_A_LINK_EFFECTIVE, 0) == 1000;
}

static pid_t flip_chip_0(uint32_t pause_us)
{
	pid_t pid = fork();
	struct raw raw;

	if (pid)
		return pid;
	if (raw_open(&raw))
		_exit(1);
	for (uint32_t i = 0;; i++) {
		if (raw_set(&raw, CMX_CMD_CHIP_SET, 0, i % 2))
			_exit(1);
		usleep(pause_us);
	}
}

static int dump_links(struct raw *raw, struct raw_request *req, bool counters, struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	raw_begin(raw, req, CMX_CMD_LINK_GET, NLM_F_DUMP);
	if (counters)
		raw_put(req, CMX_A_LINK_COUNTERS, NULL, 0);
	return raw_call(raw, req, take_link, seen);
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A list that is not marked is of one moment: all links of a chip have its state. */
TEST_F_TIMEOUT(churn, lists_are_of_one_moment_or_marked, 120)
{
	static const uint32_t pauses[] = { 0, 1000, 5000, 50000, 200000 };
	uint32_t links = (uint32_t)raw_machine(&self->raw, CMX_A_MACHINE_NUM_LINKS);
	int whole = 0, marked = 0;
	struct seen seen;
	pid_t pid = 0;

	for (int i = 0; i < 100; i++) {
		if (i % 20 == 0)
			pid = flip_chip_0(pauses[i / 20]);
		ASSERT_EQ(0, dump_links(&self->raw, &self->req, i % 2, &seen));
		EXPECT_EQ(links, self->raw.messages);
		EXPECT_FALSE(seen.out_of_order);
		EXPECT_EQ(36, seen.links);
		marked += self->raw.interrupted;
		whole += !self->raw.interrupted;
		if (!self->raw.interrupted)
			EXPECT_TRUE(!seen.up || seen.up == seen.links)
				TH_LOG("%u of %u", seen.up, seen.links);
		if (i % 20 == 19)
			stop(pid);
	}
	TH_LOG("%d of one moment, %d marked", whole, marked);
	EXPECT_LT(0, whole);
	EXPECT_LT(0, marked);
	EXPECT_EQ(0, raw_set(&self->admin, CMX_CMD_CHIP_SET, 0, 1));
}

static int replace(struct raw *raw, uint32_t nodes)
{
	struct raw_request req;
	int ret = raw_profile(raw, &req, "other", nodes);

	return ret ? ret : raw_call(raw, &req, NULL, NULL);
}

/* Part of a list is read when the machine is replaced, by one as large or by a small one. */
TEST_F_TIMEOUT(churn, a_machine_replaced_under_dumps, 120)
{
	static const uint8_t cmds[] = { CMX_CMD_ENTITY_GET, CMX_CMD_PORT_GET, CMX_CMD_LINK_GET };
	uint32_t nodes = (uint32_t)raw_machine(&self->raw, CMX_A_MACHINE_NODES);
	int ret;

	ASSERT_LE(8, nodes) TH_LOG("the lists of fewer nodes are read in one go");
	for (size_t i = 0; i < 2 * sizeof(cmds); i++) {
		raw_begin(&self->raw, &self->req, cmds[i / 2], NLM_F_DUMP);
		if (cmds[i / 2] == CMX_CMD_LINK_GET)
			raw_put(&self->req, CMX_A_LINK_COUNTERS, NULL, 0);
		ASSERT_EQ(0, raw_send(&self->raw, &self->req));
		ASSERT_EQ(1, raw_read(&self->raw, NULL, NULL));
		ASSERT_EQ(0, replace(&self->admin, i % 2 ? 1 : nodes))
			TH_LOG("%s", self->admin.text);
		do
			ret = raw_read(&self->raw, NULL, NULL);
		while (ret == 1);
		EXPECT_EQ(0, ret);
		EXPECT_TRUE(self->raw.interrupted);
		ASSERT_EQ(0, replace(&self->admin, nodes));
	}
}

/* Dumps that nobody reads to the end leave nothing behind, and keep the module. */
TEST_F(churn, dumps_left_in_the_middle)
{
	struct raw raw;

	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, raw_open(&raw));
		raw_begin(&raw, &self->req, i % 2 ? CMX_CMD_LINK_GET : CMX_CMD_ENTITY_GET,
			  NLM_F_DUMP);
		if (i % 2)
			raw_put(&self->req, CMX_A_LINK_COUNTERS, NULL, 0);
		ASSERT_EQ(0, raw_send(&raw, &self->req));
		if (i % 3)
			raw_read(&raw, NULL, NULL);
		raw_close(&raw);
	}
	raw_begin(&self->raw, &self->req, CMX_CMD_LINK_GET, NLM_F_DUMP);
	ASSERT_EQ(0, raw_send(&self->raw, &self->req));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "cmx", O_NONBLOCK));
	EXPECT_EQ(1, raw_read(&self->raw, NULL, NULL));
}

TEST_HARNESS_MAIN
