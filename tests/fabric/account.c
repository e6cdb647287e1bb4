// SPDX-License-Identifier: GPL-2.0-only
#include "account.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHIPS	128

/* By the way bytes take; false: none. */
static bool add_transfer(struct account *a, const struct world *world, const struct view *view,
			 uint32_t planes, const struct op *op)
{
	uint32_t from = world_node(world, op->from), to = world_node(world, op->to);
	struct view_route route;

	view_route(view, world, op->from, op->to, planes, &route);
	if (!route.reachable)
		return false;
	a->memory[op->from] += op->bytes;
	a->memory[op->to] += op->bytes;
	if (op->from == op->to)
		return true;
	if (planes == 1U << CMX_FABRIC_PLANE_RDMA) {
		a->rdma_out[op->from] += op->bytes;
		a->rdma_in[op->to] += op->bytes;
	} else if (planes == 1U << CMX_FABRIC_PLANE_VPC) {
		a->vpc_out[from] += op->bytes;
		a->vpc_in[to] += op->bytes;
	} else if (route.sibling) {
		a->die_out[op->from] += op->bytes;
		a->die_in[op->to] += op->bytes;
	} else {
		a->ub_out[op->from] += op->bytes;
		a->ub_in[op->to] += op->bytes;
		if (from != to) {
			a->trunk_out[from] += op->bytes;
			a->trunk_in[to] += op->bytes;
		}
	}
	return true;
}

/* A launch does not fail with what it sends, so the view has to say what came of that. */
static void add_line(struct account *account, const struct world *world, const struct view *view,
		     const struct line *line)
{
	for (uint32_t j = 0; j < line->count; j++) {
		const struct op *op = &line->ops[j];

		account->failed += !!op->status;
		if (op->status == UB_CR_ACK_TIMEOUT ||
		    (!op->status && !add_transfer(account, world, view, line->planes, op)))
			account->lost[line->entity] += op->bytes;
	}
}

void account_add(struct account *account, const struct world *world, const struct view *view,
		 const struct load *load)
{
	for (uint32_t i = 0; i < load->count; i++)
		add_line(account, world, view, &load->lines[i]);
}

/* Both directions of a link, added to what is expected where it ends. */
static void subtract_link(struct account *left, const struct world *world,
			  const struct cmx_fabric_link *link)
{
	uint32_t a = link->a.index, node;

	switch (link->kind) {
	case CMX_FABRIC_LINK_UB:
		left->ub_out[a] -= link->up_bytes;
		left->ub_in[a] -= link->down_bytes;
		break;
	case CMX_FABRIC_LINK_L2:
		/* L1 chips are numbered by node, then plane. */
		node = a / world->machine.planes;
		left->trunk_out[node] -= link->up_bytes;
		left->trunk_in[node] -= link->down_bytes;
		break;
	case CMX_FABRIC_LINK_DIE:
		left->die_out[a] -= link->up_bytes;
		left->die_in[link->b.index] -= link->up_bytes;
		left->die_out[link->b.index] -= link->down_bytes;
		left->die_in[a] -= link->down_bytes;
		break;
	case CMX_FABRIC_LINK_RDMA:
		left->rdma_out[a] -= link->up_bytes;
		left->rdma_in[a] -= link->down_bytes;
		break;
	default:
		node = world_node(world, a);
		left->vpc_out[node] -= link->up_bytes;
		left->vpc_in[node] -= link->down_bytes;
	}
}

static bool is_nothing(const char *what, const uint64_t left[MAX_ENTITIES])
{
	bool nothing = true;

	for (uint32_t i = 0; i < MAX_ENTITIES; i++) {
		if (!left[i])
			continue;
		printf("# %s of %u: %" PRId64 " bytes expected and not counted\n", what, i,
		       (int64_t)left[i]);
		nothing = false;
	}
	return nothing;
}

static bool all_came(const struct account *left)
{
	/* Not short-circuit: all that is wrong is shown. */
	return is_nothing("UB out", left->ub_out) & is_nothing("UB in", left->ub_in) &
	       is_nothing("sibling out", left->die_out) & is_nothing("sibling in", left->die_in) &
	       is_nothing("RDMA out", left->rdma_out) & is_nothing("RDMA in", left->rdma_in) &
	       is_nothing("trunk up", left->trunk_out) & is_nothing("trunk down", left->trunk_in) &
	       is_nothing("VPC out", left->vpc_out) & is_nothing("VPC in", left->vpc_in);
}

bool account_chips_balance(const struct world *world, const struct cmx_fabric_link *links,
			   uint32_t count)
{
	int64_t balance[MAX_CHIPS] = { 0 };
	bool balanced = true;

	for (uint32_t i = 0; i < count; i++) {
		const struct cmx_fabric_link *link = &links[i];
		int64_t up = (int64_t)(link->up_bytes - link->down_bytes);

		if (link->a.kind == CMX_FABRIC_CHIP)
			balance[link->a.index] -= up;
		if (link->b.kind == CMX_FABRIC_CHIP)
			balance[link->b.index] += up;
	}
	for (uint32_t i = 0; i < world->machine.num_chips; i++) {
		if (!balance[i])
			continue;
		printf("# chip %u: %" PRId64 " bytes came in and did not go out\n", i, balance[i]);
		balanced = false;
	}
	return balanced;
}

bool account_matches(const struct account *account, const struct world *world)
{
	struct account left = *account;
	struct cmx_fabric_link *links;
	int count = cmx_fabric_links(world->fabric, &links);
	bool matches;

	if (count < 0) {
		world_failed("links", count);
		return false;
	}
	for (int i = 0; i < count; i++)
		subtract_link(&left, world, &links[i]);
	matches = account_chips_balance(world, links, (uint32_t)count) & all_came(&left);
	free(links);
	return matches;
}

static bool is_same(const char *what, uint32_t entity, uint64_t counted, uint64_t expected)
{
	if (counted == expected)
		return true;
	printf("# entity %u: %" PRIu64 " bytes %s, by its commands %" PRIu64 "\n", entity, counted,
	       what, expected);
	return false;
}

bool account_entities_match(const struct account *account, const struct world *world)
{
	struct cmx_fabric_entity *entities;
	int count = cmx_fabric_entities(world->fabric, &entities);
	bool matches = count >= 0;

	for (int i = 0; i < count; i++) {
		matches &= is_same("lost", (uint32_t)i, entities[i].lost_bytes, account->lost[i]);
		matches &= is_same("of memory", (uint32_t)i, entities[i].mem_bytes,
				   account->memory[i]);
	}
	if (count >= 0)
		free(entities);
	return matches;
}

static bool is_overworked(const char *what, uint32_t index, uint64_t busy, uint64_t elapsed)
{
	if (busy <= elapsed)
		return false;
	printf("# %s %u was busy for %" PRIu64 " of %" PRIu64 " ps\n", what, index, busy, elapsed);
	return true;
}

bool account_nobody_overworked(const struct world *world, uint64_t elapsed)
{
	struct cmx_fabric_link *links;
	struct cmx_fabric_entity *entities;
	int num_links = cmx_fabric_links(world->fabric, &links);
	int num_entities = cmx_fabric_entities(world->fabric, &entities);
	bool over = num_links < 0 || num_entities < 0;

	for (int i = 0; i < num_links; i++) {
		over |= is_overworked("link up", (uint32_t)i, links[i].up_busy_ps, elapsed);
		over |= is_overworked("link down", (uint32_t)i, links[i].down_busy_ps, elapsed);
	}
	for (int i = 0; i < num_entities; i++)
		over |= is_overworked("memory", (uint32_t)i, entities[i].mem_busy_ps, elapsed);
	if (num_links >= 0)
		free(links);
	if (num_entities >= 0)
		free(entities);
	return !over;
}
