/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the parts of a supernode:
 *   n0.npu3.die1, n0.socket2   entities
 *   n0.plane4, plane4.chip12   L1 and L2 chips
 *   n0                         nodes
 * Where a part is asked for, its number does as well.
 */
#ifndef CMX_PART_H
#define CMX_PART_H

#include <stdint.h>

#include <cmx/fabric.h>

/* By value: good as an argument of printf(), `.text' lives to the end of the statement. */
struct cmx_part {
	char text[48];
};

struct cmx_part cmx_part_entity(const struct cmx_fabric_machine *machine, uint32_t index);
struct cmx_part cmx_part_chip(const struct cmx_fabric_machine *machine, uint32_t index);
struct cmx_part cmx_part_node(uint32_t node);
struct cmx_part cmx_part_end(const struct cmx_fabric_machine *machine,
			     const struct cmx_fabric_end *end);
/* A process may call itself anything: what is not plain text is a question mark. */
struct cmx_part cmx_part_process(const char comm[16]);
/* "0-3,5,rdma". */
struct cmx_part cmx_part_planes(uint32_t planes);
/* "ub", "l2", "die", "rdma", "vpc". */
const char *cmx_part_link_kind(uint32_t kind);
/* "link", "chip", "entity", "node". */
const char *cmx_part_object(uint32_t object);

/* Node of an entity or L1 chip. */
uint32_t cmx_part_entity_node(const struct cmx_fabric_machine *machine, uint32_t index);

/*
 * What a user wrote: 0, or -EINVAL and a text on stderr that begins with "cmx @command: ".
 * All check that the part is one of @machine.
 */
int cmx_part_parse_entity(const char *command, const struct cmx_fabric_machine *machine,
			  const char *text, uint32_t *index);
int cmx_part_parse_chip(const char *command, const struct cmx_fabric_machine *machine,
			const char *text, uint32_t *index);
int cmx_part_parse_node(const char *command, const struct cmx_fabric_machine *machine,
			const char *text, uint32_t *index);
/* "0,2-4", or "rdma", or "vpc"; bits as in struct drm_cmx_queue_create. */
int cmx_part_parse_planes(const char *command, const struct cmx_fabric_machine *machine,
			  const char *text, uint32_t *planes);

#endif /* CMX_PART_H */
