/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who owns which page of the latent cache. A page holds 2^shift positions of all
 * layers; it has as many references as sequences use it. A page full of prompt
 * can be published: it is found again by the tokens it was made from and by the
 * page before it, and outlives its sequences until the room is wanted, the one
 * not used for longest first. Host memory only: no bytes of the cache are here.
 */
#ifndef CMX_KV_PAGES_H
#define CMX_KV_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"

#define CMX_KV_MIN_SHIFT	2u
#define CMX_KV_MAX_SHIFT	12u
#define CMX_NO_PAGE		UINT32_MAX

struct cmx_kv_page {
	uint64_t serial;	/* of what is published, never used twice; 0: nothing is */
	uint64_t parent;	/* serial of the page before it; 0: it is the first */
	uint32_t refs;
	uint32_t next, prev;	/* in the list of free or of idle pages */
	uint32_t chain;		/* next one in the same bucket */
};

/* Pages that nobody has a reference to, oldest first. */
struct cmx_kv_list {
	uint32_t first, last;
	uint32_t n;
};

struct cmx_kv_pages {
	uint32_t n;
	uint32_t shift;
	struct cmx_kv_page *page;
	uint32_t *ids;		/* [page][position], of published pages */
	uint32_t *bucket;
	uint32_t mask;		/* buckets - 1 */
	struct cmx_kv_list unused;	/* nothing worth keeping */
	struct cmx_kv_list idle;	/* published */
	uint64_t serials;
};

int cmx_kv_pages_init(struct cmx_kv_pages *p, uint32_t n, uint32_t shift,
		      struct cmx_infer_err *err);
void cmx_kv_pages_free(struct cmx_kv_pages *p);

/* Pages that cmx_kv_pages_take() can still give. */
static inline uint32_t cmx_kv_pages_room(const struct cmx_kv_pages *p)
{
	return p->unused.n + p->idle.n;
}

/* A page of one's own, with one reference. CMX_NO_PAGE if there is no room. */
uint32_t cmx_kv_pages_take(struct cmx_kv_pages *p);
/* One reference less. */
void cmx_kv_pages_put(struct cmx_kv_pages *p, uint32_t page);
/*
 * The page made from these 2^shift @ids behind the page with serial @parent (0:
 * at the start of a prompt), with a reference more; CMX_NO_PAGE if there is none.
 */
uint32_t cmx_kv_pages_find(struct cmx_kv_pages *p, uint64_t parent, const uint32_t *ids);
/*
 * Lets the page be found. Returns the serial that stands for its contents: that
 * of another page if the same was published before.
 */
uint64_t cmx_kv_pages_publish(struct cmx_kv_pages *p, uint32_t page, uint64_t parent,
			      const uint32_t *ids);

/* Bucket of a page: pages in one bucket are told apart by all of their ids. */
uint32_t cmx_kv_pages_bucket(const struct cmx_kv_pages *p, uint64_t parent, const uint32_t *ids);

#endif
