// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmx_command.h"
#include "cmx_info.h"

/* A number with a prefix: binary for bytes, decimal for rates. */
static const char *scaled(char *buf, size_t size, uint64_t value, unsigned int base,
			  const char *unit)
{
	static const char prefixes[] = " kMGTPE";
	const char *infix = base == 1024 ? "i" : "";
	double scaled_value = (double)value;
	unsigned int p = 0;

	while (scaled_value >= base && p < sizeof(prefixes) - 2) {
		scaled_value /= base;
		p++;
	}
	if (!p)
		snprintf(buf, size, "%" PRIu64 " %s", value, unit);
	else
		snprintf(buf, size, "%.4g %c%s%s", scaled_value, prefixes[p], infix, unit);
	return buf;
}

static void print_eid(const __u8 *eid)
{
	for (int i = 0; i < 16; i += 2)
		printf("%s%02x%02x", i ? ":" : "", eid[i], eid[i + 1]);
}

static void print_place(const struct cmx_info_entry *entry)
{
	const struct drm_cmx_info_entity *entity = &entry->entity;

	if (entity->kind == CMX_ENTITY_DIE)
		printf("%4u  die     node %u npu %u die %u", entry->index, entity->node,
		       entity->npu, entity->unit);
	else
		printf("%4u  socket  node %u socket %u", entry->index, entity->node, entity->unit);
}

static void print_entity(const struct cmx_info_entry *entry)
{
	const struct drm_cmx_info_entity *entity = &entry->entity;
	char a[32], b[32], c[32], d[32];

	print_place(entry);
	printf("  eid ");
	print_eid(entity->eid);
	printf("  cna %#x\n", entity->cna);
	printf("      memory %s (%s used, %s resident), %s",
	       scaled(a, sizeof(a), entity->capacity, 1024, "B"),
	       scaled(b, sizeof(b), entity->used, 1024, "B"),
	       scaled(c, sizeof(c), entity->resident, 1024, "B"),
	       scaled(d, sizeof(d), entity->mem_rate, 1000, "B/s"));
	printf("; port %s\n", scaled(a, sizeof(a), entity->port_rate, 1000, "B/s"));
	if (entity->kind != CMX_ENTITY_DIE)
		return;
	printf("      %u cube cores (int8 %s, bf16 %s), %u vector cores (%s)\n",
	       entity->cube_cores,
	       scaled(a, sizeof(a), entity->cube_rate[CMX_OPS_INT8], 1000, "op/s"),
	       scaled(b, sizeof(b), entity->cube_rate[CMX_OPS_BF16], 1000, "op/s"),
	       entity->vector_cores, scaled(c, sizeof(c), entity->vector_rate, 1000, "op/s"));
}

static void print_machine(const struct cmx_info *info)
{
	const struct drm_cmx_info_device *device = &info->device;

	printf("%s: %.*s, interface %u.%u\n", info->path, (int)sizeof(device->profile),
	       (const char *)device->profile, device->abi_major, device->abi_minor);
	printf("  %u nodes, %u NPUs, %u dies, %u sockets\n", device->num_nodes, device->num_npus,
	       device->num_dies, device->num_sockets);
	printf("  can:");
	for (uint32_t i = 0; i < cmx_info_num_caps; i++) {
		if (device->caps & cmx_info_caps[i].bit)
			printf(" %s", cmx_info_caps[i].name);
	}
	printf("\n");
}

static void print_limits(const struct drm_cmx_info_limits *limits)
{
	char a[32], b[32];

	printf("  a file: %u queues, %u completion rings, %u BOs, %u mappings, %u timelines\n",
	       limits->max_queues, limits->max_cqs, limits->max_bos, limits->max_mappings,
	       limits->max_timelines);
	printf("  an entry: %s at most; a BO: %s at most\n",
	       scaled(a, sizeof(a), limits->max_len, 1024, "B"),
	       scaled(b, sizeof(b), limits->max_bo_size, 1024, "B"));
}

static void print_totals(const struct cmx_info *info)
{
	uint64_t capacity = 0, used = 0, resident = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < info->count; i++) {
		capacity += info->entries[i].entity.capacity;
		used += info->entries[i].entity.used;
		resident += info->entries[i].entity.resident;
	}
	printf("  memory %s, %s used, %s resident\n", scaled(a, sizeof(a), capacity, 1024, "B"),
	       scaled(b, sizeof(b), used, 1024, "B"), scaled(c, sizeof(c), resident, 1024, "B"));
}

int cmx_info_print_text(const struct cmx_info *info, int detail)
{
	uint32_t last = UINT32_MAX;

	print_machine(info);
	print_limits(&info->limits);
	if (info->count > 1)
		print_totals(info);
	for (uint32_t i = 0; i < info->count; i++) {
		/* Entities of a kind are alike: without detail the first stands for all. */
		if (detail || info->entries[i].entity.kind != last)
			print_entity(&info->entries[i]);
		last = info->entries[i].entity.kind;
	}
	return ferror(stdout) || fflush(stdout) ? CMX_EXIT_FAILED : CMX_EXIT_OK;
}
