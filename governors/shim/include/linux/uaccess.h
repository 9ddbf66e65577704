/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_UACCESS_H
#define _LINUX_UACCESS_H

/* No governor copies to or from user space. */
#include <linux/types.h>

#endif
