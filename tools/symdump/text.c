// SPDX-License-Identifier: MIT
// Memory that is there or ends the program, names made fit to print, lists of problems,
// sets of addresses, and maps.

#define _GNU_SOURCE
#include "symdump.h"

#include "printable.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEMS_KEPT 100

static void *check_memory(void *memory)
{
	if (memory)
		return memory;
	fputs("gorgon-symdump: no memory\n", stderr);
	exit(STATUS_NO_TARGET);
}

void *zalloc(size_t count, size_t size)
{
	return check_memory(calloc(count ?: 1, size));
}

void *grow(void *array, size_t count, size_t size)
{
	// Powers of two, so that the capacity need not be kept anywhere.
	if (count & (count - 1) || (count && count < 4))
		return array;
	return check_memory(reallocarray(array, count < 4 ? 4 : count * 2, size));
}

char *format(const char *fmt, ...)
{
	va_list args;
	char *ret;

	va_start(args, fmt);
	if (vasprintf(&ret, fmt, args) < 0)
		ret = NULL;
	va_end(args);
	return check_memory(ret);
}

char *clean_text(const char *bytes, size_t size)
{
	char *ret = zalloc(size + 1, 1);
	size_t out = 0;

	for (size_t i = 0; i < size && bytes[i];) {
		size_t length = gorgon_printable((const unsigned char *)bytes + i, size - i);

		if (length)
			memcpy(ret + out, bytes + i, length);
		else
			ret[out] = '?';
		out += length ?: 1;
		i += length ?: 1;
	}
	return ret;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *hex(const uint8_t *bytes, size_t size)
{
	char *ret = zalloc(size * 2 + 1, 1);

	for (size_t i = 0; i < size; i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	return ret;
}

void problem(struct problems *problems, const char *fmt, ...)
{
	va_list args;
	char *line;

	if (problems->kept == PROBLEMS_KEPT) {
		problems->count++;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		line = NULL;
	va_end(args);
	check_memory(line);
	for (size_t i = 0; i < problems->kept; i++)
		if (!strcmp(problems->lines[i], line)) { // of another copy of the same file
			free(line);
			return;
		}
	problems->count++;
	problems->lines = grow(problems->lines, problems->kept, sizeof(*problems->lines));
	problems->lines[problems->kept++] = line;
}

void problems_deinit(struct problems *problems)
{
	for (size_t i = 0; i < problems->kept; i++)
		free(problems->lines[i]);
	free(problems->lines);
	*problems = (struct problems){0};
}

static uint64_t *find_slot(const struct address_set *set, uint64_t addr)
{
	size_t i = (size_t)(addr * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	while (set->slots[i &= set->capacity - 1] && set->slots[i] != addr)
		i++;
	return &set->slots[i];
}

bool address_set_has(const struct address_set *set, uint64_t addr)
{
	return addr && set->capacity && *find_slot(set, addr) == addr;
}

bool address_set_add(struct address_set *set, uint64_t addr)
{
	uint64_t *slot;

	if (set->count * 2 >= set->capacity) {
		struct address_set larger = {.capacity = set->capacity ? set->capacity * 2 : 64};

		larger.slots = zalloc(larger.capacity, sizeof(*larger.slots));
		for (size_t i = 0; i < set->capacity; i++)
			if (set->slots[i])
				*find_slot(&larger, set->slots[i]) = set->slots[i];
		larger.count = set->count;
		free(set->slots);
		*set = larger;
	}
	slot = find_slot(set, addr);
	if (!addr || *slot == addr)
		return false;
	*slot = addr;
	set->count++;
	return true;
}

void address_set_deinit(struct address_set *set)
{
	free(set->slots);
	*set = (struct address_set){0};
}

struct map_slot {
	uint64_t a, b;
	size_t value;
	bool used;
};

static struct map_slot *find_map_slot(const struct map *map, uint64_t a, uint64_t b)
{
	size_t i = (size_t)((a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0xff51afd7ed558ccd) >>
			    20);

	while (map->slots[i &= map->capacity - 1].used &&
	       (map->slots[i].a != a || map->slots[i].b != b))
		i++;
	return &map->slots[i];
}

size_t *map_find(struct map *map, uint64_t a, uint64_t b)
{
	struct map_slot *slot;

	if (map->count * 2 >= map->capacity) {
		struct map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
				     .count = map->count};

		larger.slots = zalloc(larger.capacity, sizeof(*larger.slots));
		for (size_t i = 0; i < map->capacity; i++)
			if (map->slots[i].used)
				*find_map_slot(&larger, map->slots[i].a, map->slots[i].b) =
					map->slots[i];
		free(map->slots);
		*map = larger;
	}
	slot = find_map_slot(map, a, b);
	if (!slot->used) {
		*slot = (struct map_slot){a, b, MAP_NEW, true};
		map->count++;
	}
	return &slot->value;
}

size_t *map_get(const struct map *map, uint64_t a, uint64_t b)
{
	struct map_slot *slot = map->capacity ? find_map_slot(map, a, b) : NULL;

	return slot && slot->used ? &slot->value : NULL;
}

void map_clear(struct map *map)
{
	if (map->count)
		memset(map->slots, 0, map->capacity * sizeof(*map->slots));
	map->count = 0;
}

void map_deinit(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}
