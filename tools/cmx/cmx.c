// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx: one command for a CMX supernode; the first argument names a sub-command.
 */
#include <stdio.h>
#include <string.h>

#include <cmx/cmx.h>

#include "cmx_command.h"

struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "counters", cmx_counters_main, "show what links, entities and clients carried" },
	{ "info", cmx_info_main, "show the machine, its limits and its entities" },
#ifdef CMX_COMMAND_infer
	{ "infer", cmx_infer_main, "run a language model on the NPUs" },
#endif
	{ "link", cmx_link_main, "list links, change the state of parts" },
	{ "monitor", cmx_monitor_main, "print events as they come" },
	{ "perf", cmx_perf_main, "measure transfers, collectives and operators" },
	{ "profile", cmx_profile_main, "show, check or load the machine's constants" },
	{ "smi", cmx_smi_main, "show the NPUs, their memory, use and processes" },
	{ "timeline", cmx_timeline_main, "sum up or draw a trace in virtual time" },
	{ "topo", cmx_topo_main, "show the supernode, a way through it, or a picture" },
	{ "trace", cmx_trace_main, "record what queues do, for Perfetto" },
	{ "verify", cmx_verify_main, "published figures beside the model's" },
};

#define NUM_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *to)
{
	fprintf(to, "usage: cmx COMMAND [ARGUMENTS]\n\ncommands:\n");
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "  %-10s %s\n", "help", "show this text, or a command's with its name behind");
	fprintf(to, "\n`cmx --version' prints the versions of the library and the interface.\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NUM_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	fprintf(stderr, "cmx: there is no command `%s'; `cmx help' lists them\n", name);
	return CMX_EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
	const struct command *command;
	char option[] = "--help";
	char *help_argv[3] = {};

	if (argc < 2) {
		print_usage(stdout);
		return CMX_EXIT_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	help_argv[0] = argv[1];
	help_argv[1] = option;
	return command->main(2, help_argv);
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return CMX_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("cmx %s, interface %d.%d\n", cmx_version(), CMX_ABI_MAJOR, CMX_ABI_MINOR);
		return CMX_EXIT_OK;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_help(argc - 1, argv + 1);
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return command->main(argc - 1, argv + 1);
}
