// SPDX-License-Identifier: GPL-2.0-only
/* Loading profiles: the machine becomes another one, or stays as it was. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

#define DIR	"libcmxdrv/profiles/"

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_LE(0, ok_ret) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

FIXTURE(profile)
{
	struct cmx_fabric *fabric;
	struct cmx_fabric_machine m;
	struct cmx_profile *two;
};

FIXTURE_SETUP(profile)
{
	OK(cmx_fabric_open(&self->fabric));
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	OK(cmx_profile_read(DIR "cloudmatrix384-2node.json", &self->two));
}

FIXTURE_TEARDOWN(profile)
{
	cmx_profile_free(self->two);
	cmx_fabric_close(self->fabric);
}

/* The first name that differs, or NULL. */
static const char *difference(const struct cmx_profile *x, const struct cmx_profile *y)
{
	const struct cmx_profile_constant *constants;
	uint64_t a = 0, b = 1;
	size_t count;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; i < count; i++) {
		if (cmx_profile_value(x, constants[i].name, &a) ||
		    cmx_profile_value(y, constants[i].name, &b) || a != b)
			return constants[i].name;
	}
	return strcmp(cmx_profile_name(x), cmx_profile_name(y)) ? "name" : NULL;
}

/* Comes first in the file, and so runs last: loading changes what is built in. */
TEST_F_TIMEOUT(profile, all_that_come_with_the_tree, 120)
{
	static const char *const paths[] = { DIR "cloudmatrix384-1node.json",
					     DIR "cloudmatrix384-2node.json",
					     DIR "cloudmatrix384.json" };
	static const uint32_t nodes[] = { 1, 2, 48 };
	struct cmx_profile *profile, *now;

	for (size_t i = 0; i < 3; i++) {
		OK(cmx_profile_read(paths[i], &profile));
		OK(cmx_profile_load(self->fabric, profile, 0));
		OK(cmx_fabric_get_machine(self->fabric, &self->m));
		EXPECT_EQ(nodes[i], self->m.nodes);
		EXPECT_EQ(nodes[i] * 20, self->m.num_entities);
		EXPECT_STREQ(cmx_profile_name(profile), self->m.profile);
		OK(cmx_profile_current(self->fabric, &now));
		EXPECT_EQ(NULL, difference(profile, now));
		cmx_profile_free(now);
		cmx_profile_free(profile);
	}
}

TEST_F(profile, busy_while_a_client_is_there)
{
	struct cmx_fabric_machine after;
	struct cmx_ctx *ctx;

	OK(cmx_open(NULL, 0, &ctx));
	EXPECT_EQ(-EBUSY, cmx_profile_load(self->fabric, self->two, 0));
	EXPECT_STREQ("clients: 1 have the device open", cmx_last_error()->text);
	OK(cmx_fabric_get_machine(self->fabric, &after));
	EXPECT_STREQ(self->m.profile, after.profile);
	EXPECT_EQ(self->m.generation, after.generation);
	cmx_close(ctx);
	OK(cmx_profile_load(self->fabric, self->two, 0));
	OK(cmx_fabric_get_machine(self->fabric, &after));
	EXPECT_EQ(2, after.nodes);
}

/* Work is done on the machine that was loaded, with the shape it has. */
TEST_F(profile, the_new_machine_works)
{
	struct drm_cmx_info_entity info;
	struct cmx_queue_desc desc = { .entity = 31, .queue_class = CMX_QUEUE_SDMA };
	struct cmx_mem *far, *near;
	struct cmx_ctx *ctx;
	struct cmx_queue *q;
	struct cmx_cqe cqe;
	struct cmx_cq *cq;

	OK(cmx_profile_set(self->two, "hbm_rate", 1000000000000, "this test"));
	OK(cmx_profile_load(self->fabric, self->two, 0));
	OK(cmx_open(NULL, 0, &ctx));
	EXPECT_EQ(40, cmx_device(ctx)->num_entities);
	EXPECT_STREQ("cloudmatrix384-2node", (const char *)cmx_device(ctx)->profile);
	OK(cmx_entity_info(ctx, 0, &info));
	EXPECT_EQ(1000000000000, info.mem_rate);
	OK(cmx_cq_create(ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &cq));
	desc.cq = cq;
	OK(cmx_queue_create(ctx, &desc, &q));
	OK(cmx_mem_alloc(ctx, 0, 65536, 0, &far));
	OK(cmx_mem_alloc(ctx, 31, 65536, 0, &near));
	memset(cmx_mem_ptr(far), 7, 65536);
	OK(cmx_queue_copy(q, cmx_mem_va(near), cmx_mem_va(far), 65536,
			  CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_completions(cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(cq, &cqe));
	EXPECT_EQ(0, cqe.status);
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(near), cmx_mem_ptr(far), 65536));
	cmx_close(ctx);
}

TEST_F(profile, refused_ones_change_nothing)
{
	struct cmx_fabric_machine after;

	EXPECT_EQ(-EINVAL, cmx_profile_load(self->fabric, self->two, 3));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "nodes is 3"));
	OK(cmx_profile_set(self->two, "npus_per_node", 32, NULL));
	OK(cmx_profile_set(self->two, "sockets_per_node", 16, NULL));
	OK(cmx_profile_set(self->two, "dies_per_npu", 2, NULL));
	OK(cmx_profile_load(self->fabric, self->two, 1));
	EXPECT_EQ(-ERANGE, cmx_profile_set(self->two, "npus_per_node", 33, NULL));
	EXPECT_STREQ("npus_per_node", cmx_last_error()->field);
	OK(cmx_fabric_get_machine(self->fabric, &after));
	EXPECT_EQ(64 + 16, after.num_entities);
}

TEST_F_TIMEOUT(profile, smallest_values, 60)
{
	const struct cmx_profile_constant *constants;
	struct cmx_fabric_link *links;
	struct cmx_fabric_route r;
	struct cmx_ctx *ctx;
	size_t count;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; i < count; i++)
		OK(cmx_profile_set(self->two, constants[i].name, constants[i].min, NULL));
	OK(cmx_profile_load(self->fabric, self->two, 0));
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	EXPECT_EQ(2, self->m.num_entities);
	EXPECT_EQ((int)self->m.num_links, cmx_fabric_links(self->fabric, &links));
	OK(cmx_fabric_get_route(self->fabric, 0, 1, 0, &r));
	EXPECT_TRUE(r.reachable);
	OK(cmx_open(NULL, 0, &ctx));
	cmx_close(ctx);
	free(links);
}

static pid_t open_and_close(void)
{
	pid_t pid = fork();
	struct cmx_ctx *ctx;
	int ret;

	if (pid)
		return pid;
	for (;;) {
		ret = cmx_open(NULL, 0, &ctx);
		if (!ret)
			cmx_close(ctx);
		else if (ret != -ENODEV && ret != -ENOENT && ret != -ENXIO)
			_exit(1);
	}
}

/* Somebody opens all the time: each load works or is refused as busy, and openers never hang. */
TEST_F_TIMEOUT(profile, opened_meanwhile, 300)
{
	const char *loops = getenv("CMX_LOOPS");
	int n = loops ? atoi(loops) : 20, loaded = 0, status, ret;
	pid_t pid = open_and_close();

	for (int i = 0; i < n; i++) {
		ret = cmx_profile_load(self->fabric, self->two, 1 + i % 2);
		EXPECT_TRUE(!ret || ret == -EBUSY) TH_LOG("%s", cmx_last_error()->text);
		loaded += !ret;
		usleep(1000);
	}
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	TH_LOG("%d of %d loaded", loaded, n);
	OK(cmx_profile_load(self->fabric, self->two, 0));
}

TEST_F_TIMEOUT(profile, again_and_again, 1700)
{
	const char *loops = getenv("CMX_LOOPS");
	int n = loops ? atoi(loops) : 20;
	struct cmx_fabric_event event;

	OK(cmx_fabric_subscribe(self->fabric, CMX_FABRIC_EVENTS_ENTITY));
	for (int i = 0; i < n; i++) {
		OK(cmx_profile_load(self->fabric, self->two, 1 + i % 2));
		ASSERT_EQ(1, cmx_fabric_next_event(self->fabric, &event));
		EXPECT_EQ(CMX_FABRIC_EVENT_PROFILE, (int)event.type);
		EXPECT_STREQ("cloudmatrix384-2node", event.profile);
	}
	OK(cmx_fabric_get_machine(self->fabric, &self->m));
	EXPECT_EQ(0, self->m.generation);
}

/* What is built in is the profile with its name; run before anything is loaded. */
TEST_F(profile, what_is_built_in)
{
	struct cmx_profile *file, *now;

	OK(cmx_profile_read(DIR "cloudmatrix384.json", &file));
	OK(cmx_profile_current(self->fabric, &now));
	EXPECT_EQ(NULL, difference(file, now)) TH_LOG("%s", difference(file, now));
	cmx_profile_free(file);
	cmx_profile_free(now);
}

TEST_HARNESS_MAIN
