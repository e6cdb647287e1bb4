// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx profile: the machine's constants; check a file of them, make the machine anew from it.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <cmx/profile.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_profile_cmd.h"

struct profile_options {
	/* 0: all of the profile's. */
	uint64_t nodes;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx profile show [FILE] [--json]\n"
		"       cmx profile check FILE\n"
		"       cmx profile load FILE [--nodes N]\n"
		"\n"
		"Show the constants of the machine, or of a profile in FILE; check a profile; make\n"
		"the machine anew from one, which nobody may use meanwhile.\n"
		"  -n, --nodes N  use N nodes (default: all that the profile has)\n"
		"  -j, --json     as JSON, in the form that check and load read\n");
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, struct profile_options *o)
{
	static const struct option longs[] = {
		{ "nodes", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "n:jh", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			if (cmx_argument_number("profile", "--nodes", optarg, 1, UINT32_MAX,
						&o->nodes))
				return CMX_EXIT_USAGE;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			return usage(stdout, CMX_EXIT_OK);
		default:
			return usage(stderr, CMX_EXIT_USAGE);
		}
	}
	return -1;
}

static int fail(void)
{
	fprintf(stderr, "cmx profile: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

static int print(struct cmx_profile *profile, bool json)
{
	if (!json)
		return cmx_profile_print_text(profile);
	return cmx_profile_write(profile, "-") ? fail() : CMX_EXIT_OK;
}

static int show_file(const char *file, bool json)
{
	struct cmx_profile *profile;
	int status;

	if (cmx_profile_read(file, &profile))
		return fail();
	status = print(profile, json);
	cmx_profile_free(profile);
	return status;
}

static int show_current(bool json)
{
	struct cmx_profile *profile;
	struct cmx_fabric *fabric;
	int status;

	if (cmx_fabric_open(&fabric))
		return fail();
	status = cmx_profile_current(fabric, &profile) ? fail() : CMX_EXIT_OK;
	if (!status) {
		status = print(profile, json);
		cmx_profile_free(profile);
	}
	cmx_fabric_close(fabric);
	return status;
}

static int check(const char *file)
{
	struct cmx_profile *profile;
	int status;

	if (cmx_profile_read(file, &profile))
		return fail();
	status = cmx_profile_print_check(file, profile);
	cmx_profile_free(profile);
	return status;
}

static int load(const char *file, uint32_t nodes)
{
	struct cmx_fabric *fabric = NULL;
	struct cmx_profile *profile;
	int status = CMX_EXIT_OK;

	if (cmx_profile_read(file, &profile))
		return fail();
	if (cmx_fabric_open(&fabric) || cmx_profile_load(fabric, profile, nodes))
		status = fail();
	cmx_fabric_close(fabric);
	cmx_profile_free(profile);
	return status;
}

int cmx_profile_main(int argc, char **argv)
{
	struct profile_options o = {};
	int status = parse_options(argc, argv, &o);
	int words = argc - optind;

	if (status >= 0)
		return status;
	argv += optind;
	if ((words == 1 || words == 2) && !strcmp(argv[0], "show") && !o.nodes)
		return words == 2 ? show_file(argv[1], o.json) : show_current(o.json);
	if (words == 2 && !strcmp(argv[0], "check") && !o.nodes && !o.json)
		return check(argv[1]);
	if (words == 2 && !strcmp(argv[0], "load") && !o.json)
		return load(argv[1], (uint32_t)o.nodes);
	return usage(stderr, CMX_EXIT_USAGE);
}
