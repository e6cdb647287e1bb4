// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_load_room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmx_memory_group.h"

#define MEMINFO		"/proc/meminfo"
#define GROUPS		"/proc/self/cgroup"
#define GROUP_ROOT	"/sys/fs/cgroup"

int cmx_load_available(const char *path, uint64_t *bytes, struct cmx_infer_err *err)
{
	char line[128];
	FILE *f = fopen(path, "re");
	uint64_t kib = 0;
	int found = 0;

	if (!f)
		return cmx_infer_fail(err, -errno, "%s: %s", path, strerror(errno));
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1;
	fclose(f);
	if (!found || kib > UINT64_MAX / 1024)
		return cmx_infer_fail(err, -EINVAL, "%s has no MemAvailable", path);
	*bytes = kib * 1024;
	return 0;
}

static int too_large(const struct cmx_load_need *n, const char *whose, uint64_t has,
		     struct cmx_infer_err *err)
{
	return cmx_infer_fail(err, -ENOSPC,
			      "the model needs %" PRIu64 " bytes for weights, %" PRIu64
			      " for the KV cache and %" PRIu64 " for buffers, %s has %" PRIu64
			      " free", n->weights, n->cache, n->buffers, whose, has);
}

int cmx_load_check_room(struct cmx_die *die, const struct cmx_load_need *n,
			struct cmx_infer_err *err)
{
	uint64_t need, die_has = 0, host_has = 0, group_has;
	int ret = cmx_die_room(die, &die_has, err);

	if (ret)
		return ret;
	if (__builtin_add_overflow(n->weights, n->cache, &need) ||
	    __builtin_add_overflow(need, n->buffers, &need))
		need = UINT64_MAX;
	if (need > die_has)
		return too_large(n, "the die", die_has, err);
	if (cmx_die_time_only(die))
		return 0;
	ret = cmx_load_available(MEMINFO, &host_has, err);
	if (!ret && need > host_has)
		ret = too_large(n, "this computer", host_has, err);
	if (ret)
		return ret;
	group_has = cmx_memory_group_room(GROUPS, GROUP_ROOT);
	return need > group_has ? too_large(n, "the memory cgroup", group_has, err) : 0;
}
