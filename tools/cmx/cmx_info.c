// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmx/cmx.h>

#include "cmx_command.h"
#include "cmx_info.h"

#define ALL_ENTITIES	UINT32_MAX

const struct cmx_info_cap cmx_info_caps[] = {
	{ CMX_CAP_NO_DATA, "no-data" },
	{ CMX_CAP_PRIME, "prime" },
	{ CMX_CAP_SHARED_TIMELINE, "shared-timeline" },
	{ CMX_CAP_FREE_RUNNING, "free-running" },
	{ CMX_CAP_LAUNCH, "launch" },
	{ CMX_CAP_RECORD, "record" },
	{ CMX_CAP_RQ, "rq" },
	{ CMX_CAP_SEGMENT, "segment" },
};

const uint32_t cmx_info_num_caps = sizeof(cmx_info_caps) / sizeof(cmx_info_caps[0]);

struct info_options {
	const char *device;
	uint32_t entity;
	bool detail;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: cmx info [--json] [--device PATH] [--entities | --entity N]\n"
		    "\n"
		    "Show a supernode, its limits, and one die and socket (or all, or entity N).\n"
		    "  -j, --json         as JSON, with all entities unless one is named\n"
		    "  -d, --device PATH  device node; else $CMX_DEVICE, else the first one\n"
		    "  -e, --entities     a line for each entity\n"
		    "  -n, --entity N     only this entity\n");
	return status;
}

static int parse_entity(const char *text, uint32_t *entity)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value >= ALL_ENTITIES) {
		fprintf(stderr, "cmx info: --entity `%s' is not a number below %u\n", text,
			ALL_ENTITIES);
		return -EINVAL;
	}
	*entity = (uint32_t)value;
	return 0;
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, struct info_options *options)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "device", required_argument, NULL, 'd' },
		{ "entities", no_argument, NULL, 'e' },
		{ "entity", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "jd:en:h", longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			options->json = true;
			break;
		case 'd':
			options->device = optarg;
			break;
		case 'n':
			if (parse_entity(optarg, &options->entity))
				return CMX_EXIT_USAGE;
			options->detail = true;
			break;
		case 'e':
			options->detail = true;
			break;
		case 'h':
			return usage(stdout, CMX_EXIT_OK);
		default:
			return usage(stderr, CMX_EXIT_USAGE);
		}
	}
	if (optind != argc) {
		fprintf(stderr, "cmx info: unexpected argument `%s'\n", argv[optind]);
		return usage(stderr, CMX_EXIT_USAGE);
	}
	return -1;
}

static int gather_entity(struct cmx_ctx *ctx, struct cmx_info *info, uint32_t index)
{
	struct cmx_info_entry *entry = &info->entries[info->count];
	int ret = cmx_entity_info(ctx, index, &entry->entity);

	if (ret)
		return ret;
	entry->index = index;
	info->count++;
	return 0;
}

static int fail(void)
{
	fprintf(stderr, "cmx info: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

/* Returns an exit status. */
static int gather(struct cmx_ctx *ctx, const struct info_options *options, struct cmx_info *info)
{
	bool one = options->entity != ALL_ENTITIES;
	uint32_t first = one ? options->entity : 0;
	uint32_t count;

	info->path = cmx_path(ctx);
	info->device = *cmx_device(ctx);
	info->limits = *cmx_limits(ctx);
	count = one ? 1 : info->device.num_entities;
	info->entries = calloc(count ? count : 1, sizeof(*info->entries));
	if (!info->entries) {
		fprintf(stderr, "cmx info: no memory for %u entities\n", count);
		return CMX_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (gather_entity(ctx, info, first + i))
			return fail();
	}
	return CMX_EXIT_OK;
}

int cmx_info_main(int argc, char **argv)
{
	struct info_options options = { .entity = ALL_ENTITIES };
	struct cmx_info info = {};
	struct cmx_ctx *ctx = NULL;
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (cmx_open(options.device, 0, &ctx))
		return fail();
	status = gather(ctx, &options, &info);
	if (!status && options.json)
		status = cmx_info_print_json(&info);
	else if (!status)
		status = cmx_info_print_text(&info, options.detail);
	free(info.entries);
	cmx_close(ctx);
	return status;
}
