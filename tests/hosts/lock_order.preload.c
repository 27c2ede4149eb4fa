// SPDX-License-Identifier: MIT
// A preload that writes down in which order threads take the mutexes of libgorgon and libjitreg: a line for each new
// pair of a mutex that a thread holds and one that it is about to take, with the places in their stacks that called.
// run/test_locks.py compares the lines with the table of docs/architecture.md.
//
// A stack is made of the words of the thread's stack that are return addresses of the libraries: an
// unwinder could take locks. Each line is "module+offset" of the held mutex and of the wanted one,
// or of the call that has initialised it, with "@" in front; then a "|" and the places for each.
// Each line is a file in the folder LOCK_ORDER_FOLDER, so that many processes write each pair down
// once; its folder modules/ has the programs and libraries.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS  400
#define DEPTH  256 // fork() takes all
#define PLACES 14
#define SEEN   8192
#define MADE   8192
#define INITIAL __attribute__((tls_model("initial-exec")))

static int (*real_lock)(pthread_mutex_t *), (*real_trylock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);
static int (*real_init)(pthread_mutex_t *, const pthread_mutexattr_t *);

static struct module {
	const char *name;
	uintptr_t base, start, end;
} modules[4];
static unsigned module_count; // atomic
static volatile int spin;

struct held {
	const pthread_mutex_t *mutex;
	uintptr_t places[PLACES];
};

static __thread struct held held[DEPTH] INITIAL;
static __thread unsigned depth INITIAL;
static __thread bool busy INITIAL;

static uint64_t seen[SEEN];
static struct {
	const pthread_mutex_t *mutex;
	uintptr_t place;
} made[MADE];

// In a forked child the thread that had it may not be there.
static void enter(void)
{
	for (long i = 0; i < 100000000 && __atomic_exchange_n(&spin, 1, __ATOMIC_ACQUIRE); i++)
		continue;
}

static void leave(void)
{
	__atomic_store_n(&spin, 0, __ATOMIC_RELEASE);
}

static const char *program_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[size > 0 ? size : 0] = 0;
	return path;
}

// Tests remove what they have built: a second name stays, if the folder is on the same file system.
static char *keep_name(const char *path)
{
	const char *folder = getenv("LOCK_ORDER_FOLDER");
	struct stat info;
	char *name;

	if (!folder || stat(path, &info) ||
	    asprintf(&name, "%s/modules/%lu", folder, info.st_ino) < 0)
		return strdup(path);
	if (!link(path, name) || errno == EEXIST)
		return name;
	free(name);
	return strdup(path);
}

static int see_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	static bool first = true;
	struct module *module = &modules[module_count];
	bool wanted = first || strstr(info->dlpi_name, "libgorgon.so") || strstr(info->dlpi_name, "libjitreg.so");

	(void)size;
	(void)ctx;
	first = false;
	for (unsigned i = 0; i < module_count; i++)
		if (modules[i].base == info->dlpi_addr)
			wanted = false;
	if (!wanted || module_count == sizeof(modules) / sizeof(*modules))
		return 0;
	module->name = keep_name(*info->dlpi_name ? info->dlpi_name : program_path());
	module->base = info->dlpi_addr;
	module->start = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		module->start = start < module->start ? start : module->start;
		module->end = end > module->end ? end : module->end;
	}
	__atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
	return 0;
}

// Libraries come later, too: a python3 imports the package.
static void look_for_modules(bool at_once)
{
	static unsigned tries;

	if (busy || depth || __atomic_load_n(&module_count, __ATOMIC_ACQUIRE) >= 3 ||
	    (__atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) % 64 && !at_once))
		return;
	busy = true;
	dl_iterate_phdr(see_module, NULL);
	busy = false;
}

static const struct module *module_of(uintptr_t addr)
{
	for (unsigned i = 0; i < __atomic_load_n(&module_count, __ATOMIC_ACQUIRE); i++)
		if (addr >= modules[i].start && addr < modules[i].end)
			return &modules[i];
	return NULL;
}

static bool is_after_call(uintptr_t addr)
{
	const unsigned char *code = (const unsigned char *)addr;

	return code[-5] == 0xe8 || (code[-6] == 0xff && code[-5] == 0x15) || (code[-2] == 0xff && (code[-1] & 0x38) == 0x10) ||
	       (code[-3] == 0xff && (code[-2] & 0x38) == 0x10);
}

static void read_stack(uintptr_t place, uintptr_t *places)
{
	static __thread uintptr_t start INITIAL, end INITIAL; // of this thread's stack
	const uintptr_t *words = __builtin_frame_address(0);
	size_t count = 1;

	memset(places, 0, PLACES * sizeof(*places));
	places[0] = place;
	if (!end) {
		pthread_attr_t attr;
		void *addr = NULL;
		size_t size = 0;

		if (pthread_getattr_np(pthread_self(), &attr))
			return;
		pthread_attr_getstack(&attr, &addr, &size);
		pthread_attr_destroy(&attr);
		start = (uintptr_t)addr;
		end = start + size;
	}
	if ((uintptr_t)words < start || (uintptr_t)words >= end)
		return; // a signal's stack
	for (size_t i = 0; i < WORDS && (uintptr_t)(words + i + 1) <= end && count < PLACES; i++) {
		const struct module *module = module_of(words[i]);

		// The beginning of a module is no code.
		if (module && words[i] > module->start + 4096 && words[i] != place && is_after_call(words[i]))
			places[count++] = words[i];
	}
}

static size_t print_addr(char *to, size_t size, const char *mark, uintptr_t addr)
{
	const struct module *module = module_of(addr);

	return (size_t)snprintf(to, size, "%s%s+%#lx ", mark, module ? module->name : "?", addr - (module ? module->base : 0));
}

static uintptr_t place_of_init(const pthread_mutex_t *mutex)
{
	for (size_t i = 0, at = (uintptr_t)mutex / 16 % MADE; i < MADE && made[at].mutex; i++, at = (at + 1) % MADE)
		if (made[at].mutex == mutex)
			return made[at].place;
	return 0;
}

static size_t print_mutex(char *to, size_t size, const struct held *which)
{
	uintptr_t init = place_of_init(which->mutex);

	if (!init && module_of((uintptr_t)which->mutex))
		return print_addr(to, size, "", (uintptr_t)which->mutex);
	return print_addr(to, size, init ? "@" : "?@", init ? init : which->places[0]);
}

static bool is_new(const struct held *a, const struct held *b)
{
	uint64_t key = (uint64_t)a->mutex * 31 ^ a->places[0] << 20 ^ (uint64_t)b->mutex * 7919 ^ b->places[0];

	key = key ? key : 1;
	for (size_t i = 0, at = key % SEEN; i < SEEN; i++, at = (at + 1) % SEEN) {
		if (seen[at] == key)
			return false;
		if (!seen[at]) {
			seen[at] = key;
			return true;
		}
	}
	return false;
}

static uint64_t hash(const char *text)
{
	uint64_t ret = UINT64_C(14695981039346656037);

	while (*text)
		ret = (ret ^ (unsigned char)*text++) * UINT64_C(1099511628211);
	return ret;
}

static void note_pair(const struct held *a, const struct held *b)
{
	char line[4096], path[4096];
	size_t used = 0;
	const struct held *both[] = {a, b};
	const char *folder = getenv("LOCK_ORDER_FOLDER");
	int fd;

	for (int i = 0; i < 2; i++) {
		used += print_mutex(line + used, sizeof(line) - used, both[i]);
		used += (size_t)snprintf(line + used, sizeof(line) - used, "| ");
		for (size_t k = 0; k < PLACES && both[i]->places[k] && used < sizeof(line) - 300; k++)
			used += print_addr(line + used, sizeof(line) - used, "", both[i]->places[k]);
		used += (size_t)snprintf(line + used, sizeof(line) - used, i ? "\n" : "| ");
	}
	snprintf(path, sizeof(path), "%s/%016llx", folder ?: "", (unsigned long long)hash(line));
	fd = folder ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && write(fd, line, used) < 0)
		abort();
	if (fd >= 0)
		close(fd);
}

static void push(pthread_mutex_t *mutex, uintptr_t place, bool may_wait)
{
	struct held now = {.mutex = mutex};

	look_for_modules(false);
	if (busy || !module_of(place))
		return;
	busy = true;
	read_stack(place, now.places);
	for (unsigned i = 0; i < depth && may_wait; i++) {
		bool fresh;

		if (held[i].mutex == mutex)
			continue;
		enter();
		fresh = is_new(&held[i], &now);
		leave();
		if (fresh)
			note_pair(&held[i], &now);
	}
	if (depth == DEPTH) {
		fprintf(stderr, "lock_order: a thread holds more than %d mutexes\n", DEPTH);
		abort();
	}
	held[depth++] = now;
	busy = false;
}

static void pop(const pthread_mutex_t *mutex)
{
	for (unsigned i = depth; i-- > 0;) {
		if (held[i].mutex != mutex)
			continue;
		memmove(&held[i], &held[i + 1], sizeof(*held) * (depth - i - 1));
		depth--;
		return;
	}
}

static void find_real(void)
{
	real_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	real_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	real_init = dlsym(RTLD_NEXT, "pthread_mutex_init");
	real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

// A child may make a lock anew in place of releasing it.
static void forget_held(void)
{
	depth = 0;
}

__attribute__((constructor)) static void init(void)
{
	find_real();
	pthread_atfork(NULL, NULL, forget_held);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (!real_lock)
		find_real();
	push(mutex, (uintptr_t)__builtin_return_address(0), true); // before it waits: a deadlock shows, too
	return real_lock(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int err;

	if (!real_lock)
		find_real();
	err = real_trylock(mutex);
	if (!err)
		push(mutex, (uintptr_t)__builtin_return_address(0), false);
	return err;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (!real_lock)
		find_real();
	pop(mutex);
	return real_unlock(mutex);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	uintptr_t place = (uintptr_t)__builtin_return_address(0);

	if (!real_lock)
		find_real();
	look_for_modules(true);
	if (module_of(place)) {
		enter();
		for (size_t i = 0, at = (uintptr_t)mutex / 16 % MADE; i < MADE; i++, at = (at + 1) % MADE) {
			if (made[at].mutex && made[at].mutex != mutex)
				continue;
			made[at].place = place;
			made[at].mutex = mutex;
			break;
		}
		leave();
	}
	return real_init(mutex, attr);
}
