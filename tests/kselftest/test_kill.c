// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that are killed at random moments: in RUN, with a batch, asleep, on a shared
 * timeline, in page faults. Survivors are told and go on; nothing stays charged.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define MOST_CLIENTS	64

/** enum part - what a client does until it is killed. */
enum part {
	PART_COPY,	/* copies, all the time */
	PART_LAUNCH,	/* executes launches */
	PART_BATCH,	/* sits on a batch */
	PART_SLEEP,	/* sleeps in RUN */
	PART_FAULT,	/* maps, touches and unmaps */
	PART_SHARED,	/* works on the shared timeline */
	PART_SHARED_BATCH, /* sits on a batch of the shared timeline */
	PART_OBJECTS,	/* makes and destroys everything */
	PARTS,
};

/** struct client - in the child. */
struct client {
	int fd;
	__u32 timeline;
	struct abi_clock clock;
	struct abi_cq cq;
	struct abi_ring queue;
	struct abi_mem mem;
	struct abi_runner runner;
	union abi_entry entry;
	struct abi_random random;
};

static int client_open(struct client *c, int shared)
{
	struct drm_cmx_timeline_import import = { .fd = shared };
	struct drm_cmx_queue_create args;
	int ret = 0;

	c->fd = abi_open();
	if (c->fd < 0)
		return c->fd;
	if (shared >= 0)
		ret = abi_ioctl(c->fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &import);
	c->timeline = import.handle;
	if (!ret)
		ret = abi_clock_open(c->fd, c->timeline, &c->clock);
	if (!ret)
		ret = abi_cq_create(c->fd, 64, 0, &c->cq);
	if (!ret)
		ret = abi_mem_create(c->fd, abi_random(&c->random) % 2, ABI_VA, 8 * ABI_PAGE,
				     &c->mem);
	abi_queue_args(&args, CMX_QUEUE_STREAM, c->cq.handle);
	args.timeline = c->timeline;
	return ret ? ret : abi_queue_create(c->fd, &args, &c->queue);
}

static int submit(struct client *c)
{
	return abi_post(&c->queue, &c->entry) ? abi_kick(c->fd, &c->clock, &c->queue) : -EAGAIN;
}

static int run(struct client *c, __u32 until, __u64 value)
{
	struct drm_cmx_run args;
	struct cmx_cqe cqe;
	int ret;

	abi_run_args(&args, until, value);
	args.timeline = c->timeline;
	args.host_timeout_ns = 0;
	ret = abi_run_through(c->fd, &args, &c->runner);
	while (abi_cqe_take(&c->cq, &cqe))
		;
	return ret;
}

static void pause_a_little(struct abi_runner *runner, const struct drm_cmx_launch *launch,
			   struct drm_cmx_outcome *outcome)
{
	struct client *c = runner->data;

	(void)launch;
	(void)outcome;
	usleep(abi_random(&c->random) % 2000);
}

static void sit_on_batch(struct client *c)
{
	struct drm_cmx_run args;

	abi_entry_launch(&c->entry, 1, 1000);
	submit(c);
	abi_run_args(&args, CMX_UNTIL_IDLE, 0);
	args.timeline = c->timeline;
	args.host_timeout_ns = 0;
	abi_run_room(&args, &c->runner);
	abi_run(c->fd, &args);
	for (;;)
		pause();
}

static void keep_working(struct client *c, bool launches)
{
	c->runner.execute = pause_a_little;
	c->runner.data = c;
	for (;;) {
		unsigned int i;

		for (i = 0; i < 8; i++) {
			if (launches && i % 2)
				abi_entry_launch(&c->entry, 1, 1000);
			else
				abi_entry_copy(&c->entry, ABI_VA, ABI_VA + 4 * ABI_PAGE,
					       4 * ABI_PAGE);
			submit(c);
		}
		run(c, CMX_UNTIL_IDLE, 0);
	}
}

static void keep_faulting(struct client *c)
{
	struct abi_mem mem;

	for (;;) {
		if (abi_mem_create(c->fd, 0, ABI_VA * 2, 64 * ABI_PAGE, &mem))
			continue;
		memset(mem.bytes, 1, mem.map.size);
		abi_mem_destroy(c->fd, &mem);
	}
}

static void keep_making(struct client *c)
{
	struct abi_world world;

	(void)c;
	for (;;)
		if (!abi_world_open(&world))
			abi_world_close(&world);
}

/* Never returns. */
static void play(enum part part, int shared, __u64 seed)
{
	static struct client c;

	c.random.state = seed;
	if (client_open(&c, part == PART_SHARED || part == PART_SHARED_BATCH ? shared : -1))
		_exit(1);
	switch (part) {
	case PART_BATCH:
	case PART_SHARED_BATCH:
		sit_on_batch(&c);
		break;
	case PART_SLEEP:
		/* With a second actor that never waits the clock cannot come so far. */
		abi_ioctl(c.fd, DRM_IOCTL_CMX_ACTOR, &(struct drm_cmx_actor){ 0 });
		run(&c, CMX_UNTIL_TIME, 1ULL << 62);
		break;
	case PART_FAULT:
		keep_faulting(&c);
		break;
	case PART_OBJECTS:
		keep_making(&c);
		break;
	default:
		keep_working(&c, part != PART_COPY);
		break;
	}
	_exit(2);
}

FIXTURE(kill) {
	int fd;
	struct abi_clock clock;
	int shared;
	struct abi_random random;
	unsigned int clients;
	pid_t children[MOST_CLIENTS];
	enum part parts[MOST_CLIENTS];
};

/* The survivor: on the shared timeline, at first without an actor of its own. */
FIXTURE_SETUP(kill)
{
	struct drm_cmx_timeline_export export = { 0 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_REMOVE };

	self->random.state = abi_seed();
	self->clients = abi_setting("CMX_CLIENTS", 50);
	if (self->clients > MOST_CLIENTS)
		self->clients = MOST_CLIENTS;
	ASSERT_TRUE(abi_all_free());
	self->fd = abi_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, abi_clock_open(self->fd, 0, &self->clock));
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export));
	self->shared = export.fd;
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_ACTOR, &actor));
}

FIXTURE_TEARDOWN(kill)
{
	abi_clock_close(&self->clock);
	close(self->shared);
	close(self->fd);
	EXPECT_TRUE(abi_all_free());
}

static void spawn(FIXTURE_DATA(kill) *self, unsigned int i)
{
	__u64 seed = abi_random(&self->random);

	self->parts[i] = seed / 16 % PARTS;
	/* One that sits on a batch stops the clock for all: not too many of those. */
	if (self->parts[i] == PART_SHARED_BATCH && seed / 256 % 3)
		self->parts[i] = PART_SHARED;
	self->children[i] = fork();
	if (!self->children[i])
		play(self->parts[i], self->shared, seed);
	if (self->children[i] < 0)
		printf("# fork: %s\n", strerror(errno));
}

/* False: the child had ended by itself, or never was. */
static bool end(pid_t child)
{
	int status;

	/* A fork that failed left -1 there, which would stand for every process there is. */
	if (child <= 0)
		return false;
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

static __u64 host_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static unsigned int count_deaths(int fd)
{
	struct cmx_event event;
	unsigned int n = 0;

	while (abi_event_find(fd, CMX_EVENT_PEER_DIED, &event) == 1)
		n++;
	return n;
}

TEST_F_TIMEOUT(kill, at_random, 300)
{
	struct drm_cmx_timeline_query query = { 0 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	struct drm_cmx_run run;
	unsigned int i, killed = 0, deaths = 0;
	__u64 stop;

	for (i = 0; i < self->clients; i++)
		spawn(self, i);
	stop = host_ms() + 1000ULL * abi_setting("CMX_SECONDS", 6);
	while (host_ms() < stop) {
		usleep(abi_random(&self->random) % 10000);
		i = abi_random(&self->random) % self->clients;
		EXPECT_TRUE(end(self->children[i]))
			TH_LOG("client of part %u was not there", self->parts[i]);
		killed++;
		deaths += count_deaths(self->fd);
		spawn(self, i);
	}
	for (i = 0; i < self->clients; i++)
		EXPECT_TRUE(end(self->children[i]));
	deaths += count_deaths(self->fd);
	printf("# %u clients killed, %u deaths told\n", killed + self->clients, deaths);
	/* The survivor is alone, and its clock goes. */
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(1, query.members);
	EXPECT_EQ(0, query.actors);
	EXPECT_EQ(0, query.queues);
	EXPECT_EQ(0, query.batches);
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_ACTOR, &actor));
	abi_run_args(&run, CMX_UNTIL_TIME, self->clock.status->now_ps + 12345);
	run.actor = actor.actor;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->fd, &run));
}

TEST_HARNESS_MAIN
