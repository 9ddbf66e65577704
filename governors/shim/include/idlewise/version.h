/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IDLEWISE_VERSION_H
#define IDLEWISE_VERSION_H

/*
 * Which kernel's names and types the shim shows. The compiler call of a file
 * from a kernel tree sets it from the tree's Makefile; everything else sees the
 * newest.
 */
#define IDLEWISE_VERSION(major, minor)	((major) << 16 | (minor) << 8)
#ifndef IDLEWISE_LINUX_VERSION
#define IDLEWISE_LINUX_VERSION		IDLEWISE_VERSION(99, 0)
#endif
#define IDLEWISE_SINCE(major, minor)	(IDLEWISE_LINUX_VERSION >= IDLEWISE_VERSION(major, minor))

#endif
