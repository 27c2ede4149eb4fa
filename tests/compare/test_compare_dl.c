// SPDX-License-Identifier: MIT
// Side by side with the system's linker: the dl family. All calls are made by libdl.so, a module, because the
// results of several of these functions depend on the caller.

#define _GNU_SOURCE
#include "compare.h"
#include "machine.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

typedef int get_fn(void);

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
	int (*addr1)(const void *addr, Dl_info *info, void **extra, int flags);
	int (*info)(void *handle, int request, void *arg);
	int (*iterate)(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg);
	int (*find_object)(void *addr, struct dl_find_object *ret);
} dl;

static void use(const struct linker *linker, const char *module)
{
	void *handle = compare_open(linker, module, 0);

	dl.open = compare_find(linker, handle, "user_dlopen");
	dl.mopen = compare_find(linker, handle, "user_dlmopen");
	dl.sym = compare_find(linker, handle, "user_dlsym");
	dl.sym_default = compare_find(linker, handle, "user_dlsym_default");
	dl.sym_next = compare_find(linker, handle, "user_dlsym_next");
	dl.vsym = compare_find(linker, handle, "user_dlvsym");
	dl.close = compare_find(linker, handle, "user_dlclose");
	dl.error = compare_find(linker, handle, "user_dlerror");
	dl.addr = compare_find(linker, handle, "user_dladdr");
	dl.addr1 = compare_find(linker, handle, "user_dladdr1");
	dl.info = compare_find(linker, handle, "user_dlinfo");
	dl.iterate = compare_find(linker, handle, "user_dl_iterate_phdr");
	dl.find_object = compare_find(linker, handle, "user_dl_find_object");
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// Records whether there is an answer, and otherwise the error's text.
static void *tell(const char *what, void *answer)
{
	say("%s %s%s", what, answer ? "yes" : "no", dl.error() ? "!" : "");
	return answer;
}

static void *open_module(const char *module, int mode)
{
	return tell("open", dl.open(test_module(module), mode));
}

static void close_handle(void *handle)
{
	int ret = dl.close(handle);

	say("close %d%s", ret, dl.error() ? "!" : "");
}

// --- dlopen, dlclose -------------------------------------------------------------------

static void open_counts(const struct linker *linker)
{
	void *first, *second;

	use(linker, "libdl.so");
	first = open_module("libbasic.so", RTLD_LAZY);
	second = open_module("libbasic.so", RTLD_NOW);
	say("same %d", first == second);
	close_handle(first);
	tell("sum", dl.sym(second, "basic_sum"));
	close_handle(second);
	tell("left", dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD));
}

static void open_modes(const struct linker *linker)
{
	const char *path = test_module("libbasic.so");

	use(linker, "libdl.so");
	tell("0", dl.open(path, 0));
	tell("global", dl.open(path, RTLD_GLOBAL));
	tell("null", dl.open(NULL, 0));
	tell("unknown", dl.open(path, RTLD_NOW | 0x100000));
	tell("both", dl.open(path, RTLD_NOW | RTLD_LAZY | RTLD_LOCAL));
}

static void open_lazy(const struct linker *linker)
{
	use(linker, "libdl.so");
	open_module("libundefined.so", RTLD_LAZY);
}

static void open_noload(const struct linker *linker)
{
	const char *path = test_module("libbasic.so"), *other = test_module("dep/../libbasic.so");
	void *handle;

	use(linker, "libdl.so");
	tell("path", dl.open(path, RTLD_NOW | RTLD_NOLOAD));
	tell("absent", dl.open("/nonexistent/libx.so", RTLD_NOW | RTLD_NOLOAD));
	tell("absent", dl.open("libdoes_not_exist.so", RTLD_NOW | RTLD_NOLOAD));
	handle = open_module("libbasic.so", RTLD_NOW);
	say("same %d", dl.open(path, RTLD_NOW | RTLD_NOLOAD) == handle);
	say("same %d", dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD) == handle);
	say("same %d", dl.open(other, RTLD_NOW | RTLD_NOLOAD) == handle);
	for (int i = 0; i < 4; i++)
		close_handle(handle);
}

static void open_noload_promotes(const struct linker *linker)
{
	use(linker, "libdl.so");
	open_module("libtop.so", RTLD_NOW);
	tell("local", dl.sym_default("bottom_get"));
	open_module("libtop.so", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
	tell("top", dl.sym_default("top_get"));
	tell("bottom", dl.sym_default("bottom_get"));
}

// LM_ID_BASE is the namespace of the caller.
static void dlmopen_base(const struct linker *linker)
{
	void *handle, *null;
	Lmid_t id = -2;

	use(linker, "libdl.so");
	handle = tell("open", dl.mopen(LM_ID_BASE, test_module("libbasic.so"), RTLD_NOW));
	tell("sum", dl.sym(handle, "basic_sum"));
	say("info %d", dl.info(handle, RTLD_DI_LMID, &id));
	say("id %ld", id);
	say("same %d", dl.open(test_module("libbasic.so"), RTLD_NOW) == handle);
	close_handle(handle);
	close_handle(handle);
	null = tell("null", dl.mopen(LM_ID_BASE, NULL, RTLD_NOW));
	tell("sum", dl.sym(null, "basic_sum"));
	tell("mode", dl.mopen(LM_ID_BASE, test_module("libbasic.so"), 0));
}

static void dlmopen_elsewhere(const struct linker *linker)
{
	use(linker, "libdl.so");
	tell("unused", dl.mopen(7, test_module("libbasic.so"), RTLD_NOW));
	tell("null", dl.mopen(LM_ID_NEWLM, NULL, RTLD_NOW));
	tell("new", dl.mopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW));
}

static void open_nodelete(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW | RTLD_NODELETE);
	close_handle(handle);
	close_handle(handle);
	say("same %d", dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD) == handle);
}

static void open_noload_nodelete(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW);
	open_module("libbasic.so", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	close_handle(handle);
	close_handle(handle);
	tell("left", dl.open("libbasic.so", RTLD_NOW | RTLD_NOLOAD));
}

static void open_global(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	open_module("libtop.so", RTLD_NOW);
	handle = open_module("libbasic.so", RTLD_NOW | RTLD_GLOBAL);
	tell("global", dl.sym_default("basic_sum"));
	tell("local", dl.sym_default("top_get"));
	close_handle(handle);
}

static void open_deepbind(const struct linker *linker)
{
	const char *(*asks)(void);

	use(linker, "libdl.so");
	open_module("libwho_first.so", RTLD_NOW | RTLD_GLOBAL);
	asks = dl.sym(open_module("libwho_plain.so", RTLD_NOW | RTLD_DEEPBIND), "who_asks");
	say("%s", asks());
}

static void open_null(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = tell("null", dl.open(NULL, RTLD_NOW));
	say("same %d", dl.open("", RTLD_NOW) == handle);
	tell("program", dl.sym(handle, "test_note"));
	tell("own", dl.sym(handle, "user_dlopen"));
	open_module("libbasic.so", RTLD_NOW);
	tell("local", dl.sym(handle, "basic_sum"));
	open_module("libbasic.so", RTLD_NOW | RTLD_GLOBAL);
	tell("global", dl.sym(handle, "basic_sum"));
	close_handle(handle);
}

static void open_names(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl_next.so"); // found by its DT_RUNPATH, $ORIGIN
	handle = tell("name", dl.open("libbasic.so", RTLD_NOW));
	say("same %d", tell("origin", dl.open("$ORIGIN/libbasic.so", RTLD_NOW)) == handle);
	if (chdir(test_module("dep")))
		say("no directory");
	say("same %d", tell("relative", dl.open("../libbasic.so", RTLD_NOW)) == handle);
	tell("absent", dl.open("libdoes_not_exist.so", RTLD_NOW));
}

static void open_nameless(const struct linker *linker)
{
	use(linker, "libdl.so");
	open_module("libnameless.so", RTLD_NOW);
	tell("name", dl.open("libnameless.so", RTLD_NOW | RTLD_NOLOAD));
}

static void open_failures(const struct linker *linker)
{
	test_write(test_temp("empty.so"), "", 0);
	test_write(test_temp("text.so"), "no ELF file\n", 12);
	use(linker, "libdl.so");
	tell("absent", dl.open("/nonexistent/libx.so", RTLD_NOW));
	tell("directory", dl.open("/usr/lib", RTLD_NOW));
	tell("empty", dl.open(test_temp("empty.so"), RTLD_NOW));
	tell("text", dl.open(test_temp("text.so"), RTLD_NOW));
	open_module("libundefined.so", RTLD_NOW);
	open_module("libmissing.so", RTLD_NOW);
	tell("left", dl.open(test_module("dep/libbottom.so"), RTLD_NOW | RTLD_NOLOAD));
}

// libutop.so's DT_RUNPATH leads to libplain.so, which needs libbottom.so and has no path to it. The caller's
// DT_RPATH does not count: it is for what the caller itself needs.
static void open_from_rpath(const struct linker *linker)
{
	use(linker, "libdl_rpath.so");
	open_module("libutop.so", RTLD_NOW);
	tell("bottom", dl.open("libbottom.so", RTLD_NOW));
}

// libdl_user.so has brought in libdl.so, and is then closed.
static void open_orphan(const struct linker *linker)
{
	void *user = compare_open(linker, "libdl_user.so", 0);

	use(linker, "libdl.so");
	linker->close(user);
	tell("absent", dl.open("libdoes_not_exist.so", RTLD_NOW));
	tell("next", dl.sym_next("user_dlopen"));
	tell("own", dl.sym_default("user_dlopen"));
}

static void open_system(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = tell("libc", dl.open("libc.so.6", RTLD_NOW));
	say("same %d", dl.sym(handle, "getpid") == dlsym(RTLD_DEFAULT, "getpid"));
	tell("version", dl.vsym(handle, "getpid", TEST_LIBC_VERSION));
	tell("version", dl.vsym(handle, "getpid", "GLIBC_1.0"));
	tell("absent", dl.sym(handle, "nobody_defines_this"));
	close_handle(handle);
}

// --- dlsym, dlvsym ------------------------------------------------------------------------

static void sym_default(const struct linker *linker)
{
	get_fn *answer;

	use(linker, "libdl_next.so");
	open_module("libbasic.so", RTLD_NOW);
	tell("other", dl.sym_default("basic_sum"));
	tell("own", dl.sym_default("user_dlopen"));
	answer = (get_fn *)tell("first", dl.sym_default("global_answer"));
	say("%d", answer ? answer() : -1);
	say("program %d", dl.sym_default("test_note") == (void *)test_note);
	tell("libc", dl.sym_default("getpid"));
	tell("absent", dl.sym_default("nobody_defines_this"));
}

static void sym_default_keeps(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW | RTLD_GLOBAL);
	tell("found", dl.sym_default("basic_sum"));
	close_handle(handle);
	tell("left", dl.sym_default("basic_sum"));
}

static void sym_next(const struct linker *linker)
{
	get_fn *answer;

	use(linker, "libdl_next.so");
	open_module("libbasic.so", RTLD_NOW | RTLD_GLOBAL);
	answer = (get_fn *)tell("next", dl.sym_next("global_answer"));
	say("%d", answer ? answer() : -1);
	tell("own", dl.sym_next("user_dlopen"));
	tell("global", dl.sym_next("basic_sum"));
	tell("program", dl.sym_next("test_note"));
	tell("libc", dl.sym_next("getpid"));
}

static void sym_handle(const struct linker *linker)
{
	void *top, *init;

	use(linker, "libdl.so");
	open_module("libbasic.so", RTLD_NOW | RTLD_GLOBAL);
	top = open_module("libtop.so", RTLD_NOW);
	init = open_module("libinit.so", RTLD_NOW);
	tell("own", dl.sym(top, "top_get"));
	tell("dependency", dl.sym(top, "bottom_get"));
	tell("libc", dl.sym(init, "getpid"));
	tell("dlopen", dl.sym(init, "dlopen"));
	tell("program", dl.sym(top, "test_note"));
	tell("global", dl.sym(top, "basic_sum"));
	tell("caller", dl.sym(top, "user_dlopen"));
	tell("absent", dl.sym(top, "nobody_defines_this"));
}

static void *tls_handle;

static void say_tls(void)
{
	int *value = dl.sym(tls_handle, "tls_value");

	say("%d", ++*value);
}

static void sym_kinds(const struct linker *linker)
{
	void *ifunc;

	use(linker, "libdl.so");
	tls_handle = open_module("libtls.so", RTLD_NOW);
	say_tls();
	say_tls();
	test_on_old_thread(say_tls);
	test_on_new_thread(say_tls);
	ifunc = open_module("libifunc.so", RTLD_NOW);
	say("%d", ((int (*)(int))dl.sym(ifunc, "ifunc_exported"))(5));
}

static void vsym(const struct linker *linker)
{
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libversion.so", RTLD_NOW | RTLD_GLOBAL);
	say("%d", ((get_fn *)dl.vsym(handle, "version_number", "V1"))());
	say("%d", ((get_fn *)dl.vsym(handle, "version_number", "V2"))());
	say("%d", ((get_fn *)dl.sym(handle, "version_number"))());
	say("%d", ((get_fn *)dl.vsym(RTLD_DEFAULT, "version_number", "V1"))());
	tell("absent", dl.vsym(handle, "version_number", "V7"));
	handle = open_module("libbasic.so", RTLD_NOW);
	tell("unversioned", dl.vsym(handle, "basic_sum", "V1"));
	handle = open_module("libinit.so", RTLD_NOW); // has versions of the names that it needs
	tell("unversioned", dl.vsym(handle, "init_probe", "V1"));
	tell("libc", dl.vsym(handle, "getpid", TEST_LIBC_VERSION));
}

// --- dlerror ----------------------------------------------------------------------------------

static void say_error(void)
{
	const char *text = dl.error();

	say("%s", !text ? "none" : *text ? "text" : "empty");
}

static void error_text(const struct linker *linker)
{
	const char *path = test_module("libbasic.so");

	use(linker, "libdl.so");
	say_error();
	dl.open("/nonexistent/libx.so", RTLD_NOW);
	say_error();
	say_error();
	dl.open("/nonexistent/libx.so", RTLD_NOW);
	test_on_old_thread(say_error);
	test_on_new_thread(say_error);
	say_error();
	test_note("|");
	// A successful call clears the failure before it.
	dl.open("/nonexistent/libx.so", RTLD_NOW);
	dl.open(path, RTLD_NOW);
	say_error();
	dl.sym_default("nobody_defines_this");
	dl.sym_default("getpid");
	say_error();
	dl.sym_default("nobody_defines_this");
	dl.close(dl.open(path, RTLD_NOW));
	say_error();
	// dladdr() neither sets nor clears the error.
	dl.sym_default("nobody_defines_this");
	dl.addr((void *)test_note, &(Dl_info){0});
	say_error();
}

static void error_in_constructor(const struct linker *linker)
{
	use(linker, "libdl.so");
	dl.open(test_module("libdl_quiet.so"), RTLD_NOW);
	say_error();
}

// --- dladdr, dlinfo, dl_iterate_phdr, _dl_find_object --------------------------------------------

static void say_addr(const void *addr)
{
	Dl_info info = {0};

	if (!dl.addr(addr, &info)) {
		say("none");
		return;
	}
	say("%s %s %ld %d", last_part(info.dli_fname), info.dli_sname ?: "-",
	    info.dli_saddr ? (long)((const char *)addr - (const char *)info.dli_saddr) : -1,
	    !memcmp(info.dli_fbase, ELFMAG, SELFMAG));
}

static void addr(const struct linker *linker)
{
	int on_stack = 0;
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW);
	say_addr(dl.sym(handle, "basic_sum"));
	say_addr((const char *)dl.sym(handle, "basic_sum") + 1);
	say_addr((const char *)dl.sym(handle, "basic_zero") + 19999);
	// dladdr() finds no names for static variables and functions.
	say_addr(((int *(*)(void))dl.sym(handle, "basic_hidden"))());
	say_addr((const char *)dl.sym(handle, "basic_text") + sizeof("private text"));
	say_addr(&on_stack);
	say_addr((void *)test_note);
}

static void addr_extra(const struct linker *linker)
{
	struct link_map *map = NULL;
	const Elf64_Sym *sym = NULL;
	Dl_info info;
	void *handle, *value;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW);
	value = dl.sym(handle, "basic_zero");
	say("%d", dl.addr1(value, &info, (void **)&sym, RTLD_DL_SYMENT));
	say("size %lu type %d", sym->st_size, ELF64_ST_TYPE(sym->st_info));
	say("%d", dl.addr1(value, &info, (void **)&map, RTLD_DL_LINKMAP));
	say("%s %d", last_part(map->l_name), map->l_addr + sym->st_value == (uintptr_t)value);
}

static void info(const struct linker *linker)
{
	char origin[4096] = "";
	const Elf64_Phdr *phdr = NULL;
	struct link_map *map = NULL;
	void *block = "", *handle;
	size_t module = 0;
	Lmid_t lmid = 7;
	int count;

	use(linker, "libdl.so");
	handle = open_module("libtls.so", RTLD_NOW);
	say("%d", dl.info(handle, RTLD_DI_LMID, &lmid));
	say("%ld", lmid);
	say("%d", dl.info(handle, RTLD_DI_LINKMAP, &map));
	say("%s", last_part(map->l_name));
	say("dynamic %d", map->l_ld->d_tag != DT_NULL);
	say("%d", dl.info(handle, RTLD_DI_ORIGIN, origin));
	say("%s", last_part(origin));
	say("%d", dl.info(handle, RTLD_DI_TLS_MODID, &module));
	say("%d", module != 0);
	say("%d", dl.info(handle, RTLD_DI_TLS_DATA, &block));
	say("%d", block != NULL);
	dl.sym(handle, "tls_value");
	say("%d", dl.info(handle, RTLD_DI_TLS_DATA, &block));
	say("%d", block != NULL);
	count = dl.info(handle, RTLD_DI_PHDR, &phdr);
	say("phdr %d %d", count > 4, phdr && phdr[0].p_type != PT_NULL);
	count = dl.info(handle, 999, &block);
	say("%d%s", count, dl.error() ? "!" : "");
	handle = open_module("libbasic.so", RTLD_NOW);
	say("%d", dl.info(handle, RTLD_DI_TLS_MODID, &module));
	say("%d", module != 0);
}

static void info_search(const struct linker *linker)
{
	Dl_serinfo size;
	int ret;

	use(linker, "libdl.so");
	ret = dl.info(open_module("libbasic.so", RTLD_NOW), RTLD_DI_SERINFOSIZE, &size);
	say("%d%s", ret, dl.error() ? "!" : "");
}

struct walk {
	int position, program_at, found;
	unsigned long long adds, subs, first_adds, first_subs;
	bool differ; // the entries of one walk contradict each other
};

static int visit(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct walk *walk = arg;

	if (!*object->dlpi_name && walk->program_at < 0)
		walk->program_at = walk->position;
	if (strstr(object->dlpi_name, "libbasic.so") && size >= sizeof(*object) &&
	    object->dlpi_phnum > 4 && object->dlpi_phdr && object->dlpi_addr) {
		walk->found++;
		walk->adds = object->dlpi_adds;
		walk->subs = object->dlpi_subs;
	}
	if (!walk->position) {
		walk->first_adds = object->dlpi_adds;
		walk->first_subs = object->dlpi_subs;
	}
	walk->differ |= object->dlpi_adds != walk->first_adds || object->dlpi_subs != walk->first_subs;
	walk->position++;
	return 0;
}

static int stop_at_once(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)object;
	(void)size;
	(void)arg;
	return 5;
}

static void iterate(const struct linker *linker)
{
	struct walk first = {.program_at = -1}, second = first, last = first;
	void *handle;

	use(linker, "libdl.so");
	handle = open_module("libbasic.so", RTLD_NOW);
	say("%d", dl.iterate(visit, &first));
	say("program %d found %d", first.program_at, first.found);
	dl.close(open_module("libdl_quiet.so", RTLD_NOW));
	dl.iterate(visit, &second);
	say("adds %llu subs %llu", second.adds - first.adds, second.subs - first.subs);
	close_handle(handle);
	dl.iterate(visit, &last);
	say("found %d fewer %d", last.found, second.position - last.position);
	say("%d", dl.iterate(stop_at_once, NULL));
}

// Unwinders look only at the first entry, the program's, to see whether anything has changed.
static void iterate_counters(const struct linker *linker)
{
	struct walk before = {0}, between = {0}, after = {0};
	void *handle;

	use(linker, "libdl.so");
	dl.iterate(visit, &before);
	handle = open_module("libbasic.so", RTLD_NOW);
	dl.iterate(visit, &between);
	close_handle(handle);
	dl.iterate(visit, &after);
	say("adds %llu %llu", between.first_adds - before.first_adds,
	    after.first_adds - between.first_adds);
	say("subs %llu %llu", between.first_subs - before.first_subs,
	    after.first_subs - between.first_subs);
	say("differ %d", before.differ || between.differ || after.differ);
}

static void say_object(void *address)
{
	struct dl_find_object found;
	char *addr = address;

	if (dl.find_object(addr, &found)) {
		say("none");
		return;
	}
	say("%s %d %d", last_part(found.dlfo_link_map->l_name),
	    addr >= (char *)found.dlfo_map_start && addr < (char *)found.dlfo_map_end,
	    found.dlfo_eh_frame != NULL);
}

static void find_object(const struct linker *linker)
{
	int on_stack = 0;

	use(linker, "libdl.so");
	say_object(dl.sym(open_module("libbasic.so", RTLD_NOW), "basic_sum"));
	say_object(dlsym(RTLD_DEFAULT, "getpid"));
	say_object(&on_stack);
}

static const struct compare_case cases[] = {
	{.name = "dlopen_and_dlclose_count", .run = open_counts,
	 .says = "+basic open yes open yes same 1 close 0 sum yes -basic close 0 left no!"},
	{.name = "dlopen_mode_is_checked", .run = open_modes,
	 .says = "0 no! global no! null no! unknown no! +basic both yes"},
	{.name = "dlopen_lazy_binds_nothing", .run = open_lazy, .says = "open yes",
	 .private_says = "open no!",
	 .why = "everything is bound at once, so that tables of addresses can be read-only"},
	{.name = "dlopen_noload_finds_what_is_there", .run = open_noload,
	 .says = "path no absent no! absent no! +basic open yes same 1 same 1 same 1 close 0 "
		 "close 0 close 0 -basic close 0"},
	{.name = "dlopen_noload_global_promotes_with_dependencies", .run = open_noload_promotes,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 open yes local no! open yes "
		 "top yes bottom yes"},
	{.name = "dlmopen_of_the_base_namespace_is_dlopen", .run = dlmopen_base,
	 .says = "+basic open yes sum yes info 0 id 0 same 1 close 0 -basic close 0 null yes sum no! "
		 "mode no!"},
	{.name = "dlmopen_of_another_namespace_fails", .run = dlmopen_elsewhere,
	 .says = "unused no! null no! new yes", .private_says = "unused no! null no! new no!",
	 .why = "what the system's linker loads into a new one outlives the private namespace"},
	{.name = "dlopen_nodelete_stays", .run = open_nodelete,
	 .says = "+basic open yes close 0 close 0 same 1"},
	{.name = "dlopen_noload_nodelete_stays", .run = open_noload_nodelete,
	 .says = "+basic open yes open yes close 0 close 0 left yes"},
	{.name = "dlopen_global_is_seen_local_is_not", .run = open_global,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 open yes +basic open yes "
		 "global yes local no! close 0"},
	{.name = "dlopen_deepbind_sees_itself_first", .run = open_deepbind, .by_caller = true,
	 .says = "+first open yes +plain open yes plain"},
	{.name = "dlopen_null_is_the_global_scope", .run = open_null,
	 .says = "null yes same 1 program yes own no! +basic open yes local no! open yes global "
		 "yes close 0"},
	{.name = "dlopen_names_lead_to_one_object", .run = open_names, .by_caller = true,
	 .says = "+basic name yes origin yes same 1 relative yes same 1 absent no!"},
	{.name = "dlopen_without_soname_is_known_by_its_path", .run = open_nameless,
	 .says = "+nameless open yes name no!"},
	{.name = "dlopen_failure_leaves_nothing", .run = open_failures,
	 .says = "absent no! directory no! empty no! text no! open no! open no! left no"},
	{.name = "dlopen_rpath_of_the_caller_is_not_inherited", .run = open_from_rpath,
	 .by_caller = true,
	 .says = "open no! +bottom1 +bottom2 bottom yes"},
	{.name = "dlopen_by_an_object_whose_loader_is_gone", .run = open_orphan,
	 .says = "absent no! next no! own yes"},
	{.name = "dlopen_system_library_is_the_processs", .run = open_system,
	 .says = "libc yes same 1 version yes version no! absent no! close 0"},

	{.name = "dlsym_default_sees_what_the_caller_sees", .run = sym_default,
	 .says = "+basic open yes other no! own yes first yes 1 program 1 libc yes absent no!"},
	{.name = "dlsym_default_keeps_what_it_found", .run = sym_default_keeps,
	 .says = "+basic open yes found yes close 0 left yes"},
	{.name = "dlsym_next_is_behind_the_caller_in_its_group", .run = sym_next,
	 .says = "+basic open yes next yes 42 own no! global no! program no! libc yes"},
	{.name = "dlsym_handle_covers_the_object_and_its_needs", .run = sym_handle,
	 .says = "+basic open yes +bottom1 +bottom2 +middle1 +middle2 +top1 +top2 open yes "
		 "+DT_INIT +early +late open yes own yes dependency yes libc yes dlopen yes "
		 "program no! global no! caller no! absent no!"},
	{.name = "dlsym_thread_local_and_ifunc_are_resolved", .run = sym_kinds,
	 .says = "open yes 12 13 12 12 open yes 1005"},
	{.name = "dlvsym_version_is_exact", .run = vsym,
	 .says = "open yes 1 2 2 1 absent no! +basic open yes unversioned yes +DT_INIT +early "
		 "+late open yes unversioned no! libc yes"},

	{.name = "dlerror_is_per_thread_and_told_once", .run = error_text,
	 .says = "none text none none none text | +basic none none none text"},
	{.name = "dlerror_of_a_constructor_is_left_to_the_caller", .run = error_in_constructor,
	 .says = "text"},

	{.name = "dladdr_names_file_and_symbol", .run = addr,
	 .says = "+basic open yes libbasic.so basic_sum 0 1 libbasic.so basic_sum 1 1 "
		 "libbasic.so basic_zero 19999 1 libbasic.so - -1 1 libbasic.so - -1 1 none "
		 "test_compare_dl test_note 0 1"},
	{.name = "dladdr1_gives_symbol_and_link_map", .run = addr_extra,
	 .says = "+basic open yes 1 size 20000 type 1 1 libbasic.so 1"},
	{.name = "dlinfo_answers", .run = info,
	 .says = "open yes 0 0 0 libtls.so dynamic 1 0 modules 0 1 0 0 0 1 phdr 1 1 -1! +basic "
		 "open yes 0 0"},
	{.name = "dlinfo_search_path_is_not_told", .run = info_search, .says = "+basic open yes 0",
	 .private_says = "+basic open yes -1!",
	 .why = "nothing that CPython or its extensions load asks for it"},
	{.name = "dl_iterate_phdr_first_entry_counts_all", .run = iterate_counters,
	 .says = "+basic open yes -basic close 0 adds 1 0 subs 0 1 differ 0"},
	{.name = "dl_iterate_phdr_counts_objects", .run = iterate,
	 .says = "+basic open yes 0 program 0 found 1 open yes! adds 1 subs 1 -basic close 0 "
		 "found 0 fewer 1 5"},
	{.name = "dl_find_object_finds_private_and_system_objects", .run = find_object,
	 .says = "+basic open yes libbasic.so 1 1 libc.so.6 1 1 none"},
};

int main(void)
{
	return COMPARE_RUN("compare_dl", cases);
}
