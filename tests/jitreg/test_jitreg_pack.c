// SPDX-License-Identifier: MIT
/*
 * What is in the symfile of a pack and in its companion.
 */
#define _GNU_SOURCE 1
#include "jitreg_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void pack_symfile_has_stretches_names_and_a_reference(void **state)
{
	static const char *const names[] = {".text", ".text.1", ".text", ".text.1", ".text.2",
					    ".eh_frame", ".strtab", ".symtab", ".gnu_debuglink",
					    ".note.gnu.build-id", ".debug_info", ".shstrtab"};
	struct world w[2];

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		const uint64_t start = BASE(n) + 0x10000, next = BASE(n) + 0x100000;
		const uint64_t header = sizeof(Elf64_Ehdr); // not where packs of one begin
		const uint8_t *bytes;
		const Elf64_Ehdr *ehdr;
		const Elf64_Shdr *shdrs;
		const Elf64_Phdr *phdrs;
		uint64_t address;
		unsigned binding;

		world_pack(&w[n], n);
		bytes = w[n].images[0].info.symfile;
		ehdr = (const Elf64_Ehdr *)bytes;
		shdrs = (const Elf64_Shdr *)(bytes + ehdr->e_shoff);
		phdrs = (const Elf64_Phdr *)(bytes + ehdr->e_phoff);
		assert_int_equal(ehdr->e_type, ET_REL);
		assert_int_equal(ehdr->e_shnum, 13);
		for (size_t i = 0; i < 12; i++)
			assert_string_equal((const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset +
						    shdrs[i + 1].sh_name, names[i]);
		// For lldb: the section from which names count.
		assert_int_equal(shdrs[1].sh_type, SHT_NULL);
		assert_int_equal(shdrs[1].sh_addr, start + header);
		assert_int_equal(shdrs[2].sh_type, SHT_NULL);
		assert_int_equal(shdrs[2].sh_addr, next + header);
		// For gdb: the code of each library.
		for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
			struct jitreg_range text = text_of(layout[i].name);

			assert_int_equal(shdrs[3 + i].sh_type, SHT_NOBITS);
			assert_int_equal(shdrs[3 + i].sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
			assert_int_equal(shdrs[3 + i].sh_addr, BASE(n) + layout[i].off + text.start);
			assert_int_equal(shdrs[3 + i].sh_size, text.end - text.start);
		}
		// For lldb: all addresses. self.so and names.so are side by side.
		assert_int_equal(ehdr->e_phnum, 2);
		assert_int_equal(phdrs[0].p_vaddr, start + header);
		assert_int_equal(phdrs[0].p_memsz, 0x19000 - 0x10000 + IMAGE_SIZE - header);
		assert_int_equal(phdrs[1].p_vaddr, next + header);
		assert_int_equal(phdrs[1].p_memsz, IMAGE_SIZE - header);
		assert_int_equal(shdrs[6].sh_type, SHT_NULL);
		assert_int_equal(shdrs[6].sh_addr, next + IMAGE_SIZE);
		for (size_t i = 6; i <= 12; i++)
			assert_true(shdrs[i].sh_offset + shdrs[i].sh_size <=
				    w[n].images[0].info.symfile_size);
		assert_int_equal(shdrs[11].sh_size, 16);

		assert_true(find_name(bytes, true, "snake_leaf", &binding, &address));
		assert_int_equal(binding, STB_LOPROC);
		assert_int_equal(address, start + vaddr_of("self.so", "snake_leaf"));
		// not exported
		assert_false(find_name(bytes, true, "snake_static", &binding, &address));
	}
	// Groups at other addresses have the same companion.
	assert_string_equal(companion_of(&w[0].images[0].info), companion_of(&w[1].images[0].info));
	world_leave(&w[0]);
	world_leave(&w[1]);
	assert_nothing_left();
}

static void pack_companion_has_functions_and_unwind_data(void **state)
{
	static const char *const texts[SIDE_BY_SIDE] = {".text", ".text.1", ".text.2"};
	const Elf64_Shdr *link, *symtab, *frames, *text;
	const Elf64_Sym *syms;
	uint64_t address;
	unsigned binding;
	uint32_t crc;
	struct world w;
	uint8_t *bytes;
	size_t size;
	struct stat st;

	(void)state;
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_int_equal(stat(companion_of(&w.images[0].info), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	bytes = util_read(companion_of(&w.images[0].info), &size);
	link = section(&w.images[0].info, ".gnu_debuglink");
	memcpy(&crc, (const uint8_t *)w.images[0].info.symfile + link->sh_offset + link->sh_size - 4, 4);
	assert_int_equal(crc, util_crc32(bytes, size));

	assert_int_equal(((const Elf64_Ehdr *)bytes)->e_type, ET_DYN);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_range want = text_of(layout[i].name);

		text = jitreg_file_section(bytes, texts[i]);
		assert_non_null(text);
		assert_int_equal(text->sh_type, SHT_NOBITS);
		assert_int_equal(text->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
		assert_int_equal(text->sh_addr, layout[i].off + want.start);
		assert_int_equal(text->sh_size, want.end - want.start);
	}
	frames = jitreg_file_section(bytes, ".debug_frame");
	assert_non_null(frames);
	assert_in_range(frames->sh_size, 100, 100000);
	symtab = jitreg_file_section(bytes, ".symtab");
	syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	assert_in_range(symtab->sh_size / sizeof(*syms), 4, 1000);
	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++)
		assert_int_equal(syms[i].st_info, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	assert_true(find_name(bytes, false, "snake_leaf", &binding, &address));
	assert_int_equal(address, 0x10000 + vaddr_of("self.so", "snake_leaf"));
	free(bytes);
	world_leave(&w);
	assert_nothing_left();
}

/* gdb must find .plt in a section of that name, and code behind .text, too. */
static void pack_code_is_from_text_on_and_in_plt(void **state)
{
	static const char source[] = "void elsewhere(void);\n"
				     "void calls_elsewhere(void);\n"
				     "void calls_elsewhere(void) { elsewhere(); }\n"
				     "__attribute__((section(\".text_behind\"))) void behind(void);\n"
				     "void behind(void) { elsewhere(); }\n";
	const Elf64_Shdr *plt, *text, *behind, *got;
	struct jitreg_group *group;
	struct image image;
	uint8_t *file, *companion;
	uint64_t address;
	unsigned binding;
	size_t size;

	(void)state;
	util_write(util_path("plt.c"), source, sizeof(source) - 1);
	assert_int_equal(util_run("gcc -fPIC -shared -nostdlib -Wl,-z,lazy plt.c -o plt.so"), 0);
	file = util_read(util_path("plt.so"), &size);
	plt = jitreg_file_section(file, ".plt");
	text = jitreg_file_section(file, ".text");
	behind = jitreg_file_section(file, ".text_behind");
	assert_non_null(plt);
	assert_true(plt->sh_addr < text->sh_addr);
	assert_true(text->sh_addr < behind->sh_addr);

	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "plt.so", JITREG_NAMES_ONLY, &image);
	got = (const Elf64_Shdr *)((const uint8_t *)image.info.symfile +
				   ((const Elf64_Ehdr *)image.info.symfile)->e_shoff) + 2;
	assert_int_equal(got->sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
	assert_int_equal(got->sh_addr, BASE(0) + 0x10000 + text->sh_addr);
	assert_int_equal(got->sh_size, behind->sh_addr + behind->sh_size - text->sh_addr);
	got++;
	assert_int_equal(got->sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
	assert_int_equal(got->sh_addr, BASE(0) + 0x10000 + plt->sh_addr);
	assert_int_equal(got->sh_size, plt->sh_size);
	// For lldb: a name for the table's first entry, which makes up one for the whole table otherwise.
	assert_true(find_name(image.info.symfile, true, "[plt.so]", &binding, &address));
	assert_int_equal(address, BASE(0) + 0x10000 + plt->sh_addr);
	companion = util_read(companion_of(&image.info), &size);
	got = jitreg_file_section(companion, ".text");
	// A section of one object alone counts from itself.
	assert_int_equal(got->sh_addr, text->sh_addr);
	assert_int_equal(got->sh_size, behind->sh_addr + behind->sh_size - text->sh_addr);
	got = jitreg_file_section(companion, ".plt");
	assert_int_equal(got->sh_addr, plt->sh_addr);
	assert_int_equal(got->sh_size, plt->sh_size);
	assert_non_null(memmem(companion, size, "elsewhere@plt", sizeof("elsewhere@plt")));
	free(companion);
	free(file);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* A companion has the table of its group's first library only; a pack that has no companion has the
 * table of each library. */
static void pack_without_companion_has_the_plt_of_each_library(void **state)
{
	char *before = strdup(getenv("XDG_CACHE_HOME") ?: "");
	const Elf64_Shdr *plt, *text;
	struct jitreg_group *group;
	struct image first, second;
	uint8_t *file;
	size_t size;

	(void)state;
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	file = util_read(util_path("plt.so"), &size); // of the test before
	assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
	enter_at(group, BASE(1), 0x10000, "self.so", JITREG_NAMES_ONLY, &first);
	enter_at(group, BASE(1), 0x40000, "plt.so", JITREG_NAMES_ONLY, &second);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_null(companion_of(&second.info));
	plt = jitreg_file_section(second.info.symfile, ".plt");
	assert_int_equal(plt->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_int_equal(plt->sh_addr, BASE(1) + 0x40000 + jitreg_file_section(file, ".plt")->sh_addr);
	assert_int_equal(plt->sh_size, jitreg_file_section(file, ".plt")->sh_size);
	for (text = plt - 1; text->sh_flags & SHF_EXECINSTR; text--)
		assert_true(text->sh_addr + text->sh_size <= plt->sh_addr ||
			    text->sh_addr + 1 >= plt->sh_addr + plt->sh_size);
	assert_non_null(memmem(second.info.symfile, second.info.symfile_size, "elsewhere@plt",
			       sizeof("elsewhere@plt")));
	jitreg_unregister(first.entry);
	jitreg_unregister(second.entry);
	jitreg_group_destroy(group);
	free(file);
	setenv("XDG_CACHE_HOME", before, 1);
	free(before);
}

/* Builds a library with functions f1, f2 ... that are exported, and one function that is not. */
static void build_many_names(const char *name, unsigned count)
{
	assert_int_equal(util_run("{ echo 'static __attribute__((used)) void hidden(void) {}'; "
				  "for i in $(seq %u); do echo \"void f$i(void) {}\"; done; } > many.c && "
				  "gcc -fPIC -shared -nostdlib many.c -o %s", count, name), 0);
}

static void enter_large(struct jitreg_group *group, uint64_t off, const char *name,
			struct image *ret)
{
	assert_int_equal(try_enter(group, BASE(0), off, LARGE_SIZE, name, JITREG_NAMES_ONLY, ret), 0);
	assert_int_equal(ret->info.symfile_kind, JITREG_SYMFILE_PACK);
}

static size_t name_count(const struct jitreg_info *info)
{
	return section(info, ".symtab")->sh_size / sizeof(Elf64_Sym) - 1;
}

static bool has_name(const uint8_t *bytes, const char *name)
{
	uint64_t address;
	unsigned binding;

	return find_name(bytes, false, name, &binding, &address);
}

/* The unwind data of a pack as LLDB reads it, which looks at the section's name and not at its type. */
static uint8_t *inflate_frames(const struct jitreg_info *info, const char *name, size_t *size, uint64_t *vaddr)
{
	const Elf64_Shdr *section_of_frames = section(info, name);
	uint8_t *bytes = malloc(info->symfile_size), *frames;
	size_t at = (size_t)((const uint8_t *)section_of_frames - (const uint8_t *)info->symfile);
	Elf_Scn *scn;
	Elf_Data *data;
	Elf *elf;

	assert_true(section_of_frames->sh_flags & SHF_COMPRESSED);
	memcpy(bytes, info->symfile, info->symfile_size);
	((Elf64_Shdr *)(bytes + at))->sh_type = SHT_PROGBITS;
	*vaddr = section_of_frames->sh_addr;
	elf = elf_memory((char *)bytes, info->symfile_size);
	assert_non_null(elf);
	scn = gelf_offscn(elf, section_of_frames->sh_offset);
	assert_non_null(scn);
	assert_int_equal(elf_compress(scn, 0, 0), 1);
	data = elf_getdata(scn, NULL);
	assert_non_null(data);
	assert_true(data->d_size > section_of_frames->sh_size);
	*size = data->d_size;
	frames = malloc(*size);
	memcpy(frames, data->d_buf, *size);
	elf_end(elf);
	free(bytes);
	return frames;
}

static void pack_unwind_data_is_compressed_for_lldb(void **state)
{
	struct jitreg_group *group;
	struct image image;
	uint8_t *frames;
	uint64_t vaddr, address;
	size_t size, count = 0;
	unsigned binding;
	bool found = false;
	uint32_t length, id;
	int64_t distance;

	(void)state;
	build_many_names("many.so", 1000);
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_large(group, 0x10000, "many.so", &image);
	frames = inflate_frames(&image.info, ".eh_frame", &size, &vaddr);
	assert_true(find_name(image.info.symfile, true, "f500", &binding, &address));
	for (size_t off = 0; off < size; off += length + 4) {
		memcpy(&length, frames + off, sizeof(length));
		memcpy(&id, frames + off + 4, sizeof(id));
		memcpy(&distance, frames + off + 8, sizeof(distance));
		count += id != 0;
		found |= id && vaddr + off + 8 + (uint64_t)distance == address;
	}
	assert_int_equal(count, 1001);
	assert_true(found);
	free(frames);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

#define MANY 16 /* so many images have two symfiles */

/* LLDB makes up no symbols from a .debug_frame, and reads it when it unwinds: from the file, not from memory. */
static void pack_unwind_data_of_later_images_is_for_later(void **state)
{
	struct jitreg_group *group;
	struct image images[MANY];
	const struct jitreg_info *first = &images[0].info, *others = &images[1].info;
	uint8_t *frames;
	uint64_t vaddr, address;
	size_t size, labels = 0;
	unsigned binding;
	uint32_t length, id;
	int64_t distance;

	(void)state;
	build_many_names("many.so", 0); // no exported function, one static function
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	for (size_t i = 0; i < MANY; i++)
		enter_at(group, BASE(0), (i + 1) * 0x10000, i ? "many.so" : "names.so", JITREG_NAMES_ONLY, &images[i]);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_true(jitreg_file_section(first->symfile, ".eh_frame"));
	assert_null(jitreg_file_section(first->symfile, ".debug_frame"));
	assert_null(jitreg_file_section(others->symfile, ".eh_frame"));
	assert_int_equal(section(others, ".debug_frame")->sh_type, SHT_NULL);
	frames = inflate_frames(others, ".debug_frame", &size, &vaddr);
	assert_true(vaddr >> 63);
	memcpy(&id, frames + 4, sizeof(id));
	assert_int_equal(id, UINT32_MAX);
	assert_true(find_name(others->symfile, true, "[many.so]", &binding, &address));
	assert_int_equal(binding, STB_LOPROC);
	for (size_t off = 0; off < size; off += length + 4) {
		memcpy(&length, frames + off, sizeof(length));
		memcpy(&id, frames + off + 4, sizeof(id));
		memcpy(&distance, frames + off + 8, sizeof(distance));
		assert_true(id == UINT32_MAX || id == 0); // there is one CIE
		labels += id == 0 && vaddr + off + 8 + (uint64_t)distance == address;
	}
	assert_int_equal(labels, 1);
	free(frames);
	jitreg_group_close(group);
	for (size_t i = 0; i < MANY; i++)
		jitreg_unregister(images[i].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/*
 * A pack has at most 4,096 names of the group's first library, and 512 of all others together, those of libraries
 * with few names first. The companion, which gdb reads, has all names.
 */
static void pack_names_of_large_libraries_are_for_gdb_only(void **state)
{
	static const struct {
		unsigned count;
		bool is_first;
		unsigned expected; // self.so has three
	} cases[] = {
		{512, false, 512 + 3}, {512 + 1, false, 3},
		{4096, true, 4096 + 3}, {4096 + 1, true, 3},
	};
	struct jitreg_group *group;
	struct image images[2];
	uint8_t *companion;
	char last[16];
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned count = cases[i].count, expected = cases[i].expected;
		bool is_first = cases[i].is_first;

		build_many_names("many.so", count);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		enter_large(group, 0x10000, is_first ? "many.so" : "self.so", &images[0]);
		enter_large(group, 0x10000 + LARGE_SIZE, is_first ? "self.so" : "many.so", &images[1]);
		// A symfile of its own has all names.
		assert_int_equal(name_count(&images[!is_first].info), count);
		assert_int_equal(name_count(&images[is_first].info), 3);
		assert_int_equal(jitreg_group_pack(group), 0);
		assert_together(images, 2);
		assert_int_equal(name_count(&images[0].info), expected);
		assert_true(has_name(images[0].info.symfile, "snake_leaf"));
		assert_int_equal(has_name(images[0].info.symfile, "f1"), expected != 3);

		snprintf(last, sizeof(last), "f%u", count);
		companion = util_read(companion_of(&images[0].info), &size);
		assert_true(has_name(companion, "snake_leaf"));
		assert_true(has_name(companion, "f1"));
		assert_true(has_name(companion, last));
		assert_true(has_name(companion, "hidden"));
		free(companion);
		jitreg_unregister(images[0].entry);
		jitreg_unregister(images[1].entry);
		jitreg_group_destroy(group);
		assert_nothing_left();
	}
}

/* How often a finished file with absolute values has a function at @address; 0: at any address. */
static size_t count_name(const uint8_t *bytes, const char *name, uint64_t address)
{
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const Elf64_Shdr *symtab = jitreg_file_section(bytes, ".symtab");
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;
	size_t count = 0;

	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++)
		count += !strcmp(strtab + syms[i].st_name, name) && (!address || syms[i].st_value == address);
	return count;
}

/* Names come from the library, from its detached file, or from both, when each has names that the other lacks. */
static void pack_companion_has_each_name_once(void **state)
{
	struct image images[2];
	uint64_t address;
	struct jitreg_group *group;
	uint8_t *bytes;
	size_t size;

	(void)state;
	assert_int_equal(util_run("echo 'static __attribute__((noipa)) int hidden(void) { return 1; } "
				  "int both(void) { return hidden(); } int only(void) { return 2; }' >partly.c && "
				  "gcc -g -fPIC -shared -nostdlib -Wl,--build-id partly.c -o whole.so && "
				  "objcopy --only-keep-debug -N only whole.so partly.debug && truncate -s 64K partly.debug && "
				  "objcopy --strip-all --add-gnu-debuglink=partly.debug whole.so partly.so"), 0);
	address = 0x100000 + vaddr_of("whole.so", "both");
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "link.so", JITREG_NAMES_ONLY, &images[0]);
	enter_at(group, BASE(0), 0x100000, "partly.so", JITREG_NAMES_ONLY, &images[1]);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_non_null(companion_of(&images[0].info));
	bytes = util_read(companion_of(&images[0].info), &size);
	assert_int_equal(count_name(bytes, "snake_leaf", 0), 1);
	assert_int_equal(count_name(bytes, "both", address), 1);
	assert_int_equal(count_name(bytes, "hidden", 0), 1); // the detached file has it
	assert_int_equal(count_name(bytes, "only", 0), 1); // only the library has it
	free(bytes);
	jitreg_group_close(group);
	jitreg_unregister(images[0].entry);
	jitreg_unregister(images[1].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* Gives the first allocated section with that name this type; objcopy goes by the name only. */
static void set_type(const char *library, const char *name, uint32_t type)
{
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	Elf64_Shdr *shdr = (Elf64_Shdr *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + shdr[ehdr->e_shstrndx].sh_offset;

	while (strcmp(names + shdr->sh_name, name) != 0 || !(shdr->sh_flags & SHF_ALLOC))
		shdr++;
	shdr->sh_type = type;
	util_write(util_path(library), bytes, size);
	free(bytes);
}

static void check_named(void)
{
	struct image image, other;
	struct jitreg_group *group;
	uint64_t address;
	unsigned binding;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "named.so", 0, &image);
	enter_at(group, BASE(0), 0x19000, "names.so", 0, &other);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_ptr_equal(image.info.symfile, other.info.symfile);
	assert_true(find_name(image.info.symfile, true, "snake_leaf", &binding, &address));
	assert_non_null(companion_of(&image.info));
	bytes = util_read(companion_of(&image.info), &size);
	assert_true(find_name(bytes, false, "snake_leaf", &binding, &address));
	assert_int_equal(address, 0x10000 + vaddr_of("self.so", "snake_leaf"));
	free(bytes);
	jitreg_group_close(group);
	jitreg_unregister(image.entry);
	jitreg_unregister(other.entry);
	jitreg_group_destroy(group);
}

/*
 * Sections of a library have names of a symfile's sections, or names that are looked for, and are something else:
 * .hash is neither code nor names nor unwind data.
 */
static void pack_takes_no_section_of_a_library_for_another(void **state)
{
	static const char *const names[] = {
		".symtab", ".dynsym", ".strtab", ".shstrtab", ".text", ".debug_frame", ".gnu_debuglink",
		".debug_info", ".debug_str", ".gorgon.key",
	};
	static const uint32_t types[] = {SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_NOTE};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
			assert_int_equal(util_run("objcopy --rename-section .hash=%s self.so named.so", names[i]), 0);
			set_type("named.so", names[i], types[t]);
			check_named();
		}
	}
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack_symfile_has_stretches_names_and_a_reference),
		cmocka_unit_test(pack_companion_has_functions_and_unwind_data),
		cmocka_unit_test(pack_companion_has_each_name_once),
		cmocka_unit_test(pack_takes_no_section_of_a_library_for_another),
		cmocka_unit_test(pack_code_is_from_text_on_and_in_plt),
		cmocka_unit_test(pack_without_companion_has_the_plt_of_each_library),
		cmocka_unit_test(pack_unwind_data_is_compressed_for_lldb),
		cmocka_unit_test(pack_unwind_data_of_later_images_is_for_later),
		cmocka_unit_test(pack_names_of_large_libraries_are_for_gdb_only),
	};

	return cmocka_run_group_tests_name("jitreg/pack", tests, util_setup, NULL);
}
