/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of a scale for shares, the same in pictures and on terminals.
 */
#ifndef CMX_HEAT_H
#define CMX_HEAT_H

#include <stdint.h>

struct cmx_heat {
	/* Shares in permille up to and with this one; above that of the step before. */
	uint32_t limit;
	/* "#rrggbb". */
	const char *colour;
	/* Colour of the usual 256 of terminals. */
	uint32_t terminal;
	/* Without colour: a block, UTF-8, and one letter. */
	const char *block;
	char letter;
	/* "up to 5 %". */
	const char *label;
};

/* From "nothing" to "all"; the last one has no limit. */
#define CMX_HEAT_STEPS	7
extern const struct cmx_heat cmx_heat_steps[CMX_HEAT_STEPS];

#define CMX_HEAT_DOWN	"#d63a3a"
#define CMX_HEAT_PARTLY	"#f08c00"
#define CMX_HEAT_DOWN_TERMINAL	160

const struct cmx_heat *cmx_heat_of(uint32_t permille);

#endif /* CMX_HEAT_H */
