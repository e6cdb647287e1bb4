// SPDX-License-Identifier: GPL-2.0-only
/* Who may read what, and who may change it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

#include "raw.h"

#define USER	65534

#define OK(call) do { \
	int ok_ret = (call); \
	ASSERT_LE(0, ok_ret) TH_LOG("%s: %s", #call, cmx_last_error()->text); \
} while (0)

FIXTURE(permission)
{
	/* Root's. */
	struct cmx_fabric *fabric;
	struct cmx_ctx *ctx;
	char path[256];
};

/* Ordinary users are in the group of the device, normally. */
FIXTURE_SETUP(permission)
{
	struct cmx_device_node *nodes;
	int count = cmx_device_list(&nodes);

	ASSERT_LT(0, count);
	ASSERT_EQ(0, chmod(nodes[0].path, 0666));
	snprintf(self->path, sizeof(self->path), "%s", nodes[0].path);
	cmx_device_list_free(nodes);
	OK(cmx_fabric_open(&self->fabric));
	OK(cmx_open(NULL, 0, &self->ctx));
}

FIXTURE_TEARDOWN(permission)
{
	cmx_close(self->ctx);
	cmx_fabric_close(self->fabric);
}

static int become_user(void)
{
	return setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) < 0;
	close(fd);
	return ret;
}

TEST_F(permission, root_sees_all_clients)
{
	struct cmx_fabric_client *clients;
	struct cmx_fabric_machine m;
	struct cmx_mem *mem;
	struct cmx_cq *cq;
	struct cmx_queue *q;
	struct cmx_queue_desc desc = { .entity = 2, .queue_class = CMX_QUEUE_SDMA };

	OK(cmx_cq_create(self->ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &cq));
	desc.cq = cq;
	OK(cmx_queue_create(self->ctx, &desc, &q));
	OK(cmx_mem_alloc(self->ctx, 2, 1 << 20, 0, &mem));
	OK(cmx_mem_alloc(self->ctx, 5, 8192, 0, &mem));
	ASSERT_EQ(1, cmx_fabric_clients(self->fabric, &clients));
	EXPECT_EQ((uint32_t)getpid(), clients->pid);
	EXPECT_EQ(0, clients->uid);
	EXPECT_NE('\0', clients->comm[0]);
	EXPECT_EQ(1, clients->queues);
	EXPECT_EQ(1, clients->cqs);
	EXPECT_EQ(2, clients->bos);
	ASSERT_EQ(2, clients->num_entities);
	EXPECT_EQ(2, clients->entities[0].index);
	EXPECT_EQ(1, clients->entities[0].queues);
	EXPECT_EQ(1 << 20, clients->entities[0].bytes);
	EXPECT_EQ(5, clients->entities[1].index);
	EXPECT_EQ(0, clients->entities[1].queues);
	EXPECT_EQ(8192, clients->entities[1].bytes);
	free(clients);
	OK(cmx_fabric_get_machine(self->fabric, &m));
	EXPECT_EQ(1, m.clients);
}

TEST_F(permission, a_user_sees_the_own_clients_only)
{
	struct cmx_fabric_client *clients;
	struct cmx_fabric *fabric;
	struct cmx_ctx *ctx;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ASSERT_EQ(0, become_user());
		OK(cmx_fabric_open(&fabric));
		ASSERT_EQ(0, cmx_fabric_clients(fabric, &clients));
		free(clients);
		OK(cmx_open(NULL, 0, &ctx));
		ASSERT_EQ(1, cmx_fabric_clients(fabric, &clients));
		EXPECT_EQ(USER, clients->uid);
		free(clients);
		/* Root's connection in a user's hands shows nobody's. */
		ASSERT_EQ(0, cmx_fabric_clients(self->fabric, &clients));
		free(clients);
		_exit(_metadata->exit_code != KSFT_PASS);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The other way round: a program of root's writes to what a user handed it. */
TEST_F(permission, a_users_socket_gives_root_no_rights)
{
	struct raw_request req;
	struct raw raw;

	ASSERT_EQ(0, setresuid(USER, USER, 0));
	ASSERT_EQ(0, raw_open(&raw));
	ASSERT_EQ(0, setresuid(0, 0, 0));
	raw_begin(&raw, &req, CMX_CMD_CLIENT_GET, NLM_F_DUMP);
	EXPECT_EQ(0, raw_call(&raw, &req, NULL, NULL));
	EXPECT_EQ(0, raw.messages);
	EXPECT_EQ(-EPERM, raw_set(&raw, CMX_CMD_LINK_SET, 0, 1));
	EXPECT_NE(NULL, strstr(raw.text, "CAP_NET_ADMIN"));
	raw_close(&raw);
}

/* All that changes something: refused, with the reason, and nothing happened. */
static int try_changes(struct __test_metadata *_metadata, struct cmx_fabric *fabric)
{
	struct cmx_profile *profile;

	for (uint32_t object = 1; object <= 4; object++) {
		EXPECT_EQ(-EPERM, cmx_fabric_set(fabric, object, 0, 0, 0));
		EXPECT_NE(NULL, strstr(cmx_last_error()->text, "CAP_NET_ADMIN"))
			TH_LOG("%s", cmx_last_error()->text);
	}
	EXPECT_EQ(0, cmx_profile_current(fabric, &profile));
	EXPECT_EQ(-EPERM, cmx_profile_load(fabric, profile, 0));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "CAP_NET_ADMIN"));
	cmx_profile_free(profile);
	return _metadata->exit_code != KSFT_PASS;
}

static int try_reads(struct __test_metadata *_metadata, struct cmx_fabric *fabric)
{
	struct cmx_fabric_event event;
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_link *links;
	struct cmx_fabric_machine m;
	struct cmx_fabric_route r;

	EXPECT_EQ(0, cmx_fabric_get_machine(fabric, &m));
	EXPECT_EQ((int)m.num_entities, cmx_fabric_entities(fabric, &entities));
	EXPECT_EQ((int)m.num_links, cmx_fabric_links(fabric, &links));
	EXPECT_EQ(0, cmx_fabric_get_route(fabric, 0, 1, 0, &r));
	EXPECT_EQ(0, cmx_fabric_subscribe(fabric, CMX_FABRIC_EVENTS_ALL));
	EXPECT_EQ(0, cmx_fabric_next_event(fabric, &event));
	free(entities);
	free(links);
	return _metadata->exit_code != KSFT_PASS;
}

TEST_F(permission, users_read_and_change_nothing)
{
	struct cmx_fabric_machine before, after;
	struct cmx_fabric *fabric;
	int status;
	pid_t pid;

	OK(cmx_fabric_get_machine(self->fabric, &before));
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, become_user());
		OK(cmx_fabric_open(&fabric));
		_exit(try_reads(_metadata, fabric) || try_changes(_metadata, fabric));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	OK(cmx_fabric_get_machine(self->fabric, &after));
	EXPECT_EQ(before.generation, after.generation);
}

/* All capabilities in a namespace of one's own are none here. */
TEST_F(permission, root_of_a_user_namespace)
{
	struct cmx_fabric_client *clients;
	struct cmx_fabric *fabric;
	struct cmx_ctx *ctx;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ASSERT_EQ(0, become_user());
		OK(cmx_open(NULL, 0, &ctx));
		/* Else /proc/self stays root's. */
		ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(KSFT_SKIP);
		ASSERT_EQ(0, write_text("/proc/self/uid_map", "0 65534 1"));
		ASSERT_EQ(0, (int)getuid());
		OK(cmx_fabric_open(&fabric));
		ASSERT_EQ(1, cmx_fabric_clients(fabric, &clients));
		/* The user that opened the device, as it is called in here. */
		EXPECT_EQ(0, clients->uid);
		free(clients);
		_exit(try_reads(_metadata, fabric) || try_changes(_metadata, fabric));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(0, status);
}

/* A file without the library, whose contexts each take a large part of the addresses. */
static int open_file(const char *path, uint32_t entity)
{
	struct drm_cmx_bo_create create = {
		.entity = entity,
		.size = 4096,
		.flags = CMX_BO_NO_DATA,
	};
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd >= 0 && !ioctl(fd, DRM_IOCTL_CMX_BO_CREATE, &create) ? fd : -1;
}

/* What a client has fits in no single message, and clients in no single one either. */
TEST_F_TIMEOUT(permission, a_client_with_much_and_many_clients, 120)
{
	enum { MANY = 200 };
	struct cmx_fabric_client *clients;
	struct cmx_fabric_machine m;
	struct cmx_mem *mem;
	int fd[MANY], count;

	OK(cmx_fabric_get_machine(self->fabric, &m));
	for (uint32_t i = 0; i < m.num_entities; i++)
		OK(cmx_mem_alloc(self->ctx, i, 4096 * (i + 1), CMX_MEM_NO_DATA, &mem));
	for (int i = 0; i < MANY; i++) {
		fd[i] = open_file(self->path, (uint32_t)i % m.num_entities);
		ASSERT_LE(0, fd[i]);
	}
	count = cmx_fabric_clients(self->fabric, &clients);
	ASSERT_EQ(MANY + 1, count);
	ASSERT_EQ(m.num_entities, clients->num_entities);
	for (uint32_t i = 0; i < m.num_entities; i++) {
		EXPECT_EQ(i, clients->entities[i].index);
		EXPECT_EQ(4096 * (i + 1), clients->entities[i].bytes);
	}
	for (int i = 1; i < count; i++) {
		EXPECT_LT(clients[i - 1].id, clients[i].id);
		ASSERT_EQ(1, clients[i].num_entities);
		EXPECT_EQ((uint32_t)(i - 1) % m.num_entities, clients[i].entities->index);
	}
	free(clients);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
}

TEST_HARNESS_MAIN
