// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

int cmx_probe(void);
int cmx_probe(void)
{
	return THIS_MODULE ? 1 : 0;
}
