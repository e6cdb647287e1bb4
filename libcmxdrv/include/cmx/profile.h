/* SPDX-License-Identifier: MIT */
/*
 * Machine profiles: shape and speeds of a supernode as data, each constant with its source.
 */
#ifndef CMX_PROFILE_H
#define CMX_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <cmx/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Profiles
 *
 * A JSON object: "name", "description", and "constants": an object whose members are
 * {"value": integer, "unit": text, "kind": "published" | "fitted" | "assumed",
 * "source": text}.  All constants that cmx_profile_constants() lists must be there, and no
 * other.  docs/timing.md says what each of them does, docs/add-a-profile.md how to write one.
 */

/** enum cmx_profile_kind - where a constant comes from. */
enum cmx_profile_kind {
	/** @CMX_PROFILE_PUBLISHED: somebody published it. */
	CMX_PROFILE_PUBLISHED = 1,
	/** @CMX_PROFILE_FITTED: chosen so that published results come out. */
	CMX_PROFILE_FITTED,
	/** @CMX_PROFILE_ASSUMED: nobody's measurement. */
	CMX_PROFILE_ASSUMED,
};

/** struct cmx_profile_constant - what a constant is. */
struct cmx_profile_constant {
	/** @name: key in the file, and of the netlink attribute. */
	const char *name;
	/** @unit: "B/s", "B", "ps", "permille", "op/s" or "". */
	const char *unit;
	/** @min: smallest value the module takes. */
	uint64_t min;
	/** @max: largest one. */
	uint64_t max;
};

struct cmx_profile;

/** cmx_profile_constants - all constants; @count receives their number. */
const struct cmx_profile_constant *cmx_profile_constants(size_t *count);

/**
 * cmx_profile_read - read a profile from a file and check it.
 *
 * Return: 0; -EINVAL with the constant, its value and limit in cmx_last_error().
 */
int cmx_profile_read(const char *path, struct cmx_profile **profile);

/** cmx_profile_write - write it as JSON; @path "-": standard output. */
int cmx_profile_write(const struct cmx_profile *profile, const char *path);

/** cmx_profile_free - @profile may be NULL. */
void cmx_profile_free(struct cmx_profile *profile);

/** cmx_profile_name - its name. */
const char *cmx_profile_name(const struct cmx_profile *profile);

/** cmx_profile_value - a constant by name; -ENOENT. */
int cmx_profile_value(const struct cmx_profile *profile, const char *name, uint64_t *value);

/** cmx_profile_source - where a constant is from; *@source NULL: unknown.  -ENOENT. */
int cmx_profile_source(const struct cmx_profile *profile, const char *name,
		       enum cmx_profile_kind *kind, const char **source);

/** cmx_profile_rename - give it another name; -EINVAL. */
int cmx_profile_rename(struct cmx_profile *profile, const char *name);

/**
 * cmx_profile_set - change one in memory.
 * @source: of the new value, which is then an assumed one; NULL: as before.
 *
 * Return: 0, -ENOENT, or -ERANGE with the limit in cmx_last_error().
 */
int cmx_profile_set(struct cmx_profile *profile, const char *name, uint64_t value,
		    const char *source);

/** cmx_profile_current - the one the module uses (values without sources). */
int cmx_profile_current(struct cmx_fabric *fabric, struct cmx_profile **profile);

/**
 * cmx_profile_load - make the module build the machine anew from @profile.
 * @nodes: nodes to use; 0: all of the profile's.
 *
 * Needs CAP_NET_ADMIN.  -EBUSY while a client has the device open.
 */
int cmx_profile_load(struct cmx_fabric *fabric, const struct cmx_profile *profile,
		     uint32_t nodes);

#ifdef __cplusplus
}
#endif

#endif /* CMX_PROFILE_H */
