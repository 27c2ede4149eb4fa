// SPDX-License-Identifier: MIT
/*
 * Groups: what debuggers have of a group's images, event by event; what is in a pack and in
 * its companion; and what becomes of both when there is no folder, no memory or no peace.
 *
 * Images are registered at addresses where nothing is mapped, at the same distances from
 * the start of each group. Calls in the Makefile's list are wrapped, so that the n-th of
 * them can be made to fail.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/group.h"
#include "../jitreg/symfile.h"
#include "../jitreg/writer.h"
#include "jitreg_util.h"

#define BASE(n)    (UINT64_C(0x200000000000) + (uint64_t)(n) * (UINT64_C(1) << 32))
#define IMAGE_SIZE UINT64_C(0x8000)
#define THREADS    6
#define REPEATS    20

#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN() skip()
#else
#define SKIP_UNDER_TSAN() (void)0
#endif

/* --- calls that fail ------------------------------------------------------------------- */

static long call_count, fail_at;

static bool fails(void)
{
	return fail_at && ++call_count == fail_at;
}

#define WRAP(type, name, params, args, failure, error)                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		if (fails()) {                                                                     \
			errno = error;                                                             \
			return failure;                                                            \
		}                                                                                  \
		return __real_##name args;                                                         \
	}

WRAP(void *, malloc, (size_t a), (a), NULL, ENOMEM)
WRAP(void *, calloc, (size_t a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, realloc, (void *a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, reallocarray, (void *a, size_t b, size_t c), (a, b, c), NULL, ENOMEM)
WRAP(char *, strdup, (const char *a), (a), NULL, ENOMEM)
WRAP(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f),
     MAP_FAILED, ENOMEM)
WRAP(int, mprotect, (void *a, size_t b, int c), (a, b, c), -1, ENOMEM)
WRAP(int, memfd_create, (const char *a, unsigned b), (a, b), -1, EMFILE)
WRAP(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d), -1, EIO)
WRAP(ssize_t, write, (int a, const void *b, size_t c), (a, b, c), -1, ENOSPC)
WRAP(int, mkostemps, (char *a, int b, int c), (a, b, c), -1, EROFS)
WRAP(FILE *, open_memstream, (char **a, size_t *b), (a, b), NULL, ENOMEM)

/* What another process does just before a file is locked, or gets its name; once. */
static void (*before_lock)(void), (*before_link)(const char *path);

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	void (*other)(void) = before_lock;

	before_lock = NULL;
	if (other)
		other();
	if (!fails())
		return __real_flock(fd, operation);
	errno = ENOLCK;
	return -1;
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
	void (*other)(const char *path) = before_link;

	before_link = NULL;
	if (other)
		other(to);
	if (!fails())
		return __real_link(from, to);
	errno = EMLINK;
	return -1;
}

/* --- what happens ---------------------------------------------------------------------- */

/* As text: "self.so:pack " an image has moved, "+pack " and "-self.so " events, "|" the two
 * that make debuggers look at their breakpoints. */
static char events[1024];

static void note(const char *what, const char *name, const char *more)
{
	size_t size = strlen(events);

	snprintf(events + size, sizeof(events) - size, "%s%s%s ", what, name, more);
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void on_stop(void)
{
	const struct jitreg_listing *listing =
		(const struct jitreg_listing *)__jit_debug_descriptor.relevant_entry;
	bool comes = __jit_debug_descriptor.action_flag == JIT_REGISTER_FN;

	assert_int_equal(jitreg_debug_root.sequence % 2, 0);
	assert_memory_equal(listing->debug.base.symfile_addr, "\177ELF", 4);
	if (listing->debug.base.symfile_size < 256) // without content, in no list
		note(comes ? "(" : ")", "", "");
	else
		note(comes ? "+" : "-",
		     listing->template->path ? base_name(listing->template->path) : "pack", "");
}

/* An image and what its owner was told of it. */
struct image {
	const char *name;
	struct jitreg_entry *entry;
	struct jitreg_info info;
	unsigned moves;
};

static void on_moved(void *ctx, const struct jitreg_info *info)
{
	static const char *const kinds[] = {":full", ":lean", ":pack"};
	struct image *image = ctx;

	image->info = *info;
	image->moves++;
	note("", image->name, info->symfile ? kinds[info->symfile_kind] : ":gone");
}

#define assert_events(text)                                                                        \
	do {                                                                                       \
		assert_string_equal(events, text);                                                 \
		events[0] = '\0';                                                                  \
	} while (0)

/* Register @name at @off from the start of a group. */
static int try_enter(struct jitreg_group *group, uint64_t base, uint64_t off, const char *name,
		     uint32_t flags, struct image *ret)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path(name),
		.fd = -1,
		.flags = flags,
		.bias = base + off,
		.start = base + off,
		.end = base + off + IMAGE_SIZE,
		.group = group,
		.moved = on_moved,
		.ctx = ret,
	};

	*ret = (struct image){.name = name};
	return jitreg_register(&image, &ret->entry);
}

static void enter_at(struct jitreg_group *group, uint64_t base, uint64_t off, const char *name,
		     uint32_t flags, struct image *ret)
{
	assert_int_equal(try_enter(group, base, off, name, flags, ret), 0);
	assert_int_equal(ret->moves, 1);
}

/* Two libraries side by side, and one away from them. */
#define SIDE_BY_SIDE 3
static const struct {
	const char *name;
	uint64_t off;
} layout[SIDE_BY_SIDE] = {{"self.so", 0x10000}, {"names.so", 0x19000}, {"link.so", 0x100000}};

struct world {
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
};

static void world_enter(struct world *w, unsigned number)
{
	assert_int_equal(jitreg_group_create(BASE(number), &w->group), 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++)
		enter_at(w->group, BASE(number), layout[i].off, layout[i].name, JITREG_LEAN, &w->images[i]);
}

static void world_leave(struct world *w)
{
	jitreg_group_close(w->group);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++)
		jitreg_unregister(w->images[i].entry);
	jitreg_group_destroy(w->group);
}

/* Entered, and packed into one symfile that all images have. */
static void world_pack(struct world *w, unsigned number)
{
	world_enter(w, number);
	assert_int_equal(jitreg_group_pack(w->group), 0);
	assert_int_equal(jitreg_group_count_loose(w->group), 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		assert_int_equal(w->images[i].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_ptr_equal(w->images[i].info.symfile, w->images[0].info.symfile);
	}
}

static void assert_nothing_left(void)
{
	assert_int_equal(jitreg_count(), 0);
	assert_null(__jit_debug_descriptor.first_entry);
	assert_int_equal(jitreg_template_count(), 0);
}

static const Elf64_Shdr *section(const struct jitreg_info *info, const char *name)
{
	return jitreg_file_section(info->symfile, name);
}

/* Name of the companion that a symfile refers to, or NULL. */
static const char *companion_of(const struct jitreg_info *info)
{
	const Elf64_Shdr *link = section(info, ".gnu_debuglink");

	return link ? (const char *)info->symfile + link->sh_offset : NULL;
}

/* For children, where no assertion can help: 1 packed with a companion, 0 without, or -errno. */
static int pack_in_child(unsigned number)
{
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
	int r = jitreg_group_create(BASE(number), &group);

	for (size_t i = 0; !r && i < SIDE_BY_SIDE; i++)
		r = try_enter(group, BASE(number), layout[i].off, layout[i].name, JITREG_LEAN, &images[i]);
	if (!r)
		r = jitreg_group_pack(group);
	if (r || !companion_of(&images[0].info))
		return r;
	return access(companion_of(&images[0].info), R_OK) ? -errno : 1;
}

/* Value of a name in a finished file: section's address, if relative, and value. */
static bool find_name(const uint8_t *bytes, bool relative, const char *name, unsigned *binding,
		      uint64_t *address)
{
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const Elf64_Shdr *symtab = jitreg_file_section(bytes, ".symtab");
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;

	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++) {
		if (strcmp(strtab + syms[i].st_name, name) != 0)
			continue;
		*binding = ELF64_ST_BIND(syms[i].st_info);
		*address = syms[i].st_value + (relative ? shdrs[syms[i].st_shndx].sh_addr : 0);
		return true;
	}
	return false;
}

/* Link-time address of a function in a fixture. */
static uint64_t vaddr_of(const char *library, const char *name)
{
	uint64_t address = 0;
	unsigned binding;
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);

	assert_true(find_name(bytes, false, name, &binding, &address));
	free(bytes);
	return address;
}

/* --- packing --------------------------------------------------------------------------- */

static void pack_images_have_one_symfile(void **state)
{
	struct world w;

	(void)state;
	events[0] = '\0';
	world_enter(&w, 0);
	assert_int_equal(jitreg_count(), 3);
	assert_int_equal(jitreg_group_count_loose(w.group), 3);
	assert_int_equal(w.images[0].info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_int_equal(jitreg_count(), 1);
	for (size_t i = 0; i < 3; i++) {
		struct jitreg_info info;

		jitreg_entry_get_info(w.images[i].entry, &info);
		assert_int_equal(w.images[i].moves, 2);
		assert_memory_equal(&info, &w.images[i].info, sizeof(info));
		assert_ptr_equal(info.symfile, __jit_debug_descriptor.first_entry->symfile_addr);
		assert_int_equal(info.start, BASE(0) + layout[i].off);
		assert_int_equal(info.end, info.start + IMAGE_SIZE);
	}
	// what is known of the image is still its own
	assert_int_equal(w.images[0].info.debug_kind, JITREG_DEBUG_SELF);
	assert_int_equal(w.images[1].info.debug_kind, JITREG_DEBUG_NAMES);
	assert_string_equal(base_name(w.images[2].info.debug_path), "self.debug");
	world_leave(&w);
	assert_nothing_left();
}

static void pack_events_come_new_before_old(void **state)
{
	struct image more;
	struct world w;

	(void)state;
	SKIP_UNDER_TSAN();
	util_watch(on_stop);
	events[0] = '\0';
	world_enter(&w, 0);
	assert_events("self.so:lean +self.so names.so:lean +names.so link.so:lean +link.so ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack +pack -link.so -names.so -self.so ( ) ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("");

	enter_at(w.group, BASE(0), 0x200000, "tls.so", 0, &more);
	assert_events("tls.so:full +tls.so ");
	assert_int_equal(jitreg_group_count_loose(w.group), 1);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack +pack -tls.so -pack ( ) ");
	assert_int_equal(jitreg_count(), 1);

	// the old one goes first: both begin at the same address
	jitreg_unregister(w.images[0].entry);
	assert_events("-pack ( ) names.so:pack link.so:pack tls.so:pack +pack ");
	w.images[0].entry = NULL;
	jitreg_group_close(w.group);
	assert_events("tls.so:gone link.so:gone names.so:gone -pack ( ) ");
	jitreg_unregister(more.entry);
	world_leave(&w);
	assert_events("( ) "); // closed again
	util_watch_end();
	assert_nothing_left();
}

static void unregister_last_of_pack_removes_it(void **state)
{
	struct world w;

	(void)state;
	world_pack(&w, 0);
	jitreg_unregister(w.images[1].entry);
	assert_int_equal(jitreg_count(), 1);
	assert_ptr_equal(w.images[0].info.symfile, w.images[2].info.symfile);
	jitreg_unregister(w.images[0].entry);
	assert_int_equal(jitreg_count(), 1);
	assert_int_equal(w.images[2].info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_null(section(&w.images[2].info, ".text.1"));
	jitreg_unregister(w.images[2].entry);
	jitreg_group_destroy(w.group);
	assert_nothing_left();
}

static void close_entries_remain_without_symfile(void **state)
{
	struct world w;

	(void)state;
	world_pack(&w, 0);
	jitreg_group_close(w.group);
	assert_int_equal(jitreg_count(), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_null(w.images[i].info.symfile);
		assert_int_equal(w.images[i].info.symfile_size, 0);
		assert_int_equal(w.images[i].moves, 3);
		assert_int_equal(w.images[i].info.start, BASE(0) + layout[i].off);
	}
	assert_int_equal(jitreg_group_pack(w.group), 0); // nothing that could be packed
	assert_int_equal(jitreg_count(), 0);
	world_leave(&w);
	assert_nothing_left();
}

static void pack_if_known_packs_what_another_group_has(void **state)
{
	struct world first, second;

	(void)state;
	world_enter(&first, 0);
	assert_int_equal(jitreg_group_pack_if_known(first.group), 0);
	assert_int_equal(jitreg_count(), 3); // nobody has such a pack
	assert_int_equal(jitreg_group_pack(first.group), 0);
	world_enter(&second, 1);
	assert_int_equal(jitreg_count(), 4);
	assert_int_equal(jitreg_group_pack_if_known(second.group), 0);
	assert_int_equal(jitreg_count(), 2);
	assert_int_equal(second.images[0].info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_string_equal(companion_of(&second.images[0].info), companion_of(&first.images[0].info));
	world_leave(&first);
	world_leave(&second);
	assert_nothing_left();
}

static void pack_same_files_at_other_distances_is_another_pack(void **state)
{
	struct world first;
	struct image image[2];
	struct jitreg_group *group;

	(void)state;
	world_pack(&first, 0);
	assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
	enter_at(group, BASE(1), 0x10000, "self.so", JITREG_LEAN, &image[0]);
	enter_at(group, BASE(1), 0x1a000, "names.so", JITREG_LEAN, &image[1]);
	assert_int_equal(jitreg_group_pack_if_known(group), 0);
	assert_int_equal(jitreg_group_count_loose(group), 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_string_not_equal(companion_of(&image[0].info), companion_of(&first.images[0].info));
	jitreg_unregister(image[0].entry);
	jitreg_unregister(image[1].entry);
	jitreg_group_destroy(group);
	world_leave(&first);
	assert_nothing_left();
}

static void pack_image_too_far_away_keeps_its_own(void **state)
{
	static const uint64_t limit = UINT64_C(1) << 31;
	struct jitreg_group *group;
	struct image image[4];

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(4), &group), 0);
	enter_at(group, BASE(4), limit - IMAGE_SIZE, "self.so", JITREG_LEAN, &image[0]);
	enter_at(group, BASE(4), limit - IMAGE_SIZE + 0x1000, "link.so", JITREG_LEAN, &image[1]);
	enter_at(group, BASE(4), -limit, "names.so", JITREG_LEAN, &image[2]);
	enter_at(group, BASE(4), 0x10000, "tls.so", JITREG_LEAN, &image[3]);
	assert_int_equal(jitreg_group_count_loose(group), 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(jitreg_count(), 3);
	assert_int_equal(image[0].info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_int_equal(image[1].info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_int_equal(image[2].info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_int_equal(image[3].info.symfile_kind, JITREG_SYMFILE_PACK);
	for (size_t i = 0; i < 4; i++)
		jitreg_unregister(image[i].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

static void pack_writable_unwind_data_keeps_its_own(void **state)
{
	// its unwind data is read from memory
	void *memory = mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uintptr_t)memory - 0x10000;
	struct jitreg_group *group;
	struct image image;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(jitreg_group_create(base, &group), 0);
	enter_at(group, base, 0x10000, "live.so", JITREG_LEAN, &image);
	assert_int_equal(jitreg_group_count_loose(group), 0);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_LEAN);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	munmap(memory, IMAGE_SIZE);
	assert_nothing_left();
}

/* One library that lies does not keep the others from being packed. */
static void pack_unwind_data_of_elsewhere_is_left_out(void **state)
{
	struct image images[2];
	struct jitreg_group *group;
	const Elf64_Shdr *frames;
	int32_t far = INT32_MIN;
	uint32_t cie_size;
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = util_read(util_path("self.so"), &size);
	frames = jitreg_file_section(bytes, ".eh_frame");
	memcpy(&cie_size, bytes + frames->sh_offset, 4);
	memcpy(bytes + frames->sh_offset + 4 + cie_size + 8, &far, sizeof(far)); // of the first function
	util_write(util_path("lies.so"), bytes, size);
	free(bytes);
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "lies.so", JITREG_LEAN, &images[0]);
	enter_at(group, BASE(0), 0x20000, "names.so", JITREG_LEAN, &images[1]);
	assert_int_equal(jitreg_group_count_loose(group), 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(images[1].info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_non_null(companion_of(&images[1].info));
	jitreg_unregister(images[0].entry);
	jitreg_unregister(images[1].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* --- what is in it ---------------------------------------------------------------------- */

static void pack_symfile_has_stretches_names_and_a_reference(void **state)
{
	static const char *const names[] = {".text", ".text.1", ".text", ".text.1", ".eh_frame", ".strtab",
					    ".symtab", ".gnu_debuglink", ".debug_info", ".shstrtab"};
	struct world w[2];

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		const uint64_t start = BASE(n) + 0x10000, next = BASE(n) + 0x100000;
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
		assert_int_equal(ehdr->e_shnum, 11);
		for (size_t i = 0; i < 10; i++)
			assert_string_equal((const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset +
						    shdrs[i + 1].sh_name, names[i]);
		// what names count from, for lldb
		assert_int_equal(shdrs[1].sh_type, SHT_NULL);
		assert_int_equal(shdrs[1].sh_addr, start);
		assert_int_equal(shdrs[2].sh_type, SHT_NULL);
		assert_int_equal(shdrs[2].sh_addr, next);
		// the addresses, for gdb and for lldb; self.so and names.so are side by side
		assert_int_equal(shdrs[3].sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
		assert_int_equal(shdrs[3].sh_addr, start);
		assert_int_equal(shdrs[3].sh_size, 0x19000 - 0x10000 + IMAGE_SIZE);
		assert_int_equal(shdrs[4].sh_addr, next);
		assert_int_equal(shdrs[4].sh_size, IMAGE_SIZE);
		assert_int_equal(ehdr->e_phnum, 2);
		assert_int_equal(phdrs[0].p_vaddr, start);
		assert_int_equal(phdrs[0].p_memsz, shdrs[3].sh_size);
		assert_int_equal(phdrs[1].p_vaddr, next);
		assert_int_equal(phdrs[1].p_memsz, IMAGE_SIZE);
		assert_int_equal(shdrs[5].sh_type, SHT_NULL);
		assert_int_equal(shdrs[5].sh_addr, next + IMAGE_SIZE);
		for (size_t i = 5; i <= 10; i++)
			assert_true(shdrs[i].sh_offset + shdrs[i].sh_size <=
				    w[n].images[0].info.symfile_size);
		assert_int_equal(shdrs[9].sh_size, 16);

		assert_true(find_name(bytes, true, "snake_leaf", &binding, &address));
		assert_int_equal(binding, STB_LOPROC);
		assert_int_equal(address, start + vaddr_of("self.so", "snake_leaf"));
	}
	// what is common is at different distances and the same
	assert_string_equal(companion_of(&w[0].images[0].info), companion_of(&w[1].images[0].info));
	world_leave(&w[0]);
	world_leave(&w[1]);
	assert_nothing_left();
}

static void pack_companion_has_functions_and_unwind_data(void **state)
{
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
	text = jitreg_file_section(bytes, ".text.1");
	assert_non_null(text);
	assert_int_equal(text->sh_addr, 0x100000);
	assert_int_equal(text->sh_type, SHT_NOBITS);
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

/* --- the folder --------------------------------------------------------------------------- */

static size_t count_companions(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* A cache of a case's own. Returns the folder for companions, which is not there. */
static const char *use_cache(const char *name)
{
	static char folder[300];

	assert_int_equal(util_run("rm -rf %s", name), 0);
	setenv("XDG_CACHE_HOME", util_path(name), 1);
	snprintf(folder, sizeof(folder), "%s/gorgon", util_path(name));
	return folder;
}

/* All by itself: what is else in the companion is there for both debuggers. */
static void check_pack_without_companion(void)
{
	const struct jitreg_info *info;
	uint64_t address;
	unsigned binding;
	struct world w;

	world_pack(&w, 0);
	info = &w.images[0].info;
	assert_null(companion_of(info));
	assert_null(section(info, ".debug_info"));
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_phnum, 0);
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_shnum, 7);
	assert_int_equal(section(info, ".text")->sh_type, SHT_NOBITS);
	assert_int_equal(section(info, ".text")->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_int_equal(section(info, ".text")->sh_addr, BASE(0) + 0x10000);
	assert_int_equal(section(info, ".eh_frame")->sh_type, SHT_PROGBITS);
	assert_int_equal(section(info, ".eh_frame")->sh_addr, BASE(0) + 0x100000 + IMAGE_SIZE);
	assert_true(find_name(info->symfile, true, "snake_leaf", &binding, &address));
	assert_int_equal(binding, STB_GLOBAL);
	assert_int_equal(address, BASE(0) + 0x10000 + vaddr_of("self.so", "snake_leaf"));
	world_leave(&w);
	assert_nothing_left();
}

static void check_pack_with_companion(const char *folder)
{
	struct world w;

	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_memory_equal(companion_of(&w.images[0].info), folder, strlen(folder));
	world_leave(&w);
}

static void pack_no_cache_folder_does_without(void **state)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	char folder[300];

	(void)state;
	strcpy(folder, util_path("home/.cache/gorgon"));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	check_pack_without_companion();
	setenv("XDG_CACHE_HOME", "relative", 1);
	check_pack_without_companion();
	setenv("HOME", "home", 1);
	check_pack_without_companion();
	setenv("HOME", util_path("missing"), 1); // nobody makes homes
	check_pack_without_companion();
	assert_int_equal(util_run("mkdir -p home"), 0);
	setenv("HOME", util_path("home"), 1);
	check_pack_with_companion(folder);
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

static void pack_folder_of_others_is_not_used(void **state)
{
	const char *folder = use_cache("suspect");

	(void)state;
	check_pack_with_companion(folder); // which makes both folders
	assert_int_equal(util_run("test \"$(echo $(stat -c %%a suspect suspect/gorgon))\" = '700 700'"), 0);
	assert_int_equal(chmod(folder, 0770), 0);
	check_pack_without_companion();
	assert_int_equal(chmod(folder, 0702), 0);
	check_pack_without_companion();
	assert_int_equal(chmod(folder, 0755), 0);
	check_pack_with_companion(folder);
	if (!geteuid()) {
		assert_int_equal(chown(folder, 1, 1), 0);
		check_pack_without_companion();
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	assert_int_equal(util_run("mv suspect/gorgon suspect/other && ln -s other suspect/gorgon"), 0);
	check_pack_without_companion();
	assert_int_equal(util_run("rm suspect/gorgon && touch suspect/gorgon"), 0);
	check_pack_without_companion();
}

static void pack_limit_of_file_sizes_does_without(void **state)
{
	const char *folder = use_cache("limited");
	struct rlimit limit, low;
	struct world w;

	(void)state;
	world_enter(&w, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(jitreg_group_pack(w.group), -EFBIG); // and no signal
	assert_int_equal(jitreg_count(), 3);
	assert_int_equal(count_companions(folder), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_int_equal(count_companions(folder), 1);
	world_leave(&w);
	assert_nothing_left();
}

/* Run a case in a child, whose mounts are its own. */
static void run_with_mount(const char *options, unsigned long flags)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		static const char page[4096];
		const char *cache = getenv("XDG_CACHE_HOME");

		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", cache, "tmpfs", flags, options))
			_exit(77);
		if (!(flags & MS_RDONLY)) // all that there is room for
			util_write(util_path("mounted/full"), page, sizeof(page));
		_exit(-pack_in_child(0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void pack_read_only_or_full_file_system_does_without(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN();
	if (geteuid())
		skip();
	use_cache("mounted");
	assert_int_equal(util_run("mkdir mounted"), 0);
	run_with_mount("", MS_RDONLY);
	run_with_mount("size=4k", 0);
}

static void pack_something_else_by_the_name_is_left_alone(void **state)
{
	static const char *const others[] = {
		": > %s", "echo text > %s", "mkdir %s", "mkfifo %s", "ln -s missing %s",
		"head -c 300 old > %s", "sed s/companion/companiom/ old > %s"};
	const char *folder = use_cache("foreign");
	char name[300];
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	world_leave(&w);
	assert_string_equal(name + strlen(name) - strlen("-0.debug"), "-0.debug");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char command[400];

		assert_int_equal(util_run("mv %s old; rm -rf %s/*", name, folder), 0);
		snprintf(command, sizeof(command), others[i], name);
		assert_int_equal(util_run("%s", command), 0);
		world_pack(&w, 0);
		assert_string_equal(companion_of(&w.images[0].info) + strlen(name) - strlen("-0.debug"),
				    "-1.debug");
		assert_int_equal(count_companions(folder), 2);
		world_leave(&w);
		assert_int_equal(util_run("rm -rf %s; mv old %s", name, name), 0);
	}
	// all names taken
	assert_int_equal(util_run("rm -f %s/*; for i in 0 1 2 3 4 5 6 7; do echo > %.*s$i.debug; done",
				  folder, (int)(strlen(name) - strlen("0.debug")), name), 0);
	check_pack_without_companion();
	assert_int_equal(count_companions(folder), 8);
}

static void pack_again_takes_the_file_that_is_there(void **state)
{
	const char *folder = use_cache("again");
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char name[300];
	struct stat before, after;
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	world_leave(&w);
	assert_int_equal(utimensat(AT_FDCWD, name, old, 0), 0);
	assert_int_equal(stat(name, &before), 0);
	world_pack(&w, 3);
	assert_string_equal(companion_of(&w.images[0].info), name);
	assert_int_equal(stat(name, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec); // not the oldest any more
	assert_int_equal(count_companions(folder), 1);
	world_leave(&w);
}

static char removed[300];

static void remove_file(void)
{
	unlink(removed);
}

static void pack_file_removed_before_it_is_locked_is_made_again(void **state)
{
	const char *folder = use_cache("removed");
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(removed, companion_of(&w.images[0].info));
	world_leave(&w);
	before_lock = remove_file;
	world_pack(&w, 0);
	assert_null(before_lock);
	assert_string_equal(companion_of(&w.images[0].info), removed);
	assert_int_equal(access(removed, R_OK), 0);
	assert_int_equal(count_companions(folder), 1);
	world_leave(&w);
}

static ino_t others_inode;

/* The same contents; there is one other file in the folder, the temporary one. */
static void write_same(const char *path)
{
	struct stat st;

	assert_int_equal(util_run("cp $XDG_CACHE_HOME/gorgon/new-*.debug %s", path), 0);
	assert_int_equal(stat(path, &st), 0);
	others_inode = st.st_ino;
}

static void write_other(const char *path)
{
	util_write(path, "other", 5);
}

static void pack_file_written_by_another_meanwhile_stays(void **state)
{
	const char *folder = use_cache("meanwhile");
	struct stat st;
	struct world w;

	(void)state;
	before_link = write_same;
	world_pack(&w, 0);
	assert_int_equal(stat(companion_of(&w.images[0].info), &st), 0);
	assert_int_equal(st.st_ino, others_inode);
	assert_int_equal(count_companions(folder), 1);
	world_leave(&w);
	assert_int_equal(util_run("rm %s/*", folder), 0);
	before_link = write_other;
	check_pack_without_companion();
	assert_int_equal(count_companions(folder), 1); // the other's
}

static void pack_changed_library_has_another_companion(void **state)
{
	const char *folder = use_cache("changed");
	struct jitreg_group *group;
	struct image image;
	char name[300];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(util_run("cp %s changing.so.new && mv changing.so.new changing.so",
					  i ? "tls.so" : "self.so"), 0);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		enter_at(group, BASE(0), 0x10000, "changing.so", JITREG_LEAN, &image);
		assert_int_equal(jitreg_group_pack(group), 0);
		assert_non_null(companion_of(&image.info));
		if (i)
			assert_string_not_equal(companion_of(&image.info), name);
		strcpy(name, companion_of(&image.info));
		jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
	}
	assert_int_equal(count_companions(folder), 2);
}

static void pack_processes_at_once_make_one_file(void **state)
{
	const char *folder = use_cache("race");
	pid_t pids[8];
	int start[2], status;

	(void)state;
	SKIP_UNDER_TSAN();
	for (int round = 0; round < 5; round++) {
		assert_int_equal(pipe(start), 0);
		for (size_t i = 0; i < 8; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				char byte;

				close(start[1]);
				_exit(read(start[0], &byte, 1) != 0 || pack_in_child((unsigned)i) != 1);
			}
		}
		close(start[1]); // go
		for (size_t i = 0; i < 8; i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		close(start[0]);
		assert_int_equal(count_companions(folder), 1);
		assert_int_equal(util_run("rm -f %s/*", folder), 0);
	}
}

static void pack_many_companions_removes_the_oldest_unused(void **state)
{
	const char *folder = use_cache("many");
	char name[400];
	struct world w;
	int locked;

	(void)state;
	assert_int_equal(util_run("mkdir -p %s && cd %s && echo > notes && for i in $(seq 100 169); do "
				  "echo > $i.debug && touch -d @$i $i.debug; done", folder, folder), 0);
	snprintf(name, sizeof(name), "%s/100.debug", folder);
	locked = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(locked, LOCK_SH), 0);
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_int_equal(count_companions(folder), 64 + 1);
	assert_int_equal(util_run("cd %s && test -f notes && test -f 100.debug && ! test -e 101.debug "
				  "&& ! test -e 107.debug && test -f 108.debug && test -f 169.debug",
				  folder), 0);
	world_leave(&w);

	// one in use is as good as locked
	world_pack(&w, 0);
	assert_int_equal(util_run("touch -d @1 %s", companion_of(&w.images[0].info)), 0);
	{
		struct jitreg_group *group;
		struct image image;

		assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
		enter_at(group, BASE(1), 0x10000, "tls.so", JITREG_LEAN, &image);
		assert_int_equal(jitreg_group_pack(group), 0);
		assert_non_null(companion_of(&image.info));
		jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
	}
	assert_int_equal(access(companion_of(&w.images[0].info), R_OK), 0);
	assert_int_equal(count_companions(folder), 64 + 1);
	close(locked);
	world_leave(&w);
	assert_nothing_left();
}

/* --- a debugger is attached ------------------------------------------------------------------ */

/* A child that traces this process until it is killed, and lets all signals through. */
static pid_t start_tracer(void)
{
	pid_t parent = getpid(), pid;
	int ready[2], status;
	char byte = 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		byte = !ptrace(PTRACE_SEIZE, parent, NULL, NULL);
		if (write(ready[1], &byte, 1) != 1 || !byte)
			_exit(1);
		while (waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, parent, NULL, WSTOPSIG(status));
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		byte = 0;
	close(ready[0]);
	if (!byte)
		waitpid(pid, &status, 0);
	return byte ? pid : 0;
}

static void stop_tracer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void pack_traced_keeps_the_packs_that_are_there(void **state)
{
	struct image more[2];
	struct world w, other;
	pid_t tracer;

	(void)state;
	SKIP_UNDER_TSAN();
	world_pack(&other, 1);
	world_enter(&w, 0);
	tracer = start_tracer();
	if (!tracer) {
		world_leave(&w);
		world_leave(&other);
		print_message("ptrace is not permitted here\n");
		skip();
	}
	util_watch(on_stop);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack_if_known(w.group), 0);
	assert_events(""); // debuggers have work with it
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack +pack -link.so -names.so -self.so ( ) ");
	enter_at(w.group, BASE(0), 0x200000, "tls.so", JITREG_LEAN, &more[0]);
	enter_at(w.group, BASE(0), 0x300000, "self.so", JITREG_LEAN, &more[1]);
	assert_events("tls.so:lean +tls.so self.so:lean +self.so ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("tls.so:pack self.so:pack +pack -self.so -tls.so ( ) ");
	util_watch_end();
	stop_tracer(tracer);
	assert_int_equal(jitreg_count(), 3);
	jitreg_unregister(more[0].entry);
	jitreg_unregister(more[1].entry);
	world_leave(&w);
	world_leave(&other);
	assert_nothing_left();
}

/* --- no memory ------------------------------------------------------------------------------- */

/* Packed or as before, never in between. */
static void check_consistent(const struct world *w, int r)
{
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_info info;

		jitreg_entry_get_info(w->images[i].entry, &info);
		assert_memory_equal(&info, &w->images[i].info, sizeof(info));
		assert_int_equal(info.symfile_kind, r ? JITREG_SYMFILE_LEAN : JITREG_SYMFILE_PACK);
	}
	assert_int_equal(jitreg_count(), r ? 3 : 1);
}

static void pack_any_call_failing_leaves_all_as_before(void **state)
{
	const char *folder = use_cache("nomem");
	long at, refused = 0, without = 0;

	(void)state;
	check_pack_with_companion(folder); // what stays: libdwarf
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		struct world w;
		int r;

		assert_int_equal(util_run("rm -f %s/*", folder), 0);
		world_enter(&w, 0);
		call_count = 0;
		fail_at = at;
		r = jitreg_group_pack(w.group);
		fail_at = 0;
		check_consistent(&w, r);
		refused += r != 0;
		without += !r && !companion_of(&w.images[0].info);
		assert_true(count_companions(folder) <= 1);
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		assert_int_equal(util_symfile_bytes(), bytes);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(refused, 10, 1000);
	assert_in_range(without, 10, 1000);
}

static void unregister_any_call_failing_forgets_the_rest_at_most(void **state)
{
	long at, forgotten = 0;

	(void)state;
	use_cache("nomem2");
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count();
		struct world w;

		world_pack(&w, 0);
		call_count = 0;
		fail_at = at;
		jitreg_unregister(w.images[1].entry);
		fail_at = 0;
		w.images[1].entry = NULL;
		assert_ptr_equal(w.images[0].info.symfile, w.images[2].info.symfile);
		assert_int_equal(jitreg_count(), w.images[0].info.symfile ? 1 : 0);
		forgotten += !w.images[0].info.symfile;
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(forgotten, 5, 1000);
}

/* --- threads --------------------------------------------------------------------------------- */

static void *pack_repeatedly(void *arg)
{
	unsigned number = *(const unsigned *)arg;

	for (int i = 0; i < REPEATS; i++) {
		struct jitreg_group *group;
		struct jitreg_entry *entries[2];
		static const char *const names[] = {"self.so", "names.so"};

		if (jitreg_group_create(BASE(number), &group))
			return "no group";
		for (unsigned k = 0; k < 2; k++) {
			char path[256];
			struct jitreg_image image = {
				.size = sizeof(image),
				.path = path,
				.fd = -1,
				.flags = JITREG_LEAN,
				.bias = BASE(number) + k * 0x10000,
				.start = BASE(number) + k * 0x10000,
				.end = BASE(number) + k * 0x10000 + IMAGE_SIZE,
				.group = group,
			};

			snprintf(path, sizeof(path), "%s/%s", getenv("FIXTURES"), names[k]);
			if (jitreg_register(&image, &entries[k]))
				return "no entry";
		}
		if (i % 2 ? jitreg_group_pack_if_known(group) : jitreg_group_pack(group))
			return "no pack";
		if (i % 3 == 0)
			jitreg_group_close(group);
		jitreg_unregister(entries[0]);
		jitreg_unregister(entries[1]);
		jitreg_group_destroy(group);
	}
	return NULL;
}

static void pack_many_threads_leave_nothing(void **state)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	void *failure;

	(void)state;
	use_cache("threads");
	setenv("FIXTURES", util_path(""), 1);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, pack_repeatedly, &numbers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failure), 0);
		if (failure)
			fail_msg("%s", (const char *)failure);
	}
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack_images_have_one_symfile),
		cmocka_unit_test(pack_events_come_new_before_old),
		cmocka_unit_test(unregister_last_of_pack_removes_it),
		cmocka_unit_test(close_entries_remain_without_symfile),
		cmocka_unit_test(pack_if_known_packs_what_another_group_has),
		cmocka_unit_test(pack_same_files_at_other_distances_is_another_pack),
		cmocka_unit_test(pack_image_too_far_away_keeps_its_own),
		cmocka_unit_test(pack_writable_unwind_data_keeps_its_own),
		cmocka_unit_test(pack_unwind_data_of_elsewhere_is_left_out),
		cmocka_unit_test(pack_symfile_has_stretches_names_and_a_reference),
		cmocka_unit_test(pack_companion_has_functions_and_unwind_data),
		cmocka_unit_test(pack_no_cache_folder_does_without),
		cmocka_unit_test(pack_folder_of_others_is_not_used),
		cmocka_unit_test(pack_limit_of_file_sizes_does_without),
		cmocka_unit_test(pack_read_only_or_full_file_system_does_without),
		cmocka_unit_test(pack_something_else_by_the_name_is_left_alone),
		cmocka_unit_test(pack_again_takes_the_file_that_is_there),
		cmocka_unit_test(pack_file_removed_before_it_is_locked_is_made_again),
		cmocka_unit_test(pack_file_written_by_another_meanwhile_stays),
		cmocka_unit_test(pack_changed_library_has_another_companion),
		cmocka_unit_test(pack_processes_at_once_make_one_file),
		cmocka_unit_test(pack_many_companions_removes_the_oldest_unused),
		cmocka_unit_test(pack_traced_keeps_the_packs_that_are_there),
		cmocka_unit_test(pack_any_call_failing_leaves_all_as_before),
		cmocka_unit_test(unregister_any_call_failing_forgets_the_rest_at_most),
		cmocka_unit_test(pack_many_threads_leave_nothing),
	};

	return cmocka_run_group_tests_name("jitreg/group", tests, util_setup, NULL);
}
