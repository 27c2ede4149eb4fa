// SPDX-License-Identifier: MIT
// loader/dl/dl.c and dl_info.c: dlopen, dlsym, ... as private code sees them, called through a
// module, so that the caller is private.

#define _GNU_SOURCE
#include "helpers.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Functions of libdl.so, each of which calls the function of its name.
static struct {
	void *(*open)(const char *path, int mode);
	void *(*mopen)(long id, const char *path, int mode);
	void *(*sym)(void *handle, const char *name);
	void *(*sym_default)(const char *name);
	void *(*sym_next)(const char *name);
	void *(*vsym)(void *handle, const char *name, const char *version);
	int (*close)(void *handle);
	const char *(*error)(void);
	int (*addr)(const void *addr, Dl_info *info);
	struct gorgon_ns *ns;
	struct gorgon_object *object;
} dl;

static int setup(void **state)
{
	struct gorgon_object *o;

	(void)state;
	if (gorgon_ns_create(NULL, &dl.ns) ||
	    gorgon_object_open(dl.ns, test_module("libdl.so"), NULL, &dl.object))
		return -1;
	o = dl.object;
	dl.open = SYMBOL(o, void *(*)(const char *, int), "user_dlopen");
	dl.mopen = SYMBOL(o, void *(*)(long, const char *, int), "user_dlmopen");
	dl.sym = SYMBOL(o, void *(*)(void *, const char *), "user_dlsym");
	dl.sym_default = SYMBOL(o, void *(*)(const char *), "user_dlsym_default");
	dl.sym_next = SYMBOL(o, void *(*)(const char *), "user_dlsym_next");
	dl.vsym = SYMBOL(o, void *(*)(void *, const char *, const char *), "user_dlvsym");
	dl.close = SYMBOL(o, int (*)(void *), "user_dlclose");
	dl.error = SYMBOL(o, const char *(*)(void), "user_dlerror");
	dl.addr = SYMBOL(o, int (*)(const void *, Dl_info *), "user_dladdr");
	dl.error();
	test_notes();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return gorgon_ns_destroy(dl.ns) ? -1 : 0;
}

static void assert_dlerror(const char *text)
{
	const char *message = dl.error();

	if (!message || !strstr(message, text))
		fail_msg("dlerror: \"%s\", expected \"...%s...\"", message ? message : "(none)",
			 text);
	assert_null(dl.error()); // an error is told once
}

static void dlopen_path_loads_into_the_callers_namespace(void **state)
{
	size_t count = test_snapshot().objects;
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);
	int (*sum)(int, int);

	(void)state;
	assert_non_null(handle);
	assert_int_equal(test_snapshot().objects, count + 1);
	assert_null(dlopen(test_module("libbasic.so"), RTLD_NOW | RTLD_NOLOAD));
	sum = (int (*)(int, int))dl.sym(handle, "basic_sum");
	assert_int_equal(sum(2, 2), 4);
	assert_int_equal(dl.close(handle), 0);
	assert_int_equal(test_snapshot().objects, count);
	assert_string_equal(test_notes(), "+basic -basic ");
}

static void dlmopen_is_the_callers_namespace_or_an_error(void **state)
{
	size_t count = test_snapshot().objects;
	void *handle = dl.mopen(LM_ID_BASE, test_module("libbasic.so"), RTLD_NOW);

	(void)state;
	assert_non_null(handle);
	assert_int_equal(test_snapshot().objects, count + 1);
	assert_non_null(dl.sym(handle, "basic_sum"));
	assert_int_equal(dl.close(handle), 0);
	assert_null(dl.mopen(LM_ID_NEWLM, test_module("libbasic.so"), RTLD_NOW));
	assert_dlerror("libbasic.so: dlmopen: namespace -1: private code has LM_ID_BASE (0) only");
	assert_null(dl.mopen(3, NULL, RTLD_NOW));
	assert_dlerror("(program): dlmopen: namespace 3");
	assert_string_equal(test_notes(), "+basic -basic ");
}

static void dlopen_same_library_twice_is_counted(void **state)
{
	void *first = dl.open(test_module("libbasic.so"), RTLD_LAZY);
	void *second = dl.open(test_module("libbasic.so"), RTLD_NOW);

	(void)state;
	assert_ptr_equal(first, second);
	assert_int_equal(dl.close(first), 0);
	assert_non_null(dl.sym(second, "basic_sum"));
	assert_int_equal(dl.close(second), 0);
	assert_string_equal(test_notes(), "+basic -basic ");
}

static void dlopen_null_is_the_namespace_then_the_process(void **state)
{
	void *handle = dl.open(NULL, RTLD_NOW);
	void *global;

	(void)state;
	assert_non_null(handle);
	assert_null(dl.sym(handle, "basic_sum"));
	assert_dlerror("undefined symbol: basic_sum");
	assert_ptr_equal(dl.sym(handle, "test_note"), (void *)test_note);
	global = dl.open(test_module("libbasic.so"), RTLD_NOW | RTLD_GLOBAL);
	assert_ptr_equal(dl.sym(handle, "basic_sum"), dl.sym(global, "basic_sum"));
	assert_int_equal(dl.close(handle), 0);
}

// libc.so.6 is shared: the handle is the system's.
static void dlopen_shared_library_gives_the_systems(void **state)
{
	void *handle = dl.open("libc.so.6", RTLD_NOW);

	(void)state;
	assert_non_null(handle);
	assert_ptr_equal(dl.sym(handle, "getpid"), dlsym(RTLD_DEFAULT, "getpid"));
	// Names that are replaced for private code are replaced here, too.
	assert_ptr_not_equal(dl.sym(handle, "dlopen"), dlsym(RTLD_DEFAULT, "dlopen"));
	assert_null(dl.sym(handle, "nobody_defines_this"));
	assert_dlerror("nobody_defines_this");
	assert_int_equal(dl.close(handle), 0);
}

static void dlopen_absent_file_tells_and_returns_null(void **state)
{
	(void)state;
	assert_null(dl.open("/nonexistent/libx.so", RTLD_NOW));
	assert_dlerror("/nonexistent/libx.so: No such file or directory");
	assert_null(dl.open("libdoes_not_exist.so", RTLD_NOW));
	assert_dlerror("libdoes_not_exist.so");
	assert_null(dl.open(test_module("libmissing.so"), RTLD_NOW));
	assert_dlerror("libnowhere.so");
}

static void dlopen_without_mode_is_invalid(void **state)
{
	(void)state;
	assert_null(dl.open(test_module("libbasic.so"), RTLD_GLOBAL));
	assert_dlerror("invalid mode");
	assert_string_equal(test_notes(), "");
}

static void dlopen_noload_finds_only_what_is_there(void **state)
{
	const char *path = test_module("libbasic.so");
	void *handle, *again;

	(void)state;
	assert_null(dl.open(path, RTLD_NOW | RTLD_NOLOAD));
	assert_null(dl.error());
	handle = dl.open(path, RTLD_NOW);
	again = dl.open(path, RTLD_NOW | RTLD_NOLOAD);
	assert_ptr_equal(again, handle);
	assert_ptr_equal(dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD), handle);
	for (int i = 0; i < 3; i++) {
		assert_non_null(dl.sym(handle, "basic_sum"));
		assert_int_equal(dl.close(handle), 0);
	}
	assert_string_equal(test_notes(), "+basic -basic ");
}

struct names {
	char *paths[64];
	size_t count;
};

static int keep_path(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct names *names = ctx;

	(void)size;
	if (*info->dlpi_name == '/' && names->count < sizeof(names->paths) / sizeof(*names->paths))
		names->paths[names->count++] = strdup(info->dlpi_name);
	return 0;
}

// Programs do this to find libraries of a kind (threadpoolctl).
static void dlopen_noload_opens_what_dl_iterate_phdr_shows(void **state)
{
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
		SYMBOL(dl.object, int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *),
		       "user_dl_iterate_phdr");
	struct names names = {0};
	size_t private = 0;

	(void)state;
	assert_int_equal(iterate(keep_path, &names), 0);
	for (size_t i = 0; i < names.count; i++) {
		void *handle = dl.open(names.paths[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!handle)
			fail_msg("%s: %s", names.paths[i], dl.error() ?: "not loaded");
		private += handle == dl.object;
		assert_int_equal(dl.close(handle), 0);
		free(names.paths[i]);
	}
	assert_int_equal(private, 1);
	assert_true(names.count > 3);
}

// The host's copy of a library is found by its path only, and only while there is no private copy.
static void dlopen_noload_finds_a_library_of_the_host(void **state)
{
	const char *path = test_module("libbasic.so");
	void *host = dlopen(path, RTLD_NOW), *handle;

	(void)state;
	assert_ptr_equal(dl.open(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL), host);
	assert_null(dlsym(RTLD_DEFAULT, "basic_sum"));
	assert_null(dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD));
	assert_int_equal(dl.close(host), 0);
	handle = dl.open(path, RTLD_NOW);
	assert_ptr_not_equal(handle, host);
	assert_ptr_equal(dl.open(path, RTLD_NOW | RTLD_NOLOAD), handle);
	dlclose(host);
}

static void dlopen_noload_with_global_promotes(void **state)
{
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);

	(void)state;
	assert_null(dl.sym_default("basic_sum"));
	dl.error();
	assert_ptr_equal(dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL), handle);
	assert_non_null(dl.sym_default("basic_sum"));
}

static void dlopen_nodelete_stays_after_close(void **state)
{
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW | RTLD_NODELETE);

	(void)state;
	assert_int_equal(dl.close(handle), 0);
	assert_string_equal(test_notes(), "+basic ");
	assert_non_null(dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD));
}

static void dlsym_default_looks_at_global_objects_and_process(void **state)
{
	(void)state;
	assert_ptr_equal(dl.sym_default("test_note"), (void *)test_note);
	assert_null(dl.sym_default("basic_sum"));
	assert_dlerror("undefined symbol: basic_sum");
	assert_non_null(dl.open(test_module("libbasic.so"), RTLD_NOW | RTLD_GLOBAL));
	assert_non_null(dl.sym_default("basic_sum"));
}

static void dlsym_next_skips_the_caller(void **state)
{
	int (*own)(void) = (int (*)(void))dl.sym(dl.object, "global_answer");
	void *(*sym_next)(const char *);
	int (*next)(void);

	(void)state;
	assert_int_equal(own(), 1);
	// A library that came later does not come next after the caller, unless the caller needs it.
	assert_non_null(dl.open(test_module("libprovider.so"), RTLD_NOW));
	assert_null(dl.sym_next("global_answer"));
	assert_dlerror("undefined symbol: global_answer");
	sym_next = (void *(*)(const char *))dl.sym(dl.open(test_module("libdl_next.so"), RTLD_NOW),
						   "user_dlsym_next");
	next = (int (*)(void))sym_next("global_answer");
	assert_non_null(next);
	assert_int_equal(next(), 42);
	assert_non_null(sym_next("getpid"));
	assert_null(sym_next("test_note"));
}

static void dlvsym_version_is_exact(void **state)
{
	void *handle = dl.open(test_module("libversion.so"), RTLD_NOW);
	int (*one)(void) = (int (*)(void))dl.vsym(handle, "version_number", "V1");

	(void)state;
	assert_int_equal(one(), 1);
	assert_null(dl.vsym(handle, "version_number", "V7"));
	assert_dlerror("undefined symbol: version_number, version V7");
}

static void dlclose_stale_handle_is_an_error(void **state)
{
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);

	(void)state;
	assert_int_equal(dl.close(handle), 0);
	assert_int_equal(dl.close(handle), -1);
	assert_non_null(dl.error());
	assert_null(dl.sym(handle, "basic_sum"));
	assert_non_null(dl.error());
}

static void *error_in_thread(void *arg)
{
	(void)arg;
	return (void *)dl.error();
}

static void dlerror_is_per_thread_and_cleared(void **state)
{
	pthread_t thread;
	void *other = "";

	(void)state;
	assert_null(dl.error());
	assert_null(dl.sym(dl.object, "nobody_defines_this"));
	assert_int_equal(pthread_create(&thread, NULL, error_in_thread, NULL), 0);
	pthread_join(thread, &other);
	assert_null(other);
	assert_dlerror("libdl.so: undefined symbol: nobody_defines_this");
}

// Private code must not see errors of the host's own look-ups.
static void dlerror_host_lookup_leaves_no_text(void **state)
{
	(void)state;
	assert_null(gorgon_object_find_symbol(dl.object, "nobody_defines_this", NULL));
	assert_null(dl.error());
}

static void dladdr_private_address_names_file_and_symbol(void **state)
{
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);
	char *sum = dl.sym(handle, "basic_sum");
	Dl_info info;

	(void)state;
	assert_int_not_equal(dl.addr(sum + 1, &info), 0);
	assert_string_equal(info.dli_fname, test_module("libbasic.so"));
	assert_string_equal(info.dli_sname, "basic_sum");
	assert_ptr_equal(info.dli_saddr, sum);
	assert_non_null(info.dli_fbase);
	assert_int_equal(memcmp(info.dli_fbase, "\177ELF", 4), 0);
}

static void dladdr_other_addresses_go_to_the_system(void **state)
{
	Dl_info info;
	int on_stack = 0;

	(void)state;
	assert_int_not_equal(dl.addr((void *)test_note, &info), 0);
	assert_string_equal(info.dli_sname, "test_note");
	assert_int_equal(dl.addr(&on_stack, &info), 0);
}

static void dladdr1_private_address_gives_symbol_and_link_map(void **state)
{
	typedef int (*addr1_fn)(const void *, Dl_info *, void **, int);
	addr1_fn addr1 = SYMBOL(dl.object, addr1_fn, "user_dladdr1");
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);
	char *value = dl.sym(handle, "basic_value");
	struct gorgon_object_info object;
	struct link_map *map = NULL;
	Elf64_Sym *sym = NULL;
	Dl_info info;

	(void)state;
	gorgon_object_get_info(handle, &object);
	assert_int_not_equal(addr1(value, &info, (void **)&sym, RTLD_DL_SYMENT), 0);
	assert_int_equal(sym->st_size, sizeof(int));
	assert_int_equal(sym->st_value + object.bias, (uintptr_t)value);
	assert_int_not_equal(addr1(value, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
	assert_int_equal(map->l_addr, object.bias);
	assert_string_equal(map->l_name, object.path);
}

static void dlinfo_private_handle_is_answered(void **state)
{
	int (*ask)(void *, int, void *) = SYMBOL(dl.object, int (*)(void *, int, void *),
						 "user_dlinfo");
	void *handle = dl.open(test_module("libtls.so"), RTLD_NOW);
	char origin[4096] = "";
	struct link_map *map = NULL;
	void *block = "";
	size_t module = 0;

	(void)state;
	assert_int_equal(ask(handle, RTLD_DI_ORIGIN, origin), 0);
	strcat(origin, "/libtls.so");
	assert_string_equal(origin, test_module("libtls.so"));
	assert_int_equal(ask(handle, RTLD_DI_LINKMAP, &map), 0);
	assert_string_equal(map->l_name, test_module("libtls.so"));
	assert_int_equal(ask(handle, RTLD_DI_TLS_MODID, &module), 0);
	assert_int_not_equal(module, 0);
	assert_int_equal(ask(handle, RTLD_DI_TLS_DATA, &block), 0);
	assert_null(block); // this thread has not used the variable yet
	assert_non_null(dl.sym(handle, "tls_value"));
	assert_int_equal(ask(handle, RTLD_DI_TLS_DATA, &block), 0);
	assert_non_null(block);
	assert_int_equal(ask(handle, 999, &block), -1);
	assert_dlerror("request 999 is not supported");
}

struct walk {
	int position, program_at, private_at;
	uint64_t bias;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *walk = arg;

	(void)size;
	if (strstr(info->dlpi_name, "libbasic.so")) {
		walk->private_at = walk->position;
		walk->bias = info->dlpi_addr;
		assert_true(info->dlpi_phnum > 4);
		assert_non_null(info->dlpi_phdr);
	}
	if (!*info->dlpi_name && walk->program_at < 0)
		walk->program_at = walk->position;
	walk->position++;
	return 0;
}

static void dl_iterate_phdr_shows_the_program_first_and_private_objects(void **state)
{
	typedef int (*iterate_fn)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	iterate_fn iterate = SYMBOL(dl.object, iterate_fn, "user_dl_iterate_phdr");
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);
	struct walk walk = {.program_at = -1, .private_at = -1};
	struct gorgon_object_info object;

	(void)state;
	gorgon_object_get_info(handle, &object);
	assert_int_equal(iterate(visit, &walk), 0);
	assert_int_equal(walk.program_at, 0);
	assert_true(walk.private_at > 0);
	assert_int_equal(walk.bias, object.bias);
}

struct tables_walk {
	const ElfW(Phdr) *program; // as an unwinder keeps it
	unsigned shared, own, segments;
};

static int count_tables(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct tables_walk *walk = ctx;
	bool is_own = strstr(info->dlpi_name, "libbasic.so") || strstr(info->dlpi_name, "libdl.so");

	(void)size;
	if (!*info->dlpi_name && !walk->program)
		walk->program = info->dlpi_phdr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		walk->segments += !is_own && info->dlpi_phdr[i].p_type == PT_LOAD;
		*(is_own ? &walk->own : &walk->shared) += info->dlpi_phdr[i].p_type == PT_DYNAMIC;
	}
	return 0;
}

// What profilers write to: the tables of all objects whose PT_DYNAMIC they find.
static void dl_iterate_phdr_shows_tables_of_private_objects_only(void **state)
{
	typedef int (*iterate_fn)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	iterate_fn iterate = SYMBOL(dl.object, iterate_fn, "user_dl_iterate_phdr");
	void *handle = dl.open(test_module("libbasic.so"), RTLD_NOW);
	struct tables_walk systems = {0}, first = {0}, second = {0};

	(void)state;
	assert_non_null(handle);
	assert_int_equal(dl_iterate_phdr(count_tables, &systems), 0);
	assert_int_equal(iterate(count_tables, &first), 0);
	assert_int_equal(iterate(count_tables, &second), 0);
	assert_true(systems.shared > 2);
	assert_int_equal(first.shared, 0);
	assert_int_equal(first.own, 2);
	assert_int_equal(first.segments, systems.segments);
	assert_memory_equal(&first, &second, sizeof(first));
}

struct closing_walk {
	void *handle;
	unsigned long sum;
	bool found;
};

// At the first private object, another one is closed that comes later; each is read then.
static int close_and_read(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct closing_walk *walk = ctx;

	(void)size;
	if (walk->handle && strstr(info->dlpi_name, "libdl.so")) {
		assert_int_equal(dl.close(walk->handle), 0);
		walk->handle = NULL;
	}
	walk->found |= !walk->handle && strstr(info->dlpi_name, "libbasic.so");
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			walk->sum += *(const unsigned char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return 0;
}

static void dl_iterate_phdr_keeps_what_is_closed_meanwhile(void **state)
{
	typedef int (*iterate_fn)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	iterate_fn iterate = SYMBOL(dl.object, iterate_fn, "user_dl_iterate_phdr");
	struct closing_walk walk = {.handle = dl.open(test_module("libbasic.so"), RTLD_NOW)};
	void *inside = dl.sym(walk.handle, "basic_sum");
	Dl_info info;

	(void)state;
	assert_non_null(inside);
	assert_int_equal(iterate(close_and_read, &walk), 0);
	assert_true(walk.found);
	assert_null(walk.handle);
	assert_false(dl.addr(inside, &info)); // and it is gone after the walk
}

#define case(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case(dlopen_path_loads_into_the_callers_namespace),
		case(dlmopen_is_the_callers_namespace_or_an_error),
		case(dlopen_same_library_twice_is_counted),
		case(dlopen_null_is_the_namespace_then_the_process),
		case(dlopen_shared_library_gives_the_systems),
		case(dlopen_absent_file_tells_and_returns_null),
		case(dlopen_without_mode_is_invalid),
		case(dlopen_noload_finds_only_what_is_there),
		case(dlopen_noload_opens_what_dl_iterate_phdr_shows),
		case(dlopen_noload_finds_a_library_of_the_host),
		case(dlopen_noload_with_global_promotes),
		case(dlopen_nodelete_stays_after_close),
		case(dlsym_default_looks_at_global_objects_and_process),
		case(dlsym_next_skips_the_caller),
		case(dlvsym_version_is_exact),
		case(dlclose_stale_handle_is_an_error),
		case(dlerror_is_per_thread_and_cleared),
		case(dlerror_host_lookup_leaves_no_text),
		case(dladdr_private_address_names_file_and_symbol),
		case(dladdr_other_addresses_go_to_the_system),
		case(dladdr1_private_address_gives_symbol_and_link_map),
		case(dlinfo_private_handle_is_answered),
		case(dl_iterate_phdr_shows_the_program_first_and_private_objects),
		case(dl_iterate_phdr_shows_tables_of_private_objects_only),
		case(dl_iterate_phdr_keeps_what_is_closed_meanwhile),
	};

	return cmocka_run_group_tests_name("dl", tests, NULL, NULL);
}
