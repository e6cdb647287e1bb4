/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx smi' prints.
 */
#ifndef CMX_SMI_H
#define CMX_SMI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmx_link_sums.h"
#include "cmx_snapshot.h"

#define CMX_SMI_ALL	UINT32_MAX

/** enum cmx_smi_by - what a map shows. */
enum cmx_smi_by {
	CMX_SMI_HBM,		/* memory in use */
	CMX_SMI_CORE,		/* cube cores busy */
	CMX_SMI_PORT,		/* UB links busy */
};

/** struct cmx_smi - a snapshot, or the difference of two, and how to show it. */
struct cmx_smi {
	struct cmx_snapshot snapshot;
	struct cmx_link_sums sums;
	/* Only this node, or CMX_SMI_ALL. */
	uint32_t node;
	enum cmx_smi_by by;
	/* Colours may be used. */
	bool colour;
	/* Blocks of UTF-8 may be used. */
	bool utf8;
	/* Width of the terminal. */
	uint32_t columns;
};

/* Whether @entity is a die of those to show. */
bool cmx_smi_shows(const struct cmx_smi *smi, uint32_t entity);
/* "OK"; "Warning": some UB links down or degraded; "Critical": down, or cut off. */
const char *cmx_smi_health(const struct cmx_smi *smi, uint32_t die);
/* In permille, of what @by says. */
uint32_t cmx_smi_share(const struct cmx_smi *smi, uint32_t die, enum cmx_smi_by by);

/* All return an exit status. */
int cmx_smi_print_table(const struct cmx_smi *smi);
int cmx_smi_print_map(const struct cmx_smi *smi);
/* @flags: of json_dumpf(). */
int cmx_smi_print_json(const struct cmx_smi *smi, size_t flags);

#endif /* CMX_SMI_H */
