// SPDX-License-Identifier: MIT
// A host with several interpreters, for the debugger sessions and the demonstration.
//
//	host [-n N] [-p PYTHON]... [-d K] [-a] [-l] [-o] [-s] [-y] [-t IMPORTS] [-r ROUNDS] CODE
//
// Creates N interpreters (default 3), prints for each the address of its own
// PyList_Append, which debugger tests compare with what they see, calls
// host_created(), runs CODE in all of them at once on a thread each, and destroys
// them. -d K: destroys interpreter K before the programs start and calls
// host_destroyed(). Of several PYTHONs the interpreters take turns. -a: after the programs have ended creates one more and runs CODE in it.
// -l: debuggers are told as little as with very many interpreters (GORGON_DEBUG_LAZY). -s: descriptors are the host's
// (GORGON_FILES_SHARED): an interpreter with its own would close the connection over which QEMU talks to a debugger.
// -y: Python lines have addresses, -o: none, also under a debugger. -t IMPORTS: all but the first are copies of a template that has run these.
// -r ROUNDS: all of that several times.

#define _GNU_SOURCE
#include <gorgon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT_MAX   1001 // a thousand, and one more with -a
#define PYTHONS_MAX 4

static struct gorgon_interp *interps[COUNT_MAX];
static const char *code;
static struct gorgon_template *template;
static enum gorgon_debug_mode debug;
// The threads below do nothing but run programs.
static enum gorgon_files files = GORGON_FILES_THREAD;
static enum gorgon_python_lines lines;

// The address of each interpreter's PyList_Append, as this host has computed it. Debuggers compare with it what
// they say of an address.
void *host_append_at[COUNT_MAX];

// Places for a debugger to stop; they must not be inlined or dropped.
__attribute__((noinline)) void host_created(int count);
__attribute__((noinline)) void host_destroyed(int number);

void host_created(int count)
{
	__asm__ volatile("" : : "r"(count) : "memory");
}

void host_destroyed(int number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "host: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	exit(3);
}

static void create(int i, const char *python)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.python = python,
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .debug = debug},
		.files = files,
		.python_lines = lines,
		.from = i ? template : NULL,
	};

	check(gorgon_interp_create(&opts, &interps[i]));
	host_append_at[i] = gorgon_interp_find_symbol(interps[i], "PyList_Append");
	printf("host: interp %u PyList_Append %p\n", gorgon_interp_number(interps[i]),
	       host_append_at[i]);
	fflush(stdout);
}

static void *run_interpreter(void *arg)
{
	struct gorgon_interp *interp = arg;
	const char *const argv[] = {"-c", code};
	int status = 0;

	if (template && interp != interps[0]) {
		check(gorgon_interp_start(interp, NULL));
		check(gorgon_interp_run_string(interp, code, "<string>"));
		check(gorgon_interp_stop(interp)); // CPython 3.13 ends on no other thread
		return NULL;
	}
	check(gorgon_interp_main(interp, 2, argv, &status));
	return (void *)(long)status;
}

static long run(int first, int last)
{
	pthread_t threads[COUNT_MAX];
	long failed = 0;
	void *status;

	for (int i = first; i < last; i++)
		if (interps[i] && pthread_create(&threads[i], NULL, run_interpreter, interps[i]))
			abort();
	for (int i = first; i < last; i++) {
		if (!interps[i])
			continue;
		pthread_join(threads[i], &status);
		if (!failed)
			failed = (long)status;
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct gorgon_template_opts of_template = {.size = sizeof(of_template)};
	const char *pythons[PYTHONS_MAX] = {NULL};
	int opt, count = 3, doomed = -1, again = 0, python_count = 0, rounds = 1;
	long status = 0;

	while ((opt = getopt(argc, argv, "n:p:d:alosyt:r:")) != -1) {
		if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'p' && python_count < PYTHONS_MAX)
			pythons[python_count++] = optarg;
		else if (opt == 'd')
			doomed = atoi(optarg);
		else if (opt == 'a')
			again = 1;
		else if (opt == 'l')
			debug = GORGON_DEBUG_LAZY;
		else if (opt == 's')
			files = GORGON_FILES_SHARED;
		else if (opt == 'o')
			lines = GORGON_PYTHON_LINES_OFF;
		else if (opt == 'y')
			lines = GORGON_PYTHON_LINES_ON;
		else if (opt == 't')
			of_template.program = optarg;
		else if (opt == 'r')
			rounds = atoi(optarg);
		else
			return 2;
	}
	if (optind != argc - 1 || count < 1 || count >= COUNT_MAX || doomed >= count) {
		fprintf(stderr, "usage: host [-n N] [-p PYTHON]... [-d K] [-a] [-l] [-o] [-s] [-y] [-t IMPORTS] [-r ROUNDS] CODE\n");
		return 2;
	}
	code = argv[optind];
	python_count = python_count ? python_count : 1; // the default
	if (of_template.program)
		check(gorgon_template_create(&of_template, &template));
	for (int round = 0; round < rounds && !status; round++) {
		for (int i = 0; i < count; i++)
			create(i, pythons[i % python_count]);
		host_created(count);
		if (doomed >= 0) {
			check(gorgon_interp_destroy(interps[doomed]));
			interps[doomed] = NULL;
			host_destroyed(doomed);
		}
		status = run(0, count);
		if (again) {
			create(count, pythons[count % python_count]);
			host_created(count + 1);
			status = status ? status : run(count, count + 1);
		}
		for (int i = 0; i < count + again; i++)
			check(gorgon_interp_destroy(interps[i]));
	}
	gorgon_template_free(template);
	return (int)status;
}
