// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations that fail, the 1st, 2nd, 3rd ... until a request passes: each has an answer, and
 * the machine is the one before or the one asked for. Needs a kernel with fault injection.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "raw.h"

#define DEBUG		"/sys/kernel/debug/"
#define MOST_FAULTS	20000

static int set_attribute(const char *name, const char *value)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), DEBUG "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Allocations that may sleep too, without a word, and in this thread only. */
static int set_up(void)
{
	if (access(DEBUG "failslab", F_OK))
		mount("debugfs", DEBUG, "debugfs", 0, NULL);
	return set_attribute("failslab/verbose", "0") ||
	       set_attribute("failslab/probability", "0") ||
	       set_attribute("failslab/ignore-gfp-wait", "N") ||
	       set_attribute("fail_usercopy/verbose", "0") ||
	       set_attribute("fail_page_alloc/verbose", "0") ||
	       set_attribute("fail_page_alloc/probability", "0") ||
	       set_attribute("fail_page_alloc/ignore-gfp-wait", "N") ||
	       set_attribute("fail_page_alloc/min-order", "0");
}

FIXTURE(faults)
{
	struct raw raw;
	struct raw_request req;
	int nth;
	uint32_t faults;
};

FIXTURE_SETUP(faults)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	self->nth = open(path, O_RDWR | O_CLOEXEC);
	if (self->nth < 0)
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, set_up());
	ASSERT_EQ(0, raw_open(&self->raw));
}

FIXTURE_TEARDOWN(faults)
{
	raw_close(&self->raw);
	close(self->nth);
	TH_LOG("%u faults", self->faults);
}

/* A connection whose answers are waited for, but not for ever. */
static int open_timed(struct raw *raw)
{
	struct timeval timeout = { .tv_sec = 10 };
	int ret = raw_open(raw);

	return ret ? ret : setsockopt(raw->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

/* Carry out the request with the @n-th allocation failing; whether one did. */
static bool call_with_fault(FIXTURE_DATA(faults) * self, uint32_t n, int *ret)
{
	struct raw raw;
	char text[16];
	bool fired;
	int len = snprintf(text, sizeof(text), "%u", n);

	if (open_timed(&raw))
		abort();
	self->req.hdr.nlmsg_seq = ++raw.seq;
	if (pwrite(self->nth, text, (size_t)len, 0) != len)
		abort();
	*ret = raw_call(&raw, &self->req, NULL, NULL);
	memset(text, 0, sizeof(text));
	fired = pread(self->nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	if (pwrite(self->nth, "0", 1, 0) != 1 && pwrite(self->nth, "0", 1, 0) != 1)
		abort();
	raw_close(&raw);
	self->faults += fired;
	return fired;
}

static bool is_shortage(int ret)
{
	return !ret || ret == -ENOMEM || ret == -ENOBUFS || ret == -EFAULT || ret == -EMSGSIZE;
}

TEST_F_TIMEOUT(faults, requests, 300)
{
	static const struct { uint8_t cmd; uint16_t flags, attr, other; } requests[] = {
		{ CMX_CMD_MACHINE_GET, NLM_F_ACK, 0, 0 },
		{ CMX_CMD_ENTITY_GET, NLM_F_ACK, CMX_A_ENTITY_INDEX, 0 },
		{ CMX_CMD_ENTITY_GET, NLM_F_DUMP, 0, 0 },
		{ CMX_CMD_PORT_GET, NLM_F_DUMP, 0, 0 },
		{ CMX_CMD_LINK_GET, NLM_F_DUMP, 0, 0 },
		{ CMX_CMD_CLIENT_GET, NLM_F_DUMP, 0, 0 },
		{ CMX_CMD_PROFILE_GET, NLM_F_ACK, 0, 0 },
		{ CMX_CMD_ROUTE_GET, NLM_F_ACK, CMX_A_ROUTE_FROM, CMX_A_ROUTE_TO },
		{ CMX_CMD_LINK_SET, NLM_F_ACK, CMX_A_LINK_INDEX, CMX_A_LINK_UP },
		{ CMX_CMD_NODE_SET, NLM_F_ACK, CMX_A_NODE_INDEX, CMX_A_NODE_UP },
	};
	uint32_t n;
	int ret;

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		raw_begin(&self->raw, &self->req, requests[i].cmd, requests[i].flags);
		if (requests[i].attr)
			raw_put_u32(&self->req, requests[i].attr, 0);
		if (requests[i].other)
			raw_put_u32(&self->req, requests[i].other, 0);
		if (requests[i].cmd == CMX_CMD_LINK_GET)
			raw_put(&self->req, CMX_A_LINK_COUNTERS, NULL, 0);
		for (n = 1; n < MOST_FAULTS && call_with_fault(self, n, &ret); n++)
			EXPECT_TRUE(is_shortage(ret)) TH_LOG("%zu, fault %u: %d", i, n, ret);
		EXPECT_EQ(0, ret);
		EXPECT_GT(MOST_FAULTS, n);
	}
}

/*
 * Until the driver is bound to the new machine: there DRM, when it has no memory for its
 * minor's device, drops an error pointer as if it were one, up to Linux 7.3.
 */
TEST_F_TIMEOUT(faults, profiles, 300)
{
	uint64_t nodes = raw_machine(&self->raw, CMX_A_MACHINE_NODES), now;
	int ret = 0, failed = 0;
	uint32_t n;

	for (n = 1; ret != -ENODEV && n < MOST_FAULTS; n++) {
		ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "faulty", 1 + n % 2));
		ASSERT_TRUE(call_with_fault(self, n, &ret));
		now = raw_machine(&self->raw, CMX_A_MACHINE_NODES);
		/* What failed may be the answer alone. */
		EXPECT_TRUE(now == nodes || now == 1 + n % 2) TH_LOG("fault %u: %d", n, ret);
		EXPECT_TRUE(is_shortage(ret) || ret == -ENODEV) TH_LOG("fault %u: %d", n, ret);
		failed += !!ret;
		nodes = now;
	}
	EXPECT_EQ(-ENODEV, ret);
	EXPECT_LT(20, failed);
	TH_LOG("%d loads failed", failed);
}

static int set_autoprobe(const char *value)
{
	int fd = open("/sys/bus/cmx/drivers_autoprobe", O_WRONLY | O_CLOEXEC);
	int ret = write(fd, value, 1) == 1 ? 0 : -errno;

	close(fd);
	return ret;
}

/* Nothing binds to what is made: every load fails, then there is no machine, then a good one. */
TEST_F_TIMEOUT(faults, no_machine, 300)
{
	struct raw_request req;
	uint32_t n, step = 1;
	int ret = 0;

	ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "faulty", 2));
	ASSERT_EQ(0, set_autoprobe("0"));
	for (n = 1; n < MOST_FAULTS && call_with_fault(self, n, &ret); n += step) {
		EXPECT_TRUE(ret && (is_shortage(ret) || ret == -ENODEV))
			TH_LOG("fault %u: %d", n, ret);
		step = n < 100 ? 1 : 1 + n / 50;
	}
	EXPECT_EQ(-ENODEV, ret);
	for (uint8_t cmd = CMX_CMD_MACHINE_GET; cmd <= CMX_CMD_CLIENT_GET; cmd++) {
		raw_begin(&self->raw, &req, cmd, cmd == CMX_CMD_MACHINE_GET ||
			  cmd == CMX_CMD_ROUTE_GET ? NLM_F_ACK : NLM_F_DUMP);
		EXPECT_EQ(-ENODEV, raw_call(&self->raw, &req, NULL, NULL));
		EXPECT_NE(NULL, strstr(self->raw.text, "there is no machine"))
			TH_LOG("%u: '%s'", cmd, self->raw.text);
	}
	EXPECT_EQ(-ENODEV, raw_set(&self->raw, CMX_CMD_LINK_SET, 0, 1));
	ASSERT_EQ(0, set_autoprobe("1"));
	EXPECT_EQ(0, raw_call(&self->raw, &self->req, NULL, NULL)) TH_LOG("%s", self->raw.text);
	EXPECT_EQ(2, raw_machine(&self->raw, CMX_A_MACHINE_NODES));
}

TEST_HARNESS_MAIN
