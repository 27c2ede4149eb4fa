// SPDX-License-Identifier: MIT
// --perf-map: functions in the form of /tmp/perf-PID.map.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>

int print_perf_map(struct dump *dump)
{
	for (size_t o = 0; o < dump->snapshot.object_count; o++) {
		const struct object *object = &dump->snapshot.objects[o];
		uint64_t bias = locations_bias(dump->locations, object);
		const struct symbol *symbols;
		size_t count =
			library_symbols(locations_library(dump->locations, object), &symbols);
		char label[32];

		ns_label(&dump->snapshot, object->ns, label);
		for (size_t s = 0; s < count; s++) {
			char *name;

			// One name per address: the first is the best.
			if (symbols[s].type == STT_OBJECT || !symbols[s].size ||
			    (s && symbols[s - 1].vaddr == symbols[s].vaddr) ||
			    !locations_has_symbol(dump->locations, object, &symbols[s]))
				continue;
			name = symbol_name(&symbols[s]);
			printf("%lx %lx %s [%s%s%s]\n", bias + symbols[s].vaddr, symbols[s].size,
			       name, base_name(object->path), *object->path ? " " : "", label);
			free(name);
		}
	}
	return STATUS_OK;
}
