// SPDX-License-Identifier: GPL-2.0-only
/* `storm N': changes the state of links N times as fast as it goes, all whole in the end. */
#include <stdio.h>
#include <stdlib.h>

#include <cmx/fabric.h>

#define LINKS	64

int main(int argc, char **argv)
{
	uint32_t count = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	struct cmx_fabric *fabric;
	int ret = cmx_fabric_open(&fabric);

	for (uint32_t i = 0; !ret && i < count; i++)
		ret = cmx_fabric_set(fabric, CMX_FABRIC_OBJ_LINK, i % LINKS, -1, i % 999 + 1);
	for (uint32_t i = 0; !ret && i < LINKS; i++)
		ret = cmx_fabric_set(fabric, CMX_FABRIC_OBJ_LINK, i, -1, 1000);
	if (ret)
		fprintf(stderr, "storm: %s\n", cmx_last_error()->text);
	cmx_fabric_close(fabric);
	return ret ? 1 : 0;
}
