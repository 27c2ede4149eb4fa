// SPDX-License-Identifier: MIT
// loader/ns/tls.c

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"

#include "base/lock.h"
#include "ns/static_tls.h"

#include <errno.h>
#include <sys/resource.h>
#include "ns/ns.h"
#include "image/symbol.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

// A variable of this program, which tls_user.c refers to.
TEST_EXPORT __thread int test_host_tls = 77;

// Which build of tls.c is used: as compilers build it by default, with TLS descriptors, or as initial-exec.
static const char *library = "libtls.so";

// Functions of one copy of tls.c.
struct tls {
	int *(*value)(void);
	int *(*zero)(void);
	char *(*aligned)(void);
	char *(*large)(void);
	size_t (*large_size)(void);
	int (*next)(void);
	int (*local_next)(void);
	int (*pointer_is_own)(void);
};

static struct tls functions_of(struct gorgon_object *object)
{
	return (struct tls){
		.value = SYMBOL(object, int *(*)(void), "tls_value_at"),
		.zero = SYMBOL(object, int *(*)(void), "tls_zero_at"),
		.aligned = SYMBOL(object, char *(*)(void), "tls_aligned_at"),
		.large = SYMBOL(object, char *(*)(void), "tls_large_at"),
		.large_size = SYMBOL(object, size_t (*)(void), "tls_large_size"),
		.next = SYMBOL(object, int (*)(void), "tls_next"),
		.local_next = SYMBOL(object, int (*)(void), "tls_local_next"),
		.pointer_is_own = SYMBOL(object, int (*)(void), "tls_pointer_is_own"),
	};
}

static void check_fresh(const struct tls *tls)
{
	assert_int_equal(*tls->value(), 11);
	assert_int_equal(*tls->zero(), 0);
	assert_string_equal(tls->aligned(), "aligned");
	for (size_t i = 0; i < tls->large_size(); i++)
		assert_int_equal(tls->large()[i], 0);
	assert_int_equal(tls->pointer_is_own(), 1);
	assert_int_equal(tls->next(), 13);
	assert_int_equal(tls->next(), 15);
	assert_int_equal(tls->local_next(), 23);
}

static void tls_get_addr_first_access_gives_initial_values(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct tls tls = functions_of(test_open(ns, library));

	(void)state;
	check_fresh(&tls);
	test_ns_destroy(ns);
}

static void tls_get_addr_alignment_is_kept(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct tls tls = functions_of(test_open(ns, library));

	(void)state;
	assert_int_equal((uintptr_t)tls.aligned() % TEST_STATIC_TLS_ALIGN, 0);
	test_ns_destroy(ns);
}

static void tls_get_addr_copies_have_their_own(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct tls tls[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		tls[i] = functions_of(test_open(ns[i], library));
	*tls[0].value() = 1;
	*tls[1].value() = 2;
	assert_int_equal(*tls[0].value(), 1);
	assert_ptr_not_equal(tls[0].value(), tls[1].value());
	test_ns_destroy(ns[0]);
	assert_int_equal(*tls[1].value(), 2);
	test_ns_destroy(ns[1]);
}

struct job {
	struct tls tls;
	sem_t start, done;
	int *address;
	int value;
};

static void *use_when_told(void *arg)
{
	struct job *job = arg;

	sem_wait(&job->start);
	job->value = job->tls.next() + job->tls.local_next();
	job->address = job->tls.value();
	memset(job->tls.large(), 1, job->tls.large_size());
	sem_post(&job->done);
	sem_wait(&job->start);
	// The variable is still this thread's own, whatever other threads did meanwhile.
	job->value += *job->address;
	return NULL;
}

static pthread_t start_job(struct job *job)
{
	pthread_t ret;

	sem_init(&job->start, 0, 0);
	sem_init(&job->done, 0, 0);
	assert_int_equal(pthread_create(&ret, NULL, use_when_told, job), 0);
	return ret;
}

// One thread is older than the module, the other is younger.
static void tls_get_addr_threads_have_their_own(void **state)
{
	struct job jobs[2] = {0};
	struct gorgon_ns *ns = test_ns();
	pthread_t threads[2];
	struct tls tls;

	(void)state;
	threads[0] = start_job(&jobs[0]);
	tls = functions_of(test_open(ns, library));
	*tls.value() = 1000;
	threads[1] = start_job(&jobs[1]);
	for (int i = 0; i < 2; i++) {
		jobs[i].tls = tls;
		sem_post(&jobs[i].start);
		sem_wait(&jobs[i].done);
	}
	assert_ptr_not_equal(jobs[0].address, jobs[1].address);
	for (int i = 0; i < 2; i++) {
		sem_post(&jobs[i].start);
		pthread_join(threads[i], NULL);
		assert_int_equal(jobs[i].value, 13 + 23 + 12);
	}
	assert_int_equal(*tls.value(), 1000);
	test_ns_destroy(ns);
}

static void tls_get_addr_module_of_other_private_object_is_reached(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *user = test_open(ns, "libtls_user.so");
	struct tls tls = functions_of(user); // the variables are in a dependency

	(void)state;
	assert_ptr_equal(SYMBOL(user, int *(*)(void), "tls_user_private")(), tls.value());
	test_ns_destroy(ns);
}

static void *address_of_host_variable(void *arg)
{
	int *(*host)(void) = (int *(*)(void))arg;

	return host() == &test_host_tls && *host() == 77 ? NULL : "wrong";
}

// Two threads reach the host's variable from a library.
static void check_variable_of_the_system(const char *name)
{
	struct gorgon_ns *ns = test_ns();
	int *(*host)(void) = SYMBOL(test_open(ns, name), int *(*)(void), "tls_user_host");
	pthread_t thread;
	void *wrong = NULL;

	assert_ptr_equal(host(), &test_host_tls);
	assert_int_equal(pthread_create(&thread, NULL, address_of_host_variable, (void *)host), 0);
	pthread_join(thread, &wrong);
	assert_null(wrong);
	test_ns_destroy(ns);
}

static void tls_get_addr_variable_of_the_system_is_forwarded(void **state)
{
	(void)state;
	check_variable_of_the_system("libtls_user.so");
}

// Initial-exec is possible for variables that the system has put into the static block.
static void tls_static_variable_of_the_system_is_reached(void **state)
{
	(void)state;
	check_variable_of_the_system("libtls_host_ie.so");
}

static void tls_find_symbol_is_the_calling_threads(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, library);
	struct tls tls = functions_of(object);

	(void)state;
	assert_ptr_equal(SYMBOL(object, int *, "tls_value"), tls.value());
	assert_ptr_equal(SYMBOL(object, char *, "tls_large"), tls.large());
	test_ns_destroy(ns);
}

// The next module may get the number of an unloaded module, but must not see its variables.
static void tls_module_destroy_next_module_starts_fresh(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct gorgon_ns *ns = test_ns();
		struct tls tls = functions_of(test_open(ns, library));

		check_fresh(&tls);
		*tls.value() = 99;
		test_ns_destroy(ns);
	}
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

// Each round makes a block of more than 100000 bytes in two threads.
static void load_use_unload(void)
{
	struct gorgon_ns *ns = test_ns();
	struct job job = {0};
	pthread_t thread = start_job(&job);

	job.tls = functions_of(test_open(ns, library));
	job.tls.large()[0] = 1;
	sem_post(&job.start);
	sem_wait(&job.done);
	sem_post(&job.start);
	pthread_join(thread, NULL);
	test_ns_destroy(ns);
}

static void tls_module_destroy_frees_all_threads_blocks(void **state)
{
	size_t before;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("mallinfo2 is empty with a sanitizer, which finds leaks itself");
	for (int i = 0; i < 4; i++)
		load_use_unload();
	before = bytes_in_use();
	for (int i = 0; i < 20; i++)
		load_use_unload();
	assert_true(bytes_in_use() < before + 100000);
}

// The other thread lives on when the module goes.
static void tls_module_destroy_while_threads_live_frees_their_blocks(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct job job = {0};
	pthread_t thread = start_job(&job);
	size_t with;

	(void)state;
	job.tls = functions_of(test_open(ns[0], library));
	sem_post(&job.start);
	sem_wait(&job.done);
	with = bytes_in_use();
	test_ns_destroy(ns[0]);
	if (!TEST_SANITIZED)
		assert_true(bytes_in_use() + 90000 < with);
	// The thread's last step reads through the pointer, which must lead somewhere.
	job.address = &job.value;
	sem_post(&job.start);
	pthread_join(thread, NULL);
	test_ns_destroy(ns[1]);
}

static int use_descriptors(void **state)
{
	(void)state;
	library = "libtls_desc.so";
	return 0;
}

// The function of a descriptor must preserve these registers, on the slow path (a thread's first access) and on the
// fast path.
static void tlsdesc_call_preserves_vector_registers(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libtls_desc.so");
	double (*sum)(double, double) = SYMBOL(object, double (*)(double, double), "tls_sum");

	(void)state;
	assert_true(sum(1.5, 2.25) == 1.5 + 2.25 + 31);
	assert_true(sum(1.5, 2.25) == 1.5 + 2.25 + 31);
	test_ns_destroy(ns);
}

static uint64_t offset_of(const struct gorgon_object *object, const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);

	return gorgon_symbol_find(object->image, &query)->st_value;
}

// A PT_TLS need not begin at a multiple of its alignment (lld writes such files), and blocks then do not either.
static void tls_block_keeps_the_distance_from_its_alignment(void **state)
{
	const char *path = test_temp("misaligned.so");
	size_t size;
	uint8_t *file = test_read(test_module("libtls_small.so"), &size);
	Elf64_Phdr *phdr = (Elf64_Phdr *)(file + ((Elf64_Ehdr *)file)->e_phoff);
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;
	struct tls tls;

	(void)state;
	while (phdr->p_type != PT_TLS)
		phdr++;
	phdr->p_align = 0x1000;
	assert_int_not_equal(phdr->p_vaddr % phdr->p_align, 0);
	test_write(path, file, size);
	assert_ok(gorgon_object_open(ns, path, NULL, &object));
	tls = functions_of(object);
	check_fresh(&tls);
	assert_int_equal((uintptr_t)tls.aligned() % 0x1000,
			 (phdr->p_vaddr + offset_of(object, "tls_aligned")) % 0x1000);
	free(file);
	test_ns_destroy(ns);
}

static int use_initial_exec(void **state)
{
	(void)state;
	library = "libtls_ie.so";
	return 0;
}

static void static_tls_variables_of_other_objects_are_reached(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *user = test_open(ns, "libtls_ie_user.so");
	// The variables are in a dependency, which is not initial-exec.
	struct tls tls = functions_of(user);
	struct job job = {.tls = tls};
	pthread_t thread;

	(void)state;
	check_fresh(&tls);
	assert_ptr_equal(SYMBOL(user, int *(*)(void), "tls_user_private")(), tls.value());
	assert_ptr_equal(SYMBOL(user, int *(*)(void), "tls_user_host")(), &test_host_tls);
	thread = start_job(&job);
	sem_post(&job.start);
	sem_wait(&job.done);
	sem_post(&job.start);
	pthread_join(thread, NULL);
	assert_int_equal(job.value, 13 + 23 + 12);
	test_ns_destroy(ns);
}

// A block that a thread has got already cannot move.
static void static_tls_variables_in_use_are_refused(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct tls tls = functions_of(test_open(ns, "libtls_small.so"));
	struct gorgon_object *user;
	struct gorgon_error *err;

	(void)state;
	check_fresh(&tls);
	err = gorgon_object_open(ns, test_module("libtls_ie_user.so"), NULL, &user);
	assert_non_null(err);
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_UNSUPPORTED);
	assert_non_null(strstr(gorgon_error_message(err), "libtls_small.so: initial-exec access"));
	gorgon_error_destroy(err);
	test_ns_destroy(ns);
}

// The error names what is missing, which is a descriptor, and not room for the variables.
static int open_without_descriptors(void *arg)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libtls_small.so");
	struct gorgon_error *err;
	int ret = 0;

	(void)arg;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){1, 1}))
		return 1;
	gorgon_lock();
	err = gorgon_static_tls_create(object);
	gorgon_unlock();
	if (!err)
		return 2;
	if (gorgon_error_code(err) != GORGON_ERROR_OS || gorgon_error_errno(err) != EMFILE ||
	    strstr(gorgon_error_message(err), "no room")) {
		print_error("%s\n", gorgon_error_message(err));
		ret = 3;
	}
	gorgon_error_destroy(err);
	return ret;
}

static void static_tls_without_descriptors_says_so(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(open_without_descriptors, NULL), 0);
}

// There is room for four blocks; many more come and go, in a different order.
static void static_tls_room_comes_back(void **state)
{
	struct gorgon_ns *kept = test_ns();
	struct tls tls = functions_of(test_open(kept, "libtls_ie.so"));

	(void)state;
	*tls.value() = 5;
	for (int i = 0; i < 50; i++) {
		struct gorgon_ns *older = test_ns(), *newer = test_ns();
		struct tls first = functions_of(test_open(older, "libtls_ie.so"));
		struct tls second = functions_of(test_open(newer, "libtls_ie.so"));

		check_fresh(&first);
		check_fresh(&second);
		test_ns_destroy(older);
		*second.value() = 6;
		test_ns_destroy(newer);
	}
	assert_int_equal(*tls.value(), 5);
	test_ns_destroy(kept);
}

#define initial_exec_test(function)                                                                \
	{#function "_initial_exec", function, use_initial_exec, NULL, NULL}
#define descriptor_test(function)                                                                  \
	{#function "_by_descriptor", function, use_descriptors, NULL, NULL}

int main(void)
{
	const struct CMUnitTest tests[] = {
		// This case comes first and runs once: when the C library has given a block of that size back, it
		// counts the next block elsewhere.
		cmocka_unit_test(tls_module_destroy_while_threads_live_frees_their_blocks),
		cmocka_unit_test(tls_get_addr_first_access_gives_initial_values),
		cmocka_unit_test(tls_get_addr_alignment_is_kept),
		cmocka_unit_test(tls_get_addr_copies_have_their_own),
		cmocka_unit_test(tls_get_addr_threads_have_their_own),
		cmocka_unit_test(tls_get_addr_module_of_other_private_object_is_reached),
		cmocka_unit_test(tls_get_addr_variable_of_the_system_is_forwarded),
		cmocka_unit_test(tls_static_variable_of_the_system_is_reached),
		cmocka_unit_test(tls_find_symbol_is_the_calling_threads),
		cmocka_unit_test(tls_module_destroy_next_module_starts_fresh),
		cmocka_unit_test(tls_module_destroy_frees_all_threads_blocks),
		descriptor_test(tls_get_addr_first_access_gives_initial_values),
		descriptor_test(tls_get_addr_alignment_is_kept),
		descriptor_test(tls_get_addr_copies_have_their_own),
		descriptor_test(tls_get_addr_threads_have_their_own),
		descriptor_test(tls_find_symbol_is_the_calling_threads),
		descriptor_test(tls_module_destroy_next_module_starts_fresh),
		descriptor_test(tls_module_destroy_frees_all_threads_blocks),
		descriptor_test(tls_module_destroy_while_threads_live_frees_their_blocks),
		initial_exec_test(tls_get_addr_first_access_gives_initial_values),
		initial_exec_test(tls_get_addr_alignment_is_kept),
		initial_exec_test(tls_get_addr_copies_have_their_own),
		initial_exec_test(tls_get_addr_threads_have_their_own),
		initial_exec_test(tls_find_symbol_is_the_calling_threads),
		initial_exec_test(tls_module_destroy_next_module_starts_fresh),
		cmocka_unit_test(tls_block_keeps_the_distance_from_its_alignment),
		cmocka_unit_test(static_tls_variables_of_other_objects_are_reached),
		cmocka_unit_test(static_tls_variables_in_use_are_refused),
		cmocka_unit_test(static_tls_without_descriptors_says_so),
		cmocka_unit_test(static_tls_room_comes_back),
		cmocka_unit_test(tlsdesc_call_preserves_vector_registers),
	};

	return test_run_with_plans("tls", tests, sizeof(tests) / sizeof(*tests), 1);
}
