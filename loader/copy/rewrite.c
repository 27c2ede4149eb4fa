// SPDX-License-Identifier: MIT
// A copy of a shared object under another name, so that the system's linker takes it for
// another library.
//
// Nothing that code or relocations refer to may move. So the file stays as it is, byte by
// byte, and what has to grow gets a segment of its own behind everything else:
//
//	off, vaddr
//	0            the file as it was, but for the fields named below
//	end of file, or of its memory, rounded up to a page: the new segment
//	             program headers, with a further PT_LOAD
//	             .dynstr: the old names, and the new names behind them
//	             .dynamic, if the added entries do not fit over the DT_NULLs at its end
//
// The new .dynstr begins as the old .dynstr does, so that every offset into it stays right. The
// names of libraries in .gnu.version_r and the base definition of .gnu.version_d change in place;
// so do the section headers of what moved and, with .dynamic, the symbol _DYNAMIC and the first
// word of the global offset table. STB_GNU_UNIQUE symbols become STB_GLOBAL. Notes stay: a debugger
// finds the same debug file.
//
// The distance from file to memory is that of the first segment, so that program headers are
// found at e_phoff from the load address, where unwinders and crash handlers look for them. A
// library with much zero-filled memory gets a hole in its file for that.
//
// What is read was validated by image.c; section headers, of which the loader knows nothing,
// are checked here. Specification: gABI chapters 4 and 5; LSB, "Symbol Versioning".
//
// Not handled: where two libraries define one STB_GNU_UNIQUE name and are opened apart, each copy
// uses its own definition, as libraries do that clang or -fno-gnu-unique has built. A library whose
// code reads its own _DYNAMIC sees the old .dynamic, also when the linker uses a new one. A new
// .dynamic is not protected by RELRO, because a file has only one such range, which stays. A core
// has the first page of a file only, so build-ids cannot be found in it without the file.
// eu-elflint adds the size of a relocation's symbol to the relocation's place. Where that reaches
// into the new segment (a large thread-local array), eu-elflint takes it for a relocation of the
// segment, which is read-only where .dynamic stayed.

#define _GNU_SOURCE
#include "rewrite.h"
#include "base/error.h"
#include "image/image.h"
#include "base/lock.h"
#include "image/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The limit for zero-filled memory that becomes a hole in the file.
#define HOLE_MAX (UINT64_C(1) << 32)

struct rewrite {
	const struct gorgon_image *image;
	const struct gorgon_rewrite_opts *opts;
	uint8_t *file; // private view of the source: what is changed in place is changed here

	Elf64_Phdr *phdrs;
	size_t phdr_count;
	char *strings;
	size_t strings_size;
	Elf64_Dyn *dyn;
	size_t dyn_count; // with its DT_NULL
	bool dyn_moves;

	uint64_t off, vaddr, size;	     // the new segment
	uint64_t strings_within, dyn_within; // offsets in the new segment
};

#define bad(image, ...)                                                                            \
	gorgon_error_prefix(gorgon_error_create(GORGON_ERROR_FORMAT, __VA_ARGS__), (image)->path)

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & -align;
}

// ---- names ------------------------------------------------------------------

static bool is_empty(const char *name)
{
	return name && !*name;
}

static struct gorgon_error *check_opts(const char *from, const struct gorgon_rewrite_opts *opts)
{
	bool empty = is_empty(opts->soname) || is_empty(opts->runpath);

	for (const struct gorgon_rewrite_name *r = opts->replace; r && r->from; r++)
		empty |= !r->to || !*r->to;
	for (const char *const *name = opts->add; name && *name; name++)
		empty |= is_empty(*name);
	return empty ? gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "%s: an empty name for a copy of it", from)
		     : NULL;
}

// Take memory for the old strings and for every name that may be added.
static struct gorgon_error *copy_strings(struct rewrite *rw)
{
	const struct gorgon_rewrite_opts *opts = rw->opts;
	size_t size = rw->image->strtab_size;

	size += opts->soname ? strlen(opts->soname) + 1 : 0;
	size += opts->runpath ? strlen(opts->runpath) + 1 : 0;
	for (const struct gorgon_rewrite_name *r = opts->replace; r && r->from; r++)
		size += strlen(r->to) + 1;
	for (const char *const *name = opts->add; name && *name; name++)
		size += strlen(*name) + 1;
	// Versions refer to their library's name by an offset of 32 bits.
	if (size > UINT32_MAX)
		return bad(rw->image,
			   "DT_STRSZ and the new names are 0x%zx bytes, expected less than 4 GB",
			   size);
	rw->strings = malloc(size);
	if (!rw->strings)
		return &gorgon_error_nomem;
	memcpy(rw->strings, rw->image->strtab, rw->image->strtab_size);
	rw->strings_size = rw->image->strtab_size;
	return NULL;
}

// Offset of a new name. Each new name is stored once.
static uint64_t rewrite_intern(struct rewrite *rw, const char *name)
{
	size_t at = rw->image->strtab_size;

	while (at < rw->strings_size && strcmp(rw->strings + at, name))
		at += strlen(rw->strings + at) + 1;
	if (at == rw->strings_size) {
		strcpy(rw->strings + at, name);
		rw->strings_size += strlen(name) + 1;
	}
	return at;
}

// A library's name in the copy.
static const char *rewrite_replacement(const struct rewrite *rw, const char *name)
{
	for (const struct gorgon_rewrite_name *r = rw->opts->replace; r && r->from; r++)
		if (!strcmp(r->from, name))
			return r->to;
	return name;
}

static uint64_t rewrite_replaced(struct rewrite *rw, uint64_t name_off)
{
	const char *old = rw->image->strtab + name_off, *new = rewrite_replacement(rw, old);

	return new == old ? name_off : rewrite_intern(rw, new);
}

// ---- the dynamic section ------------------------------------------------------

static const Elf64_Dyn *old_dynamic(const struct gorgon_image *image)
{
	return gorgon_image_at(image, image->dynamic_vaddr, sizeof(Elf64_Dyn));
}

// The value of a dynamic entry of the source: of the last entry with that tag, or 0 if there is
// none.
static uint64_t old_value(const struct gorgon_image *image, int64_t tag)
{
	uint64_t value = 0;

	for (const Elf64_Dyn *entry = old_dynamic(image); entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			value = entry->d_un.d_val;
	return value;
}

static void rewrite_append(struct rewrite *rw, int64_t tag, uint64_t value)
{
	rw->dyn[rw->dyn_count++] = (Elf64_Dyn){.d_tag = tag, .d_un.d_val = value};
}

static struct gorgon_error *append_old(struct rewrite *rw, const Elf64_Dyn *entry)
{
	const struct gorgon_rewrite_opts *opts = rw->opts;
	uint64_t value = entry->d_un.d_val;
	int64_t tag = entry->d_tag;

	switch (tag) {
	case DT_GNU_PRELINKED:
	case DT_GNU_LIBLIST:
	case DT_GNU_CONFLICT:
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: is prelinked (dynamic entry 0x%lx); undo it with prelink -u",
			rw->image->path, tag);
	case DT_NEEDED:
	case DT_AUXILIARY:
	case DT_FILTER:
		value = rewrite_replaced(rw, value);
		break;
	case DT_SONAME:
		if (opts->soname)
			value = rewrite_intern(rw, opts->soname);
		break;
	case DT_RPATH:
	case DT_RUNPATH:
		if (opts->runpath) {
			tag = DT_RUNPATH;
			value = rewrite_intern(rw, opts->runpath);
		}
		break;
	default:
		break;
	}
	rewrite_append(rw, tag, value);
	return NULL;
}

static bool rewrite_needs(const struct rewrite *rw, const char *name)
{
	for (size_t i = 0; i < rw->image->needed_count; i++)
		if (!strcmp(rewrite_replacement(rw, rw->image->needed[i]), name))
			return true;
	return false;
}

static struct gorgon_error *make_dynamic(struct rewrite *rw)
{
	const struct gorgon_image *image = rw->image;
	const struct gorgon_rewrite_opts *opts = rw->opts;
	struct gorgon_error *err;
	size_t count = 3; // DT_SONAME, DT_RUNPATH, DT_NULL

	for (const Elf64_Dyn *entry = old_dynamic(image); entry->d_tag != DT_NULL; entry++)
		count++;
	for (const char *const *name = opts->add; name && *name; name++)
		count++;
	rw->dyn = calloc(count, sizeof(*rw->dyn));
	if (!rw->dyn)
		return &gorgon_error_nomem;
	for (const char *const *name = opts->add; name && *name; name++)
		if (!rewrite_needs(rw, *name))
			rewrite_append(rw, DT_NEEDED, rewrite_intern(rw, *name));
	for (const Elf64_Dyn *entry = old_dynamic(image); entry->d_tag != DT_NULL; entry++)
		if ((err = append_old(rw, entry)))
			return err;
	if (opts->soname && !image->soname)
		rewrite_append(rw, DT_SONAME, rewrite_intern(rw, opts->soname));
	if (opts->runpath && !image->rpath && !image->runpath)
		rewrite_append(rw, DT_RUNPATH, rewrite_intern(rw, opts->runpath));
	rewrite_append(rw, DT_NULL, 0);
	return NULL;
}

// Linkers leave a few more DT_NULLs behind the first. Anything else there may be in use.
static bool dynamic_fits(const struct rewrite *rw)
{
	const Elf64_Dyn *old = old_dynamic(rw->image);
	size_t room = 0, i = 0;

	// If there are several, the last PT_DYNAMIC counts, as in image.c.
	for (size_t n = 0; n < rw->image->phdr_count; n++)
		if (rw->image->phdrs[n].p_type == PT_DYNAMIC)
			room = rw->image->phdrs[n].p_filesz / sizeof(*old);
	while (old[i].d_tag != DT_NULL)
		i++;
	while (i < room && old[i].d_tag == DT_NULL)
		i++;
	return rw->dyn_count <= i;
}

// ---- layout --------------------------------------------------------------------

static struct gorgon_error *rewrite_place(struct rewrite *rw)
{
	const struct gorgon_image *image = rw->image;
	uint64_t page = (uint64_t)getpagesize();
	uint64_t bias = image->segments[0].vaddr - image->segments[0].off;
	uint64_t memory_end = image->vaddr_end - bias;

	if (memory_end > image->file_size && memory_end - image->file_size > HOLE_MAX)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: needs 0x%lx bytes of memory, the file has 0x%lx: a "
					   "copy would have a hole of more than 0x%lx",
					   image->path, memory_end, image->file_size, HOLE_MAX);
	rw->dyn_moves = !dynamic_fits(rw);
	rw->off = round_up(memory_end > image->file_size ? memory_end : image->file_size, page);
	rw->vaddr = rw->off + bias;
	rw->strings_within = (image->phdr_count + 1) * sizeof(Elf64_Phdr);
	rw->size = rw->dyn_within = round_up(rw->strings_within + rw->strings_size, 8);
	if (rw->dyn_moves)
		rw->size += rw->dyn_count * sizeof(*rw->dyn);

	for (size_t i = 0; i < rw->dyn_count; i++) {
		if (rw->dyn[i].d_tag == DT_STRTAB)
			rw->dyn[i].d_un.d_ptr = rw->vaddr + rw->strings_within;
		else if (rw->dyn[i].d_tag == DT_STRSZ)
			rw->dyn[i].d_un.d_val = rw->strings_size;
	}
	return NULL;
}

static struct gorgon_error *make_phdrs(struct rewrite *rw)
{
	const struct gorgon_image *image = rw->image;
	size_t count = image->phdr_count, behind = 0;

	rw->phdrs = calloc(count + 1, sizeof(*rw->phdrs));
	if (!rw->phdrs)
		return &gorgon_error_nomem;
	for (size_t i = 0; i < count; i++)
		if (image->phdrs[i].p_type == PT_LOAD)
			behind = i + 1;
	memcpy(rw->phdrs, image->phdrs, behind * sizeof(*rw->phdrs));
	memcpy(rw->phdrs + behind + 1, image->phdrs + behind,
	       (count - behind) * sizeof(*rw->phdrs));
	rw->phdr_count = count + 1;
	rw->phdrs[behind] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		// The system's linker writes to .dynamic. Names and headers alone are constants.
		.p_flags = rw->dyn_moves ? PF_R | PF_W : PF_R,
		.p_offset = rw->off,
		.p_vaddr = rw->vaddr,
		.p_paddr = rw->vaddr,
		.p_filesz = rw->size,
		.p_memsz = rw->size,
		.p_align = (uint64_t)getpagesize(),
	};
	for (size_t i = 0; i < rw->phdr_count; i++) {
		Elf64_Phdr *ph = &rw->phdrs[i];
		uint64_t within, size;

		if (ph->p_type == PT_PHDR) {
			within = 0;
			size = rw->phdr_count * sizeof(*ph);
		} else if (ph->p_type == PT_DYNAMIC && rw->dyn_moves) {
			within = rw->dyn_within;
			size = rw->dyn_count * sizeof(*rw->dyn);
		} else {
			continue;
		}
		ph->p_offset = rw->off + within;
		ph->p_vaddr = ph->p_paddr = rw->vaddr + within;
		ph->p_filesz = ph->p_memsz = size;
	}
	return NULL;
}

// ---- changes in place ------------------------------------------------------------

// The writable bytes of something that image.c has found in the file.
static void *rewrite_writable(const struct rewrite *rw, const void *found)
{
	return rw->file + ((const uint8_t *)found - rw->image->file);
}

static void edit_verneed(struct rewrite *rw)
{
	uint64_t vaddr = old_value(rw->image, DT_VERNEED);

	for (uint64_t n = vaddr ? old_value(rw->image, DT_VERNEEDNUM) : 0; n; n--) {
		const Elf64_Verneed *need = gorgon_image_at(rw->image, vaddr, sizeof(*need));

		((Elf64_Verneed *)rewrite_writable(rw, need))->vn_file =
			(uint32_t)rewrite_replaced(rw, need->vn_file);
		if (!need->vn_next)
			break;
		vaddr += need->vn_next;
	}
}

// Whether another definition of @count at @vaddr has its name at @aux too: a library with one
// version that is called like the library (libjansson).
static bool shares_name(const struct gorgon_image *image, uint64_t vaddr, uint64_t count,
			uint64_t aux)
{
	uint64_t users = 0;

	for (; count; count--) {
		const Elf64_Verdef *def = gorgon_image_at(image, vaddr, sizeof(*def));

		users += vaddr + def->vd_aux == aux;
		if (!def->vd_next)
			break;
		vaddr += def->vd_next;
	}
	return users > 1;
}

// The base definition has the library's name, but nobody looks it up. So it keeps the old name
// where a version has that name too: other libraries need the version by its name.
static void edit_verdef(struct rewrite *rw)
{
	const struct gorgon_image *image = rw->image;
	uint64_t vaddr = old_value(image, DT_VERDEF), first = vaddr;
	uint64_t count = vaddr ? old_value(image, DT_VERDEFNUM) : 0;

	if (!rw->opts->soname || !image->soname)
		return;
	for (uint64_t n = count; n; n--) {
		const Elf64_Verdef *def = gorgon_image_at(image, vaddr, sizeof(*def));
		const Elf64_Verdaux *aux =
			gorgon_image_at(image, vaddr + def->vd_aux, sizeof(*aux));

		if (def->vd_flags & VER_FLG_BASE && aux->vda_name < image->strtab_size &&
		    !strcmp(image->strtab + aux->vda_name, image->soname) &&
		    !shares_name(image, first, count, vaddr + def->vd_aux)) {
			((Elf64_Verdef *)rewrite_writable(rw, def))->vd_hash =
				gorgon_symbol_sysv_hash(rw->opts->soname);
			((Elf64_Verdaux *)rewrite_writable(rw, aux))->vda_name =
				(uint32_t)rewrite_intern(rw, rw->opts->soname);
		}
		if (!def->vd_next)
			break;
		vaddr += def->vd_next;
	}
}

// The system's linker uses one definition of a name with STB_GNU_UNIQUE in the whole process: a
// copy would use another copy's variables, and would never be unloaded. STB_GLOBAL has neither
// effect.
static void edit_unique(struct rewrite *rw)
{
	for (uint32_t i = 0; i < rw->image->symbol_count; i++) {
		const Elf64_Sym *sym = &rw->image->symbols[i];

		if (ELF64_ST_BIND(sym->st_info) == STB_GNU_UNIQUE)
			((Elf64_Sym *)rewrite_writable(rw, sym))->st_info =
				ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(sym->st_info));
	}
}

// On x86-64 the first word of the global offset table is the address of the dynamic section (psABI,
// "Global Offset Table"). On aarch64 the word is in another table, and nobody reads it.
static void edit_got(struct rewrite *rw)
{
	// aligned or not
	const uint8_t *got =
		gorgon_image_at(rw->image, old_value(rw->image, DT_PLTGOT), sizeof(uint64_t));
	uint64_t word, moved = rw->vaddr + rw->dyn_within;

	if (!got)
		return;
	memcpy(&word, got, sizeof(word));
	if (word == rw->image->dynamic_vaddr)
		memcpy(rewrite_writable(rw, got), &moved, sizeof(moved));
}

// ---- section headers -------------------------------------------------------------

struct sections {
	Elf64_Shdr *table; // in the writable view
	uint64_t count;
};

static bool in_file(const struct rewrite *rw, uint64_t off, uint64_t size)
{
	return off <= rw->image->file_size && size <= rw->image->file_size - off;
}

static struct gorgon_error *find_sections(struct rewrite *rw, struct sections *ret)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)rw->file;
	uint64_t count;

	*ret = (struct sections){0};
	if (!ehdr->e_shoff)
		return NULL;
	if (ehdr->e_shentsize != sizeof(Elf64_Shdr) || ehdr->e_shoff % 8 ||
	    !in_file(rw, ehdr->e_shoff, sizeof(Elf64_Shdr)))
		return bad(rw->image,
			   "section headers at 0x%lx, %u bytes each: the file has 0x%lx bytes, "
			   "expected %zu each",
			   ehdr->e_shoff, ehdr->e_shentsize, rw->image->file_size,
			   sizeof(Elf64_Shdr));
	ret->table = (Elf64_Shdr *)(rw->file + ehdr->e_shoff);
	count = ehdr->e_shnum ? ehdr->e_shnum : ret->table[0].sh_size;
	if (count > (rw->image->file_size - ehdr->e_shoff) / sizeof(Elf64_Shdr))
		return bad(rw->image, "%lu section headers at 0x%lx leave the file, 0x%lx bytes",
			   count, ehdr->e_shoff, rw->image->file_size);
	ret->count = count;
	return NULL;
}

// The symbols of what moves: _DYNAMIC, and the sections' own, which linkers write for aarch64. A
// table that cannot be read matters only where the dynamic section moves.
static struct gorgon_error *edit_symbols(struct rewrite *rw, const struct sections *sections,
					 const Elf64_Shdr *sh)
{
	static const char name[] = "_DYNAMIC";
	const Elf64_Shdr *names =
		sh->sh_link < sections->count ? &sections->table[sh->sh_link] : NULL;
	Elf64_Sym *symbols = (Elf64_Sym *)(rw->file + sh->sh_offset);
	uint64_t strtab = old_value(rw->image, DT_STRTAB);

	if (sh->sh_offset % 8 || !in_file(rw, sh->sh_offset, sh->sh_size) || !names ||
	    !in_file(rw, names->sh_offset, names->sh_size)) {
		if (!rw->dyn_moves)
			return NULL;
		return bad(rw->image,
			   "section %zu, a symbol table: it or its names are not in the file",
			   (size_t)(sh - sections->table));
	}
	for (uint64_t i = 0; i < sh->sh_size / sizeof(*symbols); i++) {
		bool of_section = ELF64_ST_TYPE(symbols[i].st_info) == STT_SECTION;
		uint64_t at = symbols[i].st_name;

		if (of_section && symbols[i].st_value == strtab)
			symbols[i].st_value = rw->vaddr + rw->strings_within;
		if (!rw->dyn_moves || symbols[i].st_value != rw->image->dynamic_vaddr)
			continue;
		if (of_section || (at < names->sh_size && sizeof(name) <= names->sh_size - at &&
				   !memcmp(rw->file + names->sh_offset + at, name, sizeof(name))))
			symbols[i].st_value = rw->vaddr + rw->dyn_within;
	}
	return NULL;
}

static void move_section(struct rewrite *rw, Elf64_Shdr *sh, uint64_t within, uint64_t size)
{
	sh->sh_offset = rw->off + within;
	sh->sh_addr = rw->vaddr + within;
	sh->sh_size = size;
}

static struct gorgon_error *edit_dynamic_sections(struct rewrite *rw,
						  const struct sections *sections, Elf64_Shdr *sh)
{
	uint64_t strtab = old_value(rw->image, DT_STRTAB);
	Elf64_Shdr *strings = sh->sh_link < sections->count ? &sections->table[sh->sh_link] : NULL;

	if (!strings || strings->sh_type != SHT_STRTAB || strings->sh_addr != strtab)
		return bad(
			rw->image,
			"section %zu, SHT_DYNAMIC: its sh_link %u is not the string table at 0x%lx",
			(size_t)(sh - sections->table), sh->sh_link, strtab);
	move_section(rw, strings, rw->strings_within, rw->strings_size);
	if (rw->dyn_moves)
		move_section(rw, sh, rw->dyn_within, rw->dyn_count * sizeof(*rw->dyn));
	return NULL;
}

static struct gorgon_error *edit_sections(struct rewrite *rw)
{
	struct gorgon_error *err;
	struct sections sections;

	if ((err = find_sections(rw, &sections)))
		return err;
	// Symbols come first: the names of .dynsym are read where .dynstr was.
	for (Elf64_Shdr *sh = sections.table; sh < sections.table + sections.count; sh++)
		if ((sh->sh_type == SHT_SYMTAB || (rw->dyn_moves && sh->sh_type == SHT_DYNSYM)) &&
		    (err = edit_symbols(rw, &sections, sh)))
			return err;
	for (Elf64_Shdr *sh = sections.table; sh < sections.table + sections.count; sh++)
		if (sh->sh_type == SHT_DYNAMIC && sh->sh_addr == rw->image->dynamic_vaddr)
			return edit_dynamic_sections(rw, &sections, sh);
	return NULL;
}

// ---- the new file ------------------------------------------------------------------

static struct gorgon_error *rewrite_edit(struct rewrite *rw)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)rw->file;
	struct gorgon_error *err;

	// Names come first: their size decides where the rest goes.
	if ((err = copy_strings(rw)) || (err = make_dynamic(rw)))
		return err;
	edit_verneed(rw);
	edit_verdef(rw);
	edit_unique(rw);
	if ((err = rewrite_place(rw)) || (err = make_phdrs(rw)) || (err = edit_sections(rw)))
		return err;
	if (rw->dyn_moves)
		edit_got(rw);
	else
		memcpy(rewrite_writable(rw, old_dynamic(rw->image)), rw->dyn,
		       rw->dyn_count * sizeof(*rw->dyn));
	ehdr->e_phoff = rw->off;
	ehdr->e_phnum = (uint16_t)rw->phdr_count;
	return NULL;
}

static bool write_at(int fd, uint64_t off, const void *data, size_t size)
{
	while (size) {
		ssize_t done = pwrite(fd, data, size, (off_t)off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		data = (const uint8_t *)data + done;
		off += (uint64_t)done;
		size -= (size_t)done;
	}
	return true;
}

static struct gorgon_error *write_file(const struct rewrite *rw, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int errnum;
	bool ok;

	if (fd < 0)
		return gorgon_error_create_os(errno, "%s", to);
	ok = write_at(fd, 0, rw->file, rw->image->file_size) &&
	     write_at(fd, rw->off, rw->phdrs, rw->phdr_count * sizeof(*rw->phdrs)) &&
	     write_at(fd, rw->off + rw->strings_within, rw->strings, rw->strings_size) &&
	     (!rw->dyn_moves || write_at(fd, rw->off + rw->dyn_within, rw->dyn,
					 rw->dyn_count * sizeof(*rw->dyn))) &&
	     !ftruncate(fd, (off_t)(rw->off + rw->size));
	errnum = errno;
	// Some file systems say only at close() that there was no room.
	if (close(fd) && ok) {
		errnum = errno;
		ok = false;
	}
	if (ok)
		return NULL;
	unlink(to);
	return gorgon_error_create_os(errnum, "%s", to);
}

// A view whose pages are copied when they are changed.
static struct gorgon_error *map_file(void *ctx, int fd)
{
	struct rewrite *rw = ctx;
	void *p = mmap(rw->file, rw->image->file_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_NORESERVE | (rw->file ? MAP_FIXED : 0), fd, 0);

	if (p == MAP_FAILED)
		return gorgon_error_create_os(errno, "%s", rw->image->path);
	rw->file = p;
	return NULL;
}

// In a damaged file, section headers and symbols may have the same bytes as tables that a linker
// reads. Editing the headers and symbols then changes these tables, so the copy is read as a linker
// would read it.
static struct gorgon_error *check_copy(const struct rewrite *rw, const char *to)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err, *ret;

	gorgon_lock();
	err = gorgon_image_open(to, &image);
	gorgon_image_close(image);
	gorgon_unlock();
	if (!err)
		return NULL;
	unlink(to);
	if (gorgon_error_code(err) == GORGON_ERROR_NOMEM ||
	    gorgon_error_code(err) == GORGON_ERROR_OS)
		return err;
	ret = bad(rw->image,
		  "section headers or symbols are over what a linker reads; a copy would have: %s",
		  gorgon_error_message(err));
	gorgon_error_destroy(err);
	return ret;
}

static struct gorgon_error *rewrite(const struct gorgon_image *image, const char *from,
				    struct gorgon_file *file, const char *to,
				    const struct gorgon_rewrite_opts *opts)
{
	struct rewrite rw = {.image = image, .opts = opts};
	struct gorgon_error *err = gorgon_image_with_file(image, from, file, map_file, &rw);

	if (!err && !(err = rewrite_edit(&rw)))
		err = write_file(&rw, to);
	if (!err)
		err = check_copy(&rw, to);
	if (rw.file)
		munmap(rw.file, image->file_size);
	free(rw.phdrs);
	free(rw.strings);
	free(rw.dyn);
	return err;
}

struct gorgon_error *gorgon_rewrite(const char *from, const char *to,
				    const struct gorgon_rewrite_opts *opts)
{
	struct gorgon_image *image;
	struct gorgon_error *err;
	struct gorgon_file file;

	if ((err = check_opts(from, opts)))
		return err;
	gorgon_lock();
	err = gorgon_image_open_file(from, &image, &file);
	gorgon_unlock();
	if (err)
		return err;
	err = rewrite(image, from, &file, to, opts);
	gorgon_file_close(&file);
	gorgon_lock();
	gorgon_image_close(image);
	gorgon_unlock();
	return err;
}
