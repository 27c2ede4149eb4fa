// SPDX-License-Identifier: MIT
/*
 * Fixtures of the jitreg tests, built with the compiler at hand:
 *
 *     self.so       DWARF inside
 *     names.so      stripped: .dynsym only, nothing to refer to
 *     self.debug    the DWARF of self.so, detached
 *     link.so       stripped, .gnu_debuglink to self.debug
 *     live.so       .eh_frame in a writable section
 *     tls.so        thread-local variables, a symbol version
 *     nosec.so      self.so without section headers
 */
#define _GNU_SOURCE 1
#include "jitreg_util.h"

#include "../jitreg/descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __aarch64__
#include "watch_aarch64.h"
#else
#include "watch_x86_64.h"
#endif

static char dir[] = "/tmp/jitreg-test-XXXXXX";
static pid_t made_by;

static void remove_dir(void)
{
	if (made_by == getpid()) // a child must not remove the folder
		util_run("rm -rf %s", dir);
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

const char *util_path(const char *name)
{
	static char buffers[8][256];
	static unsigned next;
	char *buffer = buffers[next++ % 8];

	snprintf(buffer, sizeof(buffers[0]), "%s/%s", dir, name);
	return buffer;
}

int util_run(const char *format, ...)
{
	char command[4096];
	int n = snprintf(command, sizeof(command), "cd %s && ", dir);
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
	va_end(args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

uint8_t *util_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;

	if (!f || fstat(fileno(f), &st))
		die(path);
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	if (!data || fread(data, 1, *size, f) != *size)
		die(path);
	fclose(f);
	return data;
}

void util_write(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		die(path);
}

static void strip_section_headers(const char *from, const char *to)
{
	size_t size;
	uint8_t *data = util_read(from, &size);

	memset(data + 0x28, 0, 8); // e_shoff
	memset(data + 0x3c, 0, 4); // e_shnum, e_shstrndx
	util_write(to, data, size);
	free(data);
}

static int build_libraries(void)
{
	static const char tls[] = "__thread int snake_tls = 1;\n"
				  "__thread int snake_tbss[1000];\n"
				  "int snake_versioned(int i);\n"
				  "int snake_versioned(int i)\n"
				  "{ return snake_tls + snake_tbss[i]; }\n";
	static const char map[] = "SNAKE_1 { global: *; };\n";
	char *source = realpath(JITREG_FIXTURE, NULL);
	int failed;

	if (!source)
		die(JITREG_FIXTURE);
	util_write(util_path("tls.c"), tls, sizeof(tls) - 1);
	util_write(util_path("tls.map"), map, sizeof(map) - 1);
	failed = util_run("cc='gcc -g -O0 -fPIC -shared -nostdlib -fasynchronous-unwind-tables "
			  "-Wl,-Bsymbolic -Wl,--hash-style=both -Wl,--build-id' && "
			  "$cc %s -o self.so && "
			  "$cc tls.c -Wl,--version-script=tls.map -o tls.so && "
			  "objcopy --only-keep-debug self.so self.debug && "
			  "objcopy --strip-debug --strip-unneeded self.so names.so && "
			  "objcopy --strip-debug --strip-unneeded --add-gnu-debuglink=self.debug "
			  "self.so link.so && "
			  "objcopy --set-section-flags .eh_frame=alloc,data self.so live.so",
			  source);
	free(source);
	strip_section_headers(util_path("self.so"), util_path("nosec.so"));
	return failed;
}

int util_setup(void **state)
{
	(void)state;
	if (made_by)
		return 0;
	if (!mkdtemp(dir))
		die(dir);
	made_by = getpid();
	atexit(remove_dir);
	setenv("XDG_CACHE_HOME", dir, 1); // companions of packs are made there
	return build_libraries();
}

int util_setup_settled(void **state)
{
	int r = util_setup(state);

	sleep(3);
	return r;
}

int util_trim(void **state)
{
	(void)state;
	jitreg_trim();
	return 0;
}

size_t util_fd_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count;
}

size_t util_symfile_bytes(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	size_t start, end, sum = 0, heap = (size_t)sbrk(0); // QEMU's list has no name for the heap
	unsigned long inode;
	char line[512], perms[8];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%zx-%zx %7s %*s %*s %lu", &start, &end, perms, &inode) == 4 &&
		    !inode && (!strcmp(perms, "r--p") || !strcmp(perms, "rw-p")) && !strchr(line, '[') &&
		    !(start < heap && heap <= end))
			sum += end - start;
	}
	if (f)
		fclose(f);
	return sum;
}

/*
 * util_watch() puts a breakpoint over the first instruction; the handler of the signal returns in the function's
 * place.
 */
static void (*watcher)(void);
static struct sigaction before_watch;
static watch_code covered;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	watcher();
	watch_return(context);
}

static watch_code set_code(watch_code code)
{
	watch_code *at = (watch_code *)__jit_debug_register_code, old;
	uintptr_t size = (uintptr_t)getpagesize();
	void *page = (void *)((uintptr_t)at & -size);

	if (mprotect(page, 2 * size, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect");
	old = *at;
	*at = code;
	__builtin___clear_cache((char *)at, (char *)(at + 1));
	if (mprotect(page, 2 * size, PROT_READ | PROT_EXEC))
		die("mprotect");
	return old;
}

void util_watch(void (*fn)(void))
{
	struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	watcher = fn;
	sigaction(SIGTRAP, &act, &before_watch);
	covered = set_code(WATCH_BREAKPOINT);
}

void util_watch_end(void)
{
	set_code(covered);
	sigaction(SIGTRAP, &before_watch, NULL);
}

uint32_t util_crc32(const uint8_t *data, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

int util_register(const char *path, uint64_t bias, struct jitreg_entry **ret)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = path,
		.fd = -1,
		.bias = bias,
		.start = bias,
		.end = bias + 0x10000000,
	};

	return jitreg_register(&image, ret);
}
