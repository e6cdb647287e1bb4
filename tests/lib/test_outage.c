// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of the fabric that are degraded, down, or gone in the middle of a transfer.  Needs two
 * nodes and CAP_NET_ADMIN.
 */
#include <kselftest_harness.h>

#include <cmx/fabric.h>

#include "haul.h"

#define SLICE	(256u << 10)

FIXTURE(outage)
{
	struct haul h;
	struct cmx_fabric *fabric;
	struct cmx_fabric_machine machine;
	struct job near, far;
};

FIXTURE_SETUP(outage)
{
	OK(haul_open(&self->h));
	OK(cmx_fabric_open(&self->fabric));
	if (self->h.nodes != 2)
		SKIP(return, "%u nodes, not 2", self->h.nodes);
	OK(cmx_fabric_get_machine(self->fabric, &self->machine));
	ASSERT_EQ(0, self->machine.links_down);
	ASSERT_EQ(0, self->machine.links_degraded);
	self->near = (struct job){ .entity = haul_die(&self->h, 0, 0), .bytes = LARGE,
				   .peer = haul_die(&self->h, 0, 4) };
	self->far = (struct job){ .entity = haul_die(&self->h, 0, 0), .bytes = LARGE,
				  .peer = haul_die(&self->h, 1, 4) };
}

/* The machine is whole again for who comes next. */
static void mend(FIXTURE_DATA(outage) *self)
{
	struct cmx_fabric_link *links;
	int n = cmx_fabric_links(self->fabric, &links);

	for (uint32_t i = 0; i < self->machine.nodes; i++)
		cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, i, 1, 0);
	for (uint32_t i = 0; i < self->machine.num_entities; i++)
		cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_ENTITY, i, 1, 0);
	for (uint32_t i = 0; i < self->machine.num_chips; i++)
		cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_CHIP, i, 1, 0);
	for (int i = 0; i < n; i++)
		if (!links[i].admin_up || links[i].permille != 1000)
			cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, i, 1, 1000);
	if (n >= 0)
		free(links);
}

FIXTURE_TEARDOWN(outage)
{
	mend(self);
	cmx_fabric_close(self->fabric);
	haul_close(&self->h);
}

static uint32_t ub_link(const FIXTURE_DATA(outage) *self, uint32_t entity, uint32_t plane)
{
	return entity * self->machine.planes + plane;
}

static uint32_t l2_link(const FIXTURE_DATA(outage) *self, uint32_t node, uint32_t plane,
			uint32_t chip)
{
	return self->machine.num_entities * self->machine.planes +
	       (node * self->machine.planes + plane) * self->machine.l2_per_plane + chip;
}

static uint32_t l2_chip(const FIXTURE_DATA(outage) *self, uint32_t plane, uint32_t chip)
{
	return self->machine.num_l1 + plane * self->machine.l2_per_plane + chip;
}

static int down(FIXTURE_DATA(outage) *self, uint32_t object, uint32_t index)
{
	return cmx_fabric_set(self->fabric, object, index, 0, 0);
}

static int degrade(FIXTURE_DATA(outage) *self, uint32_t link, uint32_t permille)
{
	return cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, link, -1, permille);
}

/* Bytes/s of a job alone, its latency left out. */
static uint64_t rate_of(struct haul *h, const struct job *job)
{
	uint64_t took;

	if (haul_run_one(h, job, &took))
		return 1;
	return time_of(job->bytes, took - 1200 * NS);
}

/* What the module says of a way is what a transfer gets. */
static uint64_t route_rate(FIXTURE_DATA(outage) *self, const struct job *job)
{
	struct cmx_fabric_route route;

	if (cmx_fabric_get_route(self->fabric, job->entity, job->peer, job->planes, &route))
		return 1;
	return job->write ? route.write_rate : route.read_rate;
}

#define EXPECT_RATE(i, want, job) do { \
	EXPECT_NEAR(i, 10, want, rate_of(&self->h, job)); \
	EXPECT_NEAR(i, 10, want, route_rate(self, job)); \
} while (0)

/* -------------------------------------------------------------------------- slower */

TEST_F(outage, planes_lost)
{
	for (uint32_t p = 0; p < 6; p++) {
		uint64_t left = (6 - p) * LINK;

		OK(down(self, CMX_FABRIC_OBJ_LINK, ub_link(self, self->near.peer, p)));
		/* A read by one die needs 167 of the 185 GB/s that its links have. */
		EXPECT_RATE(p, left < 167 * GB ? left : 167 * GB, &self->near);
	}
}

TEST_F(outage, plane_down_at_the_chip)
{
	OK(down(self, CMX_FABRIC_OBJ_CHIP, 3));
	EXPECT_RATE(0, 6 * LINK, &self->near);
	EXPECT_RATE(1, 6 * LINK * 978 / 1000, &self->far);
}

TEST_F(outage, link_degraded)
{
	/* Bytes go in proportion to what each plane can. */
	OK(degrade(self, ub_link(self, self->near.peer, 2), 500));
	EXPECT_RATE(0, 6 * LINK + LINK / 2 < 167 * GB ? 6 * LINK + LINK / 2 : 167 * GB,
		    &self->near);
	OK(degrade(self, ub_link(self, self->near.entity, 3), 100));
	EXPECT_RATE(1, 5 * LINK + LINK / 2 + LINK / 10, &self->near);
}

TEST_F(outage, trunk_down_to_a_chip)
{
	/* One of sixteen is enough for one die, but no more. */
	for (uint32_t c = 1; c < 16; c++)
		OK(down(self, CMX_FABRIC_OBJ_CHIP, l2_chip(self, 0, c)));
	EXPECT_RATE(0, 167 * GB * 978 / 1000, &self->far);
	OK(degrade(self, l2_link(self, 1, 0, 0), 250));
	EXPECT_RATE(1, (6 * LINK + LINK / 4) * 978 / 1000, &self->far);
	OK(down(self, CMX_FABRIC_OBJ_CHIP, l2_chip(self, 0, 0)));
	EXPECT_RATE(2, 6 * LINK * 978 / 1000, &self->far);
	EXPECT_RATE(3, 167 * GB, &self->near);
}

TEST_F(outage, sibling_link)
{
	struct job job = { .entity = 0, .peer = 1, .bytes = LARGE };
	uint32_t link = self->machine.num_entities * 7 + self->machine.num_l1 * 16;

	EXPECT_NEAR(0, 10, 270 * GB, route_rate(self, &job));
	OK(degrade(self, link, 500));
	EXPECT_NEAR(1, 10, 135 * GB, route_rate(self, &job));
	OK(down(self, CMX_FABRIC_OBJ_LINK, link));
	EXPECT_RATE(2, 167 * GB, &job);
}

TEST_F(outage, nothing_is_forgotten)
{
	struct cmx_fabric_machine after;

	OK(down(self, CMX_FABRIC_OBJ_NODE, 1));
	OK(down(self, CMX_FABRIC_OBJ_CHIP, 0));
	OK(degrade(self, 5, 1));
	mend(self);
	OK(cmx_fabric_get_machine(self->fabric, &after));
	EXPECT_EQ(0, after.links_down);
	EXPECT_EQ(0, after.links_degraded);
	EXPECT_RATE(0, 167 * GB * 978 / 1000, &self->far);
}

/* ------------------------------------------------------------------------- nothing */

TEST_F(outage, cut_off)
{
	struct cmx_fabric_entity *list;
	uint64_t errors;

	ASSERT_LE(0, cmx_fabric_entities(self->fabric, &list));
	errors = list[self->near.entity].errors;
	free(list);
	for (uint32_t p = 0; p < 7; p++)
		OK(down(self, CMX_FABRIC_OBJ_LINK, ub_link(self, self->near.peer, p)));
	for (uint32_t n = 0; n < 32; n += 10) {
		self->near.err_timeout = n;
		EXPECT_EQ(UB_CR_ACK_TIMEOUT, haul_status(&self->h, &self->near));
		EXPECT_EQ(4096 * NS << n, self->h.took[0]);
	}
	EXPECT_EQ(0, haul_status(&self->h, &self->far));
	ASSERT_LE(0, cmx_fabric_entities(self->fabric, &list));
	EXPECT_EQ(errors + 4, list[self->near.entity].errors);
	EXPECT_LE(4 * LARGE, list[self->near.entity].lost_bytes);
	free(list);
}

TEST_F(outage, entity_down)
{
	struct job local = { .entity = self->near.peer, .peer = self->near.peer, .bytes = 64 };
	struct job back = { .entity = self->near.peer, .peer = self->near.entity, .bytes = 64 };

	OK(down(self, CMX_FABRIC_OBJ_ENTITY, self->near.entity));
	EXPECT_EQ(CMX_CR_ENTITY_DOWN, haul_status(&self->h, &self->near));
	EXPECT_EQ(0, self->h.took[0]);
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, haul_status(&self->h, &back));
	EXPECT_EQ(0, haul_status(&self->h, &local));
	mend(self);
	EXPECT_EQ(0, haul_status(&self->h, &self->near));
}

TEST_F(outage, node_down)
{
	OK(down(self, CMX_FABRIC_OBJ_NODE, 1));
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, haul_status(&self->h, &self->far));
	EXPECT_EQ(0, haul_status(&self->h, &self->near));
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_NODE, 1, 1, 0));
	EXPECT_EQ(0, haul_status(&self->h, &self->far));
}

/* Launches, and what they send. */
TEST_F(outage, launches)
{
	struct cmx_launch_desc desc = { .grid = 1, .launch_flags = CMX_LAUNCH_TIME_ONLY,
					.first_ps = UINT64_MAX, .cost = { .mem_bytes = 1000 } };
	struct cmx_queue_desc queue = { .timeline = self->h.clock, .cq = self->h.cq,
					.queue_class = CMX_QUEUE_STREAM };
	struct cmx_queue *q;
	uint64_t start;

	OK(cmx_queue_create(self->h.ctx, &queue, &q));
	start = haul_now(&self->h);
	OK(cmx_queue_launch(q, &desc, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, 0));
	OK(cmx_queue_launch(q, &desc, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(CMX_CR_ENTITY_DOWN, self->h.status[0]);
}

/* ---------------------------------------------------------------------- in between */

static uint32_t flags_of(struct haul *h)
{
	struct drm_cmx_timeline_query query;

	return cmx_timeline_query(h->clock, &query, sizeof(query)) ? ~0u : query.flags;
}

/* Submit, and let the clock go on to @ps; the rest is carried out later. */
static int run_until(struct haul *h, const struct job *job, uint64_t ps)
{
	struct cmx_wait_opts opts = { .timeline = h->clock };
	struct cmx_queue_desc desc = { .timeline = h->clock, .cq = h->cq, .entity = job->entity,
				       .queue_class = CMX_QUEUE_UB };
	struct cmx_mem *own, *other;
	struct cmx_queue *q;
	int ret = cmx_queue_create(h->ctx, &desc, &q);

	if (!ret)
		ret = cmx_mem_alloc(h->ctx, job->entity, job->bytes, CMX_MEM_NO_DATA, &own);
	if (!ret)
		ret = cmx_mem_alloc(h->ctx, job->peer, job->bytes, CMX_MEM_NO_DATA, &other);
	if (!ret)
		ret = cmx_queue_read(q, cmx_mem_va(own), cmx_mem_va(other), job->bytes,
				     CMX_ENTRY_COMPLETE, 0);
	if (!ret)
		ret = cmx_queue_submit(q);
	return ret ? ret : cmx_wait_time(h->ctx, haul_now(h) + ps, &opts);
}

TEST_F(outage, slower_half_way)
{
	uint64_t half = time_of(LARGE / 2, 167 * GB), start = haul_now(&self->h);

	OK(run_until(&self->h, &self->near, half));
	EXPECT_EQ(0, flags_of(&self->h) & CMX_TIMELINE_NONDETERMINISTIC);
	for (uint32_t p = 1; p < 7; p++)
		OK(down(self, CMX_FABRIC_OBJ_LINK, ub_link(self, self->near.peer, p)));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	EXPECT_NEAR(0, 10, half + time_of(LARGE / 2, LINK), self->h.took[0]);
	/* The host chose when. */
	EXPECT_NE(0, flags_of(&self->h) & CMX_TIMELINE_NONDETERMINISTIC);
}

TEST_F(outage, cut_off_half_way)
{
	uint64_t half = time_of(LARGE / 2, 167 * GB), start = haul_now(&self->h);

	OK(run_until(&self->h, &self->near, half));
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, self->near.peer));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, self->h.status[0]);
	EXPECT_LE(half, self->h.took[0]);
	EXPECT_LE(self->h.took[0], half + 4096 * NS + 3 * time_of(SLICE, 167 * GB));
}

/* The way comes back while a transfer goes round it. */
TEST_F(outage, sibling_link_comes_back)
{
	uint32_t link = self->machine.num_entities * 7 + self->machine.num_l1 * 16;
	struct job job = { .entity = 0, .peer = 1, .bytes = LARGE };
	uint64_t third = time_of(LARGE / 3, 270 * GB), round = time_of(LARGE / 3, 167 * GB);
	struct cmx_wait_opts opts = { .timeline = self->h.clock };
	uint64_t start = haul_now(&self->h), carried;
	struct cmx_fabric_link l;

	OK(cmx_fabric_get_link(self->fabric, link, &l));
	carried = l.up_bytes + l.down_bytes;
	OK(run_until(&self->h, &job, third));
	OK(down(self, CMX_FABRIC_OBJ_LINK, link));
	OK(cmx_wait_time(self->h.ctx, start + third + round, &opts));
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, link, 1, 0));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	EXPECT_NEAR(0, 10, 2 * third + round, self->h.took[0]);
	OK(cmx_fabric_get_link(self->fabric, link, &l));
	EXPECT_NEAR(1, 10, LARGE / 3 * 2, l.up_bytes + l.down_bytes - carried);
}

/* What is set to what it is does not disturb anybody. */
TEST_F(outage, no_change)
{
	uint64_t start = haul_now(&self->h);

	OK(run_until(&self->h, &self->near, 1000 * NS));
	OK(cmx_fabric_set(self->fabric, CMX_FABRIC_OBJ_LINK, 0, 1, 1000));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	EXPECT_EQ(0, flags_of(&self->h) & CMX_TIMELINE_NONDETERMINISTIC);
}

static int ub_queue(struct haul *h, uint32_t entity, uint32_t rnr_retry, struct cmx_queue **q)
{
	struct cmx_queue_desc desc = { .timeline = h->clock, .cq = h->cq, .entity = entity,
				       .queue_class = CMX_QUEUE_UB, .rnr_retry = rnr_retry };

	return cmx_queue_create(h->ctx, &desc, q);
}

/* Also one that never sent a byte is disturbed by a change while it runs. */
TEST_F(outage, change_while_waiting)
{
	struct cmx_wait_opts opts = { .timeline = self->h.clock };
	uint64_t start = haul_now(&self->h);
	struct cmx_queue *q;

	OK(ub_queue(&self->h, 0, 0, &q));
	OK(cmx_queue_delay(q, 2000 * NS, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_time(self->h.ctx, start + 1000 * NS, &opts));
	EXPECT_EQ(0, flags_of(&self->h) & CMX_TIMELINE_NONDETERMINISTIC);
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, 5));
	OK(haul_read(&self->h, start, 1));
	EXPECT_NE(0, flags_of(&self->h) & CMX_TIMELINE_NONDETERMINISTIC);
}

/* The last microseconds of the clock: what does not fit leaves no trace in the counters. */
TEST_F(outage, the_end_of_time)
{
	uint32_t a = haul_socket(&self->h, 0, 0), b = haul_socket(&self->h, 0, 1);
	uint64_t left = 1500 * NS, most = 1ull << 63;
	struct cmx_mem *from, *to;
	struct cmx_fabric_link l;
	struct cmx_queue *q;

	OK(ub_queue(&self->h, a, 0, &q));
	OK(cmx_mem_alloc(self->h.ctx, a, SLICE, CMX_MEM_NO_DATA, &from));
	OK(cmx_mem_alloc(self->h.ctx, b, SLICE, CMX_MEM_NO_DATA, &to));
	OK(cmx_queue_delay(q, most, 0, 0));
	OK(cmx_queue_delay(q, most - 1 - left, 0, 0));
	OK(cmx_queue_write(q, cmx_mem_va(to), cmx_mem_va(from), SLICE, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, 0, 1));
	EXPECT_EQ(CMX_CR_TIME_OVERFLOW, self->h.status[0]);
	for (uint32_t p = 0; p < self->machine.planes; p++) {
		OK(cmx_fabric_get_link(self->fabric, ub_link(self, a, p), &l));
		EXPECT_GT(1ull << 40, l.up_bytes);
	}
}

/* A WAIT that nothing can satisfy any more, since its own entity is gone. */
TEST_F(outage, waits_end)
{
	struct cmx_queue_desc desc = { .timeline = self->h.clock, .cq = self->h.cq,
				       .queue_class = CMX_QUEUE_STREAM };
	struct cmx_wait_opts opts = { .timeline = self->h.clock };
	struct cmx_queue *q;
	struct cmx_mem *word;
	uint64_t start = haul_now(&self->h);

	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, 4096, 0, &word));
	OK(cmx_queue_wait(q, cmx_mem_va(word), CMX_COND_EQ, 1, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_time(self->h.ctx, start + 1000, &opts));
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, 0));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(CMX_CR_ENTITY_DOWN, self->h.status[0]);
}

/* ------------------------------------------------------------------------ messages */

/* One that does not arrive takes no receive entry. */
TEST_F(outage, message)
{
	struct cmx_rq_desc rq_desc = { .cq = self->h.cq, .entity = self->near.peer, .slots = 4 };
	struct cmx_queue_desc desc = { .timeline = self->h.clock, .cq = self->h.cq,
				       .queue_class = CMX_QUEUE_UB };
	struct cmx_mem *mem, *to;
	struct cmx_queue *q;
	struct cmx_rq *rq;
	uint64_t start = haul_now(&self->h);

	OK(cmx_rq_create(self->h.ctx, &rq_desc, &rq));
	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, 4096, 0, &mem));
	OK(cmx_mem_alloc(self->h.ctx, self->near.peer, 4096, 0, &to));
	OK(cmx_rq_post(rq, &(struct cmx_sge){ .va = cmx_mem_va(to), .len = 64 }, 1, 1));
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, self->near.peer));
	OK(cmx_queue_send(q, UB_OP_SEND, rq->handle, cmx_mem_va(mem), 64, 0,
			  CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, self->h.status[0]);
	mend(self);
	OK(cmx_wait_idle(self->h.ctx, &(struct cmx_wait_opts){ .timeline = self->h.clock }));
	OK(cmx_queue_set_state(q, UB_QUEUE_READY));
	OK(cmx_queue_send(q, UB_OP_SEND, rq->handle, cmx_mem_va(mem), 64, 0,
			  CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 2));
	EXPECT_EQ(0, self->h.status[0]);
	EXPECT_EQ(0, self->h.status[1]);
}

/* One that waits for a receive entry learns that its receiver is gone. */
TEST_F(outage, message_that_waits)
{
	struct cmx_rq_desc rq_desc = { .cq = self->h.cq, .entity = self->near.peer, .slots = 4 };
	struct cmx_wait_opts opts = { .timeline = self->h.clock };
	uint64_t start = haul_now(&self->h);
	struct cmx_mem *mem;
	struct cmx_queue *q;
	struct cmx_rq *rq;

	OK(cmx_rq_create(self->h.ctx, &rq_desc, &rq));
	OK(ub_queue(&self->h, 0, 7, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, 4096, 0, &mem));
	OK(cmx_queue_send(q, UB_OP_SEND, rq->handle, cmx_mem_va(mem), 64, 0,
			  CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_time(self->h.ctx, start + 1000 * NS, &opts));
	OK(down(self, CMX_FABRIC_OBJ_ENTITY, self->near.peer));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(UB_CR_ACK_TIMEOUT, self->h.status[0]);
}

TEST_HARNESS_MAIN
