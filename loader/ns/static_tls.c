// SPDX-License-Identifier: MIT
// Static TLS (initial-exec) for private objects.
//
// Code compiled as initial-exec reaches a variable at a fixed distance from the thread
// pointer, the same in every thread. Only the C library can hand out such room: it owns
// the threads' static blocks, knows all threads, those of the host too, and fills the
// block of each thread that there is and of each thread to come. It does so for libraries that it
// loads itself. So we have it load one: a file in memory that consists of a PT_TLS with
// our object's initialisation image and of one relocation, which both claims static room
// and tells us where it is.
//
//	Ehdr | Phdrs | dynamic, symbol, hash, strings, relocation | TPOFF64 slot | TLS image
//
// It is loaded by the name of its descriptor in /proc, that of the calling thread's table, and
// closed at once: only the mapping stays. The C library knows what it has by names, so each file
// gets a name that no other file has had. Afterwards the name in the C library's list is made
// empty: debuggers leave an entry without a name alone, and would otherwise open whatever file has
// the descriptor's number by then.
//
// The room is what the C library keeps for libraries that are loaded late (about 1.6 KB,
// glibc.rtld.optional_static_tls makes it larger). It takes room back only from its end
// and only where there is no padding between blocks: files are therefore closed newest
// first (a file whose object has gone stays open until the files after it have gone, too), and
// all blocks have the same alignment and multiples of it as sizes.

#define _GNU_SOURCE
#include "static_tls.h"
#include "image/arch.h"
#include "base/arch.h"
#include "base/error.h"
#include "base/file.h"
#include "thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gorgon_static_tls {
	struct gorgon_static_tls *older;
	void *handle;
	int64_t offset;
	bool unused;
};

static struct gorgon_static_tls *newest; // under the loader's lock
static uint32_t newest_serial;
// of all offsets ever seen, and 0: blocks are below the thread pointer or above it
static int64_t lowest, highest;


enum { SEGMENT_LOAD, SEGMENT_DYNAMIC, SEGMENT_TLS, SEGMENT_STACK, SEGMENTS };

struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[SEGMENTS];
	Elf64_Dyn dynamic[11];
	Elf64_Sym symbol;  // number 0 and no others
	Elf64_Word hash[4]; // one empty bucket, one chain
	char strings[8];
	Elf64_Rela rela;
	uint64_t slot; // what the relocation writes
};

static const struct file file_template = {
	.ehdr =
		{
			.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = GORGON_ARCH_MACHINE,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct file, phdrs),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = SEGMENTS,
			.e_shentsize = sizeof(Elf64_Shdr),
		},
	.dynamic =
		{
			{DT_HASH, {offsetof(struct file, hash)}},
			{DT_SYMTAB, {offsetof(struct file, symbol)}},
			{DT_SYMENT, {sizeof(Elf64_Sym)}},
			{DT_STRTAB, {offsetof(struct file, strings)}},
			{DT_STRSZ, {sizeof(((struct file *)0)->strings)}},
			{DT_RELA, {offsetof(struct file, rela)}},
			{DT_RELASZ, {sizeof(Elf64_Rela)}},
			{DT_RELAENT, {sizeof(Elf64_Rela)}},
			{DT_FLAGS, {DF_STATIC_TLS}},
		},
	.hash = {1, 1, 0, 0},
	.rela = {offsetof(struct file, slot), ELF64_R_INFO(0, GORGON_ARCH_R_TPOFF), 0},
};

static Elf64_Phdr segment(uint32_t type, uint64_t off, uint64_t file_size, uint64_t mem_size,
			  uint64_t align)
{
	return (Elf64_Phdr){
		.p_type = type,
		.p_flags = PF_R | PF_W, // one mapping; never executable
		.p_offset = off,
		.p_vaddr = off,
		.p_paddr = off,
		.p_filesz = file_size,
		.p_memsz = mem_size,
		.p_align = align,
	};
}

static uint64_t round_up(uint64_t size, uint64_t align)
{
	return (size + align - 1) / align * align;
}

// An initialisation image need not begin at a multiple of its alignment; its block keeps
// that distance.
static uint64_t misalignment(const struct gorgon_image *image)
{
	return image->tls.align ? image->tls.vaddr % image->tls.align : 0;
}

// The contents of the file for @object, *@size bytes, malloc()ed, or NULL: no memory.
static struct file *static_tls_compose(const struct gorgon_object *object, size_t *size)
{
	const struct gorgon_image *image = object->image;
	uint64_t align = image->tls.align > GORGON_ARCH_STATIC_TLS_ALIGN
				 ? image->tls.align
				 : GORGON_ARCH_STATIC_TLS_ALIGN;
	uint64_t misalign = misalignment(image), off = round_up(sizeof(struct file), align);
	uint64_t file_size = misalign + image->tls.file_size;
	struct file *file = calloc(1, off + file_size);

	if (!file)
		return NULL;
	*file = file_template;
	file->phdrs[SEGMENT_LOAD] =
		segment(PT_LOAD, 0, off + file_size, off + file_size, (uint64_t)getpagesize());
	file->phdrs[SEGMENT_DYNAMIC] =
		segment(PT_DYNAMIC, offsetof(struct file, dynamic), sizeof(file->dynamic),
			sizeof(file->dynamic), sizeof(uint64_t));
	file->phdrs[SEGMENT_TLS] = segment(PT_TLS, off, file_size,
					   round_up(misalign + image->tls.mem_size, align), align);
	file->phdrs[SEGMENT_STACK] = segment(PT_GNU_STACK, 0, 0, 0, 16);
	// Copied from this copy's memory and not from the file: relocations apply to it.
	memcpy((uint8_t *)file + off + misalign,
	       (const void *)(uintptr_t)(object->bias + image->tls.vaddr), image->tls.file_size);
	*size = off + file_size;
	return file;
}

// Not /proc/self: that is the table of the process's first thread, and debuggers that look
// while the file is being loaded are other processes. The number in /proc has one name only, but
// slashes can be written in many ways: there is one for each bit of @serial.
static char *name_of(int fd, uint32_t serial)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return NULL;
	fprintf(out, "/proc/%d/task/%d/fd", getpid(), gettid());
	for (unsigned bit = 0; bit < 32; bit++)
		fputs(serial & UINT32_C(1) << bit ? "/." : "/", out);
	fprintf(out, "/%d", fd);
	if (!fclose(out))
		return name;
	free(name);
	return NULL;
}

struct loading {
	const struct file *file;
	size_t size;
	uint32_t serial;
	void *handle;
	const struct link_map *map;
	int errnum;
	char *refusal; // without a handle and errnum: the C library's reason, malloc()ed, or NULL
};

// Why the file was not loaded. That it cannot be opened by its name, without /proc or without a
// descriptor for it, has a number; the rest is the C library's text.
static void note_refusal(struct loading *loading, const char *name)
{
	const char *text = dlerror();
	struct gorgon_file file;

	loading->errnum = gorgon_file_open(name, &file);
	gorgon_file_close(&file);
	if (!loading->errnum && !(loading->refusal = strdup(text ?: "")))
		loading->errnum = ENOMEM;
}

// The handle of the composed file; one of another file, which had its number, is closed again.
static void static_tls_load(void *ctx)
{
	struct loading *loading = ctx;
	struct gorgon_file open;
	char *name;

	loading->handle = NULL;
	free(loading->refusal);
	loading->refusal = NULL;
	loading->errnum =
		gorgon_file_create("gorgon static TLS", loading->file, loading->size, &open);
	if (loading->errnum)
		return;
	name = name_of(open.fd, ++loading->serial);
	if (!name)
		loading->errnum = ENOMEM;
	else if (!(loading->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
		note_refusal(loading, name);
	free(name);
	if (loading->handle) {
		dlinfo(loading->handle, RTLD_DI_LINKMAP, &loading->map);
		*loading->map->l_name = 0;
	}
	if (!gorgon_file_is_ours(&open)) {
		if (loading->handle)
			dlclose(loading->handle);
		loading->handle = NULL;
		loading->errnum = EBADF;
	}
	gorgon_file_close(&open);
}

// The text is in the locale's language, but in each of them a block of static TLS has its name.
static struct gorgon_error *refused(const struct gorgon_object *object, const char *text)
{
	if (!strstr(text, "TLS"))
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: static TLS for its initial-exec variables: %s",
					   object->path, text);
	return gorgon_error_create(
		GORGON_ERROR_UNSUPPORTED,
		"%s: no room for %lu bytes of initial-exec thread-local storage, aligned to %lu: "
		"raise "
		"glibc.rtld.optional_static_tls in GLIBC_TUNABLES, build without "
		"-ftls-model=initial-exec, or take the library from the system (--share)",
		object->path, object->image->tls.mem_size, object->image->tls.align);
}

// On a thread with a table of its own: the C library opens the file once more, and would not notice
// if another thread put something else in its place. Where there can be no such thread, here.
static struct gorgon_error *load_file(const struct gorgon_object *object, struct loading *ret)
{
	struct file *file = static_tls_compose(object, &ret->size);
	struct gorgon_error *err = NULL;

	if (!file)
		return &gorgon_error_nomem;
	ret->file = file;
	ret->serial = newest_serial;
	if (gorgon_file_apart(static_tls_load, ret))
		static_tls_load(ret);
	free(file);
	newest_serial = ret->serial;
	if (ret->errnum)
		err = gorgon_error_create_os(ret->errnum,
					     "%s: static TLS for its initial-exec variables: the "
					     "file in memory, by its name in /proc",
					     object->path);
	else if (!ret->handle)
		err = refused(object, ret->refusal);
	free(ret->refusal);
	return err;
}

static bool is_in_use(uint64_t module)
{
	for (const struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		for (size_t i = 0; i < thread->slot_count; i++)
			if (thread->slots[i].module == module)
				return true;
	return false;
}

struct gorgon_error *gorgon_static_tls_create(struct gorgon_object *object)
{
	struct loading loading = {0};
	struct gorgon_static_tls *tls;
	struct gorgon_error *err;

	if (is_in_use(object->tls_module))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: initial-exec access to its variables, which threads use already; load "
			"the library that has the access together with it",
			object->path);
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return &gorgon_error_nomem;
	if ((err = load_file(object, &loading))) {
		free(tls);
		return err;
	}
	tls->handle = loading.handle;
	tls->offset = (int64_t)(((const struct file *)loading.map->l_addr)->slot +
				misalignment(object->image));
	if (tls->offset < lowest)
		lowest = tls->offset;
	if (tls->offset > highest)
		highest = tls->offset;
	tls->older = newest;
	newest = tls;
	object->static_tls = tls;
	object->debug.static_tls = (uint64_t)tls->offset;
	return NULL;
}

void gorgon_static_tls_destroy(struct gorgon_object *object)
{
	if (!object->static_tls)
		return;
	object->static_tls->unused = true;
	object->static_tls = NULL;
	object->debug.static_tls = 0;
	while (newest && newest->unused) {
		struct gorgon_static_tls *tls = newest;

		newest = tls->older;
		dlclose(tls->handle);
		free(tls);
	}
}

int64_t gorgon_static_tls_offset(const struct gorgon_static_tls *tls)
{
	return tls->offset;
}

bool gorgon_static_tls_contains(const void *tp, const void *block)
{
	return (const char *)block >= (const char *)tp + lowest &&
	       (const char *)block <= (const char *)tp + highest;
}
