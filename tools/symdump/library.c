// SPDX-License-Identifier: MIT Names and lines of one file, by link-time addresses: callers
// subtract the bias of a copy first. Names come from .symtab or .dynsym of the file or of its
// detached debug file, and lines from DWARF; libdw finds both. A symfile without a file has names
// only.

#define _GNU_SOURCE
#include "symdump.h"

#include "machine/machine.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYMBOL_MAX 20000000
#define ROWS_MAX   100000

struct library {
	const struct target *target;
	char *debug_path;
	Dwfl *dwfl;
	Dwfl_Module *module;
	void *data; // of a symfile
	Elf *elf;
	Dwarf *dwarf;   // of a symfile
	Dwarf_Die unit; // the last one found
	bool symbols_read;
	struct symbol *symbols; // sorted by vaddr, the best name of an address first
	uint64_t *reach;        // the farthest end of this symbol and all before it
	size_t count;
};

size_t elf_build_id(Elf *elf, uint8_t id[64])
{
	const void *bits;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;

	if (size <= 0 || size > 64)
		return 0;
	memcpy(id, bits, (size_t)size);
	return (size_t)size;
}

bool elf_file_start(Elf *elf, uint64_t *ret)
{
	uint64_t least = UINT64_MAX;
	GElf_Phdr phdr;
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &phdr); i++)
		if (phdr.p_type == PT_LOAD && phdr.p_vaddr < least) {
			least = phdr.p_vaddr;
			*ret = phdr.p_vaddr - phdr.p_offset;
		}
	return least != UINT64_MAX;
}

static bool has_dwarf(Dwfl_Module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t strings;
	GElf_Shdr shdr;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &shdr);) {
		const char *name = elf_strptr(elf, strings, shdr.sh_name);

		if (name && (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8)))
			return true;
	}
	return false;
}

// The DWARF is where the registry says; otherwise in the usual locations, by build-id and by link.
// A file with DWARF needs no other: libdw would open one for its names, read the DWARF of the
// first, and lose the other.
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *debuglink, GElf_Word crc, char **ret)
{
	const struct library *library = *userdata;
	uint8_t its[64], wanted[64];
	const unsigned char *bits;
	GElf_Addr vaddr;
	int fd = -1, size = dwfl_module_build_id(module, &bits, &vaddr);

	if (has_dwarf(module))
		return -1;
	if (library->debug_path && size > 0 && size <= 64)
		fd = target_open_file(library->target, library->debug_path);
	if (fd >= 0) {
		Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
		bool same = elf_build_id(elf, its) == (size_t)size;

		memcpy(wanted, bits, (size_t)size);
		same = same && !memcmp(its, wanted, (size_t)size);
		elf_end(elf);
		if (same) {
			*ret = strdup(library->debug_path);
			return fd;
		}
		close(fd);
	}
	return dwfl_standard_find_debuginfo(module, userdata, name, base, file_name, debuglink, crc,
					    ret);
}

// Never called: every module is reported with its file.
static int find_elf(Dwfl_Module *module __attribute__((unused)),
		    void **userdata __attribute__((unused)),
		    const char *name __attribute__((unused)),
		    Dwarf_Addr base __attribute__((unused)),
		    char **file_name __attribute__((unused)), Elf **elf __attribute__((unused)))
{
	return -1;
}

static bool is_relocatable(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr ehdr;
	bool ret = gelf_getehdr(elf, &ehdr) && ehdr.e_type == ET_REL;

	elf_end(elf);
	return ret;
}

static void open_file(struct library *library, int fd, const char *name)
{
	static char *debuginfo_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = find_debuginfo,
		.debuginfo_path = &debuginfo_path,
	};
	void **userdata;

	if (!debuginfo_path)
		debuginfo_path = format("+:.debug:%s/usr/lib/debug:/usr/lib/debug",
					library->target->root_name);
	// A loaded file is no relocatable object. For a relocatable object libdwfl would call back
	// for the addresses of its sections.
	library->dwfl = is_relocatable(fd) ? NULL : dwfl_begin(&callbacks);
	if (library->dwfl)
		library->module =
			dwfl_report_elf(library->dwfl, base_name(name), name, fd, 0, true);
	if (!library->module) { // libdwfl has not taken the descriptor over
		close(fd);
		return;
	}
	dwfl_module_info(library->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = library;
	dwfl_report_end(library->dwfl, NULL, NULL);
}

// LLVM registers the relocatable object as the compiler made it, with the addresses of its loaded
// sections filled in. Its DWARF, which is not loaded, is not relocated yet; the sections of DWARF
// are at 0. Compilers use these two relocations in DWARF, on x86-64 and on aarch64. They are
// applied to @copy: a section may be said to lie where the headers are.
static void relocate(const struct library *library, const struct jitreg_machine *machine,
		     char *copy, size_t size, Elf_Scn *scn, const GElf_Shdr *table)
{
	Elf_Data *relas = elf_getdata(scn, NULL);
	GElf_Shdr patched, symbols, section;
	Elf_Data *syms;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!gelf_getshdr(elf_getscn(library->elf, table->sh_info), &patched) ||
	    patched.sh_flags & (SHF_ALLOC | SHF_COMPRESSED) || patched.sh_type == SHT_NOBITS ||
	    patched.sh_offset > size || patched.sh_size > size - patched.sh_offset ||
	    !gelf_getshdr(elf_getscn(library->elf, table->sh_link), &symbols) ||
	    symbols.sh_type != SHT_SYMTAB)
		return;
	syms = elf_getdata(elf_getscn(library->elf, table->sh_link), NULL);
	for (int i = 0; relas && syms && gelf_getrela(relas, i, &rela); i++) {
		size_t width = GELF_R_TYPE(rela.r_info) == machine->absolute_64 ? 8 : 4;
		uint64_t value = (uint64_t)rela.r_addend;

		if ((GELF_R_TYPE(rela.r_info) != machine->absolute_64 &&
		     GELF_R_TYPE(rela.r_info) != machine->absolute_32) ||
		    !gelf_getsym(syms, (int)GELF_R_SYM(rela.r_info), &sym) ||
		    rela.r_offset > patched.sh_size || width > patched.sh_size - rela.r_offset)
			continue;
		value += sym.st_value;
		if (sym.st_shndx < SHN_LORESERVE &&
		    gelf_getshdr(elf_getscn(library->elf, sym.st_shndx), &section))
			value += section.sh_addr;
		memcpy(copy + patched.sh_offset + rela.r_offset, &value, width);
	}
}

static void relocate_all(struct library *library, const struct jitreg_machine *machine, size_t size)
{
	char *copy = zalloc(1, size);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	memcpy(copy, library->data, size);
	while ((scn = elf_nextscn(library->elf, scn)) && gelf_getshdr(scn, &shdr))
		if (shdr.sh_type == SHT_RELA)
			relocate(library, machine, copy, size, scn, &shdr);
	elf_end(library->elf);
	free(library->data);
	library->data = copy;
	library->elf = elf_memory(copy, size);
}

static void open_symfile(struct library *library, size_t size)
{
	const struct jitreg_machine *machine;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(library->elf, &ehdr))
		return;
	machine = jitreg_machine_find(ehdr.e_machine);
	if (machine && ehdr.e_type == ET_REL)
		relocate_all(library, machine, size);
	library->dwarf = library->elf ? dwarf_begin_elf(library->elf, DWARF_C_READ, NULL) : NULL;
}

struct library *library_create(const struct target *target, int fd, void *data, size_t size,
			       const char *name, const char *debug_path)
{
	struct library *library = zalloc(1, sizeof(*library));

	library->target = target;
	library->debug_path = debug_path ? format("%s", debug_path) : NULL;
	library->data = data;
	if (fd >= 0)
		open_file(library, fd, name);
	else if (data && (library->elf = elf_memory(data, size)))
		open_symfile(library, size);
	return library;
}

void library_destroy(struct library *library)
{
	if (!library)
		return;
	dwfl_end(library->dwfl);
	dwarf_end(library->dwarf);
	elf_end(library->elf);
	free(library->data);
	free(library->debug_path);
	free(library->symbols);
	free(library->reach);
	free(library);
}

static void add_symbol(struct library *library, const GElf_Sym *sym, uint64_t vaddr,
		       const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) ||
	    sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || // a version's name
	    !name || !*name || library->count >= SYMBOL_MAX)
		return;
	library->symbols = grow(library->symbols, library->count, sizeof(*library->symbols));
	library->symbols[library->count++] = (struct symbol){
		vaddr, sym->st_size, name, (unsigned char)type, GELF_ST_BIND(sym->st_info)};
}

static void read_module(struct library *library)
{
	int count = dwfl_module_getsymtab(library->module);

	for (int i = 1; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr vaddr;
		const char *name =
			dwfl_module_getsym_info(library->module, i, &sym, &vaddr, NULL, NULL, NULL);

		if (name)
			add_symbol(library, &sym, vaddr, name);
	}
}

// In a relocatable object, as LLVM registers them, values count from their section.
static void read_symfile(struct library *library)
{
	Elf *elf = library->elf;
	GElf_Ehdr ehdr;
	Elf_Scn *scn = NULL;

	if (!gelf_getehdr(elf, &ehdr))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr, its;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB || !shdr.sh_entsize ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (size_t i = 1;
		     i < data->d_size / shdr.sh_entsize && gelf_getsym(data, (int)i, &sym); i++) {
			uint64_t base = 0;

			if (ehdr.e_type == ET_REL && sym.st_shndx < SHN_LORESERVE &&
			    gelf_getshdr(elf_getscn(elf, sym.st_shndx), &its))
				base = its.sh_addr;
			add_symbol(library, &sym, base + sym.st_value,
				   elf_strptr(elf, shdr.sh_link, sym.st_name));
		}
	}
}

static int library_rank(const struct symbol *symbol)
{
	int bind = symbol->bind == STB_GLOBAL ? 0 : symbol->bind == STB_WEAK ? 1 : 2;

	return bind + (symbol->type == STT_OBJECT ? 3 : 0);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return library_rank(x) != library_rank(y) ? library_rank(x) - library_rank(y)
						  : strcmp(x->name, y->name);
}

// A symbol without a size reaches to the next symbol.
static uint64_t symbol_end(const struct library *library, size_t i)
{
	const struct symbol *symbol = &library->symbols[i];

	if (!symbol->size)
		return i + 1 < library->count ? library->symbols[i + 1].vaddr : symbol->vaddr + 1;
	return symbol->size > UINT64_MAX - symbol->vaddr ? UINT64_MAX
							 : symbol->vaddr + symbol->size;
}

static void read_symbols(struct library *library)
{
	size_t kept = 0;

	library->symbols_read = true;
	if (library->module)
		read_module(library);
	else if (library->elf)
		read_symfile(library);
	if (!library->count)
		return;
	qsort(library->symbols, library->count, sizeof(*library->symbols), compare_symbols);
	// A symbol is often in .dynsym and in .symtab.
	for (size_t i = 0; i < library->count; i++)
		if (!kept || library->symbols[kept - 1].vaddr != library->symbols[i].vaddr ||
		    strcmp(library->symbols[kept - 1].name, library->symbols[i].name))
			library->symbols[kept++] = library->symbols[i];
	library->count = kept;
	library->reach = zalloc(kept, sizeof(*library->reach));
	for (size_t i = 0; i < kept; i++) {
		library->reach[i] = symbol_end(library, i);
		if (i && library->reach[i - 1] > library->reach[i])
			library->reach[i] = library->reach[i - 1];
	}
}

size_t library_symbols(struct library *library, const struct symbol **ret)
{
	if (!library->symbols_read)
		read_symbols(library);
	*ret = library->symbols;
	return library->count;
}

char *symbol_name(const struct symbol *symbol)
{
	return clean_text(symbol->name, 1 + strcspn(symbol->name + 1, "@"));
}

const struct symbol *library_find(struct library *library, uint64_t vaddr)
{
	const struct symbol *symbols, *found = NULL;
	size_t low = 0, high = library_symbols(library, &symbols);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	// The nearest symbol that reaches so far; of several symbols at its address the first.
	for (size_t i = low; i-- > 0 && library->reach[i] > vaddr;) {
		if (found && symbols[i].vaddr != found->vaddr)
			break;
		if (symbol_end(library, i) > vaddr)
			found = &symbols[i];
	}
	return found;
}

struct line_row {
	Dwarf_Addr addr;
	const char *file;
	int line;
	bool is_stmt, is_end;
	unsigned discriminator;
};

static struct line_row get_row(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, i);
	struct line_row row = {0};

	dwarf_lineaddr(line, &row.addr);
	dwarf_lineno(line, &row.line);
	dwarf_linebeginstatement(line, &row.is_stmt);
	dwarf_lineendsequence(line, &row.is_end);
	dwarf_linediscriminator(line, &row.discriminator);
	row.file = dwarf_linesrc(line, NULL, NULL) ?: "";
	return row;
}

static bool is_same_file(const struct line_row *a, const struct line_row *b)
{
	return a->file == b->file || !strcmp(a->file, b->file);
}

// Whether gdb keeps a row whatever the row before it is.
static bool is_fresh(Dwarf_Lines *lines, size_t i)
{
	struct line_row row = get_row(lines, i), before;

	if (!i)
		return true;
	before = get_row(lines, i - 1);
	return before.is_end || (row.is_stmt && row.addr != before.addr && row.line != before.line);
}

// The line that gdb gives for an address that is in row @last. gdb does not keep every row
// (lnp_state_machine::record_line(), dwarf_record_line_p()): it drops a row of another file in the
// middle of a statement that begins at the same address, and a row that continues a line in which a
// discriminator was seen. Of several rows at one address the last that begins a statement counts
// (find_pc_sect_line()). dwfl_module_getsrc() does none of this.
static struct line_row row_of_gdb(Dwarf_Lines *lines, size_t last)
{
	struct line_row ret = {0}, kept = {0}, before = {0};
	bool stmt_here = false, discriminated = false;
	size_t i = last;

	while (!is_fresh(lines, i) && last - i < ROWS_MAX)
		i--;
	for (size_t first = i; i <= last; i++) {
		struct line_row row = get_row(lines, i);
		// no file: no row is kept yet
		bool other_file = !kept.file || !is_same_file(&row, &kept);
		bool other_addr = i == first || row.addr != before.addr;

		stmt_here &= !other_addr;
		discriminated = (discriminated && row.line == before.line) || row.discriminator;
		if (row.line && !(other_file && stmt_here && !row.is_stmt) &&
		    (other_file || row.line != kept.line || !discriminated)) {
			if (other_file || row.addr != ret.addr || row.is_stmt || !ret.is_stmt)
				ret = row;
			kept = row;
		}
		stmt_here |= row.is_stmt;
		before = row;
	}
	return ret;
}

// The row that gdb has for @vaddr. With @opening, the first row at @vaddr, which has the line where
// a function opens.
static struct line_row find_row(Dwarf_Lines *lines, size_t count, uint64_t vaddr, bool opening)
{
	size_t low = 0, high = count;
	Dwarf_Addr addr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &addr) || addr > vaddr)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low || get_row(lines, low - 1).is_end)
		return (struct line_row){0};
	if (!opening)
		return row_of_gdb(lines, low - 1);
	while (low > 1 && get_row(lines, low - 2).addr == vaddr)
		low--;
	return get_row(lines, low - 1);
}

// LLVM writes no table of the units' addresses.
static Dwarf_Die *find_unit(struct library *library, Dwarf *dwarf, uint64_t vaddr)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Aranges *aranges;
	size_t count;

	if (!dwarf_getaranges(dwarf, &aranges, &count) && count)
		return dwarf_addrdie(dwarf, vaddr, &library->unit);
	while (!dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &library->unit, NULL))
		if (dwarf_haspc(&library->unit, vaddr) > 0)
			return &library->unit;
	return NULL;
}

const char *library_find_line(struct library *library, uint64_t vaddr, bool opening, int *line)
{
	Dwarf_Addr bias = 0;
	Dwarf *dwarf = library->dwarf;
	Dwarf_Die *unit;
	Dwarf_Lines *lines;
	struct line_row row;
	size_t count;

	if (library->module)
		dwarf = dwfl_module_getdwarf(library->module, &bias);
	unit = dwarf ? find_unit(library, dwarf, vaddr - bias) : NULL;
	if (!unit || dwarf_getsrclines(unit, &lines, &count))
		return NULL;
	row = find_row(lines, count, vaddr - bias, opening);
	*line = row.line;
	return row.line ? row.file : NULL;
}
