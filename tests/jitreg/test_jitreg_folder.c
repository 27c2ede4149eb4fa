// SPDX-License-Identifier: MIT
/*
 * The folder with the companions of packs: when it cannot be used, what other processes do in it meanwhile, and
 * which files are removed from it. Some calls are wrapped, see the Makefile.
 */
#define _GNU_SOURCE 1
#include "jitreg_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * What another process does, once: just before a file is locked, just before it gets its name, or just after no
 * file was found by a name.
 */
static void (*before_lock)(void), (*before_link)(const char *path);
static void (*after_missing)(const char *path);

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int fd = __real_open(path, flags); // jitreg creates files by another function
	void (*other)(const char *path) = after_missing;

	if (fd < 0 && errno == ENOENT && other) {
		after_missing = NULL;
		other(path);
		errno = ENOENT;
	}
	return fd;
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	void (*other)(void) = before_lock;

	if (other) { // written only if it is set, because threads read it
		before_lock = NULL;
		other();
	}
	return __real_flock(fd, operation);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
	void (*other)(const char *path) = before_link;

	if (other) {
		before_link = NULL;
		other(to);
	}
	return __real_link(from, to);
}

/* Afterwards nothing of the pack is in memory, where it would be kept once its libraries are a few seconds old. */
static void leave(struct world *w)
{
	world_leave(w);
	jitreg_trim();
}

/*
 * For children, where no assertion can help. Returns 1 for a pack with a companion, 0 for a pack without, or
 * -errno.
 */
static int pack_in_child(unsigned number)
{
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
	int r = jitreg_group_create(BASE(number), &group);

	for (size_t i = 0; !r && i < SIDE_BY_SIDE; i++)
		r = try_enter(group, BASE(number), layout[i].off, IMAGE_SIZE, layout[i].name,
			      JITREG_NAMES_ONLY, &images[i]);
	if (!r)
		r = jitreg_group_pack(group);
	if (r || !companion_of(&images[0].info))
		return r;
	return access(companion_of(&images[0].info), R_OK) ? -errno : 1;
}

/* A pack without a companion has everything inside, for both debuggers. */
static void check_without_companion(const struct world *w)
{
	const struct jitreg_info *info = &w->images[0].info;
	uint64_t address;
	unsigned binding;

	assert_null(companion_of(info));
	assert_int_equal(section(info, ".debug_info")->sh_size, 16); // lines for LLDB take its place
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_phnum, 0);
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_shnum, 8);
	assert_int_equal(section(info, ".text")->sh_type, SHT_NOBITS);
	assert_int_equal(section(info, ".text")->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_int_equal(section(info, ".text")->sh_addr, BASE(0) + 0x10000 + sizeof(Elf64_Ehdr));
	assert_int_equal(section(info, ".eh_frame")->sh_type, SHT_PROGBITS);
	assert_int_equal(section(info, ".eh_frame")->sh_addr, BASE(0) + 0x100000 + IMAGE_SIZE);
	assert_true(find_name(info->symfile, true, "snake_leaf", &binding, &address));
	assert_int_equal(binding, STB_GLOBAL);
	assert_int_equal(address, BASE(0) + 0x10000 + vaddr_of("self.so", "snake_leaf"));
}

static void check_pack_without_companion(void)
{
	struct world w;

	jitreg_trim(); // on a slow machine the libraries are old enough for the pack before to be kept
	world_pack(&w, 0);
	check_without_companion(&w);
	leave(&w);
	assert_nothing_left();
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
	setenv("HOME", util_path("missing"), 1); // a missing home is not made
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

/* Whoever may rename files in the parent folder may put another folder in the place of the cache. */
static void pack_parent_of_others_is_not_used(void **state)
{
	const char *folder = use_cache("parent"), *parent = getenv("XDG_CACHE_HOME");

	(void)state;
	check_pack_with_companion(folder);
	assert_int_equal(chmod(parent, 0777), 0);
	check_pack_without_companion();
	assert_int_equal(chmod(parent, 01777), 0); // as /tmp
	check_pack_with_companion(folder);
	assert_int_equal(chmod(parent, 0775), 0); // writable for the user's own group
	check_pack_with_companion(folder);
	if (!geteuid()) {
		assert_int_equal(chown(parent, -1, 1), 0);
		check_pack_without_companion();
		assert_int_equal(chmod(parent, 0755), 0);
		check_pack_with_companion(folder);
		assert_int_equal(chown(parent, 1, 0), 0);
		check_pack_without_companion();
		assert_int_equal(chown(parent, 0, 0), 0);
	}
	assert_int_equal(chmod(parent, 0700), 0);
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
	assert_int_equal(jitreg_group_pack(w.group), 0); // and no signal
	check_without_companion(&w);
	assert_int_equal(count_companions(folder), SIDE_BY_SIDE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	leave(&w);
	assert_nothing_left();
}

/* Runs a case in a child with mounts of its own. */
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
		if (!(flags & MS_RDONLY)) // fills the file system
			util_write(util_path("mounted/full"), page, sizeof(page));
		_exit(-pack_in_child(0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_because("no file system may be mounted here");
	assert_int_equal(status, 0);
}

static void pack_read_only_or_full_file_system_does_without(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer cannot follow a forked or traced child of threads");
	if (geteuid())
		skip_because("only root may mount file systems");
	use_cache("mounted");
	assert_int_equal(util_run("mkdir mounted"), 0);
	run_with_mount("", MS_RDONLY);
	run_with_mount("size=4k", 0);
}

/* Does something to the file of the cache that is made first, and packs again. Returns the new file's name. */
static const char *pack_after(const char *folder, const char *what, char name[300])
{
	static char again[300];
	char command[700];
	struct world w;

	assert_int_equal(util_run("rm -rf %s/*", folder), 0);
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	leave(&w);
	assert_string_equal(name + strlen(name) - strlen("-0.debug"), "-0.debug");
	assert_int_equal(util_run("mv %s old", name), 0);
	snprintf(command, sizeof(command), what, name);
	assert_int_equal(util_run("%s", command), 0);
	world_pack(&w, 0);
	strcpy(again, companion_of(&w.images[0].info));
	leave(&w);
	assert_nothing_left();
	return again;
}

/* The checksum of a file of the cache is at its end. */
#define WITH_OTHER_KEY                                                                                     \
	"python3 -c 'import sys, zlib; b = open(\"old\", \"rb\").read()[:-4].replace(b\"companion\", b\"companiom\"); " \
	"open(sys.argv[1], \"wb\").write(b + zlib.crc32(b).to_bytes(4, \"little\"))' %s"

static void pack_something_else_by_the_name_is_left_alone(void **state)
{
	static const char *const others[] = {"mkdir %s", "mkfifo %s", "ln -s missing %s", WITH_OTHER_KEY};
	const char *folder = use_cache("foreign");
	char name[300];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const char *again = pack_after(folder, others[i], name);

		assert_string_equal(again + strlen(name) - strlen("-0.debug"), "-1.debug");
		assert_int_equal(count_companions(folder), WORLD_COMPANIONS + 1);
	}
	// Every name that the file could have is taken.
	assert_int_equal(util_run("rm -rf %s/*; for i in 0 1 2 3 4 5 6 7; do mkdir %.*s$i.debug; done",
				  folder, (int)(strlen(name) - strlen("0.debug")), name), 0);
	check_pack_without_companion();
	assert_int_equal(count_companions(folder), 8 + SIDE_BY_SIDE);
}

/* Nothing of a damaged file may reach a debugger, wherever the damage is. */
static void pack_damaged_file_is_made_anew(void **state)
{
	static const char *const damages[] = {
		": > %s", "echo text > %s", "head -c 300 old > %s", "head -c -1 old > %s",
		"sed s/companion/companiom/ old > %s", "sed s/snake_leaf/snake_lead/ old > %s",
		"(head -c 32 old; head -c 8 /dev/zero; tail -c +41 old) > %s", // where the section headers are
		"(cat old; echo) > %s"};
	const char *folder = use_cache("damaged");
	char name[300];

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		const char *again = pack_after(folder, damages[i], name);

		assert_string_equal(again, name);
		assert_int_equal(util_run("cmp %s old", name), 0);
		assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	}
}

/* A file that others wrote, and this user cannot read, is replaced in the user's own folder. */
static void pack_unreadable_file_is_made_anew(void **state)
{
	const char *folder = use_cache("unreadable");
	char name[300];

	(void)state;
	if (!geteuid())
		skip_because("root reads every file");
	assert_string_equal(pack_after(folder, "install -m 0 old %s", name), name);
	assert_int_equal(util_run("cmp %s old", name), 0);
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
	leave(&w);
	assert_int_equal(utimensat(AT_FDCWD, name, old, 0), 0);
	assert_int_equal(stat(name, &before), 0);
	world_pack(&w, 3);
	assert_string_equal(companion_of(&w.images[0].info), name);
	assert_int_equal(stat(name, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	// The file is not the oldest any more.
	assert_true(after.st_atim.tv_sec > 1000);
	// gdb reads a file again that was modified, and loses what it knows of the copies.
	assert_int_equal(after.st_mtim.tv_sec, 1000);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	leave(&w);
}

/* A pack that is kept in memory makes its file younger, too, when it is used again. */
static void pack_kept_in_memory_makes_its_file_younger(void **state)
{
	const char *folder = use_cache("kept");
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct stat st;
	struct world w;
	uint64_t count;

	(void)state;
	for (int i = 0; i < 2; i++) {
		char name[300];

		// Files that have just been written may be written once more within the same second: they are not kept.
		while (i == 0 &&
		       (stat(util_path("self.so"), &st) || time(NULL) - st.st_ctim.tv_sec < 4))
			usleep(100000);
		world_pack(&w, 0);
		strcpy(name, companion_of(&w.images[0].info));
		assert_int_equal(stat(name, &st), 0);
		if (i)
			assert_true(st.st_atim.tv_sec > 1000);
		assert_int_equal(utimensat(AT_FDCWD, name, old, 0), 0);
		world_leave(&w);
		jitreg_kept(&count);
		assert_true(count > 0);
	}
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
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
	leave(&w);
	world_enter(&w, 0);
	before_lock = remove_file;
	world_join(&w);
	assert_null(before_lock);
	assert_string_equal(companion_of(&w.images[0].info), removed);
	assert_int_equal(access(removed, R_OK), 0);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	leave(&w);
}

static ino_t others_inode;

/*
 * Writes the file as the other process would: with the contents of the temporary file, the only other one in the
 * folder.
 */
static void write_same(const char *path)
{
	struct stat st;

	assert_int_equal(util_run("cp $XDG_CACHE_HOME/gorgon/new-*.debug %s", path), 0);
	assert_int_equal(stat(path, &st), 0);
	others_inode = st.st_ino;
}

static void move_back(const char *path)
{
	assert_int_equal(util_run("mv same %s", path), 0);
}

static void pack_file_that_comes_while_it_is_looked_for_is_taken(void **state)
{
	const char *folder = use_cache("comes");
	char name[300];
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	leave(&w);
	assert_int_equal(util_run("mv %s same", name), 0);
	world_enter(&w, 0);
	after_missing = move_back;
	world_join(&w);
	assert_null(after_missing);
	assert_string_equal(companion_of(&w.images[0].info), name);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	leave(&w);
	assert_nothing_left();
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
	world_enter(&w, 0);
	before_link = write_same;
	world_join(&w);
	assert_int_equal(stat(companion_of(&w.images[0].info), &st), 0);
	assert_int_equal(st.st_ino, others_inode);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	leave(&w);
	world_enter(&w, 0);
	assert_int_equal(util_run("rm %s/*.debug", folder), 0); // files with lines stay
	before_link = write_other;
	world_join(&w);
	check_without_companion(&w);
	// The companion that the other process has made.
	assert_int_equal(count_companions(folder), 1);
	leave(&w);
	assert_nothing_left();
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
		enter_at(group, BASE(0), 0x10000, "changing.so", JITREG_NAMES_ONLY, &image);
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
	SKIP_UNDER_TSAN("the thread sanitizer cannot follow a forked or traced child of threads");
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
		assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
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
	assert_int_equal(util_run("mkdir -p %s && cd %s && echo > notes && for i in $(seq 100 361); do "
				  "echo > $i.debug && touch -d @$i $i.debug; done", folder, folder), 0);
	snprintf(name, sizeof(name), "%s/100.debug", folder);
	locked = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(locked, LOCK_SH), 0);
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_int_equal(util_run("test $(ls %s | wc -l) = 257", folder), 0); // with notes
	assert_int_equal(util_run("cd %s && test -f notes && test -f 100.debug && ! test -e 101.debug "
				  "&& ! test -e 110.debug && test -f 150.debug && test -f 361.debug",
				  folder), 0);
	leave(&w);

	// A file in use is locked.
	world_pack(&w, 0);
	assert_int_equal(util_run("touch -d @1 %s", companion_of(&w.images[0].info)), 0);
	{
		struct jitreg_group *group;
		struct image image;

		assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
		enter_at(group, BASE(1), 0x10000, "tls.so", JITREG_NAMES_ONLY, &image);
		assert_non_null(companion_of(&image.info));
		jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
	}
	assert_int_equal(access(companion_of(&w.images[0].info), R_OK), 0);
	assert_int_equal(util_run("test $(ls %s | wc -l) = 257", folder), 0); // with notes
	close(locked);
	leave(&w);
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pack_no_cache_folder_does_without, util_trim),
		cmocka_unit_test_setup(pack_folder_of_others_is_not_used, util_trim),
		cmocka_unit_test_setup(pack_parent_of_others_is_not_used, util_trim),
		cmocka_unit_test_setup(pack_limit_of_file_sizes_does_without, util_trim),
		cmocka_unit_test_setup(pack_read_only_or_full_file_system_does_without, util_trim),
		cmocka_unit_test_setup(pack_something_else_by_the_name_is_left_alone, util_trim),
		cmocka_unit_test_setup(pack_damaged_file_is_made_anew, util_trim),
		cmocka_unit_test_setup(pack_unreadable_file_is_made_anew, util_trim),
		cmocka_unit_test_setup(pack_again_takes_the_file_that_is_there, util_trim),
		cmocka_unit_test_setup(pack_file_removed_before_it_is_locked_is_made_again,
				       util_trim),
		cmocka_unit_test_setup(pack_file_that_comes_while_it_is_looked_for_is_taken,
				       util_trim),
		cmocka_unit_test_setup(pack_file_written_by_another_meanwhile_stays, util_trim),
		cmocka_unit_test_setup(pack_changed_library_has_another_companion, util_trim),
		cmocka_unit_test_setup(pack_processes_at_once_make_one_file, util_trim),
		cmocka_unit_test_setup(pack_many_companions_removes_the_oldest_unused, util_trim),
		cmocka_unit_test_setup(pack_kept_in_memory_makes_its_file_younger, util_trim),
	};

	return cmocka_run_group_tests_name("jitreg/folder", tests, util_setup, NULL);
}
