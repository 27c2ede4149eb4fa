// SPDX-License-Identifier: MIT
/*
 * Unwind data that was moved says the same as before: libdw interprets both, and each row
 * of each function has the same rules. Damaged data is refused, and read within its bounds
 * (which a sanitizer sees: data is in blocks of exactly its size).
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../jitreg/frames.h"
#include "../jitreg/machine/machine.h"
#include "jitreg_util.h"

#define VADDR    UINT64_C(0x10000) // of sections that are written here
#define TO_VADDR UINT64_C(0x60000000)
#define DELTA    UINT64_C(0x50000000)
/* x86-64: 16 registers and the return address; aarch64: 32. */
#define REGISTERS 33
/* Its linker writes unwind data for the procedure linkage table. */
#define LINKS_UNWIND_DATA (JITREG_HOST_MACHINE == EM_X86_64)

static int move_frames(struct jitreg_bytes *to, enum jitreg_frames_form form, uint64_t to_vaddr,
		       const uint8_t *data, size_t size, uint64_t vaddr, uint64_t delta)
{
	const struct jitreg_frames from = {
		.data = data, .size = size, .vaddr = vaddr, .delta = delta, .end = UINT64_MAX};

	return jitreg_frames_append(to, to_vaddr, form, &from);
}

/* Unwind data in an object file, as libdw wants it. */
struct view {
	struct jitreg_writer file;
	uint8_t *bytes;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *cfi;
	const char *ident;
	Elf_Data *data;
	uint64_t vaddr;
	enum jitreg_frames_form form;
};

static void view_init(struct view *v, const void *frames, size_t size, uint64_t vaddr,
		      enum jitreg_frames_form form)
{
	bool eh = form == JITREG_FRAMES_EH;
	GElf_Ehdr like = {.e_ident[EI_DATA] = ELFDATA2LSB, .e_machine = JITREG_HOST_MACHINE};
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 8, .sh_size = size};
	size_t private_size, file_size;

	*v = (struct view){.vaddr = vaddr, .form = form};
	shdr.sh_addr = vaddr;
	shdr.sh_flags = eh ? SHF_ALLOC : 0;
	assert_int_equal(jitreg_writer_begin(&v->file, ET_DYN, &like), 0);
	assert_non_null(jitreg_writer_add(&v->file, eh ? ".eh_frame" : ".debug_frame", &shdr,
					  frames, ELF_T_BYTE));
	assert_int_equal(jitreg_writer_finish(&v->file, NULL, &private_size, &v->bytes, &file_size), 0);
	v->elf = elf_memory((char *)v->bytes, file_size);
	assert_non_null(v->elf);
	v->ident = elf_getident(v->elf, NULL);
	v->data = elf_getdata(elf_getscn(v->elf, 1), NULL);
	if (eh) {
		v->cfi = dwarf_getcfi_elf(v->elf);
	} else {
		v->dwarf = dwarf_begin_elf(v->elf, DWARF_C_READ, NULL);
		v->cfi = dwarf_getcfi(v->dwarf);
	}
	assert_non_null(v->cfi);
}

static void view_deinit(struct view *v)
{
	if (v->dwarf)
		dwarf_end(v->dwarf);
	else
		dwarf_cfi_end(v->cfi);
	elf_end(v->elf);
	free(v->bytes);
	jitreg_writer_deinit(&v->file);
}

static void compare_rules(const Dwarf_Op *a, size_t a_count, const Dwarf_Op *b, size_t b_count)
{
	assert_int_equal(!a, !b);
	assert_int_equal(a_count, b_count);
	for (size_t i = 0; i < a_count; i++) {
		assert_int_equal(a[i].atom, b[i].atom);
		assert_int_equal(a[i].number, b[i].number);
		assert_int_equal(a[i].number2, b[i].number2);
		assert_int_equal(a[i].offset, b[i].offset);
	}
}

/* The row of @pc in the old data, and of @pc + @delta in the new one. Returns its end. */
static uint64_t compare_row(struct view *from, struct view *to, uint64_t pc, uint64_t delta)
{
	Dwarf_Addr start, end, to_start, to_end;
	Dwarf_Frame *a, *b;
	Dwarf_Op *a_ops, *b_ops;
	size_t a_count, b_count;
	bool signal, to_signal;

	if (dwarf_cfi_addrframe(from->cfi, pc, &a))
		fail_msg("%#lx: %s", pc, dwarf_errmsg(-1));
	if (dwarf_cfi_addrframe(to->cfi, pc + delta, &b))
		fail_msg("moved %#lx: %s", pc, dwarf_errmsg(-1));
	assert_int_equal(dwarf_frame_info(a, &start, &end, &signal),
			 dwarf_frame_info(b, &to_start, &to_end, &to_signal)); // return address
	assert_true(start <= pc && pc < end);
	assert_int_equal(to_start, start + delta);
	assert_int_equal(to_end, end + delta);
	assert_int_equal(signal, to_signal);
	assert_int_equal(dwarf_frame_cfa(a, &a_ops, &a_count), 0);
	assert_int_equal(dwarf_frame_cfa(b, &b_ops, &b_count), 0);
	compare_rules(a_ops, a_count, b_ops, b_count);
	for (int reg = 0; reg < REGISTERS; reg++) {
		Dwarf_Op a_mem[3], b_mem[3];

		assert_int_equal(dwarf_frame_register(a, reg, a_mem, &a_ops, &a_count), 0);
		assert_int_equal(dwarf_frame_register(b, reg, b_mem, &b_ops, &b_count), 0);
		compare_rules(a_ops, a_count, b_ops, b_count);
	}
	free(a);
	free(b);
	return end;
}

static uint64_t number_at(const uint8_t *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

/* Where an FDE of the new data begins, in one of its two known forms. */
static uint64_t read_range(const struct view *to, const Dwarf_FDE *fde, uint64_t *size)
{
	uint64_t place = to->vaddr + (uint64_t)(fde->start - (const uint8_t *)to->data->d_buf);

	*size = number_at(fde->start + 8, 8);
	return number_at(fde->start, 8) + (to->form == JITREG_FRAMES_DEBUG ? 0 : place);
}

static size_t count_functions(const struct view *v)
{
	Dwarf_Off off = 0, next;
	Dwarf_CFI_Entry entry;
	size_t count = 0;
	int r;

	while (!(r = dwarf_next_cfi((const unsigned char *)v->ident, v->data,
				    v->form == JITREG_FRAMES_EH, off, &next, &entry))) {
		count += !dwarf_cfi_cie_p(&entry);
		off = next;
	}
	assert_int_equal(r, 1); // the end, no error
	return count;
}

/*
 * Compare each row of each function. @to has all functions twice, the second time DELTA further away. Returns the
 * number of functions.
 */
static size_t compare(struct view *from, struct view *to)
{
	size_t count = count_functions(to) / 2, i = 0;
	Dwarf_Off off = 0, next;
	Dwarf_CFI_Entry entry;

	for (; !dwarf_next_cfi((const unsigned char *)to->ident, to->data,
			       to->form == JITREG_FRAMES_EH, off, &next, &entry); off = next) {
		uint64_t delta = i < count ? 0 : DELTA, size, pc, end;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		pc = read_range(to, &entry.fde, &size) - delta;
		end = pc + size;
		while (pc < end)
			pc = compare_row(from, to, pc, delta);
		assert_int_equal(pc, end);
		i++;
	}
	assert_int_equal(i, 2 * count);
	return count;
}

/* Move to both forms, twice into one section, and compare. */
static size_t check_moved(const uint8_t *frames, size_t size, uint64_t vaddr)
{
	size_t count = 0;

	for (int form = JITREG_FRAMES_DEBUG; form <= JITREG_FRAMES_EH; form++) {
		struct jitreg_bytes bytes = {0};
		struct view from, to;

		for (uint64_t delta = 0; delta <= DELTA; delta += DELTA)
			assert_int_equal(move_frames(&bytes, (enum jitreg_frames_form)form, TO_VADDR,
						     frames, size, vaddr, delta), 0);
		view_init(&from, frames, size, vaddr, JITREG_FRAMES_EH);
		view_init(&to, bytes.data, bytes.size, TO_VADDR, (enum jitreg_frames_form)form);
		count = compare(&from, &to);
		view_deinit(&to);
		view_deinit(&from);
		jitreg_bytes_deinit(&bytes);
	}
	return count;
}

/* The .eh_frame of a file, in a block of its size. NULL: it has none. */
static uint8_t *read_frames(const char *path, size_t *size, uint64_t *vaddr)
{
	size_t file_size;
	uint8_t *file = util_read(path, &file_size), *frames = NULL;
	const Elf64_Shdr *shdr = jitreg_file_section(file, ".eh_frame");

	if (shdr) {
		*size = shdr->sh_size;
		*vaddr = shdr->sh_addr;
		frames = malloc(*size);
		memcpy(frames, file + shdr->sh_offset, *size);
	}
	free(file);
	return frames;
}

/* How many functions of @path are described; all of them have to arrive. */
static size_t check_file(const char *path)
{
	uint64_t vaddr;
	size_t size, count;
	uint8_t *frames = read_frames(path, &size, &vaddr);
	struct view from;

	assert_non_null(frames);
	view_init(&from, frames, size, vaddr, JITREG_FRAMES_EH);
	count = count_functions(&from);
	view_deinit(&from);
	assert_int_equal(check_moved(frames, size, vaddr), count);
	free(frames);
	return count;
}

/* --- what compilers write ------------------------------------------------------------- */

static int compile(void **state)
{
	static const char c[] = "int other(int *);\n"
				"int plain(int n) { return n + 1; }\n"
				"int calls(int n) { int a[4] = {n}; return other(a) + a[1]; }\n"
				"int grows(int n) { int a[n]; a[0] = n; return other(a) + a[n - 1]; }\n"
				"__attribute__((force_align_arg_pointer)) int aligns(int n)\n"
				"{ int a[8] __attribute__((aligned(64))) = {n}; return other(a); }\n";
	static const char cc[] = "struct guard { ~guard(); };\n"
				 "int risky(int);\n"
				 "int cleans(int n) { guard g; return risky(n) + 1; }\n"
				 "int catches(int n) { try { return risky(n); } catch (int i) { return i; } }\n"
				 "int quiet(int n) noexcept { return n * 2; }\n";
	// Registers by their numbers, and no instructions but nop and ret: for every machine.
	static const char s[] = ".text\n"
				".globl signal_frame\n"
				"signal_frame: .cfi_startproc\n"
				".cfi_signal_frame\n"
				".cfi_def_cfa 7, 160\n"
				".cfi_offset 16, -8\n"
				"nop\n"
				".cfi_escape 0x0f, 3, 0x77, 0xa0, 1\n" // CFA by an expression
				"nop\n"
				".cfi_escape 0x10, 3, 2, 0x77, 8\n" // a register by an expression
				".cfi_escape 0x16, 6, 2, 0x77, 16\n" // a register's value by one
				"nop\n"
				".cfi_endproc\n"
				".globl many_rules\n"
				"many_rules: .cfi_startproc\n"
				"nop\n"
				".cfi_adjust_cfa_offset 8\n"
				".cfi_rel_offset 3, 0\n"
				".cfi_remember_state\n"
				".skip 100, 0x90\n"
				".cfi_undefined 12\n"
				".cfi_same_value 13\n"
				".cfi_register 14, 15\n"
				".skip 300, 0x90\n"
				".cfi_def_cfa_register 6\n"
				".cfi_val_offset 3, -32\n"
				".skip 70000, 0x90\n"
				".cfi_restore_state\n"
				".cfi_escape 0x2e, 16\n" // size of arguments
				"nop\n"
				".cfi_adjust_cfa_offset -8\n"
				".cfi_restore 3\n"
				"ret\n"
				".cfi_endproc\n"
				".globl other_return\n"
				"other_return: .cfi_startproc\n"
				".cfi_return_column 11\n"
				"nop\n"
				".cfi_endproc\n"
				".globl bare\n"
				"bare: .cfi_startproc simple\n"
				"nop\n"
				".cfi_endproc\n"
				".section .note.GNU-stack,\"\",%progbits\n";

	if (util_setup(state))
		return -1;
	util_write(util_path("frames.c"), c, sizeof(c) - 1);
	util_write(util_path("frames.cc"), cc, sizeof(cc) - 1);
	util_write(util_path("frames.s"), s, sizeof(s) - 1);
	return util_run("gcc -O2 -fPIC -shared -nostdlib frames.c -o c.so && "
			"gcc -O2 -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables -fno-unwind-tables "
			"%s frames.c -o none.so && "
			"g++ -O1 -fPIC -shared frames.cc -o cc.so && "
			"gcc -fPIC -shared -nostdlib frames.s -o s.so && "
			"g++ -O2 -fPIC -shared frames.c frames.cc frames.s -o all.so 2>/dev/null",
			LINKS_UNWIND_DATA ? "-Wl,--no-ld-generated-unwind-info" : "");
}

static void append_c_has_the_same_rows(void **state)
{
	(void)state;
	assert_int_equal(check_file(util_path("c.so")), LINKS_UNWIND_DATA ? 5 : 4);
}

static void append_exceptions_has_the_same_rows(void **state)
{
	(void)state;
	assert_in_range(check_file(util_path("cc.so")), 4, 20);
}

static void append_signal_frames_and_hand_written_rules_has_the_same_rows(void **state)
{
	(void)state;
	assert_int_equal(check_file(util_path("s.so")), 4);
}

static void append_several_cies_has_the_same_rows(void **state)
{
	(void)state;
	assert_in_range(check_file(util_path("all.so")), 11, 30);
}

static void append_no_unwind_tables_moves_nothing(void **state)
{
	struct jitreg_bytes to = {0};
	uint64_t vaddr;
	size_t size = 0;
	uint8_t *frames = read_frames(util_path("none.so"), &size, &vaddr);

	(void)state;
	assert_int_equal(size, 0); // the section may be there
	assert_int_equal(move_frames(&to, JITREG_FRAMES_EH, TO_VADDR, frames, size, vaddr, 0), 0);
	assert_int_equal(to.size, 0);
	free(frames);
}

static void append_libpython_has_the_same_rows(void **state)
{
	(void)state;
	if (access(SYSTEM_LIBPYTHON, R_OK))
		skip_because("no %s here", SYSTEM_LIBPYTHON);
	assert_in_range(check_file(SYSTEM_LIBPYTHON), 5000, 100000);
}

static void append_numpy_has_the_same_rows(void **state)
{
	glob_t found;

	(void)state;
	if (glob("/usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath*.so", 0, NULL, &found)) {
		globfree(&found);
		skip_because("numpy is not installed");
	}
	assert_in_range(check_file(found.gl_pathv[0]), 1000, 100000);
	globfree(&found);
}

/* --- forms that hardly anything writes ---------------------------------------------------- */

struct text {
	uint8_t data[512];
	size_t size;
};

static void put(struct text *t, uint64_t value, size_t size)
{
	memcpy(t->data + t->size, &value, size);
	t->size += size;
}

static void put_data(struct text *t, const void *data, size_t size)
{
	memcpy(t->data + t->size, data, size);
	t->size += size;
}

/* Pad an entry that began at @off with DW_CFA_nop and write its length. */
static void end_entry(struct text *t, size_t off)
{
	uint32_t length;

	while (t->size % 8)
		put(t, 0, 1);
	length = (uint32_t)(t->size - off - 4);
	memcpy(t->data + off, &length, sizeof(length));
}

/* A CIE; @augmentation with its NUL, @more what it says, its size first. */
static void put_cie(struct text *t, unsigned version, const char *augmentation, const char *more,
		    size_t more_size)
{
	static const uint8_t rules[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
	size_t off = t->size;

	put(t, 0, 8);
	put(t, version, 1);
	put_data(t, augmentation, strlen(augmentation) + 1);
	put(t, 1, 1);
	put(t, 0x78, 1); // -8
	put(t, 16, 1);
	put_data(t, more, more_size);
	put_data(t, rules, sizeof(rules));
	end_entry(t, off);
}

/* An FDE of 32 bytes at @start for the CIE at 0. */
static void put_fde(struct text *t, uint64_t start, size_t start_size, bool has_size,
		    const void *rules, size_t rules_size)
{
	size_t off = t->size;

	put(t, 0, 4);
	put(t, t->size, 4);
	put(t, start, start_size);
	put(t, 32, start_size);
	if (has_size)
		put(t, 0, 1);
	put_data(t, rules, rules_size);
	end_entry(t, off);
}

static const uint8_t some_rules[] = {DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16,
				     DW_CFA_advance_loc1, 8, DW_CFA_offset | 3, 2};

/* Append what was written, and return the result. */
static int append(const struct text *t, enum jitreg_frames_form form, uint64_t to_vaddr)
{
	struct jitreg_bytes bytes = {0};
	uint8_t *exact = malloc(t->size ? t->size : 1);
	int r;

	memcpy(exact, t->data, t->size);
	r = move_frames(&bytes, form, to_vaddr, exact, t->size, VADDR, DELTA);
	jitreg_bytes_deinit(&bytes);
	free(exact);
	return r;
}

static void append_each_form_of_addresses_has_the_same_rows(void **state)
{
	static const struct {
		const char *augmentation;
		char more[2];
		size_t more_size, size;
		unsigned version;
		bool relative;
	} forms[] = {
		{"", {0}, 0, 8, 1, false},
		{"", {0}, 0, 8, 3, false},
		{"zR", {1, DW_EH_PE_absptr}, 2, 8, 1, false},
		{"zR", {1, DW_EH_PE_udata4}, 2, 4, 1, false},
		{"zR", {1, DW_EH_PE_sdata4}, 2, 4, 1, false},
		{"zR", {1, DW_EH_PE_udata8}, 2, 8, 3, false},
		{"zRS", {1, DW_EH_PE_sdata8}, 2, 8, 1, false},
		{"zR", {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4}, 2, 4, 3, true},
		{"zSR", {1, DW_EH_PE_pcrel | DW_EH_PE_sdata8}, 2, 8, 1, true},
		{"zR", {1, DW_EH_PE_pcrel | DW_EH_PE_absptr}, 2, 8, 1, true},
		{"z", {0}, 1, 8, 1, false},
		{"zS", {0}, 1, 8, 1, false},
		{"zRB", {1, DW_EH_PE_sdata4}, 2, 4, 1, false}, // aarch64's
		{"zRBS", {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4}, 2, 4, 1, true},
		{"zRG", {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4}, 2, 4, 1, true},
		{"zB", {0}, 1, 8, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct text t = {0};

		put_cie(&t, forms[i].version, forms[i].augmentation, forms[i].more, forms[i].more_size);
		for (uint64_t start = 0x1000; start < 0x1100; start += 0x40)
			put_fde(&t, forms[i].relative ? start - (VADDR + t.size + 8) : start, forms[i].size,
				forms[i].augmentation[0], some_rules, sizeof(some_rules));
		put(&t, 0, 4);
		print_message("%s, version %u\n", forms[i].augmentation, forms[i].version);
		assert_int_equal(check_moved(t.data, t.size, VADDR), 4);
	}
}

static void append_padded_numbers_have_the_same_rows(void **state)
{
	static const uint8_t rules[] = {
		DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 0x90, 0x80, 0x80, 0};
	struct text t = {0};

	(void)state;
	put(&t, 0, 8);
	put(&t, 1, 1);
	put_data(&t, "zR", 3);
	put_data(&t, "\x81\x80\x00", 3);     // 1
	put_data(&t, "\xf8\xff\xff\x7f", 4); // -8
	put(&t, 16, 1);
	put_data(&t, "\x81\x00\x03", 3); // one byte: DW_EH_PE_udata4
	put_data(&t, "\x0c\x87\x00\x88\x80\x00", 6); // DW_CFA_def_cfa
	end_entry(&t, 0);
	put_fde(&t, 0x1000, 4, true, rules, sizeof(rules));
	assert_int_equal(check_moved(t.data, t.size, VADDR), 1);
}

static void append_empty_function_is_dropped(void **state)
{
	struct text t = {0};
	size_t off;

	(void)state;
	put_cie(&t, 1, "", "", 0);
	off = t.size;
	put_fde(&t, 0, 8, false, some_rules, sizeof(some_rules));
	put_fde(&t, 0x1000, 8, false, some_rules, sizeof(some_rules));
	memset(t.data + off + 16, 0, 8); // its size
	assert_int_equal(check_moved(t.data, t.size, VADDR), 1);
}

static void append_function_outside_is_dropped(void **state)
{
	struct jitreg_frames from = {.delta = DELTA, .vaddr = VADDR};
	struct text t = {0};

	(void)state;
	put_cie(&t, 1, "", "", 0);
	for (uint64_t start = 0x1000; start < 0x1100; start += 0x40)
		put_fde(&t, start, 8, false, some_rules, sizeof(some_rules));
	put_fde(&t, UINT64_C(1) << 40, 8, false, some_rules, sizeof(some_rules));
	from.data = t.data;
	from.size = t.size;
	from.start = DELTA + 0x1040;
	from.end = DELTA + 0x10c0;
	for (int form = JITREG_FRAMES_DEBUG; form <= JITREG_FRAMES_EH; form++) {
		struct jitreg_bytes to = {0};
		struct view view;

		assert_int_equal(jitreg_frames_append(&to, TO_VADDR, (enum jitreg_frames_form)form, &from), 0);
		view_init(&view, to.data, to.size, TO_VADDR, (enum jitreg_frames_form)form);
		assert_int_equal(count_functions(&view), 2);
		view_deinit(&view);
		jitreg_bytes_deinit(&to);
	}
}

static void append_nothing_is_nothing(void **state)
{
	struct text t = {0};

	(void)state;
	assert_int_equal(append(&t, JITREG_FRAMES_EH, TO_VADDR), 0);
	put(&t, 0, 4);
	assert_int_equal(append(&t, JITREG_FRAMES_EH, TO_VADDR), 0);
}

static void append_functions_are_as_far_away_as_memory_is_large(void **state)
{
	static const uint64_t places[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 46, -UINT64_C(1) << 40};
	struct text t = {0};

	(void)state;
	put_cie(&t, 1, "", "", 0);
	put_fde(&t, 0x1000, 8, false, some_rules, sizeof(some_rules));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct jitreg_bytes to = {0};
		uint64_t distance;
		uint32_t first;

		assert_int_equal(move_frames(&to, JITREG_FRAMES_EH, places[i], t.data, t.size, VADDR, 0), 0);
		memcpy(&first, to.data, sizeof(first));
		first += 4 + 8; // behind the CIE, a length and a distance to the CIE
		memcpy(&distance, to.data + first, sizeof(distance));
		assert_int_equal(places[i] + first + distance, 0x1000);
		jitreg_bytes_deinit(&to);
	}
}

/* --- damage --------------------------------------------------------------------------- */

static void append_contradictions_are_refused(void **state)
{
	static const struct {
		const char *what, *augmentation, *more;
		size_t more_size, cie_off, fde_off; // a byte of either, or 0
		uint8_t version, value;
	} cases[] = {
		{"version 0", "zR", "\1\3", 2, 0, 0, 0, 0},
		{"version 4", "zR", "\1\3", 2, 0, 0, 4, 0},
		{"gcc 2", "eh", "\1\3\0\0\0\0\0\0", 8, 0, 0, 1, 0},
		{"no z", "R", "\3", 1, 0, 0, 1, 0},
		{"unknown letter", "zRX", "\1\3", 2, 0, 0, 1, 0},
		{"letter without data", "zRL", "\1\3", 2, 0, 0, 1, 0},
		{"addresses of 2 bytes", "zR", "\1\2", 2, 0, 0, 1, 0},
		{"addresses as LEB128", "zR", "\1\1", 2, 0, 0, 1, 0},
		{"addresses from the text", "zR", "\1\x23", 2, 0, 0, 1, 0},
		{"addresses from data", "zR", "\1\x3b", 2, 0, 0, 1, 0},
		{"indirect addresses", "zR", "\1\x83", 2, 0, 0, 1, 0},
		{"no addresses", "zR", "\1\xff", 2, 0, 0, 1, 0},
		{"aligned personality", "zPR", "\7\x50\0\0\0\0\0\3", 8, 0, 0, 1, 0},
		{"no personality", "zPR", "\2\xff\3", 3, 0, 0, 1, 0},
		{"personality as LEB128", "zPR", "\3\1\0\3", 4, 0, 0, 1, 0},
		{"augmentation beyond the end", "zR", "\x7f\3", 2, 0, 0, 1, 0},
		{"no end of a number", "zR", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 13,
		 0, 0, 1, 0},
		{"text of the augmentation", "zR", "\1\3", 2, 11, 0, 1, 'x'},
		{"rule of the CIE", "zR", "\1\3", 2, 17, 0, 1, DW_CFA_set_loc},
		{"distance to the CIE", "zR", "\1\3", 2, 0, 4, 1, 1},
		{"CIE before the start", "zR", "\1\3", 2, 0, 5, 1, 0x70},
		{"length of the CIE", "zR", "\1\3", 2, 1, 0, 1, 0x10},
		{"length of the FDE", "zR", "\1\3", 2, 0, 1, 1, 0x10},
		{"augmentation of the FDE", "zR", "\1\3", 2, 0, 16, 1, 0x70},
		{"rule of the FDE", "zR", "\1\3", 2, 0, 17, 1, DW_CFA_set_loc},
		{"unknown rule", "zR", "\1\3", 2, 0, 17, 1, 0x3f},
		{"block beyond the end", "zR", "\1\3", 2, 0, 17, 1, DW_CFA_expression},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static const uint8_t rules[] = {DW_CFA_def_cfa_offset, 16, 0x7f};
		static const uint8_t harmless[] = {DW_CFA_advance_loc | 1, DW_CFA_advance_loc | 1};
		bool block = !strcmp(cases[i].what, "block beyond the end");
		struct text t = {0};
		size_t fde;

		put_cie(&t, cases[i].version, cases[i].augmentation, cases[i].more, cases[i].more_size);
		fde = t.size;
		put_fde(&t, 0x1000, 4, true, block ? rules : harmless, block ? sizeof(rules) : sizeof(harmless));
		if (cases[i].cie_off)
			t.data[cases[i].cie_off] = cases[i].value;
		if (cases[i].fde_off)
			t.data[fde + cases[i].fde_off] = cases[i].value;
		for (int form = JITREG_FRAMES_DEBUG; form <= JITREG_FRAMES_EH; form++)
			if (append(&t, (enum jitreg_frames_form)form, TO_VADDR) != -ENOEXEC)
				fail_msg("%s", cases[i].what);
	}
}

static void append_length_beyond_the_end_is_refused(void **state)
{
	static const uint32_t lengths[] = {1, 3, 0x7fffffff, 0xfffffff0, 0xfffffffe, 0xffffffff};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct text t = {0};

		put_cie(&t, 1, "", "", 0);
		memcpy(t.data, &lengths[i], sizeof(lengths[i]));
		assert_int_equal(append(&t, JITREG_FRAMES_EH, TO_VADDR), -ENOEXEC);
	}
	for (uint64_t length = 28; length; length = length == 28 ? UINT64_MAX : 0) { // of 64 bits
		struct text t = {0}, rest = {0};

		put(&t, UINT32_MAX, 4);
		put(&t, length, 8);
		put_cie(&rest, 1, "", "", 0);
		put_data(&t, rest.data + 4, rest.size - 4);
		assert_int_equal(append(&t, JITREG_FRAMES_EH, TO_VADDR), -ENOEXEC);
	}
}

static void append_overlong_alignment_factor_is_refused(void **state)
{
	struct text t = {0};

	(void)state;
	put(&t, 0, 8);
	put(&t, 1, 1);
	put_data(&t, "", 1);
	put(&t, 1, 1);
	put_data(&t, "\xf8\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11); // -8 in more than 64 bits
	put(&t, 16, 1);
	end_entry(&t, 0);
	assert_int_equal(append(&t, JITREG_FRAMES_EH, TO_VADDR), -ENOEXEC);
}

/* Whether an entry ends at @cut, so that what is in front is whole. */
static bool is_boundary(const uint8_t *frames, size_t size, size_t cut)
{
	size_t at = 0;

	while (at < cut && at < size && number_at(frames + at, 4))
		at += 4 + number_at(frames + at, 4);
	return at == cut || (at < cut && !number_at(frames + at, 4) && cut - at >= 4);
}

static void append_truncated_is_refused(void **state)
{
	static const char *const names[] = {"c.so", "cc.so", "s.so", "all.so"};

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
		uint64_t vaddr;
		size_t size;
		uint8_t *frames = read_frames(util_path(names[n]), &size, &vaddr);

		for (size_t cut = 0; cut < size; cut++) {
			struct jitreg_bytes to = {0};
			uint8_t *exact = malloc(cut ? cut : 1);
			int r;

			memcpy(exact, frames, cut);
			r = move_frames(&to, JITREG_FRAMES_EH, TO_VADDR, exact, cut, vaddr, 0);
			if (r != (is_boundary(frames, size, cut) ? 0 : -ENOEXEC))
				fail_msg("%s, %zu of %zu bytes: %d", names[n], cut, size, r);
			assert_int_equal(jitreg_frames_check(exact, cut, vaddr), r);
			jitreg_bytes_deinit(&to);
			free(exact);
		}
		free(frames);
	}
}

/* Each byte gets each of these values: the result is an error, or a section that a reader gets to the end of. */
static void append_each_byte_damaged_stays_in_bounds(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x0f, 0x10, 0x16, 0x7f, 0x80, 0xc0, 0xff};
	uint64_t vaddr;
	size_t size, refused = 0, taken = 0;
	uint8_t *frames = read_frames(util_path("all.so"), &size, &vaddr);

	(void)state;
	for (size_t at = 0; at < size; at++) {
		for (size_t v = 0; v < sizeof(values); v++) {
			struct jitreg_bytes to = {0};
			uint8_t *exact = malloc(size);
			struct view view;
			int r;

			memcpy(exact, frames, size);
			exact[at] = values[v];
			r = move_frames(&to, JITREG_FRAMES_EH, TO_VADDR, exact, size, vaddr, 0);
			if (r) {
				assert_int_equal(r, -ENOEXEC);
				refused++;
			} else if (to.size) {
				view_init(&view, to.data, to.size, TO_VADDR, JITREG_FRAMES_EH);
				count_functions(&view);
				view_deinit(&view);
				taken++;
			}
			jitreg_bytes_deinit(&to);
			free(exact);
		}
	}
	assert_true(refused > size / 2);
	assert_true(taken > size / 2);
	free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append_c_has_the_same_rows),
		cmocka_unit_test(append_exceptions_has_the_same_rows),
		cmocka_unit_test(append_signal_frames_and_hand_written_rules_has_the_same_rows),
		cmocka_unit_test(append_several_cies_has_the_same_rows),
		cmocka_unit_test(append_no_unwind_tables_moves_nothing),
		cmocka_unit_test(append_libpython_has_the_same_rows),
		cmocka_unit_test(append_numpy_has_the_same_rows),
		cmocka_unit_test(append_each_form_of_addresses_has_the_same_rows),
		cmocka_unit_test(append_padded_numbers_have_the_same_rows),
		cmocka_unit_test(append_empty_function_is_dropped),
		cmocka_unit_test(append_function_outside_is_dropped),
		cmocka_unit_test(append_nothing_is_nothing),
		cmocka_unit_test(append_functions_are_as_far_away_as_memory_is_large),
		cmocka_unit_test(append_contradictions_are_refused),
		cmocka_unit_test(append_length_beyond_the_end_is_refused),
		cmocka_unit_test(append_overlong_alignment_factor_is_refused),
		cmocka_unit_test(append_truncated_is_refused),
		cmocka_unit_test(append_each_byte_damaged_stays_in_bounds),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests_name("jitreg/frames", tests, compile, NULL);
}
