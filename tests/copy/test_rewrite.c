// SPDX-License-Identifier: MIT
// loader/copy/rewrite.c: what a copy says of itself; that the system's linker takes it for another library, and
// that our loader reads it; what other tools say of it; and what is refused.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "machine.h"
#include "helpers.h"

#include "copy/rewrite.h"
#include "image/image.h"
#include "base/lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBPYTHON "/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1.0"
#define RENAME(from_, to_) ((const struct gorgon_rewrite_name[]){{from_, to_}, {0}})
#define NAMES(...)	   ((const char *const[]){__VA_ARGS__, NULL})

// More names than linkers leave room for; these libraries are on every system.
#define MANY_LIBRARIES                                                                             \
	NAMES("libm.so.6", "libdl.so.2", "librt.so.1", "libutil.so.1", "libpthread.so.0",          \
	      "libresolv.so.2", "libanl.so.1")

static struct gorgon_error *open_image(const char *path, struct gorgon_image **ret)
{
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(path, ret);
	gorgon_unlock();
	return err;
}

static void close_image(struct gorgon_image *image)
{
	gorgon_lock();
	gorgon_image_close(image);
	gorgon_unlock();
}

static pid_t runner;

// A new name each time, in a child, too, because the target must not exist.
static const char *new_name(void)
{
	static unsigned number;
	char name[64];

	snprintf(name, sizeof(name), "copy%u-%d.so", number++, (int)getpid());
	return test_temp(name);
}

static const char *rewritten(const char *from, const struct gorgon_rewrite_opts *opts)
{
	const char *to = new_name();
	struct gorgon_error *err = gorgon_rewrite(from, to, opts);

	// In a child: a failed assertion would go on with the next case there.
	if (err && getpid() != runner) {
		print_error("%s\n", gorgon_error_message(err));
		_exit(99);
	}
	assert_ok(err);
	return to;
}

static const char *write_built(const struct elf_builder *builder)
{
	struct elf_file file = elf_build(builder);
	const char *path = new_name();

	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	return path;
}

// --- what a copy says ---------------------------------------------------------------

static const struct elf_builder_symbol symbols[] = {
	{.name = "imported", .undefined = true, .version = 3},
	{.name = "one", .value = ELF_BUILDER_TEXT, .size = 16, .version = 2},
	{0},
};

static const uint64_t relr[] = {ELF_BUILDER_DATA + 0x100, 0x7};

static const struct elf_builder rich = {
	.soname = "librich.so.1",
	.needed = NAMES("libfirst.so", "libsecond.so"),
	.runpath = "$ORIGIN/here",
	.symbols = symbols,
	.relr = relr,
	.relr_count = 2,
	.sysv_hash = true,
	.verdef = "RICH_1",
	.verneed_file = "libfirst.so",
	.verneed_name = "FIRST_1",
	.relro = true,
};

static const struct gorgon_rewrite_opts everything = {
	.soname = "librich-7.so.1",
	.replace = RENAME("libfirst.so", "libfirst-7.so"),
	.add = NAMES("libpython-7.so", "libsecond.so", "libother.so"),
	.runpath = "/elsewhere",
};

static void rewrite_everything_is_what_a_reader_finds(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_image *image = NULL;

	(void)state;
	assert_ok(open_image(rewritten(write_built(&rich), &everything), &image));
	assert_string_equal(image->soname, "librich-7.so.1");
	assert_string_equal(image->runpath, "/elsewhere");
	assert_int_equal(image->needed_count, 4);
	assert_string_equal(image->needed[0], "libpython-7.so");
	assert_string_equal(image->needed[1], "libother.so");
	assert_string_equal(image->needed[2], "libfirst-7.so");
	assert_string_equal(image->needed[3], "libsecond.so");
	assert_string_equal(image->versions[2].name, "RICH_1");
	assert_string_equal(image->versions[3].name, "FIRST_1");
	assert_string_equal(image->versions[3].file, "libfirst-7.so");
	assert_int_equal(image->symbol_count, 3);
	assert_string_equal(image->strtab + image->symbols[2].st_name, "one");
	assert_int_equal(image->relr_count, 2);
	close_image(image);
	assert_unchanged(&before);
}

static void rewrite_nothing_says_what_the_source_says(void **state)
{
	struct gorgon_image *image = NULL;

	(void)state;
	assert_ok(open_image(rewritten(write_built(&rich), &(struct gorgon_rewrite_opts){0}), &image));
	assert_string_equal(image->soname, "librich.so.1");
	assert_string_equal(image->runpath, "$ORIGIN/here");
	assert_int_equal(image->needed_count, 2);
	assert_string_equal(image->versions[3].file, "libfirst.so");
	close_image(image);
}

static void rewrite_without_names_adds_them(void **state)
{
	static const struct elf_builder bare = {.symbols = symbols};
	struct gorgon_image *image = NULL;

	(void)state;
	assert_ok(open_image(rewritten(write_built(&bare), &everything), &image));
	assert_string_equal(image->soname, "librich-7.so.1");
	assert_string_equal(image->runpath, "/elsewhere");
	assert_int_equal(image->needed_count, 3);
	assert_string_equal(image->needed[1], "libsecond.so");
	close_image(image);
}

static void rewrite_rpath_becomes_runpath(void **state)
{
	struct gorgon_image *image = NULL;

	(void)state;
	assert_ok(open_image(rewritten(test_module("librtop.so"), &everything), &image));
	assert_null(image->rpath);
	assert_string_equal(image->runpath, "/elsewhere");
	close_image(image);
}

// DT_AUXILIARY and DT_FILTER name a library, too.
static void rewrite_filters_name_the_new_library(void **state)
{
	// The first name of the string table is at 1.
	const struct elf_builder filter = {
		.needed = NAMES("libfirst.so"),
		.extra = (const Elf64_Dyn[]){{DT_AUXILIARY, {1}}, {DT_FILTER, {1}}},
		.extra_count = 2,
	};
	struct gorgon_image *image = NULL;
	unsigned found = 0;

	(void)state;
	assert_ok(open_image(rewritten(write_built(&filter), &everything), &image));
	for (const Elf64_Dyn *dyn = gorgon_image_at(image, image->dynamic_vaddr, sizeof(*dyn));
	     dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag != DT_AUXILIARY && dyn->d_tag != DT_FILTER)
			continue;
		assert_string_equal(image->strtab + dyn->d_un.d_val, "libfirst-7.so");
		found++;
	}
	assert_int_equal(found, 2);
	close_image(image);
}

static void rewrite_of_a_copy_is_a_copy(void **state)
{
	const struct gorgon_rewrite_opts again = {
		.soname = "librich-8.so.1", .replace = RENAME("libfirst-7.so", "libfirst-8.so")};
	struct gorgon_image *image = NULL;

	(void)state;
	assert_ok(open_image(rewritten(rewritten(write_built(&rich), &everything), &again), &image));
	assert_string_equal(image->soname, "librich-8.so.1");
	assert_int_equal(image->needed_count, 4);
	assert_string_equal(image->needed[2], "libfirst-8.so");
	assert_string_equal(image->versions[3].file, "libfirst-8.so");
	close_image(image);
}

// The last segment's memory ends far behind the file.
static void rewrite_zero_filled_memory_becomes_a_hole(void **state)
{
	struct elf_file file = elf_build(&rich);
	struct gorgon_image *image = NULL;
	const char *from = new_name(), *to;
	struct stat st;

	(void)state;
	elf_apply(&file, &(struct elf_change)LOAD(2, p_memsz, 64 << 20));
	test_write(from, file.data, file.size);
	to = rewritten(from, &everything);
	assert_int_equal(stat(to, &st), 0);
	assert_in_range(st.st_size, 64 << 20, 65 << 20);
	assert_in_range(st.st_blocks * 512, file.size, 1 << 20);
	assert_ok(open_image(to, &image));
	assert_int_equal(image->segment_count, 4);
	assert_int_equal(image->segments[3].vaddr, image->segments[3].off);
	close_image(image);
	elf_file_deinit(&file);
}

// --- what other tools say --------------------------------------------------------------

struct layout {
	const char *module;
	bool moves; // .dynamic has to move, because there is no room where it is
};

static const struct gorgon_rewrite_opts renamed = {.soname = "libmodule-1.so"};
static const struct gorgon_rewrite_opts grown = {
	.soname = "libmodule-1.so", .add = MANY_LIBRARIES, .runpath = "/elsewhere"};

#define LAYOUTS(name)                                                                              \
	{name, false},                                                                             \
	{                                                                                          \
		name, true                                                                         \
	}

// Files with debug information, and so with notes, symbols and sections of all kinds.
static const struct layout layouts[] = {
	LAYOUTS("libbasic.so"),	      LAYOUTS("libbasic_relr.so"), LAYOUTS("libbasic_sysv.so"),
	LAYOUTS("libbasic_gnu.so"),   LAYOUTS("libbasic_align.so"), LAYOUTS("libbasic_gold.so"),
	LAYOUTS("libbasic_strip.so"), LAYOUTS("libcatch.so"),	    LAYOUTS("libversion.so"),
	LAYOUTS("libunique_a.so"),    LAYOUTS("libversion_own.so"),
	{"libtls.so", true}, // its array of 100000 bytes: see the note in rewrite.c
};

#define LAYOUT_COUNT (sizeof(layouts) / sizeof(*layouts))

static void rewrite_layout_is_as_clean_as_its_source(void **state)
{
	static const char *const tools[] = {"eu-elflint --gnu-ld", "readelf -aW", "eu-readelf -a"};
	const struct layout *layout = *state;
	const char *from = test_module(layout->module);
	const char *to = rewritten(from, layout->moves ? &grown : &renamed);
	bool found = true;

	for (size_t i = 0; i < 3; i++) {
		if (test_run("command -v %s >/dev/null", tools[i])) {
			print_message("%s is absent\n", tools[i]);
			found = false;
			continue;
		}
		// Everything that elflint prints is a complaint; the other tools print complaints on standard
		// error.
		assert_int_equal(test_run("complain() { %s \"$1\" %s; echo status $?; }; "
					  "test \"$(complain %s)\" = \"$(complain %s)\"",
					  tools[i], i ? "2>&1 >/dev/null" : "2>&1", from, to),
				 0);
	}
	if (!found)
		skip_because("none of the tools is installed");
}

// The symbol and, where it has this address, the first word of the global offset table follow .dynamic.
static int check_moved(void *arg)
{
	void *handle = dlopen(arg, RTLD_NOW);
	struct link_map *map = handle;
	uint64_t word;

	if (!handle)
		return 1;
	word = (uint64_t)map->l_ld - map->l_addr;
#ifdef TEST_GOT_HAS_DYNAMIC
	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_PLTGOT) // the system's linker has relocated this entry
			memcpy(&word, (const void *)dyn->d_un.d_ptr, sizeof(word));
#endif
	return word + map->l_addr == (uint64_t)map->l_ld ? 0 : 2;
}

static void rewrite_without_room_moves_the_dynamic_section(void **state)
{
	static const char symbol[] = "readelf -sW %s | awk '$8 == \"_DYNAMIC\" {print \"0x\" $2}'";
	const char *from = test_module("libbasic.so");
	const char *to = rewritten(from, &grown);
	struct gorgon_image *old = NULL, *new = NULL;
	char command[256];

	(void)state;
	assert_ok(open_image(from, &old));
	assert_ok(open_image(to, &new));
	assert_true(new->dynamic_vaddr > old->vaddr_end);
	assert_int_equal(new->segment_count, old->segment_count + 1);
	snprintf(command, sizeof(command), symbol, to);
	assert_int_equal(test_run("test $(($(%s))) = %lu", command, new->dynamic_vaddr), 0);
	assert_int_equal(test_in_child(check_moved, (void *)(uintptr_t)to), 0);
	close_image(new);
	close_image(old);
}

static void rewrite_with_room_leaves_the_dynamic_section(void **state)
{
	struct gorgon_image *old = NULL, *new = NULL;

	(void)state;
	assert_ok(open_image(test_module("libbasic.so"), &old));
	assert_ok(open_image(rewritten(test_module("libbasic.so"), &renamed), &new));
	assert_int_equal(new->dynamic_vaddr, old->dynamic_vaddr);
	assert_int_equal(new->segments[new->segment_count - 1].prot, PROT_READ);
	close_image(new);
	close_image(old);
}

// --- that it is another library ------------------------------------------------------------

// Each copy of libbasic has a counter of its own, whichever linker loads it.
static int count_in_copies(void *arg)
{
	const struct layout *layout = arg;
	const char *from = test_module(layout->module);
	int (*next[3])(void);

	for (int i = 0; i < 3; i++) {
		char soname[32];
		struct gorgon_rewrite_opts opts = layout->moves ? grown : renamed;
		const char *path = from;
		void *handle;

		snprintf(soname, sizeof(soname), "libcounted-%d.so", i);
		opts.soname = soname;
		if (i)
			path = rewritten(from, &opts);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handle) {
			print_error("%s\n", dlerror());
			return 1;
		}
		*(void **)&next[i] = dlsym(handle, "basic_next");
		// The copy is known by its soname.
		if (i && dlopen(soname, RTLD_NOW | RTLD_NOLOAD) != handle)
			return 2;
	}
	if (next[0]() != 42 || next[1]() != 42 || next[1]() != 43 || next[2]() != 42)
		return 3;
	return strcmp(test_notes(), "+basic +basic +basic ") ? 4 : 0;
}

static void dlopen_of_copies_has_state_for_each(void **state)
{
	assert_int_equal(test_in_child(count_in_copies, *state), 0);
}

static void object_open_of_a_copy_counts(void **state)
{
	const struct layout *layout = *state;
	struct gorgon_object *object = NULL;
	struct gorgon_ns *ns;

	ns = test_ns();
	assert_ok(gorgon_object_open(ns, rewritten(test_module(layout->module),
						   layout->moves ? &grown : &renamed), NULL, &object));
	assert_int_equal(SYMBOL(object, int (*)(void), "basic_next")(), 42);
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "+basic -basic ");
}

// libversion_user.so refers to two versions of one function, which it needs of the copy.
static int call_versions(void *arg)
{
	const char *library = rewritten(test_module("libversion.so"),
					&(struct gorgon_rewrite_opts){.soname = "libversion-1.so"});
	const char *user = rewritten(
		test_module("libversion_user.so"),
		&(struct gorgon_rewrite_opts){
			.soname = "libuser-1.so",
			.replace = RENAME("libversion.so", "libversion-1.so"),
			.runpath = "/nonexistent",
			.add = arg,
		});
	void *handle;
	int (*old)(void), (*new)(void);

	if (!dlopen(library, RTLD_NOW | RTLD_LOCAL) || !(handle = dlopen(user, RTLD_NOW | RTLD_LOCAL))) {
		print_error("%s\n", dlerror());
		return 1;
	}
	*(void **)&old = dlsym(handle, "version_user_old");
	*(void **)&new = dlsym(handle, "version_user_new");
	return old() == 1 && new () == 2 ? 0 : 2;
}

static void rewrite_base_version_is_the_new_name(void **state)
{
	(void)state;
	assert_int_equal(test_run("readelf -VW %s | grep -q 'Flags: BASE .*Name: libmodule-1.so$'",
				  rewritten(test_module("libversion.so"), &renamed)),
			 0);
}

static void dlopen_of_a_versioned_pair_binds_to_the_copy(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(call_versions, NULL), 0);
	assert_int_equal(test_in_child(call_versions, (void *)(uintptr_t)MANY_LIBRARIES), 0);
}

// libjansson does this: its only version has the library's name, and both share an entry of the string table.
static void rewrite_version_called_like_the_library_keeps_its_name(void **state)
{
	const char *from = test_module("libversion_own.so");
	const char *to = rewritten(from, &renamed);

	(void)state;
	assert_int_equal(test_run("readelf -VW %s | grep -q 'Flags: none .*Name: libversion_own.so$'", from),
			 0);
	assert_int_equal(test_run("readelf -VW %s | grep -q 'Flags: none .*Name: libversion_own.so$'", to),
			 0);
}

static int call_own_version(void *arg)
{
	void *handle = dlopen(rewritten(test_module("libversion_own.so"), &renamed), RTLD_NOW);

	(void)arg;
	if (!handle || !dlvsym(handle, "version_number", "libversion_own.so")) {
		print_error("%s\n", dlerror());
		return 1;
	}
	return 0;
}

static void dlvsym_of_a_version_called_like_the_library_finds_it(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(call_own_version, NULL), 0);
}

// Each copy has its own definition of a name that is unique in the process, and a copy can be closed.
static int count_unique(void *arg)
{
	void *handles[2];
	int *places[2];

	for (int i = 0; i < 2; i++) {
		const char *soname = i ? "libunique-2.so" : "libunique-1.so";
		const char *path = rewritten(test_module("libunique_a.so"),
					     &(struct gorgon_rewrite_opts){.soname = soname, .add = arg});
		int *(*at)(void);

		handles[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handles[i]) {
			print_error("%s\n", dlerror());
			return 1;
		}
		*(void **)&at = dlsym(handles[i], "unique_a_at");
		places[i] = at();
	}
	if (places[0] == places[1])
		return 2;
	dlclose(handles[0]);
	if (dlopen("libunique-1.so", RTLD_NOW | RTLD_NOLOAD))
		return 3;
	return *places[1] == 100 ? 0 : 4;
}

static void dlopen_of_copies_with_unique_names_has_one_in_each(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(count_unique, NULL), 0);
	assert_int_equal(test_in_child(count_unique, (void *)(uintptr_t)MANY_LIBRARIES), 0);
}

// An exception passes through two copies, so unwind data is found. Each copy has its own thread-local variables.
static int throw_and_count(void *arg)
{
	const char *thrower = rewritten(test_module("libthrow.so"),
					&(struct gorgon_rewrite_opts){.soname = "libthrow-1.so"});
	const char *catcher =
		rewritten(test_module("libcatch.so"),
			  &(struct gorgon_rewrite_opts){
				  .soname = "libcatch-1.so",
				  .replace = RENAME("libthrow.so", "libthrow-1.so"),
				  .add = arg,
			  });
	const char *tls = rewritten(test_module("libtls.so"), arg ? &grown : &renamed);
	void *caught = NULL, *counted = NULL;
	int (*next)(void), (*catch_own)(int);

	if (!dlopen(thrower, RTLD_NOW) || !(caught = dlopen(catcher, RTLD_NOW)) ||
	    !(counted = dlopen(tls, RTLD_NOW))) {
		print_error("%s\n", dlerror());
		return 1;
	}
	*(void **)&catch_own = dlsym(caught, "catch_own_type");
	*(void **)&next = dlsym(counted, "tls_next");
	return catch_own(5) == 5 && next() == 13 && next() == 15 ? 0 : 2;
}

static void dlopen_of_copies_with_exceptions_and_tls(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(throw_and_count, NULL), 0);
	assert_int_equal(test_in_child(throw_and_count, (void *)(uintptr_t)MANY_LIBRARIES), 0);
}

// Only debuggers need section headers.
static int count_without_sections(void *arg)
{
	void *handle = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
	int (*next)(void);

	if (!handle)
		return 1;
	*(void **)&next = dlsym(handle, "basic_next");
	return next() == 42 ? 0 : 2;
}

static void rewrite_without_sections_is_loadable(void **state)
{
	const char *from = new_name(), *to;
	uint8_t *data;
	size_t size;

	(void)state;
	data = test_read(test_module("libbasic.so"), &size);
	((Elf64_Ehdr *)data)->e_shoff = 0;
	((Elf64_Ehdr *)data)->e_shnum = ((Elf64_Ehdr *)data)->e_shstrndx = 0;
	test_write(from, data, size);
	free(data);
	to = rewritten(from, &grown);
	assert_int_equal(test_in_child(count_without_sections, (void *)(uintptr_t)to), 0);
}

// --- two Pythons -------------------------------------------------------------------------

struct python {
	void *libpython, *extension;
};

static void *find(void *handle, const char *name)
{
	void *addr = dlsym(handle, name);

	if (!addr) {
		print_error("%s\n", dlerror());
		_exit(100);
	}
	return addr;
}

#define CALL(handle, type, name) ((type)find(handle, name))

// Opens a copy of libpython under a name of its own, and an extension that needs it by that name.
static bool open_python(struct python *python, int number, const char *extension)
{
	char library[32], module[32];

	snprintf(library, sizeof(library), "libpython-%d.so", number);
	snprintf(module, sizeof(module), "extension-%d.so", number);
	python->libpython = dlopen(
		rewritten(LIBPYTHON, &(struct gorgon_rewrite_opts){.soname = library}),
		RTLD_NOW | RTLD_LOCAL);
	if (!python->libpython)
		return false;
	python->extension = dlopen(
		rewritten(extension, &(struct gorgon_rewrite_opts){.soname = module,
								   .add = NAMES(library)}),
		RTLD_NOW | RTLD_LOCAL);
	return python->extension;
}

// Runs Python code in the copy, and asks whether the extension's module definition has the type of this copy.
static bool run_python(const struct python *python)
{
	void *def, *type;

	CALL(python->libpython, void (*)(int), "Py_InitializeEx")(0);
	if (CALL(python->libpython, int (*)(const char *),
		 "PyRun_SimpleString")("import sys\nassert not hasattr(sys, 'mark')\nsys.mark = 1\n"))
		return false;
	def = CALL(python->extension, void *(*)(void), "PyInit__queue")();
	type = CALL(python->libpython, void *(*)(void *), "PyObject_Type")(def);
	return type == find(python->libpython, "PyModuleDef_Type");
}

static int run_two_pythons(void *arg)
{
	struct python python[2];

	for (int i = 0; i < 2; i++) {
		if (!open_python(&python[i], i, arg)) {
			print_error("%s\n", dlerror());
			return 1;
		}
	}
	if (find(python[0].libpython, "_Py_NoneStruct") == find(python[1].libpython, "_Py_NoneStruct"))
		return 2;
	// Without its libpython the names that the extension needs are not defined.
	if (dlopen(arg, RTLD_NOW | RTLD_LOCAL))
		return 3;
	return run_python(&python[0]) && run_python(&python[1]) ? 0 : 4;
}

static void dlopen_of_two_libpythons_runs_two_interpreters(void **state)
{
	glob_t found;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("a leak checker's report of CPython itself");
	assert_int_equal(glob("/usr/lib/python" TEST_PYTHON "/lib-dynload/_queue.cpython-*.so", 0, NULL, &found),
			 0);
	assert_int_equal(test_in_child(run_two_pythons, found.gl_pathv[0]), 0);
	globfree(&found);
}

// --- what is refused --------------------------------------------------------------------------

static void refuse(const char *from, const struct gorgon_rewrite_opts *opts,
		   enum gorgon_error_code code, const char *text)
{
	struct test_snapshot before = test_snapshot();
	const char *to = new_name();

	assert_error(gorgon_rewrite(from, to, opts), code, text);
	assert_int_equal(access(to, F_OK), -1);
	assert_unchanged(&before);
}

static void rewrite_prelinked_is_refused(void **state)
{
	const struct elf_builder prelinked = {
		.soname = "libold.so",
		.extra = (const Elf64_Dyn[]){{DT_GNU_PRELINKED, {1}}},
		.extra_count = 1,
	};

	(void)state;
	refuse(write_built(&prelinked), &renamed, GORGON_ERROR_UNSUPPORTED,
	       ": is prelinked (dynamic entry 0x6ffffdf5); undo it with prelink -u");
}

static void rewrite_filter_of_no_name_is_refused(void **state)
{
	const struct elf_builder filter = {
		.soname = "libfilter.so",
		.extra = (const Elf64_Dyn[]){{DT_FILTER, {0x10000}}},
		.extra_count = 1,
	};

	(void)state;
	refuse(write_built(&filter), &renamed, GORGON_ERROR_FORMAT,
	       "dynamic entry 6: name at 0x10000 is outside of DT_STRTAB");
}

static void rewrite_of_much_zero_filled_memory_is_refused(void **state)
{
	struct elf_file file = elf_build(&rich);
	const char *from = new_name();

	(void)state;
	elf_apply(&file, &(struct elf_change)LOAD(2, p_memsz, UINT64_C(5) << 30));
	test_write(from, file.data, file.size);
	elf_file_deinit(&file);
	refuse(from, &renamed, GORGON_ERROR_UNSUPPORTED,
	       "a copy would have a hole of more than 0x100000000");
}

static void rewrite_empty_names_are_refused(void **state)
{
	const char *from = test_module("libbasic.so");

	(void)state;
	refuse(from, &(struct gorgon_rewrite_opts){.soname = ""}, GORGON_ERROR_ARGUMENT,
	       "libbasic.so: an empty name for a copy of it");
	refuse(from, &(struct gorgon_rewrite_opts){.runpath = ""}, GORGON_ERROR_ARGUMENT, "an empty");
	refuse(from, &(struct gorgon_rewrite_opts){.add = NAMES("a", "")}, GORGON_ERROR_ARGUMENT,
	       "an empty");
	refuse(from, &(struct gorgon_rewrite_opts){.replace = RENAME("libc.so.6", "")},
	       GORGON_ERROR_ARGUMENT, "an empty");
}

static void rewrite_of_what_is_no_library_is_refused(void **state)
{
	(void)state;
	refuse("/nonexistent/x.so", &renamed, GORGON_ERROR_OS, "/nonexistent/x.so: No such file");
	refuse("/etc/passwd", &renamed, GORGON_ERROR_FORMAT, "/etc/passwd: not an ELF file");
	refuse("/usr/bin/env", &renamed, GORGON_ERROR_FORMAT, "/usr/bin/env: ");
}

static void rewrite_to_an_existing_file_leaves_it(void **state)
{
	const char *to = new_name();
	uint8_t *data;
	size_t size;

	(void)state;
	test_write(to, "mine", 4);
	assert_error(gorgon_rewrite(test_module("libbasic.so"), to, &renamed), GORGON_ERROR_OS,
		     ": File exists");
	data = test_read(to, &size);
	assert_int_equal(size, 4);
	assert_memory_equal(data, "mine", 4);
	free(data);
	assert_error(gorgon_rewrite(test_module("libbasic.so"), "/nonexistent/x.so", &renamed),
		     GORGON_ERROR_OS, "/nonexistent/x.so: No such file");
}

static int write_too_much(void *arg)
{
	struct rlimit limit = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
	struct gorgon_error *err;
	int errnum;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	err = gorgon_rewrite(test_module("libbasic.so"), arg, &renamed);
	errnum = gorgon_error_errno(err);
	gorgon_error_destroy(err);
	return errnum == EFBIG && access(arg, F_OK) ? 0 : 1;
}

static void rewrite_without_room_on_the_device_leaves_no_file(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(write_too_much, (void *)(uintptr_t)new_name()), 0);
}

// The loader does not read section headers, so a file with wrong section headers is valid to it.
enum header { SHOFF, SHENTSIZE, SHNUM, SHNUM_LONG, DYNAMIC_LINK, SYMTAB_SIZE, SYMTAB_LINK };

static Elf64_Shdr *section(uint8_t *data, uint32_t type)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)data;
	Elf64_Shdr *sh = (Elf64_Shdr *)(data + ehdr->e_shoff);

	while (sh->sh_type != type)
		sh++;
	return sh;
}

static void damage_header(uint8_t *data, enum header header, uint64_t value)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)data;

	switch (header) {
	case SHOFF:
		ehdr->e_shoff = value;
		break;
	case SHENTSIZE:
		ehdr->e_shentsize = (uint16_t)value;
		break;
	case SHNUM:
		ehdr->e_shnum = (uint16_t)value;
		break;
	case SHNUM_LONG:
		ehdr->e_shnum = 0;
		section(data, SHT_NULL)->sh_size = value;
		break;
	case DYNAMIC_LINK:
		section(data, SHT_DYNAMIC)->sh_link = (uint32_t)value;
		break;
	case SYMTAB_SIZE:
		section(data, SHT_SYMTAB)->sh_size = value;
		break;
	case SYMTAB_LINK:
		section(data, SHT_SYMTAB)->sh_link = (uint32_t)value;
		break;
	}
}

static void rewrite_wrong_section_headers_are_refused(void **state)
{
	static const struct {
		enum header header;
		uint64_t value;
		const char *text;
	} rows[] = {
		{SHOFF, UINT64_MAX - 7, "section headers at 0xfffffffffffffff8, 64 bytes each"},
		{SHOFF, 65, "section headers at 0x41, 64 bytes each"},
		{SHENTSIZE, 40, ", 40 bytes each: the file has 0x"},
		{SHNUM, 60000, "60000 section headers at 0x"},
		{SHNUM_LONG, 60000, "60000 section headers at 0x"},
		{DYNAMIC_LINK, 60000, "SHT_DYNAMIC: its sh_link 60000 is not the string table at 0x"},
		{DYNAMIC_LINK, 0, "SHT_DYNAMIC: its sh_link 0 is not the string table at 0x"},
		{SYMTAB_SIZE, UINT64_MAX, "a symbol table: it or its names are not in the file"},
		{SYMTAB_LINK, 60000, "a symbol table: it or its names are not in the file"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *from = new_name();
		size_t size;
		uint8_t *data = test_read(test_module("libbasic.so"), &size);

		damage_header(data, rows[i].header, rows[i].value);
		test_write(from, data, size);
		free(data);
		refuse(from, &grown, GORGON_ERROR_FORMAT, rows[i].text);
	}
}

static void add_case(struct CMUnitTest *tests, char (*names)[96], size_t *count, const char *what,
		     CMUnitTestFunction function, const struct layout *layout)
{
	char *name = names[*count];

	snprintf(name, sizeof(*names), "%s_%.*s_%s", what, (int)strlen(layout->module) - 3,
		 layout->module, layout->moves ? "moved" : "in_place");
	tests[(*count)++] = (struct CMUnitTest){
		.name = name, .test_func = function, .initial_state = (void *)(uintptr_t)layout};
}

int main(void)
{
	const struct CMUnitTest single[] = {
		cmocka_unit_test(rewrite_everything_is_what_a_reader_finds),
		cmocka_unit_test(rewrite_nothing_says_what_the_source_says),
		cmocka_unit_test(rewrite_without_names_adds_them),
		cmocka_unit_test(rewrite_rpath_becomes_runpath),
		cmocka_unit_test(rewrite_filters_name_the_new_library),
		cmocka_unit_test(rewrite_of_a_copy_is_a_copy),
		cmocka_unit_test(rewrite_zero_filled_memory_becomes_a_hole),
		cmocka_unit_test(rewrite_without_room_moves_the_dynamic_section),
		cmocka_unit_test(rewrite_with_room_leaves_the_dynamic_section),
		cmocka_unit_test(rewrite_without_sections_is_loadable),
		cmocka_unit_test(rewrite_base_version_is_the_new_name),
		cmocka_unit_test(dlopen_of_a_versioned_pair_binds_to_the_copy),
		cmocka_unit_test(rewrite_version_called_like_the_library_keeps_its_name),
		cmocka_unit_test(dlvsym_of_a_version_called_like_the_library_finds_it),
		cmocka_unit_test(dlopen_of_copies_with_unique_names_has_one_in_each),
		cmocka_unit_test(dlopen_of_copies_with_exceptions_and_tls),
		cmocka_unit_test(dlopen_of_two_libpythons_runs_two_interpreters),
		cmocka_unit_test(rewrite_prelinked_is_refused),
		cmocka_unit_test(rewrite_filter_of_no_name_is_refused),
		cmocka_unit_test(rewrite_of_much_zero_filled_memory_is_refused),
		cmocka_unit_test(rewrite_empty_names_are_refused),
		cmocka_unit_test(rewrite_of_what_is_no_library_is_refused),
		cmocka_unit_test(rewrite_to_an_existing_file_leaves_it),
		cmocka_unit_test(rewrite_without_room_on_the_device_leaves_no_file),
		cmocka_unit_test(rewrite_wrong_section_headers_are_refused),
	};
	static struct CMUnitTest by_layout[LAYOUT_COUNT * 3];
	static char names[LAYOUT_COUNT * 3][96];
	size_t count = 0;
	int failed;

	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		const struct layout *layout = &layouts[i];

		add_case(by_layout, names, &count, "rewrite_layout_is_as_clean_as_its_source",
			 rewrite_layout_is_as_clean_as_its_source, layout);
		if (strncmp(layout->module, "libbasic", 8))
			continue;
		add_case(by_layout, names, &count, "dlopen_of_copies_has_state_for_each",
			 dlopen_of_copies_has_state_for_each, layout);
		add_case(by_layout, names, &count, "object_open_of_a_copy_counts",
			 object_open_of_a_copy_counts, layout);
	}
	runner = getpid();
	failed = cmocka_run_group_tests_name("rewrite", single, test_warm_up, NULL);
	return failed + _cmocka_run_group_tests("rewrite_layouts", by_layout, count, test_warm_up, NULL);
}
