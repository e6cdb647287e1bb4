// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_kv_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void list_append(struct cmx_kv_pages *p, struct cmx_kv_list *l, uint32_t page)
{
	struct cmx_kv_page *x = &p->page[page];

	x->next = CMX_NO_PAGE;
	x->prev = l->last;
	if (l->last == CMX_NO_PAGE)
		l->first = page;
	else
		p->page[l->last].next = page;
	l->last = page;
	l->n++;
}

static void list_remove(struct cmx_kv_pages *p, struct cmx_kv_list *l, uint32_t page)
{
	const struct cmx_kv_page *x = &p->page[page];

	if (x->prev == CMX_NO_PAGE)
		l->first = x->next;
	else
		p->page[x->prev].next = x->next;
	if (x->next == CMX_NO_PAGE)
		l->last = x->prev;
	else
		p->page[x->next].prev = x->prev;
	l->n--;
}

static uint32_t *page_ids(const struct cmx_kv_pages *p, uint32_t page)
{
	return p->ids + ((size_t)page << p->shift);
}

int cmx_kv_pages_init(struct cmx_kv_pages *p, uint32_t n, uint32_t shift,
		      struct cmx_infer_err *err)
{
	uint32_t buckets = 1;

	while (buckets < n && buckets < 1u << 31)
		buckets *= 2;
	*p = (struct cmx_kv_pages){
		.n = n, .shift = shift, .mask = buckets - 1,
		.unused = { CMX_NO_PAGE, CMX_NO_PAGE, 0 }, .idle = { CMX_NO_PAGE, CMX_NO_PAGE, 0 },
	};
	p->page = calloc(n, sizeof(*p->page));
	p->ids = calloc((size_t)n << shift, sizeof(*p->ids));
	p->bucket = malloc(buckets * sizeof(*p->bucket));
	if (!p->page || !p->ids || !p->bucket) {
		cmx_kv_pages_free(p);
		return cmx_infer_fail(err, -ENOMEM, "no memory for a table of %u cache pages", n);
	}
	memset(p->bucket, 0xff, buckets * sizeof(*p->bucket));
	for (uint32_t i = 0; i < n; i++)
		list_append(p, &p->unused, i);
	return 0;
}

void cmx_kv_pages_free(struct cmx_kv_pages *p)
{
	free(p->page);
	free(p->ids);
	free(p->bucket);
	*p = (struct cmx_kv_pages){ 0 };
}

/* One step of FNV-1a a word, mixed once at the end. */
uint32_t cmx_kv_pages_bucket(const struct cmx_kv_pages *p, uint64_t parent, const uint32_t *ids)
{
	uint64_t h = 0xcbf29ce484222325ull ^ parent;

	for (uint32_t i = 0; i < 1u << p->shift; i++)
		h = (h ^ ids[i]) * 0x100000001b3ull;
	h ^= h >> 29;
	return (uint32_t)(h * 0x9e3779b97f4a7c15ull >> 32) & p->mask;
}

static uint32_t lookup(const struct cmx_kv_pages *p, uint64_t parent, const uint32_t *ids)
{
	uint32_t page = p->bucket[cmx_kv_pages_bucket(p, parent, ids)];

	for (; page != CMX_NO_PAGE; page = p->page[page].chain) {
		if (p->page[page].parent == parent &&
		    !memcmp(page_ids(p, page), ids, sizeof(*ids) << p->shift))
			break;
	}
	return page;
}

/* Nobody will find the page any more. */
static void retract(struct cmx_kv_pages *p, uint32_t page)
{
	struct cmx_kv_page *x = &p->page[page];
	uint32_t *at = &p->bucket[cmx_kv_pages_bucket(p, x->parent, page_ids(p, page))];

	while (*at != page)
		at = &p->page[*at].chain;
	*at = x->chain;
	x->serial = 0;
}

uint32_t cmx_kv_pages_take(struct cmx_kv_pages *p)
{
	struct cmx_kv_list *l = p->unused.n ? &p->unused : &p->idle;
	uint32_t page = l->first;

	if (page == CMX_NO_PAGE)
		return page;
	list_remove(p, l, page);
	if (p->page[page].serial)
		retract(p, page);
	p->page[page].refs = 1;
	return page;
}

void cmx_kv_pages_put(struct cmx_kv_pages *p, uint32_t page)
{
	struct cmx_kv_page *x = &p->page[page];

	if (--x->refs)
		return;
	list_append(p, x->serial ? &p->idle : &p->unused, page);
}

uint32_t cmx_kv_pages_find(struct cmx_kv_pages *p, uint64_t parent, const uint32_t *ids)
{
	uint32_t page = lookup(p, parent, ids);

	if (page == CMX_NO_PAGE)
		return page;
	if (!p->page[page].refs++)
		list_remove(p, &p->idle, page);
	return page;
}

uint64_t cmx_kv_pages_publish(struct cmx_kv_pages *p, uint32_t page, uint64_t parent,
			      const uint32_t *ids)
{
	uint32_t *bucket, same = lookup(p, parent, ids);
	struct cmx_kv_page *x = &p->page[page];

	if (same != CMX_NO_PAGE)
		return p->page[same].serial;
	bucket = &p->bucket[cmx_kv_pages_bucket(p, parent, ids)];
	memcpy(page_ids(p, page), ids, sizeof(*ids) << p->shift);
	x->parent = parent;
	x->serial = ++p->serials;
	x->chain = *bucket;
	*bucket = page;
	return x->serial;
}
