/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Library profiles: how a communication library turns a call into commands, as data with a
 * source for every constant. docs/operators.md says what each constant does.
 */
#ifndef CMX_LIBPROFILE_H
#define CMX_LIBPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMX_LIBPROFILE_DEFAULT	"cann-ep"

/* Constants of a profile; a library that has no such path leaves them out. */
enum cmx_lib_constant {
	/* Point to point: by target, how a transfer is cut up. */
	CMX_LIB_DIE_CHUNK,
	CMX_LIB_DIE_DEPTH,
	CMX_LIB_DIE_READ_PS,
	CMX_LIB_DIE_WRITE_PS,
	CMX_LIB_SOCKET_CHUNK,
	CMX_LIB_SOCKET_DEPTH,
	CMX_LIB_SOCKET_READ_PS,
	CMX_LIB_SOCKET_WRITE_PS,
	/* Collectives: before a rank's first transfer, and for each peer. */
	CMX_LIB_COLLECTIVE_PS,
	CMX_LIB_STEP_PS,
	/* Dispatch and combine. */
	CMX_LIB_HIDDEN,
	CMX_LIB_EXPERTS,
	CMX_LIB_PACKET,
	CMX_LIB_RESULT,
	CMX_LIB_ROW_PS,
	CMX_LIB_COUNT_PS,
	CMX_LIB_PEER_PS,
	/* What the above were fitted on; results outside are extrapolated. */
	CMX_LIB_FIT_MIN_EP,
	CMX_LIB_FIT_MAX_EP,
	CMX_LIB_FIT_TOKENS,
	CMX_LIB_FIT_TOPK,
	CMX_LIB_CONSTANTS,
};

/* What is known of a constant beforehand. */
struct cmx_lib_field {
	const char *name;
	const char *unit;
	uint64_t min, max;
};

extern const struct cmx_lib_field cmx_lib_fields[CMX_LIB_CONSTANTS];

struct cmx_libprofile {
	char name[32];
	uint64_t value[CMX_LIB_CONSTANTS];
	bool has[CMX_LIB_CONSTANTS];
	char error[400];	/* of the call that failed */
};

/* @name is one of the profiles that come with CMX, or a file when it has a `/'. */
int cmx_libprofile_load(struct cmx_libprofile *profile, const char *name);

/* Whether it has all constants from @first to @last; else -ENOENT with a text for @what. */
int cmx_libprofile_needs(struct cmx_libprofile *profile, enum cmx_lib_constant first,
			 enum cmx_lib_constant last, const char *what);

/*
 * Path of a data file that comes with CMX: @name below folder @folder of the source tree in
 * whose build folder the command lies. 0, or -ENOENT.
 */
int cmx_libprofile_data(const char *folder, const char *name, char *path, size_t size);

#endif
