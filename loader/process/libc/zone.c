// SPDX-License-Identifier: MIT
// What a value of TZ means.
//
// As in the C library: a file of that name, if there is one, otherwise a POSIX string, otherwise
// universal time under the name that the string begins with; a colon in front does not matter; no
// TZ means /etc/localtime, and an empty one universal time. A file is read again when another one
// has taken its place.
//
// Not handled: for a string that names two times and not when they begin, the C library takes the
// days of the file "posixrules", where the system has one; here, as there without it, they are
// today's days of the United States.

#define _GNU_SOURCE
#include "zone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define DEFAULT_FILE	  "/etc/localtime"
#define DEFAULT_DIRECTORY "/usr/share/zoneinfo"

// A program with more rights than its user reads no file of his choice.
static bool is_forbidden(const char *file)
{
	return getauxval(AT_SECURE) &&
	       ((*file == '/' && strcmp(file, DEFAULT_FILE) &&
		 strncmp(file, DEFAULT_DIRECTORY, strlen(DEFAULT_DIRECTORY))) ||
		strstr(file, "../"));
}

// The caller's to free; NULL: none, or no memory.
static char *path_of(const char *file, const char *directory)
{
	char *path;

	if (!*file || is_forbidden(file))
		return NULL;
	if (*file == '/')
		return strdup(file);
	if (!directory || !*directory)
		directory = DEFAULT_DIRECTORY;
	return asprintf(&path, "%s/%s", directory, file) < 0 ? NULL : path;
}

static struct gorgon_zone *zone_create(const char *text, const char *file, const char *path)
{
	struct gorgon_zone *zone = calloc(1, sizeof(*zone));

	if (!zone || (text && !(zone->text = strdup(text)))) {
		free(zone);
		return NULL;
	}
	if (path && gorgon_zone_read_file(zone, path))
		return zone;
	zone->has_rules = true;
	if (strcmp(file, DEFAULT_FILE) && *file)
		gorgon_zone_parse(file, zone->rules);
	else
		zone->rules[0].name = zone->rules[1].name = "UTC";
	zone->names[0] = zone->rules[0].name;
	zone->names[1] = zone->rules[1].name;
	return zone;
}

static bool is_unchanged(const struct gorgon_zone *zone, const char *path)
{
	struct stat status;

	return zone->is_file && path && !stat(path, &status) && status.st_dev == zone->device &&
	       status.st_ino == zone->inode && status.st_mtim.tv_sec == zone->changed.tv_sec &&
	       status.st_mtim.tv_nsec == zone->changed.tv_nsec;
}

struct gorgon_zone *gorgon_zone_get(const char *text, const char *directory,
				    struct gorgon_zone *previous)
{
	const char *file = !text ? DEFAULT_FILE : !*text ? "Universal" : text;
	struct gorgon_zone *zone;
	char *path;

	if (text && previous && previous->text && !strcmp(text, previous->text))
		return previous;
	file += *file == ':';
	path = path_of(file, directory);
	if (!text && previous && !previous->text && is_unchanged(previous, path)) {
		free(path);
		return previous;
	}
	zone = zone_create(text, file, path);
	free(path);
	if (zone)
		gorgon_zone_destroy(previous);
	return zone;
}

void gorgon_zone_destroy(struct gorgon_zone *zone)
{
	if (!zone)
		return;
	free(zone->text);
	free(zone->times);
	free(zone->types_after);
	free(zone->types);
	free(zone->leaps);
	free(zone);
}
