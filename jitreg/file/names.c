// SPDX-License-Identifier: MIT
/*
 * The names of an object: which symbols a debugger is told about.
 *
 * Source, in this order: .symtab (it has static functions as well), .dynsym, and
 * for a file without section headers the tables that PT_DYNAMIC points at. The
 * dynamic segment does not say how many symbols there are; the hash tables do.
 *
 * Taken are functions, variables and, in executable sections, untyped labels
 * (hand-written assembly). Left out are undefined and absolute symbols, which have
 * no address in the image, and thread-local ones, whose value is an offset: GDB
 * would print whatever lies at that offset from zero. If the object has a JIT descriptor of its own
 * (LLVM), its two names are left out as well: GDB would follow it as a second list of the process.
 *
 * From a detached file that the symfile cannot refer to (debuginfo.c says why) the static functions
 * of a stripped library are taken, and nothing else: GDB would take static variables of any copy
 * from the first copy.
 *
 * Variables are taken although GDB finds an external variable of every copy in the
 * first one: that comes from the variables in the .symtab of the detached debug
 * file (GDB 13 does it with and without them here, and gets it right with a debug
 * file that has functions only). Without them `info symbol` would have no answer
 * for data, and LLDB no name for it at all.
 *
 * A function is in the symfile and in the detached file as well; GDB sees that both
 * lie at one address, and a breakpoint has as many locations per copy as in a
 * library loaded by the system.
 *
 * Names for the procedure linkage table are made up (plt.c).
 *
 * On aarch64 symbols say where data is amid code ($d) and where code goes on ($x), from which LLDB
 * knows what to disassemble. An assembler writes one at the beginning of each section that it
 * makes, which says nothing new in the linked section; so only the symbols are taken at which code
 * becomes data or data code.
 *
 * Specifications: gABI chapter 4 "Symbol Table", chapter 5 "Hash Table"; the
 * layout of DT_GNU_HASH is the one GNU ld and glibc share: four words (bucket
 * count, index of the first hashed symbol, filter words, filter shift), filter,
 * buckets, then one hash per symbol whose lowest bit closes a chain.
 */
#include "object.h"

#include "grow.h"
#include "machine/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t find_section_of(const struct jitreg_object *object, uint64_t vaddr)
{
	for (size_t i = 0; i < object->section_count; i++) {
		const struct jitreg_section *section = &object->sections[i];

		if (!(section->flags & SHF_TLS) && vaddr >= section->vaddr &&
		    vaddr - section->vaddr < section->size)
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t map_section(const struct jitreg_object *object, const GElf_Sym *sym)
{
	if (object->section_map && sym->st_shndx < SHN_LORESERVE &&
	    sym->st_shndx < object->shdr_count)
		return object->section_map[sym->st_shndx];
	return find_section_of(object, sym->st_value);
}

/*
 * Linkers write the default version of a name as "name@@VERSION" into .symtab;
 * people type the name alone. A hidden version ("name@VERSION") keeps its suffix,
 * otherwise it would be a second place for a breakpoint on the default one. With
 * link-time optimisation gcc writes a static function as "name.lto_priv.0": where
 * debuggers have names only, they find it by the name that the source has.
 */
static size_t name_size(const char *text)
{
	const char *suffix = strstr(text, "@@") ?: strstr(text, ".lto_priv.");

	return suffix && suffix != text ? (size_t)(suffix - text) : strlen(text);
}

bool jitreg_names_is_registrar(const char *text)
{
	return !strcmp(text, "__jit_debug_register_code") ||
	       !strcmp(text, "__jit_debug_descriptor");
}

static bool is_wanted(const struct jitreg_object *object, const GElf_Sym *sym, const char *text,
		      uint32_t section)
{
	if (!section || !text || !*text || jitreg_names_is_registrar(text))
		return false;
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	case STT_NOTYPE:
		// '$' starts mapping symbols, see above; ".L" what assemblers call local
		return object->sections[section - 1].flags & SHF_EXECINSTR && *text != '$' &&
		       strncmp(text, ".L", 2) != 0;
	default:
		return false;
	}
}

int jitreg_names_add(struct jitreg_names *names, const struct jitreg_name *name)
{
	struct jitreg_name *added = jitreg_add(&names->items, &names->count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *name;
	return 0;
}

static int add_symbol(const struct jitreg_object *object, struct jitreg_names *names,
		      const GElf_Sym *sym, const char *text)
{
	uint32_t section;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return 0;
	section = map_section(object, sym);
	if (!is_wanted(object, sym, text, section))
		return 0;
	return jitreg_names_add(names, &(struct jitreg_name){
				       .text = text,
				       .text_size = name_size(text),
				       .vaddr = sym->st_value,
				       .size = sym->st_size,
				       .section = section,
				       .info = sym->st_info,
				       .other = sym->st_other,
			       });
}

/*
 * The first section of this type that has the right size of entries and, if it is a .symtab, is not
 * mapped: a .symtab is for debuggers.
 */
static Elf_Scn *find_table(const struct jitreg_object *object, uint32_t type, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(object->elf, scn)))
		if (gelf_getshdr(scn, shdr) && shdr->sh_type == type &&
		    shdr->sh_entsize == sizeof(Elf64_Sym) &&
		    !(type == SHT_SYMTAB && shdr->sh_flags & SHF_ALLOC))
			return scn;
	return NULL;
}

static int read_table(const struct jitreg_object *object, Elf_Scn *scn, const GElf_Shdr *shdr,
		      struct jitreg_names *names)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;
	int r;

	if (!data || data->d_size / sizeof(Elf64_Sym) > INT32_MAX)
		return -ENOEXEC;
	for (int i = 1; gelf_getsym(data, i, &sym); i++) {
		r = add_symbol(object, names, &sym,
			       elf_strptr(object->elf, shdr->sh_link, sym.st_name));
		if (r)
			return r;
	}
	return 0;
}

static int read_sections_of_type(const struct jitreg_object *object, uint32_t type,
				 struct jitreg_names *names)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_table(object, type, &shdr);

	return scn ? read_table(object, scn, &shdr, names) : 0;
}

/* What PT_DYNAMIC says about the symbol table: link-time addresses, except strtab_size. */
struct dynamic {
	uint64_t symtab, strtab, strtab_size, hash, gnu_hash;
};

static bool read_dynamic(const struct jitreg_object *object, struct dynamic *ret)
{
	Elf_Data *data = NULL;
	GElf_Phdr phdr;
	GElf_Dyn dyn;

	*ret = (struct dynamic){0};
	for (size_t i = 0; i < object->phdr_count && !data; i++) {
		if (gelf_getphdr(object->elf, (int)i, &phdr) && phdr.p_type == PT_DYNAMIC &&
		    jitreg_range_ok(phdr.p_offset, phdr.p_filesz, (uint64_t)object->st.st_size))
			data = elf_getdata_rawchunk(object->elf, (int64_t)phdr.p_offset,
						    phdr.p_filesz, ELF_T_DYN);
	}
	if (!data)
		return false;
	for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		switch (dyn.d_tag) {
		case DT_SYMTAB:
			ret->symtab = dyn.d_un.d_ptr;
			break;
		case DT_STRTAB:
			ret->strtab = dyn.d_un.d_ptr;
			break;
		case DT_STRSZ:
			ret->strtab_size = dyn.d_un.d_val;
			break;
		case DT_HASH:
			ret->hash = dyn.d_un.d_ptr;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = dyn.d_un.d_ptr;
			break;
		}
	}
	return ret->symtab && ret->strtab && ret->strtab_size;
}

static bool read_words(const struct jitreg_object *object, uint64_t vaddr, uint32_t *buf,
		       size_t count)
{
	uint64_t off;

	return jitreg_object_vaddr_to_off(object, vaddr, count * sizeof(*buf), &off) &&
	       !jitreg_object_read(object, off, buf, count * sizeof(*buf));
}

/* Find the highest index of a symbol that a bucket starts at, then go on to the end of its chain.
 */
static uint64_t count_by_gnu_hash(const struct jitreg_object *object, uint64_t vaddr)
{
	uint32_t head[4], word, last = 0;
	uint64_t buckets, chains;

	if (!read_words(object, vaddr, head, 4))
		return 0;
	buckets = vaddr + sizeof(head) + head[2] * sizeof(uint64_t);
	chains = buckets + head[0] * sizeof(uint32_t);
	for (uint32_t i = 0; i < head[0]; i++) {
		if (!read_words(object, buckets + i * sizeof(word), &word, 1))
			return 0;
		if (word > last)
			last = word;
	}
	if (last < head[1])
		return head[1];
	do {
		uint64_t at = chains + (uint64_t)(last - head[1]) * sizeof(word);

		if (!read_words(object, at, &word, 1))
			return 0;
	} while (++last && !(word & 1));
	return last;
}

static uint64_t count_dynamic_symbols(const struct jitreg_object *object,
				      const struct dynamic *dynamic)
{
	uint32_t head[2];

	// DT_HASH: bucket count, then chain count, which is the number of symbols
	if (dynamic->hash && read_words(object, dynamic->hash, head, 2))
		return head[1];
	return dynamic->gnu_hash ? count_by_gnu_hash(object, dynamic->gnu_hash) : 0;
}

static Elf_Data *get_chunk(const struct jitreg_object *object, uint64_t vaddr, uint64_t size,
			   Elf_Type type)
{
	uint64_t off;

	if (!jitreg_object_vaddr_to_off(object, vaddr, size, &off))
		return NULL;
	return elf_getdata_rawchunk(object->elf, (int64_t)off, size, type);
}

/* If a table cannot be read, there are no names, and no failure: addresses still help. */
static int read_dynamic_names(const struct jitreg_object *object, struct jitreg_names *names)
{
	Elf_Data *symtab, *strtab;
	struct dynamic dynamic;
	uint64_t count;
	GElf_Sym sym;

	if (!read_dynamic(object, &dynamic))
		return 0;
	count = count_dynamic_symbols(object, &dynamic);
	if (!count || count > INT32_MAX)
		return 0;
	symtab = get_chunk(object, dynamic.symtab, count * sizeof(Elf64_Sym), ELF_T_SYM);
	strtab = get_chunk(object, dynamic.strtab, dynamic.strtab_size, ELF_T_BYTE);
	if (!symtab || !strtab)
		return 0;

	for (int i = 1; gelf_getsym(symtab, i, &sym); i++) {
		const char *text;
		int r;

		if (sym.st_name >= strtab->d_size)
			continue;
		text = (const char *)strtab->d_buf + sym.st_name;
		if (!memchr(text, '\0', strtab->d_size - sym.st_name))
			continue;
		r = add_symbol(object, names, &sym, text);
		if (r)
			return r;
	}
	return 0;
}

bool jitreg_names_have_registrar(const struct jitreg_object *object)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while ((scn = elf_nextscn(object->elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
			const char *text = elf_strptr(object->elf, shdr.sh_link, sym.st_name);

			if (text && sym.st_shndx != SHN_UNDEF && jitreg_names_is_registrar(text))
				return true;
		}
	}
	return false;
}

int jitreg_names_read(const struct jitreg_object *object, struct jitreg_names *ret)
{
	int r = 0;

	*ret = (struct jitreg_names){0};
	if (!object->sectionless) {
		r = read_sections_of_type(object, SHT_SYMTAB, ret);
		if (!r && !ret->count)
			r = read_sections_of_type(object, SHT_DYNSYM, ret);
	} else {
		r = read_dynamic_names(object, ret);
	}
	if (r)
		jitreg_names_deinit(ret);
	return r;
}

/* A mapping symbol in a section with code. */
struct mapping {
	GElf_Sym sym;
	const char *text;
	uint32_t section;
	size_t index; // in the symbol table: of several symbols at one address the last counts
	bool is_data;
};

static int by_place(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->sym.st_value != y->sym.st_value)
		return x->sym.st_value < y->sym.st_value ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static size_t read_mappings(const struct jitreg_object *object, const struct jitreg_object *from,
			    Elf_Data *data, const GElf_Shdr *table, struct mapping *ret)
{
	size_t count = 0;
	struct mapping m;

	for (m.index = 1; gelf_getsym(data, (int)m.index, &m.sym); m.index++) {
		if (m.sym.st_info != ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE) ||
		    m.sym.st_shndx == SHN_UNDEF || m.sym.st_shndx >= SHN_LORESERVE)
			continue;
		m.text = elf_strptr(from->elf, table->sh_link, m.sym.st_name);
		if (!m.text || !object->machine->is_mapping(m.text, &m.is_data))
			continue;
		m.section = find_section_of(object, m.sym.st_value);
		if (m.section && object->sections[m.section - 1].flags & SHF_EXECINSTR)
			ret[count++] = m;
	}
	return count;
}

/* Add the symbols at which code becomes data or data code. A section begins with code. */
static int add_changes(const struct mapping *mappings, size_t count, struct jitreg_names *names)
{
	bool is_data = false;
	int r = 0;

	for (size_t i = 0; !r && i < count; i++) {
		const struct mapping *m = &mappings[i], *next = i + 1 < count ? m + 1 : NULL;

		if (i && m->section != m[-1].section)
			is_data = false;
		if ((next && next->section == m->section &&
		     next->sym.st_value == m->sym.st_value) ||
		    m->is_data == is_data)
			continue;
		is_data = m->is_data;
		r = jitreg_names_add(names, &(struct jitreg_name){
						    .text = m->text,
						    // a dot and what follows is left out
						    .text_size = strlen("$x"),
						    .vaddr = m->sym.st_value,
						    .section = m->section,
						    .info = m->sym.st_info,
					    });
	}
	return r;
}

int jitreg_names_add_mappings(const struct jitreg_object *object, const struct jitreg_object *from,
			      struct jitreg_names *names)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = object->machine->is_mapping ? find_table(from, SHT_SYMTAB, &shdr) : NULL;
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	struct mapping *mappings;
	size_t count;
	int r;

	if (!data || data->d_size / sizeof(Elf64_Sym) > INT32_MAX)
		return 0;
	mappings = calloc(data->d_size / sizeof(Elf64_Sym) + 1, sizeof(*mappings));
	if (!mappings)
		return -ENOMEM;
	count = read_mappings(object, from, data, &shdr, mappings);
	qsort(mappings, count, sizeof(*mappings), by_place);
	r = add_changes(mappings, count, names);
	free(mappings);
	return r;
}

static int add_detached(const struct jitreg_object *object, const GElf_Sym *sym, const char *text,
			struct jitreg_names *names)
{
	GElf_Sym placed = *sym;

	if (GELF_ST_BIND(sym->st_info) != STB_LOCAL || GELF_ST_TYPE(sym->st_info) != STT_FUNC ||
	    sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return 0;
	// The detached file may number its sections differently: the address says which section the
	// symbol is in.
	placed.st_shndx = SHN_XINDEX;
	return add_symbol(object, names, &placed, text);
}

int jitreg_names_add_detached(const struct jitreg_object *object,
			      const struct jitreg_object *detached, struct jitreg_names *names)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_table(detached, SHT_SYMTAB, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;
	int r = 0;

	if (!data || data->d_size / sizeof(Elf64_Sym) > INT32_MAX)
		return 0; // the object's own names are good without
	for (int i = 1; !r && gelf_getsym(data, i, &sym); i++)
		r = add_detached(object, &sym, elf_strptr(detached->elf, shdr.sh_link, sym.st_name),
				 names);
	return r;
}

void jitreg_names_deinit(struct jitreg_names *names)
{
	free(names->items);
	free(names->plt_text);
	*names = (struct jitreg_names){0};
}
