/* SPDX-License-Identifier: GPL-2.0-only */
/* What memory cgroups (version 2) leave a process. */
#ifndef CMX_MEMORY_GROUP_H
#define CMX_MEMORY_GROUP_H

#include <stdint.h>

/*
 * Bytes until the nearest limit of the group that @list, a file like /proc/self/cgroup, names, and
 * of those above it, which are folders from @root on. Page cache counts as free. UINT64_MAX where
 * there is no limit, or no such group.
 */
uint64_t cmx_memory_group_room(const char *list, const char *root);

#endif
