// SPDX-License-Identifier: MIT
// Programs may close descriptors that are not theirs, or have a table of descriptors of their own. The loader keeps
// no descriptor between calls, maps no page of another file, and closes no descriptor of others.

#define _GNU_SOURCE
#include "calls.h"

#include "ns/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// What CPython leaves on the heap is freed with an interpreter of the loader only.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

#define LAST  300 // the program closes 3 to this
#define FILES 60
#define BYTES (1 << 20)

// Extension modules with libraries of their own, and numpy where there is one.
#define USE                                                                                        \
	"import decimal, hashlib, json, sqlite3, zlib, ctypes\n"                                   \
	"assert decimal.Decimal('1.1') * 2 == decimal.Decimal('2.2')\n"                            \
	"assert hashlib.sha256(b'').hexdigest().startswith('e3b0c442')\n"                          \
	"assert json.loads('[1, 2]') == [1, 2]\n"                                                  \
	"assert sqlite3.connect(':memory:').execute('select 6 * 7').fetchone() == (42,)\n"         \
	"assert zlib.decompress(zlib.compress(b'x' * 9999)) == b'x' * 9999\n"                      \
	"try: import numpy\n"                                                                      \
	"except ImportError: pass\n"                                                               \
	"else: assert (numpy.arange(100.).reshape(10, 10) @ numpy.eye(10)).sum() == 4950\n"

static struct gorgon_interp_opts opts;

static int use_loader(void **state)
{
	(void)state;
	opts = (struct gorgon_interp_opts){.size = sizeof(opts)};
	return 0;
}

static int use_packs(void **state)
{
	static const struct gorgon_ns_opts lazy = {.size = sizeof(lazy), .debug = GORGON_DEBUG_LAZY};

	use_loader(state);
	opts.ns = &lazy;
	return 0;
}

static int use_copies(void **state)
{
	use_loader(state);
	opts.isolate = GORGON_ISOLATE_COPY;
	return 0;
}

static struct gorgon_interp *start_and_use(void)
{
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	run(interp, USE);
	return interp;
}

// --- files of others ----------------------------------------------------------------------

struct others {
	int fds[FILES];
	char *bytes;
};

// The files get the lowest free numbers, and are larger than a library, so that nothing that is mapped ends early.
static void open_others(struct others *others)
{
	char name[] = "/tmp/gorgon-test-XXXXXX";

	others->bytes = malloc(BYTES);
	memset(others->bytes, 0x5a, BYTES);
	for (int i = 0; i < FILES; i++) {
		strcpy(name + strlen(name) - 6, "XXXXXX");
		others->fds[i] = mkstemp(name);
		assert_true(others->fds[i] >= 0);
		unlink(name);
		assert_int_equal(write(others->fds[i], others->bytes, BYTES), BYTES);
		assert_int_equal(ftruncate(others->fds[i], 64 * BYTES), 0);
	}
}

static void check_others(const struct others *others)
{
	char *bytes = malloc(BYTES);

	for (int i = 0; i < FILES; i++) {
		assert_int_equal(lseek(others->fds[i], 0, SEEK_CUR), BYTES);
		assert_int_equal(lseek(others->fds[i], 0, SEEK_END), 64 * BYTES);
		assert_int_equal(lseek(others->fds[i], BYTES, SEEK_SET), BYTES);
		assert_int_equal(pread(others->fds[i], bytes, BYTES, 0), BYTES);
		assert_memory_equal(bytes, others->bytes, BYTES);
		assert_int_equal(fcntl(others->fds[i], F_GETFD), 0);
		assert_int_equal(fcntl(others->fds[i], F_GETSIG), 0);
	}
	free(bytes);
}

static void close_others(struct others *others)
{
	for (int i = 0; i < FILES; i++)
		assert_int_equal(close(others->fds[i]), 0);
	free(others->bytes);
}

// Descriptors of files that only the loader opens: libraries, files in memory, companions, locks. libffi keeps some
// of its own, which do not count.
static size_t count_loaders(void)
{
	static const char *const names[] = {".so", "memfd:", ".debug", "/gorgon"};
	DIR *dir = opendir("/proc/thread-self/fd");
	char path[PATH_MAX];
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);

		path[size < 0 ? 0 : size] = 0;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (!strstr(path, names[i]) || strstr(path, "libffi") ||
			    strstr(path, "gorgon-test"))
				continue;
			print_message("open: %s\n", path);
			count++;
			break;
		}
	}
	closedir(dir);
	return count;
}

// --- the tests ------------------------------------------------------------------------------

static void interpreters_keep_no_descriptors(void **state)
{
	struct gorgon_interp *interps[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		interps[i] = start_and_use();
	assert_int_equal(count_loaders(), 0);
	for (int i = 0; i < 4; i++)
		destroy(interps[i]);
	assert_int_equal(count_loaders(), 0);
}

static void program_that_closes_all_harms_nobody(void **state)
{
	struct gorgon_interp *one = start_and_use(), *two;
	struct others others;

	(void)state;
	run(one, "import os; os.closerange(3, 300)");
	open_others(&others);
	two = start_and_use();
	check_others(&others);
	run(one, "import bz2, lzma, xml.parsers.expat\n" USE);
	destroy(two);
	two = start_and_use();
	destroy(one);
	destroy(two);
	check_others(&others);
	close_others(&others);
}

struct apart {
	struct gorgon_interp *hosts, *own; // created by the other thread, and by this one
	sem_t created, go_on;
	bool ok;
};

// Runs in a table of its own, in which other files have the numbers.
static void *run_apart(void *arg)
{
	struct apart *apart = arg;
	struct others others;
	struct gorgon_ns *ns;

	assert_int_equal(close_range(~0U, ~0U, CLOSE_RANGE_UNSHARE), 0);
	assert_int_equal(close_range(3, ~0U, 0), 0);
	open_others(&others);
	apart->own = start_and_use();
	run(apart->hosts, "import bz2, lzma\n" USE);
	if (opts.isolate == GORGON_ISOLATE_LOADER) {
		ns = test_ns();
		assert_int_equal(*SYMBOL(test_open(ns, "libtls_ie.so"), int *(*)(void), "tls_value_at")(), 11);
		test_ns_destroy(ns);
	}
	sem_post(&apart->created);
	sem_wait(&apart->go_on);
	destroy(apart->hosts);
	assert_int_equal(count_loaders(), 0);
	check_others(&others);
	close_others(&others);
	apart->ok = true;
	return NULL;
}

static void thread_with_its_own_table_loads_and_destroys(void **state)
{
	struct apart apart = {.hosts = start_and_use()};
	struct others others;
	struct gorgon_interp *third;
	pthread_t thread;

	(void)state;
	open_others(&others);
	sem_init(&apart.created, 0, 0);
	sem_init(&apart.go_on, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, run_apart, &apart), 0);
	sem_wait(&apart.created);
	third = start_and_use();
	run(apart.own, "import bz2, lzma\n" USE);
	destroy(apart.own);
	check_others(&others);
	sem_post(&apart.go_on);
	pthread_join(thread, NULL);
	assert_true(apart.ok);
	destroy(third);
	assert_int_equal(count_loaders(), 0);
	check_others(&others);
	close_others(&others);
}

// --- a thread that closes descriptors all the time --------------------------------------------------

static atomic_bool over;

static void *close_all(void *arg)
{
	(void)arg;
	while (!over) {
		close_range(3, LAST, 0);
		for (int i = 0; i < 20; i++)
			if (open("/etc/ld.so.cache", i % 2 ? O_RDONLY : O_RDONLY | O_NONBLOCK) < 0)
				break;
	}
	return NULL;
}

static char *read_all(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re");
	char *bytes = malloc(BYTES);

	assert_non_null(in);
	*size = fread(bytes, 1, BYTES, in);
	assert_true(*size && *size < BYTES);
	fclose(in);
	return bytes;
}

// Pages that nobody has written to must have the file's bytes.
static void check_pages(const struct gorgon_object *object, const char *bytes, size_t size)
{
	const struct gorgon_image *image = object->image;

	assert_int_equal(image->file_size, size);
	assert_memory_equal(image->file, bytes, size);
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gorgon_segment *seg = &image->segments[i];

		if (!(seg->prot & PROT_WRITE))
			assert_memory_equal((void *)(uintptr_t)(object->bias + seg->vaddr),
					    bytes + seg->off, seg->file_size);
	}
}

// This case does not run under the thread sanitizer: to it each number that is closed during a read is a race, and
// it can name none of them, because the pipe to its symbolizer is closed as well.
static void loading_while_somebody_closes_all_gives_the_right_pages(void **state)
{
	const char *path = test_module("libtls_ie.so");
	time_t end = time(NULL) + 3;
	struct gorgon_object *object;
	struct gorgon_error *err;
	pthread_t threads[2];
	unsigned right = 0;
	size_t size;
	char *bytes;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip_because("it would close the thread sanitizer's own descriptors");
#endif
	bytes = read_all(path, &size);
	over = false;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, close_all, NULL), 0);
	while (time(NULL) < end) {
		struct gorgon_ns *ns = test_ns(), *second = test_ns();

		if ((err = gorgon_object_open(ns, path, NULL, &object)) ||
		    (err = gorgon_object_open(second, path, NULL, &object))) {
			// The number is no descriptor any more, or another file's: the loader notices that and
			// refuses.
			assert_true(gorgon_error_code(err) == GORGON_ERROR_OS ||
				    gorgon_error_code(err) == GORGON_ERROR_FORMAT);
			gorgon_error_destroy(err);
		} else {
			check_pages(object, bytes, size);
			assert_int_equal(*SYMBOL(object, int *(*)(void), "tls_value_at")(), 11);
			right++;
		}
		test_ns_destroy(ns);
		test_ns_destroy(second);
	}
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close_range(3, LAST, 0);
	free(bytes);
	print_message("%u times\n", right);
	assert_true(right > 0);
}

#define test_as(function, how)                                                                     \
	{#function "_" #how, function, use_##how, NULL, NULL}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_as(interpreters_keep_no_descriptors, loader),
		test_as(interpreters_keep_no_descriptors, packs),
		test_as(interpreters_keep_no_descriptors, copies),
		test_as(program_that_closes_all_harms_nobody, loader),
		test_as(program_that_closes_all_harms_nobody, packs),
		test_as(program_that_closes_all_harms_nobody, copies),
		test_as(thread_with_its_own_table_loads_and_destroys, loader),
		test_as(thread_with_its_own_table_loads_and_destroys, packs),
		test_as(thread_with_its_own_table_loads_and_destroys, copies),
		cmocka_unit_test(loading_while_somebody_closes_all_gives_the_right_pages),
	};

	return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
