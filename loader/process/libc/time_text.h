/* SPDX-License-Identifier: MIT */
/* strftime() with a zone of ours, for one kind of character; time_zone.c says what the macros are
 * and why. */

/* The next `%s`: where it starts and where it ends. False: none. */
static bool NAME(find_number)(const CHAR *format, const CHAR **start, const CHAR **end)
{
	for (const CHAR *at = format; (at = FIND(at, LITERAL('%')));) {
		*start = at++;
		while (*at && FIND(LITERAL("_-0^#+"), *at))
			at++;
		while (*at >= LITERAL('0') && *at <= LITERAL('9'))
			at++;
		at += *at == LITERAL('E') || *at == LITERAL('O');
		*end = at + 1;
		if (*at == LITERAL('s'))
			return true;
		at += *at != LITERAL('\0');
	}
	return false;
}

/* @format with the number of seconds in place of each `%s`. The caller's to free; NULL: no memory.
 */
static CHAR *NAME(write_numbers)(const CHAR *format, const struct tm *tm, struct time_zone *state)
{
	/* `%s` has at least two characters, a number 20 at most */
	CHAR *ret = malloc((10 * LENGTH(format) + 1) * sizeof(*ret)), *to = ret;
	struct tm copy = *tm;
	const CHAR *start, *end;
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%ld", (long)zone_mktime(&copy, state));

	while (ret && NAME(find_number)(format, &start, &end)) {
		memcpy(to, format, (size_t)(start - format) * sizeof(*to));
		to += start - format;
		for (int i = 0; i < size; i++)
			*to++ = (CHAR)digits[i];
		format = end;
	}
	if (ret)
		memcpy(to, format, (LENGTH(format) + 1) * sizeof(*to));
	return ret;
}

static size_t NAME(zone_strftime_l)(CHAR *to, size_t size, const CHAR *format, const struct tm *tm,
				    locale_t locale, struct time_zone *state)
{
	struct tm copy = *tm;
	const CHAR *start, *end;
	CHAR *without;
	size_t ret;

	if (is_process(state))
		return FORMAT(to, size, format, tm, locale);
	if ((!copy.tm_zone || !*copy.tm_zone) && (copy.tm_isdst == 0 || copy.tm_isdst == 1))
		copy.tm_zone = zone_name(state, copy.tm_isdst);
	if (!NAME(find_number)(format, &start, &end))
		return FORMAT(to, size, format, &copy, locale);
	without = NAME(write_numbers)(format, tm, state);
	ret = without ? FORMAT(to, size, without, &copy, locale) : 0;
	free(without);
	return ret;
}

/* This has the thread's locale; the process's is none that the _l functions take. */
static size_t NAME(zone_strftime)(CHAR *to, size_t size, const CHAR *format, const struct tm *tm,
				  struct time_zone *state)
{
	locale_t locale = uselocale(NULL), copy;
	size_t ret;

	if (is_process(state))
		return PLAIN(to, size, format, tm);
	if (locale != LC_GLOBAL_LOCALE)
		return NAME(zone_strftime_l)(to, size, format, tm, locale, state);
	copy = duplocale(locale);
	ret = copy ? NAME(zone_strftime_l)(to, size, format, tm, copy, state) : 0;
	if (copy)
		freelocale(copy);
	return ret;
}

#undef CHAR
#undef NAME
#undef LENGTH
#undef FORMAT
#undef PLAIN
#undef FIND
#undef LITERAL
