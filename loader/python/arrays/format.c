// SPDX-License-Identifier: MIT
// The names of an array's item types: "<f8" or "d".
//
// NumPy's array interface has typestrs: byte order, kind, bytes (`<f8`, `|S5`, `<M8[ns]`). The
// buffer protocol (PEP 3118) has formats: the codes of Python's module struct and more (`d`, `5s`,
// `T{d:x:}`). Both are accepted; they cannot be confused, as digits come last in a typestr and
// first in a format. Consumers get a PEP 3118 format. It has no code for dates and times, which are
// integers there; numpy gets their typestr.
//
// The sizes of plain items are known here. For other items (structures) the maker of the array says
// the size.

#define _GNU_SOURCE
#include "format.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NATIVE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>')

struct code {
	char kind; // of a typestr
	size_t size;
	const char *code; // of PEP 3118, with the sizes of this machine
};

static const struct code codes[] = {
	{'b', 1, "?"},	{'i', 1, "b"},	{'i', 2, "h"},	{'i', 4, "i"},	  {'i', 8, "q"},
	{'u', 1, "B"},	{'u', 2, "H"},	{'u', 4, "I"},	{'u', 8, "Q"},	  {'f', 2, "e"},
	{'f', 4, "f"},	{'f', 8, "d"},	{'f', sizeof(long double), "g"},  {'c', 8, "Zf"},
	{'c', 16, "Zd"}, {'c', sizeof(long double complex), "Zg"},
	// Codes that only PEP 3118 has.
	{0, 1, "c"},	{0, sizeof(long), "l"},	  {0, sizeof(long), "L"},
	{0, sizeof(ptrdiff_t), "n"}, {0, sizeof(size_t), "N"},
	// Codes that stand behind a count.
	{0, 1, "s"},	{0, 1, "x"},	{0, 4, "w"},
};

static const struct code *find_kind(char kind, size_t size)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].kind == kind && codes[i].size == size)
			return &codes[i];
	return NULL;
}

static const struct code *find_code(const char *code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (!strcmp(codes[i].code, code))
			return &codes[i];
	return NULL;
}

// Digits at *@text, which moves behind them; false when there are none or too many.
static bool read_count(const char **text, size_t *ret)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret = strtoul(*text, &end, 10);
	*text = end;
	return *ret < 1ul << 32;
}

// Behind the byte order and the kind.
static bool parse_typestr(char order, char kind, const char *rest, struct gorgon_format *ret)
{
	bool native = order == '|' || order == '=' || order == NATIVE_ORDER;
	const char *prefix = native ? "" : order == '<' ? "<" : ">";
	const struct code *found;
	size_t size;

	if (!read_count(&rest, &size))
		return false;
	ret->plain = true;
	if (kind == 'M' || kind == 'm') {
		ret->differs = true;
		ret->item_size = size;
		snprintf(ret->buffer, sizeof(ret->buffer), "%sq", prefix);
		return size == 8 && (!*rest || *rest == '[');
	}
	if (*rest)
		return false;
	ret->item_size = kind == 'U' ? 4 * size : size;
	if (kind == 'S' || kind == 'V' || kind == 'U') {
		snprintf(ret->buffer, sizeof(ret->buffer), "%s%zu%c", prefix, size,
			 kind == 'S' ? 's' : kind == 'V' ? 'x' : 'w');
		return true;
	}
	found = find_kind(kind, size);
	if (found)
		snprintf(ret->buffer, sizeof(ret->buffer), "%s%s", prefix, found->code);
	return found;
}

bool gorgon_format_parse(const char *text, struct gorgon_format *ret)
{
	const char *at = text;
	const struct code *code;
	bool standard;
	size_t count = 1;

	*ret = (struct gorgon_format){0};
	if (*at && strchr("<>|=", *at) && at[1] && strchr("biufcmMSUV", at[1]) && at[2] >= '0' &&
	    at[2] <= '9')
		return parse_typestr(at[0], at[1], at + 2, ret);
	if (!*at || *at == '|')
		return false;
	standard = strchr("<>=!", *at);
	if (strchr("@^<>=!", *at))
		at++;
	read_count(&at, &count);
	code = find_code(at);
	ret->plain = code;
	if (code)
		// With a byte order sizes are struct's standard ones: a long has 4.
		ret->item_size = count * (standard && (*at == 'l' || *at == 'L') ? 4 : code->size);
	return true;
}

bool gorgon_format_has_objects(const char *text)
{
	bool in_name = false;

	// Names of a structure's fields stand between colons.
	for (; *text; text++) {
		in_name ^= *text == ':';
		if (!in_name && *text == 'O')
			return true;
	}
	return false;
}
