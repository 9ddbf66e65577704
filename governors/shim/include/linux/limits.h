/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_LIMITS_H
#define _LINUX_LIMITS_H

/* Not from the C library: its limits.h includes this very file. */
#define INT_MAX			__INT_MAX__
#define INT_MIN			(-INT_MAX - 1)
#define UINT_MAX		(~0U)
#define LONG_MAX		__LONG_MAX__
#define LONG_MIN		(-LONG_MAX - 1)
#define ULONG_MAX		(~0UL)

#define LLONG_MAX		__LONG_LONG_MAX__
#define LLONG_MIN		(-LLONG_MAX - 1)
#define ULLONG_MAX		(~0ULL)
#define SHRT_MAX		__SHRT_MAX__
#define USHRT_MAX		((unsigned short)~0U)

#define U8_MAX			((u8)~0U)
#define U16_MAX			((u16)~0U)
#define U32_MAX			((u32)~0U)
#define U64_MAX			((u64)~0ULL)
#define S8_MAX			((s8)(U8_MAX >> 1))
#define S16_MAX			((s16)(U16_MAX >> 1))
#define S32_MAX			((s32)(U32_MAX >> 1))
#define S32_MIN			((s32)(-S32_MAX - 1))
#define S64_MAX			((s64)(U64_MAX >> 1))
#define S64_MIN			((s64)(-S64_MAX - 1))

#endif
