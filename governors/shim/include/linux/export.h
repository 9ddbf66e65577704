/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_EXPORT_H
#define _LINUX_EXPORT_H

/* Nobody imports from a governor. */
#define EXPORT_SYMBOL(name)		_Static_assert(sizeof(&(name)) > 0, "")
#define EXPORT_SYMBOL_GPL(name)		EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_NS_GPL(name, ns)	EXPORT_SYMBOL(name)

#endif
