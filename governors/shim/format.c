// SPDX-License-Identifier: GPL-2.0-only
/*
 * vsnprintf() for messages of governors, which have no C library: whole numbers,
 * characters, strings and pointers, with flags, width and precision. As in a
 * kernel, there are no floating-point numbers.
 */
#define IDLEWISE_HOST

#include <stdarg.h>

#include <linux/types.h>
#include <idlewise/format.h>

struct text {
	char *to;
	size_t room;
	size_t length;
};

struct conversion {
	bool left, zero, plus, space, prefix;
	int width;
	/* -1: none is given. */
	int precision;
	/* Bytes of the argument. */
	size_t size;
};

static void put(struct text *out, char c)
{
	if (out->length + 1 < out->room)
		out->to[out->length] = c;
	out->length++;
}

static void fill(struct text *out, char c, int count)
{
	for (; count > 0; count--)
		put(out, c);
}

static void put_string(struct text *out, const struct conversion *c, const char *s)
{
	int length = 0;
	int i;

	if (!s)
		s = "(null)";
	while ((c->precision < 0 || length < c->precision) && s[length])
		length++;

	if (!c->left)
		fill(out, ' ', c->width - length);
	for (i = 0; i < length; i++)
		put(out, s[i]);
	if (c->left)
		fill(out, ' ', c->width - length);
}

static void put_number(struct text *out, const struct conversion *c, unsigned long long value, unsigned int base,
		       bool capital, const char *sign)
{
	const char *digits = capital ? "0123456789ABCDEF" : "0123456789abcdef";
	char reversed[24];
	int length = 0, zeros, all;

	for (; value; value /= base)
		reversed[length++] = digits[value % base];

	zeros = (c->precision < 0 ? 1 : c->precision) - length;
	if (zeros < 0)
		zeros = 0;
	for (all = length + zeros; sign[all - length - zeros]; all++)
		;
	if (c->zero && !c->left && c->precision < 0 && all < c->width) {
		zeros += c->width - all;
		all = c->width;
	}

	if (!c->left)
		fill(out, ' ', c->width - all);
	for (; *sign; sign++)
		put(out, *sign);
	fill(out, '0', zeros);
	while (length)
		put(out, reversed[--length]);
	if (c->left)
		fill(out, ' ', c->width - all);
}

/* The argument of a conversion without a sign; the macros need the caller's list itself. */
#define UNSIGNED(c, args)							\
	((c)->size == sizeof(long long) ? va_arg(args, unsigned long long) :	\
	 (c)->size == 1 ? (unsigned char)va_arg(args, unsigned int) :		\
	 (c)->size == 2 ? (unsigned short)va_arg(args, unsigned int) :		\
	 va_arg(args, unsigned int))
#define SIGNED(c, args)								\
	((c)->size == sizeof(long long) ? va_arg(args, long long) :		\
	 (c)->size == 1 ? (signed char)va_arg(args, int) :			\
	 (c)->size == 2 ? (short)va_arg(args, int) : va_arg(args, int))

static const char *read_size(const char *fmt, struct conversion *c)
{
	c->size = sizeof(int);
	switch (*fmt) {
	case 'h':
		c->size = fmt[1] == 'h' ? 1 : 2;
		return fmt + (fmt[1] == 'h' ? 2 : 1);
	case 'l':
		c->size = fmt[1] == 'l' ? sizeof(long long) : sizeof(long);
		return fmt + (fmt[1] == 'l' ? 2 : 1);
	case 'q':
	case 'L':
	case 'j':
		c->size = sizeof(long long);
		return fmt + 1;
	case 'z':
	case 'Z':
	case 't':
		c->size = sizeof(size_t);
		return fmt + 1;
	}
	return fmt;
}

static const char *read_flags(const char *fmt, struct conversion *c)
{
	for (;; fmt++) {
		switch (*fmt) {
		case '-':
			c->left = true;
			break;
		case '0':
			c->zero = true;
			break;
		case '+':
			c->plus = true;
			break;
		case ' ':
			c->space = true;
			break;
		case '#':
			c->prefix = true;
			break;
		default:
			return fmt;
		}
	}
}

static const char *read_number(const char *fmt, int *number)
{
	*number = 0;
	for (; *fmt >= '0' && *fmt <= '9'; fmt++) {
		if (*number < 10000)
			*number = *number * 10 + *fmt - '0';
	}
	return fmt;
}

/**
 * idlewise_format - put a message together
 * @to: where to
 * @room: bytes there, at least 1; the last one is 0
 * @fmt: as of vsnprintf()
 * @args: what @fmt speaks of
 *
 * Return: the length that the message has where there is room.
 */
int idlewise_format(char *to, size_t room, const char *fmt, va_list args)
{
	struct text out = { to, room, 0 };

	for (; *fmt; fmt++) {
		struct conversion c = { .precision = -1 };
		long long value;

		if (*fmt != '%') {
			put(&out, *fmt);
			continue;
		}
		fmt = read_flags(fmt + 1, &c);
		if (*fmt == '*') {
			c.width = va_arg(args, int);
			fmt++;
			if (c.width < 0) {
				c.left = true;
				c.width = c.width > -10000 ? -c.width : 10000;
			}
		} else {
			fmt = read_number(fmt, &c.width);
		}
		if (*fmt == '.' && fmt[1] == '*') {
			c.precision = va_arg(args, int);
			fmt += 2;
		} else if (*fmt == '.') {
			fmt = read_number(fmt + 1, &c.precision);
		}
		fmt = read_size(fmt, &c);

		switch (*fmt) {
		case 'd':
		case 'i':
			value = SIGNED(&c, args);
			put_number(&out, &c, value < 0 ? -(unsigned long long)value : (unsigned long long)value, 10, false,
				   value < 0 ? "-" : c.plus ? "+" : c.space ? " " : "");
			break;
		case 'u':
			put_number(&out, &c, UNSIGNED(&c, args), 10, false, "");
			break;
		case 'o':
			put_number(&out, &c, UNSIGNED(&c, args), 8, false, c.prefix ? "0" : "");
			break;
		case 'x':
		case 'X':
			put_number(&out, &c, UNSIGNED(&c, args), 16, *fmt == 'X',
				   !c.prefix ? "" : *fmt == 'X' ? "0X" : "0x");
			break;
		case 'c':
			c.precision = 1;
			put_string(&out, &c, (char[]){ va_arg(args, int), 0 });
			break;
		case 's':
			put_string(&out, &c, va_arg(args, const char *));
			break;
		case 'p':
			put_number(&out, &c, (unsigned long)va_arg(args, void *), 16, false, "0x");
			break;
		case '%':
			put(&out, '%');
			break;
		case 0:
			fmt--;
			break;
		default:
			/* Not known here: as it stands there. */
			put(&out, '%');
			put(&out, *fmt);
		}
	}
	if (room)
		to[out.length < room ? out.length : room - 1] = 0;
	return out.length;
}
