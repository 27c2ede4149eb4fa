// SPDX-License-Identifier: MIT
/*
 * Writing the object file that debuggers will read: one template per file.
 *
 * Written with libelf into a memfd and read back, for a load bias of 0. What is in
 * it, and why:
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
 *     .gnu_debuglink        file and checksum, for DWARF that is found by name. An
 *                           in-memory object has no directory, so GDB takes an
 *                           absolute name as it is.
 *     .debug_info           16 zero bytes, see below
 *     .shstrtab
 *
 * In the file, what differs from copy to copy comes first: header, section headers,
 * and .eh_frame when relocation changes it. The rest is common (rows.c).
 *
 * Both GDB and LLDB take sh_addr as a final address in a relocatable file, too, so
 * that is what the fix-ups are for: one evenly spaced row of numbers, which is why the
 * allocated sections come first.
 *
 * The dummy .debug_info: LLDB would follow the reference as well, and misplace all
 * addresses of the file it finds (no lines, no locals, breakpoints at addresses
 * that are not code). An object that has .debug_info of its own is not searched
 * for a detached one; LLDB then shows the names of .symtab. GDB wants .debug_info
 * and .debug_abbrev before it calls an object one with DWARF, and goes on
 * searching.
 *
 * Thread-local sections stay in as they are (SHF_TLS): .tbss overlaps what follows
 * it, and both debuggers leave sections with that flag out of the address space.
 *
 * Specification: gABI chapter 4; GDB manual, "Separate Debug Files".
 */
#define _GNU_SOURCE 1
#include "symfile.h"

#include "debuginfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Size of the dummy: a DWARF 5 unit header is 12 bytes, LLDB looks no further. */
#define DUMMY_SIZE 16

/*
 * A section that wants a huge page would make the symfile as large. Debuggers read
 * contents at any address. Of the parts of the file, too.
 */
#define MAX_ALIGN 64

/* What survives of sh_flags; the others speak of links, groups and file contents. */
#define KEPT_FLAGS (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR | SHF_TLS)

struct bytes {
	char *data;
	size_t size;
	size_t capacity;
};

struct writer {
	struct jitreg_object *object;
	struct jitreg_template *template;
	uint32_t crc;
	int fd;
	Elf *elf;
	struct jitreg_names names;
	struct bytes shstrtab, strtab;
	Elf64_Sym *syms;
	size_t sym_count; // the null symbol included
	size_t local_count;
	char **contents; // of allocated sections, in the order of the object; NULL: none
	uint64_t contents_size;
	char *link;
	Elf_Scn *live_scn; // .eh_frame to be taken from memory, per copy
};

static const char dummy_debug_info[DUMMY_SIZE];

/* Append; returns the offset, or UINT32_MAX without memory or beyond 4 GiB. */
static uint32_t bytes_append(struct bytes *bytes, const void *data, size_t size)
{
	size_t off = bytes->size;

	if (size >= UINT32_MAX - off)
		return UINT32_MAX;
	if (off + size > bytes->capacity) {
		size_t capacity = (off + size) * 2 + 64;
		char *grown = realloc(bytes->data, capacity);

		if (!grown)
			return UINT32_MAX;
		bytes->data = grown;
		bytes->capacity = capacity;
	}
	memcpy(bytes->data + off, data, size);
	bytes->size += size;
	return (uint32_t)off;
}

/* Create a section; data may be NULL for one that has only a size. */
static Elf_Scn *add_section(struct writer *w, const char *name, const GElf_Shdr *shdr,
			    const void *data, Elf_Type type)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *d = scn ? elf_newdata(scn) : NULL;
	GElf_Shdr to = *shdr;

	if (!d)
		return NULL;
	to.sh_name = bytes_append(&w->shstrtab, name, strlen(name) + 1);
	if (to.sh_name == UINT32_MAX || !gelf_update_shdr(scn, &to))
		return NULL;
	d->d_buf = (void *)data;
	d->d_size = shdr->sh_size;
	d->d_type = type;
	d->d_align = shdr->sh_addralign;
	d->d_version = EV_CURRENT;
	return scn;
}

static bool is_unwind(const struct jitreg_section *section)
{
	return !strcmp(section->name, ".eh_frame");
}

static uint64_t usable_align(uint64_t align)
{
	if (!align || align & (align - 1))
		return 1;
	return align < MAX_ALIGN ? align : MAX_ALIGN;
}

/*
 * Which sections have contents in the symfile? Unwind data, and, when DWARF is to
 * be found by build-id, notes: all of them, since linker scripts can merge the
 * build-id into another one.
 */
static bool has_contents(const struct writer *w, const struct jitreg_section *section)
{
	if (section->type == SHT_NOBITS || !section->size)
		return false;
	if (section->type == SHT_NOTE)
		return w->template->debug.kind == JITREG_DEBUG_BUILD_ID;
	return is_unwind(section);
}

static int add_alloc_section(struct writer *w, size_t index)
{
	const struct jitreg_section *section = &w->object->sections[index];
	// relocation changes what lies in a writable segment: take it from memory, later
	bool live = is_unwind(section) && section->flags & SHF_WRITE;
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
	scn = add_section(w, section->name, &shdr, contents, ELF_T_BYTE);
	if (!scn)
		return -ENOMEM;
	if (contents && live) {
		w->live_scn = scn;
		w->template->live_vaddr = section->vaddr;
		w->template->live_size = section->size;
	}
	return 0;
}

static int add_alloc_sections(struct writer *w)
{
	// one more, so that no sections at all is not mistaken for no memory
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
	uint32_t off = bytes_append(&w->strtab, name->text, name->text_size);

	if (off == UINT32_MAX || bytes_append(&w->strtab, "", 1) == UINT32_MAX)
		return -ENOMEM;
	// names may share bytes in the file, but not by the megabyte
	if (w->strtab.size > (uint64_t)w->object->st.st_size)
		return -ENOEXEC;
	w->syms[w->sym_count++] = (Elf64_Sym){
		.st_name = off,
		.st_info = name->info,
		.st_other = name->other,
		.st_shndx = (Elf64_Section)name->section,
		.st_value = name->vaddr - w->object->sections[name->section - 1].vaddr,
		.st_size = name->size,
	};
	return 0;
}

/* The gABI wants local symbols first. */
static int convert_names(struct writer *w)
{
	const struct jitreg_names *names = &w->names;

	w->syms = calloc(names->count + 1, sizeof(*w->syms));
	if (!w->syms || bytes_append(&w->strtab, "", 1) == UINT32_MAX)
		return -ENOMEM;
	w->sym_count = 1;
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
		if (local)
			w->local_count = w->sym_count;
	}
	return 0;
}

static int add_names(struct writer *w)
{
	GElf_Shdr symtab = {.sh_type = SHT_SYMTAB, .sh_addralign = 8};
	GElf_Shdr strtab = {.sh_type = SHT_STRTAB, .sh_addralign = 1};
	Elf_Scn *strtab_scn;
	int r;

	r = jitreg_names_read(w->object, &w->names);
	if (!r)
		r = convert_names(w);
	if (r)
		return r;

	strtab.sh_size = w->strtab.size;
	strtab_scn = add_section(w, ".strtab", &strtab, w->strtab.data, ELF_T_BYTE);
	if (!strtab_scn)
		return -ENOMEM;
	symtab.sh_size = w->sym_count * sizeof(*w->syms);
	symtab.sh_entsize = sizeof(*w->syms);
	symtab.sh_link = (Elf64_Word)elf_ndxscn(strtab_scn);
	symtab.sh_info = (Elf64_Word)w->local_count;
	return add_section(w, ".symtab", &symtab, w->syms, ELF_T_SYM) ? 0 : -ENOMEM;
}

/* .gnu_debuglink: the name, NUL, zeros up to a multiple of four, the checksum. */
static int add_debuglink(struct writer *w)
{
	const struct jitreg_debug *debug = &w->template->debug;
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 4};
	size_t name_size;

	if (debug->kind != JITREG_DEBUG_SELF && debug->kind != JITREG_DEBUG_LINK)
		return 0;
	name_size = (strlen(debug->path) + 4) & ~(size_t)3;
	shdr.sh_size = name_size + sizeof(w->crc);
	w->link = calloc(1, shdr.sh_size);
	if (!w->link)
		return -ENOMEM;
	strcpy(w->link, debug->path);
	memcpy(w->link + name_size, &w->crc, sizeof(w->crc));
	return add_section(w, ".gnu_debuglink", &shdr, w->link, ELF_T_BYTE) ? 0 : -ENOMEM;
}

static int add_dummy_debug_info(struct writer *w)
{
	GElf_Shdr shdr = {
		.sh_type = SHT_PROGBITS, .sh_size = sizeof(dummy_debug_info), .sh_addralign = 1};

	if (w->template->debug.kind == JITREG_DEBUG_NAMES)
		return 0;
	return add_section(w, ".debug_info", &shdr, dummy_debug_info, ELF_T_BYTE) ? 0 : -ENOMEM;
}

/* The table of section names is the last to grow, by its own name. */
static int add_section_names(struct writer *w, GElf_Ehdr *ehdr)
{
	static const char name[] = ".shstrtab";
	GElf_Shdr shdr = {.sh_type = SHT_STRTAB, .sh_addralign = 1};
	Elf_Scn *scn;

	shdr.sh_size = w->shstrtab.size + sizeof(name);
	scn = add_section(w, name, &shdr, NULL, ELF_T_BYTE);
	if (!scn)
		return -ENOMEM;
	elf_getdata(scn, NULL)->d_buf = w->shstrtab.data; // may have moved while growing
	ehdr->e_shstrndx = (Elf64_Half)elf_ndxscn(scn);
	return 0;
}

static int begin_file(struct writer *w, GElf_Ehdr *ehdr)
{
	const GElf_Ehdr *from = &w->object->ehdr;

	w->fd = memfd_create("jitreg-template", MFD_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	w->elf = elf_begin(w->fd, ELF_C_WRITE, NULL);
	if (!w->elf || !gelf_newehdr(w->elf, ELFCLASS64) || !gelf_getehdr(w->elf, ehdr))
		return -ENOMEM;
	ehdr->e_ident[EI_DATA] = from->e_ident[EI_DATA];
	ehdr->e_ident[EI_OSABI] = from->e_ident[EI_OSABI]; // GNU when there are ifuncs
	ehdr->e_type = ET_REL;
	ehdr->e_machine = from->e_machine;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_flags = from->e_flags;
	ehdr->e_entry = from->e_entry;
	return bytes_append(&w->shstrtab, "", 1) == UINT32_MAX ? -ENOMEM : 0;
}

static uint64_t align_up(uint64_t off, uint64_t align)
{
	return (off + align - 1) & -align;
}

/* Give these sections their offsets, one after the other. */
static int place_sections(const struct writer *w, bool private, uint64_t *off)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(w->elf, scn))) {
		if ((scn == w->live_scn) != private)
			continue;
		if (!gelf_getshdr(scn, &shdr))
			return -ENOMEM;
		if (shdr.sh_type != SHT_NOBITS)
			*off = align_up(*off, shdr.sh_addralign);
		shdr.sh_offset = *off;
		if (shdr.sh_type != SHT_NOBITS)
			*off += shdr.sh_size;
		if (!gelf_update_shdr(scn, &shdr))
			return -ENOMEM;
	}
	return 0;
}

static int lay_out(struct writer *w, GElf_Ehdr *ehdr)
{
	uint64_t off = sizeof(Elf64_Ehdr);
	size_t section_count;
	int r;

	if (elf_getshdrnum(w->elf, &section_count))
		return -ENOMEM;
	elf_flagelf(w->elf, ELF_C_SET, ELF_F_LAYOUT);
	ehdr->e_shoff = off;
	off += section_count * sizeof(Elf64_Shdr);
	r = place_sections(w, true, &off);
	if (r)
		return r;
	off = w->template->private_size = align_up(off, MAX_ALIGN);
	r = place_sections(w, false, &off);
	if (r)
		return r;
	return gelf_update_ehdr(w->elf, ehdr) ? 0 : -ENOMEM;
}

/* Now that the file is laid out, note where the addresses are. */
static int find_fixups(struct writer *w)
{
	struct jitreg_template *t = w->template;
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;

	if (!gelf_getehdr(w->elf, &ehdr))
		return -ENOMEM;
	t->fixups[JITREG_FIXUP_ENTRY] = (struct jitreg_fixup){
		.off = offsetof(Elf64_Ehdr, e_entry), .count = ehdr.e_entry ? 1 : 0};
	t->fixups[JITREG_FIXUP_SECTIONS] = (struct jitreg_fixup){
		.off = ehdr.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr),
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

static int read_back(struct writer *w)
{
	struct jitreg_template *t = w->template;
	size_t done = 0;

	t->bytes = malloc(t->size);
	if (!t->bytes)
		return -ENOMEM;
	while (done < t->size) {
		ssize_t n = pread(w->fd, t->bytes + done, t->size - done, (off_t)done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int write_file(struct writer *w)
{
	GElf_Ehdr ehdr;
	int64_t size;
	int r;

	if ((r = begin_file(w, &ehdr)) || (r = add_alloc_sections(w)) ||
	    (r = add_names(w)) || (r = add_debuglink(w)) || (r = add_dummy_debug_info(w)) ||
	    (r = add_section_names(w, &ehdr)) || (r = lay_out(w, &ehdr)))
		return r;
	size = elf_update(w->elf, ELF_C_WRITE);
	if (size < 0)
		return -ENOMEM; // memfds fail to grow for no other reason
	w->template->size = (size_t)size;
	r = find_fixups(w);
	return r ? r : read_back(w);
}

static void writer_deinit(struct writer *w)
{
	if (w->elf)
		elf_end(w->elf);
	if (w->fd >= 0)
		close(w->fd);
	jitreg_names_deinit(&w->names);
	free(w->shstrtab.data);
	free(w->strtab.data);
	free(w->syms);
	for (size_t i = 0; w->contents && i < w->object->section_count; i++)
		free(w->contents[i]);
	free(w->contents);
	free(w->link);
}

int jitreg_template_create(struct jitreg_object *object, struct jitreg_template **ret)
{
	struct writer w = {.object = object, .fd = -1};
	struct jitreg_template *t;
	int r;

	t = w.template = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->dev = object->st.st_dev;
	t->ino = object->st.st_ino;
	t->file_size = object->st.st_size;
	t->mtime = object->st.st_mtim;
	t->path = strdup(object->path);
	r = t->path ? jitreg_object_read_layout(object) : -ENOMEM;
	if (!r)
		r = jitreg_debuginfo_find(object, &t->debug, &w.crc);
	if (!r)
		r = write_file(&w);
	writer_deinit(&w);
	if (r) {
		jitreg_template_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

void jitreg_template_destroy(struct jitreg_template *template)
{
	jitreg_debug_deinit(&template->debug);
	free(template->bytes);
	free(template->path);
	free(template);
}
