// SPDX-License-Identifier: MIT
// Damaged libraries under two linkers: the system's dlopen() and ours, each in a child of its own. What is
// refused under one may be accepted under the other, and code that is not what it was crashes under any, as chance has it; but what
// the system's linker refuses does not crash under ours.
//
// usage: differ COUNT SEED FILE...      COUNT damages of the files in turn; a line of counts at the end
//        differ FILE...                 the files as they are; prints the name of each file that the system's linker refuses
//                                       and that crashes under ours, and name and reason of those that one alone refuses
//
// differ: 5000 damages: both accept 812, both refuse 2901, ours alone accepts 10, the system's alone 400, crashes: both 700,
// the system's alone 174, ours where the system accepts 0, where it refuses 0
//
// The exit status is 1 when there is one of the last kind; the damaged file stays as differ-SEED-NUMBER.so.

#define _GNU_SOURCE
#include "fuzz.h"

#include "gorgon.h"

#include <dlfcn.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE_MAX_OF_FILE (1 << 20)
#define SECONDS 10

enum outcome { ACCEPTS, REFUSES, CRASHES, OUTCOMES };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static unsigned seed;

// What the tests' libraries call.
__attribute__((visibility("default"))) void test_note(const char *what);
void test_note(const char *what)
{
	(void)what;
}

// Takes the place of libFuzzer's function: changes a byte.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	(void)max_size;
	data[(unsigned)rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
	return size;
}

static bool open_by_system(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static struct gorgon_error *load(const char *name)
{
	struct gorgon_object *object;
	struct gorgon_ns *ns;

	if (gorgon_ns_create(NULL, &ns))
		_exit(99);
	return gorgon_object_open(ns, name, NULL, &object);
}

static bool open_by_ours(const char *name)
{
	struct gorgon_error *error = load(name);
	bool ret = !error;

	gorgon_error_destroy(error);
	return ret;
}

// Says why the system's linker refuses what ours has accepted.
static bool tell_system_reason(const char *name)
{
	fprintf(stderr, "accepted by ours alone: %s\n", dlopen(name, RTLD_NOW | RTLD_LOCAL) ? "-" : dlerror());
	return true;
}

// Says why ours refuses what the system's linker has accepted.
static bool tell_our_reason(const char *name)
{
	struct gorgon_error *error = load(name);

	fprintf(stderr, "accepted by the system's alone: %s\n", error ? gorgon_error_message(error) : "-");
	gorgon_error_destroy(error);
	return true;
}

static enum outcome outcome_of(bool (*open_file)(const char *name), const char *name)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		struct rlimit memory = {UINT64_C(16) << 30, UINT64_C(16) << 30}, none = {0, 0};

		for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
			signal(deadly[i], SIG_DFL);
		setrlimit(RLIMIT_AS, &memory);
		setrlimit(RLIMIT_CORE, &none);
		alarm(SECONDS);
		_exit(open_file(name) ? ACCEPTS : REFUSES);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) < CRASHES ? (enum outcome)WEXITSTATUS(status) : CRASHES;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	uint8_t *bytes = malloc(SIZE_MAX_OF_FILE);
	FILE *file = fopen(path, "rbe");

	if (!bytes || !file)
		err(1, "%s", path);
	*size = fread(bytes, 1, SIZE_MAX_OF_FILE, file);
	fclose(file);
	return bytes;
}

static void keep(const uint8_t *bytes, size_t size, unsigned first, unsigned long number)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "differ-%u-%lu.so", first, number);
	file = fopen(path, "wbe");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		err(1, "%s", path);
	fprintf(stderr, "%s\n", path);
}

static unsigned long counts[OUTCOMES][OUTCOMES]; // indexed by the system's outcome, then ours

// Tries these bytes under both linkers. Returns true when the system's linker refuses them and ours crashes.
static bool compare(const uint8_t *bytes, size_t size, const char *path)
{
	enum outcome theirs, ours;
	char name[32];
	int fd = fuzz_file(bytes, size, name);

	theirs = outcome_of(open_by_system, name);
	ours = outcome_of(open_by_ours, name);
	if (path && theirs != ours && theirs != CRASHES && ours != CRASHES) {
		fprintf(stderr, "%s: ", path);
		outcome_of(theirs == REFUSES ? tell_system_reason : tell_our_reason, name);
	}
	close(fd);
	counts[theirs][ours]++;
	return theirs == REFUSES && ours == CRASHES;
}

static void compare_damages(unsigned long count, unsigned first, char **paths, size_t path_count)
{
	seed = first;
	for (unsigned long i = 0; i < count; i++) {
		size_t size;
		uint8_t *bytes = read_file(paths[i % path_count], &size);

		size = LLVMFuzzerCustomMutator(bytes, size, size, (unsigned)rand_r(&seed));
		if (compare(bytes, size, NULL))
			keep(bytes, size, first, i);
		free(bytes);
	}
}

static void compare_files(char **paths, size_t path_count)
{
	for (size_t i = 0; i < path_count; i++) {
		size_t size;
		uint8_t *bytes = read_file(paths[i], &size);

		if (compare(bytes, size, paths[i]))
			fprintf(stderr, "%s\n", paths[i]);
		free(bytes);
	}
}

int main(int argc, char **argv)
{
	char *end = NULL;
	unsigned long count = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
	bool damages = count && !*end;

	if (argc < 2 || (damages && argc < 4)) {
		fprintf(stderr, "usage: differ COUNT SEED FILE...\n       differ FILE...\n");
		return 2;
	}
	if (!freopen("/dev/null", "w", stdout))
		err(1, "/dev/null");
	if (damages)
		compare_damages(count, (unsigned)strtoul(argv[2], NULL, 10), argv + 3, (size_t)argc - 3);
	else
		compare_files(argv + 1, count = (unsigned long)argc - 1);
	fprintf(stderr,
		"differ: %lu %s: both accept %lu, both refuse %lu, ours alone accepts %lu, the system's alone %lu, crashes: both "
		"%lu, the system's alone %lu, ours where the system accepts %lu, where it refuses %lu\n",
		count, damages ? "damages" : "files", counts[ACCEPTS][ACCEPTS], counts[REFUSES][REFUSES], counts[REFUSES][ACCEPTS],
		counts[ACCEPTS][REFUSES], counts[CRASHES][CRASHES], counts[CRASHES][ACCEPTS] + counts[CRASHES][REFUSES],
		counts[ACCEPTS][CRASHES], counts[REFUSES][CRASHES]);
	return counts[REFUSES][CRASHES] != 0;
}
