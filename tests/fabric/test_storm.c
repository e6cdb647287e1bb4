// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links, chips, entities and nodes go down, degrade and come back by chance, as fast as one
 * thread can say so, while others send everything everywhere. CMX_SEED, CMX_CHANGES.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "account.h"
#include "damage.h"

#define LONG		3000
#define WORKERS		2
#define STEADY_QUEUES	6
#define STEADY_OPS	5

/** struct told - a change as its event should tell it. */
struct told {
	uint32_t object;
	uint32_t index;
	bool up;
	uint32_t permille;
};

/** struct storm - what the threads share. */
struct storm {
	struct world *world;
	uint64_t seed;
	uint32_t changes;
	atomic_bool over;
	/* Changes made, and events seen. */
	struct told *made;
	atomic_uint num_made;
	atomic_uint seen;
	atomic_uint lost;
	atomic_uint wrong;
	/* Commands that ended, those of them with an error, and what should not have been. */
	atomic_uint commands;
	atomic_uint errors;
	atomic_uint bad;
	/* Entities and links as the administrator set them. */
	bool *up[CMX_FABRIC_OBJ_NODE + 1];
	uint32_t *permille;
};

static bool is_defined(uint32_t status)
{
	return status == UB_CR_SUCCESS || status == UB_CR_ACK_TIMEOUT ||
	       status == CMX_CR_ENTITY_DOWN || status == UB_CR_WR_FLUSH_ERR;
}

static void count_status(struct storm *storm, uint32_t status)
{
	atomic_fetch_add(&storm->commands, 1);
	if (status)
		atomic_fetch_add(&storm->errors, 1);
	if (is_defined(status))
		return;
	printf("# a command ended with status %u\n", status);
	atomic_fetch_add(&storm->bad, 1);
}

/* ------------------------------------------------------------------------- traffic */

/** struct worker - a thread with traffic. */
struct worker {
	struct storm *storm;
	struct random random;
	pthread_t thread;
};

static void count_load(struct storm *storm, const struct load *load)
{
	for (uint32_t i = 0; i < load->count; i++)
		for (uint32_t j = 0; j < load->lines[i].count; j++)
			count_status(storm, load->lines[i].ops[j].status);
}

/* A client for each load, again and again. */
static void *keep_loading(void *data)
{
	struct worker *worker = data;
	struct storm *storm = worker->storm;
	struct part all = part_all(storm->world);

	while (!atomic_load(&storm->over)) {
		struct load load = { 0 };

		load_add(&load, storm->world, &all, 8, 12, &worker->random);
		if (load_run(&load, storm->world)) {
			atomic_fetch_add(&storm->bad, 1);
			break;
		}
		count_load(storm, &load);
	}
	return NULL;
}

/** struct steady - a client that stays, and mends its queues. */
struct steady {
	struct storm *storm;
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	struct cmx_queue *queues[STEADY_QUEUES];
	struct cmx_mem *memory[MAX_ENTITIES];
	uint32_t open[STEADY_QUEUES];
	bool flushed[STEADY_QUEUES];
};

static int steady_open(struct steady *s)
{
	uint32_t entities = s->storm->world->machine.num_entities;
	int ret = cmx_open(NULL, 0, &s->ctx);

	if (!ret)
		ret = cmx_cq_create(s->ctx, NULL, 256, CMX_CQ_BACKPRESSURE, &s->cq);
	for (uint32_t e = 0; !ret && e < entities; e++)
		ret = cmx_mem_alloc(s->ctx, e, 1 << 20, CMX_MEM_NO_DATA, &s->memory[e]);
	for (uint32_t i = 0; !ret && i < STEADY_QUEUES; i++) {
		struct cmx_queue_desc desc = {
			.cq = s->cq, .entity = i % entities, .queue_class = CMX_QUEUE_UB,
		};

		ret = cmx_queue_create(s->ctx, &desc, &s->queues[i]);
	}
	return ret;
}

static int steady_push(struct steady *s, struct random *random)
{
	uint32_t entities = s->storm->world->machine.num_entities;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < STEADY_QUEUES; i++) {
		uint64_t own = cmx_mem_va(s->memory[i % entities]);

		for (uint32_t j = 0; !ret && j < STEADY_OPS; j++) {
			/* Lower halves and upper ones, perhaps of the same memory. */
			uint64_t other = cmx_mem_va(s->memory[random_below(random, entities)]);
			uint64_t len = 512 + random_below(random, 500000);

			ret = j % 2 ? cmx_queue_read(s->queues[i], own, other + (1 << 19), len,
						     CMX_ENTRY_COMPLETE, i) :
				      cmx_queue_write(s->queues[i], other + (1 << 19), own, len,
						      CMX_ENTRY_COMPLETE, i);
			s->open[i]++;
		}
		if (!ret)
			ret = cmx_queue_submit(s->queues[i]);
	}
	return ret;
}

static void steady_take(struct steady *s)
{
	struct cmx_cqe cqe;

	while (cmx_cq_read(s->cq, &cqe) == 1) {
		uint32_t i = 0;

		if (cqe.flags & CMX_CQE_MARKER) {
			while (i < STEADY_QUEUES && s->queues[i]->handle != cqe.local_id)
				i++;
			if (i < STEADY_QUEUES)
				s->flushed[i] = true;
			continue;
		}
		s->open[cqe.user_ctx]--;
		count_status(s->storm, cqe.status);
	}
}

/* All that was asked has ended; a queue that failed said so to the end, and works again. */
static int steady_mend(struct steady *s)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < STEADY_QUEUES; i++) {
		if (s->open[i]) {
			printf("# %u commands of queue %u did not end\n", s->open[i], i);
			return -EPROTO;
		}
		if (s->flushed[i])
			ret = cmx_queue_set_state(s->queues[i], UB_QUEUE_READY);
		s->flushed[i] = false;
	}
	return ret;
}

static void *keep_steady(void *data)
{
	struct worker *worker = data;
	struct steady s = { .storm = worker->storm };
	int ret = steady_open(&s);

	while (!ret && !atomic_load(&s.storm->over)) {
		ret = steady_push(&s, &worker->random);
		if (!ret)
			ret = cmx_wait_idle(s.ctx, NULL);
		steady_take(&s);
		if (!ret)
			ret = steady_mend(&s);
	}
	if (ret) {
		world_failed("the client that stays", ret);
		atomic_fetch_add(&s.storm->bad, 1);
	}
	cmx_close(s.ctx);
	return NULL;
}

/* ------------------------------------------------------------------------- changes */

static void make_told(struct storm *storm, const struct change *change, struct told *told)
{
	bool link = change->object == CMX_FABRIC_OBJ_LINK;

	if (change->up >= 0)
		storm->up[change->object][change->index] = change->up;
	if (link && change->permille)
		storm->permille[change->index] = change->permille;
	*told = (struct told){
		.object = change->object, .index = change->index,
		.up = storm->up[change->object][change->index],
		.permille = link ? storm->permille[change->index] : 0,
	};
}

static void *keep_changing(void *data)
{
	struct worker *worker = data;
	struct storm *storm = worker->storm;
	struct cmx_fabric *fabric;
	int ret = cmx_fabric_open(&fabric);

	for (uint32_t i = 0; !ret && i < storm->changes; i++) {
		struct change change = change_random(storm->world, &worker->random);

		make_told(storm, &change, &storm->made[i]);
		ret = change_make(fabric, &change);
		if (!ret)
			atomic_fetch_add(&storm->num_made, 1);
	}
	cmx_fabric_close(fabric);
	return NULL;
}

/* -------------------------------------------------------------------------- events */

static void look_at_event(struct storm *storm, const struct cmx_fabric_event *event,
			  uint32_t *generation)
{
	uint32_t n = atomic_load(&storm->seen);
	const struct told *told = &storm->made[n];

	if (event->type == CMX_FABRIC_EVENT_LOST) {
		atomic_fetch_add(&storm->lost, 1);
		return;
	}
	if (n == storm->changes || event->type != CMX_FABRIC_EVENT_STATE ||
	    event->object != told->object || event->index != told->index ||
	    event->up != told->up || event->permille != told->permille ||
	    (*generation && event->generation != *generation + 1)) {
		printf("# event %u: type %u object %u %u up %d permille %u, number %u after %u\n",
		       n, event->type, event->object, event->index, event->up, event->permille,
		       event->generation, *generation);
		atomic_fetch_add(&storm->wrong, 1);
	}
	*generation = event->generation;
	if (n < storm->changes)
		atomic_fetch_add(&storm->seen, 1);
}

/** struct listener - a thread that sees all events of states. */
struct listener {
	struct storm *storm;
	struct cmx_fabric *fabric;
	pthread_t thread;
};

static void *keep_listening(void *data)
{
	struct listener *listener = data;
	struct storm *storm = listener->storm;
	struct pollfd fd = { .fd = cmx_fabric_fd(listener->fabric), .events = POLLIN };
	struct cmx_fabric_event event;
	uint32_t generation = 0;
	int ret = 0;

	/* After the end, until nothing came for a while. */
	while (ret >= 0) {
		if (poll(&fd, 1, 500) == 0 && atomic_load(&storm->over))
			return NULL;
		while ((ret = cmx_fabric_next_event(listener->fabric, &event)) == 1)
			look_at_event(storm, &event, &generation);
	}
	world_failed("events", ret);
	atomic_fetch_add(&storm->wrong, 1);
	return NULL;
}

/* ------------------------------------------------------------------------- the test */

FIXTURE(storm) {
	struct world world;
	struct storm storm;
	struct worker workers[WORKERS + 2];
	struct listener listener;
};

static void *all_true(uint32_t count)
{
	bool *up = malloc(count);

	if (up)
		memset(up, true, count);
	return up;
}

static bool storm_room(struct storm *storm, const struct cmx_fabric_machine *m)
{
	storm->made = calloc(storm->changes + 1, sizeof(*storm->made));
	storm->up[CMX_FABRIC_OBJ_LINK] = all_true(m->num_links);
	storm->up[CMX_FABRIC_OBJ_CHIP] = all_true(m->num_chips);
	storm->up[CMX_FABRIC_OBJ_ENTITY] = all_true(m->num_entities);
	storm->up[CMX_FABRIC_OBJ_NODE] = all_true(m->nodes);
	storm->permille = calloc(m->num_links, sizeof(*storm->permille));
	for (uint32_t i = 0; storm->permille && i < m->num_links; i++)
		storm->permille[i] = 1000;
	return storm->made && storm->permille && storm->up[CMX_FABRIC_OBJ_NODE];
}

static int storm_shape(struct world *world)
{
	static const struct {
		const char *name;
		uint64_t value;
	} shape[] = {
		{ "nodes", 2 }, { "npus_per_node", 2 }, { "dies_per_npu", 2 },
		{ "sockets_per_node", 2 }, { "planes", 7 }, { "l2_per_plane", 4 },
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(shape) / sizeof(shape[0]); i++)
		ret = world_set(world, shape[i].name, shape[i].value);
	return ret ? ret : world_load(world);
}

FIXTURE_SETUP(storm)
{
	struct storm *storm = &self->storm;

	storm->world = &self->world;
	storm->seed = world_setting("CMX_SEED", 1);
	storm->changes = (uint32_t)world_setting("CMX_CHANGES", 10000);
	ASSERT_EQ(0, world_open(&self->world, storm->seed));
	ASSERT_EQ(0, storm_shape(&self->world));
	ASSERT_TRUE(storm_room(storm, &self->world.machine));
	self->listener.storm = storm;
	ASSERT_EQ(0, cmx_fabric_open(&self->listener.fabric));
	ASSERT_EQ(0, cmx_fabric_subscribe(self->listener.fabric, CMX_FABRIC_EVENTS_LINK |
					  CMX_FABRIC_EVENTS_ENTITY));
}

FIXTURE_TEARDOWN(storm)
{
	free(self->storm.made);
	free(self->storm.permille);
	for (uint32_t i = 0; i <= CMX_FABRIC_OBJ_NODE; i++)
		free(self->storm.up[i]);
	cmx_fabric_close(self->listener.fabric);
	world_close(&self->world);
}

/* Nothing of any client is left behind. */
static bool all_is_free(const struct world *world)
{
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_machine machine;
	int count = cmx_fabric_entities(world->fabric, &entities);
	bool is_free = count > 0 && !cmx_fabric_get_machine(world->fabric, &machine) &&
		       !machine.clients && !machine.timelines;

	for (int i = 0; i < count; i++)
		is_free &= !entities[i].used && !entities[i].resident;
	if (count > 0)
		free(entities);
	return is_free;
}

static bool all_is_whole(const struct world *world)
{
	struct cmx_fabric_link *links;
	int count = cmx_fabric_links(world->fabric, &links);
	bool whole = count > 0;

	for (int i = 0; i < count; i++)
		whole &= links[i].effective == 1000;
	whole &= count > 0 && account_chips_balance(world, links, (uint32_t)count);
	if (count > 0)
		free(links);
	return whole;
}

static int start_all(FIXTURE_DATA(storm) *self)
{
	static void *(*const mains[])(void *) = {
		keep_changing, keep_steady, keep_loading, keep_loading,
	};
	int ret = pthread_create(&self->listener.thread, NULL, keep_listening, &self->listener);

	for (uint32_t i = 0; !ret && i < WORKERS + 2; i++) {
		self->workers[i].storm = &self->storm;
		self->workers[i].random.state = self->storm.seed * 31 + i;
		ret = pthread_create(&self->workers[i].thread, NULL, mains[i], &self->workers[i]);
	}
	return ret;
}

static void join_all(FIXTURE_DATA(storm) *self)
{
	/* The one that changes comes first: the others work as long as it does. */
	pthread_join(self->workers[0].thread, NULL);
	atomic_store(&self->storm.over, true);
	for (uint32_t i = 1; i < WORKERS + 2; i++)
		pthread_join(self->workers[i].thread, NULL);
	pthread_join(self->listener.thread, NULL);
}

TEST_F_TIMEOUT(storm, everything_ends, LONG)
{
	struct storm *storm = &self->storm;
	struct load before = { 0 }, after;
	struct part all = part_all(&self->world);

	load_add(&before, &self->world, &all, 8, 12, &self->world.random);
	after = before;
	ASSERT_EQ(0, load_run(&before, &self->world));
	ASSERT_EQ(0, start_all(self));
	join_all(self);
	printf("# %u changes, %u events, %u lost; %u commands, %u with an error\n", storm->num_made,
	       storm->seen, storm->lost, storm->commands, storm->errors);
	EXPECT_EQ(storm->changes, storm->num_made);
	EXPECT_EQ(storm->changes, storm->seen);
	EXPECT_EQ(0, storm->lost);
	EXPECT_EQ(0, storm->wrong);
	EXPECT_EQ(0, storm->bad);
	/* Else there was no storm, or no traffic. */
	EXPECT_LT(0, storm->errors);
	EXPECT_LT(storm->errors, storm->commands);
	ASSERT_EQ(0, damage_heal(&self->world));
	EXPECT_TRUE(all_is_whole(&self->world));
	ASSERT_EQ(0, load_run(&after, &self->world));
	EXPECT_TRUE(load_same_times(&before, &after, before.count));
	EXPECT_TRUE(all_is_free(&self->world));
}

TEST_HARNESS_MAIN
