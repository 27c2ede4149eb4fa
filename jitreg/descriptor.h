/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The list that debuggers read, and the one lock of the library.
 *
 * The first three types are fixed by the GDB manual ("JIT Compilation
 * Interface", declarations). The other two are this library's: by them a reader that does
 * not stop the process (a profiler, a symbol dumper) can tell whether the list was being
 * changed while it was read, and can find entries in a core file. They are fixed-width
 * and only grow at the end; `version` changes when a field changes its meaning.
 *
 * How to read a running process:
 *   1. read jitreg_debug_root; when `sequence` is odd, start again;
 *   2. walk __jit_debug_descriptor.first_entry, `entry_size` bytes per entry,
 *      checking `magic`, and copy the symfiles that are wanted;
 *   3. read `sequence` again; when it differs, start again.
 */
#ifndef JITREG_DESCRIPTOR_H
#define JITREG_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JIT_NOACTION = 0,
	JIT_REGISTER_FN = 1,
	JIT_UNREGISTER_FN = 2,
};

struct jit_code_entry {
	struct jit_code_entry *next_entry;
	struct jit_code_entry *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version;
	uint32_t action_flag;
	struct jit_code_entry *relevant_entry;
	struct jit_code_entry *first_entry;
};

/** jitreg_debug_root.magic: the bytes "JITREG\0\1" in memory. */
#define JITREG_DEBUG_ROOT_MAGIC UINT64_C(0x010047455254494a)
/** jitreg_debug_entry.magic while the entry is linked: the bytes "JITE". */
#define JITREG_DEBUG_ENTRY_MAGIC UINT32_C(0x4554494a)
#define JITREG_DEBUG_VERSION 1

/** What debuggers read of an entry, and behind it what readers of jitreg_debug_root read. */
struct jitreg_debug_entry {
	struct jit_code_entry base;
	uint32_t magic;     /**< JITREG_DEBUG_ENTRY_MAGIC, 0 once unlinked. */
	uint32_t size;      /**< sizeof(struct jitreg_debug_entry) */
	uint64_t serial;    /**< Counts registrations from 1; never used twice. */
	uint64_t timestamp; /**< CLOCK_MONOTONIC at registration, in nanoseconds. */
	uint64_t bias;      /**< Load bias of the object. */
	uint64_t start;     /**< Its first mapped address. */
	uint64_t end;       /**< One past its last mapped address. */
};

/** The symbol `jitreg_debug_root`: start here. */
struct jitreg_debug_root {
	uint64_t magic;
	uint32_t version;         /**< JITREG_DEBUG_VERSION */
	uint32_t size;            /**< sizeof(struct jitreg_debug_root) */
	uint32_t descriptor_size; /**< sizeof(struct jit_descriptor) */
	uint32_t entry_size;      /**< sizeof(struct jitreg_debug_entry) */
	uint64_t descriptor;      /**< Address of __jit_debug_descriptor. */
	uint64_t sequence;        /**< Odd while the list is being changed. */
	uint64_t timestamp;       /**< CLOCK_MONOTONIC of the last change, in nanoseconds. */
	uint64_t entry_count;
	uint64_t serial; /**< Serial number of the newest entry. */
};

_Static_assert(sizeof(struct jit_code_entry) == 32, "GDB manual");
_Static_assert(offsetof(struct jit_code_entry, symfile_size) == 24, "GDB manual");
_Static_assert(sizeof(struct jit_descriptor) == 24, "GDB manual");
_Static_assert(offsetof(struct jit_descriptor, first_entry) == 16, "GDB manual");
_Static_assert(offsetof(struct jitreg_debug_entry, magic) == 32, "read by other processes");
_Static_assert(offsetof(struct jitreg_debug_entry, serial) == 40, "read by other processes");
_Static_assert(offsetof(struct jitreg_debug_entry, bias) == 56, "read by other processes");
_Static_assert(sizeof(struct jitreg_debug_entry) == 80, "read by other processes");
_Static_assert(offsetof(struct jitreg_debug_root, descriptor) == 24, "read by other processes");
_Static_assert(offsetof(struct jitreg_debug_root, sequence) == 32, "read by other processes");
_Static_assert(offsetof(struct jitreg_debug_root, entry_count) == 48, "read by other processes");
_Static_assert(sizeof(struct jitreg_debug_root) == 64, "read by other processes");

/* Protected: the library's own calls cannot be caught by another definition of
 * these names, and its own definition stays visible to debuggers. */
#define JITREG_PROTECTED __attribute__((visibility("protected")))

extern JITREG_PROTECTED struct jit_descriptor __jit_debug_descriptor;
extern JITREG_PROTECTED struct jitreg_debug_root jitreg_debug_root;
JITREG_PROTECTED void __jit_debug_register_code(void);

/**
 * Take and release the lock of the library. It also guards the cache of
 * models. It is not recursive, and no code of others runs while it is held,
 * except jitreg_image.symfile_changed.
 */
void jitreg_lock(void);

/* The lock of the work of making a library's lines. It is taken before the lock above. */
void jitreg_making_lock(void);
void jitreg_making_unlock(void);

void jitreg_unlock(void);

/** Take the lock unless a thread holds it: true when it was taken. */
bool jitreg_trylock(void);

/** Whether a debugger has its breakpoint on __jit_debug_register_code now; true where that cannot
 * be told. */
bool jitreg_descriptor_is_watched(void);

/** Append a filled-in entry to the list and tell an attached debugger. The lock is held. */
void jitreg_descriptor_add(struct jitreg_debug_entry *entry);

/**
 * Take an entry out of the list and tell an attached debugger. The lock is held. The entry may
 * be freed after jitreg_descriptor_settle().
 */
void jitreg_descriptor_remove(struct jitreg_debug_entry *entry);

/** After entries were removed: have debuggers look at their breakpoints. The lock is held. */
void jitreg_descriptor_settle(void);

#endif
