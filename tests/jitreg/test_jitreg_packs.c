// SPDX-License-Identifier: MIT
/* Which packs are built, and which are found: packs in use, and packs that are kept after their last use. */
#define _GNU_SOURCE 1
#include "jitreg_world.h"
#include "../jitreg/models.h"

#include <sys/wait.h>
#include <sys/file.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANY_BIAS UINT64_C(0x300000000000)
#define KEPT     ((size_t)16 << 20)

static struct jitreg_model *model_of(const struct image *image)
{
	return image->entry->listing->model;
}

/* Registers an image alone in a group that lies at BASE(@number). */
static void enter_alone(struct jitreg_group **group, unsigned number, uint64_t off, const char *name,
			struct image *ret)
{
	assert_int_equal(jitreg_group_create(BASE(number), group), 0);
	enter_at(*group, BASE(number), off, name, JITREG_NAMES_ONLY, ret);
	assert_int_equal(ret->info.symfile_kind, JITREG_SYMFILE_PACK);
}

static void leave_alone(struct jitreg_group *group, const struct image *image)
{
	jitreg_unregister(image->entry);
	jitreg_group_destroy(group);
}

static void packs_of_one_object_are_the_same_at_any_distance(void **state)
{
	static const uint64_t offs[] = {0x10000, 0x90000, 0x7f0000};
	struct jitreg_group *groups[3];
	struct image images[3];
	uint64_t address;
	unsigned binding;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		enter_alone(&groups[i], i, offs[i], "self.so", &images[i]);
		assert_ptr_equal(model_of(&images[i]), model_of(&images[0]));
		assert_true(find_name(images[i].info.symfile, true, "snake_leaf", &binding, &address));
		assert_int_equal(address, BASE(i) + offs[i] + vaddr_of("self.so", "snake_leaf"));
	}
	assert_int_equal(jitreg_model_count(), 2); // the library's own, and the pack
	for (unsigned i = 0; i < 3; i++)
		leave_alone(groups[i], &images[i]);
	assert_nothing_left();
}

static void enter_other(struct image *ret)
{
	enter_at(NULL, ANY_BIAS, 0, "link.so", 0, ret);
}

static void packs_nobody_has_are_found_again(void **state)
{
	struct jitreg_model *models[2];
	struct image other, images[2];
	struct jitreg_group *groups[2];

	(void)state;
	enter_other(&other);
	enter_alone(&groups[0], 0, 0x10000, "self.so", &images[0]);
	enter_alone(&groups[1], 1, 0x10000, "names.so", &images[1]);
	for (size_t i = 0; i < 2; i++) {
		models[i] = model_of(&images[i]);
		leave_alone(groups[i], &images[i]);
	}
	// the pack, and the models of the libraries, which it needs
	assert_int_equal(jitreg_model_count(), 3);
	enter_alone(&groups[0], 2, 0x20000, "self.so", &images[0]);
	assert_ptr_equal(model_of(&images[0]), models[0]);
	enter_alone(&groups[1], 3, 0x20000, "names.so", &images[1]);
	assert_ptr_equal(model_of(&images[1]), models[1]);
	for (size_t i = 0; i < 2; i++)
		leave_alone(groups[i], &images[i]);
	jitreg_unregister(other.entry);
	assert_nothing_left();
}

static size_t count_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Whether a process that has a pack with this companion holds a lock on it, so that nobody removes it. */
static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool locked;

	assert_true(fd >= 0);
	locked = flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return locked;
}

// What a core says of a mapping: debuggers look for a file of that name.
static bool is_mapped(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		assert_null(strstr(line, ".debug (deleted)"));
		found |= strstr(line, path) != NULL;
	}
	fclose(maps);
	return found;
}

static void packs_hold_their_companion_without_a_descriptor(void **state)
{
	struct jitreg_group *group;
	struct image other, image;
	size_t before;
	char *path;

	(void)state;
	enter_other(&other);
	before = count_descriptors();
	for (int i = 0; i < 2; i++) {
		enter_alone(&group, 0, 0x10000, "self.so", &image);
		assert_int_equal(count_descriptors(), before);
		path = strdup(companion_of(&image.info));
		assert_true(is_locked(path));
		assert_true(is_mapped(path));
		leave_alone(group, &image);
		assert_int_equal(count_descriptors(), before);
		assert_false(is_locked(path));
		unlink(path); // in the second turn this process makes the file
		free(path);
	}
	jitreg_unregister(other.entry);
	assert_nothing_left();
}

/* A forked child has the packs as well, so the file is in use until the child has ended, too. */
static void packs_hold_their_companion_in_a_forked_child(void **state)
{
	struct jitreg_group *group;
	struct image image;
	int end[2], status;
	char *path, byte;
	pid_t child;

	(void)state;
	enter_alone(&group, 0, 0x10000, "self.so", &image);
	path = strdup(companion_of(&image.info));
	assert_int_equal(pipe(end), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		_exit(read(end[0], &byte, 1) ? 1 : 0);
	}
	close(end[0]);
	leave_alone(group, &image);
	assert_true(is_locked(path));
	close(end[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(is_locked(path));
	free(path);
	assert_nothing_left();
}

static void replace_companion(const char *path)
{
	assert_int_equal(unlink(path), 0);
	util_write(path, "another", 7);
}

static void remove_companion(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

/* Any process that needs room removes the oldest companions. */
static void packs_whose_companion_is_gone_are_built_again(void **state)
{
	static void (*const accidents[])(const char *path) = {remove_companion, replace_companion};
	struct jitreg_group *group;
	struct image other, image;
	struct stat st;
	char *path;

	(void)state;
	for (size_t i = 0; i < sizeof(accidents) / sizeof(*accidents); i++) {
		enter_other(&other);
		enter_alone(&group, 0, 0x10000, "self.so", &image);
		path = strdup(companion_of(&image.info));
		leave_alone(group, &image);
		accidents[i](path);
		enter_alone(&group, 0, 0x10000, "self.so", &image);
		assert_int_equal(stat(companion_of(&image.info), &st), 0);
		assert_true(st.st_size > 7);
		leave_alone(group, &image);
		jitreg_unregister(other.entry);
		assert_nothing_left();
		unlink(path);
		free(path);
	}
}

/* There is no folder for companions, so each pack has everything inside. */
static void packs_are_kept_up_to_a_limit(void **state)
{
	struct jitreg_group *group;
	struct image other, images[2];
	size_t before, size = 0;
	unsigned number = 0;

	(void)state;
	if (!mallinfo2().uordblks)
		skip_because("this malloc() does not count for mallinfo2()");
	assert_int_equal(util_run("{ for i in $(seq 2000); do echo \"void f$i(void) {}\"; done; } > many.c && "
				  "gcc -fPIC -shared -nostdlib many.c -o many.so"), 0);
	sleep(3); // nothing is kept of files that are only just written
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	jitreg_keep(KEPT, JITREG_KEEP_SECONDS);
	enter_other(&other);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (; size < 3 * KEPT; number++) {
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		enter_at(group, BASE(0), 0x10000, "self.so", JITREG_NAMES_ONLY, &images[0]);
		assert_int_equal(try_enter(group, BASE(0), 0x100000 + number * 0x10000, LARGE_SIZE, "many.so",
					   JITREG_NAMES_ONLY, &images[1]), 0);
		assert_int_equal(jitreg_group_pack(group), 0);
		assert_null(companion_of(&images[0].info));
		size += model_of(&images[0])->size;
		jitreg_group_close(group);
		jitreg_unregister(images[0].entry);
		leave_alone(group, &images[1]);
	}
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd - before, KEPT * 3 / 4, KEPT * 3 / 2);
	jitreg_unregister(other.entry);
	assert_nothing_left();
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, before + 100000);
	jitreg_keep(JITREG_KEEP_BYTES, JITREG_KEEP_SECONDS);
	use_cache("afterwards");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_of_one_object_are_the_same_at_any_distance),
		cmocka_unit_test(packs_nobody_has_are_found_again),
		cmocka_unit_test(packs_hold_their_companion_without_a_descriptor),
		cmocka_unit_test(packs_hold_their_companion_in_a_forked_child),
		cmocka_unit_test(packs_whose_companion_is_gone_are_built_again),
		cmocka_unit_test(packs_are_kept_up_to_a_limit),
	};

	return cmocka_run_group_tests_name("jitreg/packs", tests, util_setup_settled, NULL);
}
