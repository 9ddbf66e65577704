/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_ERRNO_H
#define _LINUX_ERRNO_H

/* Not from the C library: its errno.h includes this very file. */
#define EPERM			1
#define ENOENT			2
#define EIO			5
#define EAGAIN			11
#define ENOMEM			12
#define EBUSY			16
#define EEXIST			17
#define ENODEV			19
#define EINVAL			22
#define ENOSPC			28
#define ERANGE			34
#define ENODATA			61
#define EOPNOTSUPP		95

#endif
