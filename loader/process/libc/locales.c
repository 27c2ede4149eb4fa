// SPDX-License-Identifier: MIT
// A locale per namespace.
//
// setlocale() changes the locale of the process under every other thread, and CPython
// calls it several times while it starts: copies that start at once would decode their
// command lines in each other's locale, and read names that another call has freed. So
// setlocale() of private code changes a locale of its namespace, an object that all threads
// of private code use (uselocale(3)). The object is changed in place, as the C library changes
// the process's: functions that follow the locale - mbstowcs, strftime, localeconv,
// nl_langinfo - follow it on all of these threads. As there, a thread's tables of isalpha()
// and the like are those of its own last call.
//
// What a locale object refers to is shared by name and kept: a thread may still use it, and a
// process has few. The name "" means what LC_ALL, LC_CTYPE and the like, and LANG, say in the
// namespace's environment.

#define _GNU_SOURCE
#include "environment.h"
#include "locales.h"
#include "ns/ns.h"
#include "process/part.h"

#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The categories that LC_ALL stands for, in the order of glibc's composite names.
static const struct {
	int category, mask;
	const char *name;
} categories[] = {
	{LC_CTYPE, LC_CTYPE_MASK, "LC_CTYPE"},
	{LC_NUMERIC, LC_NUMERIC_MASK, "LC_NUMERIC"},
	{LC_TIME, LC_TIME_MASK, "LC_TIME"},
	{LC_COLLATE, LC_COLLATE_MASK, "LC_COLLATE"},
	{LC_MONETARY, LC_MONETARY_MASK, "LC_MONETARY"},
	{LC_MESSAGES, LC_MESSAGES_MASK, "LC_MESSAGES"},
	{LC_PAPER, LC_PAPER_MASK, "LC_PAPER"},
	{LC_NAME, LC_NAME_MASK, "LC_NAME"},
	{LC_ADDRESS, LC_ADDRESS_MASK, "LC_ADDRESS"},
	{LC_TELEPHONE, LC_TELEPHONE_MASK, "LC_TELEPHONE"},
	{LC_MEASUREMENT, LC_MEASUREMENT_MASK, "LC_MEASUREMENT"},
	{LC_IDENTIFICATION, LC_IDENTIFICATION_MASK, "LC_IDENTIFICATION"},
};

#define CATEGORY_COUNT (sizeof(categories) / sizeof(*categories))

// A locale object with its name; kept for the life of the process.
struct known {
	struct known *next;
	char *name; // composite when the categories differ
	locale_t object;
};

struct gorgon_locale {
	struct gorgon_environment *environment;
	const struct known *now;
	struct __locale_struct object; // what its threads use: a copy of what `now` has
	char *answer[LC_IDENTIFICATION + 1]; // the last result for each category
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf
static struct known *all;

// The name of a category in a locale object.
static const char *category_name(locale_t object, int category)
{
	return nl_langinfo_l(_NL_LOCALE_NAME(category), object);
}

// "C.UTF-8", or "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;..." as glibc's setlocale() writes it.
static char *composite_name(locale_t object)
{
	const char *first = category_name(object, categories[0].category);
	bool same = true;
	char *ret = NULL;
	size_t size;
	FILE *out;

	for (size_t i = 1; i < CATEGORY_COUNT; i++)
		same &= !strcmp(first, category_name(object, categories[i].category));
	if (same)
		return strdup(first);
	out = open_memstream(&ret, &size);
	if (!out)
		return NULL;
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		fprintf(out, "%s%s=%s", i ? ";" : "", categories[i].name,
			category_name(object, categories[i].category));
	if (!fclose(out))
		return ret;
	free(ret);
	return NULL;
}

// Owns @object from here on. NULL: no memory, or no object.
static const struct known *locales_keep(locale_t object)
{
	char *name = object ? composite_name(object) : NULL;
	struct known *known;

	for (known = all; name && known; known = known->next) {
		if (strcmp(known->name, name))
			continue;
		free(name);
		freelocale(object);
		return known;
	}
	known = name ? malloc(sizeof(*known)) : NULL;
	if (!known) {
		free(name);
		if (object)
			freelocale(object);
		return NULL;
	}
	*known = (struct known){all, name, object};
	all = known;
	return known;
}

static void locales_take(struct gorgon_locale *locale, const struct known *known)
{
	struct __locale_struct *to = &locale->object, *from = known->object;

	for (size_t i = 0; i < sizeof(to->__locales) / sizeof(*to->__locales); i++) {
		__atomic_store_n(&to->__locales[i], from->__locales[i], __ATOMIC_RELAXED);
		__atomic_store_n(&to->__names[i], from->__names[i], __ATOMIC_RELAXED);
	}
	__atomic_store_n(&to->__ctype_b, from->__ctype_b, __ATOMIC_RELAXED);
	__atomic_store_n(&to->__ctype_tolower, from->__ctype_tolower, __ATOMIC_RELAXED);
	__atomic_store_n(&to->__ctype_toupper, from->__ctype_toupper, __ATOMIC_RELAXED);
	locale->now = known;
}

struct gorgon_locale *gorgon_locale_create(struct gorgon_environment *environment)
{
	struct gorgon_locale *locale = calloc(1, sizeof(*locale));
	const struct known *known;

	if (!locale)
		return NULL;
	locale->environment = environment;
	pthread_mutex_lock(&lock);
	known = locales_keep(duplocale(LC_GLOBAL_LOCALE));
	if (known)
		locales_take(locale, known);
	pthread_mutex_unlock(&lock);
	if (locale->now)
		return locale;
	free(locale);
	return NULL;
}

void gorgon_locale_destroy(struct gorgon_locale *locale)
{
	if (!locale)
		return;
	for (size_t i = 0; i < sizeof(locale->answer) / sizeof(*locale->answer); i++)
		free(locale->answer[i]);
	free(locale);
}

void *gorgon_locale_enter(struct gorgon_locale *locale)
{
	return uselocale(&locale->object);
}

void gorgon_locale_leave(void *outer)
{
	uselocale(outer);
}

const struct gorgon_part gorgon_locale_part = {.lock = &lock};

static int mask_of(int category)
{
	if (category == LC_ALL)
		return LC_ALL_MASK;
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		if (categories[i].category == category)
			return categories[i].mask;
	return 0;
}

static const char *variable_of(const struct gorgon_locale *locale, const char *name)
{
	const char *value = gorgon_getenv(name, locale->environment);

	return value && *value ? value : NULL;
}

// The name that setlocale() gets for LC_ALL and "", as the C library finds it in the process's
// environment; NULL: no memory.
static char *name_in_environment(const struct gorgon_locale *locale)
{
	const char *whole = variable_of(locale, "LC_ALL"),
		   *other = variable_of(locale, "LANG") ?: "C";
	char *ret = NULL;
	size_t size;
	FILE *out;

	if (whole)
		return strdup(whole);
	out = open_memstream(&ret, &size);
	if (!out)
		return NULL;
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		fprintf(out, "%s%s=%s", i ? ";" : "", categories[i].name,
			variable_of(locale, categories[i].name) ?: other);
	if (!fclose(out))
		return ret;
	free(ret);
	return NULL;
}

locale_t gorgon_newlocale(int mask, const char *name, locale_t base, struct gorgon_locale *locale)
{
	char *found;
	locale_t ret;

	if (!name || *name)
		return newlocale(mask, name, base);
	found = name_in_environment(locale);
	ret = found ? newlocale(mask, found, base) : NULL;
	free(found);
	return ret;
}

// newlocale() frees its base, so it gets a copy; but not where the whole locale becomes "C" (glibc
// 2.36), and none of a base is left in a whole locale.
static bool locales_change(struct gorgon_locale *locale, int category, const char *name)
{
	locale_t base = category == LC_ALL ? NULL : duplocale(locale->now->object), object;
	const struct known *known;

	if (!base && category != LC_ALL)
		return false;
	object = gorgon_newlocale(mask_of(category), name, base, locale);
	if (!object) {
		if (base)
			freelocale(base);
		return false;
	}
	known = locales_keep(object);
	if (!known)
		return false;
	locales_take(locale, known);
	// The tables of isalpha() and the like are the thread's.
	if (uselocale(NULL) == &locale->object)
		uselocale(&locale->object);
	return true;
}

// The result may be used until the next call for that category, as setlocale(3) says.
static char *locales_answer(struct gorgon_locale *locale, int category)
{
	const char *name = category == LC_ALL ? locale->now->name
					      : category_name(locale->now->object, category);
	char **slot = &locale->answer[category];

	if (!*slot || strcmp(*slot, name)) {
		char *copy = strdup(name);

		if (!copy)
			return NULL;
		free(*slot);
		*slot = copy;
	}
	return *slot;
}

char *gorgon_setlocale(int category, const char *name, struct gorgon_locale *locale)
{
	char *ret = NULL;

	if (!mask_of(category))
		return NULL;
	pthread_mutex_lock(&lock);
	if (!name || locales_change(locale, category, name))
		ret = locales_answer(locale, category);
	pthread_mutex_unlock(&lock);
	return ret;
}
