// SPDX-License-Identifier: MIT
// See helpers.h.

#define _GNU_SOURCE
#include "helpers.h"

#include "../jitreg/jitreg.h"
#include "ns/debug_root.h"
#include "image/image.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 16

static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

// --- errors ---------------------------------------------------------------------

void test_assert_error(struct gorgon_error *err, enum gorgon_error_code code, const char *text,
		       const char *file, int line)
{
	bool same = gorgon_error_code(err) == code && strstr(gorgon_error_message(err), text);

	if (!same)
		print_error("%s:%d: error %d \"%s\"\n%s    expected %d \"...%s...\"\n", file, line,
			    gorgon_error_code(err), gorgon_error_message(err),
			    gorgon_error_exception(err) ? gorgon_error_exception(err)->traceback : "", code, text);
	gorgon_error_destroy(err);
	_assert_true(same, "error is as expected", file, line);
}

void test_assert_ok(struct gorgon_error *err, const char *file, int line)
{
	bool ok = !err;

	if (!ok)
		print_error("%s:%d: error %d \"%s\"\n", file, line, gorgon_error_code(err),
			    gorgon_error_message(err));
	gorgon_error_destroy(err);
	_assert_true(ok, "no error", file, line);
}

// --- what the process holds ---------------------------------------------------------

// The kernel names the heap, QEMU's list of mappings does not: there it is the mapping with the break, up to the highest it was.
static bool is_heap(uint64_t start, uint64_t end)
{
	uint64_t last = (uint64_t)(uintptr_t)sbrk(0) - 1;

	return start <= last && last < end;
}

static void count_mapping(const char *line, struct test_snapshot *ret)
{
	uint64_t start, end, inode;
	char prot[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64 " %n", &start, &end, prot,
		   &inode, &at) < 4)
		return;
	if (strstr(line + at, ".so") || strstr(line + at, "gorgon-thunks"))
		ret->file_maps++;
	else if (!line[at] && !TEST_SANITIZED && !is_heap(start, end))
		ret->anon_bytes += end - start;
}

static void count_mappings(struct test_snapshot *ret)
{
	char line[PATH_MAX + 128];
	FILE *in = fopen("/proc/self/maps", "re");

	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		count_mapping(line, ret);
	}
	if (in)
		fclose(in);
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

int test_trim(void **state)
{
	(void)state;
	gorgon_trim();
	return 0;
}

// What is kept for further loads is dropped before; test_kept.c tests it.
struct test_snapshot test_snapshot(void)
{
	struct test_snapshot ret;

	gorgon_trim();
	ret = (struct test_snapshot){
		.fds = count_fds(),
		.images = gorgon_image_count(),
		.jit_entries = jitreg_count(),
		.namespaces = gorgon_debug_root.ns_count,
		.objects = gorgon_debug_root.object_count,
	};

	count_mappings(&ret);
	return ret;
}

void test_assert_unchanged(const struct test_snapshot *before, const char *file, int line)
{
	struct test_snapshot now = test_snapshot();
	bool same = !memcmp(before, &now, sizeof(now));

	if (!same)
		print_error("%s:%d: before -> now: library mappings %zu -> %zu, nameless bytes "
			    "%zu -> %zu, descriptors %zu -> %zu, images %zu -> %zu, JIT entries "
			    "%zu -> %zu, namespaces %u -> %u, objects %u -> %u\n",
			    file, line, before->file_maps, now.file_maps, before->anon_bytes,
			    now.anon_bytes, before->fds, now.fds, before->images, now.images,
			    before->jit_entries, now.jit_entries, before->namespaces,
			    now.namespaces, before->objects, now.objects);
	_assert_true(same, "the process holds what it held before", file, line);
}

// --- files ------------------------------------------------------------------------------

static char *next_name(void)
{
	static __thread char names[NAMES][PATH_MAX];
	static __thread unsigned next;

	return names[next++ % NAMES];
}

// The modules lie beside the folder of this program: build/tests/x, build/modules.
const char *test_module(const char *name)
{
	char exe[PATH_MAX] = "", *ret = next_name();

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		fail_msg("cannot read /proc/self/exe");
	for (int i = 0; i < 2; i++)
		*strrchr(exe, '/') = 0;
	if (snprintf(ret, PATH_MAX, "%s/modules/%s", exe, name) >= PATH_MAX)
		fail_msg("name too long");
	return ret;
}

static char temp_dir[] = "/tmp/gorgon-test-XXXXXX";
static pid_t temp_owner;

static void remove_temp(void)
{
	if (getpid() == temp_owner)
		test_run("rm -rf %s", temp_dir);
}

const char *test_temp(const char *name)
{
	char *ret = next_name();

	if (!temp_owner) {
		if (!mkdtemp(temp_dir))
			fail_msg("cannot make %s", temp_dir);
		temp_owner = getpid();
		atexit(remove_temp);
	}
	snprintf(ret, PATH_MAX, "%s/%s", temp_dir, name);
	return ret;
}

uint8_t *test_read(const char *path, size_t *size)
{
	FILE *in = fopen(path, "rbe");
	uint8_t *data = NULL;
	long length = 0;

	if (!in || fseek(in, 0, SEEK_END) || (length = ftell(in)) < 0 || fseek(in, 0, SEEK_SET) ||
	    !(data = malloc((size_t)length + 1)) ||
	    fread(data, 1, (size_t)length, in) != (size_t)length)
		fail_msg("cannot read %s", path);
	fclose(in);
	*size = (size_t)length;
	return data;
}

// A new file each time: the loader knows files by inode, size and time.
void test_write(const char *path, const void *data, size_t size)
{
	FILE *out;

	unlink(path);
	out = fopen(path, "wbe");
	if (!out || fwrite(data, 1, size, out) != size || fclose(out))
		fail_msg("cannot write %s", path);
}

int test_run(const char *format, ...)
{
	char command[4096];
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int test_in_child(int (*fn)(void *arg), void *arg)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail_msg("cannot fork");
	if (!pid) {
		alarm(120); // a child that hangs is a failure too
		pthread_mutex_init(&notes_lock, NULL); // another thread may have held it
		_exit(fn(arg));
	}
	if (waitpid(pid, &status, 0) != pid)
		fail_msg("cannot wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Files for debuggers are kept in the user's cache; tests have a cache of their own.
__attribute__((constructor)) static void use_own_cache(void)
{
	char exe[PATH_MAX] = "", cache[PATH_MAX + 16];

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		exit(2);
	for (int i = 0; i < 2; i++)
		*strrchr(exe, '/') = 0;
	snprintf(cache, sizeof(cache), "%s/cache", exe);
	setenv("XDG_CACHE_HOME", cache, 1);
}

// --- namespaces ------------------------------------------------------------------------------

int test_warm_up(void **state)
{
	static const char *const names[] = {"libbasic.so", "libcatch.so", "libtls.so"};
	struct gorgon_ns *ns = test_ns();

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		test_open(ns, names[i]);
	test_ns_destroy(ns);
	test_notes();
	return 0;
}

struct gorgon_ns *test_ns(void)
{
	struct gorgon_ns *ns = NULL;

	assert_ok(gorgon_ns_create(NULL, &ns));
	return ns;
}

void test_ns_destroy(struct gorgon_ns *ns)
{
	assert_ok(gorgon_ns_destroy(ns));
}

struct gorgon_object *test_open(struct gorgon_ns *ns, const char *module)
{
	struct gorgon_object *object = NULL;

	assert_ok(gorgon_object_open(ns, test_module(module), NULL, &object));
	return object;
}

void *test_symbol(struct gorgon_object *object, const char *name)
{
	void *ret = gorgon_object_find_symbol(object, name, NULL);

	if (!ret)
		fail_msg("no symbol %s", name);
	return ret;
}

// Only a build with a leak checker has these.
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));
extern void __lsan_ignore_object(const void *p) __attribute__((weak));

void test_ignore_inittab(struct gorgon_interp *interp)
{
	void **inittab = gorgon_interp_find_symbol(interp, "PyImport_Inittab");

	if (__lsan_ignore_object && inittab)
		__lsan_ignore_object(*inittab);
}

struct gorgon_interp *test_interp_create(const struct gorgon_interp_opts *opts)
{
	struct gorgon_interp *interp = NULL;

	assert_ok(gorgon_interp_create(opts, &interp));
	test_ignore_inittab(interp);
	return interp;
}

struct gorgon_interp *test_interp_start(const struct gorgon_interp_opts *opts,
					const struct gorgon_start_opts *start_opts)
{
	struct gorgon_interp *interp = test_interp_create(opts);

	assert_ok(gorgon_interp_start(interp, start_opts));
	return interp;
}

void test_keep(uint64_t file_bytes, uint64_t memory_bytes, unsigned seconds)
{
	struct gorgon_keep_opts opts = {sizeof(opts), file_bytes, memory_bytes, seconds};

	assert_ok(gorgon_keep(&opts));
}

void test_hide_leaks(bool hide)
{
	if (hide && __lsan_disable)
		__lsan_disable();
	if (!hide && __lsan_enable)
		__lsan_enable();
}

struct gorgon_error *test_interp_main(struct gorgon_interp *interp, int argc,
				      const char *const *argv, int *status)
{
	struct gorgon_error *err;

	test_hide_leaks(true);
	err = gorgon_interp_main(interp, argc, argv, status);
	test_hide_leaks(false);
	return err;
}

// --- the modules' record -----------------------------------------------------------------------

static char notes[8192], shown[8192];
static int notes_fd = -1;

// Write the notes, if there is a descriptor for them. The lock is held.
static void write_notes(void)
{
	size_t size = strlen(notes);

	if (notes_fd < 0)
		return;
	if (write(notes_fd, notes, size) != (ssize_t)size)
		abort();
	notes[0] = 0;
}

void test_note(const char *what)
{
	size_t used;

	pthread_mutex_lock(&notes_lock);
	used = strlen(notes);
	snprintf(notes + used, sizeof(notes) - used, "%s ", what);
	write_notes();
	pthread_mutex_unlock(&notes_lock);
}

void test_notes_go_to(int fd)
{
	pthread_mutex_lock(&notes_lock);
	notes_fd = fd;
	write_notes();
	pthread_mutex_unlock(&notes_lock);
}

const char *test_notes(void)
{
	pthread_mutex_lock(&notes_lock);
	memcpy(shown, notes, sizeof(shown));
	notes[0] = 0;
	pthread_mutex_unlock(&notes_lock);
	return shown;
}

// --- groups --------------------------------------------------------------------------------------

int test_run_with_plans(const char *group, const struct CMUnitTest *tests, size_t count, size_t once)
{
	static const char *const times[] = {"", "_makes_plans", "_with_plans"};
	struct CMUnitTest *all = calloc(3 * count, sizeof(*all));
	size_t used = 0;
	int ret;

	if (!all)
		abort();
	for (size_t time = 0; time < 3; time++)
		for (size_t i = time ? once : 0; i < count; i++) {
			char *name;

			if (asprintf(&name, "%s%s", tests[i].name, times[time]) < 0)
				abort();
			all[used] = tests[i];
			all[used++].name = name;
		}
	ret = _cmocka_run_group_tests(group, all, used, NULL, NULL);
	while (used)
		free((char *)all[--used].name);
	free(all);
	return ret;
}
