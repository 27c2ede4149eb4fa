// SPDX-License-Identifier: MIT
/*
 * Writing the object file that debuggers will read: one model per file.
 *
 * Written (writer.c) for a load bias of 0. What is in it, and why:
 *
 *     ELF header            ET_REL, which makes symbols relative to their section and
 *                           so the same in every copy
 *     allocated sections    all of them, by their own name, size and flags, but
 *                           without contents. GDB matches the sections of a
 *                           detached debug file with these by name, and gives
 *                           offset 0 to those it misses.
 *       .eh_frame           has contents: without them GDB cannot unwind.
 *       notes               have contents when DWARF is to be found by build-id.
 *     .symtab, .strtab      names
 *     .gnu_debuglink        file and checksum, for DWARF that is found by name: the library itself, its
 *                           detached file, or a copy that we have made (debug_copy.c). An
 *                           in-memory object has no directory, so GDB takes an
 *                           absolute name as it is.
 *     .debug_info           16 zero bytes, see below
 *     .shstrtab
 *
 * In the file, what differs from copy to copy comes first: header, section headers,
 * and .eh_frame when relocation changes it. The rest is common (slabs.c).
 *
 * Both GDB and LLDB take sh_addr as a final address in a relocatable file, too, so
 * each copy gets its own: one evenly spaced row of numbers (struct jitreg_fixup), which is why the
 * allocated sections come first.
 *
 * The dummy .debug_info: LLDB would follow the reference as well, and misplace all
 * addresses of the file it finds (no lines, no locals, breakpoints at addresses
 * that are not code). An object that has .debug_info of its own is not searched
 * for a detached debug file; LLDB then shows the names of .symtab. To GDB an object has
 * DWARF only with .debug_info and .debug_abbrev, so it goes on searching.
 *
 * Thread-local sections stay in as they are (SHF_TLS): .tbss overlaps what follows
 * it, and both debuggers leave sections with that flag out of the address space.
 *
 * Specification: gABI chapter 4; GDB manual, "Separate Debug Files".
 */
#define _GNU_SOURCE 1
#include "symfile.h"

#include "companion.h"
#include "debug_copy.h"
#include "file/debuginfo.h"
#include "file/dwarf_sections.h"
#include "frames.h"
#include "machine/machine.h"
#include "pack.h"
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The flags of sections that are kept; the others are about links, groups and contents. */
#define KEPT_FLAGS (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR | SHF_TLS)

/* As coarse as the clock of a file system can be. */
#define SETTLED_SECONDS 2

struct writer {
	struct jitreg_writer file;
	struct jitreg_object *object;
	struct jitreg_model *model;
	uint32_t crc;
	struct jitreg_names names;
	struct jitreg_object *detached; // the file that some of the names are from
	struct jitreg_symtab symtab;
	char **contents; // of allocated sections, in the order of the object; NULL: none
	uint64_t contents_size;
	Elf_Scn *live_scn; // .eh_frame to be taken from memory, per copy
};

static bool is_unwind(const struct writer *w, const struct jitreg_section *section)
{
	return !strcmp(section->name, ".eh_frame") &&
	       (section->type == SHT_PROGBITS || section->type == w->object->machine->unwind_type);
}

/*
 * A section that wants a huge page would make the symfile as large. Debuggers read
 * contents at any address.
 */
static uint64_t usable_align(uint64_t align)
{
	if (!align || align & (align - 1))
		return 1;
	return align < JITREG_MAX_ALIGN ? align : JITREG_MAX_ALIGN;
}

/*
 * Which sections have contents in the symfile? Unwind data, and, when DWARF is to
 * be found by build-id, notes: all notes, since linker scripts can merge the
 * build-id into another section of notes.
 */
static bool has_contents(const struct writer *w, const struct jitreg_section *section)
{
	if (section->type == SHT_NOBITS || !section->size)
		return false;
	if (section->type == SHT_NOTE)
		return w->model->debug.kind == JITREG_DEBUG_BUILD_ID &&
		       w->model->kind == JITREG_SYMFILE_FULL;
	return is_unwind(w, section);
}

static int add_alloc_section(struct writer *w, size_t index)
{
	const struct jitreg_section *section = &w->object->sections[index];
	// relocation changes what lies in a writable segment: take it from memory, later
	bool live = is_unwind(w, section) && section->flags & SHF_WRITE;
	GElf_Shdr shdr = {
		.sh_type = SHT_NOBITS,
		.sh_flags = section->flags & KEPT_FLAGS,
		.sh_addr = section->vaddr,
		.sh_size = section->size,
		.sh_addralign = usable_align(section->align),
	};
	char *contents = NULL;
	Elf_Scn *scn;
	int r;

	if (has_contents(w, section)) {
		// sections that overlap could ask for far more memory than there is file
		w->contents_size += section->size;
		if (w->contents_size > (uint64_t)w->object->st.st_size)
			return -ENOEXEC;
		shdr.sh_type = section->type == SHT_NOTE ? SHT_NOTE : SHT_PROGBITS;
		contents = w->contents[index] = calloc(1, section->size);
		if (!contents)
			return -ENOMEM;
		r = live ? 0 : jitreg_object_read(w->object, section->off, contents, section->size);
		if (r)
			return r;
	}
	scn = jitreg_writer_add(&w->file, section->name, &shdr, contents, ELF_T_BYTE);
	if (!scn)
		return -ENOMEM;
	if (contents && live) {
		w->live_scn = scn;
		w->model->live_vaddr = section->vaddr;
		w->model->live_size = section->size;
	}
	return 0;
}

static int add_alloc_sections(struct writer *w)
{
	// one more, because calloc(0) may return NULL, as if there were no memory
	w->contents = calloc(w->object->section_count + 1, sizeof(*w->contents));
	if (!w->contents)
		return -ENOMEM;
	for (size_t i = 0; i < w->object->section_count; i++) {
		int r = add_alloc_section(w, i);

		if (r)
			return r;
	}
	return 0;
}

static int add_name(struct writer *w, const struct jitreg_name *name)
{
	Elf64_Sym sym = {
		.st_info = name->info,
		.st_other = name->other,
		.st_shndx = (Elf64_Section)name->section,
		.st_value = name->vaddr - w->object->sections[name->section - 1].vaddr,
		.st_size = name->size,
	};

	if (jitreg_symtab_append(&w->symtab, name->text, name->text_size, &sym))
		return -ENOMEM;
	// names may share bytes in the file, but not by the megabyte
	return w->symtab.strtab.size > (uint64_t)w->object->st.st_size ? -ENOEXEC : 0;
}

/* The gABI wants local symbols first. */
static int convert_names(struct writer *w)
{
	const struct jitreg_names *names = &w->names;

	for (int local = 1; local >= 0; local--) {
		for (size_t i = 0; i < names->count; i++) {
			const struct jitreg_name *name = &names->items[i];
			int r;

			if ((GELF_ST_BIND(name->info) == STB_LOCAL) != local)
				continue;
			r = add_name(w, name);
			if (r)
				return r;
		}
	}
	return 0;
}

static int add_names(struct writer *w)
{
	int r = jitreg_names_read(w->object, &w->names);

	if (!r && w->model->kind == JITREG_SYMFILE_FULL)
		r = jitreg_names_add_plt(w->object, &w->names);
	if (!r && w->model->kind == JITREG_SYMFILE_FULL)
		r = jitreg_names_add_mappings(w->object, w->object, &w->names);
	// Names that debuggers do not find by themselves. Packs have them in their companion.
	if (w->model->kind != JITREG_SYMFILE_NAMES_ONLY &&
	    w->model->debug.kind == JITREG_DEBUG_NAMES && w->model->debug.names_path &&
	    strcmp(w->model->debug.names_path, w->model->path) != 0)
		w->detached = jitreg_debuginfo_open_detached(&w->model->debug);
	if (!r && w->detached)
		r = jitreg_names_add_detached(w->object, w->detached, &w->names);
	if (!r && w->detached && !jitreg_object_is_intact(w->detached))
		r = -EAGAIN;
	if (!r)
		r = convert_names(w);
	return r ? r : jitreg_writer_add_symtab(&w->file, &w->symtab);
}

static int add_debuglink(struct writer *w)
{
	const struct jitreg_debug *debug = &w->model->debug;

	if (w->model->kind == JITREG_SYMFILE_NAMES_ONLY ||
	    (debug->kind != JITREG_DEBUG_SELF && debug->kind != JITREG_DEBUG_LINK))
		return 0;
	return jitreg_writer_add_debuglink(&w->file, debug->path, w->crc);
}

static int add_dummy_debug_info(struct writer *w)
{
	const struct jitreg_debug *debug = &w->model->debug;

	if (w->model->kind == JITREG_SYMFILE_NAMES_ONLY ||
	    (debug->kind == JITREG_DEBUG_NAMES && !debug->names_path))
		return 0;
	return jitreg_writer_add_dummy_debug_info(&w->file);
}

/* Now that the file is laid out, note where the addresses are. */
static int find_fixups(struct writer *w)
{
	const GElf_Ehdr *ehdr = &w->file.ehdr;
	struct jitreg_model *t = w->model;
	GElf_Shdr shdr;

	t->fixups[JITREG_FIXUP_ENTRY] = (struct jitreg_fixup){
		.off = offsetof(Elf64_Ehdr, e_entry), .count = ehdr->e_entry ? 1 : 0};
	t->fixups[JITREG_FIXUP_SECTIONS] = (struct jitreg_fixup){
		.off = ehdr->e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr),
		.stride = sizeof(Elf64_Shdr),
		.count = w->object->section_count,
	};
	if (w->live_scn) {
		if (!gelf_getshdr(w->live_scn, &shdr))
			return -ENOMEM;
		t->live_off = shdr.sh_offset;
	}
	return 0;
}

static bool can_be_packed(const struct jitreg_model *t)
{
	const Elf64_Shdr *frames = jitreg_file_frames(t->bytes);

	if (t->live_size)
		return false;
	return !frames ||
	       !jitreg_frames_check(t->bytes + frames->sh_offset, frames->sh_size, frames->sh_addr);
}

static int write_file(struct writer *w)
{
	struct jitreg_model *t = w->model;
	int r;

	if ((r = jitreg_writer_begin(&w->file, ET_REL, &w->object->ehdr)))
		return r;
	w->file.ehdr.e_entry = w->object->ehdr.e_entry;
	if ((r = add_alloc_sections(w)) || (r = add_names(w)) || (r = add_debuglink(w)) ||
	    (r = add_dummy_debug_info(w)) ||
	    (r = jitreg_writer_finish(&w->file, w->live_scn, &t->private_size, &t->bytes,
				      &t->size)))
		return r;
	t->packable = can_be_packed(t);
	return find_fixups(w);
}

static void writer_deinit(struct writer *w)
{
	jitreg_writer_deinit(&w->file);
	jitreg_names_deinit(&w->names);
	jitreg_object_close(w->detached);
	jitreg_symtab_deinit(&w->symtab);
	for (size_t i = 0; w->contents && i < w->object->section_count; i++)
		free(w->contents[i]);
	free(w->contents);
}

/*
 * Refer GDB to a copy of the debug file if it cannot be referred to the file. There may be no
 * folder for the copy, or no room: then the symfile has the names of functions, as where there is
 * no DWARF.
 */
static void refer_to_copy(struct writer *w)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *detached = NULL;
	struct jitreg_model *t = w->model;
	const struct jitreg_object *from = w->object;

	if (t->kind != JITREG_SYMFILE_FULL || !jitreg_debuginfo_has_registrar(&t->debug))
		return;
	if (strcmp(t->debug.names_path, t->path) != 0)
		from = detached = jitreg_debuginfo_open_detached(&t->debug);
	if (!from || !jitreg_debuginfo_is_of(from, &t->debug) ||
	    jitreg_debug_copy_find(from, &t->companion, &w->crc))
		return;
	t->debug.path = strdup(t->companion.path);
	if (!t->debug.path) {
		jitreg_companion_deinit(&t->companion);
		return;
	}
	t->debug.kind = JITREG_DEBUG_LINK;
	t->debug.reason = NULL;
}

int jitreg_model_create(struct jitreg_object *object, enum jitreg_symfile_kind kind,
			struct jitreg_model **ret)
{
	struct writer w = {.object = object};
	struct jitreg_model *t;
	int r;

	t = w.model = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->kind = kind;
	t->st = object->st;
	t->settled = time(NULL) - t->st.st_ctim.tv_sec > SETTLED_SECONDS;
	t->path = strdup(object->path);
	r = t->path ? jitreg_object_read_layout(object) : -ENOMEM;
	if (!r)
		r = jitreg_debuginfo_find(object, &t->debug,
					  kind == JITREG_SYMFILE_NAMES_ONLY ? NULL : &w.crc);
	if (!r)
		refer_to_copy(&w);
	if (!r && jitreg_debuginfo_file(&t->debug) &&
	    stat(jitreg_debuginfo_file(&t->debug), &t->debug_st))
		t->settled = false; // it has just been removed
	if (!r)
		r = write_file(&w);
	writer_deinit(&w);
	if (r) {
		jitreg_model_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void jitreg_model_free(struct jitreg_model *model)
{
	jitreg_debug_deinit(&model->debug);
	jitreg_companion_deinit(&model->companion);
	jitreg_companion_deinit(&model->bare);
	free(model->members);
	jitreg_dwarf_destroy(model->lines);
	free(model->bytes);
	free(model->path);
	free(model);
}
