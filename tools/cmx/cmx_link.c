// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx link: list links, show one, change the state of links and other parts.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_link.h"
#include "cmx_part.h"

struct link_options {
	/* As written: what they may be depends on the machine. */
	const char *node;
	const char *planes;
	uint32_t kind;
	bool down;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx link [list] [OPTIONS]\n"
		"       cmx link show LINK [--json]\n"
		"       cmx link set LINK up|down|PERMILLE\n"
		"       cmx link set chip:CHIP|entity:ENTITY|node:NODE up|down\n"
		"\n"
		"List links, show one with its counters, or change the state of a part.\n"
		"PERMILLE, 1 to 1000, is the share of its rate that a link keeps.\n"
		"  -n, --node NODE    only links with an end in this node\n"
		"  -p, --plane LIST   only links of these planes (0,2-4, or rdma, or vpc)\n"
		"  -k, --kind KIND    only links of this kind: ub, l2, die, rdma or vpc\n"
		"  -d, --down         only links that are down or degraded\n"
		"  -j, --json         as JSON\n");
	return status;
}

static int parse_kind(const char *text, uint32_t *kind)
{
	static const char * const kinds[] = { "ub", "l2", "die", "rdma", "vpc", NULL };

	if (cmx_argument_word("link", "--kind", text, kinds, kind))
		return -1;
	/* They are in the order of their numbers, from 1. */
	(*kind)++;
	return 0;
}

/* Returns an exit status, or -1 to go on. */
static int parse_option(struct link_options *o, int c)
{
	switch (c) {
	case 'n':
		o->node = optarg;
		return -1;
	case 'p':
		o->planes = optarg;
		return -1;
	case 'k':
		return parse_kind(optarg, &o->kind) ? CMX_EXIT_USAGE : -1;
	case 'd':
		o->down = true;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		return usage(stdout, CMX_EXIT_OK);
	default:
		return usage(stderr, CMX_EXIT_USAGE);
	}
}

static int parse_options(int argc, char **argv, struct link_options *o)
{
	static const struct option longs[] = {
		{ "node", required_argument, NULL, 'n' },
		{ "plane", required_argument, NULL, 'p' },
		{ "kind", required_argument, NULL, 'k' },
		{ "down", no_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = -1;

	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "n:p:k:djh", longs, NULL)) != -1)
		status = parse_option(o, c);
	return status;
}

static int fail(void)
{
	fprintf(stderr, "cmx link: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

static int list(struct cmx_fabric *fabric, const struct link_options *o)
{
	struct cmx_link_filter filter = { CMX_LINK_ANY, 0, o->kind, o->down };
	struct cmx_snapshot s;
	int status = CMX_EXIT_USAGE;

	if (cmx_snapshot_take("link", fabric, CMX_SNAPSHOT_STATES, &s))
		return CMX_EXIT_FAILED;
	if (o->node && cmx_part_parse_node("link", &s.machine, o->node, &filter.node))
		goto out;
	if (o->planes && cmx_part_parse_planes("link", &s.machine, o->planes, &filter.planes))
		goto out;
	status = o->json ? cmx_link_print_list_json(&s, &filter) : cmx_link_print_list(&s, &filter);
out:
	cmx_snapshot_free(&s);
	return status;
}

static int parse_link(const struct cmx_fabric_machine *m, const char *text, uint32_t *index)
{
	uint64_t value;

	if (cmx_argument_number("link", "LINK", text, 0, m->num_links - 1, &value))
		return -1;
	*index = (uint32_t)value;
	return 0;
}

static int show(struct cmx_fabric *fabric, const struct link_options *o, const char *link)
{
	struct cmx_snapshot s;
	uint32_t index;
	int status = CMX_EXIT_USAGE;

	if (cmx_snapshot_take("link", fabric, CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_CHIPS |
			      CMX_SNAPSHOT_LINKS, &s))
		return CMX_EXIT_FAILED;
	if (!parse_link(&s.machine, link, &index))
		status = o->json ? cmx_link_print_one_json(&s, index) :
				   cmx_link_print_one(&s, index);
	cmx_snapshot_free(&s);
	return status;
}

/* A link's number, or "chip:", "entity:" or "node:" and what it is called. */
static int parse_part(const struct cmx_fabric_machine *m, const char *text, uint32_t *object,
		      uint32_t *index)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	*object = CMX_FABRIC_OBJ_LINK;
	if (!colon || (len == 4 && !strncmp(text, "link", len)))
		return parse_link(m, colon ? colon + 1 : text, index);
	*object = CMX_FABRIC_OBJ_CHIP;
	if (len == 4 && !strncmp(text, "chip", len))
		return cmx_part_parse_chip("link", m, colon + 1, index);
	*object = CMX_FABRIC_OBJ_ENTITY;
	if (len == 6 && !strncmp(text, "entity", len))
		return cmx_part_parse_entity("link", m, colon + 1, index);
	*object = CMX_FABRIC_OBJ_NODE;
	if (len == 4 && !strncmp(text, "node", len))
		return cmx_part_parse_node("link", m, colon + 1, index);
	fprintf(stderr,
		"cmx link: `%s' is no part: expected a link's number, chip:, entity: or node:\n",
		text);
	return -1;
}

static int parse_state(const char *text, uint32_t object, int *up, uint32_t *permille)
{
	uint64_t value = 0;

	*up = -1;
	if (!strcmp(text, "up"))
		*up = 1;
	else if (!strcmp(text, "down"))
		*up = 0;
	else if (object == CMX_FABRIC_OBJ_LINK &&
		 cmx_argument_number("link", "state other than up and down", text, 1, 1000, &value))
		return -1;
	*permille = (uint32_t)value;
	if (*up >= 0 || value)
		return 0;
	fprintf(stderr, "cmx link: state `%s': a %s is set up or down\n", text,
		cmx_part_object(object));
	return -1;
}

static int set(struct cmx_fabric *fabric, const char *part, const char *state)
{
	struct cmx_fabric_machine machine;
	uint32_t object, index, permille;
	int up;

	if (cmx_fabric_get_machine(fabric, &machine))
		return fail();
	if (parse_part(&machine, part, &object, &index) ||
	    parse_state(state, object, &up, &permille))
		return CMX_EXIT_USAGE;
	return cmx_fabric_set(fabric, object, index, up, permille) ? fail() : CMX_EXIT_OK;
}

/* @argv: the words that are no options. Returns an exit status. */
static int run(struct cmx_fabric *fabric, const struct link_options *o, int argc, char **argv)
{
	bool filters = o->node || o->planes || o->kind || o->down;

	if (!argc || (argc == 1 && !strcmp(argv[0], "list")))
		return list(fabric, o);
	if (argc == 2 && !strcmp(argv[0], "show") && !filters)
		return show(fabric, o, argv[1]);
	if (argc == 3 && !strcmp(argv[0], "set") && !filters && !o->json)
		return set(fabric, argv[1], argv[2]);
	return usage(stderr, CMX_EXIT_USAGE);
}

int cmx_link_main(int argc, char **argv)
{
	struct link_options options = {};
	struct cmx_fabric *fabric;
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (cmx_fabric_open(&fabric))
		return fail();
	status = run(fabric, &options, argc - optind, argv + optind);
	cmx_fabric_close(fabric);
	return status;
}
