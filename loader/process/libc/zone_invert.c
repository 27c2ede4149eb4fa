// SPDX-License-Identifier: MIT
// A calendar date to seconds, as mktime() does it.
//
// It is a search, because a zone is known by its conversion only. It goes as the C library's
// goes, guess by guess and with the same memory of the last answer, so that what is ambiguous (an
// hour that comes twice, one that does not come at all, a tm_isdst that is not right) has the
// answer that it has in a process with this zone. Releases differ where the wanted tm_isdst is
// none that the zone has: this is what Debian's 2.36 and those from 2.37 on do.

#define _GNU_SOURCE
#include "zone.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

struct inversion {
	const struct gorgon_zone *zone;
	bool local;
	int64_t wanted; // the date and time as if universal, seconds from 0 to 59
	int isdst;
};

// Seconds between 1970 and a date and time, as if universal.
static int64_t count_seconds(int64_t year, int64_t yday, int64_t hour, int64_t min, int64_t sec)
{
	return (((gorgon_zone_days_to_year(year + 1900) + yday) * 24 + hour) * 60 + min) * 60 + sec;
}

static int64_t count_tm(const struct tm *tm)
{
	return count_seconds(tm->tm_year, tm->tm_yday, tm->tm_hour, tm->tm_min, tm->tm_sec);
}

static bool zone_invert_convert(const struct inversion *search, int64_t time, struct tm *tm)
{
	return gorgon_zone_convert(search->zone, search->local, time, tm);
}

// Convert @time or, if its year does not fit, the nearest time to it whose year does.
static bool convert_nearest(const struct inversion *search, int64_t *time, struct tm *tm)
{
	int64_t good = 0, bad = *time;

	if (zone_invert_convert(search, *time, tm))
		return true;
	while (llabs(bad - good) > 1) {
		int64_t middle = good + (bad - good) / 2;

		if (zone_invert_convert(search, middle, tm))
			good = middle;
		else
			bad = middle;
	}
	*time = good;
	return zone_invert_convert(search, good, tm);
}

static bool isdst_differs(int a, int b)
{
	return a >= 0 && b >= 0 && !a != !b;
}

static bool out_of_range(void)
{
	errno = EOVERFLOW;
	return false;
}

// Whether the search swings around an hour that does not exist, and this side of it is the
// answer. The newest guess was @time, those before it @last and @before_last.
static bool is_in_gap(const struct inversion *search, int64_t time, int64_t last,
		      int64_t before_last, bool last_is_dst, const struct tm *tm)
{
	if (time != before_last || time == last)
		return false;
	if (search->isdst < 0)
		return last_is_dst <= (tm->tm_isdst != 0);
	return !search->isdst != !tm->tm_isdst;
}

// True with *@exact: the time was found; without: the hour does not exist.
static bool zone_invert_approach(const struct inversion *search, int64_t *time, struct tm *tm,
				 bool *exact)
{
	int64_t last = *time, before_last = *time;
	bool last_is_dst = false;

	for (int probes = 6;;) {
		int64_t difference;

		if (!convert_nearest(search, time, tm))
			return false;
		difference = search->wanted - count_tm(tm);
		*exact = !difference;
		if (*exact || is_in_gap(search, *time, last, before_last, last_is_dst, tm))
			return true;
		if (!--probes)
			return out_of_range();
		before_last = last;
		last = *time;
		last_is_dst = tm->tm_isdst != 0;
		*time += difference;
	}
}

// The date and time were found, with the other tm_isdst: take the difference from universal time
// of the nearest time that has the right one.
static bool change_isdst(const struct inversion *search, int64_t *time, struct tm *tm)
{
	const int stride = 601200; // no period of either kind is shorter
	const int64_t bound = 457243209 / 2 + stride; // half of the longest period
	int64_t found;

	for (int64_t delta = stride; delta < bound; delta += stride)
		for (int direction = -1; direction <= 1; direction += 2) {
			int64_t other;
			struct tm there;

			if (__builtin_add_overflow(*time, delta * direction, &other))
				continue;
			if (!convert_nearest(search, &other, &there))
				return false;
			if (isdst_differs(search->isdst, there.tm_isdst))
				continue;
			found = other + search->wanted - count_tm(&there);
			if (zone_invert_convert(search, found, tm)) {
				*time = found;
				return true;
			}
		}
	// No such time: assume an hour's difference.
	*time += 3600 * ((search->isdst == 0) - (tm->tm_isdst == 0));
	return zone_invert_convert(search, *time, tm);
}

time_t gorgon_zone_invert(const struct gorgon_zone *zone, bool local, struct tm *wanted, int *guess)
{
	int64_t year = (int64_t)wanted->tm_year + gorgon_zone_floor_div(wanted->tm_mon, 12);
	int month = (int)(wanted->tm_mon - 12 * gorgon_zone_floor_div(wanted->tm_mon, 12));
	int64_t yday = gorgon_zone_days_before[gorgon_zone_is_leap_year(year + 1900)][month] +
		       (int64_t)wanted->tm_mday - 1;
	// Seconds that no minute has are added at the end: some minutes have 61.
	int sec = wanted->tm_sec < 0 ? 0 : wanted->tm_sec > 59 ? 59 : wanted->tm_sec;
	struct inversion search = {zone, local,
				   count_seconds(year, yday, wanted->tm_hour, wanted->tm_min, sec),
				   wanted->tm_isdst};
	int64_t time = search.wanted + *guess;
	struct tm tm;
	bool exact;

	if (!zone_invert_approach(&search, &time, &tm, &exact))
		return -1;
	if (exact && isdst_differs(wanted->tm_isdst, tm.tm_isdst) &&
	    !change_isdst(&search, &time, &tm))
		return -1;
	*guess = (int)(time - search.wanted);
	if (wanted->tm_sec != tm.tm_sec) {
		time += (sec == 0 && tm.tm_sec == 60) - sec + (int64_t)wanted->tm_sec;
		if (!zone_invert_convert(&search, time, &tm))
			return -1;
	}
	*wanted = tm;
	return time;
}
