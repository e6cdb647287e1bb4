// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_heat.h"

const struct cmx_heat cmx_heat_steps[CMX_HEAT_STEPS] = {
	{ 0, "#eef1f4", 255, "\u00b7", '.', "0" },
	{ 50, "#d3eec6", 194, "\u2581", '1', "5 %" },
	{ 150, "#93d6b6", 151, "\u2582", '2', "15 %" },
	{ 300, "#4fb9c1", 80, "\u2583", '3', "30 %" },
	{ 500, "#2b93c2", 38, "\u2585", '4', "50 %" },
	{ 750, "#2463a8", 25, "\u2586", '5', "75 %" },
	{ UINT32_MAX, "#1b2a72", 17, "\u2588", '6', "100 %" },
};

const struct cmx_heat *cmx_heat_of(uint32_t permille)
{
	const struct cmx_heat *step = cmx_heat_steps;

	while (permille > step->limit)
		step++;
	return step;
}
