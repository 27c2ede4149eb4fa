// SPDX-License-Identifier: MIT
// Command scripts that load every private object into a debugger without its JIT interface,
// and a map for perf. File names come from the target, so each is quoted for its reader;
// they have no control characters (clean_text()), so a line stays a line.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>
#include <string.h>

// Calls @print for objects with a file; an object whose file is missing becomes a comment.
// Generated code never has a file, and gets no comment.
static int each_file(struct dump *dump, void (*print)(const struct dump *, const struct object *,
						      const char *label, const char *file))
{
	int status = STATUS_OK;

	for (size_t i = 0; i < dump->snapshot.object_count; i++) {
		const struct object *object = &dump->snapshot.objects[i];
		char label[32], *file = format("%s%s", dump->target.sysroot, object->path);

		ns_label(&dump->snapshot, object->ns, label);
		if (locations_has_file(dump->locations, object)) {
			print(dump, object, label, file);
		} else if (!*object->path) {
			printf("# left out: generated code at 0x%lx\n", object->start);
		} else {
			printf("# left out, for want of its file: %s of %s\n", object->path,
			       label);
			status = STATUS_FOUND_NOTHING;
		}
		free(file);
	}
	return status;
}

static void print_add_symbol_file(const struct dump *dump __attribute__((unused)),
				  const struct object *object, const char *label, const char *file)
{
	printf("# %s\nwith confirm off -- add-symbol-file \"", label);
	for (const char *c = file; *c; c++)
		printf(strchr("\"\\", *c) ? "\\%c" : "%c", *c);
	printf("\" -o 0x%lx\n", object->bias);
}

int print_gdb(struct dump *dump)
{
	printf("# %s: private objects, for gdb 10 and newer that does not see them by itself.\n",
	       dump->target.name);
	return each_file(dump, print_add_symbol_file);
}

// Prints bytes as Python's b'...'.
static void print_bytes(const char *text)
{
	fputs("b'", stdout);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		printf(*c < 0x20 || *c > 0x7e || *c == '\'' || *c == '\\' ? "\\x%02x" : "%c", *c);
	putchar('\'');
}

static void print_add_module(const struct dump *dump __attribute__((unused)),
			     const struct object *object, const char *label, const char *file)
{
	char *link = format("%s [%s]", base_name(file), label);

	fputs("script gorgon_add(", stdout);
	print_bytes(file);
	fputs(", ", stdout);
	print_bytes(link);
	printf(", 0x%lx, 0x%lx)\n", object->bias, object->symfile);
	free(link);
}

// lldb takes a file that it knows already for the same module, so each copy gets a link of its own
// to the file. lldb's module of the symfile is removed, because lldb would prefer it.
int print_lldb(struct dump *dump)
{
	printf("# %s: private objects, with lines and variables.\n", dump->target.name);
	puts("script import os, tempfile, lldb\n"
	     "script exec(\"\"\""
	     "def gorgon_add(path, name, bias, symfile):\\n"
	     "    target = lldb.debugger.GetSelectedTarget()\\n"
	     "    for module in list(target.module_iter()):\\n"
	     "        if module.GetFileSpec().GetFilename() == 'JIT(%#x)' % symfile:\\n"
	     "            target.RemoveModule(module)\\n"
	     "    with tempfile.TemporaryDirectory(prefix='gorgon-') as folder:\\n"
	     "        link = os.path.join(folder, os.fsdecode(name))\\n"
	     "        os.symlink(os.fsdecode(path), link)\\n"
	     "        module = target.AddModule(link, None, None)\\n"
	     "        target.SetModuleLoadAddress(module, bias)\\n"
	     "\"\"\", globals())");
	return each_file(dump, print_add_module);
}

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
