// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_trace_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel still counts readers that are being closed. */
#define REMOVE_TRIES	300
#define REMOVE_PAUSE_US	10000

static const char * const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static int complain(const char *path, int error)
{
	fprintf(stderr, "cmx trace: %s: %s%s\n", path, strerror(error),
		error == EACCES || error == EPERM ? "; tracing needs root" : "");
	return -1;
}

static int put_path(char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, PATH_MAX, format, args);
	va_end(args);
	return n < 0 || n >= PATH_MAX ? complain(path, ENAMETOOLONG) : 0;
}

static int write_setting(const struct cmx_trace_session *session, const char *name,
			 const char *value)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd, error;

	if (put_path(path, "%s/%s", session->path, name))
		return -1;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return complain(path, errno);
	n = write(fd, value, strlen(value));
	error = errno;
	close(fd);
	return n < 0 ? complain(path, error) : 0;
}

ssize_t cmx_trace_session_read(const struct cmx_trace_session *session, const char *name,
			       char *text, size_t size)
{
	char path[PATH_MAX];
	size_t len = 0;
	ssize_t n;
	int fd;

	if (put_path(path, "%s/%s", session->path, name))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = '\0';
	return (ssize_t)len;
}

/* 1: there; 0: not there; -1 with a text. */
static int look_for(const char *root, const char *name, int mode)
{
	char path[PATH_MAX];

	if (put_path(path, "%s/%s", root, name))
		return -1;
	if (!access(path, mode))
		return 1;
	return errno == ENOENT ? 0 : complain(path, errno);
}

static const char *find_root(void)
{
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int found = look_for(roots[i], "instances", W_OK);

		if (found > 0)
			found = look_for(roots[i], "events/cmx", F_OK) ?: -2;
		if (found > 0)
			return roots[i];
		if (found == -2)
			fprintf(stderr, "cmx trace: no %s/events/cmx: cmx.ko is not loaded, or the "
				"kernel has no tracepoints\n", roots[i]);
		if (found < 0)
			return NULL;
	}
	fprintf(stderr, "cmx trace: tracefs is not mounted: mount -t tracefs nodev %s\n", roots[0]);
	return NULL;
}

/*
 * The janitor: a process that nothing interrupts and that outlives this one, be that killed.
 * It holds no descriptor of its parent's but the pipe.
 */
static void clean_up_after(const char *path, int leash)
{
	sigset_t all;
	char byte;
	int null;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	leash = fcntl(leash, F_DUPFD, 3);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	leash = dup2(leash, 3);
	close_range(4, ~0U, 0);
	while (read(leash, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < REMOVE_TRIES && rmdir(path) && errno == EBUSY; i++)
		usleep(REMOVE_PAUSE_US);
	_exit(access(path, F_OK) ? 0 : 1);
}

static int start_janitor(struct cmx_trace_session *session)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return complain("pipe", errno);
	session->janitor = fork();
	if (!session->janitor)
		/* The parent's end is closed with the rest: end of file is what it waits for. */
		clean_up_after(session->path, ends[0]);
	close(ends[0]);
	session->leash = ends[1];
	return session->janitor < 0 ? complain("fork", errno) : 0;
}

static int open_reader(struct cmx_trace_session *session, const char *cpu)
{
	struct cmx_trace_reader *grown;
	char path[PATH_MAX];
	int fd;

	grown = realloc(session->readers, (session->num_readers + 1) * sizeof(*grown));
	if (!grown)
		return complain(cpu, ENOMEM);
	session->readers = grown;
	if (put_path(path, "%s/per_cpu/%s/trace_pipe_raw", session->path, cpu))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return complain(path, errno);
	session->readers[session->num_readers++] = (struct cmx_trace_reader){
		.fd = fd,
		.cpu = (uint32_t)strtoul(cpu + 3, NULL, 10),
	};
	return 0;
}

static int open_readers(struct cmx_trace_session *session)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	if (put_path(path, "%s/per_cpu", session->path))
		return -1;
	dir = opendir(path);
	if (!dir)
		return complain(path, errno);
	while (!ret && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "cpu", 3))
			ret = open_reader(session, entry->d_name);
	closedir(dir);
	return ret;
}

/* Events that find no room are dropped and counted; what is there already stays. */
static int set_up(struct cmx_trace_session *session, uint32_t buffer_kb)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", buffer_kb);
	return write_setting(session, "tracing_on", "0") ||
	       write_setting(session, "trace_clock", "mono") ||
	       write_setting(session, "options/overwrite", "0") ||
	       write_setting(session, "buffer_size_kb", number) ||
	       write_setting(session, "events/cmx/enable", "1") || open_readers(session) ? -1 : 0;
}

int cmx_trace_session_open(struct cmx_trace_session *session, uint32_t buffer_kb)
{
	const char *root = find_root();

	*session = (struct cmx_trace_session){ .leash = -1 };
	if (!root)
		return -1;
	if (put_path(session->path, "%s/instances/cmx-trace-%d", root, (int)getpid()))
		goto err_no_path;
	if (start_janitor(session))
		goto err_close;
	if (mkdir(session->path, 0700)) {
		complain(session->path, errno);
		goto err_close;
	}
	if (set_up(session, buffer_kb))
		goto err_close;
	return 0;

err_no_path:
	session->path[0] = '\0';
err_close:
	cmx_trace_session_close(session);
	return -1;
}

int cmx_trace_session_follow(const struct cmx_trace_session *session, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	return write_setting(session, "options/event-fork", "1") ||
	       write_setting(session, "set_event_pid", number) ? -1 : 0;
}

int cmx_trace_session_switch(const struct cmx_trace_session *session, bool on)
{
	return write_setting(session, "tracing_on", on ? "1" : "0");
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

int cmx_trace_session_lost(const struct cmx_trace_session *session, uint64_t *lost)
{
	char name[64], text[1024];

	*lost = 0;
	for (uint32_t i = 0; i < session->num_readers; i++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", session->readers[i].cpu);
		if (cmx_trace_session_read(session, name, text, sizeof(text)) < 0)
			return complain(name, errno);
		*lost += number_after(text, "\noverrun: ") + number_after(text, "dropped events: ");
	}
	return 0;
}

int cmx_trace_session_close(struct cmx_trace_session *session)
{
	int status = 0;

	for (uint32_t i = 0; i < session->num_readers; i++)
		close(session->readers[i].fd);
	free(session->readers);
	if (session->leash >= 0)
		close(session->leash);
	if (session->janitor > 0)
		while (waitpid(session->janitor, &status, 0) < 0 && errno == EINTR)
			;
	if (status)
		fprintf(stderr, "cmx trace: %s could not be removed\n", session->path);
	*session = (struct cmx_trace_session){ .leash = -1 };
	return status ? -1 : 0;
}
