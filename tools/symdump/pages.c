// SPDX-License-Identifier: MIT
// Pages of a target that have been read, until they are forgotten.

#define _GNU_SOURCE
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_NONE (MAP_NEW - 1) // it cannot be read

static const uint8_t *find_page(struct pages *pages, uint64_t addr)
{
	size_t *found = map_find(&pages->map, addr, 0);

	if (*found == MAP_NEW) {
		if (pages->count == pages->room)
			pages->list = grow(pages->list, pages->room++, sizeof(*pages->list));
		*found = target_read(pages->real, addr, pages->list[pages->count], PAGE_BYTES)
				 ? pages->count++
				 : PAGE_NONE;
	}
	return *found == PAGE_NONE ? NULL : pages->list[*found];
}

static bool read_pages(const struct target *target, uint64_t addr, void *bytes, size_t size)
{
	struct pages *pages = (struct pages *)target; // the target is its first member

	while (size) {
		uint64_t off = addr % PAGE_BYTES,
			 part = size < PAGE_BYTES - off ? size : PAGE_BYTES - off;
		const uint8_t *page = find_page(pages, addr - off);

		if (!page)
			return false;
		memcpy(bytes, page + off, part);
		bytes = (uint8_t *)bytes + part;
		addr += part;
		size -= part;
	}
	return true;
}

void pages_init(struct pages *pages, const struct target *real)
{
	*pages = (struct pages){.target = *real, .real = real};
	pages->target.read = read_pages;
}

void pages_deinit(struct pages *pages)
{
	free(pages->list);
	map_deinit(&pages->map);
	*pages = (struct pages){0};
}

void pages_forget(struct pages *pages)
{
	map_clear(&pages->map);
	pages->count = 0;
}
