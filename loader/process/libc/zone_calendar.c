// SPDX-License-Identifier: MIT
// Seconds to a calendar date in the proleptic Gregorian calendar.

#define _GNU_SOURCE
#include "zone.h"

#include <errno.h>
#include <limits.h>

#define DAY 86400

const unsigned short gorgon_zone_days_before[2][13] = {
	{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
	{0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366},
};

int64_t gorgon_zone_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

bool gorgon_zone_is_leap_year(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int64_t gorgon_zone_days_to_year(int64_t year)
{
	int64_t last = year - 1;

	return 365 * (year - 1970) + gorgon_zone_floor_div(last, 4) -
	       gorgon_zone_floor_div(last, 100) + gorgon_zone_floor_div(last, 400) - 477;
}

bool gorgon_zone_break_down(time_t time, int64_t offset, struct tm *tm)
{
	int64_t days = gorgon_zone_floor_div(time, DAY), rest = time % DAY, year;
	const unsigned short *before;
	int month = 0;

	rest += (rest < 0 ? DAY : 0) + offset;
	days += gorgon_zone_floor_div(rest, DAY);
	rest -= gorgon_zone_floor_div(rest, DAY) * DAY;
	// 400 years have 146,097 days. The guess is wrong by a year at most, either way.
	year = 1970 + gorgon_zone_floor_div(days * 400, 146097);
	while (days < gorgon_zone_days_to_year(year))
		year--;
	while (days >= gorgon_zone_days_to_year(year + 1))
		year++;
	if (year - 1900 < INT_MIN || year - 1900 > INT_MAX) {
		errno = EOVERFLOW;
		return false;
	}
	tm->tm_year = (int)(year - 1900);
	tm->tm_yday = (int)(days - gorgon_zone_days_to_year(year));
	tm->tm_wday = (int)((days % 7 + 11) % 7); // the first one was a Thursday
	tm->tm_hour = (int)(rest / 3600);
	tm->tm_min = (int)(rest / 60 % 60);
	tm->tm_sec = (int)(rest % 60);
	before = gorgon_zone_days_before[gorgon_zone_is_leap_year(year)];
	while (tm->tm_yday >= before[month + 1])
		month++;
	tm->tm_mon = month;
	tm->tm_mday = tm->tm_yday - before[month] + 1;
	return true;
}
