/* SPDX-License-Identifier: MIT */
/**
 * @file
 * An ELF file opened for reading: header, segments, allocated sections, names.
 * Internal to jitreg.
 *
 * Rules: functions return 0 or a negative errno value; -ENOEXEC stands for every
 * contradiction in the file. Nothing here is shared between threads.
 */
#ifndef JITREG_OBJECT_H
#define JITREG_OBJECT_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct jitreg_machine;

/** One allocated section, from the file or, without section headers, made up. */
struct jitreg_section {
	const char *name; /**< NUL-terminated, owned by libelf or static. */
	uint32_t type;
	uint64_t flags;
	uint64_t vaddr;
	uint64_t size;
	uint64_t off; /**< In the file; meaningless for SHT_NOBITS. */
	uint64_t align;
	uint64_t entsize;
};

struct jitreg_object {
	char *path;
	/** This object closes it. Its offset may belong to the caller: it is read with pread()
	 * only. */
	int fd;
	int fd_flags; /**< F_GETFL; with @c st it tells whether @c fd still refers to this file. */
	struct stat st;
	Elf *elf;
	GElf_Ehdr ehdr;
	/** The machine that the header names; it may differ from this process's. */
	const struct jitreg_machine *machine;
	size_t phdr_count;
	size_t shdr_count;
	size_t shstrndx;
	bool sectionless; /**< No usable section headers. */

	/* Filled in by jitreg_object_read_layout(). */
	struct jitreg_section *sections;
	size_t section_count;
	/** From the index of a section in the file to its index in @c sections plus 1; 0: none. */
	uint32_t *section_map;
};

/** A function, variable or label with a run-time place. */
struct jitreg_name {
	const char *text; /**< Owned by libelf or by jitreg_names; lives as long as both. */
	size_t text_size; /**< Bytes, without a "@@VERSION" suffix. */
	uint64_t vaddr;
	uint64_t size;
	uint32_t section; /**< Index in jitreg_object.sections plus 1. */
	uint8_t info;     /**< st_info: binding and type. */
	uint8_t other;    /**< st_other: visibility. */
};

struct jitreg_names {
	struct jitreg_name *items;
	size_t count;
	char *plt_text; /**< Names for the procedure linkage table. */
};

/** Open a file and check its header. @p fd is borrowed, its offset never moved; -1: @p path is
 * opened. */
int jitreg_object_open(const char *path, int fd, struct jitreg_object **ret);

/** Whether both describe one file with the same contents: device, inode, size and modification time
 * are equal. */
bool jitreg_stat_is_same(const struct stat *a, const struct stat *b);

/** Whether what has been read was read from the file that was opened: another thread may have
 * closed its descriptor, and have opened something else since. */
bool jitreg_object_is_intact(const struct jitreg_object *object);

/** Whether a descriptor still refers to the file of @p st, open with @p flags (F_GETFL). */
bool jitreg_fd_is(int fd, int flags, const struct stat *st);

/** Close the descriptor if it still refers to the file of @p st. */
void jitreg_fd_close(int fd, int flags, const struct stat *st);

/** Close and free; NULL is ignored. */
void jitreg_object_close(struct jitreg_object *object);

static inline void jitreg_object_closep(struct jitreg_object **object)
{
	jitreg_object_close(*object);
}

/** Check the segments and list the allocated sections, or make some up. */
int jitreg_object_read_layout(struct jitreg_object *object);

/** Read exactly @p size bytes at @p off. */
int jitreg_object_read(const struct jitreg_object *object, uint64_t off, void *buf, size_t size);

/** Find a section with contents by name: 1 when found, 0 when absent. */
int jitreg_object_find_section(const struct jitreg_object *object, const char *name,
			       GElf_Shdr *ret);

/** File offset of @p vaddr when @p size bytes from there are in the file: true on success. */
bool jitreg_object_vaddr_to_off(const struct jitreg_object *object, uint64_t vaddr, uint64_t size,
				uint64_t *ret);

/** Copy the build-id into @p buf, cut to @p buf_size; returns its size, 0 when there is none. */
size_t jitreg_object_build_id(const struct jitreg_object *object, uint8_t *buf, size_t buf_size);

/** Collect the names of `.symtab`, else of `.dynsym`, else of the dynamic segment. */
int jitreg_names_read(const struct jitreg_object *object, struct jitreg_names *ret);

int jitreg_names_add(struct jitreg_names *names, const struct jitreg_name *name);

/** Add function@plt for each entry of a procedure linkage table of @p object. */
int jitreg_names_add_plt(const struct jitreg_object *object, struct jitreg_names *names);

/** Add the symbols of the `.symtab` of @p from at which code becomes data or data code. @p from: @p
 * object itself or a detached file. */
int jitreg_names_add_mappings(const struct jitreg_object *object, const struct jitreg_object *from,
			      struct jitreg_names *names);

/**
 * Add the static functions that are in the `.symtab` of @p object's @p detached file. Their texts
 * live as long as @p detached.
 */
int jitreg_names_add_detached(const struct jitreg_object *object,
			      const struct jitreg_object *detached, struct jitreg_names *names);

/** Whether this is one of the two names of the GDB JIT interface. */
bool jitreg_names_is_registrar(const char *text);

/** Whether `.symtab` or `.dynsym` define one of the two names of the GDB JIT interface. */
bool jitreg_names_have_registrar(const struct jitreg_object *object);

void jitreg_names_deinit(struct jitreg_names *names);

/* Overflow-checked: is [start, start + size) inside [0, limit)? */
static inline bool jitreg_range_ok(uint64_t start, uint64_t size, uint64_t limit)
{
	return start <= limit && size <= limit - start;
}

#endif
