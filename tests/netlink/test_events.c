// SPDX-License-Identifier: GPL-2.0-only
/* Every change is told, in order; what cannot be told is known to be missing. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

#include "raw.h"

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_LE(0, ok_ret) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

FIXTURE(events)
{
	struct cmx_fabric *listener, *admin;
	struct cmx_fabric_machine m;
};

FIXTURE_SETUP(events)
{
	OK(cmx_fabric_open(&self->listener));
	OK(cmx_fabric_open(&self->admin));
	OK(cmx_fabric_get_machine(self->admin, &self->m));
}

FIXTURE_TEARDOWN(events)
{
	cmx_fabric_close(self->listener);
	cmx_fabric_close(self->admin);
}

/* A change drawn at random, as the event that will tell of it. */
static void draw(const struct cmx_fabric_machine *m, uint32_t *seed,
		 struct cmx_fabric_event *change)
{
	const uint32_t counts[] = { 1, m->num_links, m->num_chips, m->num_entities, m->nodes };

	memset(change, 0, sizeof(*change));
	change->type = CMX_FABRIC_EVENT_STATE;
	change->object = 1 + raw_random(seed) % 4;
	change->index = raw_random(seed) % counts[change->object];
	change->up = raw_random(seed) % 2;
	change->permille = change->object == CMX_FABRIC_OBJ_LINK ? 1 + raw_random(seed) % 1000 : 0;
}

TEST_F_TIMEOUT(events, every_change_in_order, 120)
{
	enum { N = 400 };
	struct cmx_fabric_event change, event;
	uint32_t made = 7, seen = 7;
	struct pollfd pollfd;

	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ALL));
	pollfd = (struct pollfd){ .fd = cmx_fabric_fd(self->listener), .events = POLLIN };
	EXPECT_EQ(0, poll(&pollfd, 1, 0));
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
	for (int i = 0; i < N; i++) {
		draw(&self->m, &made, &change);
		OK(cmx_fabric_set(self->admin, change.object, change.index, change.up,
				  change.permille));
	}
	EXPECT_EQ(1, poll(&pollfd, 1, 0));
	for (uint32_t i = 0; i < N; i++) {
		draw(&self->m, &seen, &change);
		change.generation = self->m.generation + i + 1;
		ASSERT_EQ(1, cmx_fabric_next_event(self->listener, &event));
		EXPECT_EQ(0, memcmp(&change, &event, sizeof(event)))
			TH_LOG("%u: part %u %u, generation %u", i, event.object, event.index,
			       event.generation);
	}
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
}

TEST_F(events, groups)
{
	struct cmx_fabric_event event;

	EXPECT_EQ(-1, cmx_fabric_fd(self->listener));
	EXPECT_EQ(-EINVAL, cmx_fabric_next_event(self->listener, &event));
	EXPECT_EQ(-EINVAL, cmx_fabric_subscribe(self->listener, 0));
	EXPECT_EQ(-EINVAL, cmx_fabric_subscribe(self->listener, 8));
	EXPECT_STREQ("groups", cmx_last_error()->field);

	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_LINK));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_ENTITY, 0, 1, 0));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_NODE, 0, 1, 0));
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_CHIP, 0, 1, 0));
	ASSERT_EQ(1, cmx_fabric_next_event(self->listener, &event));
	EXPECT_EQ(CMX_FABRIC_OBJ_CHIP, (int)event.object);
	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ENTITY));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_NODE, 0, 1, 0));
	ASSERT_EQ(1, cmx_fabric_next_event(self->listener, &event));
	EXPECT_EQ(CMX_FABRIC_OBJ_NODE, (int)event.object);
}

TEST_F(events, a_refused_change_is_none)
{
	struct cmx_fabric_event event;

	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ALL));
	EXPECT_GT(0, cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_LINK, UINT32_MAX, 0, 0));
	EXPECT_GT(0, cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_LINK, 0, -1, 2000));
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
}

TEST_F_TIMEOUT(events, a_slow_listener_knows_that_it_missed_some, 120)
{
	enum { N = 2000 };
	struct cmx_fabric_event event;
	uint32_t last = 0;
	int small = 4096, told = 0, lost = 0, ret;

	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ALL));
	ASSERT_EQ(0, setsockopt(cmx_fabric_fd(self->listener), SOL_SOCKET, SO_RCVBUF, &small,
				sizeof(small)));
	for (uint32_t i = 0; i < N; i++)
		OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_LINK, i % 10, i / 10 % 2, 0));
	while ((ret = cmx_fabric_next_event(self->listener, &event)) == 1) {
		if (event.type == CMX_FABRIC_EVENT_LOST) {
			lost++;
			continue;
		}
		EXPECT_LT(last, event.generation);
		last = event.generation;
		told++;
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(0, lost);
	EXPECT_LT(0, told);
	EXPECT_GT(N, told);
	/* It goes on after that. */
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_LINK, 0, 1, 0));
	ASSERT_EQ(1, cmx_fabric_next_event(self->listener, &event));
	EXPECT_EQ(CMX_FABRIC_EVENT_STATE, (int)event.type);
}

/* There is one machine, whatever the network namespace. */
TEST_F(events, another_network_namespace)
{
	struct cmx_fabric *elsewhere;
	struct cmx_fabric_machine m;
	struct cmx_fabric_event event;

	if (unshare(CLONE_NEWNET))
		SKIP(return, "no network namespaces");
	OK(cmx_fabric_open(&elsewhere));
	OK(cmx_fabric_get_machine(elsewhere, &m));
	EXPECT_EQ(self->m.num_links, m.num_links);
	OK(cmx_fabric_subscribe(elsewhere, CMX_FABRIC_EVENTS_ALL));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_LINK, 9, 1, 0));
	ASSERT_EQ(1, cmx_fabric_next_event(elsewhere, &event));
	EXPECT_EQ(9, event.index);
	cmx_fabric_close(elsewhere);
}

/* A command that cannot reach its peer is told of with what its completion says. */
TEST_F(events, a_command_that_failed)
{
	struct cmx_queue_desc desc = { .queue_class = CMX_QUEUE_SDMA };
	struct cmx_mem *near, *far;
	struct cmx_fabric_event event;
	struct cmx_ctx *ctx;
	struct cmx_queue *q;
	struct cmx_cqe cqe;

	OK(cmx_open(NULL, 0, &ctx));
	OK(cmx_cq_create(ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &desc.cq));
	OK(cmx_queue_create(ctx, &desc, &q));
	OK(cmx_mem_alloc(ctx, 0, 4096, 0, &near));
	OK(cmx_mem_alloc(ctx, 5, 4096, 0, &far));
	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ERROR));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_ENTITY, 5, 0, 0));
	OK(cmx_queue_copy(q, cmx_mem_va(far), cmx_mem_va(near), 4096, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_completions(desc.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(desc.cq, &cqe));
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, cqe.status);
	ASSERT_EQ(1, cmx_fabric_next_event(self->listener, &event));
	EXPECT_EQ(CMX_FABRIC_EVENT_ERROR, (int)event.type);
	EXPECT_EQ(0, event.index);
	EXPECT_EQ(5, event.peer);
	EXPECT_EQ(cqe.status, event.status);
	EXPECT_LT(0, event.time_ps);
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
	OK(cmx_fabric_set(self->admin, CMX_FABRIC_OBJ_ENTITY, 5, 1, 0));
	cmx_close(ctx);
}

/* Anybody may send to a listener's port. */
TEST_F(events, a_forged_event_is_ignored)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct cmx_fabric_event event;
	socklen_t len = sizeof(to);
	struct raw_request req;
	struct raw raw;

	OK(cmx_fabric_subscribe(self->listener, CMX_FABRIC_EVENTS_ALL));
	ASSERT_EQ(0, getsockname(cmx_fabric_fd(self->listener), (struct sockaddr *)&to, &len));
	ASSERT_EQ(0, raw_open(&raw));
	raw_begin(&raw, &req, CMX_CMD_LINK_NTF, 0);
	raw_put_u32(&req, CMX_A_STATE_PART, CMX_PART_LINK);
	raw_put_u32(&req, CMX_A_STATE_INDEX, 1);
	to.nl_groups = 0;
	if (sendto(raw.fd, &req, req.hdr.nlmsg_len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		EXPECT_TRUE(errno == EPERM || errno == ECONNREFUSED);
	EXPECT_EQ(0, cmx_fabric_next_event(self->listener, &event));
	raw_close(&raw);
}

TEST_HARNESS_MAIN
