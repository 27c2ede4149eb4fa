// SPDX-License-Identifier: MIT
// A host that is linked to libpython and runs its own Python beside two private ones.
//
// usage: host_python OWN FIRST SECOND
//
// Runs OWN in its own Python, then FIRST and SECOND in an interpreter each, at once, and OWN again meanwhile. FIRST
// and SECOND get as arguments id(None) of the host's Python and a descriptor: each writes a byte when it has loaded
// what it needs, and waits for a byte. FIRST goes on, ends and is destroyed while SECOND waits; SECOND goes on and
// waits again; then the host's Python is finalised, and SECOND ends.
//
// Prints what each ended with, and how many words of SECOND's objects point into the
// host's libpython and into their own.

#define _GNU_SOURCE
#include <Python.h>

#include <gorgon.h>

#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANGES_MAX 256

struct range {
	uint64_t start, end;
};

struct ranges {
	struct range list[RANGES_MAX];
	size_t count;
};

static struct range host_libpython;

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "host: %s\n", gorgon_error_message(err));
	exit(3);
}

static bool contains(const struct range *range, uint64_t addr)
{
	return addr >= range->start && addr < range->end;
}

// --- words that point somewhere ------------------------------------------------------

// Finds the object of the system's linker that contains ret->start.
static int match_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct range object = {UINT64_MAX, 0}, *ret = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		if (start < object.start)
			object.start = start;
		if (start + phdr->p_memsz > object.end)
			object.end = start + phdr->p_memsz;
	}
	if (!contains(&object, ret->start))
		return 0;
	*ret = object;
	return 1;
}

static struct range object_with(const void *addr)
{
	struct range ret = {.start = (uintptr_t)addr};

	if (!dl_iterate_phdr(match_object, &ret))
		abort();
	return ret;
}

static bool add_range(void *ctx, struct gorgon_object *object)
{
	struct ranges *ranges = ctx;
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	if (ranges->count == RANGES_MAX)
		abort();
	ranges->list[ranges->count++] = (struct range){info.start, info.end};
	return true;
}

// Says where the first words are that point into @target.
static size_t count_in(uint64_t start, uint64_t end, const struct range *target)
{
	size_t count = 0;

	for (const uint64_t *word = (const uint64_t *)(uintptr_t)start;
	     word < (const uint64_t *)(uintptr_t)end; word++)
		if (contains(target, *word) && ++count < 4 && target == &host_libpython)
			fprintf(stderr, "host: at %p, 0x%" PRIx64 " into %p, is 0x%" PRIx64 " into its libpython\n", (void *)word,
				(uint64_t)(uintptr_t)word - start, (void *)(uintptr_t)start, *word - target->start);
	return count;
}

// Counts words in the readable parts of @where that point into @target.
static size_t count_pointers(const struct ranges *where, const struct range *target)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[4096], readable;
	size_t count = 0;

	if (!maps)
		abort();
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c", &start, &end, &readable) != 3 ||
		    readable != 'r')
			continue;
		// The kernel merges neighbours: a mapping may go beyond the object.
		for (size_t i = 0; i < where->count; i++) {
			const struct range *range = &where->list[i];

			count += count_in(start > range->start ? start : range->start,
					  end < range->end ? end : range->end, target);
		}
	}
	fclose(maps);
	return count;
}

static void print_pointers(struct gorgon_interp *interp)
{
	uint64_t in_libpython = (uintptr_t)gorgon_interp_find_symbol(interp, "Py_BytesMain");
	struct ranges private = {0}, program = {.list = {object_with(check)}, .count = 1};
	struct range own = {0};

	gorgon_ns_for_each_object(gorgon_interp_ns(interp), add_range, &private);
	for (size_t i = 0; i < private.count; i++)
		if (contains(&private.list[i], in_libpython))
			own = private.list[i];
	printf("host: pointers to its libpython: in the program %zu, in private objects %zu\n",
	       count_pointers(&program, &host_libpython), count_pointers(&private, &host_libpython));
	printf("host: pointers to their own: %zu\n", count_pointers(&private, &own));
}

// --- programs -------------------------------------------------------------------------

struct program {
	struct gorgon_interp *interp;
	const char *code;
	pthread_t thread;
	int ours, theirs; // the two ends of a socket
	int status;
};

static void *run(void *arg)
{
	struct program *program = arg;
	char none[24], fd[16];
	const char *const argv[] = {"-c", program->code, none, fd};

	snprintf(none, sizeof(none), "%" PRIuPTR, (uintptr_t)Py_None);
	snprintf(fd, sizeof(fd), "%d", program->theirs);
	check(gorgon_interp_main(program->interp, 4, argv, &program->status));
	// A program that has failed writes no byte: the host must not wait for it.
	shutdown(program->theirs, SHUT_WR);
	return NULL;
}

static void start(struct program *program, const char *code)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	program->ours = ends[0];
	program->theirs = ends[1];
	program->code = code;
	check(gorgon_interp_create(NULL, &program->interp));
	if (pthread_create(&program->thread, NULL, run, program))
		abort();
}

static void wait_for(struct program *program)
{
	char byte;

	if (read(program->ours, &byte, 1) != 1)
		fprintf(stderr, "host: interpreter %u has ended early\n",
			gorgon_interp_number(program->interp));
}

static void let_go_on(struct program *program)
{
	if (write(program->ours, ".", 1) != 1)
		abort();
}

static void finish(struct program *program, const char *name)
{
	pthread_join(program->thread, NULL);
	printf("host: %s ended with %d\n", name, program->status);
	check(gorgon_interp_destroy(program->interp));
	close(program->ours);
	close(program->theirs);
}

static void run_own(const char *code)
{
	printf("host: own ended with %d\n", PyRun_SimpleString(code));
}

int main(int argc, char **argv)
{
	struct program first = {.status = -1}, second = {.status = -1};

	if (argc != 4) {
		fprintf(stderr, "usage: host_python OWN FIRST SECOND\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	host_libpython = object_with(Py_GetVersion());
	Py_Initialize();
	run_own(argv[1]);
	start(&first, argv[2]);
	start(&second, argv[3]);
	run_own(argv[1]); // while both programs run
	wait_for(&first);
	wait_for(&second);
	print_pointers(second.interp);
	let_go_on(&first);
	finish(&first, "first");
	let_go_on(&second);
	wait_for(&second);
	run_own(argv[1]);
	printf("host: finalised with %d\n", Py_FinalizeEx());
	let_go_on(&second);
	finish(&second, "second");
	return 0;
}
