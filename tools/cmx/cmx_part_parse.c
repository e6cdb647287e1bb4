// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts as a user names them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmx_part.h"

/* What is being read, for the error texts. */
struct reading {
	const char *command;
	const char *text;
};

/*
 * @word and a number at @at: moves behind them. Numbers past 32 bits stay at the largest one,
 * which no machine has.
 */
static bool take(const char **at, const char *word, uint32_t *value)
{
	const char *p = *at;
	uint64_t number = 0;

	if (strncmp(p, word, strlen(word)))
		return false;
	p += strlen(word);
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		number = number * 10 + (uint64_t)(*p - '0');
		if (number > UINT32_MAX)
			number = UINT32_MAX;
	}
	*value = (uint32_t)number;
	*at = p;
	return true;
}

static int limit(const struct reading *r, const char *what, uint32_t value, uint32_t count)
{
	if (value < count)
		return 0;
	fprintf(stderr, "cmx %s: `%s': there is no %s %u; there are %u, from 0\n", r->command,
		r->text, what, value, count);
	return -EINVAL;
}

static int unreadable(const struct reading *r, const char *what, const char *forms)
{
	fprintf(stderr, "cmx %s: `%s' is no %s: expected %s\n", r->command, r->text, what, forms);
	return -EINVAL;
}

int cmx_part_parse_entity(const char *command, const struct cmx_fabric_machine *machine,
			  const char *text, uint32_t *index)
{
	const struct reading r = { command, text };
	uint32_t node, npu, die, socket;
	const char *at = text;

	if (take(&at, "", index) && !*at)
		return limit(&r, "entity", *index, machine->num_entities);
	at = text;
	if (take(&at, "n", &node) && take(&at, ".npu", &npu) && take(&at, ".die", &die) && !*at) {
		*index = (node * machine->npus_per_node + npu) * machine->dies_per_npu + die;
		return limit(&r, "node", node, machine->nodes) ?:
		       limit(&r, "NPU", npu, machine->npus_per_node) ?:
		       limit(&r, "die", die, machine->dies_per_npu);
	}
	at = text;
	if (take(&at, "n", &node) && take(&at, ".socket", &socket) && !*at) {
		*index = machine->num_dies + node * machine->sockets_per_node + socket;
		return limit(&r, "node", node, machine->nodes) ?:
		       limit(&r, "socket", socket, machine->sockets_per_node);
	}
	return unreadable(&r, "entity", "a number, n0.npu0.die0 or n0.socket0");
}

int cmx_part_parse_chip(const char *command, const struct cmx_fabric_machine *machine,
			const char *text, uint32_t *index)
{
	const struct reading r = { command, text };
	uint32_t node, plane, chip;
	const char *at = text;

	if (take(&at, "", index) && !*at)
		return limit(&r, "chip", *index, machine->num_chips);
	at = text;
	if (take(&at, "n", &node) && take(&at, ".plane", &plane) && !*at) {
		*index = node * machine->planes + plane;
		return limit(&r, "node", node, machine->nodes) ?:
		       limit(&r, "plane", plane, machine->planes);
	}
	at = text;
	if (take(&at, "plane", &plane) && take(&at, ".chip", &chip) && !*at) {
		*index = machine->num_l1 + plane * machine->l2_per_plane + chip;
		return limit(&r, "plane", plane, machine->planes) ?:
		       limit(&r, "chip of a plane", chip, machine->l2_per_plane);
	}
	return unreadable(&r, "switch chip", "a number, n0.plane0 or plane0.chip0");
}

int cmx_part_parse_node(const char *command, const struct cmx_fabric_machine *machine,
			const char *text, uint32_t *index)
{
	const struct reading r = { command, text };
	const char *at = text;

	if (take(&at, *text == 'n' ? "n" : "", index) && !*at)
		return limit(&r, "node", *index, machine->nodes);
	return unreadable(&r, "node", "a number or n0");
}

/* One of the list: a plane or a range of them. */
static int take_range(const struct reading *r, const struct cmx_fabric_machine *machine,
		      const char **at, uint32_t *planes)
{
	uint32_t first, last;

	if (!take(at, "", &first))
		return unreadable(r, "list of planes", "0,2-4 or rdma or vpc");
	last = first;
	if (**at == '-' && !take(at, "-", &last))
		return unreadable(r, "list of planes", "0,2-4 or rdma or vpc");
	if (limit(r, "plane", first, machine->planes) || limit(r, "plane", last, machine->planes))
		return -EINVAL;
	if (last < first)
		return unreadable(r, "list of planes", "ranges from low to high");
	for (uint32_t p = first; p <= last; p++)
		*planes |= 1U << p;
	return 0;
}

int cmx_part_parse_planes(const char *command, const struct cmx_fabric_machine *machine,
			  const char *text, uint32_t *planes)
{
	const struct reading r = { command, text };
	const char *at = text;

	*planes = 0;
	if (!strcmp(text, "rdma"))
		*planes = 1U << CMX_FABRIC_PLANE_RDMA;
	else if (!strcmp(text, "vpc"))
		*planes = 1U << CMX_FABRIC_PLANE_VPC;
	if (*planes)
		return 0;
	for (;;) {
		if (take_range(&r, machine, &at, planes))
			return -EINVAL;
		if (!*at)
			return 0;
		if (*at++ != ',')
			return unreadable(&r, "list of planes", "0,2-4 or rdma or vpc");
	}
}
