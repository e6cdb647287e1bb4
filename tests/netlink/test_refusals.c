// SPDX-License-Identifier: GPL-2.0-only
/* What the module refuses, with the text it gives. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <kselftest_harness.h>

#include <cmx_constants.h>

#include "raw.h"

FIXTURE(refusals)
{
	struct raw raw;
	struct raw_request req;
};

FIXTURE_SETUP(refusals)
{
	ASSERT_EQ(0, raw_open(&self->raw));
}

FIXTURE_TEARDOWN(refusals)
{
	raw_close(&self->raw);
}

/* The request so far is refused with this. */
#define REFUSED(error, words) do { \
	EXPECT_EQ(-(error), raw_call(&self->raw, &self->req, NULL, NULL)); \
	EXPECT_NE(NULL, strstr(self->raw.text, words)) TH_LOG("'%s'", self->raw.text); \
} while (0)

#define BEGIN(cmd)	raw_begin(&self->raw, &self->req, cmd, NLM_F_ACK)

TEST_F(refusals, parts_that_are_not_there)
{
	static const struct { uint8_t cmd; uint16_t index, count; } parts[] = {
		{ CMX_CMD_ENTITY_GET, CMX_A_ENTITY_INDEX, CMX_A_MACHINE_NUM_ENTITIES },
		{ CMX_CMD_CHIP_GET, CMX_A_CHIP_INDEX, CMX_A_MACHINE_NUM_CHIPS },
		{ CMX_CMD_LINK_GET, CMX_A_LINK_INDEX, CMX_A_MACHINE_NUM_LINKS },
		{ CMX_CMD_LINK_SET, CMX_A_LINK_INDEX, CMX_A_MACHINE_NUM_LINKS },
		{ CMX_CMD_CHIP_SET, CMX_A_CHIP_INDEX, CMX_A_MACHINE_NUM_CHIPS },
		{ CMX_CMD_ENTITY_SET, CMX_A_ENTITY_INDEX, CMX_A_MACHINE_NUM_ENTITIES },
		{ CMX_CMD_NODE_SET, CMX_A_NODE_INDEX, CMX_A_MACHINE_NODES },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint32_t count = (uint32_t)raw_machine(&self->raw, parts[i].count);

		ASSERT_NE(UINT32_MAX, count);
		BEGIN(parts[i].cmd);
		REFUSED(EINVAL, "index is missing");
		EXPECT_EQ(parts[i].index, self->raw.missing);
		for (int j = 0; j < 2; j++) {
			uint32_t index = j ? UINT32_MAX : count;

			BEGIN(parts[i].cmd);
			raw_put_u32(&self->req, parts[i].index, index);
			snprintf(text, sizeof(text), "index %u: the last one is %u", index,
				 count - 1);
			REFUSED(ENOENT, text);
		}
	}
}

TEST_F(refusals, changes_of_nothing)
{
	static const struct { uint8_t cmd; uint16_t index, up; const char *text; } parts[] = {
		{ CMX_CMD_LINK_SET, CMX_A_LINK_INDEX, CMX_A_LINK_UP,
		  "up or permille is missing" },
		{ CMX_CMD_CHIP_SET, CMX_A_CHIP_INDEX, CMX_A_CHIP_UP, "up is missing" },
		{ CMX_CMD_ENTITY_SET, CMX_A_ENTITY_INDEX, CMX_A_ENTITY_UP, "up is missing" },
		{ CMX_CMD_NODE_SET, CMX_A_NODE_INDEX, CMX_A_NODE_UP, "up is missing" },
	};
	uint64_t generation = raw_machine(&self->raw, CMX_A_MACHINE_GENERATION);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		BEGIN(parts[i].cmd);
		raw_put_u32(&self->req, parts[i].index, 0);
		REFUSED(EINVAL, parts[i].text);
		raw_put_u32(&self->req, parts[i].up, 2);
		REFUSED(ERANGE, "integer out of range");
	}
	EXPECT_EQ(generation, raw_machine(&self->raw, CMX_A_MACHINE_GENERATION));
}

TEST_F(refusals, shares_out_of_range)
{
	static const uint32_t shares[] = { 0, 1001, UINT32_MAX };

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		BEGIN(CMX_CMD_LINK_SET);
		raw_put_u32(&self->req, CMX_A_LINK_INDEX, 0);
		raw_put_u32(&self->req, CMX_A_LINK_PERMILLE, shares[i]);
		REFUSED(ERANGE, "integer out of range");
	}
}

TEST_F(refusals, routes_that_make_no_sense)
{
	static const struct { uint32_t from, to, planes; int error; const char *text; } asked[] = {
		{ 0, UINT32_MAX, 0, ENOENT, "to 4294967295: the last one is" },
		{ UINT32_MAX, 0, 0, ENOENT, "from 4294967295: the last one is" },
		{ 0, 1, 1 << 18, EINVAL, "planes 0x40000: there are 0x3007f" },
		{ 0, 1, 1 << 7, EINVAL, "planes 0x80: there are" },
		{ 0, 1, 3 << 16, EINVAL, "planes 0x30000: RDMA and VPC go alone" },
		{ 0, 1, 1 << 16 | 1, EINVAL, "planes 0x10001: RDMA and VPC go alone" },
		{ 0, 1, 1 << 17, EINVAL, "planes 0x20000: only sockets are on VPC" },
	};
	uint32_t socket = (uint32_t)raw_machine(&self->raw, CMX_A_MACHINE_NUM_DIES);

	BEGIN(CMX_CMD_ROUTE_GET);
	REFUSED(EINVAL, "from is missing");
	raw_put_u32(&self->req, CMX_A_ROUTE_FROM, 0);
	REFUSED(EINVAL, "to is missing");
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		BEGIN(CMX_CMD_ROUTE_GET);
		raw_put_u32(&self->req, CMX_A_ROUTE_FROM, asked[i].from);
		raw_put_u32(&self->req, CMX_A_ROUTE_TO, asked[i].to);
		raw_put_u32(&self->req, CMX_A_ROUTE_PLANES, asked[i].planes);
		REFUSED(asked[i].error, asked[i].text);
	}
	BEGIN(CMX_CMD_ROUTE_GET);
	raw_put_u32(&self->req, CMX_A_ROUTE_FROM, 0);
	raw_put_u32(&self->req, CMX_A_ROUTE_TO, socket);
	raw_put_u32(&self->req, CMX_A_ROUTE_PLANES, 1 << 16);
	REFUSED(EINVAL, "planes 0x10000: only dies are on RDMA");
}

TEST_F(refusals, attributes_an_operation_does_not_have)
{
	BEGIN(CMX_CMD_CHIP_SET);
	raw_put_u32(&self->req, CMX_A_CHIP_INDEX, 0);
	raw_put_u32(&self->req, CMX_A_CHIP_UP, 1);
	raw_put_u32(&self->req, CMX_A_CHIP_PORTS, 1);
	REFUSED(EINVAL, "Unsupported attribute");
	raw_remove(&self->req, CMX_A_CHIP_PORTS);
	raw_put_u32(&self->req, CMX_A_CHIP_PORTS_UP, 1);
	REFUSED(EINVAL, "Unknown attribute type");
	BEGIN(CMX_CMD_LINK_SET);
	raw_put(&self->req, CMX_A_LINK_INDEX, "xx", 2);
	EXPECT_GT(0, raw_call(&self->raw, &self->req, NULL, NULL));
	EXPECT_NE('\0', self->raw.text[0]);
	/* Numbers of notifications are no operations. */
	for (int cmd = CMX_CMD_LINK_NTF; cmd <= CMX_CMD_MAX + 1; cmd++) {
		BEGIN((uint8_t)cmd);
		EXPECT_EQ(-EOPNOTSUPP, raw_call(&self->raw, &self->req, NULL, NULL));
	}
}

/* ------------------------------------------------------------------------ profiles */

struct constant {
	uint16_t attr;
	const char *name;
	uint64_t min, max;
};

#define CONSTANT(id, name, member, unit, min, max)	{ CMX_A_PROFILE_##id, #name, min, max },

static const struct constant constants[] = { CMX_PROFILE_CONSTANTS(CONSTANT) };

#define CONSTANTS	(sizeof(constants) / sizeof(*constants))

static void overwrite(struct raw_request *req, uint16_t attr, uint64_t value)
{
	memcpy(raw_find(req, attr) + 1, &value, sizeof(value));
}

TEST_F_TIMEOUT(refusals, every_constant_is_needed_and_bounded, 120)
{
	char text[128];

	for (size_t i = 0; i < CONSTANTS; i++) {
		const struct constant *c = &constants[i];
		uint64_t bad[] = { c->min - 1, c->max + 1, UINT64_MAX };

		ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "bad", 0));
		raw_remove(&self->req, c->attr);
		snprintf(text, sizeof(text), "%s is missing", c->name);
		REFUSED(EINVAL, text);
		EXPECT_EQ(c->attr, self->raw.missing);
		for (size_t j = c->min ? 0 : 1; j < 3; j++) {
			ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "bad", 0));
			overwrite(&self->req, c->attr, bad[j]);
			snprintf(text, sizeof(text), j ? "at most %llu" : "at least %llu",
				 (unsigned long long)(j ? c->max : c->min));
			REFUSED(EINVAL, text);
			EXPECT_EQ(0, strncmp(self->raw.text, c->name, strlen(c->name)));
		}
	}
	EXPECT_EQ(UINT64_MAX, raw_machine(&self->raw, CMX_A_MACHINE_MAX + 1));
}

TEST_F(refusals, names)
{
	static const char *const names[] = { "", "a b", "a/b", "..", ".a", "\x1b[2J", "a\n" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ASSERT_EQ(0, raw_profile(&self->raw, &self->req, names[i], 0));
		REFUSED(EINVAL, "name: only letters");
	}
	ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "a-name-that-is-just-one-too-long", 0));
	EXPECT_GT(0, raw_call(&self->raw, &self->req, NULL, NULL));
	EXPECT_NE('\0', self->raw.text[0]);
	raw_remove(&self->req, CMX_A_PROFILE_NAME);
	REFUSED(EINVAL, "name is missing");
}

TEST_F(refusals, shapes)
{
	ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "bad", 65));
	REFUSED(EINVAL, "nodes is 65, bad has");
	ASSERT_EQ(0, raw_profile(&self->raw, &self->req, "bad", 0));
	overwrite(&self->req, CMX_A_PROFILE_NODES, 2);
	memcpy(raw_find(&self->req, CMX_A_PROFILE_USE_NODES) + 1, &(uint32_t){ 3 }, 4);
	REFUSED(EINVAL, "nodes is 3, bad has 2");
}

/* ----------------------------------------------------------------------- nonsense */

/* An attribute of random type, length and contents; sometimes its length is a lie. */
static void put_random(struct raw_request *req, uint32_t *seed)
{
	uint8_t bytes[64];
	uint16_t len = (uint16_t)(raw_random(seed) % 4 ? 4 : raw_random(seed) % sizeof(bytes));
	uint16_t type = (uint16_t)(raw_random(seed) % (raw_random(seed) % 4 ? 9 : 72));
	struct nlattr *attr;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(raw_random(seed) >> 5);
	if (raw_random(seed) % 2)
		memcpy(bytes, &(uint32_t){ raw_random(seed) % 300 }, 4);
	if (raw_random(seed) % 8 == 0)
		type |= raw_random(seed) % 2 ? NLA_F_NESTED : (uint16_t)raw_random(seed);
	attr = (struct nlattr *)((char *)req + req->hdr.nlmsg_len);
	raw_put(req, type, bytes, len);
	if (raw_random(seed) % 16 == 0)
		attr->nla_len = (uint16_t)raw_random(seed);
}

static void begin_random(struct raw *raw, struct raw_request *req, uint32_t *seed)
{
	raw_begin(raw, req, (uint8_t)(raw_random(seed) % (CMX_CMD_MAX + 3)),
		  raw_random(seed) % 4 ? NLM_F_ACK : NLM_F_DUMP);
	req->genl.version = (uint8_t)raw_random(seed);
	for (uint32_t j = raw_random(seed) % 6; j; j--)
		put_random(req, seed);
	/* Cut off anywhere, the header stays. */
	if (raw_random(seed) % 8 == 0)
		req->hdr.nlmsg_len -= raw_random(seed) %
			(req->hdr.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN + 1);
}

/* A good request in which a few bytes are wrong. */
static void begin_mutated(struct raw *raw, struct raw_request *req, uint32_t *seed)
{
	static const uint8_t cmds[] = { CMX_CMD_LINK_SET, CMX_CMD_CHIP_SET, CMX_CMD_ENTITY_SET,
					CMX_CMD_NODE_SET, CMX_CMD_ENTITY_GET, CMX_CMD_LINK_GET };
	uint8_t *attrs = (uint8_t *)req->attrs;

	if (raw_random(seed) % 16 == 0) {
		raw_profile(raw, req, "mutant", 1);
	} else if (raw_random(seed) % 4 == 0) {
		raw_begin(raw, req, CMX_CMD_ROUTE_GET, NLM_F_ACK);
		raw_put_u32(req, CMX_A_ROUTE_FROM, raw_random(seed) % 20);
		raw_put_u32(req, CMX_A_ROUTE_TO, raw_random(seed) % 20);
		raw_put_u32(req, CMX_A_ROUTE_PLANES, raw_random(seed) % 128);
	} else {
		/* In all of these 1 or 7, or 6, are the number and the state. */
		raw_begin(raw, req, cmds[raw_random(seed) % sizeof(cmds)], NLM_F_ACK);
		raw_put_u32(req, (uint16_t)(1 + raw_random(seed) % 2), raw_random(seed) % 24);
		raw_put_u32(req, (uint16_t)(2 + raw_random(seed) % 7), raw_random(seed) % 2);
	}
	for (uint32_t n = raw_random(seed) % 3; n; n--)
		attrs[raw_random(seed) % (req->hdr.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN)] =
			(uint8_t)raw_random(seed);
}

TEST_F_TIMEOUT(refusals, nonsense, 600)
{
	const char *rounds = getenv("CMX_ROUNDS");
	long n = rounds ? strtol(rounds, NULL, 0) : 4000, passed = 0;
	uint32_t seed = 20251;
	int ret;

	for (long i = 0; i < n; i++) {
		if (i % 2)
			begin_random(&self->raw, &self->req, &seed);
		else
			begin_mutated(&self->raw, &self->req, &seed);
		ret = raw_call(&self->raw, &self->req, NULL, NULL);
		passed += !ret;
		/* Each has an answer, and it is one of these. */
		ASSERT_TRUE(!ret || ret == -EINVAL || ret == -ERANGE || ret == -ENOENT ||
			    ret == -EOPNOTSUPP || ret == -EMSGSIZE) TH_LOG("%d", ret);
	}
	TH_LOG("%ld of %ld were taken", passed, n);
	EXPECT_LT(passed, n);
	EXPECT_LT(n / 20, passed);
	EXPECT_NE(UINT64_MAX, raw_machine(&self->raw, CMX_A_MACHINE_NUM_ENTITIES));
}

TEST_HARNESS_MAIN
