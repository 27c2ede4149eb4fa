// SPDX-License-Identifier: MIT
// Where a namespace is within a multibyte character, for functions that keep it themselves:
// mbtowc() and wctomb() always, mbrtowc() and the like when they are called without an mbstate_t.
//
// A character may come in pieces. Each function of the C library keeps the beginning of a character
// for the whole process: the rest of a program's character would end another program's. Here the C
// library's functions get an mbstate_t of the namespace.

#define _GNU_SOURCE
#include "part.h"

#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>

struct multibyte {
	mbstate_t to_wide, to_bytes; // mbtowc() and wctomb()
	mbstate_t mbrlen, mbrtowc, wcrtomb, mbsrtowcs, wcsrtombs, mbsnrtowcs, wcsnrtombs;
	mbstate_t mbrtoc16, c16rtomb, mbrtoc32, c32rtomb;
};

extern int __wctomb_chk(char *to, wchar_t from, size_t size);
extern size_t __wcrtomb_chk(char *to, wchar_t from, mbstate_t *at, size_t size);
extern size_t __mbsrtowcs_chk(wchar_t *to, const char **from, size_t count, mbstate_t *at,
			      size_t size);
extern size_t __wcsrtombs_chk(char *to, const wchar_t **from, size_t count, mbstate_t *at,
			      size_t size);

// Whether the locale's encoding has states to shift between. mblen() keeps none.
static int has_shifts(void)
{
	return mblen(NULL, 0);
}

static int to_wide(wchar_t *to, const char *from, size_t count, struct multibyte *state)
{
	int size;

	if (!from) {
		memset(&state->to_wide, 0, sizeof(state->to_wide));
		return has_shifts();
	}
	if (!*from && count) {
		if (to)
			*to = L'\0';
		return 0;
	}
	size = (int)mbrtowc(to, from, count, &state->to_wide);
	return size < 0 ? -1 : size;
}

static int to_bytes(char *to, wchar_t from, struct multibyte *state)
{
	if (!to) {
		memset(&state->to_bytes, 0, sizeof(state->to_bytes));
		return has_shifts();
	}
	return (int)wcrtomb(to, from, &state->to_bytes);
}

// Too little room ends the process, in the C library's words.
static int to_bytes_chk(char *to, wchar_t from, size_t size, struct multibyte *state)
{
	return to && size < MB_CUR_MAX ? __wctomb_chk(to, from, size) : to_bytes(to, from, state);
}

static size_t own_mbrlen(const char *from, size_t count, mbstate_t *at, struct multibyte *state)
{
	return mbrlen(from, count, at ?: &state->mbrlen);
}

static size_t own_mbrtowc(wchar_t *to, const char *from, size_t count, mbstate_t *at,
			  struct multibyte *state)
{
	return mbrtowc(to, from, count, at ?: &state->mbrtowc);
}

static size_t own_wcrtomb(char *to, wchar_t from, mbstate_t *at, struct multibyte *state)
{
	return wcrtomb(to, from, at ?: &state->wcrtomb);
}

static size_t own_wcrtomb_chk(char *to, wchar_t from, mbstate_t *at, size_t size,
			      struct multibyte *state)
{
	return __wcrtomb_chk(to, from, at ?: &state->wcrtomb, size);
}

static size_t own_mbsrtowcs(wchar_t *to, const char **from, size_t count, mbstate_t *at,
			    struct multibyte *state)
{
	return mbsrtowcs(to, from, count, at ?: &state->mbsrtowcs);
}

static size_t own_mbsrtowcs_chk(wchar_t *to, const char **from, size_t count, mbstate_t *at,
				size_t size, struct multibyte *state)
{
	return __mbsrtowcs_chk(to, from, count, at ?: &state->mbsrtowcs, size);
}

static size_t own_wcsrtombs(char *to, const wchar_t **from, size_t count, mbstate_t *at,
			    struct multibyte *state)
{
	return wcsrtombs(to, from, count, at ?: &state->wcsrtombs);
}

static size_t own_wcsrtombs_chk(char *to, const wchar_t **from, size_t count, mbstate_t *at,
				size_t size, struct multibyte *state)
{
	return __wcsrtombs_chk(to, from, count, at ?: &state->wcsrtombs, size);
}

static size_t own_mbsnrtowcs(wchar_t *to, const char **from, size_t bytes, size_t count,
			     mbstate_t *at, struct multibyte *state)
{
	return mbsnrtowcs(to, from, bytes, count, at ?: &state->mbsnrtowcs);
}

static size_t own_wcsnrtombs(char *to, const wchar_t **from, size_t wides, size_t count,
			     mbstate_t *at, struct multibyte *state)
{
	return wcsnrtombs(to, from, wides, count, at ?: &state->wcsnrtombs);
}

static size_t own_mbrtoc16(char16_t *to, const char *from, size_t count, mbstate_t *at,
			   struct multibyte *state)
{
	return mbrtoc16(to, from, count, at ?: &state->mbrtoc16);
}

static size_t own_c16rtomb(char *to, char16_t from, mbstate_t *at, struct multibyte *state)
{
	return c16rtomb(to, from, at ?: &state->c16rtomb);
}

static size_t own_mbrtoc32(char32_t *to, const char *from, size_t count, mbstate_t *at,
			   struct multibyte *state)
{
	return mbrtoc32(to, from, count, at ?: &state->mbrtoc32);
}

static size_t own_c32rtomb(char *to, char32_t from, mbstate_t *at, struct multibyte *state)
{
	return c32rtomb(to, from, at ?: &state->c32rtomb);
}

// --- the part ------------------------------------------------------------------------------------

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("mbtowc", to_wide, 3, "a character that another program has begun is not ended here"),
	OWN("wctomb", to_bytes, 2, "as mbtowc"),
	OWN("__wctomb_chk", to_bytes_chk, 3, "as mbtowc"),
	OWN("mbrlen", own_mbrlen, 3, "as mbtowc, without an mbstate_t"),
	OWN("__mbrlen", own_mbrlen, 3, "as mbrlen"),
	OWN("mbrtowc", own_mbrtowc, 4, "as mbrlen"),
	OWN("wcrtomb", own_wcrtomb, 3, "as mbrlen"),
	OWN("__wcrtomb_chk", own_wcrtomb_chk, 4, "as mbrlen"),
	OWN("mbsrtowcs", own_mbsrtowcs, 4, "as mbrlen"),
	OWN("__mbsrtowcs_chk", own_mbsrtowcs_chk, 5, "as mbrlen"),
	OWN("wcsrtombs", own_wcsrtombs, 4, "as mbrlen"),
	OWN("__wcsrtombs_chk", own_wcsrtombs_chk, 5, "as mbrlen"),
	OWN("mbsnrtowcs", own_mbsnrtowcs, 5, "as mbrlen"),
	OWN("wcsnrtombs", own_wcsnrtombs, 5, "as mbrlen"),
	OWN("mbrtoc16", own_mbrtoc16, 4, "as mbrlen"),
	OWN("c16rtomb", own_c16rtomb, 3, "as mbrlen"),
	OWN("mbrtoc32", own_mbrtoc32, 4, "as mbrlen"),
	OWN("c32rtomb", own_c32rtomb, 3, "as mbrlen"),
};

const struct gorgon_part gorgon_multibyte = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct multibyte),
};
