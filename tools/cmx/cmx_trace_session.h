/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tracefs instance of this process with the module's events on. It goes when the process
 * ends, however that happens.
 */
#ifndef CMX_TRACE_SESSION_H
#define CMX_TRACE_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** struct cmx_trace_reader - a processor's buffer. */
struct cmx_trace_reader {
	/** @fd: non-blocking descriptor. */
	int fd;
	/** @cpu: processor. */
	uint32_t cpu;
};

/** struct cmx_trace_session - an instance and its readers. */
struct cmx_trace_session {
	/** @path: folder of the instance; empty: not made. */
	char path[PATH_MAX];
	/** @readers: buffers of all processors. */
	struct cmx_trace_reader *readers;
	/** @num_readers: how many. */
	uint32_t num_readers;
	/** @janitor: process that removes the instance when @leash closes. */
	pid_t janitor;
	/** @leash: this process's end of a pipe to it. */
	int leash;
};

/* All return 0, or -1 with a text on stderr. */

/**
 * cmx_trace_session_open() - make the instance, nothing switched on yet.
 * @buffer_kb: room for each processor's events.
 */
int cmx_trace_session_open(struct cmx_trace_session *session, uint32_t buffer_kb);

/** cmx_trace_session_follow() - only events of that process and what comes of it. */
int cmx_trace_session_follow(const struct cmx_trace_session *session, pid_t pid);

/** cmx_trace_session_switch() - events on or off. */
int cmx_trace_session_switch(const struct cmx_trace_session *session, bool on);

/** cmx_trace_session_lost() - events there was no room for. */
int cmx_trace_session_lost(const struct cmx_trace_session *session, uint64_t *lost);

/** cmx_trace_session_read() - a file of the instance as text; -1 without a text. */
ssize_t cmx_trace_session_read(const struct cmx_trace_session *session, const char *name,
			       char *text, size_t size);

/** cmx_trace_session_close() - remove the instance; -1: it is still there. */
int cmx_trace_session_close(struct cmx_trace_session *session);

#endif /* CMX_TRACE_SESSION_H */
