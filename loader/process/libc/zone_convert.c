// SPDX-License-Identifier: MIT
// Local time in a zone.

#include "zone.h"

static bool convert_by_rules(const struct gorgon_zone *zone, time_t time, struct tm *tm,
			     const struct gorgon_zone_names *names)
{
	bool dst;

	if (!gorgon_zone_break_down(time, 0, tm))
		return false;
	// In the last 1,900 years that fit the C library's sum wraps.
	dst = gorgon_zone_rule_is_dst(zone->rules, time, (int)(1900u + (unsigned)tm->tm_year));
	tm->tm_isdst = dst;
	tm->tm_zone = names->name[dst];
	tm->tm_gmtoff = zone->rules[dst].offset;
	return true;
}

// Before all transitions the first type holds that is not summer time.
static const struct gorgon_zone_type *find_first(const struct gorgon_zone *zone,
						 struct gorgon_zone_names *names)
{
	const struct gorgon_zone_type *type = zone->types, *end = type + zone->type_count;

	while (type < end && type->dst)
		type++;
	if (type == end)
		type = zone->types;
	names->name[0] = type->name;
	for (const struct gorgon_zone_type *any = zone->types; any < end && !names->name[1]; any++)
		if (any->dst)
			names->name[1] = any->name;
	return type;
}

// The type of the last transition until @time. The other name comes from the transitions after it.
static const struct gorgon_zone_type *find_at(const struct gorgon_zone *zone, time_t time,
					      struct gorgon_zone_names *names)
{
	size_t low = 0, high = zone->time_count;
	const struct gorgon_zone_type *type, *next;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zone->times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	type = &zone->types[zone->types_after[low - 1]];
	names->name[type->dst] = type->name;
	for (; low < zone->time_count && !names->name[!type->dst]; low++) {
		next = &zone->types[zone->types_after[low]];
		if (next->dst != type->dst)
			names->name[next->dst] = next->name;
	}
	return type;
}

static void convert_by_file(const struct gorgon_zone *zone, time_t time, struct tm *tm,
			    struct gorgon_zone_names *names)
{
	const struct gorgon_zone_type *type;

	names->name[0] = names->name[1] = NULL;
	if (zone->has_rules && zone->time_count && time >= zone->times[zone->time_count - 1]) {
		gorgon_zone_rule_names(zone->rules, names);
		if (convert_by_rules(zone, time, tm, names))
			return;
	}
	type = !zone->time_count || time < zone->times[0] ? find_first(zone, names)
							   : find_at(zone, time, names);
	names->name[0] = names->name[0] ?: names->name[1];
	names->name[1] = names->name[1] ?: names->name[0];
	names->west = -(long)zone->standard_offset;
	names->daylight = zone->names.daylight;
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

bool gorgon_zone_convert(const struct gorgon_zone *zone, time_t time, struct tm *tm,
			 struct gorgon_zone_names *names)
{
	int64_t leap;
	int inserted;

	if (!names) {
		tm->tm_isdst = 0;
		tm->tm_zone = "GMT";
		tm->tm_gmtoff = 0;
	} else if (zone->is_file) {
		convert_by_file(zone, time, tm, names);
	} else if (!convert_by_rules(zone, time, tm, &zone->names)) {
		return false;
	}
	leap = find_leap(zone, time, &inserted);
	if (!gorgon_zone_break_down(time, tm->tm_gmtoff - leap, tm))
		return false;
	tm->tm_sec += inserted;
	return true;
}
