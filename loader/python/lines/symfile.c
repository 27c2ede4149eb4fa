// SPDX-License-Identifier: MIT
// What debuggers read of Python lines: symfiles, with the unwind rules of lines/rules.c and the
// functions, lines and variables of lines/dwarf.c.
//
// Specification: gABI chapter 4.

#define _GNU_SOURCE
#include "symfile.h"
#include "machine.h"

#include "bytes.h"
#include "base/arch.h"

#include <elf.h>

// @section: the number of the section of code that it is in.
static void put_symbol(struct gorgon_lines_bytes *symbols, struct gorgon_lines_bytes *names,
		       const char *name, size_t section, uint64_t offset, uint64_t size)
{
	Elf64_Sym symbol = {.st_name = (uint32_t)names->size,
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = (uint16_t)section,
			    .st_value = offset,
			    .st_size = size};

	put_text(names, name);
	put_bytes(symbols, &symbol, sizeof(symbol));
}

struct contents {
	struct gorgon_lines_bytes info, abbrev, line, frame, symbols, names;
};

// Code that a symfile tells of: a section each.
struct text {
	uint64_t address, size;
};

static void put_section(struct gorgon_lines_bytes *to, struct gorgon_lines_bytes *names,
			Elf64_Shdr *header, const char *name,
			const struct gorgon_lines_bytes *data)
{
	header->sh_name = (uint32_t)names->size;
	header->sh_addralign = 8;
	put_text(names, name);
	align_bytes(to, 8);
	header->sh_offset = to->size;
	if (!data)
		return;
	header->sh_size = data->size;
	put_bytes(to, data->data, data->size);
	to->failed |= data->failed;
}

static void put_file(struct gorgon_lines_bytes *to, const struct text *texts, size_t text_count,
		     struct contents *contents)
{
	const struct section {
		const char *name;
		uint32_t type, info, entry_size;
		struct gorgon_lines_bytes *data;
	} sections[] = {
		{".debug_info", SHT_PROGBITS, 0, 0, &contents->info},
		{".debug_abbrev", SHT_PROGBITS, 0, 0, &contents->abbrev},
		{".debug_line", SHT_PROGBITS, 0, 0, &contents->line},
		{".debug_frame", SHT_PROGBITS, 0, 0, &contents->frame},
		{".symtab", SHT_SYMTAB, 1, sizeof(Elf64_Sym), &contents->symbols},
		{".strtab", SHT_STRTAB, 0, 0, &contents->names},
	};
	const size_t others = sizeof(sections) / sizeof(*sections);
	const size_t count = 1 + text_count + others + 1;
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = GORGON_ARCH_MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)count,
		.e_shstrndx = (uint16_t)(count - 1),
	};
	Elf64_Shdr *headers = calloc(count, sizeof(*headers));
	struct gorgon_lines_bytes names = {0};

	if (!headers) {
		to->failed = true;
		return;
	}
	put_bytes(to, &header, sizeof(header));
	put_text(&names, "");
	for (size_t i = 0; i < text_count; i++) {
		Elf64_Shdr *text = &headers[1 + i];

		put_section(to, &names, text, ".text", NULL);
		text->sh_type = SHT_NOBITS;
		text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		text->sh_addr = texts[i].address;
		text->sh_size = texts[i].size;
	}
	for (size_t i = 0; i < others; i++) {
		Elf64_Shdr *other = &headers[1 + text_count + i];

		put_section(to, &names, other, sections[i].name, sections[i].data);
		other->sh_type = sections[i].type;
		other->sh_info = sections[i].info;
		other->sh_entsize = sections[i].entry_size;
		if (sections[i].type == SHT_SYMTAB)
			other->sh_link = (uint32_t)(1 + text_count + others - 1);
	}
	headers[count - 1].sh_type = SHT_STRTAB;
	put_section(to, &names, &headers[count - 1], ".shstrtab", NULL);
	headers[count - 1].sh_size = names.size;
	put_all(to, &names);
	align_bytes(to, 8);
	header.e_shoff = to->size;
	put_bytes(to, headers, count * sizeof(*headers));
	if (!to->failed)
		memcpy(to->data, &header, sizeof(header));
	free(headers);
}

static void begin_contents(struct contents *contents, uint64_t code,
			   const struct gorgon_lines_layout *layout)
{
	static const Elf64_Sym none;

	put_text(&contents->names, "");
	gorgon_lines_put_abbrevs(&contents->abbrev);
	put_bytes(&contents->symbols, &none, sizeof(none));
	gorgon_lines_put_cie(&contents->frame, layout, code + GORGON_LINES_GENERIC_RESUME);
}

static void free_contents(struct contents *contents)
{
	free(contents->info.data);
	free(contents->abbrev.data);
	free(contents->line.data);
	free(contents->frame.data);
	free(contents->symbols.data);
	free(contents->names.data);
}

void gorgon_lines_describe_code(struct gorgon_lines_bytes *ret, uint64_t code,
				const struct gorgon_lines_layout *layout)
{
	const struct {
		const char *name;
		uint64_t offset, size;
	} symbols[] = {
		{"python_frame", GORGON_LINES_FRAME, GORGON_LINES_FRAME_END},
		{"python_tracer", GORGON_LINES_TRACER, GORGON_LINES_LEAVE - GORGON_LINES_TRACER},
		{"python_line_leave", GORGON_LINES_LEAVE,
		 GORGON_LINES_GENERIC - GORGON_LINES_LEAVE},
		{GORGON_LINES_ANYWHERE, GORGON_LINES_GENERIC,
		 GORGON_LINES_RAISED - GORGON_LINES_GENERIC},
		{"python_exception_raised", GORGON_LINES_RAISED,
		 GORGON_LINES_UNCAUGHT - GORGON_LINES_RAISED},
		{"python_exception_uncaught", GORGON_LINES_UNCAUGHT,
		 GORGON_LINES_CODE_SIZE - GORGON_LINES_UNCAUGHT},
	};
	struct contents contents = {0};

	begin_contents(&contents, code, layout);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		put_symbol(&contents.symbols, &contents.names, symbols[i].name, 1,
			   symbols[i].offset, symbols[i].size);
	gorgon_lines_put_code_rules(&contents.frame, code, layout);
	gorgon_lines_put_info_of_code(&contents.info, code);
	put_file(ret, &(struct text){code, GORGON_LINES_CODE_SIZE}, 1, &contents);
	free_contents(&contents);
}

// @section: the number of the file's section of code.
static void describe_file(struct contents *contents, const struct gorgon_lines_file *file,
			  size_t section, uint64_t code, const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes info = {0}, line = {0};

	gorgon_lines_put_info(&info, file, contents->line.size, code, layout);
	gorgon_lines_put_lines(&line, file);
	put_all(&contents->info, &info);
	put_all(&contents->line, &line);
	put_symbol(&contents->symbols, &contents->names, GORGON_LINES_ANYWHERE, section, 0,
		   file->text_size);
	for (size_t i = 0; i < file->function_count; i++)
		gorgon_lines_put_stub_rules(&contents->frame, &file->functions[i], layout);
}

void gorgon_lines_describe_files(struct gorgon_lines_bytes *ret,
				 const struct gorgon_lines_file *files, uint64_t code,
				 const struct gorgon_lines_layout *layout)
{
	struct text texts[GORGON_LINES_FILES_MAX];
	struct contents contents = {0};
	size_t count = 0;

	begin_contents(&contents, code, layout);
	for (const struct gorgon_lines_file *file = files; file; file = file->next) {
		texts[count++] = (struct text){(uintptr_t)file->text, file->text_size};
		describe_file(&contents, file, count, code, layout);
	}
	put_file(ret, texts, count, &contents);
	free_contents(&contents);
}
