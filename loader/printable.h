/* SPDX-License-Identifier: MIT */
/*
 * What of a text from elsewhere may be shown: names in files and names of files are any bytes, and
 * end up on terminals, in logs, which have a message a line, and in JSON, which is UTF-8.
 */
#ifndef GORGON_PRINTABLE_H
#define GORGON_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at @s, of which @size bytes are there, or 0 when there is none that
 * may be shown: controls, and the marks that turn the direction of writing. */
static inline size_t gorgon_printable(const unsigned char *s, size_t size)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code = *s;
	size_t length = code < 0x80       ? 1
			: code >> 5 == 6  ? 2
			: code >> 4 == 14 ? 3
			: code >> 3 == 30 ? 4
					  : 0;

	if (!length || length > size)
		return 0;
	if (length == 1)
		return code >= 0x20 && code != 0x7f;
	code &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	if (code < 0xa0 || (code >= 0x200b && code < 0x2010) || (code >= 0x2028 && code < 0x2030) ||
	    (code >= 0x2060 && code < 0x2070) || code == 0xfeff)
		return 0;
	return length;
}

/*
 * Write @text as it may be shown, a byte that may not as \xNN, into @to, which has room for four
 * times its size and one more. Returns the size without the closing NUL.
 */
static inline size_t gorgon_make_printable(const char *text, size_t size, char *to)
{
	static const char digits[] = "0123456789abcdef";
	size_t out = 0;

	for (size_t i = 0; i < size;) {
		const unsigned char *s = (const unsigned char *)text + i;
		size_t length = gorgon_printable(s, size - i);

		for (size_t k = 0; k < length; k++)
			to[out++] = text[i + k];
		if (!length) {
			to[out++] = '\\';
			to[out++] = 'x';
			to[out++] = digits[*s >> 4];
			to[out++] = digits[*s & 15];
		}
		i += length ? length : 1;
	}
	to[out] = '\0';
	return out;
}

#endif
