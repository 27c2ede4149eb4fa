// SPDX-License-Identifier: MIT
// See failing.h.

#define _GNU_SOURCE
#include "failing.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static struct failing_record *record;
static atomic_size_t count;
static size_t failing;
static bool all_fail, without_process;
static atomic_bool counting;
static const struct failing_call *_Atomic failed;

// --- places -------------------------------------------------------------------------------------

static Dwarf *dwarf;
static uintptr_t bias;

static int see_program(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	bias = info->dlpi_addr;
	return 1; // the first one is the program
}

void failing_init(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	dl_iterate_phdr(see_program, NULL);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (!dwarf)
		errx(1, "this program has no debug information");
}

// The source file; NULL for what has no debug information.
static const char *file_of(const void *from, int *line)
{
	uintptr_t addr = (uintptr_t)from - bias - 1;
	Dwarf_Line *row;
	Dwarf_Die cu;
	const char *ret;

	if (!dwarf_addrdie(dwarf, addr, &cu))
		return NULL;
	row = dwarf_getsrc_die(&cu, addr);
	ret = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	if (!ret || dwarf_lineno(row, line))
		return NULL;
	return ret;
}

const char *failing_place(const void *from)
{
	static char text[256];
	int line = 0;
	const char *name = file_of(from, &line);
	const char *ours = name ? strstr(name, "loader/") ?: strstr(name, "jitreg/") : NULL;

	snprintf(text, sizeof(text), "%s:%d", ours ?: name ?: "?", line);
	return text;
}

#define VERDICTS 4096

// Whether calls from there count: the libraries' own. Each place is looked up once.
static bool is_counted(const void *from)
{
	static struct {
		const void *_Atomic from;
		bool counted, process;
	} verdicts[VERDICTS];
	size_t i = ((uintptr_t)from >> 1) % VERDICTS;
	const char *name;
	Dwarf_Die cu;

	while (verdicts[i].from && verdicts[i].from != from)
		i = (i + 1) % VERDICTS;
	if (!verdicts[i].from) {
		name = dwarf_addrdie(dwarf, (uintptr_t)from - bias - 1, &cu) ? dwarf_diename(&cu) : NULL;
		verdicts[i].process = name && !strncmp(name, "loader/process/", 15);
		verdicts[i].counted = name && (!strncmp(name, "loader/", 7) || !strncmp(name, "jitreg/", 7));
		verdicts[i].from = from;
	}
	return verdicts[i].counted && !(without_process && verdicts[i].process);
}

// --- counting -----------------------------------------------------------------------------------

void failing_begin(struct failing_record *to, size_t n, bool all, bool private_runs)
{
	record = to;
	failing = n;
	all_fail = all;
	without_process = private_runs;
	failed = NULL;
	record->count = 0;
	count = 0;
	counting = true;
}

void failing_end(void)
{
	counting = false;
}

void failing_go_on(void)
{
	counting = true;
}

static bool must_fail(enum failing_kind kind, const char *function, int number, const void *from)
{
	bool was = counting;
	size_t n;

	if (!counting)
		return false;
	counting = false; // libdw allocates, too
	if (!is_counted(from)) {
		counting = was;
		return false;
	}
	counting = was;
	n = ++count;
	if (n > FAILING_CALLS_MAX)
		errx(1, "more than %d calls", FAILING_CALLS_MAX);
	record->calls[n - 1] = (struct failing_call){function, from, number, kind};
	__atomic_store_n(&record->count, n, __ATOMIC_RELAXED);
	if (n == failing)
		failed = &record->calls[n - 1];
	else if (!(all_fail && failed && kind == failed->kind))
		return false;
	errno = failed->number;
	return true;
}

// --- the calls ----------------------------------------------------------------------------------

#define WRAP(kind, name, fail_value, number, ret, params, ...)                                                 \
	ret __real_##name params;                                                                              \
	ret __wrap_##name params;                                                                              \
	ret __wrap_##name params                                                                               \
	{                                                                                                      \
		return must_fail(FAILING_##kind, #name, number, __builtin_return_address(0))                   \
			       ? fail_value                                                                    \
			       : __real_##name(__VA_ARGS__);                                                   \
	}

WRAP(MEMORY, malloc, NULL, ENOMEM, void *, (size_t size), size)
WRAP(MEMORY, calloc, NULL, ENOMEM, void *, (size_t items, size_t size), items, size)
WRAP(MEMORY, realloc, NULL, ENOMEM, void *, (void *p, size_t size), p, size)
WRAP(MEMORY, reallocarray, NULL, ENOMEM, void *, (void *p, size_t items, size_t size), p, items, size)
WRAP(MEMORY, memalign, NULL, ENOMEM, void *, (size_t alignment, size_t size), alignment, size)
WRAP(MEMORY, posix_memalign, ENOMEM, ENOMEM, int, (void **p, size_t alignment, size_t size), p, alignment, size)
WRAP(MEMORY, strdup, NULL, ENOMEM, char *, (const char *s), s)
WRAP(MEMORY, strndup, NULL, ENOMEM, char *, (const char *s, size_t size), s, size)
WRAP(MEMORY, vasprintf, -1, ENOMEM, int, (char **ret, const char *format, va_list args), ret, format, args)
WRAP(MEMORY, open_memstream, NULL, ENOMEM, FILE *, (char **p, size_t *size), p, size)
WRAP(MEMORY, newlocale, (locale_t)0, ENOMEM, locale_t, (int mask, const char *name, locale_t base), mask, name, base)
WRAP(MEMORY, duplocale, (locale_t)0, ENOMEM, locale_t, (locale_t locale), locale)
WRAP(MAPPING, mmap, MAP_FAILED, ENOMEM, void *, (void *addr, size_t size, int prot, int flags, int fd, off_t off), addr,
     size, prot, flags, fd, off)
WRAP(MAPPING, mprotect, -1, ENOMEM, int, (void *addr, size_t size, int prot), addr, size, prot)
WRAP(UNMAPPING, munmap, -1, ENOMEM, int, (void *addr, size_t size), addr, size)
WRAP(MAPPING, madvise, -1, ENOMEM, int, (void *addr, size_t size, int advice), addr, size, advice)
WRAP(FILE, fopen, NULL, EMFILE, FILE *, (const char *path, const char *mode), path, mode)
WRAP(FILE, opendir, NULL, EMFILE, DIR *, (const char *path), path)
WRAP(FILE, fstat, -1, EIO, int, (int fd, struct stat *st), fd, st)
WRAP(FILE, stat, -1, EIO, int, (const char *path, struct stat *st), path, st)
WRAP(FILE, lstat, -1, EIO, int, (const char *path, struct stat *st), path, st)
WRAP(FILE, access, -1, EIO, int, (const char *path, int mode), path, mode)
WRAP(FILE, realpath, NULL, EIO, char *, (const char *path, char *ret), path, ret)
WRAP(FILE, getcwd, NULL, EIO, char *, (char *ret, size_t size), ret, size)
WRAP(FILE, memfd_create, -1, EMFILE, int, (const char *name, unsigned flags), name, flags)
WRAP(FILE, pread, -1, EIO, ssize_t, (int fd, void *data, size_t size, off_t off), fd, data, size, off)
WRAP(FILE, read, -1, EIO, ssize_t, (int fd, void *data, size_t size), fd, data, size)
WRAP(FILE, pwrite, -1, ENOSPC, ssize_t, (int fd, const void *data, size_t size, off_t off), fd, data, size, off)
WRAP(FILE, write, -1, ENOSPC, ssize_t, (int fd, const void *data, size_t size), fd, data, size)
WRAP(FILE, ftruncate, -1, ENOSPC, int, (int fd, off_t size), fd, size)
WRAP(FILE, flock, -1, ENOLCK, int, (int fd, int operation), fd, operation)
WRAP(FILE, link, -1, EPERM, int, (const char *from, const char *to), from, to)
WRAP(FILE, rename, -1, EPERM, int, (const char *from, const char *to), from, to)
WRAP(FILE, mkdir, -1, EACCES, int, (const char *path, mode_t mode), path, mode)
WRAP(FILE, mkostemps, -1, EACCES, int, (char *name, int size, int flags), name, size, flags)
WRAP(THREAD, pthread_create, EAGAIN, EAGAIN, int,
     (pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg), thread, attr, start, arg)
WRAP(THREAD, pthread_key_create, EAGAIN, EAGAIN, int, (pthread_key_t *key, void (*destroy)(void *)), key, destroy)
WRAP(THREAD, pthread_attr_init, ENOMEM, ENOMEM, int, (pthread_attr_t *attr), attr)
WRAP(THREAD, pthread_getattr_np, ENOMEM, ENOMEM, int, (pthread_t thread, pthread_attr_t *attr), thread, attr)
WRAP(FILE, socket, -1, EMFILE, int, (int family, int type, int protocol), family, type, protocol)
WRAP(FILE, socketpair, -1, EMFILE, int, (int family, int type, int protocol, int ends[2]), family, type, protocol, ends)
WRAP(FILE, bind, -1, EADDRINUSE, int, (int fd, const struct sockaddr *address, socklen_t size), fd, address, size)
WRAP(FILE, sendmsg, -1, ENOBUFS, ssize_t, (int fd, const struct msghdr *message, int flags), fd, message, flags)
WRAP(THREAD, unshare, -1, EPERM, int, (int flags), flags)
// dlerror() has a reason of its own.
WRAP(LIBRARY, dlopen, __real_dlopen("/no/memory", RTLD_NOW), 0, void *, (const char *name, int flags), name, flags)
WRAP(LIBRARY, dlmopen, __real_dlopen("/no/memory", RTLD_NOW), 0, void *, (Lmid_t where, const char *name, int flags), where, name,
     flags)
// elf_nextscn() has no failure: NULL is the end of the list.
WRAP(ELF, elf_begin, NULL, ENOMEM, Elf *, (int fd, Elf_Cmd command, Elf *ref), fd, command, ref)
WRAP(ELF, elf_memory, NULL, ENOMEM, Elf *, (char *image, size_t size), image, size)
WRAP(ELF, elf_getscn, NULL, ENOMEM, Elf_Scn *, (Elf *elf, size_t index), elf, index)
WRAP(ELF, elf_getdata, NULL, ENOMEM, Elf_Data *, (Elf_Scn *scn, Elf_Data *data), scn, data)
WRAP(ELF, elf_rawdata, NULL, ENOMEM, Elf_Data *, (Elf_Scn *scn, Elf_Data *data), scn, data)
WRAP(ELF, elf_getdata_rawchunk, NULL, ENOMEM, Elf_Data *, (Elf *elf, int64_t at, size_t size, Elf_Type type), elf, at, size,
     type)
WRAP(ELF, elf_rawfile, NULL, ENOMEM, char *, (Elf *elf, size_t *size), elf, size)
WRAP(ELF, elf_getphdrnum, -1, ENOMEM, int, (Elf *elf, size_t *n), elf, n)
WRAP(ELF, elf_getshdrnum, -1, ENOMEM, int, (Elf *elf, size_t *n), elf, n)
WRAP(ELF, elf_getshdrstrndx, -1, ENOMEM, int, (Elf *elf, size_t *n), elf, n)
WRAP(ELF, elf_strptr, NULL, ENOMEM, char *, (Elf *elf, size_t section, size_t at), elf, section, at)
WRAP(ELF, elf_compress, -1, ENOMEM, int, (Elf_Scn *scn, int type, unsigned flags), scn, type, flags)
WRAP(ELF, elf_compress_gnu, -1, ENOMEM, int, (Elf_Scn *scn, int inflate, unsigned flags), scn, inflate, flags)
WRAP(ELF, elf64_getphdr, NULL, ENOMEM, Elf64_Phdr *, (Elf *elf), elf)
WRAP(ELF, gelf_getehdr, NULL, ENOMEM, GElf_Ehdr *, (Elf *elf, GElf_Ehdr *ret), elf, ret)
WRAP(ELF, gelf_getphdr, NULL, ENOMEM, GElf_Phdr *, (Elf *elf, int n, GElf_Phdr *ret), elf, n, ret)
WRAP(ELF, gelf_getshdr, NULL, ENOMEM, GElf_Shdr *, (Elf_Scn *scn, GElf_Shdr *ret), scn, ret)
WRAP(ELF, gelf_getsym, NULL, ENOMEM, GElf_Sym *, (Elf_Data *data, int n, GElf_Sym *ret), data, n, ret)
WRAP(ELF, gelf_getchdr, NULL, ENOMEM, GElf_Chdr *, (Elf_Scn *scn, GElf_Chdr *ret), scn, ret)
WRAP(ELF, gelf_newphdr, NULL, ENOMEM, void *, (Elf *elf, size_t n), elf, n)
WRAP(ELF, gelf_update_ehdr, 0, ENOMEM, int, (Elf *elf, GElf_Ehdr *ehdr), elf, ehdr)
WRAP(ELF, gelf_update_phdr, 0, ENOMEM, int, (Elf *elf, int n, GElf_Phdr *phdr), elf, n, phdr)
WRAP(ELF, gelf_update_shdr, 0, ENOMEM, int, (Elf_Scn *scn, GElf_Shdr *shdr), scn, shdr)
WRAP(ELF, elf_newscn, NULL, ENOMEM, Elf_Scn *, (Elf *elf), elf)
WRAP(ELF, elf_newdata, NULL, ENOMEM, Elf_Data *, (Elf_Scn *scn), scn)
WRAP(ELF, elf_update, -1, ENOMEM, int64_t, (Elf *elf, Elf_Cmd command), elf, command)
WRAP(ELF, compress2, Z_MEM_ERROR, ENOMEM, int, (Bytef *to, uLongf *to_size, const Bytef *from, uLong size, int level), to, to_size,
     from, size, level)

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int size;

	if (must_fail(FAILING_MEMORY, "asprintf", ENOMEM, __builtin_return_address(0)))
		return -1;
	va_start(args, format);
	size = __real_vasprintf(ret, format, args);
	va_end(args);
	return size;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (must_fail(FAILING_FILE, "open", EMFILE, __builtin_return_address(0)))
		return -1;
	va_start(args, flags);
	if (__OPEN_NEEDS_MODE(flags))
		mode = va_arg(args, mode_t);
	va_end(args);
	return __real_open(path, flags, mode);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (must_fail(FAILING_FILE, "openat", EMFILE, __builtin_return_address(0)))
		return -1;
	va_start(args, flags);
	if (__OPEN_NEEDS_MODE(flags))
		mode = va_arg(args, mode_t);
	va_end(args);
	return __real_openat(folder, path, flags, mode);
}
