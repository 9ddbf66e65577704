/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BUILD_BUG_H
#define _LINUX_BUILD_BUG_H

#define static_assert(truth, ...)	_Static_assert(truth, "" __VA_ARGS__)
#define BUILD_BUG_ON(lie)		_Static_assert(!(lie), "BUILD_BUG_ON: " #lie)
#define BUILD_BUG_ON_MSG(lie, text)	_Static_assert(!(lie), text)

#endif
