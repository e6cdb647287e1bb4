// SPDX-License-Identifier: GPL-2.0-only
/* What sysfs, fdinfo, debugfs and tracing tell, and that it agrees with the ioctls. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mount.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define DEVICES	"/sys/bus/cmx/devices/"
#define DEBUG	"/sys/kernel/debug/"
#define TRACING	"/sys/kernel/tracing/"

/* The text of a file without its newline, or an empty one. */
static const char *text_of(const char *format, ...)
{
	static char text[65536];
	char path[256];
	ssize_t length = 0, more;
	va_list ap;
	int fd;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < (ssize_t)sizeof(text) - 1) {
		more = read(fd, text + length, sizeof(text) - 1 - length);
		if (more <= 0)
			break;
		length += more;
	}
	if (fd >= 0)
		close(fd);
	if (length && text[length - 1] == '\n')
		length--;
	text[length] = 0;
	return text;
}

static __u64 number_of(const char *name, const char *attribute)
{
	return strtoull(text_of(DEVICES "%s/%s", name, attribute), NULL, 0);
}

FIXTURE(identity) {
	struct abi_world world;
};

FIXTURE_SETUP(identity)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	if (access(DEBUG "accel", F_OK))
		mount("debugfs", DEBUG, "debugfs", 0, NULL);
	if (access(TRACING "events", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
}

FIXTURE_TEARDOWN(identity)
{
	abi_world_close(&self->world);
}

TEST_F(identity, machine)
{
	const struct drm_cmx_info_device *device = &self->world.device;
	char path[256], version[16];

	EXPECT_EQ(CMX_ABI_MAJOR, device->abi_major);
	EXPECT_EQ(CMX_RING_VERSION, device->ring_version);
	EXPECT_EQ(ABI_PAGE, device->page_size);
	EXPECT_EQ(2 * device->num_npus, device->num_dies);
	EXPECT_EQ(device->num_dies + device->num_sockets, device->num_entities);
	EXPECT_EQ(device->num_nodes, number_of("cmx0", "nodes"));
	EXPECT_EQ(device->num_dies, number_of("cmx0", "dies"));
	EXPECT_EQ(device->num_sockets, number_of("cmx0", "sockets"));
	EXPECT_EQ(device->num_entities, number_of("cmx0", "entities"));
	EXPECT_STREQ((char *)device->profile, text_of(DEVICES "cmx0/profile"));
	snprintf(version, sizeof(version), "%u.%u", device->abi_major, device->abi_minor);
	EXPECT_STREQ(version, text_of(DEVICES "cmx0/abi_version"));
	ASSERT_EQ(0, abi_sysfs_device(path, sizeof(path)));
	EXPECT_STREQ("cmx0", strrchr(path, '/') + 1);
}

static void print_eid(const __u8 *eid, char *text)
{
	int i;

	for (i = 0; i < 16; i++)
		text += sprintf(text, "%s%02x", i && i % 2 == 0 ? ":" : "", eid[i]);
}

/* Every entity: what the bus says is what the ioctl says, and nothing is there twice. */
TEST_F(identity, entities)
{
	__u32 n = self->world.device.num_entities, dies = self->world.device.num_dies, i, j;
	struct drm_cmx_info_entity *all = calloc(n, sizeof(*all));
	char name[32], eid[64];

	ASSERT_NE(NULL, all);
	for (i = 0; i < n; i++) {
		struct drm_cmx_info_entity *e = &all[i];
		bool die = i < dies;

		ASSERT_EQ(0, abi_entity(self->world.fd, i, e));
		snprintf(name, sizeof(name), "cmx0-%s%u", die ? "die" : "socket",
			 die ? i : i - dies);
		EXPECT_EQ(i, number_of(name, "index"));
		EXPECT_EQ(die ? CMX_ENTITY_DIE : CMX_ENTITY_SOCKET, e->kind);
		EXPECT_STREQ(die ? "die" : "socket", text_of(DEVICES "%s/kind", name));
		EXPECT_EQ(die ? 1 : 2, number_of(name, "class_code"));
		EXPECT_EQ(e->node, number_of(name, "node"));
		EXPECT_EQ(e->unit, number_of(name, "unit"));
		EXPECT_EQ(e->cna, number_of(name, "primary_cna"));
		EXPECT_EQ(e->upi, number_of(name, "upi"));
		EXPECT_EQ(e->capacity, number_of(name, "capacity"));
		EXPECT_EQ(e->used, number_of(name, "used"));
		print_eid(e->eid, eid);
		EXPECT_STREQ(eid, text_of(DEVICES "%s/eid", name));
		EXPECT_LT(0, strlen(text_of(DEVICES "%s/guid", name)));
		EXPECT_EQ(die, e->cube_cores > 0);
		EXPECT_LT(0, e->mem_rate);
		for (j = 0; j < i; j++) {
			EXPECT_NE(0, memcmp(all[j].eid, e->eid, 16));
			EXPECT_NE(0, memcmp(all[j].guid, e->guid, 16));
			EXPECT_NE(all[j].cna, e->cna);
		}
	}
	free(all);
}

static __u64 key_of(int fd, const char *key)
{
	const char *text = text_of("/proc/self/fdinfo/%d", fd);
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 0) : ~0ULL;
}

TEST_F(identity, fdinfo)
{
	struct drm_cmx_info_client client;
	union abi_entry entry;
	struct cmx_cqe cqe;
	int fd = self->world.fd;

	abi_entry_copy(&entry, ABI_VA, ABI_VA + 8192, 5000);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &entry, &cqe));
	abi_entry_launch(&entry, 1, 1000000);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.stream, &entry, &cqe));
	ASSERT_EQ(0, abi_info(fd, CMX_INFO_CLIENT, 0, &client, sizeof(client)));
	EXPECT_NE(NULL, strstr(text_of("/proc/self/fdinfo/%d", fd), "drm-driver:\tcmx\n"));
	EXPECT_NE(~0ULL, key_of(fd, "drm-client-id:\t"));
	EXPECT_NE(key_of(self->world.other, "drm-client-id:\t"), key_of(fd, "drm-client-id:\t"));
	EXPECT_LT(0, key_of(fd, "drm-engine-stream:\t"));
	EXPECT_NE(~0ULL, key_of(fd, "drm-engine-transfer:\t"));
	EXPECT_EQ(2, client.commands);
	EXPECT_EQ(client.commands, key_of(fd, "cmx-commands:\t"));
	EXPECT_EQ(client.launches, key_of(fd, "cmx-launches:\t"));
	EXPECT_EQ(5000, client.bytes);
	EXPECT_EQ(client.bytes, key_of(fd, "cmx-bytes:\t"));
	EXPECT_EQ(ABI_WORLD_PAGES * ABI_PAGE / 1024, key_of(fd, "drm-total-memory:\t"));
}

/** struct reader - a thread that reads state dumps while others work. */
struct reader {
	pthread_t thread;
	volatile bool stop;
	unsigned int rounds;
};

static void *keep_reading(void *data)
{
	static const char * const names[] = { "entities", "clients", "timelines" };
	struct reader *reader = data;

	while (!reader->stop) {
		text_of(DEBUG "accel/cmx0/%s", names[reader->rounds++ % 3]);
		text_of("/proc/self/fdinfo/3");
		text_of(DEVICES "cmx0-die0/used");
	}
	return NULL;
}

/* Dumps while objects come and go. */
TEST_F(identity, dumps_under_work)
{
	struct reader reader = { .stop = false };
	struct abi_world world;
	union abi_entry entry;
	struct cmx_cqe cqe;
	unsigned int i;

	if (!strlen(text_of(DEBUG "accel/cmx0/clients")))
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, keep_reading, &reader));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, abi_world_open(&world));
		abi_entry_wait(&entry, ABI_VA, CMX_COND_EQ, 1);
		ASSERT_EQ(0, abi_submit(&world, &world.sdma, &entry));
		EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(world.fd, NULL));
		abi_world_close(&world);
		abi_entry_copy(&entry, ABI_VA, ABI_VA + 8192, 5000);
		ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &entry, &cqe));
	}
	reader.stop = true;
	pthread_join(reader.thread, NULL);
	EXPECT_LT(0, reader.rounds);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* A run as the tracepoints tell it: each of them, with the numbers of the completion. */
TEST_F(identity, tracepoints)
{
	static const char names[][16] = { "cmx_doorbell:", "cmx_fetch:", "cmx_start:",
					  "cmx_complete:", "cmx_wait:", "cmx_error:" };
	union abi_entry entry;
	struct cmx_cqe cqe;
	const char *trace;
	char time[48];
	unsigned int i;

	if (write_text(TRACING "events/cmx/enable", "1"))
		SKIP(return, "no tracing");
	write_text(TRACING "trace", "");
	abi_entry_copy(&entry, ABI_VA, ABI_VA + 8192, 5000);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &entry, &cqe));
	snprintf(time, sizeof(time), "%llu", cqe.time_ps);
	abi_entry_wait(&entry, ABI_VA + 64 * 1024, CMX_COND_EQ, 1);
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.stream, &entry));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	abi_entry_copy(&entry, 8, 8, 5000);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &entry, &cqe));
	write_text(TRACING "events/cmx/enable", "0");
	trace = text_of(TRACING "trace");
	for (i = 0; i < ABI_ARRAY_SIZE(names); i++)
		EXPECT_NE(NULL, strstr(trace, names[i]))
			TH_LOG("%s is missing", names[i]);
	EXPECT_NE(NULL, strstr(trace, time));
}

TEST_HARNESS_MAIN
