// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wake protocol of the rings (cmx_drm.h, "Rings"), twice: every interleaving on a model
 * of a machine that delays stores, and two threads that race in earnest. Both must lose no
 * wake-up with the protocol as written; the model must lose one as soon as a barrier goes.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "kselftest_harness.h"

/* --- the model --------------------------------------------------------------------- */

/* Places in memory. */
enum { TAIL, BELL, NEED, PLACES };

/* Barriers and orders that can be left out. */
#define WITH_RUNNER_BARRIER	1U	/* need_wakeup before the second look */
#define WITH_CLIENT_BARRIER	2U	/* doorbell before need_wakeup */
#define WITH_BELL_RELEASE	4U	/* tail before doorbell */
#define AS_WRITTEN		7U

/* Steps of the client: store tail, set bell, barrier, load need, wake. */
enum { C_TAIL, C_BELL, C_BARRIER, C_NEED, C_WAKE, C_END };

/* Steps of the runner: look, announce, barrier, look again, sleep, take. */
enum { R_LOOK, R_ANNOUNCE, R_BARRIER, R_LOOK_AGAIN, R_SLEEP, R_TAKE, R_END };

/*
 * A machine: memory, and for each thread the stores others do not see yet. They become
 * visible in any order, one at a time, whenever it pleases the machine.
 */
struct machine {
	__u8 memory[PLACES];
	__u8 pending[2][PLACES];
	__u8 step[2];
	__u8 kicked;
};

static bool visited[1 << 22];

static unsigned int pack(const struct machine *m)
{
	unsigned int key = m->kicked, i;

	for (i = 0; i < PLACES; i++)
		key = key << 1 | m->memory[i];
	for (i = 0; i < 2 * PLACES; i++)
		key = key << 2 | m->pending[i / PLACES][i % PLACES];
	return key << 6 | m->step[0] << 3 | m->step[1];
}

/* Pending stores are kept as value + 1. */
static void store(struct machine *m, int thread, int place, __u8 value)
{
	m->pending[thread][place] = value + 1;
}

static __u8 load(const struct machine *m, int thread, int place)
{
	__u8 pending = m->pending[thread][place];

	return pending ? pending - 1 : m->memory[place];
}

static void show(struct machine *m, int thread, int place)
{
	if (!m->pending[thread][place])
		return;
	m->memory[place] = m->pending[thread][place] - 1;
	m->pending[thread][place] = 0;
}

static void barrier(struct machine *m, int thread)
{
	int place;

	for (place = 0; place < PLACES; place++)
		show(m, thread, place);
}

static void client_step(struct machine *m, unsigned int with)
{
	switch (m->step[0]++) {
	case C_TAIL:
		store(m, 0, TAIL, 1);
		break;
	case C_BELL:
		if (with & WITH_BELL_RELEASE)
			show(m, 0, TAIL);
		store(m, 0, BELL, 1);
		break;
	case C_BARRIER:
		if (with & WITH_CLIENT_BARRIER)
			barrier(m, 0);
		break;
	case C_NEED:
		if (!load(m, 0, NEED))
			m->step[0] = C_END;
		break;
	case C_WAKE:
		barrier(m, 0);
		m->kicked = 1;
		break;
	}
}

/* Looks at the bell and takes it down, which is one indivisible step if it is up. */
static bool take_bell(struct machine *m)
{
	if (!load(m, 1, BELL))
		return false;
	barrier(m, 1);
	m->memory[BELL] = 0;
	return true;
}

static void runner_step(struct machine *m, unsigned int with)
{
	switch (m->step[1]) {
	case R_LOOK:
		m->step[1] = take_bell(m) ? R_TAKE : R_ANNOUNCE;
		break;
	case R_ANNOUNCE:
		store(m, 1, NEED, 1);
		m->step[1] = R_BARRIER;
		break;
	case R_BARRIER:
		if (with & WITH_RUNNER_BARRIER)
			barrier(m, 1);
		m->step[1] = R_LOOK_AGAIN;
		break;
	case R_LOOK_AGAIN:
		m->step[1] = take_bell(m) ? R_TAKE : R_SLEEP;
		break;
	case R_SLEEP:
		if (!m->kicked)
			break;
		m->kicked = 0;
		store(m, 1, NEED, 0);
		m->step[1] = R_LOOK;
		break;
	case R_TAKE:
		/* An entry not seen here is not seen before the bell rings again. */
		store(m, 1, NEED, 0);
		m->step[1] = load(m, 1, TAIL) ? R_END : R_LOOK;
		break;
	}
}

/* Whether from here there is a way to an end where the entry lies and all sleep. */
static bool can_lose(struct machine m, unsigned int with)
{
	unsigned int key = pack(&m);
	struct machine next;
	bool pending = false;
	int thread, place;

	if (visited[key])
		return false;
	visited[key] = true;
	for (thread = 0; thread < 2; thread++)
		for (place = 0; place < PLACES; place++) {
			if (!m.pending[thread][place])
				continue;
			pending = true;
			next = m;
			show(&next, thread, place);
			if (can_lose(next, with))
				return true;
		}
	if (m.step[0] == C_END && m.step[1] == R_SLEEP && !m.kicked && !pending)
		return true;
	next = m;
	client_step(&next, with);
	if (m.step[0] != C_END && can_lose(next, with))
		return true;
	next = m;
	runner_step(&next, with);
	return m.step[1] != R_END && can_lose(next, with);
}

static bool loses(unsigned int with)
{
	memset(visited, 0, sizeof(visited));
	return can_lose((struct machine){ 0 }, with);
}

TEST(model_as_written)
{
	EXPECT_FALSE(loses(AS_WRITTEN));
}

TEST(model_without_runner_barrier)
{
	EXPECT_TRUE(loses(AS_WRITTEN & ~WITH_RUNNER_BARRIER));
}

TEST(model_without_client_barrier)
{
	EXPECT_TRUE(loses(AS_WRITTEN & ~WITH_CLIENT_BARRIER));
}

TEST(model_without_bell_order)
{
	EXPECT_TRUE(loses(AS_WRITTEN & ~WITH_BELL_RELEASE));
}

/* --- two threads ------------------------------------------------------------------- */

/** struct shared - what the two have in common, a line each. */
struct shared {
	_Atomic __u32 tail __attribute__((aligned(64)));
	_Atomic __u64 bell __attribute__((aligned(64)));
	_Atomic __u32 need __attribute__((aligned(64)));
	_Atomic __u32 kicks __attribute__((aligned(64)));
	_Atomic __u32 head __attribute__((aligned(64)));
	_Atomic bool stop __attribute__((aligned(64)));
	__u64 sleeps;
	__u64 wakes;
};

static void futex_wait(_Atomic __u32 *word, __u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void kick(struct shared *s)
{
	atomic_fetch_add(&s->kicks, 1);
	syscall(SYS_futex, &s->kicks, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool look(struct shared *s)
{
	if (!atomic_load_explicit(&s->bell, memory_order_relaxed))
		return false;
	atomic_exchange(&s->bell, 0);
	atomic_store_explicit(&s->head, atomic_load_explicit(&s->tail, memory_order_acquire),
			      memory_order_release);
	return true;
}

/* The runner: as the kernel does it, with a futex for the wait queue. */
static void *run(void *data)
{
	struct shared *s = data;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		__u32 seen = atomic_load(&s->kicks);

		if (look(s))
			continue;
		atomic_store_explicit(&s->need, 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		if (!look(s)) {
			s->sleeps++;
			futex_wait(&s->kicks, seen);
		}
		atomic_store_explicit(&s->need, 0, memory_order_relaxed);
	}
	return NULL;
}

static void submit(struct shared *s, __u32 tail)
{
	atomic_store_explicit(&s->tail, tail, memory_order_release);
	atomic_fetch_or_explicit(&s->bell, 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&s->need, memory_order_relaxed))
		return;
	s->wakes++;
	kick(s);
}

static __u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* The runner has taken what was written: false after a time nothing can explain. */
static bool taken(struct shared *s, __u32 tail)
{
	__u64 patience = now_ms() + 10000;
	unsigned int spins;

	for (spins = 1; atomic_load_explicit(&s->head, memory_order_acquire) != tail; spins++) {
		if (spins % 64 == 0)
			sched_yield();
		if (spins % 65536 == 0 && now_ms() > patience)
			return false;
	}
	return true;
}

FIXTURE(threads) {
	struct shared shared;
};

FIXTURE_SETUP(threads)
{
	memset(&self->shared, 0, sizeof(self->shared));
}

FIXTURE_TEARDOWN(threads)
{
}

/* A million rounds, or as many as fit into CMX_SECONDS. */
TEST_F_TIMEOUT(threads, no_wakeup_is_lost, 120)
{
	const char *seconds = getenv("CMX_SECONDS");
	__u64 stop = now_ms() + 1000 * (seconds ? strtoul(seconds, NULL, 0) : 20);
	struct shared *s = &self->shared;
	pthread_t runner;
	__u32 round;

	ASSERT_EQ(0, pthread_create(&runner, NULL, run, s));
	for (round = 1; round <= 1000000; round++) {
		submit(s, round);
		ASSERT_TRUE(taken(s, round))
			TH_LOG("round %u: need %u bell %llu", round, s->need, s->bell);
		if (round % 1024 == 0 && now_ms() > stop)
			break;
	}
	atomic_store(&s->stop, true);
	kick(s);
	pthread_join(runner, NULL);
	printf("# %u rounds, %llu sleeps, %llu wakes\n", round, s->sleeps, s->wakes);
	EXPECT_LT(1000, round);
}

TEST_HARNESS_MAIN
