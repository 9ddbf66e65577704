/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_ERR_H
#define _LINUX_ERR_H

#include <linux/errno.h>
#include <linux/types.h>

#define MAX_ERRNO	4095

#define IS_ERR_VALUE(x)		((unsigned long)(x) >= (unsigned long)-MAX_ERRNO)
#define ERR_PTR(error)		((void *)(long)(error))
#define PTR_ERR(ptr)		((long)(ptr))
#define IS_ERR(ptr)		IS_ERR_VALUE(ptr)
#define IS_ERR_OR_NULL(ptr)	(!(ptr) || IS_ERR(ptr))

#endif
