/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_MODULE_H
#define _LINUX_MODULE_H

#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

#define IDLEWISE_MODULE_NOTE(text)	_Static_assert(sizeof(text) > 1, "empty module note")

#define THIS_MODULE			NULL

#define MODULE_ALIAS(text)		IDLEWISE_MODULE_NOTE(text)
#define MODULE_VERSION(text)		IDLEWISE_MODULE_NOTE(text)
#define MODULE_LICENSE(text)		IDLEWISE_MODULE_NOTE(text)
#define MODULE_AUTHOR(text)		IDLEWISE_MODULE_NOTE(text)
#define MODULE_DESCRIPTION(text)	IDLEWISE_MODULE_NOTE(text)

#endif
