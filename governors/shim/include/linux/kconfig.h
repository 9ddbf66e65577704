/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KCONFIG_H
#define _LINUX_KCONFIG_H

/* The options that decide what an idle governor is compiled to, as a usual kernel has them. */
#define CONFIG_64BIT			1
#define CONFIG_SMP			1
#define CONFIG_CPU_IDLE			1
#define CONFIG_NO_HZ_COMMON		1
#define CONFIG_HIGH_RES_TIMERS		1

/*
 * An option that is 1 puts a comma in front, so that the 1 behind it becomes
 * the second word; any other leaves the 0 there.
 */
#define IDLEWISE_COMMA_1		,
#define IDLEWISE_SECOND(a, b, ...)	b
#define IDLEWISE_WORDS(...)		IDLEWISE_SECOND(__VA_ARGS__)
#define IDLEWISE_IS_ONE(value)		IDLEWISE_WORDS(IDLEWISE_COMMA_##value 1, 0, 0)
#define IS_BUILTIN(option)		IDLEWISE_IS_ONE(option)
#define IS_ENABLED(option)		IDLEWISE_IS_ONE(option)
#define IS_REACHABLE(option)		IDLEWISE_IS_ONE(option)
#define IS_MODULE(option)		0

#endif
