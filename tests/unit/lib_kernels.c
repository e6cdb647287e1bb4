// SPDX-License-Identifier: GPL-2.0-only
/* Registering kernels, by name and from a shared object. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "fake_module.h"

static int nothing(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return 0;
}

/* A file beside this program. */
static const char *beside(char *buf, size_t size, const char *name)
{
	char self[512];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[len > 0 ? len : 0] = '\0';
	snprintf(buf, size, "%s/%s", dirname(self), name);
	return buf;
}

TEST(names_are_unique_and_bounded)
{
	struct cmx_ctx *ctx = fake_ctx();
	uint64_t a = 0, b = 0;
	char name[65];

	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	EXPECT_EQ(-EINVAL, cmx_kernel_register(ctx, name, nothing, &a));
	EXPECT_EQ(63, cmx_last_error()->limit);
	EXPECT_EQ(-EINVAL, cmx_kernel_register(ctx, "", nothing, &a));
	EXPECT_EQ(-EINVAL, cmx_kernel_register(ctx, "x", NULL, &a));
	ASSERT_EQ(0, cmx_kernel_register(ctx, "x", nothing, &a));
	EXPECT_EQ(-EEXIST, cmx_kernel_register(ctx, "x", nothing, &b));
	name[63] = '\0';
	ASSERT_EQ(0, cmx_kernel_register(ctx, name, nothing, &b));
	EXPECT_NE(a, b);
	EXPECT_NE(0, a);
	ASSERT_EQ(0, cmx_kernel_find(ctx, name, &a));
	EXPECT_EQ(a, b);
	EXPECT_EQ(-ENOENT, cmx_kernel_find(ctx, "y", &a));
	fake_ctx_free(ctx);
}

TEST(a_context_takes_4096)
{
	struct cmx_ctx *ctx = fake_ctx();
	uint64_t id;
	char name[16];

	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		ASSERT_EQ(0, cmx_kernel_register(ctx, name, nothing, &id));
	}
	EXPECT_EQ(-ENOSPC, cmx_kernel_register(ctx, "more", nothing, &id));
	EXPECT_EQ(4096, cmx_last_error()->limit);
	fake_ctx_free(ctx);
}

TEST(descriptions_are_checked)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_kernel_desc desc = { .name = "k", .run = nothing };
	uint64_t id;

	desc.flags = 1u << 31;
	EXPECT_EQ(-EINVAL, cmx_kernel_register_desc(ctx, &desc, &id));
	EXPECT_STREQ("flags", cmx_last_error()->field);
	desc.flags = 0;
	desc.args_size = CMX_LAUNCH_MAX_ARGS + 1;
	EXPECT_EQ(-EINVAL, cmx_kernel_register_desc(ctx, &desc, &id));
	EXPECT_STREQ("args_size", cmx_last_error()->field);
	desc.args_size = 0;
	desc.reserved[1] = 1;
	EXPECT_EQ(-EINVAL, cmx_kernel_register_desc(ctx, &desc, &id));
	EXPECT_STREQ("reserved", cmx_last_error()->field);
	fake_ctx_free(ctx);
}

TEST(shared_objects)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_cost cost;
	char path[600];
	uint64_t id;

	ASSERT_EQ(2, cmx_kernel_load(ctx, beside(path, sizeof(path), "kernels_good.so")));
	ASSERT_EQ(0, cmx_kernel_find(ctx, "ten", &id));
	ASSERT_EQ(0, cmx_kernel_cost(ctx, id, "12345678", 8, 3, &cost));
	EXPECT_EQ(30, cost.vector_ops);
	EXPECT_EQ(-EINVAL, cmx_kernel_cost(ctx, id, "1234567", 7, 3, &cost));
	EXPECT_EQ(-ENOENT, cmx_kernel_cost(ctx, id + 1, NULL, 0, 1, &cost));
	/* A second time the names are taken, and nothing is added. */
	EXPECT_EQ(-EEXIST, cmx_kernel_load(ctx, path));
	EXPECT_EQ(2, ctx->kernels.count);
	EXPECT_EQ(-EINVAL, cmx_kernel_load(ctx, beside(path, sizeof(path), "kernels_bad.so")));
	EXPECT_EQ(-ENOENT, cmx_kernel_find(ctx, "fine", &id));
	EXPECT_EQ(2, ctx->kernels.filled);
	EXPECT_EQ(-ENOENT, cmx_kernel_load(ctx, "libdl.so.2"));
	EXPECT_EQ(-ENOEXEC, cmx_kernel_load(ctx, "/nonexistent.so"));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "/nonexistent.so"));
	fake_ctx_free(ctx);
}

TEST_HARNESS_MAIN
