// SPDX-License-Identifier: MIT
/*
 * Libraries of aarch64, compiled and read on any machine: what their symfiles have. The other tests do this for the
 * machine that they run on. objdump and the linker are the judges here.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../jitreg/machine/machine.h"
#include "../jitreg/symfile.h"
#include "jitreg_util.h"

#define BIAS      UINT64_C(0x5500000000)
#define BIAS_TEXT "0x5500000000"
#define COMPILE   "aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -Wl,-z,now "

/* With lines; with landing places for branches and signed addresses, also in the linkage table; with the second key. */
static const char *const options[] = {
	"-g -O2",
	"-g -O0",
	"-g -O2 -mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt",
	"-g -O2 -mbranch-protection=bti -Wl,-z,force-bti",
	"-gdwarf-4 -O2 -mbranch-protection=pac-ret+leaf+b-key",
};

#define OPTION_COUNT (sizeof(options) / sizeof(*options))

struct library {
	struct jitreg_object *object;
	struct jitreg_model *model;
	Elf *symfile;
};

static int setup(void **state)
{
	int r = util_setup(state);
	uint8_t *source;
	size_t size;

	source = util_read("tests/jitreg/jitreg_aarch64.c", &size);
	util_write(util_path("aarch64.c"), source, size);
	free(source);
	return r;
}

static void library_open(struct library *l, const char *how)
{
	if (util_run(COMPILE "%s aarch64.c -o aarch64.so", how))
		fail_msg("%s", how);
	print_message("%s\n", how);
	assert_int_equal(jitreg_object_open(util_path("aarch64.so"), -1, &l->object), 0);
	assert_int_equal(jitreg_model_create(l->object, JITREG_SYMFILE_FULL, &l->model), 0);
	l->symfile = elf_memory((char *)l->model->bytes, l->model->size);
	assert_non_null(l->symfile);
}

static void library_close(struct library *l)
{
	elf_end(l->symfile);
	jitreg_model_free(l->model);
	jitreg_object_close(l->object);
}

static Elf_Scn *find_section(const struct library *l, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(l->symfile, &names), 0);
	while ((scn = elf_nextscn(l->symfile, scn))) {
		assert_non_null(gelf_getshdr(scn, shdr));
		if (!strcmp(elf_strptr(l->symfile, names, shdr->sh_name), name))
			return scn;
	}
	fail_msg("no section %s", name);
	return NULL;
}

/* The address of the n-th symbol of that name, from 0 on; false: there are not so many. */
static bool find_name(const struct library *l, const char *name, size_t n, uint64_t *address, uint64_t *size)
{
	GElf_Shdr table, section;
	Elf_Data *data = elf_getdata(find_section(l, ".symtab", &table), NULL);
	GElf_Sym sym;

	for (int i = 1; gelf_getsym(data, i, &sym); i++) {
		if (strcmp(elf_strptr(l->symfile, table.sh_link, sym.st_name), name) != 0 || n--)
			continue;
		assert_non_null(gelf_getshdr(elf_getscn(l->symfile, sym.st_shndx), &section));
		*address = section.sh_addr + sym.st_value;
		*size = sym.st_size;
		return true;
	}
	return false;
}

/* "0000000000000430 <beyond@plt>:" */
static void assert_same_linkage_table(const struct library *l)
{
	char command[512], line[512], name[128];
	uint64_t address, found, size, last = 0;
	size_t count = 0;
	FILE *out;

	snprintf(command, sizeof(command), "aarch64-linux-gnu-objdump -d -j .plt %s", util_path("aarch64.so"));
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%lx <%127[^>]>:", &address, name) != 2 || !strchr(name, '@'))
			continue;
		if (!find_name(l, name, 0, &found, &size))
			fail_msg("no %s", name);
		assert_int_equal(found, address);
		assert_true(!last || found == last); // each entry reaches to the next one
		last = found + size;
		assert_false(find_name(l, name, 1, &found, &size));
		count++;
	}
	assert_int_equal(pclose(out), 0);
	assert_in_range(count, 2, 10);
}

static void create_names_the_linkage_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		struct library l;

		library_open(&l, options[i]);
		assert_same_linkage_table(&l);
		library_close(&l);
	}
}

/* A symfile keeps only those mapping symbols at which code becomes data or data becomes code. */
static void create_says_where_data_is_amid_code(void **state)
{
	uint64_t mixed, behind, address, size;
	struct library l;

	(void)state;
	library_open(&l, options[0]);
	assert_true(find_name(&l, "mixed", 0, &mixed, &size));
	assert_int_equal(size, 16);
	assert_true(find_name(&l, "behind", 0, &behind, &size));
	assert_true(find_name(&l, "$d", 0, &address, &size));
	assert_int_equal(address, mixed + 8);
	assert_true(find_name(&l, "$x", 0, &address, &size));
	assert_int_equal(address, behind);
	assert_false(find_name(&l, "$d", 1, &address, &size));
	assert_false(find_name(&l, "$x", 1, &address, &size));
	library_close(&l);
}

static void create_is_an_object_of_its_machine(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		struct library l;
		uint64_t address, size;
		GElf_Shdr shdr, from;
		GElf_Ehdr ehdr;
		uint8_t *frames;

		library_open(&l, options[i]);
		assert_non_null(gelf_getehdr(l.symfile, &ehdr));
		assert_int_equal(ehdr.e_machine, EM_AARCH64);
		assert_int_equal(ehdr.e_type, ET_REL);
		assert_true(find_name(&l, "hidden", 0, &address, &size));
		assert_int_equal(jitreg_object_find_section(l.object, ".eh_frame", &from), 1);
		frames = malloc(from.sh_size);
		assert_int_equal(jitreg_object_read(l.object, from.sh_offset, frames, from.sh_size), 0);
		find_section(&l, ".eh_frame", &shdr);
		assert_int_equal(shdr.sh_size, from.sh_size);
		assert_memory_equal(l.model->bytes + shdr.sh_offset, frames, from.sh_size);
		free(frames);
		assert_true(l.model->packable);
		library_close(&l);
	}
}

static void register_library_of_another_machine_is_refused(void **state)
{
	struct jitreg_entry *entry;
	struct library l;
	int r;

	(void)state;
	library_open(&l, options[0]);
	r = util_register(util_path("aarch64.so"), BIAS, &entry);
	if (l.object->machine != &JITREG_HOST)
		assert_int_equal(r, -ENOEXEC);
	else
		jitreg_unregister(entry);
	assert_int_equal(jitreg_count(), 0);
	library_close(&l);
}

/* A linkage table that is cut off, or that is something else, gives no names, and nothing behind its end is read. */
static void read_plt_odd_code_has_no_slot(void **state)
{
	static const uint32_t entry[] = {0xd503245f, 0xf00000f0, 0xf947f211, 0x913f8210, 0xd503219f, 0xd61f0220, 0xd503201f};
	uint32_t *code = malloc(sizeof(entry));
	uint64_t slot;

	(void)state;
	memcpy(code, entry, sizeof(entry));
	assert_int_equal(jitreg_machine_aarch64.read_plt((uint8_t *)code, sizeof(entry), 16, 0x430, &slot), sizeof(entry));
	assert_int_equal(slot, 0x1ffe0);
	// further up, and from there backwards
	code[1] = 0xf0fffff0;
	assert_int_equal(jitreg_machine_aarch64.read_plt((uint8_t *)code, sizeof(entry), 16, 0x5500000430, &slot), sizeof(entry));
	assert_int_equal(slot, 0x5500000000 - 0x1000 + 0xfe0);
	for (size_t i = 1; i < 6; i++) {
		memcpy(code, entry, sizeof(entry));
		code[i] ^= 1;
		assert_int_equal(jitreg_machine_aarch64.read_plt((uint8_t *)code, sizeof(entry), 16, 0x430, &slot), 4);
		assert_int_equal(slot, 0);
	}
	free(code);
	for (size_t size = 0; size < 6 * sizeof(*code); size++) {
		uint8_t *cut = malloc(size + 1), *at = cut + 1; // an address sanitizer sees each byte behind it

		memcpy(at, entry, size);
		assert_int_equal(jitreg_machine_aarch64.read_plt(at, size, 16, 0x430, &slot), 4);
		assert_int_equal(slot, 0);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_names_the_linkage_table),
		cmocka_unit_test(create_says_where_data_is_amid_code),
		cmocka_unit_test(create_is_an_object_of_its_machine),
		cmocka_unit_test(register_library_of_another_machine_is_refused),
		cmocka_unit_test(read_plt_odd_code_has_no_slot),
	};

	return cmocka_run_group_tests_name("jitreg/machine", tests, setup, NULL);
}
