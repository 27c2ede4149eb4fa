// SPDX-License-Identifier: MIT
/*
 * Several groups with one symfile.
 */
#define _GNU_SOURCE 1
#include "jitreg_world.h"

#include <stdlib.h>
#include <string.h>

#define WORLDS 3
#define ALL    (WORLDS * SIDE_BY_SIDE)

struct joined {
	struct world worlds[WORLDS];
	struct jitreg_group *groups[WORLDS];
};

/* Packed each by itself. */
static void enter(struct joined *j)
{
	for (unsigned i = 0; i < WORLDS; i++) {
		world_pack(&j->worlds[i], i);
		j->groups[i] = j->worlds[i].group;
	}
	assert_int_equal(jitreg_count(), WORLDS);
}

static void join(struct joined *j)
{
	const void *symfile;

	assert_int_equal(jitreg_group_join(j->groups, WORLDS), 0);
	symfile = j->worlds[0].images[0].info.symfile;
	for (size_t i = 0; i < WORLDS; i++) {
		assert_together(j->worlds[i].images, SIDE_BY_SIDE);
		assert_ptr_equal(j->worlds[i].images[0].info.symfile, symfile);
	}
}

static void leave(struct joined *j)
{
	for (size_t i = 0; i < WORLDS; i++)
		world_leave(&j->worlds[i]);
	assert_nothing_left();
}

/* Each world has one symfile, and none has that of another. */
static void assert_parted(const struct joined *j, size_t first)
{
	for (size_t i = first; i < WORLDS; i++) {
		assert_together(j->worlds[i].images, SIDE_BY_SIDE);
		for (size_t k = first; k < i; k++)
			assert_ptr_not_equal(j->worlds[i].images[0].info.symfile,
					     j->worlds[k].images[0].info.symfile);
	}
}

/* Each group has the name once, and they share one string. */
static void assert_names_of_all(const uint8_t *bytes, bool relative, uint64_t first)
{
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const Elf64_Shdr *symtab = jitreg_file_section(bytes, ".symtab");
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset), *one = NULL;
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;
	unsigned found = 0;

	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++) {
		uint64_t address = syms[i].st_value + (relative ? shdrs[syms[i].st_shndx].sh_addr : 0);

		for (unsigned k = 0; k < WORLDS; k++) {
			if (address != first + (BASE(k) - BASE(0)))
				continue;
			assert_string_equal(strtab + syms[i].st_name, "snake_leaf");
			assert_false(found & 1u << k);
			found |= 1u << k;
			if (one)
				assert_int_equal(syms[i].st_name, one->st_name);
			one = &syms[i];
		}
	}
	assert_int_equal(found, (1u << WORLDS) - 1);
}

static void join_names_are_those_of_each_group(void **state)
{
	const struct jitreg_info *info;
	struct joined j;
	uint8_t *companion;
	uint64_t off = layout[0].off + vaddr_of("self.so", "snake_leaf");
	size_t size;

	(void)state;
	enter(&j);
	join(&j);
	assert_int_equal(jitreg_count(), 1);
	info = &j.worlds[0].images[0].info;
	assert_int_equal(info->symfile_kind, JITREG_SYMFILE_PACK);
	assert_names_of_all(info->symfile, true, BASE(0) + off);
	assert_non_null(companion_of(info));
	companion = util_read(companion_of(info), &size);
	assert_names_of_all(companion, false, off);
	free(companion);
	leave(&j);
}

static void join_events_come_new_before_old(void **state)
{
	struct joined j;

	(void)state;
	SKIP_UNDER_TSAN();
	enter(&j);
	util_watch(on_stop);
	events[0] = '\0';
	join(&j);
	assert_events("self.so:pack names.so:pack link.so:pack self.so:pack names.so:pack link.so:pack "
		      "self.so:pack names.so:pack link.so:pack "
		      "+[self.so names.so link.so self.so names.so link.so self.so names.so link.so] "
		      "-[self.so names.so link.so] -[self.so names.so link.so] "
		      "-[self.so names.so link.so] ( ) ");
	assert_int_equal(jitreg_group_join(j.groups, WORLDS), 0);
	assert_events(""); // nothing to do
	jitreg_group_close(j.groups[1]);
	// Nothing of the second one in any symfile, all of the others in their own.
	assert_events("link.so:gone names.so:gone self.so:gone "
		      "self.so:pack names.so:pack link.so:pack +[self.so names.so link.so] "
		      "self.so:pack names.so:pack link.so:pack +[self.so names.so link.so] "
		      "-[self.so names.so link.so self.so names.so link.so self.so names.so link.so] ( ) "
		      "( ) ");
	util_watch_end();
	assert_int_equal(jitreg_count(), WORLDS - 1);
	leave(&j);
}

static void join_different_groups_stay_apart(void **state)
{
	struct joined j;
	struct image more, elsewhere;

	(void)state;
	enter(&j);
	enter_at(j.groups[1], BASE(1), 0x200000, "tls.so", JITREG_LEAN, &more);
	assert_int_equal(jitreg_group_join(j.groups, WORLDS), 0);
	assert_int_equal(jitreg_count(), WORLDS + 1);
	assert_parted(&j, 0);
	enter_at(j.groups[2], BASE(2), 0x210000, "tls.so", JITREG_LEAN, &elsewhere); // another distance
	assert_int_equal(jitreg_group_join(j.groups + 1, 2), 0);
	assert_parted(&j, 0);
	jitreg_unregister(more.entry);
	jitreg_unregister(elsewhere.entry);
	leave(&j);
}

static void join_ends_when_one_is_packed_anew(void **state)
{
	struct joined j;
	struct image more;

	(void)state;
	enter(&j);
	join(&j);
	enter_at(j.groups[2], BASE(2), 0x200000, "tls.so", JITREG_LEAN, &more);
	assert_int_equal(jitreg_count(), 2);
	assert_int_equal(jitreg_group_pack(j.groups[1]), 0); // which has nothing more
	assert_int_equal(jitreg_count(), 2);
	assert_int_equal(jitreg_group_pack(j.groups[2]), 0);
	assert_parted(&j, 0);
	assert_int_equal(jitreg_count(), WORLDS);
	jitreg_unregister(more.entry);
	join(&j);
	leave(&j);
}

static void join_of_others_has_the_same_companion(void **state)
{
	struct world others[WORLDS];
	struct jitreg_group *groups[WORLDS];
	struct joined j;

	(void)state;
	enter(&j);
	join(&j);
	for (unsigned i = 0; i < WORLDS; i++) {
		world_pack(&others[i], WORLDS + i);
		groups[i] = others[i].group;
	}
	assert_int_equal(jitreg_count(), 1 + WORLDS);
	assert_int_equal(jitreg_group_join(groups, WORLDS), 0);
	assert_int_equal(jitreg_count(), 2);
	// The same companion: so are names and unwind data, at other addresses.
	assert_string_equal(companion_of(&others[0].images[0].info), companion_of(&j.worlds[0].images[0].info));
	for (unsigned i = 0; i < WORLDS; i++)
		world_leave(&others[i]);
	leave(&j);
}

static void join_ends_when_an_image_goes(void **state)
{
	struct joined j;

	(void)state;
	enter(&j);
	join(&j);
	jitreg_unregister(j.worlds[0].images[1].entry);
	j.worlds[0].images[1].entry = NULL;
	assert_parted(&j, 1);
	assert_int_equal(jitreg_count(), WORLDS);
	assert_ptr_equal(j.worlds[0].images[0].info.symfile, j.worlds[0].images[2].info.symfile);
	assert_int_equal(jitreg_group_join(j.groups, WORLDS), 0); // they differ now
	assert_parted(&j, 1);
	leave(&j);
}

static void join_ends_when_an_image_gets_its_dwarf(void **state)
{
	struct joined j;

	(void)state;
	enter(&j);
	join(&j);
	set_dwarf(&j.worlds[1].images[0], true);
	assert_int_equal(jitreg_count(), WORLDS + 1);
	assert_ptr_equal(j.worlds[1].images[1].info.symfile, j.worlds[1].images[2].info.symfile);
	assert_ptr_not_equal(j.worlds[0].images[0].info.symfile, j.worlds[2].images[0].info.symfile);
	set_dwarf(&j.worlds[1].images[0], false);
	assert_int_equal(jitreg_group_pack(j.groups[1]), 0);
	assert_parted(&j, 0);
	join(&j);
	leave(&j);
}

static void join_of_unregistered_groups_leaves_nothing(void **state)
{
	struct joined j;

	(void)state;
	enter(&j);
	join(&j);
	// Without jitreg_group_close().
	for (size_t i = 0; i < ALL; i++)
		jitreg_unregister(j.worlds[i % WORLDS].images[i / WORLDS].entry);
	for (size_t i = 0; i < WORLDS; i++)
		jitreg_group_destroy(j.groups[i]);
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_names_are_those_of_each_group),
		cmocka_unit_test(join_events_come_new_before_old),
		cmocka_unit_test(join_different_groups_stay_apart),
		cmocka_unit_test(join_ends_when_one_is_packed_anew),
		cmocka_unit_test(join_of_others_has_the_same_companion),
		cmocka_unit_test(join_ends_when_an_image_goes),
		cmocka_unit_test(join_ends_when_an_image_gets_its_dwarf),
		cmocka_unit_test(join_of_unregistered_groups_leaves_nothing),
	};

	return cmocka_run_group_tests_name("jitreg/join", tests, util_setup, NULL);
}
