// SPDX-License-Identifier: GPL-2.0-only
/* Error texts name field, value and limit; each thread has its own. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_fail.h"
#include "fake_module.h"

static const struct drm_cmx_info_extack refusal = {
	.nr = DRM_CMX_QUEUE_CREATE,
	.error = EINVAL,
	.value = 3,
	.limit = 4,
	.field = "slots",
	.text = "must be a power of two",
};

TEST(nothing_failed_yet)
{
	EXPECT_EQ(0, cmx_last_error()->code);
	EXPECT_STREQ("", cmx_last_error()->text);
}

TEST(a_refused_ioctl_is_explained)
{
	struct cmx_ctx *ctx = fake_ctx();

	fake_module.extack = refusal;
	EXPECT_EQ(-EINVAL, cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_QUEUE_CREATE, NULL, "QUEUE_CREATE"));
	EXPECT_EQ(-EINVAL, cmx_last_error()->code);
	EXPECT_STREQ("slots", cmx_last_error()->field);
	EXPECT_EQ(3, cmx_last_error()->value);
	EXPECT_EQ(4, cmx_last_error()->limit);
	EXPECT_STREQ("slots 3 (limit 4): must be a power of two", cmx_last_error()->text);
	fake_ctx_free(ctx);
}

TEST(an_explanation_of_another_call_is_not_used)
{
	struct cmx_ctx *ctx = fake_ctx();

	fake_module.extack = refusal;
	EXPECT_EQ(-EINVAL, cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_CQ_CREATE, NULL, "CQ_CREATE"));
	EXPECT_STREQ("CQ_CREATE: Invalid argument", cmx_last_error()->text);
	EXPECT_STREQ("", cmx_last_error()->field);
	fake_ctx_free(ctx);
}

TEST(texts_without_a_terminator_are_bounded)
{
	struct drm_cmx_info_extack extack = refusal;

	memset(extack.field, 'f', sizeof(extack.field));
	memset(extack.text, 't', sizeof(extack.text));
	EXPECT_EQ(-EINVAL, cmx_fail_extack(&extack));
	EXPECT_EQ(sizeof(cmx_last_error()->field) - 1, strlen(cmx_last_error()->field));
	EXPECT_LT(strlen(cmx_last_error()->text), sizeof(cmx_last_error()->text));
}

static void *fail_elsewhere(void *arg)
{
	cmx_fail(-EIO, "other", 1, 2, "of another thread");
	return arg;
}

TEST(threads_do_not_see_each_other)
{
	pthread_t thread;

	cmx_fail(-EBUSY, "mine", 5, 6, "of this thread");
	ASSERT_EQ(0, pthread_create(&thread, NULL, fail_elsewhere, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EBUSY, cmx_last_error()->code);
	EXPECT_STREQ("of this thread", cmx_last_error()->text);
}

TEST(a_forked_child_is_refused)
{
	struct cmx_ctx *ctx = fake_ctx();

	*ctx->alive = 0;
	EXPECT_EQ(-EPERM, cmx_wait_idle(ctx, NULL));
	EXPECT_EQ(0, fake_module.calls[DRM_CMX_RUN]);
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "fork"));
	fake_ctx_free(ctx);
}

TEST_HARNESS_MAIN
