// SPDX-License-Identifier: MIT
// Files of time zones: TZif of RFC 9636, versions 1 to 4, as zic(8) writes them.
//
// What is read is checked before it is used. A file that is refused here is one that the C library
// refuses, and one whose numbers it would take on trust.

#define _GNU_SOURCE
#include "zone.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST (16 << 20) // the system's largest file has 6 KiB

struct header {
	char magic[4];
	char version;
	char unused[15];
	uint32_t universal, standard, leaps, times, types, chars;
};

struct reader {
	const unsigned char *at, *end;
};

static uint32_t get32(const unsigned char *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

// Read a time of @width bytes.
static int64_t get_time(const unsigned char *from, size_t width)
{
	uint64_t value;

	if (width == 4)
		return (int32_t)get32(from);
	memcpy(&value, from, sizeof(value));
	return (int64_t)be64toh(value);
}

static const unsigned char *zone_file_take(struct reader *reader, uint64_t size)
{
	const unsigned char *at = reader->at;

	if (size > (uint64_t)(reader->end - at))
		return NULL;
	reader->at += size;
	return at;
}

static bool read_header(struct reader *reader, struct header *header)
{
	const unsigned char *at = zone_file_take(reader, sizeof(*header));

	if (!at)
		return false;
	memcpy(header, at, sizeof(*header));
	header->universal = be32toh(header->universal);
	header->standard = be32toh(header->standard);
	header->leaps = be32toh(header->leaps);
	header->times = be32toh(header->times);
	header->types = be32toh(header->types);
	header->chars = be32toh(header->chars);
	return !memcmp(header->magic, "TZif", 4) && header->standard <= header->types &&
	       header->universal <= header->types;
}

static uint64_t size_of(const struct header *header, size_t width)
{
	return (uint64_t)header->times * (width + 1) + (uint64_t)header->types * 6 + header->chars +
	       (uint64_t)header->leaps * (width + 4) + header->standard + header->universal;
}

static bool zone_file_allocate(struct gorgon_zone *zone, const struct header *header)
{
	zone->time_count = header->times;
	zone->type_count = header->types;
	zone->leap_count = header->leaps;
	zone->times = calloc(header->times + 1, sizeof(*zone->times));
	zone->types_after = calloc(header->times + 1, 1);
	zone->types = calloc(header->types + 1, sizeof(*zone->types));
	zone->leaps = calloc(header->leaps + 1, sizeof(*zone->leaps));
	return zone->times && zone->types_after && zone->types && zone->leaps;
}

static bool read_times(struct gorgon_zone *zone, const unsigned char *times,
		       const unsigned char *after, size_t width)
{
	for (size_t i = 0; i < zone->time_count; i++) {
		zone->times[i] = get_time(times + i * width, width);
		zone->types_after[i] = after[i];
		if (after[i] >= zone->type_count)
			return false;
	}
	return true;
}

static bool read_types(struct gorgon_zone *zone, const unsigned char *list, const char *names,
		       size_t names_size)
{
	for (size_t i = 0; i < zone->type_count; i++, list += 6) {
		size_t at = list[5];

		if (list[4] > 1 || at >= names_size)
			return false;
		zone->types[i].offset = (int)get32(list);
		zone->types[i].dst = list[4];
		zone->types[i].name =
			gorgon_zone_name(names + at, strnlen(names + at, names_size - at));
		if (!zone->types[i].name)
			return false;
	}
	return true;
}

static bool read_footer(struct gorgon_zone *zone, const struct reader *reader)
{
	size_t size = (size_t)(reader->end - reader->at);
	char *text;

	if (size < 3)
		return size == 2; // two line ends: there is no string
	if (*reader->at != '\n')
		return true;
	text = strndup((const char *)reader->at + 1, size - 2);
	if (!text)
		return false;
	zone->has_rules = *text;
	gorgon_zone_parse(text, zone->rules);
	free(text);
	return true;
}

// Read the data behind the last header.
static bool read_body(struct gorgon_zone *zone, struct reader *reader, const struct header *header,
		      size_t width)
{
	const unsigned char *times, *after, *types, *names, *leaps;

	if (size_of(header, width) > (uint64_t)(reader->end - reader->at) || !header->types ||
	    !header->chars || !zone_file_allocate(zone, header))
		return false;
	times = zone_file_take(reader, (uint64_t)header->times * width);
	after = zone_file_take(reader, header->times);
	types = zone_file_take(reader, (uint64_t)header->types * 6);
	names = zone_file_take(reader, header->chars);
	leaps = zone_file_take(reader, (uint64_t)header->leaps * (width + 4));
	zone_file_take(reader, (uint64_t)header->standard + header->universal);
	if (!read_times(zone, times, after, width) ||
	    !read_types(zone, types, (const char *)names, header->chars))
		return false;
	for (size_t i = 0; i < header->leaps; i++, leaps += width + 4)
		zone->leaps[i] = (struct gorgon_zone_leap){get_time(leaps, width),
							   (int32_t)get32(leaps + width)};
	return width == 4 || read_footer(zone, reader);
}

static bool zone_file_parse(struct gorgon_zone *zone, struct reader *reader)
{
	struct header header;
	size_t width = 4;

	if (!read_header(reader, &header))
		return false;
	if (header.version) {
		width = 8;
		if (!zone_file_take(reader, size_of(&header, 4)) || !read_header(reader, &header))
			return false;
	}
	return read_body(zone, reader, &header, width);
}

static unsigned char *read_all(int fd, size_t size)
{
	unsigned char *data = malloc(size + 1);
	size_t have = 0;

	while (data && have < size) {
		ssize_t got = read(fd, data + have, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(data);
			return NULL;
		}
		have += (size_t)got;
	}
	return data;
}

static void zone_file_forget(struct gorgon_zone *zone)
{
	free(zone->times);
	free(zone->types_after);
	free(zone->types);
	free(zone->leaps);
	zone->times = NULL;
	zone->types_after = NULL;
	zone->types = NULL;
	zone->leaps = NULL;
	zone->time_count = zone->type_count = zone->leap_count = 0;
	zone->has_rules = false;
}

// The names of the last transitions to either kind of time.
static void find_names(struct gorgon_zone *zone)
{
	for (size_t i = zone->time_count; i-- > 0;) {
		const struct gorgon_zone_type *type = &zone->types[zone->types_after[i]];

		zone->names[type->dst] = zone->names[type->dst] ?: type->name;
	}
	zone->names[0] = zone->names[0] ?: zone->types[0].name;
	zone->names[1] = zone->names[1] ?: zone->names[0];
}

bool gorgon_zone_read_file(struct gorgon_zone *zone, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char *data = NULL;
	struct stat status;
	bool ret = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size < LARGEST &&
	    (data = read_all(fd, (size_t)status.st_size))) {
		struct reader reader = {data, data + status.st_size};

		ret = zone_file_parse(zone, &reader);
	}
	close(fd);
	free(data);
	if (!ret) {
		zone_file_forget(zone);
		return false;
	}
	zone->is_file = true;
	zone->device = status.st_dev;
	zone->inode = status.st_ino;
	zone->changed = status.st_mtim;
	find_names(zone);
	return true;
}
