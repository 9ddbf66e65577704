// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of a message from a format and its arguments, as printk() makes it:
 * integers, characters, strings and pointers, with flags, width and precision.
 */
#include <stdarg.h>

#include <linux/compiler.h>
#include <linux/types.h>
#include <idlewise/format.h>

struct idlewise_text {
	char *to;
	size_t room;
	size_t used;
};

static void put(struct idlewise_text *text, char c)
{
	if (text->used + 1 < text->room)
		text->to[text->used] = c;
	text->used++;
}

static void fill(struct idlewise_text *text, char c, int times)
{
	for (; times > 0; times--)
		put(text, c);
}

struct idlewise_spec {
	bool left, zeros, plus, blank, other;
	int width;
	/* Negative where none is given. */
	int precision;
};

static void put_string(struct idlewise_text *text, const struct idlewise_spec *spec, const char *s)
{
	int length = 0;

	if (!s)
		s = "(null)";
	while ((spec->precision < 0 || length < spec->precision) && s[length])
		length++;
	if (!spec->left)
		fill(text, ' ', spec->width - length);
	for (int i = 0; i < length; i++)
		put(text, s[i]);
	if (spec->left)
		fill(text, ' ', spec->width - length);
}

static void put_number(struct idlewise_text *text, const struct idlewise_spec *spec, u64 n, unsigned int base, bool upper,
		       const char *sign)
{
	const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	int length, zeros, signs = 0;
	char digits[24];

	for (length = 0; n; n /= base)
		digits[length++] = letters[n % base];
	zeros = (spec->precision < 0 ? 1 : spec->precision) - length;
	if (zeros < 0)
		zeros = 0;
	while (sign[signs])
		signs++;
	if (spec->zeros && !spec->left && spec->precision < 0 && spec->width > signs + length + zeros)
		zeros = spec->width - signs - length;
	if (!spec->left)
		fill(text, ' ', spec->width - signs - zeros - length);
	for (int i = 0; i < signs; i++)
		put(text, sign[i]);
	fill(text, '0', zeros);
	for (int i = length; i; i--)
		put(text, digits[i - 1]);
	if (spec->left)
		fill(text, ' ', spec->width - signs - zeros - length);
}

static const char *read_flags(const char *fmt, struct idlewise_spec *spec)
{
	for (;; fmt++) {
		switch (*fmt) {
		case '-': spec->left = true; break;
		case '0': spec->zeros = true; break;
		case '+': spec->plus = true; break;
		case ' ': spec->blank = true; break;
		case '#': spec->other = true; break;
		default: return fmt;
		}
	}
}

static const char *read_count(const char *fmt, int *count)
{
	for (*count = 0; *fmt >= '0' && *fmt <= '9'; fmt++)
		if (*count < 10000)
			*count = *count * 10 + (*fmt - '0');
	return fmt;
}

/**
 * idlewise_format - print a format and its arguments
 * @to: where to
 * @room: bytes there, with the 0 at the end
 * @fmt: the format
 * @args: its arguments
 *
 * Return: the length of the whole text, whatever room there is.
 */
int idlewise_format(char *to, size_t room, const char *fmt, va_list args)
{
	struct idlewise_text text = { to, room, 0 };

	for (; *fmt; fmt++) {
		struct idlewise_spec spec = { .precision = -1 };
		unsigned int base;
		const char *sign = "";
		int longs = 0;
		u64 n;

		if (*fmt != '%') {
			put(&text, *fmt);
			continue;
		}
		fmt = read_flags(fmt + 1, &spec);
		if (*fmt == '*') {
			spec.width = va_arg(args, int);
			if (spec.width < 0) {
				spec.left = true;
				spec.width = -spec.width;
			}
			fmt++;
		} else {
			fmt = read_count(fmt, &spec.width);
		}
		if (*fmt == '.') {
			if (*++fmt == '*') {
				spec.precision = va_arg(args, int);
				fmt++;
			} else {
				fmt = read_count(fmt, &spec.precision);
			}
		}
		for (;; fmt++) {
			if (*fmt == 'l' || *fmt == 'z' || *fmt == 't' || *fmt == 'j')
				longs++;
			else if (*fmt == 'h')
				longs--;
			else
				break;
		}
		switch (*fmt) {
		case 'd':
		case 'i': {
			s64 value = longs > 0 ? va_arg(args, long) : va_arg(args, int);

			if (longs == -1)
				value = (short)value;
			else if (longs < -1)
				value = (signed char)value;
			sign = value < 0 ? "-" : spec.plus ? "+" : spec.blank ? " " : "";
			put_number(&text, &spec, value < 0 ? -(u64)value : (u64)value, 10, false, sign);
			break;
		}
		case 'o':
		case 'u':
		case 'x':
		case 'X':
			base = *fmt == 'o' ? 8 : *fmt == 'u' ? 10 : 16;
			n = longs > 0 ? va_arg(args, unsigned long) : va_arg(args, unsigned int);
			if (longs == -1)
				n = (unsigned short)n;
			else if (longs < -1)
				n = (unsigned char)n;
			if (spec.other && n)
				sign = base == 8 ? "0" : base == 10 ? "" : *fmt == 'X' ? "0X" : "0x";
			put_number(&text, &spec, n, base, *fmt == 'X', sign);
			break;
		case 'p':
			put_number(&text, &spec, (u64)va_arg(args, void *), 16, false, "0x");
			break;
		case 'c': {
			char c[2] = { (char)va_arg(args, int), 0 };

			put_string(&text, &spec, c);
			break;
		}
		case 's':
			put_string(&text, &spec, va_arg(args, const char *));
			break;
		case 0:
			fmt--;
			break;
		default:
			put(&text, *fmt);
		}
	}
	if (room)
		to[text.used < room ? text.used : room - 1] = 0;
	return (int)text.used;
}
