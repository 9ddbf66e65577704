/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_VERSION_H
#define _LINUX_VERSION_H

#include <idlewise/version.h>

#define KERNEL_VERSION(a, b, c)	(IDLEWISE_VERSION(a, b) + ((c) > 255 ? 255 : (c)))
#define LINUX_VERSION_CODE	IDLEWISE_LINUX_VERSION

#endif
