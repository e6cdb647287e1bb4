// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

/* ------------------------------------------------------------------------ machine */

static int take_machine(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(MACHINE, NODES, cmx_fabric_machine, nodes),
		CMX_NL_FIELD(MACHINE, NPUS_PER_NODE, cmx_fabric_machine, npus_per_node),
		CMX_NL_FIELD(MACHINE, DIES_PER_NPU, cmx_fabric_machine, dies_per_npu),
		CMX_NL_FIELD(MACHINE, SOCKETS_PER_NODE, cmx_fabric_machine, sockets_per_node),
		CMX_NL_FIELD(MACHINE, PLANES, cmx_fabric_machine, planes),
		CMX_NL_FIELD(MACHINE, L2_PER_PLANE, cmx_fabric_machine, l2_per_plane),
		CMX_NL_FIELD(MACHINE, NUM_DIES, cmx_fabric_machine, num_dies),
		CMX_NL_FIELD(MACHINE, NUM_ENTITIES, cmx_fabric_machine, num_entities),
		CMX_NL_FIELD(MACHINE, NUM_L1, cmx_fabric_machine, num_l1),
		CMX_NL_FIELD(MACHINE, NUM_CHIPS, cmx_fabric_machine, num_chips),
		CMX_NL_FIELD(MACHINE, NUM_LINKS, cmx_fabric_machine, num_links),
		CMX_NL_FIELD(MACHINE, GENERATION, cmx_fabric_machine, generation),
		CMX_NL_FIELD(MACHINE, LINKS_DOWN, cmx_fabric_machine, links_down),
		CMX_NL_FIELD(MACHINE, LINKS_DEGRADED, cmx_fabric_machine, links_degraded),
		CMX_NL_FIELD(MACHINE, CLIENTS, cmx_fabric_machine, clients),
		CMX_NL_FIELD(MACHINE, TIMELINES, cmx_fabric_machine, timelines),
		CMX_NL_FIELD(MACHINE, NOW_PS, cmx_fabric_machine, now_ps),
		CMX_NL_FIELD(MACHINE, TOTAL_PS, cmx_fabric_machine, total_ps),
	};
	struct cmx_fabric_machine *machine = arg;

	cmx_nl_text(machine->profile, sizeof(machine->profile),
		    answer->attrs[CMX_A_MACHINE_PROFILE]);
	cmx_nl_read(machine, answer->attrs, fields, COUNT(fields));
	return 0;
}

int cmx_fabric_get_machine(struct cmx_fabric *fabric, struct cmx_fabric_machine *machine)
{
	struct nl_msg *msg = cmx_fabric_request(fabric, CMX_CMD_MACHINE_GET, NLM_F_ACK);

	if (!msg)
		return -ENOMEM;
	*machine = (struct cmx_fabric_machine){ 0 };
	return cmx_fabric_call(fabric, msg, CMX_A_MACHINE_MAX, take_machine, machine);
}

/* ----------------------------------------------------------------------- entities */

static void take_identity(uint8_t identity[16], const struct nlattr *attr)
{
	if (attr && nla_len(attr) == 16)
		memcpy(identity, nla_data(attr), 16);
}

static int take_entity(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(ENTITY, INDEX, cmx_fabric_entity, index),
		CMX_NL_FIELD(ENTITY, KIND, cmx_fabric_entity, kind),
		CMX_NL_FIELD(ENTITY, NODE, cmx_fabric_entity, node),
		CMX_NL_FIELD(ENTITY, NPU, cmx_fabric_entity, npu),
		CMX_NL_FIELD(ENTITY, UNIT, cmx_fabric_entity, unit),
		CMX_NL_FIELD(ENTITY, CNA, cmx_fabric_entity, cna),
		CMX_NL_FIELD(ENTITY, UP, cmx_fabric_entity, admin_up),
		CMX_NL_FIELD(ENTITY, PORTS_UP, cmx_fabric_entity, ports_up),
		CMX_NL_FIELD(ENTITY, CAPACITY, cmx_fabric_entity, capacity),
		CMX_NL_FIELD(ENTITY, USED, cmx_fabric_entity, used),
		CMX_NL_FIELD(ENTITY, RESIDENT, cmx_fabric_entity, resident),
		CMX_NL_FIELD(ENTITY, LAUNCHES, cmx_fabric_entity, launches),
		CMX_NL_FIELD(ENTITY, CUBE_BUSY_PS, cmx_fabric_entity, cube_busy_ps),
		CMX_NL_FIELD(ENTITY, VECTOR_BUSY_PS, cmx_fabric_entity, vector_busy_ps),
		CMX_NL_FIELD(ENTITY, MEM_BUSY_PS, cmx_fabric_entity, mem_busy_ps),
		CMX_NL_FIELD(ENTITY, MEM_BYTES, cmx_fabric_entity, mem_bytes),
		CMX_NL_FIELD(ENTITY, ERRORS, cmx_fabric_entity, errors),
		CMX_NL_FIELD(ENTITY, LOST_BYTES, cmx_fabric_entity, lost_bytes),
	};
	struct cmx_fabric_entity *entity = cmx_fabric_list_add(arg);

	if (!entity)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_entities");
	entity->npu = UINT32_MAX;
	take_identity(entity->eid, answer->attrs[CMX_A_ENTITY_EID]);
	take_identity(entity->guid, answer->attrs[CMX_A_ENTITY_GUID]);
	cmx_nl_read(entity, answer->attrs, fields, COUNT(fields));
	return 0;
}

int cmx_fabric_entities(struct cmx_fabric *fabric, struct cmx_fabric_entity **rows)
{
	struct cmx_fabric_list list = { .row_size = sizeof(**rows) };
	int ret;

	ret = cmx_fabric_dump(fabric, CMX_CMD_ENTITY_GET, 0, CMX_A_ENTITY_MAX, take_entity, &list);
	*rows = list.rows;
	return ret;
}

/* ---------------------------------------------------------------- chips and nodes */

static int take_chip(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(CHIP, INDEX, cmx_fabric_chip, index),
		CMX_NL_FIELD(CHIP, LEVEL, cmx_fabric_chip, level),
		CMX_NL_FIELD(CHIP, PLANE, cmx_fabric_chip, plane),
		CMX_NL_FIELD(CHIP, UNIT, cmx_fabric_chip, unit),
		CMX_NL_FIELD(CHIP, PORTS, cmx_fabric_chip, ports),
		CMX_NL_FIELD(CHIP, UP, cmx_fabric_chip, admin_up),
		CMX_NL_FIELD(CHIP, PORTS_UP, cmx_fabric_chip, ports_up),
	};
	struct cmx_fabric_chip *chip = cmx_fabric_list_add(arg);

	if (!chip)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_chips");
	cmx_nl_read(chip, answer->attrs, fields, COUNT(fields));
	return 0;
}

int cmx_fabric_chips(struct cmx_fabric *fabric, struct cmx_fabric_chip **rows)
{
	struct cmx_fabric_list list = { .row_size = sizeof(**rows) };
	int ret;

	ret = cmx_fabric_dump(fabric, CMX_CMD_CHIP_GET, 0, CMX_A_CHIP_MAX, take_chip, &list);
	*rows = list.rows;
	return ret;
}

static int take_node(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(NODE, INDEX, cmx_fabric_node, index),
		CMX_NL_FIELD(NODE, UP, cmx_fabric_node, admin_up),
	};
	struct cmx_fabric_node *node = cmx_fabric_list_add(arg);

	if (!node)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_nodes");
	cmx_nl_read(node, answer->attrs, fields, COUNT(fields));
	return 0;
}

int cmx_fabric_nodes(struct cmx_fabric *fabric, struct cmx_fabric_node **rows)
{
	struct cmx_fabric_list list = { .row_size = sizeof(**rows) };
	int ret;

	ret = cmx_fabric_dump(fabric, CMX_CMD_NODE_GET, 0, CMX_A_NODE_MAX, take_node, &list);
	*rows = list.rows;
	return ret;
}
