// SPDX-License-Identifier: MIT
// An ELF file: names, lines, build-id. The same bytes as a symfile in memory, of generated code
// with unwind data, and as a file with DWARF of its own.

#include "fuzz.h"

#include "../../tools/symdump/symdump.h"

#include "../../tools/symdump/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ask(struct library *library)
{
	const struct symbol *symbols;
	size_t count = library_symbols(library, &symbols);
	int line;

	for (size_t i = 0; i < count && i < 64; i++) {
		free(symbol_name(&symbols[i]));
		library_find(library, symbols[i].vaddr + symbols[i].size / 2);
		library_find_line(library, symbols[i].vaddr, true, &line);
		library_find_line(library, symbols[i].vaddr + symbols[i].size / 2, false, &line);
	}
	library_find(library, 0x1000);
	library_find_line(library, 0x1000, false, &line);
	library_destroy(library);
}

static void ask_for_unwind_data(const struct target *target, uint8_t *data, size_t size)
{
	const struct object object = {
		.symfile_data = data, .symfile_size = size, .start = 0x1000, .end = 0x2000};
	void *bytes = NULL;

	elf_end(generated_elf(target, &object, &bytes));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target target = {.read = core_read, .name = "fuzz", .root = -1, .memory = -1, .root_name = "/no/files"};
	uint8_t id[64], *copy = malloc(size ?: 1);
	uint64_t start;
	char name[32];
	int fd = fuzz_file(data, size, name);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

	elf_build_id(elf, id);
	if (elf)
		elf_file_start(elf, &start);
	elf_end(elf);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	ask_for_unwind_data(&target, copy, size);
	ask(library_create(&target, -1, copy, size, "fuzz", NULL));
	ask(library_create(&target, fd, NULL, 0, "fuzz", NULL));
	return 0;
}
