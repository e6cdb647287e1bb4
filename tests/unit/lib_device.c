// SPDX-License-Identifier: GPL-2.0-only
/* Discovery in a tree made for the purpose. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include <cmx/cmx.h>

FIXTURE(device)
{
	char root[64];
	struct cmx_device_node *list;
};

static void make_dirs(const char *root, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/", root);
	for (const char *p = path; *p; ) {
		const char *end = strchrnul(p, '/');

		strncat(full, p, (size_t)(end - p));
		mkdir(full, 0755);
		strcat(full, "/");
		p = *end ? end + 1 : end;
	}
}

static void make_device(const char *root, const char *name, const char *driver)
{
	char path[128], link[256];

	snprintf(path, sizeof(path), "class/accel/%s/device", name);
	make_dirs(root, path);
	snprintf(link, sizeof(link), "%s/%s/driver", root, path);
	if (symlink(driver, link))
		perror(link);
}

FIXTURE_SETUP(device)
{
	strcpy(self->root, "/tmp/cmx-unit-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	setenv("CMX_SYSFS_ROOT", self->root, 1);
	setenv("CMX_DEV_ROOT", "/somewhere", 1);
	unsetenv("CMX_DEVICE");
	self->list = NULL;
}

FIXTURE_TEARDOWN(device)
{
	char command[96];

	cmx_device_list_free(self->list);
	snprintf(command, sizeof(command), "rm -rf '%s'", self->root);
	EXPECT_EQ(0, system(command));
}

TEST_F(device, only_ours_in_order_of_number)
{
	make_device(self->root, "accel10", "../../../bus/cmx/drivers/cmx");
	make_device(self->root, "accel2", "../../../bus/cmx/drivers/cmx");
	make_device(self->root, "accel0", "../../../bus/pci/drivers/intel_vpu");
	make_device(self->root, "accel1", "../../../bus/cmx/drivers/cmx_other");
	make_device(self->root, "accelerator", "../../../bus/cmx/drivers/cmx");
	make_dirs(self->root, "class/accel/accel3/device");
	ASSERT_EQ(2, cmx_device_list(&self->list));
	EXPECT_STREQ("accel2", self->list[0].name);
	EXPECT_STREQ("/somewhere/accel/accel2", self->list[0].path);
	EXPECT_STREQ("accel10", self->list[1].name);
}

TEST_F(device, none)
{
	struct cmx_ctx *ctx = NULL;

	EXPECT_EQ(0, cmx_device_list(&self->list));
	EXPECT_EQ(-ENODEV, cmx_open(NULL, 0, &ctx));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "module"));
}

TEST_F(device, opening_what_is_not_ours)
{
	struct cmx_ctx *ctx = NULL;

	EXPECT_EQ(-ENODEV, cmx_open("/dev/null", 0, &ctx));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "/dev/null is not"));
	EXPECT_EQ(-ENOENT, cmx_open("/nonexistent", 0, &ctx));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "/nonexistent: No such file"));
	EXPECT_EQ(-EINVAL, cmx_open(NULL, 4, &ctx));
	EXPECT_EQ(4, cmx_last_error()->value);
	setenv("CMX_DEVICE", "/nonexistent/too", 1);
	EXPECT_EQ(-ENOENT, cmx_open(NULL, 0, &ctx));
	EXPECT_EQ(NULL, ctx);
}

TEST_HARNESS_MAIN
