// SPDX-License-Identifier: MIT
// The dl family as private code sees it: wrappers, so that the calls come from here.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

void *user_dlopen(const char *path, int mode);
void *user_dlmopen(long id, const char *path, int mode);
void *user_dlsym(void *handle, const char *name);
void *user_dlsym_default(const char *name);
void *user_dlsym_next(const char *name);
void *user_dlvsym(void *handle, const char *name, const char *version);
int user_dlclose(void *handle);
const char *user_dlerror(void);
int user_dladdr(const void *addr, Dl_info *info);
int user_dladdr1(const void *addr, Dl_info *info, void **extra, int flags);
int user_dlinfo(void *handle, int request, void *arg);
int user_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg);
int user_dl_find_object(void *addr, struct dl_find_object *ret);
int global_answer(void);

// Defined here and in libprovider.so: the next definition after this library is libprovider.so's.
int global_answer(void)
{
	return 1;
}

void *user_dlopen(const char *path, int mode)
{
	void *ret = dlopen(path, mode);

	// No tail call: the loader learns from the return address who called.
	__asm__ volatile("" ::: "memory");
	return ret;
}

void *user_dlmopen(long id, const char *path, int mode)
{
	void *ret = dlmopen(id, path, mode);

	__asm__ volatile("" ::: "memory");
	return ret;
}

void *user_dlsym(void *handle, const char *name)
{
	return dlsym(handle, name);
}

void *user_dlsym_default(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

void *user_dlsym_next(const char *name)
{
	void *ret = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" ::: "memory");
	return ret;
}

void *user_dlvsym(void *handle, const char *name, const char *version)
{
	return dlvsym(handle, name, version);
}

int user_dlclose(void *handle)
{
	return dlclose(handle);
}

const char *user_dlerror(void)
{
	return dlerror();
}

int user_dladdr(const void *addr, Dl_info *info)
{
	return dladdr(addr, info);
}

int user_dladdr1(const void *addr, Dl_info *info, void **extra, int flags)
{
	return dladdr1(addr, info, extra, flags);
}

int user_dlinfo(void *handle, int request, void *arg)
{
	return dlinfo(handle, request, arg);
}

int user_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	return dl_iterate_phdr(fn, arg);
}

int user_dl_find_object(void *addr, struct dl_find_object *ret)
{
	return _dl_find_object(addr, ret);
}
