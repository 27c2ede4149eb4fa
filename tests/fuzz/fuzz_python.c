// SPDX-License-Identifier: MIT
// CPython's structures: the first byte is the version, the rest lies in memory from where its
// _PyRuntime is.

#define _GNU_SOURCE
#include "fuzz.h"

#include "../../tools/symdump/symdump.h"

#include "../symdump/symfile.h"

#include <stdlib.h>
#include <unistd.h>

#define RUNTIME UINT64_C(0x10000)
#define TID     4711

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symfile *file = malloc(sizeof(*file));
	struct segment segment = {RUNTIME, size - 1, 0};
	struct target target = {.read = core_read, .root = -1, .segments = &segment, .segment_count = 1};
	struct python_layout *layout;
	struct python_stack stack;
	struct library *library;
	struct python_thread *threads, thread;
	struct python_codes *codes = python_codes_create();
	char name[32];

	if (!file)
		abort();
	if (!size) {
		python_codes_destroy(codes);
		free(file);
		return 0;
	}
	fill_symfile(file, "_PyRuntime", RUNTIME, 1);
	target.memory = fuzz_file(data + 1, size - 1, name);
	library = library_create(&target, -1, file, sizeof(*file), "libpython", NULL);
	layout = python_layout_create(&target, library, 0, 11 + data[0] % 4);
	python_threads(&target, layout, 0, &threads);
	free(threads);
	if (python_find_thread(&target, layout, 0, TID, &thread)) {
		python_read(&target, layout, 0, codes, &thread, 100, &stack);
		python_stack_deinit(&stack);
		python_is_gil(&target, layout, 0, &thread, RUNTIME);
	}
	python_codes_destroy(codes);
	python_layout_destroy(layout);
	library_destroy(library);
	close(target.memory);
	return 0;
}
