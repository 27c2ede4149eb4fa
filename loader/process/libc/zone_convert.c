// SPDX-License-Identifier: MIT
// Local time in a zone.

#include "zone.h"

static bool convert_by_rules(const struct gorgon_zone *zone, time_t time, struct tm *tm)
{
	bool dst;

	if (!gorgon_zone_break_down(time, 0, tm))
		return false;
	// In the last 1,900 years that fit the C library's sum wraps.
	dst = gorgon_zone_rule_is_dst(zone->rules, time, (int)(1900u + (unsigned)tm->tm_year));
	tm->tm_isdst = dst;
	tm->tm_zone = zone->rules[dst].name;
	tm->tm_gmtoff = zone->rules[dst].offset;
	return true;
}

// Before all transitions the first type holds that is not summer time.
static const struct gorgon_zone_type *find_first(const struct gorgon_zone *zone)
{
	for (size_t i = 0; i < zone->type_count; i++)
		if (!zone->types[i].dst)
			return &zone->types[i];
	return zone->types;
}

// The type of the last transition until @time.
static const struct gorgon_zone_type *find_at(const struct gorgon_zone *zone, time_t time)
{
	size_t low = 0, high = zone->time_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zone->times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &zone->types[zone->types_after[low - 1]] : find_first(zone);
}

static void convert_by_file(const struct gorgon_zone *zone, time_t time, struct tm *tm)
{
	const struct gorgon_zone_type *type;

	if (zone->has_rules && zone->time_count && time >= zone->times[zone->time_count - 1] &&
	    convert_by_rules(zone, time, tm))
		return;
	type = find_at(zone, time);
	tm->tm_isdst = type->dst;
	tm->tm_zone = type->name;
	tm->tm_gmtoff = type->offset;
}

// How far the zone's clock is ahead for leap seconds, and how many are being inserted at @time.
static int64_t find_leap(const struct gorgon_zone *zone, time_t time, int *inserted)
{
	const struct gorgon_zone_leap *list = zone->leaps;
	size_t i = zone->leap_count;

	*inserted = 0;
	while (i && time < list[i - 1].at)
		i--;
	if (!i--)
		return 0;
	if (time == list[i].at && list[i].total > (i ? list[i - 1].total : 0)) {
		size_t first = i;

		while (first && list[first].at == list[first - 1].at + 1 &&
		       list[first].total == list[first - 1].total + 1)
			first--;
		*inserted = (int)(i - first) + 1;
	}
	return list[i].total;
}

bool gorgon_zone_convert(const struct gorgon_zone *zone, bool local, time_t time, struct tm *tm)
{
	int64_t leap;
	int inserted;

	if (!local) {
		tm->tm_isdst = 0;
		tm->tm_zone = "GMT";
		tm->tm_gmtoff = 0;
	} else if (zone->is_file) {
		convert_by_file(zone, time, tm);
	} else if (!convert_by_rules(zone, time, tm)) {
		return false;
	}
	leap = find_leap(zone, time, &inserted);
	if (!gorgon_zone_break_down(time, tm->tm_gmtoff - leap, tm))
		return false;
	tm->tm_sec += inserted;
	return true;
}
