// SPDX-License-Identifier: MIT
// What libraries do at the end of a process, with a file that they have opened before: tests/run/test_endings.py.

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static int fd = -1;
static const char *name;

static void note(const char *who)
{
	int again = open(name, O_WRONLY | O_APPEND);

	dprintf(fd, "%s: the descriptor works, the name %s\n", who, again >= 0 ? "too" : "does not");
	if (again >= 0)
		close(again);
}

struct at_end {
	~at_end()
	{
		if (fd >= 0)
			note("static object");
	}
};

static at_end object;

__attribute__((destructor)) static void destructor()
{
	if (fd >= 0)
		note("destructor");
}

static void at_exit()
{
	note("atexit");
}

// The file is named relative to the current directory. The stream stays open.
extern "C" void at_end_begin(const char *file)
{
	FILE *stream = std::fopen("stream", "w");

	name = file;
	fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
	std::fputs("written", stream);
	std::atexit(at_exit);
}

// What the standard library of Rust does: a directory that cannot be closed is the end of the process.
static void *scan(void *)
{
	timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		DIR *folder = opendir("/proc/self");

		while (folder && readdir(folder))
			;
		if (folder && closedir(folder))
			abort();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 200);
	return nullptr;
}

extern "C" void at_end_scan()
{
	pthread_t thread;

	pthread_create(&thread, nullptr, scan, nullptr);
}
