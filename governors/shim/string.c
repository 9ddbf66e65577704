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
	unsigned long word = (unsigned char)byte * (~0UL / 0xff);
	char *t = to;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		__builtin_memcpy(t, &word, sizeof(word));
		t += sizeof(word);
		HIDDEN_FROM_COMPILER(t);
	}
	for (; size; size--) {
		*t++ = byte;
		HIDDEN_FROM_COMPILER(t);
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;
	unsigned long v, w;

	/* As long as words are equal. */
	for (; size >= sizeof(v); size -= sizeof(v)) {
		__builtin_memcpy(&v, x, sizeof(v));
		__builtin_memcpy(&w, y, sizeof(w));
		if (v != w)
			break;
		x += sizeof(v);
		y += sizeof(w);
		HIDDEN_FROM_COMPILER(x);
	}
	for (; size; size--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		HIDDEN_FROM_COMPILER(x);
	}
	return 0;
}
#pragma GCC visibility pop
