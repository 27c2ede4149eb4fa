// SPDX-License-Identifier: MIT
// The time zone of a namespace: its TZ, and the functions that follow it.
//
// The C library has one zone for the process, and takes over what TZ says in tzset(), localtime()
// and others: one program's tzset() would set every other program's clock, and the host's. A
// namespace with an environment of its own (environment.c) has a zone of ours (zone.c), which is
// what its TZ says. One that shares the process's environment has the process's zone, by the C
// library's functions.
//
// The results of localtime(), gmtime() and ctime() are the namespace's in either case. ctime()
// fails for a year that has more than four digits. tzname, timezone, daylight and asctime() are the
// process's, because no library in Python's packages imports them.
//
// Not reached by it is what the C library and shared libraries do themselves: getdate(), a shared
// library's localtime(), %s in a format of strptime(), which no other format of it depends on.

#define _GNU_SOURCE
#include "environment.h"
#include "time_zone.h"
#include "zone.h"
#include "ns/ns.h"
#include "process/part.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct time_zone {
	struct gorgon_ns *ns;
	struct gorgon_zone *zone;	// NULL: the process's
	bool known;			// the zone is what TZ said when it was last asked for
	int local_guess, universal_guess;
	struct tm tm;	// result of localtime() and gmtime()
	char text[26]; // of ctime()
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf

// --- whose ---------------------------------------------------------------------------------------

// Whether the namespace has the process's zone, whatever the C library finds in TZ.
static bool is_process(const struct time_zone *state)
{
	return !gorgon_environment_list(state->ns->environment);
}

// Take over the zone that TZ names. Without memory the zone stays as it was.
static void take_over(struct time_zone *state, const char *text, const char *directory)
{
	struct gorgon_zone *zone = gorgon_zone_get(text, directory, state->zone);

	if (zone)
		__atomic_store_n(&state->zone, zone, __ATOMIC_RELEASE);
}

// Whether the namespace has a zone of its own. True: the lock is taken, and @zone is the zone.
// False: the process's zone is wanted. With @again the C library has then looked at TZ, as it does
// in tzset(), localtime() and others; other functions let it look only once.
static bool enter_zone(struct time_zone *state, bool again, const struct gorgon_zone **zone)
{
	bool known = __atomic_exchange_n(&state->known, true, __ATOMIC_RELAXED);

	if (!is_process(state)) {
		bool look = again || !known;
		const char *text = look ? gorgon_getenv("TZ", state->ns->environment) : NULL;
		const char *directory =
			look ? gorgon_getenv("TZDIR", state->ns->environment) : NULL;

		pthread_mutex_lock(&lock);
		if (look)
			take_over(state, text, directory);
		*zone = state->zone;
		if (*zone)
			return true;
		pthread_mutex_unlock(&lock);
	}
	if (again)
		gorgon_environment_tzset();
	return false;
}

static void zone_leave(void)
{
	pthread_mutex_unlock(&lock);
}

// --- conversions -----------------------------------------------------------------------------

static void zone_tzset(struct time_zone *state)
{
	const struct gorgon_zone *zone;

	if (enter_zone(state, true, &zone))
		zone_leave();
}

static struct tm *to_local(const time_t *time, struct tm *tm, bool again, struct time_zone *state)
{
	const struct gorgon_zone *zone;
	bool own = enter_zone(state, again, &zone);
	struct tm *ret;

	if (!own)
		return localtime_r(time, tm);
	ret = gorgon_zone_convert(zone, true, *time, tm) ? tm : NULL;
	zone_leave();
	return ret;
}

static struct tm *zone_localtime_r(const time_t *time, struct tm *tm, struct time_zone *state)
{
	return to_local(time, tm, false, state);
}

struct tm *gorgon_time_zone_local(struct gorgon_ns *ns, const time_t *time, struct tm *tm)
{
	return to_local(time, tm, false, gorgon_parts_state(ns->parts, &gorgon_time_zone));
}

static struct tm *zone_localtime(const time_t *time, struct time_zone *state)
{
	return to_local(time, &state->tm, true, state);
}

// Leap seconds are the zone's.
static struct tm *zone_gmtime_r(const time_t *time, struct tm *tm, struct time_zone *state)
{
	const struct gorgon_zone *zone;
	bool own = enter_zone(state, false, &zone);
	struct tm *ret;

	if (!own)
		return gmtime_r(time, tm);
	ret = gorgon_zone_convert(zone, false, *time, tm) ? tm : NULL;
	zone_leave();
	return ret;
}

static struct tm *zone_gmtime(const time_t *time, struct time_zone *state)
{
	return zone_gmtime_r(time, &state->tm, state);
}

static char *zone_ctime_r(const time_t *time, char *text, struct time_zone *state)
{
	struct tm tm;

	// A year that does not fit is no date, as in the C library.
	return asctime_r(zone_localtime_r(time, &tm, state), text);
}

static char *zone_ctime(const time_t *time, struct time_zone *state)
{
	return asctime_r(zone_localtime(time, state), state->text);
}

static time_t zone_mktime(struct tm *tm, struct time_zone *state)
{
	const struct gorgon_zone *zone;
	bool own = enter_zone(state, true, &zone);
	time_t ret;

	if (!own)
		return gorgon_environment_mktime(tm);
	ret = gorgon_zone_invert(zone, true, tm, &state->local_guess);
	zone_leave();
	return ret;
}

static time_t zone_timegm(struct tm *tm, struct time_zone *state)
{
	const struct gorgon_zone *zone;
	bool own = enter_zone(state, false, &zone);
	time_t ret;

	if (!own)
		return timegm(tm);
	tm->tm_isdst = 0;
	ret = gorgon_zone_invert(zone, false, tm, &state->universal_guess);
	zone_leave();
	return ret;
}

// --- text ------------------------------------------------------------------------------------

// The C library's strftime() asks for the zone in two cases: %s is mktime(), and %Z is tzname where
// tm_zone says nothing. The latter is put into a copy of the date. For the former the format is
// written anew: with the number where `%s` was, whatever width it asks for.
//
// The name that %Z has for a date without tm_zone, or NULL: the process's.
static const char *zone_name(struct time_zone *state, bool dst)
{
	const struct gorgon_zone *zone;
	const char *ret;

	if (!enter_zone(state, true, &zone))
		return NULL;
	ret = zone->names[dst];
	zone_leave();
	return ret;
}

// Once for each kind of character:

#define CHAR	    char
#define NAME(name)  name
#define LENGTH	    strlen
#define FORMAT	    strftime_l
#define PLAIN       strftime
#define FIND	    strchr
#define LITERAL(x)  x
#include "time_text.h"

#define CHAR	    wchar_t
#define NAME(name)  name##_wide
#define LENGTH	    wcslen
#define FORMAT	    wcsftime_l
#define PLAIN       wcsftime
#define FIND	    wcschr
#define LITERAL(x)  L##x
#include "time_text.h"

// --- the part ------------------------------------------------------------------------------------

static bool zone_begin(void *arg, struct gorgon_ns *ns)
{
	struct time_zone *state = arg;

	state->ns = ns;
	return true;
}

static void zone_end(void *arg)
{
	struct time_zone *state = arg;

	gorgon_zone_destroy(state->zone);
}

#define OWN(name, args, reason)	 {#name, zone_##name, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN(tzset, 0,
	    "a program's TZ is its own: it sets no other program's clock, nor the host's"),
	OWN(localtime, 1, "as tzset; the result is the program's, too"),
	OWN(localtime_r, 2, "as tzset"),
	OWN(gmtime, 1, "the result is the program's; leap seconds are its zone's"),
	OWN(gmtime_r, 2, "leap seconds are the zone's"),
	{"__gmtime_r", zone_gmtime_r, 2, 0, GORGON_OWN, "as gmtime_r"},
	OWN(ctime, 1, "as localtime"),
	OWN(ctime_r, 2, "as tzset"),
	OWN(mktime, 1, "as tzset"),
	{"timelocal", zone_mktime, 1, 0, GORGON_OWN, "as tzset"},
	OWN(timegm, 1, "as gmtime_r"),
	OWN(strftime, 4, "as tzset, for %s and %Z"),
	OWN(strftime_l, 5, "as strftime"),
	{"__strftime_l", zone_strftime_l, 5, 0, GORGON_OWN, "as strftime"},
	{"wcsftime", zone_strftime_wide, 4, 0, GORGON_OWN, "as strftime"},
	{"wcsftime_l", zone_strftime_l_wide, 5, 0, GORGON_OWN, "as strftime"},
	{"__wcsftime_l", zone_strftime_l_wide, 5, 0, GORGON_OWN, "as strftime"},
};

const struct gorgon_part gorgon_time_zone = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct time_zone),
	.begin = zone_begin,
	.end = zone_end,
	.lock = &lock,
};
