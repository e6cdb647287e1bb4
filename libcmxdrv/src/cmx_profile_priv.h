/* SPDX-License-Identifier: MIT */
/*
 * A profile in memory.
 */
#ifndef CMX_PROFILE_PRIV_H
#define CMX_PROFILE_PRIV_H

#include <cmx/profile.h>
#include <cmx_constants.h>
#include <cmx_netlink.h>

#define CMX_PROFILE_ONE(id, name, member, unit, min, max)	+ 1
#define CMX_PROFILE_COUNT	(0 CMX_PROFILE_CONSTANTS(CMX_PROFILE_ONE))

/* With the terminator; as the netlink attribute has it. */
#define CMX_PROFILE_NAME_SIZE	32

/* A constant of a profile. */
struct cmx_profile_row {
	uint64_t value;
	/* enum cmx_profile_kind */
	uint32_t kind;
	/* NULL: unknown, as the module keeps none. */
	char *source;
};

struct cmx_profile {
	char name[CMX_PROFILE_NAME_SIZE];
	char *description;
	/* In the order of cmx_profile_constants(). */
	struct cmx_profile_row rows[CMX_PROFILE_COUNT];
};

/* An empty profile, or NULL. */
struct cmx_profile *cmx_profile_alloc(void);

/* Number of a constant, or -1. */
int cmx_profile_find(const char *name);

/* Attribute of a constant. */
int cmx_profile_attr(size_t row);

/* Check a name, and a value against the limits of its constant. */
int cmx_profile_check_name(const char *name);
int cmx_profile_check_value(size_t row, uint64_t value, int error);

#endif /* CMX_PROFILE_PRIV_H */
