// SPDX-License-Identifier: MIT
// loader/process/memory/patch.c

#define _GNU_SOURCE
#include "helpers.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WRITABLE (PROT_READ | PROT_WRITE)
#define CODE	 (PROT_READ | PROT_EXEC)

struct patcher {
	struct gorgon_ns *ns;
	int (*jump)(void *function);
	int (*protect)(void *addr, int prot);
	int (*protect_with_key)(void *addr, int prot);
	void *code, *table;
};

static char last_line[256];

static void keep_line(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static struct patcher open_patcher(void)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .log = keep_line};
	struct patcher ret;
	struct gorgon_object *object;

	*last_line = 0;
	assert_ok(gorgon_ns_create(&opts, &ret.ns));
	object = test_open(ret.ns, "libpatcher.so");
	ret.jump = SYMBOL(object, int (*)(void *), "patcher_jump");
	ret.protect = SYMBOL(object, int (*)(void *, int), "patcher_protect");
	ret.protect_with_key = SYMBOL(object, int (*)(void *, int), "patcher_protect_with_key");
	ret.code = SYMBOL(object, void *(*)(void), "patcher_own_code")();
	ret.table = SYMBOL(object, void *(*)(void), "patcher_own_table")();
	return ret;
}

// A function of the C library that nothing else here calls.
static void *victim(void)
{
	return dlsym(RTLD_DEFAULT, "getsid");
}

static int jump_and_end(void *arg)
{
	struct patcher patcher = open_patcher();
	int err = patcher.jump(victim());

	(void)arg;
	if (gorgon_ns_destroy(patcher.ns))
		return 2;
	return err == EACCES && getsid(0) != 1 ? 0 : 1;
}

// Runs in a child: if the call were not refused, the C library would call into memory that is gone.
static void mprotect_system_function_is_refused_and_works_after_the_end(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(jump_and_end, NULL), 0);
}

static void mprotect_system_code_the_host_is_told_who_and_whose(void **state)
{
	struct patcher patcher = open_patcher();

	(void)state;
	assert_int_equal(patcher.protect(victim(), WRITABLE), EACCES);
	assert_non_null(strstr(last_line, "libpatcher.so was kept from writing to code or tables of "));
	assert_non_null(strstr(last_line, "libc.so.6"));
	test_ns_destroy(patcher.ns);
}

static void pkey_mprotect_system_code_is_refused(void **state)
{
	struct patcher patcher = open_patcher();

	(void)state;
	assert_int_equal(patcher.protect_with_key(victim(), WRITABLE), EACCES);
	test_ns_destroy(patcher.ns);
}

static void mprotect_system_code_to_what_it_is_is_allowed(void **state)
{
	struct patcher patcher = open_patcher();

	(void)state;
	assert_int_equal(patcher.protect(victim(), CODE), 0);
	assert_string_equal(last_line, "");
	test_ns_destroy(patcher.ns);
}

static int find_tables(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t *tables = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, "libc.so.6"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t addr = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_GNU_RELRO)
			tables[0] = addr;
		if (phdr->p_type != PT_DYNAMIC)
			continue;
		for (const ElfW(Dyn) *dynamic = (void *)addr; dynamic->d_tag != DT_NULL; dynamic++)
			if (dynamic->d_tag == DT_PLTGOT)
				tables[1] = dynamic->d_un.d_ptr;
	}
	return 1;
}

static void mprotect_system_tables_is_refused(void **state)
{
	struct patcher patcher = open_patcher();
	uint64_t tables[2] = {0};

	(void)state;
	dl_iterate_phdr(find_tables, tables);
	for (size_t i = 0; i < 2; i++) {
		assert_int_not_equal(tables[i], 0);
		assert_int_equal(patcher.protect((void *)(uintptr_t)tables[i], WRITABLE), EACCES);
	}
	test_ns_destroy(patcher.ns);
}

static void mprotect_system_data_is_allowed(void **state)
{
	struct patcher patcher = open_patcher();

	(void)state;
	assert_int_equal(patcher.protect(dlsym(RTLD_DEFAULT, "__environ"), WRITABLE), 0);
	test_ns_destroy(patcher.ns);
}

static void mprotect_other_namespaces_code_is_refused(void **state)
{
	struct patcher one = open_patcher(), two = open_patcher();

	(void)state;
	assert_int_equal(one.protect(two.code, WRITABLE), EACCES);
	assert_non_null(strstr(last_line, "another interpreter"));
	assert_int_equal(one.protect(two.table, WRITABLE), EACCES);
	test_ns_destroy(one.ns);
	test_ns_destroy(two.ns);
}

static void mprotect_own_memory_is_allowed(void **state)
{
	struct patcher patcher = open_patcher();
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(patcher.protect(memory, WRITABLE), 0);
	*(volatile char *)memory = 1;
	assert_int_equal(patcher.protect(memory, CODE), 0);
	assert_int_equal(patcher.protect(patcher.table, WRITABLE), 0);
	assert_int_equal(patcher.protect(patcher.table, PROT_READ), 0);
	assert_int_equal(patcher.protect(patcher.code, WRITABLE | PROT_EXEC), 0);
	assert_int_equal(patcher.protect(patcher.code, CODE), 0);
	assert_string_equal(last_line, "");
	munmap(memory, 4096);
	test_ns_destroy(patcher.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mprotect_system_function_is_refused_and_works_after_the_end),
		cmocka_unit_test(mprotect_system_code_the_host_is_told_who_and_whose),
		cmocka_unit_test(pkey_mprotect_system_code_is_refused),
		cmocka_unit_test(mprotect_system_code_to_what_it_is_is_allowed),
		cmocka_unit_test(mprotect_system_tables_is_refused),
		cmocka_unit_test(mprotect_system_data_is_allowed),
		cmocka_unit_test(mprotect_other_namespaces_code_is_refused),
		cmocka_unit_test(mprotect_own_memory_is_allowed),
	};

	return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
