/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text in pictures.
 */
#ifndef CMX_SVG_H
#define CMX_SVG_H

#include <stdio.h>

/* With what has a meaning in XML written as entities. */
void cmx_svg_text(FILE *to, const char *text);

#endif /* CMX_SVG_H */
