/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places in a layer whose values are the input of INT8 products. Between what
 * makes such a value and what takes it a factor can be moved: channel i is divided
 * by it on one side and the weights of column i are multiplied on the other.
 */
#ifndef CMX_SITE_H
#define CMX_SITE_H

#include <stdbool.h>
#include <stdint.h>

enum cmx_site {
	CMX_SITE_ATTN,		/* normed input of attention */
	CMX_SITE_QUERY,		/* normed low-rank query */
	CMX_SITE_HEADS,		/* outputs of the heads */
	CMX_SITE_FFN,		/* normed input of the feed-forward half */
	CMX_SITE_DENSE,		/* between the products of a dense layer */
	CMX_SITE_SHARED,	/* of the shared expert */
	CMX_SITE_EXPERT,	/* of each routed expert */
	CMX_SITE_COUNT,
	CMX_SITE_NONE = CMX_SITE_COUNT,
};

/* How a tensor, by its GGUF name behind "blk.N.", has to do with them. */
struct cmx_site_use {
	const char *name;
	enum cmx_site in;	/* its columns multiply these values */
	enum cmx_site out;	/* its rows, or a norm's elements, make those */
	bool int8;		/* is INT8 in an INT8 model */
};

/* NULL: it has nothing to do with them. */
const struct cmx_site_use *cmx_site_use(const char *name);
/*
 * The same for a full name; *block is N. NULL also for tensors outside of blocks.
 */
const struct cmx_site_use *cmx_site_use_of(const char *tensor, uint32_t *block);

#endif
