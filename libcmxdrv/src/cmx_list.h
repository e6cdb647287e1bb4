/* SPDX-License-Identifier: MIT */
/*
 * Intrusive circular list.
 */
#ifndef CMX_LIST_H
#define CMX_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct cmx_list {
	struct cmx_list *prev, *next;
};

#define cmx_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define cmx_list_for(pos, head) \
	for (pos = (head)->next; pos != (head); pos = pos->next)

static inline void cmx_list_init(struct cmx_list *head)
{
	head->prev = head;
	head->next = head;
}

static inline bool cmx_list_empty(const struct cmx_list *head)
{
	return head->next == head;
}

static inline void cmx_list_add(struct cmx_list *head, struct cmx_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void cmx_list_del(struct cmx_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	cmx_list_init(node);
}

#endif /* CMX_LIST_H */
