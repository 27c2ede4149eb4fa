/* SPDX-License-Identifier: MIT */
/*
 * A time zone: what a value of TZ means, and conversions in it as the C library makes them.
 *
 * A zone does not change once it is made. All functions here are called under one lock, that of
 * time_zone.c.
 */
#ifndef GORGON_PROCESS_ZONE_H
#define GORGON_PROCESS_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* When one of the two times of a POSIX string begins, every year, and what holds from then on. */
struct gorgon_zone_rule {
	const char *name;
	int offset; /* seconds east */
	enum { GORGON_DAY_OF_YEAR, GORGON_JULIAN_DAY, GORGON_DAY_OF_MONTH } kind;
	unsigned short month, week, day;
	int seconds; /* behind midnight */
};

struct gorgon_zone_type {
	int offset;
	bool dst;
	const char *name;
};

struct gorgon_zone_leap {
	int64_t at;
	int64_t total;
};

struct gorgon_zone {
	char *text; /* NULL: TZ is not set */

	/* Of a file: where it is and what it says. */
	bool is_file;
	dev_t device;
	ino_t inode;
	struct timespec changed;
	size_t time_count, type_count, leap_count;
	int64_t *times;
	unsigned char *types_after; /* after each transition, an index into types */
	struct gorgon_zone_type *types;
	struct gorgon_zone_leap *leaps;

	/* Without a file all of it; with one, what holds after the last transition. */
	bool has_rules;
	struct gorgon_zone_rule rules[2];

	const char *names[2]; /* what the C library has in tzname once tzset() was called */
};

/* What a TZ of @text (NULL: none) means, files being in @directory (NULL: the usual one).
 * @previous, which may be NULL, is freed for it, or is the result when nothing has changed.
 * NULL: no memory. */
struct gorgon_zone *gorgon_zone_get(const char *text, const char *directory,
				    struct gorgon_zone *previous);
/* NULL is ignored. */
void gorgon_zone_destroy(struct gorgon_zone *zone);

/* Makes local time of @time, or universal time, which has the zone's leap seconds, too
 * (zone_convert.c). It returns false, with errno, where the year does not fit into @tm. */
bool gorgon_zone_convert(const struct gorgon_zone *zone, bool local, time_t time, struct tm *tm);

/* zone_invert.c. As mktime(), or timegm() when not @local: the time, or -1 with errno. @guess is
 * the difference from universal time that was found last. */
time_t gorgon_zone_invert(const struct gorgon_zone *zone, bool local, struct tm *tm, int *guess);

/* --- between the files that are the zone --------------------------------------------- */

/* zone_names.c. A copy of @name that stays for the life of the process, as the C library's do:
 * tm_zone points to it. NULL: no memory. */
const char *gorgon_zone_name(const char *name, size_t size);

/* zone_file.c. False: there is none, or it is damaged. */
bool gorgon_zone_read_file(struct gorgon_zone *zone, const char *path);

/* zone_rule.c. Sets the two rules. */
void gorgon_zone_parse(const char *text, struct gorgon_zone_rule *rules);
/* Whether the second of them holds at @time, which is in @year of universal time. */
bool gorgon_zone_rule_is_dst(const struct gorgon_zone_rule *rules, time_t time, int year);

/* zone_calendar.c. */
bool gorgon_zone_is_leap_year(int64_t year);
/* From 1970-01-01 to the first of January of @year. */
int64_t gorgon_zone_days_to_year(int64_t year);
/* Rounds down. */
int64_t gorgon_zone_floor_div(int64_t a, int64_t b);
extern const unsigned short gorgon_zone_days_before[2][13]; /* each month */
/* False, with errno: the year does not fit. */
bool gorgon_zone_break_down(time_t time, int64_t offset, struct tm *tm);

#endif
