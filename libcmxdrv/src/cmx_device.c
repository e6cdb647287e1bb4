// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmx/device.h>

#include "cmx_fail.h"

static const char *root_of(const char *variable, const char *otherwise)
{
	const char *root = secure_getenv(variable);

	return root ? root : otherwise;
}

/* Whether class device @name is bound to our driver. */
static bool device_is_ours(const char *class_dir, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *driver;
	ssize_t len;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/device/driver", class_dir, name) >=
	    sizeof(path))
		return false;
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	driver = strrchr(target, '/');
	return !strcmp(driver ? driver + 1 : target, "cmx");
}

static bool is_accel_name(const char *name)
{
	return !strncmp(name, "accel", 5) && name[5] &&
	       strspn(name + 5, "0123456789") == strlen(name + 5) &&
	       strlen(name) < sizeof(((struct cmx_device_node *)0)->name);
}

static int add_node(struct cmx_device_node **list, int count, const char *name)
{
	struct cmx_device_node *node, *grown;
	int len;

	grown = realloc(*list, ((size_t)count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*list = grown;
	node = &grown[count];
	snprintf(node->name, sizeof(node->name), "%s", name);
	len = snprintf(node->path, sizeof(node->path), "%s/accel/%s",
		       root_of("CMX_DEV_ROOT", "/dev"), name);
	return (size_t)len < sizeof(node->path) ? 0 : -ENAMETOOLONG;
}

static int by_number(const void *a, const void *b)
{
	unsigned long x = strtoul(((const struct cmx_device_node *)a)->name + 5, NULL, 10);
	unsigned long y = strtoul(((const struct cmx_device_node *)b)->name + 5, NULL, 10);

	return x < y ? -1 : x > y;
}

int cmx_device_list(struct cmx_device_node **list)
{
	char class_dir[PATH_MAX];
	struct dirent *entry;
	int count = 0, ret = 0, len;
	DIR *dir;

	*list = NULL;
	len = snprintf(class_dir, sizeof(class_dir), "%s/class/accel",
		       root_of("CMX_SYSFS_ROOT", "/sys"));
	if (len >= (int)sizeof(class_dir))
		return cmx_fail(-ENAMETOOLONG, "CMX_SYSFS_ROOT", (uint64_t)len,
				sizeof(class_dir) - 1, "the path of the devices is too long");
	dir = opendir(class_dir);
	if (!dir)	/* A kernel without the class has no devices of it. */
		return errno == ENOENT ? 0 : cmx_fail_call(-errno, class_dir);
	while (!ret && (entry = readdir(dir))) {
		if (!is_accel_name(entry->d_name) || !device_is_ours(class_dir, entry->d_name))
			continue;
		ret = add_node(list, count, entry->d_name);
		count += !ret;
	}
	closedir(dir);
	if (ret) {
		free(*list);
		*list = NULL;
		return cmx_fail_call(ret, "cmx_device_list");
	}
	if (count)
		qsort(*list, (size_t)count, sizeof(**list), by_number);
	return count;
}

void cmx_device_list_free(struct cmx_device_node *list)
{
	free(list);
}
