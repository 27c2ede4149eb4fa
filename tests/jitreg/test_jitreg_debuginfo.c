// SPDX-License-Identifier: MIT
/*
 * Where the debug information of an object is found, and what is not taken for it.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../jitreg/jitreg.h"
#include "cases.h"
#include "jitreg_util.h"

static void assert_kind(const char *path, enum jitreg_debug_kind kind, const char *debug_path)
{
	struct jitreg_debug debug;

	assert_int_equal(jitreg_find_debug(path, -1, &debug), 0);
	if (debug.kind != kind)
		fail_msg("%s: kind %d (%s)", path, debug.kind, debug.reason);
	if (debug_path)
		assert_string_equal(debug.path, debug_path);
	else
		assert_null(debug.path);
	assert_true((debug.reason != NULL) == (kind == JITREG_DEBUG_NAMES));
	jitreg_debug_deinit(&debug);
	assert_null(debug.path);
}

static void assert_reason(const char *path, const char *fragment)
{
	struct jitreg_debug debug;

	assert_int_equal(jitreg_find_debug(path, -1, &debug), 0);
	assert_int_equal(debug.kind, JITREG_DEBUG_NAMES);
	if (!strstr(debug.reason, fragment))
		fail_msg("%s: \"%s\" in \"%s\"", path, fragment, debug.reason);
	jitreg_debug_deinit(&debug);
}

static void find_debug_stripped_object_has_none(void **state)
{
	(void)state;
	assert_reason(util_path("names.so"), "no debug information");
}

static void find_debug_compressed_dwarf_counts(void **state)
{
	(void)state;
	assert_int_equal(util_run("objcopy --compress-debug-sections=zlib self.so zlib.so"), 0);
	assert_kind(util_path("zlib.so"), JITREG_DEBUG_SELF, util_path("zlib.so"));
}

static Elf64_Shdr *find_header(uint8_t *bytes, const char *name)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	Elf64_Shdr *shdr = (Elf64_Shdr *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + shdr[ehdr->e_shstrndx].sh_offset;

	for (size_t i = 0; i < ehdr->e_shnum; i++, shdr++)
		if (!strcmp(names + shdr->sh_name, name))
			return shdr;
	fail_msg("no %s", name);
	return NULL;
}

/* Changes bytes of a section's header, or of its contents. The file has to be refused then. */
static void check_unrecognized(const char *path, const char *name, bool contents, size_t off, const void *value,
			       size_t value_size)
{
	size_t size;
	uint8_t *bytes = util_read(path, &size);
	Elf64_Shdr *shdr = find_header(bytes, name);

	memcpy((contents ? bytes + shdr->sh_offset : (uint8_t *)shdr) + off, value, value_size);
	util_write(util_path("bad.so"), bytes, size);
	free(bytes);
	assert_reason(util_path("bad.so"), "not recognize");
}

/* GDB 13 says "file format not recognized" for each of these files, and then knows none of the private copies. */
static void find_debug_file_that_gdb_does_not_recognize_is_not_taken(void **state)
{
	static const struct {
		const char *name;
		size_t off, size;
		uint64_t value;
	} headers[] = {
		{".debug_line", offsetof(Elf64_Shdr, sh_link), 4, 999},
		{".comment", offsetof(Elf64_Shdr, sh_link), 4, 999},
		{".text", offsetof(Elf64_Shdr, sh_addralign), 8, UINT64_C(1) << 63},
		{".symtab", offsetof(Elf64_Shdr, sh_info), 4, 999},
		{".symtab", offsetof(Elf64_Shdr, sh_entsize), 8, 7},
		{".debug_str", offsetof(Elf64_Shdr, sh_type), 4, SHT_RELA},
		{".debug_aranges", offsetof(Elf64_Shdr, sh_flags), 8, SHF_COMPRESSED},
		{".debug_aranges", offsetof(Elf64_Shdr, sh_size), 8, UINT64_C(1) << 40},
	}, compressed[] = {
		{".debug_str", offsetof(Elf64_Chdr, ch_type), 4, 9},
		{".debug_str", offsetof(Elf64_Chdr, ch_size), 8, UINT64_C(1) << 40},
		{".debug_str", offsetof(Elf64_Chdr, ch_size), 8, UINT64_C(1) << 31},
		{".debug_str", offsetof(Elf64_Chdr, ch_size), 8, 10},
		{".debug_str", offsetof(Elf64_Chdr, ch_addralign), 8, 3},
		{".debug_str", sizeof(Elf64_Chdr), 1, 0xff},
	};
	static const char old_style[] = "ZLIB\0\0\1\0\0\0\0"; // The twelfth byte is the NUL that ends the string.

	(void)state;
	assert_int_equal(util_run("{ for i in $(seq 400); do echo \"struct t$i { int member_of_$i; } v$i;\"; done; "
				  "echo \"int f(void) { return 1; }\"; } >many.c && gcc -g -fPIC -shared -nostdlib many.c -o many.so && "
				  "objcopy --compress-debug-sections=zlib many.so packed.so && "
				  "objcopy --compress-debug-sections=zlib-gnu many.so old.so"), 0);
	assert_kind(util_path("packed.so"), JITREG_DEBUG_SELF, util_path("packed.so"));
	assert_kind(util_path("old.so"), JITREG_DEBUG_SELF, util_path("old.so"));
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		check_unrecognized(util_path("many.so"), headers[i].name, false, headers[i].off, &headers[i].value,
				   headers[i].size);
	for (size_t i = 0; i < sizeof(compressed) / sizeof(*compressed); i++)
		check_unrecognized(util_path("packed.so"), compressed[i].name, true, compressed[i].off,
				   &compressed[i].value, compressed[i].size);
	check_unrecognized(util_path("old.so"), ".zdebug_str", true, 0, old_style, sizeof(old_style));
	check_unrecognized(util_path("old.so"), ".zdebug_str", true, 0, "XLIB", 4);
}

/* Bytes that this process has read from files so far. */
static unsigned long long read_so_far(void)
{
	unsigned long long count = 0;
	FILE *f = fopen("/proc/self/io", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "rchar: %llu", &count), 1);
	fclose(f);
	return count;
}

/* What is behind the library in its file is read only for the checksum. */
static void find_debug_large_file_is_not_read(void **state)
{
	unsigned long long before;
	struct jitreg_debug debug;

	(void)state;
	assert_int_equal(util_run("cp self.so large.so && truncate -s 4G large.so"), 0);
	before = read_so_far();
	assert_int_equal(jitreg_find_debug(util_path("large.so"), -1, &debug), 0);
	assert_int_equal(debug.kind, JITREG_DEBUG_SELF);
	jitreg_debug_deinit(&debug);
	assert_in_range(read_so_far() - before, 0, 1 << 20);
	assert_int_equal(util_run("rm large.so"), 0);
}

static uint32_t crc_in_symfile(const char *path, int fd)
{
	struct jitreg_image image = {
		.size = sizeof(image), .path = path, .fd = fd, .bias = 1 << 30, .start = 1 << 30, .end = 2u << 30,
	};
	struct jitreg_entry *entry;
	struct jitreg_info info;
	uint8_t *copy;
	uint32_t crc;
	Elf64_Shdr *link;

	assert_int_equal(jitreg_register(&image, &entry), 0);
	jitreg_entry_get_info(entry, &info);
	copy = malloc(info.symfile_size);
	memcpy(copy, info.symfile, info.symfile_size);
	link = find_header(copy, ".gnu_debuglink");
	memcpy(&crc, copy + link->sh_offset + link->sh_size - sizeof(crc), sizeof(crc));
	free(copy);
	jitreg_unregister(entry);
	return crc;
}

/* A file with holes has the same checksum as a file without. The offset of a descriptor that is given stays. */
static void find_debug_checksum_counts_holes(void **state)
{
	static const char *const commands[] = {
		"cp self.so holes.so",
		"truncate -s 3M holes.so && printf end >>holes.so",
		"truncate -s 5000001 holes.so",
		"dd if=holes.so of=solid.so bs=1M 2>&1 && mv solid.so holes.so",
	};
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		uint8_t *bytes;
		int fd;

		assert_int_equal(util_run("%s", commands[i]), 0);
		bytes = util_read(util_path("holes.so"), &size);
		fd = open(util_path("holes.so"), O_RDONLY);
		assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
		assert_int_equal(crc_in_symfile(util_path("holes.so"), fd), util_crc32(bytes, size));
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
		close(fd);
		free(bytes);
	}
}

static void find_debug_dwarf_4_and_5_count(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		assert_int_equal(
			util_run("gcc -gdwarf-%d -fPIC -shared tls.c -o dwarf.so", version), 0);
		assert_kind(util_path("dwarf.so"), JITREG_DEBUG_SELF, util_path("dwarf.so"));
	}
}

static void find_debug_link_is_searched_beside_object(void **state)
{
	(void)state;
	assert_kind(util_path("link.so"), JITREG_DEBUG_LINK, util_path("self.debug"));
}

static void find_debug_link_is_searched_in_dot_debug(void **state)
{
	(void)state;
	assert_int_equal(util_run("mkdir -p sub/.debug && cp link.so sub/ && "
				  "cp self.debug sub/.debug/"),
			 0);
	assert_kind(util_path("sub/link.so"), JITREG_DEBUG_LINK,
		    util_path("sub/.debug/self.debug"));
}

static void find_debug_link_is_searched_beside_target_of_symlink(void **state)
{
	(void)state;
	assert_int_equal(util_run("mkdir -p links && ln -sf ../link.so links/alias.so"), 0);
	assert_kind(util_path("links/alias.so"), JITREG_DEBUG_LINK, util_path("self.debug"));
}

static void find_debug_link_with_wrong_checksum_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(util_run("mkdir -p crc && cp link.so crc/ && cp self.debug crc/ && "
				  "printf x >> crc/self.debug"),
			 0);
	assert_reason(util_path("crc/link.so"), "no debug information");
}

static void find_debug_link_to_file_without_dwarf_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(util_run("mkdir -p bare && cp names.so bare/self.debug && cd bare && "
				  "objcopy --add-gnu-debuglink=self.debug ../names.so link.so"),
			 0);
	assert_reason(util_path("bare/link.so"), "no debug information");
}

static void find_debug_link_to_missing_file_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(util_run("mkdir -p alone && cp link.so alone/"), 0);
	assert_reason(util_path("alone/link.so"), "no debug information");
}

/* Overwrite the contents of .gnu_debuglink. */
static void write_link(const char *name, const char *link, size_t size)
{
	size_t file_size;
	uint8_t *data = util_read(util_path("link.so"), &file_size);
	uint8_t *at = memmem(data, file_size, "self.debug", 11);

	assert_non_null(at);
	memcpy(at, link, size);
	util_write(util_path(name), data, file_size);
	free(data);
}

static void find_debug_link_malformed_is_not_followed(void **state)
{
	(void)state;
	write_link("slash.so", "./f.debug\0", 11);
	write_link("empty.so", "\0elf.debug", 11);
	write_link("open.so", "xxxxxxxxxxxxxxxx", 16); // neither a NUL nor a checksum
	assert_int_equal(util_run("cp self.debug f.debug"), 0);
	assert_reason(util_path("slash.so"), "no debug information");
	assert_reason(util_path("empty.so"), "no debug information");
	assert_reason(util_path("open.so"), "no debug information");
}

static void find_debug_own_dwarf_wins_over_link(void **state)
{
	(void)state;
	assert_int_equal(util_run("objcopy --add-gnu-debuglink=self.debug self.so both.so"), 0);
	assert_kind(util_path("both.so"), JITREG_DEBUG_SELF, util_path("both.so"));
}

static void find_debug_file_renamed_has_no_name_to_refer_to(void **state)
{
	struct jitreg_debug debug;
	int fd;

	(void)state;
	assert_int_equal(util_run("cp self.so gone.so"), 0);
	fd = open(util_path("gone.so"), O_RDONLY | O_CLOEXEC);
	unlink(util_path("gone.so"));
	assert_int_equal(jitreg_find_debug(util_path("gone.so"), fd, &debug), 0);
	assert_int_equal(debug.kind, JITREG_DEBUG_NAMES);
	assert_non_null(strstr(debug.reason, "name is now that of another file"));
	jitreg_debug_deinit(&debug);
	close(fd);
}

static void find_debug_descriptor_given_is_left_as_it_was(void **state)
{
	struct jitreg_debug debug;
	int fd = open(util_path("self.so"), O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(lseek(fd, 12, SEEK_SET), 12);
	assert_int_equal(jitreg_find_debug(util_path("self.so"), fd, &debug), 0);
	assert_int_equal(debug.kind, JITREG_DEBUG_SELF);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 12);
	jitreg_debug_deinit(&debug);
	close(fd);
}

static void find_debug_no_section_headers_says_so(void **state)
{
	(void)state;
	assert_reason(util_path("nosec.so"), "no section headers");
}

static void find_debug_system_libpython_is_found_by_build_id(void **state)
{
	struct jitreg_debug debug;
	struct stat st;

	(void)state;
	if (jitreg_find_debug(SYSTEM_LIBPYTHON, -1, &debug)) {
		skip_because("no %s here", SYSTEM_LIBPYTHON);
	}
	if (debug.kind != JITREG_DEBUG_BUILD_ID) {
		jitreg_debug_deinit(&debug);
		skip_because("its debug file is not installed: %s", debug.reason);
	}
	assert_int_equal(debug.build_id_size, 20);
	assert_null(debug.reason);
	assert_int_equal(strncmp(debug.path, "/usr/lib/debug/.build-id/", 25), 0);
	assert_int_equal(stat(debug.path, &st), 0);
	jitreg_debug_deinit(&debug);
}

static void find_debug_build_id_is_reported(void **state)
{
	struct jitreg_debug debug;

	(void)state;
	assert_int_equal(util_run("gcc -fPIC -shared tls.c -o id.so "
				  "-Wl,--build-id=0x00112233aabbccdd"),
			 0);
	assert_int_equal(jitreg_find_debug(util_path("id.so"), -1, &debug), 0);
	assert_int_equal(debug.build_id_size, 8);
	assert_memory_equal(debug.build_id, "\x00\x11\x22\x33\xaa\xbb\xcc\xdd", 8);
	jitreg_debug_deinit(&debug);

	assert_int_equal(util_run("gcc -fPIC -shared tls.c -o id.so -Wl,--build-id=none"), 0);
	assert_int_equal(jitreg_find_debug(util_path("id.so"), -1, &debug), 0);
	assert_int_equal(debug.build_id_size, 0);
	jitreg_debug_deinit(&debug);
}

static void find_debug_bad_file_is_refused(void **state)
{
	struct jitreg_debug debug;

	(void)state;
	assert_int_equal(util_run("echo text > text.so"), 0);
	assert_int_equal(jitreg_find_debug("self.so", -1, &debug), -EINVAL);
	assert_int_equal(jitreg_find_debug(util_path("missing.so"), -1, &debug), -ENOENT);
	assert_int_equal(jitreg_find_debug(util_path("text.so"), -1, &debug), -ENOEXEC);
	assert_int_equal(jitreg_find_debug("/", -1, &debug), -ENOEXEC);
}

/* Where one section of a file is. */
static void locate(const uint8_t *data, size_t size, const char *name, size_t *off, size_t *length)
{
	Elf *elf = elf_memory((char *)data, size);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t index;

	*off = *length = 0;
	elf_getshdrstrndx(elf, &index);
	while ((scn = elf_nextscn(elf, scn))) {
		gelf_getshdr(scn, &shdr);
		if (!strcmp(elf_strptr(elf, index, shdr.sh_name), name)) {
			*off = shdr.sh_offset;
			*length = shdr.sh_size;
		}
	}
	elf_end(elf);
	assert_int_not_equal(*length, 0);
}

static void find_debug_emptied_dwarf_is_not_taken(void **state)
{
	size_t size, off, length;
	uint8_t *data = util_read(util_path("self.so"), &size);

	(void)state;
	elf_version(EV_CURRENT);
	locate(data, size, ".debug_info", &off, &length);
	memset(data + off, 0, length);
	util_write(util_path("zero.so"), data, size);
	assert_reason(util_path("zero.so"), "no compilation unit");
	free(data);
}

/* GDB would look for these names at their addresses in the file, and fail. */
static void find_debug_of_a_registrar_is_not_taken(void **state)
{
	static const char source[] = "struct { int words[6]; } __jit_debug_descriptor;\n"
				     "void __jit_debug_register_code(void) {}\n";

	(void)state;
	util_write(util_path("jit_mirror.c"), source, sizeof(source) - 1);
	assert_int_equal(util_run("gcc -g -fPIC -shared jit_mirror.c -o registrar.so && "
				  "objcopy --only-keep-debug registrar.so registrar.debug && "
				  "objcopy -g --strip-unneeded --add-gnu-debuglink=registrar.debug "
				  "registrar.so detached.so && "
				  "gcc -g -fPIC -fvisibility=hidden -shared jit_mirror.c -o hidden.so"),
			 0);
	assert_reason(util_path("registrar.so"), "GDB JIT interface");
	assert_reason(util_path("detached.so"), "GDB JIT interface");
	assert_reason(util_path("hidden.so"), "GDB JIT interface");
}

static void find_debug_damaged_dwarf_leaves_nothing_behind(void **state)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev", ".debug_str",
					       ".debug_line"};
	static const char *const files[] = {"self.so", "zlib.so"};
	size_t fds = util_fd_count();

	(void)state;
	srand(7);
	for (size_t round = 0; round < 2000 / test_every(); round++) {
		size_t size, off, length;
		struct jitreg_debug debug;
		uint8_t *data = util_read(util_path(files[round % 2]), &size);

		locate(data, size, sections[round % 2 ? 0 : rand() % 4], &off, &length);
		for (int flips = 1 + rand() % 4; flips; flips--)
			data[off + (size_t)rand() % (rand() % 2 ? length : 12)] = (uint8_t)rand();
		util_write(util_path("damaged.so"), data, size);
		if (!jitreg_find_debug(util_path("damaged.so"), -1, &debug))
			jitreg_debug_deinit(&debug);
		free(data);
	}
	assert_int_equal(util_fd_count(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_debug_stripped_object_has_none),
		cmocka_unit_test(find_debug_compressed_dwarf_counts),
		cmocka_unit_test(find_debug_file_that_gdb_does_not_recognize_is_not_taken),
		cmocka_unit_test(find_debug_large_file_is_not_read),
		cmocka_unit_test(find_debug_checksum_counts_holes),
		cmocka_unit_test(find_debug_dwarf_4_and_5_count),
		cmocka_unit_test(find_debug_link_is_searched_beside_object),
		cmocka_unit_test(find_debug_link_is_searched_in_dot_debug),
		cmocka_unit_test(find_debug_link_is_searched_beside_target_of_symlink),
		cmocka_unit_test(find_debug_link_with_wrong_checksum_is_not_taken),
		cmocka_unit_test(find_debug_link_to_file_without_dwarf_is_not_taken),
		cmocka_unit_test(find_debug_link_to_missing_file_is_not_taken),
		cmocka_unit_test(find_debug_link_malformed_is_not_followed),
		cmocka_unit_test(find_debug_own_dwarf_wins_over_link),
		cmocka_unit_test(find_debug_file_renamed_has_no_name_to_refer_to),
		cmocka_unit_test(find_debug_descriptor_given_is_left_as_it_was),
		cmocka_unit_test(find_debug_no_section_headers_says_so),
		cmocka_unit_test(find_debug_system_libpython_is_found_by_build_id),
		cmocka_unit_test(find_debug_build_id_is_reported),
		cmocka_unit_test(find_debug_bad_file_is_refused),
		cmocka_unit_test(find_debug_emptied_dwarf_is_not_taken),
		cmocka_unit_test(find_debug_of_a_registrar_is_not_taken),
		cmocka_unit_test(find_debug_damaged_dwarf_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name("jitreg/debuginfo", tests, util_setup, NULL);
}
