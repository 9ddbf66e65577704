/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_ERRNO_H
#define _LINUX_ERRNO_H

/* Not from the C library: its errno.h includes this very file. */
#define ENOENT			2
#define ENOMEM			12
#define EEXIST			17
#define ENODEV			19
#define EINVAL			22

#endif
