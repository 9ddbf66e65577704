/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_INIT_H
#define _LINUX_INIT_H

#include <linux/compiler.h>

#define __init
#define __exit
#define __initdata
#define __initconst
#define __ro_after_init
#define __read_mostly

typedef int (*initcall_t)(void);

/*
 * The host runs them in link order once the parameters are set, as a kernel
 * does with a module's init function.
 */
#define IDLEWISE_INITCALL(fn) \
	static const initcall_t idlewise_initcall_##fn __used __section("idlewise_initcalls") = fn

#define early_initcall(fn)	IDLEWISE_INITCALL(fn)
#define pure_initcall(fn)	IDLEWISE_INITCALL(fn)
#define core_initcall(fn)	IDLEWISE_INITCALL(fn)
#define postcore_initcall(fn)	IDLEWISE_INITCALL(fn)
#define arch_initcall(fn)	IDLEWISE_INITCALL(fn)
#define subsys_initcall(fn)	IDLEWISE_INITCALL(fn)
#define fs_initcall(fn)		IDLEWISE_INITCALL(fn)
#define device_initcall(fn)	IDLEWISE_INITCALL(fn)
#define late_initcall(fn)	IDLEWISE_INITCALL(fn)
#define module_init(fn)		IDLEWISE_INITCALL(fn)
#define module_exit(fn) \
	static void (*const idlewise_exitcall_##fn)(void) __maybe_unused = fn

#endif
