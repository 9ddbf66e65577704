/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_LIST_H
#define _LINUX_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void idlewise_list_between(struct list_head *entry, struct list_head *prev,
					 struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	prev->next = entry;
	next->prev = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	idlewise_list_between(entry, head, head->next);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	idlewise_list_between(entry, head->prev, head);
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

#define list_del_init(entry)	list_del(entry)

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_entry(ptr, type, member)		container_of(ptr, type, member)
#define list_first_entry(head, type, member)	list_entry((head)->next, type, member)
#define list_next_entry(pos, member)						\
	list_entry((pos)->member.next, typeof(*(pos)), member)
#define list_for_each(pos, head)						\
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define list_for_each_entry(pos, head, member)					\
	for ((pos) = list_first_entry(head, typeof(*(pos)), member);		\
	     &(pos)->member != (head);						\
	     (pos) = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)				\
	for ((pos) = list_first_entry(head, typeof(*(pos)), member),		\
	     (n) = list_next_entry(pos, member);				\
	     &(pos)->member != (head);						\
	     (pos) = (n), (n) = list_next_entry(n, member))

#endif
