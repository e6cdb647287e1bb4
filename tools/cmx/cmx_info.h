/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx info' prints, gathered before anything is printed.
 */
#ifndef CMX_INFO_H
#define CMX_INFO_H

#include <stdint.h>

#include <cmx_drm.h>

struct cmx_info_entry {
	uint32_t index;
	struct drm_cmx_info_entity entity;
};

struct cmx_info {
	const char *path;
	struct drm_cmx_info_device device;
	struct drm_cmx_info_limits limits;
	/* The entities asked for. */
	struct cmx_info_entry *entries;
	uint32_t count;
};

/* A bit of drm_cmx_info_device.caps and its name. */
struct cmx_info_cap {
	uint64_t bit;
	const char *name;
};

extern const struct cmx_info_cap cmx_info_caps[];
extern const uint32_t cmx_info_num_caps;

/* Both return an exit status; @detail: every entity, else one of each kind. */
int cmx_info_print_text(const struct cmx_info *info, int detail);
int cmx_info_print_json(const struct cmx_info *info);

#endif /* CMX_INFO_H */
