// SPDX-License-Identifier: MIT
// loader/python: counted blocks, arrays over them, the names they are shared under.

#define _GNU_SOURCE
#include "helpers.h"

#include "python/arrays/array.h"
#include "python/arrays/block.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// How often memory of ours was given back, and the last time with what.
static unsigned destroyed;
static void *destroyed_data, *destroyed_ctx;

static void count_destroy(void *ctx, void *data)
{
	destroyed_data = data;
	destroyed_ctx = ctx;
	destroyed++;
}

static struct gorgon_array_opts options(const char *format, unsigned ndim, const ptrdiff_t *shape)
{
	destroyed = 0;
	return (struct gorgon_array_opts){
		.size = sizeof(struct gorgon_array_opts),
		.layout = {.format = format, .ndim = ndim, .shape = shape},
	};
}

static struct gorgon_array *create(const struct gorgon_array_opts *opts)
{
	struct gorgon_array *array;

	assert_ok(gorgon_array_create(opts, &array));
	return array;
}

static struct gorgon_array_info info_of(const struct gorgon_array *array)
{
	struct gorgon_array_info info;

	gorgon_array_get_info(array, &info);
	return info;
}

// --- formats ----------------------------------------------------------------------------

static void format_parse_knows_typestrs_and_pep3118(void **state)
{
	static const struct {
		const char *text;
		bool plain;
		size_t item_size;
		const char *buffer;
		bool differs;
	} cases[] = {
		{"<f8", true, 8, "d", false},	  {">f4", true, 4, ">f", false},
		{"|b1", true, 1, "?", false},	  {"|u1", true, 1, "B", false},
		{"=i8", true, 8, "q", false},	  {"<c16", true, 16, "Zd", false},
		{"<f16", true, 16, "g", false},	  {"|S5", true, 5, "5s", false},
		{"|S0", true, 0, "0s", false},	  {"<U3", true, 12, "3w", false},
		{"|V7", true, 7, "7x", false},	  {"<M8[ns]", true, 8, "q", true},
		{">m8[D]", true, 8, ">q", true},  {"d", true, 8, "", false},
		{"<d", true, 8, "", false},	  {"l", true, 8, "", false},
		{"<l", true, 4, "", false},	  {"Zf", true, 8, "", false},
		{"12s", true, 12, "", false},	  {"T{d:x:i:y:}", false, 0, "", false},
		{"(2,3)i", false, 0, "", false},
	};
	struct gorgon_format format;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("%s\n", cases[i].text);
		assert_true(gorgon_format_parse(cases[i].text, &format));
		assert_int_equal(format.plain, cases[i].plain);
		assert_int_equal(format.item_size, cases[i].item_size);
		assert_string_equal(format.buffer, cases[i].buffer);
		assert_int_equal(format.differs, cases[i].differs);
	}
	assert_false(gorgon_format_parse("", &format));
	assert_false(gorgon_format_parse("<f3", &format));
	assert_false(gorgon_format_parse("<M4", &format));
	assert_false(gorgon_format_parse("|O", &format));
}

static void format_objects_are_found_outside_of_names(void **state)
{
	(void)state;
	assert_true(gorgon_format_has_objects("O"));
	assert_true(gorgon_format_has_objects("T{d:x:O:y:}"));
	assert_false(gorgon_format_has_objects("T{d:Ox:i:O:}"));
	assert_false(gorgon_format_has_objects("d"));
}

// --- blocks -----------------------------------------------------------------------------

static void block_data_are_aligned_and_lead_to_the_block(void **state)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1 << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct gorgon_block *block = gorgon_block_create(sizes[i], true);

		assert_int_equal((uintptr_t)block->data % 64, 0);
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(block->data[at], 0);
		memset(block->data, 'x', sizes[i]);
		assert_ptr_equal(gorgon_block_of(block->data), block);
		gorgon_block_release(block);
	}
	assert_null(gorgon_block_create(SIZE_MAX - 8, false));
}

static void block_of_other_memory_is_null(void **state)
{
	char memory[256] __attribute__((aligned(64))) = {0};

	(void)state;
	assert_null(gorgon_block_of(memory + 128));
	assert_null(gorgon_block_of(memory + 129));
}

static void block_resize_keeps_content_and_alignment(void **state)
{
	static const size_t sizes[] = {100, 10, 5000, 1 << 22, 3, 0, 77};
	struct gorgon_block *block = gorgon_block_create(50, false);
	size_t kept = 50;

	(void)state;
	for (size_t i = 0; i < 50; i++)
		block->data[i] = (char)i;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		block = gorgon_block_resize(block, sizes[s]);
		kept = sizes[s] < kept ? sizes[s] : kept;
		assert_int_equal(block->size, sizes[s]);
		assert_int_equal((uintptr_t)block->data % 64, 0);
		assert_ptr_equal(gorgon_block_of(block->data), block);
		for (size_t i = 0; i < kept; i++)
			assert_int_equal(block->data[i], (char)i);
	}
	assert_null(gorgon_block_resize(block, SIZE_MAX - 8));
	assert_int_equal(block->size, 77);
	gorgon_block_release(block);
}

// --- arrays -----------------------------------------------------------------------------

static void array_create_new_memory_is_zeroed_and_in_c_order(void **state)
{
	struct gorgon_array_opts opts = options("<f8", 3, (ptrdiff_t[]){2, 3, 4});
	struct gorgon_array *array = create(&opts);
	struct gorgon_array_info info = info_of(array);

	(void)state;
	assert_string_equal(info.layout.format, "<f8");
	assert_int_equal(info.layout.item_size, 8);
	assert_int_equal(info.layout.ndim, 3);
	assert_memory_equal(info.layout.shape, ((ptrdiff_t[]){2, 3, 4}), 24);
	assert_memory_equal(info.layout.strides, ((ptrdiff_t[]){96, 32, 8}), 24);
	assert_false(info.writable);
	assert_int_equal((uintptr_t)info.data % 64, 0);
	for (int i = 0; i < 24; i++)
		assert_true(((double *)info.data)[i] == 0);
	gorgon_array_release(array);
	gorgon_array_release(NULL);
}

static void array_create_negative_strides_start_inside(void **state)
{
	struct gorgon_array_opts opts = options("i", 1, (ptrdiff_t[]){5});
	struct gorgon_array *array;
	int memory[5] = {1, 2, 3, 4, 5};

	(void)state;
	opts.layout.strides = (ptrdiff_t[]){-4};
	array = create(&opts);
	// The sanitizer watches the first and the last item.
	((int *)info_of(array).data)[0] = 1;
	((int *)info_of(array).data)[-4] = 5;
	gorgon_array_release(array);
	opts.data = memory;
	array = create(&opts);
	assert_int_equal(*(int *)info_of(array).data, 5);
	gorgon_array_release(array);
}

static void array_create_without_items_or_dimensions(void **state)
{
	struct gorgon_array_opts opts = options("d", 2, (ptrdiff_t[]){0, 7});
	struct gorgon_array *array = create(&opts);

	(void)state;
	assert_non_null(info_of(array).data);
	assert_int_equal(info_of(array).layout.shape[0], 0);
	gorgon_array_release(array);
	opts = options("d", 0, NULL);
	array = create(&opts);
	*(double *)info_of(array).data = 1.5;
	assert_int_equal(info_of(array).layout.ndim, 0);
	gorgon_array_release(array);
}

static void array_create_numa_nodes_has_its_pages_there(void **state)
{
	ptrdiff_t shape[] = {3, 4096};
	struct gorgon_array_opts opts = options("B", 2, shape);
	struct gorgon_array *array;
	struct gorgon_error *err;
	struct test_snapshot before;
	uint64_t nodes = 0;
	int node = -1;

	(void)state;
	if (syscall(SYS_get_mempolicy, &nodes, NULL, 0, NULL, 0) && errno == ENOSYS)
		skip_because("this kernel has no memory policies");
	before = test_snapshot();
	opts.numa_nodes = 1;
	opts.huge_pages = true;
	array = create(&opts);
	for (int i = 0; i < 3; i++) {
		char *page = info_of(array).data;

		page += 4096 * i;
		assert_int_equal(*page, 0);
		*page = 1;
		assert_int_equal(syscall(SYS_get_mempolicy, &node, NULL, 0, page,
					 MPOL_F_NODE | MPOL_F_ADDR), 0);
		assert_int_equal(node, 0);
	}
	gorgon_array_release(array);
	assert_unchanged(&before);
	opts.layout.shape = (ptrdiff_t[]){0, 5};
	gorgon_array_release(create(&opts));
	opts.numa_nodes = UINT64_C(1) << 63;
	err = gorgon_array_create(&opts, &array);
	assert_error(err, GORGON_ERROR_ARGUMENT,
		     "array: NUMA nodes 0x8000000000000000: none of them is a node that this process may use");
	assert_unchanged(&before);
	opts.data = &node;
	assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_ARGUMENT,
		     "for memory that is there already");
}

// A kernel that answers a system call with an error, as far as this process can tell.
static bool forbid(unsigned number, unsigned errnum)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

// On the stack of a child.
static int create_without_mbind(void *arg)
{
	struct gorgon_array_opts opts = options("d", 1, (ptrdiff_t[]){3});
	struct gorgon_array *array;
	struct gorgon_error *err;
	int ret;

	(void)arg;
	if (!forbid(SYS_mbind, ENOSYS))
		return 77;
	opts.numa_nodes = 1;
	err = gorgon_array_create(&opts, &array);
	ret = gorgon_error_code(err) != GORGON_ERROR_UNSUPPORTED ||
	      strcmp(gorgon_error_message(err),
		     "array: NUMA nodes 0x1: this kernel has no memory policies (mbind)") != 0;
	gorgon_error_destroy(err);
	return ret;
}

static void array_create_numa_nodes_without_policies_is_unsupported(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(create_without_mbind, NULL), 0);
}

static void array_create_huge_pages_is_memory_like_other(void **state)
{
	struct gorgon_array_opts opts = options("|u1", 1, (ptrdiff_t[]){8 << 20});
	struct gorgon_array *array;
	unsigned char *data;

	(void)state;
	opts.huge_pages = true;
	array = create(&opts);
	data = info_of(array).data;
	assert_int_equal(data[0] + data[(8 << 20) - 1], 0);
	data[(8 << 20) - 1] = 1;
	gorgon_array_release(array);
}

static size_t locked_kib(void)
{
	char line[200];
	size_t ret = 0;
	FILE *in = fopen("/proc/self/status", "re");

	assert_non_null(in);
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "VmLck: %zu", &ret) == 1)
			break;
	fclose(in);
	return ret;
}

static void array_create_placed_memory_is_where_it_was_asked_for(void **state)
{
	struct gorgon_array_opts opts = options("d", 1, (ptrdiff_t[]){1000});
	struct test_snapshot before = test_snapshot();
	size_t locked = locked_kib();
	struct gorgon_array *array;

	(void)state;
	for (size_t align = 1; align <= 1 << 22; align *= 4) {
		opts.alignment = align;
		array = create(&opts);
		assert_int_equal((uintptr_t)info_of(array).data % (align > 64 ? align : 64), 0);
		assert_true(*(double *)info_of(array).data == 0.0);
		gorgon_array_release(array);
	}
	opts.alignment = 8192;
	opts.locked = true;
	array = create(&opts);
	assert_int_equal((uintptr_t)info_of(array).data % 8192, 0);
	if (!TEST_SANITIZED) // their mlock() does nothing
		assert_in_range(locked_kib() - locked, 8, 16);
	gorgon_array_release(array);
	assert_int_equal(locked_kib(), locked);
	opts.huge_pages = true;
	opts.layout.shape = (ptrdiff_t[]){3 << 17};
	array = create(&opts);
	assert_int_equal((uintptr_t)info_of(array).data % (2 << 20), 0);
	gorgon_array_release(array);
	assert_int_equal(locked_kib(), locked);
	assert_unchanged(&before);

	opts.alignment = 100;
	assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_ARGUMENT,
		     "array: alignment is 100, expected a power of two up to 1073741824");
	opts.alignment = 0;
	opts.data = &opts;
	assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_ARGUMENT,
		     "array: locked for memory that is there already, expected new memory");
}

// On the stack of a child.
static int create_where_locks_are_forbidden(void *arg)
{
	struct gorgon_array_opts opts = options("d", 1, (ptrdiff_t[]){1000});
	struct gorgon_array *array;
	struct gorgon_error *err;
	int ret;

	(void)arg;
	if (!forbid(SYS_mlock, ENOMEM))
		return 77;
	opts.locked = true;
	err = gorgon_array_create(&opts, &array);
	ret = gorgon_error_code(err) != GORGON_ERROR_OS ||
	      !strstr(gorgon_error_message(err), "array: locked: mlock of ");
	gorgon_error_destroy(err);
	return ret;
}

static void array_create_that_must_not_lock_says_so(void **state)
{
	(void)state;
	if (TEST_SANITIZED)
		skip_because("the sanitizers' mlock() does nothing");
	assert_int_equal(test_in_child(create_where_locks_are_forbidden, NULL), 0);
}

static void array_create_wrong_options_are_refused(void **state)
{
	const struct {
		struct gorgon_array_layout layout;
		const char *text;
	} cases[] = {
		{{.format = NULL}, "format is \"(null)\""},
		{{.format = "<f3"}, "format is \"<f3\", expected a typestr or a PEP 3118 format"},
		{{.format = "O"}, "format \"O\" has Python objects"},
		{{.format = "T{d:x:O:y:}", .item_size = 16}, "has Python objects"},
		{{.format = "d", .item_size = 4}, "item_size is 4, format \"d\" has 8"},
		{{.format = "T{d:x:}"}, "item_size is 0, and format \"T{d:x:}\" does not say it"},
		{{.format = "d", .ndim = 65}, "has 65 dimensions, expected 64 at most"},
		{{.format = "d", .ndim = 2, .shape = (ptrdiff_t[]){3, -1}}, "shape[1] is -1"},
		{{.format = "d", .ndim = 2, .shape = (ptrdiff_t[]){1l << 40, 1l << 40}},
		 "span more than an address can say"},
		{{.format = "d",
		  .ndim = 1,
		  .shape = (ptrdiff_t[]){3},
		  .strides = (ptrdiff_t[]){PTRDIFF_MIN}},
		 "span more than an address can say"},
	};
	struct gorgon_array_opts opts = options(NULL, 0, NULL);
	struct gorgon_array *array = NULL;

	(void)state;
	opts.destroy = count_destroy;
	opts.data = &opts;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		opts.layout = cases[i].layout;
		assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_ARGUMENT,
			     cases[i].text);
	}
	opts.size = 3;
	assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_ARGUMENT,
		     "gorgon_array_opts: size is 3, expected");
	assert_null(array);
	assert_int_equal(destroyed, 0);
}

static void array_create_more_than_there_is_is_no_memory(void **state)
{
	struct gorgon_array_opts opts = options("|u1", 1, (ptrdiff_t[]){PTRDIFF_MAX - 10});
	struct gorgon_array *array = NULL;

	(void)state;
	assert_error(gorgon_array_create(&opts, &array), GORGON_ERROR_NOMEM, "no memory");
	assert_null(array);
}

static void array_release_last_tells_the_hosts_destructor(void **state)
{
	struct gorgon_array_opts opts = options("i", 1, (ptrdiff_t[]){4});
	int memory[4] = {1, 2, 3, 4};
	struct gorgon_array *array;

	(void)state;
	opts.data = memory;
	opts.destroy = count_destroy;
	opts.ctx = &opts;
	array = create(&opts);
	assert_ptr_equal(info_of(array).data, memory);
	assert_ptr_equal(gorgon_array_retain(array), array);
	gorgon_array_release(array);
	assert_int_equal(destroyed, 0);
	gorgon_array_release(array);
	assert_int_equal(destroyed, 1);
	assert_ptr_equal(destroyed_data, memory);
	assert_ptr_equal(destroyed_ctx, &opts);
}

static void array_create_in_must_lie_inside(void **state)
{
	struct gorgon_block *block = gorgon_block_create(80, true);
	struct gorgon_array_layout layout = {
		.format = "d", .ndim = 1, .shape = (ptrdiff_t[]){5}, .strides = (ptrdiff_t[]){-16}};
	struct gorgon_array *array = NULL;

	(void)state;
	assert_error(gorgon_array_create_in(block, block->data + 56, &layout, false, NULL, &array),
		     GORGON_ERROR_ARGUMENT, "not all inside its memory of 80 bytes");
	assert_error(gorgon_array_create_in(block, block->data + 73, &layout, false, NULL, &array),
		     GORGON_ERROR_ARGUMENT, "not all inside its memory of 80 bytes");
	assert_error(gorgon_array_create_in(block, block->data - 8, &layout, false, NULL, &array),
		     GORGON_ERROR_ARGUMENT, "not all inside its memory of 80 bytes");
	assert_null(array);
	assert_ok(gorgon_array_create_in(block, block->data + 72, &layout, true, NULL, &array));
	assert_true(info_of(array).writable);
	gorgon_block_release(block);
	// The array holds the block.
	((double *)info_of(array).data)[-8] = 1;
	gorgon_array_release(array);
}

// --- names ------------------------------------------------------------------------------

static void array_share_name_holds_until_withdrawn(void **state)
{
	struct gorgon_array_opts opts = options("i", 1, (ptrdiff_t[]){2});
	struct gorgon_array *array, *received;
	int memory[2] = {7, 8};

	(void)state;
	opts.data = memory;
	opts.destroy = count_destroy;
	array = create(&opts);
	assert_ok(gorgon_array_share(array, "seven"));
	gorgon_array_release(array);
	assert_int_equal(destroyed, 0);
	assert_ok(gorgon_array_receive("seven", &received));
	assert_ptr_equal(info_of(received).data, memory);
	assert_ok(gorgon_array_withdraw("seven"));
	assert_int_equal(destroyed, 0);
	gorgon_array_release(received);
	assert_int_equal(destroyed, 1);
}

static void array_names_unknown_and_taken_are_refused(void **state)
{
	struct gorgon_array_opts opts = options("i", 0, NULL);
	struct gorgon_array *array = create(&opts), *received = NULL;

	(void)state;
	assert_error(gorgon_array_receive("x", &received), GORGON_ERROR_MISSING,
		     "array \"x\": nobody has shared it");
	assert_error(gorgon_array_withdraw("x"), GORGON_ERROR_MISSING,
		     "array \"x\": nobody has shared it");
	assert_ok(gorgon_array_share(array, "x"));
	assert_ok(gorgon_array_share(array, "")); // a name as any other
	assert_error(gorgon_array_share(array, "x"), GORGON_ERROR_BUSY,
		     "array \"x\": the name is taken, withdraw it first");
	assert_ok(gorgon_array_withdraw("x"));
	assert_error(gorgon_array_receive("x", &received), GORGON_ERROR_MISSING, "\"x\"");
	assert_ok(gorgon_array_receive("", &received));
	gorgon_array_release(received);
	assert_ok(gorgon_array_withdraw(""));
	gorgon_array_release(array);
}

// Many more names than the table has places.
static void array_names_are_many(void **state)
{
	struct gorgon_array *received;
	char name[32];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct gorgon_array_opts opts = options("i", 1, (ptrdiff_t[]){i});
		struct gorgon_array *array = create(&opts);

		snprintf(name, sizeof(name), "array %d", i);
		assert_ok(gorgon_array_share(array, name));
		gorgon_array_release(array);
	}
	for (int i = 4999; i >= 0; i--) {
		snprintf(name, sizeof(name), "array %d", i);
		assert_ok(gorgon_array_receive(name, &received));
		assert_int_equal(info_of(received).layout.shape[0], i);
		gorgon_array_release(received);
		assert_ok(gorgon_array_withdraw(name));
	}
}

// --- threads ------------------------------------------------------------------------------

enum { THREADS = 8, ROUNDS = 10000, NAMES = 16 };

struct worker {
	unsigned seed;
	unsigned created, received; // counted for the sum at the end
};

static void free_memory(void *ctx, void *data)
{
	(void)ctx;
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
	free(data);
}

// Share, receive, read and withdraw at random under few names; each thread's releases meet
// the others' in every order.
static void *share_at_random(void *arg)
{
	struct worker *worker = arg;
	struct gorgon_array *array;
	struct gorgon_error *err;
	char name[16];

	for (int round = 0; round < ROUNDS; round++) {
		struct gorgon_array_opts opts = {
			.size = sizeof(opts),
			.layout = {.format = "<i4", .ndim = 1, .shape = (ptrdiff_t[]){16}},
			.destroy = free_memory,
		};
		int *memory = malloc(16 * sizeof(*memory));

		snprintf(name, sizeof(name), "%d", rand_r(&worker->seed) % NAMES);
		for (int i = 0; i < 16; i++)
			memory[i] = round;
		opts.data = memory;
		assert_null(gorgon_array_create(&opts, &array));
		worker->created++;
		gorgon_error_destroy(gorgon_array_share(array, name));
		gorgon_array_release(array);
		snprintf(name, sizeof(name), "%d", rand_r(&worker->seed) % NAMES);
		if (rand_r(&worker->seed) % 2)
			gorgon_error_destroy(gorgon_array_withdraw(name));
		err = gorgon_array_receive(name, &array);
		if (!err) {
			const int *data = info_of(array).data;

			worker->received += data[0] == data[15];
			gorgon_array_release(array);
		}
		gorgon_error_destroy(err);
	}
	return NULL;
}

// One of its holders; nothing but the count orders the threads.
static void *hold_and_release(void *arg)
{
	struct gorgon_block *block = arg;

	for (int round = 0; round < ROUNDS; round++) {
		gorgon_block_hold(block);
		gorgon_block_release(block);
	}
	gorgon_block_release(block);
	return NULL;
}

static void block_threads_hold_and_release(void **state)
{
	pthread_t threads[THREADS];
	struct gorgon_block *block;

	(void)state;
	for (int life = 0; life < 20; life++) {
		destroyed = 0;
		block = gorgon_block_wrap(malloc(16), 16, free_memory, NULL);
		assert_non_null(block);
		for (unsigned i = 0; i < THREADS; i++) {
			gorgon_block_hold(block);
			assert_int_equal(pthread_create(&threads[i], NULL, hold_and_release, block), 0);
		}
		gorgon_block_release(block);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(destroyed, 1);
	}
}

static void array_threads_share_and_release(void **state)
{
	struct worker workers[THREADS] = {0};
	pthread_t threads[THREADS];
	char name[16];

	(void)state;
	destroyed = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].seed = i;
		assert_int_equal(pthread_create(&threads[i], NULL, share_at_random, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].created, ROUNDS);
		assert_true(workers[i].received > 0);
	}
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		gorgon_error_destroy(gorgon_array_withdraw(name));
	}
	assert_int_equal(destroyed, THREADS * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_parse_knows_typestrs_and_pep3118),
		cmocka_unit_test(format_objects_are_found_outside_of_names),
		cmocka_unit_test(block_data_are_aligned_and_lead_to_the_block),
		cmocka_unit_test(block_of_other_memory_is_null),
		cmocka_unit_test(block_resize_keeps_content_and_alignment),
		cmocka_unit_test(array_create_new_memory_is_zeroed_and_in_c_order),
		cmocka_unit_test(array_create_negative_strides_start_inside),
		cmocka_unit_test(array_create_without_items_or_dimensions),
		cmocka_unit_test(array_create_numa_nodes_has_its_pages_there),
		cmocka_unit_test(array_create_numa_nodes_without_policies_is_unsupported),
		cmocka_unit_test(array_create_huge_pages_is_memory_like_other),
		cmocka_unit_test(array_create_placed_memory_is_where_it_was_asked_for),
		cmocka_unit_test(array_create_that_must_not_lock_says_so),
		cmocka_unit_test(array_create_wrong_options_are_refused),
		cmocka_unit_test(array_create_more_than_there_is_is_no_memory),
		cmocka_unit_test(array_release_last_tells_the_hosts_destructor),
		cmocka_unit_test(array_create_in_must_lie_inside),
		cmocka_unit_test(array_share_name_holds_until_withdrawn),
		cmocka_unit_test(array_names_unknown_and_taken_are_refused),
		cmocka_unit_test(array_names_are_many),
		cmocka_unit_test(block_threads_hold_and_release),
		cmocka_unit_test(array_threads_share_and_release),
	};

	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
