// SPDX-License-Identifier: GPL-2.0-only
/*
 * What compilers call by themselves, for a program without a C library.
 *
 * The empty asm keeps a loop from becoming a call of the function that it is in.
 */
#include <linux/compiler.h>
#include <linux/string.h>

typedef u64 __attribute__((__may_alias__, __aligned__(1))) word;

#pragma GCC visibility push(hidden)
void *memcpy(void *to, const void *from, size_t size)
{
	char *t = to;
	const char *f = from;

	for (; size >= sizeof(word); size -= sizeof(word), t += sizeof(word), f += sizeof(word)) {
		*(word *)t = *(const word *)f;
		barrier();
	}
	for (; size; size--) {
		*t++ = *f++;
		barrier();
	}
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	char *t = (char *)to + size;
	const char *f = (const char *)from + size;

	if ((uintptr_t)to - (uintptr_t)from >= size)
		return memcpy(to, from, size);
	for (; size; size--) {
		*--t = *--f;
		barrier();
	}
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	u64 bytes = 0x0101010101010101ULL * (unsigned char)byte;
	char *t = to;

	for (; size >= sizeof(word); size -= sizeof(word), t += sizeof(word)) {
		*(word *)t = bytes;
		barrier();
	}
	for (; size; size--) {
		*t++ = byte;
		barrier();
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;

	for (; size; size--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		barrier();
	}
	return 0;
}
#pragma GCC visibility pop
