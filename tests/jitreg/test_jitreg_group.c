// SPDX-License-Identifier: MIT
/*
 * Groups: what debuggers have of a group's images, event by event; when a group is packed, when an image of a pack
 * gets its DWARF, and while a debugger is attached.
 */
#define _GNU_SOURCE 1
#include "jitreg_world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- packing --------------------------------------------------------------------------- */

static void register_lean_image_is_a_pack_of_its_own(void **state)
{
	struct world w;

	(void)state;
	world_enter(&w, 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		const struct jitreg_info *info = &w.images[i].info;
		const Elf64_Ehdr *ehdr = info->symfile;
		const Elf64_Phdr *phdr = (const Elf64_Phdr *)((const uint8_t *)ehdr + ehdr->e_phoff);

		assert_int_equal(ehdr->e_phnum, 1);
		assert_int_equal(phdr->p_vaddr, BASE(0) + layout[i].off);
		assert_int_equal(phdr->p_memsz, IMAGE_SIZE);
		assert_null(section(info, ".text.1"));
		assert_non_null(companion_of(info));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(companion_of(info),
						companion_of(&w.images[k].info));
	}
	world_leave(&w);
	assert_nothing_left();
}

static void register_lean_image_of_no_group_is_no_pack(void **state)
{
	struct image image;

	(void)state;
	enter_at(NULL, BASE(0), 0x10000, "self.so", JITREG_NAMES_ONLY, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_NAMES_ONLY);
	assert_null(companion_of(&image.info));
	jitreg_unregister(image.entry);
	assert_nothing_left();
}

static void pack_single_image_stays_as_it_is(void **state)
{
	struct jitreg_group *group;
	struct image image;

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "self.so", JITREG_NAMES_ONLY, &image);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.moves, 1);
	jitreg_unregister(image.entry);

	enter_at(group, BASE(0), 0x10000, "self.so", 0, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_FULL);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_int_equal(jitreg_count(), 1);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

static void list_images_that_waited_have_one_symfile(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(0), &w.group), 0);
	assert_int_equal(jitreg_group_list(w.group), 0); // there are none
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_info info;

		assert_int_equal(try_enter(w.group, BASE(0), layout[i].off, IMAGE_SIZE, layout[i].name,
					   JITREG_NAMES_ONLY | JITREG_DEFER, &w.images[i]), 0);
		jitreg_entry_get_info(w.images[i].entry, &info);
		assert_int_equal(w.images[i].moves, 0);
		assert_null(info.symfile);
	}
	assert_int_equal(jitreg_count(), 0);
	assert_int_equal(jitreg_group_pack(w.group), 0); // packing does not list images
	assert_int_equal(jitreg_count(), 0);
	jitreg_unregister(w.images[2].entry); // debuggers never hear of it
	assert_int_equal(jitreg_group_list(w.group), 0);
	assert_int_equal(jitreg_count(), 1);
	assert_int_equal(w.images[2].moves, 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(w.images[i].moves, 1);
	assert_together(w.images, 2);
	assert_int_equal(jitreg_group_list(w.group), 0); // not again
	assert_int_equal(jitreg_count(), 1);
	jitreg_unregister(w.images[0].entry);
	jitreg_unregister(w.images[1].entry);
	jitreg_group_destroy(w.group);
	assert_nothing_left();
}

static void packing_end_lists_what_the_group_had_at_the_beginning_only(void **state)
{
	struct jitreg_packing *packing;
	struct world w;
	struct image late;

	(void)state;
	world_enter(&w, 0);
	assert_int_equal(jitreg_packing_begin(w.group, false, &packing), 0);
	assert_int_equal(jitreg_packing_build(packing), 0);
	assert_int_equal(jitreg_count(), 3); // debuggers have not been told yet
	enter_at(w.group, BASE(0), 0x1000000, "self.so", JITREG_NAMES_ONLY, &late);
	assert_int_equal(jitreg_packing_end(packing, w.group), -EAGAIN);
	jitreg_packing_destroy(packing);
	assert_int_equal(jitreg_count(), 4);
	jitreg_unregister(late.entry);

	assert_int_equal(jitreg_packing_begin(w.group, false, &packing), 0);
	assert_int_equal(jitreg_packing_build(packing), 0);
	assert_int_equal(jitreg_packing_end(packing, w.group), 0);
	// The group has this pack already.
	assert_int_equal(jitreg_packing_end(packing, w.group), -EAGAIN);
	jitreg_packing_destroy(packing);
	assert_int_equal(jitreg_count(), 1);
	assert_together(w.images, 3);
	assert_int_equal(jitreg_packing_begin(w.group, false, &packing), 0);
	assert_null(packing);
	world_leave(&w);
	assert_nothing_left();
}

static void pack_images_have_one_symfile(void **state)
{
	struct world w;

	(void)state;
	events[0] = '\0';
	world_enter(&w, 0);
	assert_int_equal(jitreg_count(), 3);
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
	// The place of the image's debug information is still told.
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
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	util_watch(on_stop);
	events[0] = '\0';
	world_enter(&w, 0);
	assert_events("self.so:pack +[self.so] names.so:pack +[names.so] link.so:pack +[link.so] ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack +[self.so names.so link.so] "
		      "-[link.so] -[names.so] -[self.so] ( ) ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("");

	enter_at(w.group, BASE(0), 0x200000, "tls.so", 0, &more);
	assert_events("tls.so:full +tls.so ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "+[self.so names.so link.so tls.so] -tls.so -[self.so names.so link.so] ( ) ");
	assert_int_equal(jitreg_count(), 1);

	// The old pack goes first, because both begin at the same address.
	jitreg_unregister(w.images[0].entry);
	assert_events("-[self.so names.so link.so tls.so] ( ) names.so:pack link.so:pack tls.so:pack "
		      "+[names.so link.so tls.so] ");
	w.images[0].entry = NULL;
	jitreg_group_close(w.group);
	assert_events("tls.so:gone link.so:gone names.so:gone -[names.so link.so tls.so] ( ) ");
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
	assert_int_equal(jitreg_group_pack(w.group), 0); // nothing is left that could be packed
	assert_int_equal(jitreg_count(), 0);
	world_leave(&w);
	assert_nothing_left();
}

static void pack_what_another_group_has_shares_its_companion(void **state)
{
	struct world first, second;

	(void)state;
	world_enter(&first, 0);
	assert_int_equal(jitreg_count(), 3);
	assert_apart(first.images, SIDE_BY_SIDE);
	assert_int_equal(jitreg_group_pack(first.group), 0);
	world_enter(&second, 1);
	assert_int_equal(jitreg_count(), 4);
	assert_int_equal(jitreg_group_pack(second.group), 0);
	assert_int_equal(jitreg_count(), 2);
	assert_together(second.images, SIDE_BY_SIDE);
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
	enter_at(group, BASE(1), 0x10000, "self.so", JITREG_NAMES_ONLY, &image[0]);
	enter_at(group, BASE(1), 0x1a000, "names.so", JITREG_NAMES_ONLY, &image[1]);
	assert_apart(image, 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_together(image, 2);
	assert_string_not_equal(companion_of(&image[0].info), companion_of(&first.images[0].info));
	jitreg_unregister(image[0].entry);
	jitreg_unregister(image[1].entry);
	jitreg_group_destroy(group);
	world_leave(&first);
	assert_nothing_left();
}

static void pack_image_too_far_away_keeps_its_own(void **state)
{
	static const uint64_t limit = UINT64_C(1) << 32;
	struct jitreg_group *group;
	struct image image[4];

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(4), &group), 0);
	enter_at(group, BASE(4), limit - IMAGE_SIZE, "self.so", JITREG_NAMES_ONLY, &image[0]);
	enter_at(group, BASE(4), limit - IMAGE_SIZE + 0x1000, "link.so", JITREG_NAMES_ONLY, &image[1]);
	enter_at(group, BASE(4), -limit, "names.so", JITREG_NAMES_ONLY, &image[2]);
	enter_at(group, BASE(4), 0x10000, "tls.so", JITREG_NAMES_ONLY, &image[3]);
	for (int packed = 0; packed < 2; packed++) {
		assert_int_equal(jitreg_count(), packed ? 3 : 4);
		assert_int_equal(image[0].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(image[1].info.symfile_kind, JITREG_SYMFILE_NAMES_ONLY);
		assert_int_equal(image[2].info.symfile_kind, JITREG_SYMFILE_NAMES_ONLY);
		assert_int_equal(image[3].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(image[0].info.symfile == image[3].info.symfile, packed);
		assert_int_equal(jitreg_group_pack(group), 0);
	}
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
	enter_at(group, base, 0x10000, "live.so", JITREG_NAMES_ONLY, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_NAMES_ONLY);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_NAMES_ONLY);
	assert_int_equal(image.moves, 1);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	munmap(memory, IMAGE_SIZE);
	assert_nothing_left();
}

/* A library whose unwind data is wrong does not keep the others from being packed. */
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
	enter_at(group, BASE(0), 0x10000, "lies.so", JITREG_NAMES_ONLY, &images[0]);
	enter_at(group, BASE(0), 0x20000, "names.so", JITREG_NAMES_ONLY, &images[1]);
	assert_apart(images, 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_together(images, 2);
	assert_non_null(companion_of(&images[1].info));
	jitreg_unregister(images[0].entry);
	jitreg_unregister(images[1].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* --- an image of a pack gets its DWARF ---------------------------------------------------- */

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

/* While a debugger is attached a pack needs so many new images, because each pack makes work for it. */
#define TRACED_MIN 8

static void enter_eight(struct jitreg_group *group, uint64_t base, uint64_t off, struct image *ret)
{
	static const char *const names[TRACED_MIN] = {"self.so", "names.so", "link.so", "tls.so",
						      "tls.so", "link.so", "names.so", "self.so"};

	for (size_t i = 0; i < TRACED_MIN; i++)
		enter_at(group, base, off + i * 0x10000, names[i], JITREG_NAMES_ONLY, &ret[i]);
}

static void leave_all(struct jitreg_group *group, struct image *images, size_t count)
{
	jitreg_group_close(group);
	for (size_t i = 0; i < count; i++)
		jitreg_unregister(images[i].entry);
	jitreg_group_destroy(group);
}

static void pack_many_images_have_two_symfiles(void **state)
{
	struct jitreg_group *groups[2];
	struct image images[2][2 * TRACED_MIN];

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(jitreg_group_create(BASE(i), &groups[i]), 0);
		enter_eight(groups[i], BASE(i), 0x10000, images[i]);
		enter_eight(groups[i], BASE(i), 0x200000, images[i] + TRACED_MIN);
		assert_int_equal(jitreg_group_pack(groups[i]), 0);
		assert_int_equal(jitreg_count(), 2 * (i + 1));
		assert_together(images[i] + 1, 2 * TRACED_MIN - 1);
		assert_apart(images[i], 2);
	}
	util_watch(on_stop);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(groups[0]), 0);
	assert_events(""); // nothing to do
	util_watch_end();
	// The oldest pack goes, and the next pack stays as it is.
	jitreg_unregister(images[1][0].entry);
	images[1][0].entry = NULL;
	assert_int_equal(jitreg_count(), 3);
	assert_together(images[1] + 1, 2 * TRACED_MIN - 1);
	for (unsigned i = 0; i < 2; i++)
		leave_all(groups[i], images[i], 2 * TRACED_MIN);
	assert_nothing_left();
}

static void pack_traced_keeps_the_packs_that_are_there(void **state)
{
	struct jitreg_group *group, *other;
	struct image images[2 * TRACED_MIN], others[TRACED_MIN], last, full;
	pid_t tracer;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer cannot follow a forked or traced child of threads");
	assert_int_equal(jitreg_group_create(BASE(1), &other), 0);
	enter_eight(other, BASE(1), 0x10000, others);
	assert_int_equal(jitreg_group_pack(other), 0);
	assert_together(others, TRACED_MIN);
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_eight(group, BASE(0), 0x10000, images);
	tracer = start_tracer();
	if (!tracer) {
		leave_all(group, images, TRACED_MIN);
		leave_all(other, others, TRACED_MIN);
		skip_because("ptrace is not permitted here");
	}
	util_watch(on_stop);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "tls.so:pack link.so:pack names.so:pack self.so:pack "
		      "+[self.so names.so link.so tls.so tls.so link.so names.so self.so] "
		      "-[self.so] -[names.so] -[link.so] -[tls.so] "
		      "-[tls.so] -[link.so] -[names.so] -[self.so] ( ) ");
	enter_eight(group, BASE(0), 0x200000, images + TRACED_MIN);
	jitreg_unregister(images[2 * TRACED_MIN - 1].entry);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events(""); // seven images are too few
	enter_at(group, BASE(0), 0x400000, "self.so", 0, &images[2 * TRACED_MIN - 1]);
	assert_events("self.so:full +self.so ");
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "tls.so:pack link.so:pack names.so:pack self.so:pack "
		      "+[self.so names.so link.so tls.so tls.so link.so names.so self.so] "
		      "-self.so -[names.so] -[link.so] -[tls.so] "
		      "-[tls.so] -[link.so] -[names.so] -[self.so] ( ) ");
	assert_together(images, TRACED_MIN);
	assert_together(images + TRACED_MIN, TRACED_MIN);
	enter_at(group, BASE(0), 0x500000, "tls.so", JITREG_NAMES_ONLY, &last);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("");
	// Images that refer to DWARF cost debuggers most, so they are packed even if they are few.
	enter_at(group, BASE(0), 0x600000, "names.so", 0, &full);
	assert_events("names.so:full +names.so ");
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("tls.so:pack names.so:pack +[tls.so names.so] -names.so -[tls.so] ( ) ");
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("");
	util_watch_end();
	assert_int_equal(jitreg_count(), 4);

	stop_tracer(tracer);
	// Nobody is attached any more who would be disturbed: all images get one pack.
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_together(images + 1, 2 * TRACED_MIN - 1);
	assert_ptr_equal(last.info.symfile, images[1].info.symfile);
	assert_apart(images, 2);
	assert_int_equal(jitreg_count(), 3);
	jitreg_unregister(last.entry);
	jitreg_unregister(full.entry);
	leave_all(group, images, 2 * TRACED_MIN);
	leave_all(other, others, TRACED_MIN);
	assert_nothing_left();
}

/* A tracer without a breakpoint where debuggers stop, such as strace, makes no difference. */
static void pack_traced_by_nobody_who_listens_is_as_ever(void **state)
{
	struct jitreg_group *group;
	struct image images[2 * TRACED_MIN];
	pid_t tracer;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer cannot follow a forked or traced child of threads");
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_eight(group, BASE(0), 0x10000, images);
	enter_eight(group, BASE(0), 0x200000, images + TRACED_MIN);
	tracer = start_tracer();
	if (tracer)
		assert_int_equal(jitreg_group_pack(group), 0);
	if (tracer)
		stop_tracer(tracer);
	if (tracer) {
		assert_together(images + 1, 2 * TRACED_MIN - 1);
		assert_apart(images, 2);
	}
	leave_all(group, images, 2 * TRACED_MIN);
	assert_nothing_left();
	if (!tracer)
		skip_because("ptrace is not permitted here");
}

/* --- threads --------------------------------------------------------------------------------- */

#define THREADS 6
#define REPEATS 20

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
				.flags = JITREG_NAMES_ONLY,
				.bias = BASE(number) + k * 0x10000,
				.start = BASE(number) + k * 0x10000,
				.end = BASE(number) + k * 0x10000 + IMAGE_SIZE,
				.group = group,
			};

			snprintf(path, sizeof(path), "%s/%s", getenv("FIXTURES"), names[k]);
			if (jitreg_register(&image, &entries[k]))
				return "no entry";
		}
		if (jitreg_group_pack(group))
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
		cmocka_unit_test(register_lean_image_is_a_pack_of_its_own),
		cmocka_unit_test(register_lean_image_of_no_group_is_no_pack),
		cmocka_unit_test(pack_single_image_stays_as_it_is),
		cmocka_unit_test(list_images_that_waited_have_one_symfile),
		cmocka_unit_test(packing_end_lists_what_the_group_had_at_the_beginning_only),
		cmocka_unit_test(pack_images_have_one_symfile),
		cmocka_unit_test(pack_events_come_new_before_old),
		cmocka_unit_test(unregister_last_of_pack_removes_it),
		cmocka_unit_test(close_entries_remain_without_symfile),
		cmocka_unit_test(pack_what_another_group_has_shares_its_companion),
		cmocka_unit_test(pack_same_files_at_other_distances_is_another_pack),
		cmocka_unit_test(pack_image_too_far_away_keeps_its_own),
		cmocka_unit_test(pack_writable_unwind_data_keeps_its_own),
		cmocka_unit_test(pack_unwind_data_of_elsewhere_is_left_out),
		cmocka_unit_test(pack_many_images_have_two_symfiles),
		cmocka_unit_test(pack_traced_keeps_the_packs_that_are_there),
		cmocka_unit_test(pack_traced_by_nobody_who_listens_is_as_ever),
		cmocka_unit_test(pack_many_threads_leave_nothing),
	};

	return cmocka_run_group_tests_name("jitreg/group", tests, util_setup, NULL);
}
