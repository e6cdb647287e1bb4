// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx trace: the module's tracepoints of a command or of everybody as a Chrome trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmx/cmx.h>

#include "cmx_argument.h"
#include "cmx_clock.h"
#include "cmx_command.h"
#include "cmx_json_output.h"
#include "cmx_output_file.h"
#include "cmx_stop.h"
#include "cmx_trace_chrome.h"
#include "cmx_trace_session.h"

#define PAUSE_MS	10
#define DEFAULT_BUFFER	16384
#define MAX_BUFFER	1048576
#define NOT_FOUND	127

struct trace_options {
	const char *out;
	/* 0: no limit. */
	uint64_t duration_ms;
	uint32_t buffer_kb;
	bool host;
	bool json;
	/* NULL: everybody. */
	char **command;
};

/** struct tracee - the command. */
struct tracee {
	pid_t pid;
	/* Descriptor of the process, -1: there is none. */
	int fd;
	/* Closing it lets it begin. */
	int gate;
	/* Exit status as a shell has it. */
	int status;
};

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: cmx trace [OPTION...] [-- COMMAND...]\n"
		    "\n"
		    "Record what queues do while COMMAND runs, or until Ctrl-C, as a Chrome trace\n"
		    "in virtual time (open it in Perfetto). Needs root.\n"
		    "  -o, --out FILE      where to (default cmx-trace.json; -: standard output)\n"
		    "  -d, --duration S    stop after S seconds of host time\n"
		    "  -H, --host          times are the host's\n"
		    "  -b, --buffer KIB    room for events of each processor (default %u)\n"
		    "  -j, --json          print what was recorded as JSON\n", DEFAULT_BUFFER);
	return status;
}

static int parse_buffer(const char *text, uint32_t *kb)
{
	uint64_t value;

	if (cmx_argument_number("trace", "--buffer", text, 4, MAX_BUFFER, &value))
		return -1;
	*kb = (uint32_t)value;
	return 0;
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, struct trace_options *options)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "duration", required_argument, NULL, 'd' },
		{ "host", no_argument, NULL, 'H' },
		{ "buffer", required_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+o:d:Hb:jh", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			options->out = optarg;
			break;
		case 'd':
			if (cmx_argument_seconds("trace", "--duration", optarg,
						 &options->duration_ms))
				return CMX_EXIT_USAGE;
			break;
		case 'H':
			options->host = true;
			break;
		case 'b':
			if (parse_buffer(optarg, &options->buffer_kb))
				return CMX_EXIT_USAGE;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			return usage(stdout, CMX_EXIT_OK);
		default:
			return usage(stderr, CMX_EXIT_USAGE);
		}
	}
	if (optind < argc)
		options->command = argv + optind;
	if (options->json && !strcmp(options->out, "-")) {
		fprintf(stderr, "cmx trace: --json and `--out -' both write to standard output\n");
		return CMX_EXIT_USAGE;
	}
	return -1;
}

/* Dies come first, then sockets. The device is closed again: it is not ours to hold. */
static int count_dies(uint32_t *num_dies)
{
	struct cmx_ctx *ctx = NULL;

	if (cmx_open(NULL, 0, &ctx)) {
		fprintf(stderr, "cmx trace: %s\n", cmx_last_error()->text);
		return -1;
	}
	*num_dies = cmx_device(ctx)->num_dies;
	cmx_close(ctx);
	return 0;
}

/* The child: waits until it is traced, then becomes the command. It does not outlive us. */
static void become(char **command, int gate)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(gate, &byte, 1) != 1)
		if (errno != EINTR)
			_exit(CMX_EXIT_FAILED);
	signal(SIGPIPE, SIG_DFL);
	execvp(command[0], command);
	fprintf(stderr, "cmx trace: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? NOT_FOUND : NOT_FOUND - 1);
}

static int start_command(char **command, struct tracee *tracee)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		perror("cmx trace: pipe");
		return -1;
	}
	tracee->pid = fork();
	if (!tracee->pid) {
		close(ends[1]);
		become(command, ends[0]);
	}
	close(ends[0]);
	tracee->gate = ends[1];
	if (tracee->pid > 0)
		tracee->fd = (int)syscall(SYS_pidfd_open, tracee->pid, 0);
	if (tracee->fd >= 0)
		return 0;
	perror("cmx trace: starting the command");
	return -1;
}

static int open_gate(const struct tracee *tracee)
{
	if (tracee->pid <= 0 || write(tracee->gate, "", 1) == 1)
		return 0;
	perror("cmx trace: starting the command");
	return -1;
}

/* Whatever became of the rest, no child is left. */
static void finish_command(struct tracee *tracee, bool kill_it)
{
	int status = 0;

	if (tracee->pid <= 0)
		return;
	close(tracee->gate);
	if (kill_it)
		kill(tracee->pid, SIGKILL);
	while (waitpid(tracee->pid, &status, 0) < 0 && errno == EINTR)
		if (cmx_stopped())
			kill(tracee->pid, SIGINT);
	tracee->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (tracee->fd >= 0)
		close(tracee->fd);
	tracee->pid = 0;
}

/* Until the command ended, the time is over or somebody said so. */
static int record(const struct trace_options *options, const struct cmx_trace_session *session,
		  struct cmx_trace_log *log, const struct tracee *tracee)
{
	uint64_t end = cmx_clock_ms() + options->duration_ms;
	struct pollfd fd = { .fd = tracee->fd, .events = POLLIN };
	bool told = false;
	int ret;

	for (;;) {
		ret = cmx_trace_log_drain(log, session);
		if (ret < 0)
			return ret;
		if (poll(&fd, 1, ret ? 0 : PAUSE_MS) > 0 && fd.revents)
			return 0;
		if (options->duration_ms && cmx_clock_ms() >= end)
			return 0;
		if (!cmx_stopped())
			continue;
		if (tracee->pid <= 0)
			return 0;
		/* From a terminal it has got the signal itself; to be told twice does no harm. */
		if (!told)
			kill(tracee->pid, SIGINT);
		told = true;
	}
}

/* From switching on to the last event; the session is open. */
static int trace(const struct trace_options *options, const struct cmx_trace_session *session,
		 struct cmx_trace_log *log, struct tracee *tracee)
{
	int ret;

	if (tracee->pid > 0 && cmx_trace_session_follow(session, tracee->pid))
		return -1;
	if (cmx_trace_session_switch(session, true))
		return -1;
	ret = open_gate(tracee);
	if (!ret)
		ret = record(options, session, log, tracee);
	if (cmx_trace_session_switch(session, false) || ret)
		return -1;
	do {
		ret = cmx_trace_log_drain(log, session);
	} while (ret > 0);
	return ret;
}

static int capture(const struct trace_options *options, struct cmx_trace_log *log,
		   struct tracee *tracee)
{
	struct cmx_trace_session session;
	uint64_t lost = 0;
	int ret;

	if (cmx_trace_session_open(&session, options->buffer_kb))
		return -1;
	ret = cmx_trace_log_open(log, &session);
	if (!ret && options->command)
		ret = start_command(options->command, tracee);
	if (!ret)
		ret = trace(options, &session, log, tracee);
	if (!ret)
		ret = cmx_trace_session_lost(&session, &lost);
	log->lost += lost;
	if (cmx_trace_session_close(&session))
		ret = -1;
	finish_command(tracee, ret);
	return ret;
}

static int write_scene(const struct trace_options *options, const struct cmx_trace_scene *scene,
		       uint32_t num_dies, struct cmx_trace_summary *summary)
{
	struct cmx_output_file out;
	int ret;

	if (!strcmp(options->out, "-")) {
		cmx_trace_chrome_write(scene, num_dies, summary, stdout);
		ret = fflush(stdout) || ferror(stdout) ? -EIO : 0;
	} else {
		ret = cmx_output_open(&out, options->out);
		if (!ret) {
			cmx_trace_chrome_write(scene, num_dies, summary, out.f);
			ret = cmx_output_commit(&out);
		}
	}
	if (ret)
		fprintf(stderr, "cmx trace: %s: %s\n", options->out, strerror(-ret));
	return ret;
}

/* Returns an exit status. */
static int print_json(const struct trace_options *options, const struct cmx_trace_summary *sum,
		      const struct tracee *tracee)
{
	json_t *root = json_object();

	cmx_json_set_text(root, "out", options->out);
	cmx_json_set_text(root, "clock", options->host ? "host" : "virtual");
	cmx_json_set(root, "events", sum->events);
	cmx_json_set(root, "commands", sum->commands);
	cmx_json_set(root, "unfinished", sum->unfinished);
	cmx_json_set(root, "failed", sum->failed);
	cmx_json_set(root, "waits", sum->waits);
	cmx_json_set(root, "transfers", sum->transfers);
	cmx_json_set(root, "flows", sum->flows);
	cmx_json_set(root, "bytes", sum->bytes);
	cmx_json_set(root, "unplaced", sum->unplaced);
	cmx_json_set(root, "lost", sum->lost);
	cmx_json_set(root, "timelines", sum->timelines);
	if (options->command)
		json_object_set_new(root, "status", json_integer(tracee->status));
	return cmx_json_print("trace", root, JSON_INDENT(2));
}

static void print_text(const struct trace_options *options, const struct cmx_trace_summary *sum)
{
	fprintf(stderr, "cmx trace: %s: %" PRIu64 " commands, %" PRIu64 " transfers of %" PRIu64
		" bytes, %" PRIu64 " waits", options->out, sum->commands, sum->transfers,
		sum->bytes, sum->waits);
	if (sum->failed)
		fprintf(stderr, ", %" PRIu64 " failed", sum->failed);
	if (sum->unfinished)
		fprintf(stderr, ", %" PRIu64 " unfinished", sum->unfinished);
	fputs("\n", stderr);
}

static int draw(const struct trace_options *options, struct cmx_trace_log *log, uint32_t num_dies,
		const struct tracee *tracee)
{
	struct cmx_trace_summary sum = { .lost = log->lost };
	struct cmx_trace_scene scene;
	int ret;

	cmx_trace_log_sort(log);
	if (cmx_trace_scene_build(&scene, log, options->host))
		return -1;
	ret = write_scene(options, &scene, num_dies, &sum);
	cmx_trace_scene_free(&scene);
	if (ret)
		return ret;
	if (sum.lost)
		fprintf(stderr, "cmx trace: %" PRIu64 " events are missing; a larger --buffer has "
			"room for more\n", sum.lost);
	if (options->json)
		return print_json(options, &sum, tracee);
	print_text(options, &sum);
	return 0;
}

int cmx_trace_main(int argc, char **argv)
{
	struct trace_options options = { .out = "cmx-trace.json", .buffer_kb = DEFAULT_BUFFER };
	struct tracee tracee = { .fd = -1, .gate = -1 };
	struct cmx_trace_log log = { 0 };
	int status = parse_options(argc, argv, &options);
	uint32_t num_dies;

	if (status >= 0)
		return status;
	cmx_stop_catch();
	if (count_dies(&num_dies))
		return CMX_EXIT_FAILED;
	status = CMX_EXIT_FAILED;
	if (!capture(&options, &log, &tracee) && !draw(&options, &log, num_dies, &tracee))
		status = tracee.status;
	cmx_trace_log_close(&log);
	return status;
}
