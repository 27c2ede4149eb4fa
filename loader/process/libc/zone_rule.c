// SPDX-License-Identifier: MIT
// TZ strings as POSIX has them: `CET-1CEST,M3.5.0,M10.5.0/3`.
//
// What is not one, or is one up to some place, means what it means to the C library: the names
// and offsets that were read until then, and universal time without any. So does a rule in years
// until 1970, where the C library counts the day from the beginning of that year, and in those
// from 5,881,000 on, whose days are more than an int. Not handled: the month of a rule with a
// number that no month has, which the C library looks up beyond its table.

#define _GNU_SOURCE
#include "zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY ((int64_t)86400)

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// Three or more letters, or `<...>` with digits and signs, too.
static bool parse_name(const char **text, const char **name)
{
	const char *start = *text, *end = start;
	size_t size;

	while (is_letter(*end))
		end++;
	size = (size_t)(end - start);
	if (size < 3) {
		if (*start != '<')
			return false;
		for (end = ++start;
		     is_letter(*end) || is_digit(*end) || *end == '+' || *end == '-';)
			end++;
		size = (size_t)(end - start);
		if (*end++ != '>' || size < 3)
			return false;
	}
	start = gorgon_zone_name(start, size);
	if (!start)
		return false;
	*name = start;
	*text = end;
	return true;
}

// `h[:m[:s]]`: how many of them there were.
static int parse_time(const char **text, unsigned short part[3])
{
	int size = 0, count = sscanf(*text, "%hu%n:%hu%n:%hu%n", &part[0], &size, &part[1], &size,
				     &part[2], &size);

	*text += size;
	return count;
}

static int zone_rule_least(int a, int b)
{
	return a < b ? a : b;
}

static bool parse_offset(const char **text, struct gorgon_zone_rule *rule, const int *standard)
{
	unsigned short part[3] = {0, 0, 0};
	int sign = -1; // the string counts offsets to the west as positive

	if (!standard && **text != '+' && **text != '-' && !is_digit(**text))
		return false;
	if (**text == '+' || **text == '-')
		sign = *(*text)++ == '-' ? 1 : -1;
	if (parse_time(text, part) > 0)
		rule->offset =
			sign * (zone_rule_least(part[0], 24) * 3600 +
				zone_rule_least(part[1], 59) * 60 + zone_rule_least(part[2], 59));
	else if (standard)
		rule->offset = *standard + 3600;
	else
		return false;
	return true;
}

// Where the string has no rules, today's rules of the United States hold, as in the C library.
static void set_default_day(struct gorgon_zone_rule *rule, bool second)
{
	rule->kind = GORGON_DAY_OF_MONTH;
	rule->month = second ? 11 : 3;
	rule->week = second ? 1 : 2;
	rule->day = 0;
}

static bool parse_day_of_year(const char **text, struct gorgon_zone_rule *rule)
{
	unsigned long day;
	char *end;

	rule->kind = **text == 'J' ? GORGON_JULIAN_DAY : GORGON_DAY_OF_YEAR;
	if (**text == 'J' && !is_digit(*++*text))
		return false;
	day = strtoul(*text, &end, 10);
	if (day > 365 || (rule->kind == GORGON_JULIAN_DAY && !day))
		return false;
	rule->day = (unsigned short)day;
	*text = end;
	return true;
}

static bool parse_day_of_month(const char **text, struct gorgon_zone_rule *rule)
{
	int size;

	rule->kind = GORGON_DAY_OF_MONTH;
	if (sscanf(*text, "M%hu.%hu.%hu%n", &rule->month, &rule->week, &rule->day, &size) == 3 &&
	    rule->month >= 1 && rule->month <= 12 && rule->week >= 1 && rule->week <= 5 &&
	    rule->day <= 6) {
		*text += size;
		return true;
	}
	// What was read counts even so; but it must be a month for days_before.
	if (rule->month < 1 || rule->month > 12)
		rule->kind = GORGON_DAY_OF_YEAR;
	return false;
}

static bool parse_day(const char **text, struct gorgon_zone_rule *rule, bool second)
{
	if (**text == 'J' || is_digit(**text))
		return parse_day_of_year(text, rule);
	if (**text == 'M')
		return parse_day_of_month(text, rule);
	if (**text)
		return false;
	set_default_day(rule, second);
	return true;
}

static bool parse_rule(const char **text, struct gorgon_zone_rule *rule, bool second)
{
	unsigned short part[3] = {2, 0, 0};
	int sign = 1;

	*text += **text == ',';
	if (!parse_day(text, rule, second) || (**text && **text != '/' && **text != ','))
		return false;
	if (**text == '/') {
		if (!*++*text)
			return false;
		if (**text == '-') {
			sign = -1;
			++*text;
		}
		parse_time(text, part);
	}
	rule->seconds = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
	return true;
}

void gorgon_zone_parse(const char *text, struct gorgon_zone_rule *rules)
{
	memset(rules, 0, 2 * sizeof(*rules));
	rules[0].name = rules[1].name = "";
	if (!parse_name(&text, &rules[0].name) || !parse_offset(&text, &rules[0], NULL))
		return;
	if (!*text) {
		rules[1].name = rules[0].name;
		rules[1].offset = rules[0].offset;
		return;
	}
	if (parse_name(&text, &rules[1].name))
		parse_offset(&text, &rules[1], &rules[0].offset);
	if (parse_rule(&text, &rules[0], false))
		parse_rule(&text, &rules[1], true);
}

// Days of @year before the rule's day of the week in its month.
static int day_of_month(const struct gorgon_zone_rule *rule, int year)
{
	const unsigned short *before =
		&gorgon_zone_days_before[gorgon_zone_is_leap_year(year)][rule->month - 1];
	int64_t last = (int64_t)year - 1;
	// The first of January of the year 1 was a Monday; centuries of 400 years are alike.
	int64_t cycle = ((last % 400) + 400) % 400;
	int first = (int)((1 + cycle + cycle / 4 - cycle / 100 + before[0]) % 7);
	int day = (rule->day - first + 7) % 7;

	for (int week = 1; week < rule->week && day + 7 < before[1] - before[0]; week++)
		day += 7;
	return before[0] + day;
}

static int64_t begin_of(const struct gorgon_zone_rule *rule, int year)
{
	int64_t last = (int64_t)year - 1, day = 0;

	if (year > 1970)
		day = (int)(uint32_t)((year - INT64_C(1970)) * 365 + (last / 4 - 492) -
				      (last / 100 - 19) + (last / 400 - 4));
	if (rule->kind == GORGON_DAY_OF_MONTH)
		day += day_of_month(rule, year);
	else if (rule->kind == GORGON_DAY_OF_YEAR)
		day += rule->day;
	else
		day += rule->day - 1 + (rule->day >= 60 && gorgon_zone_is_leap_year(year));
	return day * DAY - rule->offset + rule->seconds;
}

bool gorgon_zone_rule_is_dst(const struct gorgon_zone_rule *rules, time_t time, int year)
{
	int64_t from = begin_of(&rules[0], year), until = begin_of(&rules[1], year);

	// In the southern hemisphere summer time ends, within a year, before it begins.
	return from > until ? time < until || time >= from : time >= from && time < until;
}
