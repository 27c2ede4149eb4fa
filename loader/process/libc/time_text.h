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

/* What `%s` between @start and @end writes. The caller's to free; NULL: no memory, or more than
 * @size characters. */
static CHAR *NAME(write_number)(const CHAR *start, const CHAR *end, size_t size,
				const struct tm *tm, locale_t locale, struct time_zone *state)
{
	struct tm copy = *tm;
	char digits[24];
	CHAR *format = malloc((size_t)(end - start + 1) * sizeof(*format)), *ret = NULL;

	snprintf(digits, sizeof(digits), "%ld", (long)zone_mktime(&copy, state));
	copy.tm_zone = digits;
	if (format) {
		memcpy(format, start, (size_t)(end - start) * sizeof(*format));
		format[end - start - 1] = LITERAL('Z');
		format[end - start] = LITERAL('\0');
	}
	/* Most have no width. */
	for (size_t room = 64; format; room = room < size / 16 ? room * 16 : size + 1) {
		free(ret); // nothing in it is of use
		ret = malloc(room * sizeof(*ret));
		if (!ret || FORMAT(ret, room, format, &copy, locale)) {
			free(format);
			return ret;
		}
		if (room > size)
			break;
	}
	free(format);
	free(ret);
	errno = format ? ERANGE : ENOMEM;
	return NULL;
}

/* @format without `%s`. The caller's to free; NULL as above. */
static CHAR *NAME(write_numbers)(const CHAR *format, size_t size, const struct tm *tm,
				 locale_t locale, struct time_zone *state)
{
	CHAR *ret = calloc(1, sizeof(*ret)), *number, *grown;
	const CHAR *start, *end;
	size_t used = 0;

	while (ret) {
		bool more = NAME(find_number)(format, &start, &end);
		size_t before = more ? (size_t)(start - format) : LENGTH(format), length;

		number = more ? NAME(write_number)(start, end, size, tm, locale, state) : NULL;
		length = number ? LENGTH(number) : 0;
		grown = more && !number
				? NULL
				: realloc(ret, (used + before + length + 1) * sizeof(*ret));
		if (grown) {
			memcpy(grown + used, format, before * sizeof(*grown));
			if (number)
				memcpy(grown + used + before, number, length * sizeof(*grown));
			used += before + length;
			grown[used] = LITERAL('\0');
		} else {
			free(ret);
		}
		ret = grown;
		free(number);
		if (!more)
			break;
		format = end;
	}
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
	if ((!copy.tm_zone || !*copy.tm_zone) && (copy.tm_isdst == 0 || copy.tm_isdst == 1)) {
		zone_tzset(state);
		copy.tm_zone = state->names.name[copy.tm_isdst];
	}
	if (!NAME(find_number)(format, &start, &end))
		return FORMAT(to, size, format, &copy, locale);
	without = NAME(write_numbers)(format, size, tm, locale, state);
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
