// SPDX-License-Identifier: MIT
/*
 * Writing ELF files with libelf, into memory and without a descriptor. libelf writes to descriptors
 * only, so libelf lays the file out and checks it, and the bytes are put together here. libelf
 * takes the new file for a file in memory that it reads, which has nothing but a header.
 *
 * In the file the headers come first, then the contents that differ from copy to copy, then the
 * rest (slabs.c says why).
 */
#include "writer.h"

#include "machine/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

uint32_t jitreg_bytes_append(struct jitreg_bytes *bytes, const void *data, size_t size)
{
	size_t off = bytes->size;

	if (size >= UINT32_MAX - off)
		return UINT32_MAX;
	if (off + size > bytes->capacity) {
		size_t capacity = (off + size) * 2 + 64;
		uint8_t *grown = realloc(bytes->data, capacity);

		if (!grown)
			return UINT32_MAX;
		bytes->data = grown;
		bytes->capacity = capacity;
	}
	if (size)
		memcpy(bytes->data + off, data, size);
	bytes->size += size;
	return (uint32_t)off;
}

void jitreg_bytes_deinit(struct jitreg_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct jitreg_bytes){0};
}

static int append_first(struct jitreg_symtab *table)
{
	static const Elf64_Sym null;

	table->local_count = 1;
	if (jitreg_bytes_append(&table->strtab, "", 1) == UINT32_MAX ||
	    jitreg_bytes_append(&table->syms, &null, sizeof(null)) == UINT32_MAX)
		return -ENOMEM;
	return 0;
}

int jitreg_symtab_append(struct jitreg_symtab *table, const char *text, size_t text_size,
			 const Elf64_Sym *sym)
{
	Elf64_Sym to = *sym;

	if (!table->syms.size && append_first(table))
		return -ENOMEM;
	to.st_name = jitreg_bytes_append(&table->strtab, text, text_size);
	if (to.st_name == UINT32_MAX || jitreg_bytes_append(&table->strtab, "", 1) == UINT32_MAX ||
	    jitreg_bytes_append(&table->syms, &to, sizeof(to)) == UINT32_MAX)
		return -ENOMEM;
	if (ELF64_ST_BIND(to.st_info) == STB_LOCAL)
		table->local_count++;
	return 0;
}

void jitreg_symtab_deinit(struct jitreg_symtab *table)
{
	jitreg_bytes_deinit(&table->syms);
	jitreg_bytes_deinit(&table->strtab);
}

int jitreg_writer_begin(struct jitreg_writer *w, unsigned type, const GElf_Ehdr *like)
{
	*w = (struct jitreg_writer){
		.read.ehdr =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    JITREG_DATA, EV_CURRENT},
				.e_type = ET_NONE,
				.e_machine = like->e_machine,
				.e_version = EV_CURRENT,
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shoff = sizeof(Elf64_Ehdr),
				.e_shnum = 1,
			},
	};
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	w->elf = elf_memory((char *)&w->read, sizeof(w->read));
	if (!w->elf || !gelf_getehdr(w->elf, &w->ehdr))
		return -ENOMEM;
	w->ehdr.e_ident[EI_DATA] = like->e_ident[EI_DATA];
	w->ehdr.e_ident[EI_OSABI] = like->e_ident[EI_OSABI]; // GNU when there are ifuncs
	w->ehdr.e_type = (Elf64_Half)type;
	w->ehdr.e_machine = like->e_machine;
	w->ehdr.e_version = EV_CURRENT;
	w->ehdr.e_flags = like->e_flags;
	return jitreg_bytes_append(&w->shstrtab, "", 1) == UINT32_MAX ? -ENOMEM : 0;
}

Elf_Scn *jitreg_writer_add(struct jitreg_writer *w, const char *name, const GElf_Shdr *shdr,
			   const void *data, Elf_Type type)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *d = scn ? elf_newdata(scn) : NULL;
	GElf_Shdr to = *shdr;

	if (!d)
		return NULL;
	to.sh_name = jitreg_bytes_append(&w->shstrtab, name, strlen(name) + 1);
	if (to.sh_name == UINT32_MAX || !gelf_update_shdr(scn, &to))
		return NULL;
	d->d_buf = (void *)data;
	d->d_size = shdr->sh_size;
	d->d_type = type;
	d->d_align = shdr->sh_addralign;
	d->d_version = EV_CURRENT;
	return scn;
}

int jitreg_writer_add_compressed(struct jitreg_writer *w, const char *name, const GElf_Shdr *shdr,
				 const void *data, int level)
{
	const Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = shdr->sh_size,
				 .ch_addralign = shdr->sh_addralign};
	uLongf size = compressBound(shdr->sh_size);
	GElf_Shdr to = *shdr;
	uint8_t *bytes;

	// elf_compress() cannot be told a level, and its own level takes ten times as long as the
	// fastest.
	if (w->compressed_count == JITREG_COMPRESSED_MAX)
		return -ENOMEM;
	bytes = malloc(sizeof(head) + size);
	w->compressed[w->compressed_count++] = bytes;
	if (!bytes || compress2(bytes + sizeof(head), &size, data, shdr->sh_size, level) != Z_OK)
		return -ENOMEM;
	memcpy(bytes, &head, sizeof(head));
	to.sh_size = sizeof(head) + size;
	to.sh_flags |= SHF_COMPRESSED;
	to.sh_addralign = _Alignof(Elf64_Chdr);
	if (to.sh_size < shdr->sh_size)
		return jitreg_writer_add(w, name, &to, bytes, ELF_T_BYTE) ? 0 : -ENOMEM;
	return jitreg_writer_add(w, name, shdr, data, ELF_T_BYTE) ? 0 : -ENOMEM;
}

int jitreg_writer_set_segments(struct jitreg_writer *w, const GElf_Phdr *phdrs, size_t count)
{
	if (!gelf_newphdr(w->elf, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!gelf_update_phdr(w->elf, (int)i, (GElf_Phdr *)&phdrs[i]))
			return -ENOMEM;
	w->ehdr.e_phnum = (Elf64_Half)count;
	w->ehdr.e_phentsize = sizeof(Elf64_Phdr);
	return 0;
}

int jitreg_writer_add_symtab(struct jitreg_writer *w, struct jitreg_symtab *table)
{
	GElf_Shdr symtab = {
		.sh_type = SHT_SYMTAB, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
	GElf_Shdr strtab = {.sh_type = SHT_STRTAB, .sh_addralign = 1};
	Elf_Scn *scn;

	if (!table->syms.size && append_first(table))
		return -ENOMEM;
	strtab.sh_size = table->strtab.size;
	scn = jitreg_writer_add(w, ".strtab", &strtab, table->strtab.data, ELF_T_BYTE);
	if (!scn)
		return -ENOMEM;
	symtab.sh_size = table->syms.size;
	symtab.sh_info = (Elf64_Word)table->local_count;
	symtab.sh_link = (Elf64_Word)elf_ndxscn(scn);
	return jitreg_writer_add(w, ".symtab", &symtab, table->syms.data, ELF_T_SYM) ? 0 : -ENOMEM;
}

/* The name, NUL, zeros up to a multiple of four, the checksum. */
int jitreg_writer_add_debuglink(struct jitreg_writer *w, const char *path, uint32_t crc)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 4};
	size_t name_size = (strlen(path) + 4) & ~(size_t)3;

	shdr.sh_size = name_size + sizeof(crc);
	w->link = calloc(1, shdr.sh_size);
	if (!w->link)
		return -ENOMEM;
	strcpy(w->link, path);
	memcpy(w->link + name_size, &crc, sizeof(crc));
	return jitreg_writer_add(w, ".gnu_debuglink", &shdr, w->link, ELF_T_BYTE) ? 0 : -ENOMEM;
}

int jitreg_writer_add_build_id(struct jitreg_writer *w, const uint8_t *id, size_t size)
{
	static const uint8_t zeros[3];
	Elf64_Nhdr head = {.n_namesz = sizeof(ELF_NOTE_GNU),
			   .n_descsz = (Elf64_Word)size,
			   .n_type = NT_GNU_BUILD_ID};
	GElf_Shdr shdr = {.sh_type = SHT_NOTE, .sh_addralign = 4};

	if (jitreg_bytes_append(&w->note, &head, sizeof(head)) == UINT32_MAX ||
	    jitreg_bytes_append(&w->note, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == UINT32_MAX ||
	    jitreg_bytes_append(&w->note, id, size) == UINT32_MAX ||
	    jitreg_bytes_append(&w->note, zeros, -size & 3) == UINT32_MAX)
		return -ENOMEM;
	shdr.sh_size = w->note.size;
	return jitreg_writer_add(w, ".note.gnu.build-id", &shdr, w->note.data, ELF_T_BYTE)
		       ? 0
		       : -ENOMEM;
}

int jitreg_writer_add_dummy_debug_info(struct jitreg_writer *w)
{
	// A DWARF 5 unit header is 12 bytes, LLDB looks no further.
	static const uint8_t dummy[16];
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_size = sizeof(dummy), .sh_addralign = 1};

	return jitreg_writer_add(w, ".debug_info", &shdr, dummy, ELF_T_BYTE) ? 0 : -ENOMEM;
}

/* Add the table of section names. It comes last, because it has the names of all sections, and its
 * own. */
static int add_section_names(struct jitreg_writer *w)
{
	static const char name[] = ".shstrtab";
	GElf_Shdr shdr = {.sh_type = SHT_STRTAB, .sh_addralign = 1};
	Elf_Data *data;
	Elf_Scn *scn;

	shdr.sh_size = w->shstrtab.size + sizeof(name);
	scn = jitreg_writer_add(w, name, &shdr, NULL, ELF_T_BYTE);
	data = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data)
		return -ENOMEM;
	data->d_buf = w->shstrtab.data; // may have moved while growing
	w->ehdr.e_shstrndx = (Elf64_Half)elf_ndxscn(scn);
	return 0;
}

static uint64_t align_up(uint64_t off, uint64_t align)
{
	return (off + align - 1) & -align;
}

/* Give @first, or all other sections, their offsets, one after the other from *@off on. */
static int place_sections(const struct jitreg_writer *w, const Elf_Scn *first, bool only_first,
			  uint64_t *off)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(w->elf, scn))) {
		if ((scn == first) != only_first)
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

static int lay_out(struct jitreg_writer *w, const Elf_Scn *first, size_t *private_size)
{
	uint64_t off = sizeof(Elf64_Ehdr);
	size_t section_count;
	int r;

	if (elf_getshdrnum(w->elf, &section_count))
		return -ENOMEM;
	elf_flagelf(w->elf, ELF_C_SET, ELF_F_LAYOUT);
	w->ehdr.e_shoff = off;
	off += section_count * sizeof(Elf64_Shdr);
	if (w->ehdr.e_phnum)
		w->ehdr.e_phoff = off;
	off += w->ehdr.e_phnum * sizeof(Elf64_Phdr);
	r = place_sections(w, first, true, &off);
	if (r)
		return r;
	off = *private_size = align_up(off, JITREG_MAX_ALIGN);
	r = place_sections(w, first, false, &off);
	if (r)
		return r;
	return gelf_update_ehdr(w->elf, &w->ehdr) ? 0 : -ENOMEM;
}

/* Nothing is converted: everything is in the byte order of this machine. */
static int put_together(const struct jitreg_writer *w, uint8_t *bytes)
{
	Elf64_Shdr *shdrs = (Elf64_Shdr *)(bytes + w->ehdr.e_shoff);
	Elf_Scn *scn = NULL;
	GElf_Phdr phdr;

	if (!gelf_getehdr(w->elf, (GElf_Ehdr *)bytes))
		return -ENOMEM;
	for (size_t i = 0; i < w->ehdr.e_phnum; i++) {
		if (!gelf_getphdr(w->elf, (int)i, &phdr))
			return -ENOMEM;
		memcpy(bytes + w->ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr));
	}
	while ((scn = elf_nextscn(w->elf, scn))) {
		const Elf_Data *data = elf_getdata(scn, NULL);
		Elf64_Shdr *shdr = &shdrs[elf_ndxscn(scn)];

		if (!data || !gelf_getshdr(scn, shdr))
			return -ENOMEM;
		if (shdr->sh_type != SHT_NOBITS && shdr->sh_size)
			memcpy(bytes + shdr->sh_offset, data->d_buf, shdr->sh_size);
	}
	return 0;
}

int jitreg_writer_finish(struct jitreg_writer *w, const Elf_Scn *first, size_t *private_size,
			 uint8_t **bytes, size_t *size)
{
	int64_t laid_out;
	int r;

	if ((r = add_section_names(w)) || (r = lay_out(w, first, private_size)))
		return r;
	laid_out = elf_update(w->elf, ELF_C_NULL);
	if (laid_out < 0)
		return -ENOMEM; // the layout is right, so there can be no other reason
	*size = (size_t)laid_out;
	*bytes = calloc(1, *size);
	if (!*bytes)
		return -ENOMEM;
	r = put_together(w, *bytes);
	if (r) {
		free(*bytes);
		*bytes = NULL;
	}
	return r;
}

void jitreg_writer_deinit(struct jitreg_writer *w)
{
	if (w->elf)
		elf_end(w->elf);
	jitreg_bytes_deinit(&w->shstrtab);
	free(w->link);
	jitreg_bytes_deinit(&w->note);
	for (size_t i = 0; i < w->compressed_count; i++)
		free(w->compressed[i]);
}

static const Elf64_Shdr *find_section(const uint8_t *bytes, const char *name,
				      bool (*is_it)(const Elf64_Shdr *))
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset;

	for (size_t i = 1; i < ehdr->e_shnum; i++)
		if (!strcmp(names + shdrs[i].sh_name, name) && (!is_it || is_it(&shdrs[i])))
			return &shdrs[i];
	return NULL;
}

const Elf64_Shdr *jitreg_file_section(const uint8_t *bytes, const char *name)
{
	return find_section(bytes, name, NULL);
}

/* No allocated section of a library has this type in a symfile. */
static bool is_symtab(const Elf64_Shdr *shdr)
{
	return shdr->sh_type == SHT_SYMTAB;
}

const Elf64_Shdr *jitreg_file_symtab(const uint8_t *bytes)
{
	return find_section(bytes, ".symtab", is_symtab);
}

static bool is_text(const Elf64_Shdr *shdr)
{
	return (shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_TLS)) ==
	       (SHF_ALLOC | SHF_EXECINSTR);
}

const Elf64_Shdr *jitreg_file_text(const uint8_t *bytes)
{
	return find_section(bytes, ".text", is_text);
}

static bool is_frames(const Elf64_Shdr *shdr)
{
	return shdr->sh_type == SHT_PROGBITS && shdr->sh_flags & SHF_ALLOC;
}

const Elf64_Shdr *jitreg_file_frames(const uint8_t *bytes)
{
	return find_section(bytes, ".eh_frame", is_frames);
}
