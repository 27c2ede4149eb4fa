// SPDX-License-Identifier: MIT
// loader/process/zone*.c: our conversions in a time zone, compared with those of the C library, in a child that has
// this zone. GORGON_ALL_ZONES=1 takes all of the system's files and many more instants.

#define _GNU_SOURCE
#include "helpers.h"

#include "process/libc/zone.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/usr/share/zoneinfo"
#define DAY	  86400

struct pair {
	struct gorgon_zone *zone;
	int guess, universal_guess;
	unsigned failures;
	bool thorough;
};

// --- one value of each -------------------------------------------------------------------------

static const char *text_of(const char *text)
{
	return text ? text : "(none)";
}

static bool same_tm(const struct tm *a, const struct tm *b)
{
	return a->tm_sec == b->tm_sec && a->tm_min == b->tm_min && a->tm_hour == b->tm_hour &&
	       a->tm_mday == b->tm_mday && a->tm_mon == b->tm_mon && a->tm_year == b->tm_year &&
	       a->tm_wday == b->tm_wday && a->tm_yday == b->tm_yday &&
	       a->tm_isdst == b->tm_isdst && a->tm_gmtoff == b->tm_gmtoff &&
	       !strcmp(text_of(a->tm_zone), text_of(b->tm_zone));
}

static void print_tm(const char *who, const struct tm *tm)
{
	print_error("  %-5s %d-%02d-%02d %02d:%02d:%02d day %d of the week, %d of the year, isdst %d, "
		    "%+ld %s\n",
		    who, tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday, tm->tm_hour, tm->tm_min,
		    tm->tm_sec, tm->tm_wday, tm->tm_yday, tm->tm_isdst, tm->tm_gmtoff,
		    text_of(tm->tm_zone));
}

static void check(struct pair *pair, const char *what, long long value, bool same,
		  const struct tm *theirs, const struct tm *ours)
{
	if (same || ++pair->failures > 5)
		return;
	print_error("%s: %s(%lld)\n", text_of(getenv("TZ")), what, value);
	print_tm("libc", theirs);
	print_tm("ours", ours);
}

static void compare_convert(struct pair *pair, time_t time)
{
	struct tm theirs = {0}, ours = {0};
	bool first, second;

	errno = 0;
	first = localtime_r(&time, &theirs);
	second = gorgon_zone_convert(pair->zone, true, time, &ours);
	check(pair, "localtime_r", time, first == second && (!first || same_tm(&theirs, &ours)),
	      &theirs, &ours);
	first = gmtime_r(&time, &theirs);
	second = gorgon_zone_convert(pair->zone, false, time, &ours);
	check(pair, "gmtime_r", time, first == second && (!first || same_tm(&theirs, &ours)),
	      &theirs, &ours);
}

static void compare_invert(struct pair *pair, const struct tm *wanted)
{
	struct tm theirs = *wanted, ours = *wanted;
	int first_error, second_error;
	time_t first, second;

	errno = 0;
	first = mktime(&theirs);
	first_error = errno;
	errno = 0;
	second = gorgon_zone_invert(pair->zone, true, &ours, &pair->guess);
	second_error = errno;
	if (first != second || (first == -1 && first_error != second_error) ||
	    !same_tm(&theirs, &ours)) {
		if (++pair->failures > 5)
			return;
		print_error("%s: mktime is %lld (%d), ours %lld (%d)\n", text_of(getenv("TZ")),
			    (long long)first, first == -1 ? first_error : 0, (long long)second,
			    second == -1 ? second_error : 0);
		print_tm("of", wanted);
		print_tm("libc", &theirs);
		print_tm("ours", &ours);
	}
}

static void compare_universal(struct pair *pair, const struct tm *wanted)
{
	struct tm theirs = *wanted, ours = *wanted;
	time_t first = timegm(&theirs), second;

	ours.tm_isdst = 0;
	second = gorgon_zone_invert(pair->zone, false, &ours, &pair->universal_guess);
	check(pair, "timegm", first, first == second && same_tm(&theirs, &ours), &theirs, &ours);
}

// --- many ----------------------------------------------------------------------------------------

static void compare_dates_at(struct pair *pair, time_t time)
{
	struct tm tm;

	if (!localtime_r(&time, &tm))
		return;
	gorgon_zone_convert(pair->zone, true, time, &tm);
	for (int isdst = -1; isdst <= 1; isdst++) {
		tm.tm_isdst = isdst;
		compare_invert(pair, &tm);
	}
}

// Around a transition: a gap or an overlap of local time is within some hours of it.
static void compare_around(struct pair *pair, int64_t time)
{
	for (int delta = -2; delta <= 2; delta++)
		compare_convert(pair, time + delta);
	for (int minutes = -150; minutes <= 150; minutes += pair->thorough ? 30 : 75) {
		struct tm tm;
		time_t moment = time;

		compare_dates_at(pair, time + 60 * minutes);
		// Local times of which some do not exist.
		if (!localtime_r(&moment, &tm))
			continue;
		gorgon_zone_convert(pair->zone, true, moment, &tm);
		tm.tm_min += minutes;
		for (tm.tm_isdst = -1; tm.tm_isdst <= 1; tm.tm_isdst++)
			compare_invert(pair, &tm);
	}
}

static void compare_transitions(struct pair *pair)
{
	const struct gorgon_zone *zone = pair->zone;
	size_t step = pair->thorough ? 1 : 1 + zone->time_count / 12;

	for (size_t i = 0; i < zone->time_count; i += step)
		compare_around(pair, zone->times[i]);
	if (zone->time_count)
		compare_around(pair, zone->times[zone->time_count - 1]);
	for (size_t i = 0; i < zone->leap_count; i++)
		compare_around(pair, zone->leaps[i].at);
}

// Days of many years. For some years only the zone's rule counts, for some not even that.
static void compare_grid(struct pair *pair)
{
	static const int years[] = {-2000000000, -100000, -1, 0, 1, 1600, 1900, 1969, 1970, 1971, 2024,
				    2037, 2038, 2100, 2400, 5000, 9999, 10000, 3000000};
	int64_t step = pair->thorough ? 3 : 9;

	for (size_t i = 0; i < sizeof(years) / sizeof(*years); i++) {
		struct tm tm = {.tm_year = years[i] - 1900};
		time_t start;

		for (int day = 1; day < 367; day += (int)step) {
			tm = (struct tm){.tm_year = years[i] - 1900, .tm_mday = day, .tm_hour = 2,
					 .tm_min = 30, .tm_isdst = day % 3 - 1};
			compare_invert(pair, &tm);
			compare_universal(pair, &tm);
		}
		tm = (struct tm){.tm_year = years[i] - 1900, .tm_mday = 1};
		start = timegm(&tm);
		for (int hour = 0; hour < 366 * 24; hour += pair->thorough ? 7 : 35)
			compare_convert(pair, start + hour * 3600);
	}
}

static void compare_odd(struct pair *pair)
{
	static const int odd[] = {INT_MIN, INT_MIN + 1, -100000, -61, -1, 0, 61, 100000, INT_MAX};
	static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, -67768040609740800,
					-67768040609740801, 67768036191676799, 67768036191676800,
					-2147483649, -2147483648, -1, 0, 1, 2147483647, 2147483648,
					4294967296, 253402300799, 253402300800};
	struct tm tm;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		compare_convert(pair, times[i]);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (size_t member = 0; member < 6; member++) {
			int *members[] = {&tm.tm_sec, &tm.tm_min, &tm.tm_hour,
					  &tm.tm_mday, &tm.tm_mon, &tm.tm_year};

			tm = (struct tm){.tm_year = 124, .tm_mon = 5, .tm_mday = 7, .tm_hour = 11,
					 .tm_isdst = (int)(i + member) % 3 - 1};
			*members[member] = odd[i];
			compare_invert(pair, &tm);
			compare_universal(pair, &tm);
		}
}

// Runs in a child, because it changes the C library's state.
static int compare_in_child(void *arg)
{
	struct pair pair = {.thorough = getenv("GORGON_ALL_ZONES")};
	const char *text = arg;

	if (text)
		setenv("TZ", text, 1);
	else
		unsetenv("TZ");
	tzset();
	pair.zone = gorgon_zone_get(text, getenv("TZDIR"), NULL);
	if (!pair.zone)
		return 2;
	if (strcmp(pair.zone->names[0], tzname[0]) || strcmp(pair.zone->names[1], tzname[1])) {
		print_error("%s: tzname is '%s' '%s', ours '%s' '%s'\n", text_of(text), tzname[0],
			    tzname[1], pair.zone->names[0], pair.zone->names[1]);
		pair.failures++;
	}
	compare_odd(&pair);
	compare_grid(&pair);
	compare_transitions(&pair);
	gorgon_zone_destroy(pair.zone);
	if (pair.failures)
		print_error("%s: %u differ\n", text_of(text), pair.failures);
	return pair.failures != 0;
}

static unsigned different;

static void compare(const char *text)
{
	different += test_in_child(compare_in_child, (void *)text) != 0;
}

// --- cases ---------------------------------------------------------------------------------------

static void convert_strings_are_the_c_librarys(void **state)
{
	static const char *const texts[] = {
		NULL, "", ":", "UTC", "UTC0", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3",
		"<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		"AEST-10AEDT,M10.1.0,M4.1.0/3", "EEE-2<+01>-1,0/0,J365/23", "AAA5BBB,J60,J300",
		"AAA5BBB,59,300/3:30:15", "AAA-3:15:20BBB-4:15:20,M1.1.1/167,M12.5.6/-167",
		"AAA5BBB,J0,J3",
		"AAA5BBB,M3.2.0", "AAA5BBB,M3.2.0/,M4.1.0", "AAA99", "AAA5:77:88", "AAA+5", "AAA-5+junk",
		"AAA 5", "AAA5BBB,366,1", "AAA5BBB,M3.6.0,M4.1.0", "Foo/Bar", "Nowhere", "AB3",
		"<AB>3", "<A1+>3", "<ABC", ":Europe/Berlin", ":/usr/share/zoneinfo/Asia/Tokyo",
		"/usr/share/zoneinfo/America/St_Johns", "../zoneinfo/Africa/Cairo", "/etc/passwd",
		"/nowhere/at/all", "Europe", "IST-2IDT,M3.4.4/26,M10.5.0", "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",
		"IST-1GMT0,M10.5.0,M3.5.0/1", "1", ",", "-5", "zone.tab", "GMT+5", "Etc/GMT+5",
	};

	(void)state;
	different = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		compare(texts[i]);
	assert_int_equal(different, 0);
}

// Compares names and offsets only: the C library takes the days of the United States where the system has no file
// for them.
static void convert_strings_without_days_are_the_c_librarys(void **state)
{
	static const char *const texts[] = {"AAA5BBB", "AAA-13BBB", "AAA5BBB,", "AAA5BBB4", "AAA-5junk"};

	(void)state;
	different = 0;
	setenv("TZDIR", "/nowhere", 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		compare(texts[i]);
	unsetenv("TZDIR");
	assert_int_equal(different, 0);
}

static void convert_files_are_the_c_librarys(void **state)
{
	static const char *const texts[] = {
		"Europe/London", "Europe/Dublin", "America/New_York", "America/Jujuy", "America/Recife",
		"America/Cambridge_Bay", "Africa/Casablanca", "Africa/Tunis", "Asia/Gaza",
		"Antarctica/Troll", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein",
		"America/Godthab", "Asia/Tehran", "Etc/GMT+12", "EST5EDT", "right/UTC",
		"right/America/New_York", "Africa/Monrovia", "Factory",
	};

	(void)state;
	different = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		compare(texts[i]);
	assert_int_equal(different, 0);
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)at;
	if (type == FTW_F)
		compare(path);
	return 0;
}

static void convert_all_files_are_the_c_librarys(void **state)
{
	(void)state;
	if (!getenv("GORGON_ALL_ZONES"))
		skip_because("takes minutes: GORGON_ALL_ZONES=1");
	different = 0;
	assert_int_equal(nftw(DIRECTORY, visit, 10, FTW_PHYS), 0);
	assert_int_equal(different, 0);
}

// Sets each byte of a file to something else: a file that the C library refuses is refused, and nothing is read
// that is not in the file.
static void read_damaged_file_is_no_zone_or_a_whole_one(void **state)
{
	size_t size;
	uint8_t *data = test_read(DIRECTORY "/Europe/Berlin", &size);
	const char *path = test_temp("zone");
	struct gorgon_zone *zone;
	struct tm tm;

	(void)state;
	for (size_t i = 0; i < size; i += i < 200 ? 1 : 37)
		for (int value = 0; value < 256; value += 51) {
			uint8_t before = data[i];

			data[i] = (uint8_t)value;
			test_write(path, data, size);
			data[i] = before;
			zone = gorgon_zone_get(path, NULL, NULL);
			assert_non_null(zone);
			for (int64_t time = -4000000000; time < 8000000000; time += 500000000)
				gorgon_zone_convert(zone, true, time, &tm);
			gorgon_zone_destroy(zone);
		}
	for (size_t shorter = 0; shorter < size; shorter += 13) {
		test_write(path, data, shorter);
		zone = gorgon_zone_get(path, NULL, NULL);
		assert_non_null(zone);
		if (shorter < 100)
			assert_false(zone->is_file);
		gorgon_zone_destroy(zone);
	}
	free(data);
}

static void get_again_is_the_same_one(void **state)
{
	struct gorgon_zone *zone = gorgon_zone_get("Europe/Berlin", NULL, NULL), *other;

	(void)state;
	assert_ptr_equal(gorgon_zone_get("Europe/Berlin", NULL, zone), zone);
	other = gorgon_zone_get(NULL, NULL, zone);
	assert_null(other->text);
	assert_ptr_equal(gorgon_zone_get(NULL, NULL, other), other);
	gorgon_zone_destroy(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convert_strings_are_the_c_librarys),
		cmocka_unit_test(convert_strings_without_days_are_the_c_librarys),
		cmocka_unit_test(convert_files_are_the_c_librarys),
		cmocka_unit_test(convert_all_files_are_the_c_librarys),
		cmocka_unit_test(read_damaged_file_is_no_zone_or_a_whole_one),
		cmocka_unit_test(get_again_is_the_same_one),
	};

	return cmocka_run_group_tests_name("zone", tests, NULL, NULL);
}
