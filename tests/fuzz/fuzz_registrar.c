// SPDX-License-Identifier: MIT
// A library that libjitreg describes to debuggers: in full, by its names alone, and in a pack, with the lines and the
// DWARF that it has.

#include "fuzz.h"

#include "../../jitreg/jitreg.h"

#include <unistd.h>

#define BIAS  UINT64_C(0x100000000000)
#define SPACE UINT64_C(0x100000000)

static void describe(const char *name, uint32_t flags, struct jitreg_group *group)
{
	const struct jitreg_image image = {.size = sizeof(image), .path = name, .fd = -1, .flags = flags, .bias = BIAS,
					   .start = BIAS, .end = BIAS + SPACE, .group = group};
	struct jitreg_prepared *prepared = NULL;
	struct jitreg_entry *entry;

	if (jitreg_prepare(name, flags, &prepared))
		prepared = NULL;
	if (!jitreg_register(&image, &entry)) {
		if (!group || jitreg_group_list(group) || jitreg_group_pack(group))
			group = NULL; // the library is described alone when a pack is refused
		jitreg_unregister(entry);
	}
	jitreg_prepared_destroy(prepared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitreg_group *group;
	char name[32];
	int fd = fuzz_file(data, size, name);

	describe(name, 0, NULL);
	describe(name, JITREG_NAMES_ONLY, NULL);
	if (!jitreg_group_create(BIAS, &group)) {
		describe(name, JITREG_NAMES_ONLY | JITREG_DEFER, group);
		jitreg_group_destroy(group);
	}
	close(fd);
	return 0;
}
