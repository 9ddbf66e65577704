// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of <linux/string.h> for a governor in a process of its own, which
 * has no C library. Compilers call them, too.
 */
#define IDLEWISE_HOST

#include <linux/string.h>

/* Otherwise a compiler that knows such a loop replaces it by a call of the same function. */
#pragma GCC visibility push(hidden)
#define HIDDEN_FROM_COMPILER(pointer)	__asm__("" : "+r" (pointer))

void *memcpy(void *to, const void *from, size_t size)
{
	const char *f = from;
	char *t = to;

	for (; size >= sizeof(unsigned long); size -= sizeof(unsigned long)) {
		__builtin_memcpy(t, f, sizeof(unsigned long));
		t += sizeof(unsigned long);
		f += sizeof(unsigned long);
		HIDDEN_FROM_COMPILER(f);
	}
	for (; size; size--) {
		*t++ = *f++;
		HIDDEN_FROM_COMPILER(f);
	}
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	const char *f = from;
	char *t = to;

	if (t <= f || t >= f + size)
		return memcpy(to, from, size);
	while (size--) {
		t[size] = f[size];
		HIDDEN_FROM_COMPILER(f);
	}
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	char *t = to;

	for (; size; size--) {
		*t++ = byte;
		HIDDEN_FROM_COMPILER(t);
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;

	for (; size; size--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		HIDDEN_FROM_COMPILER(x);
	}
	return 0;
}
#pragma GCC visibility pop
