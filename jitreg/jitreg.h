/* SPDX-License-Identifier: MIT */
/**
 * @file
 * jitreg: tell GDB and LLDB about ELF objects that the system's dynamic linker
 * did not load.
 *
 * A loader that maps ELF files by itself calls jitreg_register() for each
 * object once it is mapped and relocated, and jitreg_unregister() before it
 * unmaps it. In between both debuggers know its functions, can set breakpoints
 * in it, unwind through it and, where debug information exists on disk, show
 * lines and variables: live, after attaching, and from a core file.
 *
 * Protocol: "JIT Compilation Interface" of the GDB manual. One descriptor
 * (`__jit_debug_descriptor`, `__jit_debug_register_code`) per process; it lives
 * in libjitreg.so, exported with protected visibility. A statically linked host
 * must export both names itself (see libjitreg.pc).
 *
 * Rules that hold for the whole file
 * - Threads: every function may be called from any thread, at the same time as
 *   others. Only calls about one entry, and calls about one group and its images,
 *   must not overlap: who calls them orders them. One mutex guards what all
 *   have in common; it is held while a debugger is stopped in
 *   `__jit_debug_register_code`, and while jitreg_image.symfile_changed runs.
 * - Fork: the mutex is taken around fork(), so that the child's list is whole.
 *   The child inherits the registrations together with the mappings.
 * - Signals: not async-signal-safe.
 * - Errors: functions that can fail return 0 or a negative errno value, and
 *   change nothing on failure. Unregistering cannot fail. Nothing prints.
 * - Addresses are run-time addresses in this process, in bytes.
 */
#ifndef JITREG_H
#define JITREG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JITREG_VERSION_MAJOR 0
#define JITREG_VERSION_MINOR 1

#ifndef JITREG_API
#define JITREG_API __attribute__((visibility("default")))
#endif

struct jitreg_entry;
struct jitreg_group;
struct jitreg_packing;
struct jitreg_info;
struct jitreg_prepared;

/** What a debugger will find for an object beyond its addresses. */
enum jitreg_debug_kind {
	/** No DWARF anywhere: the symfile carries the names of `.symtab` or `.dynsym`. */
	JITREG_DEBUG_NAMES = 0,
	/** DWARF in a detached file that debuggers find by build-id. */
	JITREG_DEBUG_BUILD_ID = 1,
	/** DWARF in the object itself, reached through an absolute `.gnu_debuglink`. */
	JITREG_DEBUG_SELF = 2,
	/** DWARF in the detached file that the object's own `.gnu_debuglink` names. */
	JITREG_DEBUG_LINK = 3,
};

/** The longest build-id that is carried; longer ones are cut (GNU ld makes 8 to 20 bytes). */
#define JITREG_BUILD_ID_MAX 64

/** Flags of an image. */
enum {
	/** Names and unwind data only, without a reference to the DWARF: cheap for debuggers. */
	JITREG_NAMES_ONLY = 1,
	/** With JITREG_NAMES_ONLY and a group: debuggers hear of it in jitreg_group_list(). (What cannot be
	 * packed they hear of at once.) */
	JITREG_DEFER = 2,
};

/** An object to register. Everything is copied or read before the call returns. */
struct jitreg_image {
	size_t size;      /**< sizeof(struct jitreg_image) */
	const char *path; /**< Absolute name of the file that was mapped. */
	int fd;           /**< The file, open for reading at any offset, or -1 to open @c path. Borrowed. */
	uint32_t flags;   /**< JITREG_... */
	uint64_t bias;    /**< Load bias: run-time address minus link-time address. */
	uint64_t start;   /**< First mapped address. */
	uint64_t end;     /**< One past the last mapped address. */
	/** Other images that are described together with this one, or NULL. */
	struct jitreg_group *group;
	/**
	 * Called when the symfile of the image is another one, before debuggers hear of that;
	 * the first time during jitreg_register(). NULL: nobody wants to know. It must not
	 * call functions of this library.
	 */
	void (*symfile_changed)(void *ctx, const struct jitreg_info *info);
	void *ctx;
};

/** What a symfile describes. */
enum jitreg_symfile_kind {
	/** One image: addresses, names, unwind data, and a reference to its DWARF. */
	JITREG_SYMFILE_FULL = 0,
	/** The same without the reference. */
	JITREG_SYMFILE_NAMES_ONLY = 1,
	/** All packed images of a group, or a lean one alone: names and unwind data. */
	JITREG_SYMFILE_PACK = 2,
};

/** What was registered; see jitreg_entry_get_info(). */
struct jitreg_info {
	/** The in-memory ELF object, for this image or for several of its group; lives until
	 * unregistered, packed or replaced. NULL after jitreg_group_close(). */
	const void *symfile;
	uint64_t symfile_size;    /**< Its size in bytes. */
	enum jitreg_debug_kind debug_kind;
	const char *debug_path;   /**< File with the DWARF, or NULL. Lives until unregistered. */
	const uint8_t *build_id;  /**< NULL when the object has none. Lives until unregistered. */
	size_t build_id_size;     /**< Bytes in @c build_id. */
	uint64_t start;           /**< First address that it speaks of, */
	uint64_t end;             /**< and one past the last; both 0 when there is none. */
	enum jitreg_symfile_kind symfile_kind;
};

/** What the file of one object offers to a debugger; see jitreg_find_debug(). */
struct jitreg_debug {
	enum jitreg_debug_kind kind;
	char *path;               /**< malloc()ed file with the DWARF, or NULL. */
	uint8_t build_id[JITREG_BUILD_ID_MAX];
	size_t build_id_size;     /**< 0 when there is none. */
	/** Why there is no DWARF when kind is NAMES: one static line; otherwise NULL. */
	const char *reason;
	/** malloc()ed detached file of the object that is good for its names only; or NULL. */
	char *names_path;
};

/**
 * Register one mapped object.
 *
 * Builds a symfile (ELF64, ET_REL, sections at their run-time addresses, unwind
 * data and names inside, DWARF referred to and not copied) and links it into
 * the descriptor's list. When the call returns, an attached debugger has seen
 * it and has set its pending breakpoints.
 *
 * @param      image  Described above. Its range must stay mapped until the
 *                    entry is unregistered.
 * @param[out] ret    Set on success only. Owned by the caller, to be given to
 *                    jitreg_unregister().
 *
 * @retval 0
 * @retval -EINVAL   @p image is not of a known size or its range is empty
 * @retval -ENOEXEC  the file is no ELF64 object or contradicts itself
 * @retval -ENOMEM   no memory
 * @retval -errno    the file could not be opened or read
 */
JITREG_API int jitreg_register(const struct jitreg_image *image, struct jitreg_entry **ret)
	__attribute__((warn_unused_result, nonnull));

/**
 * Do beforehand what registering a file takes long for: up to 0.3 s for a library whose lines no process has
 * made yet, and as long as it takes to read a file that has its debug information inside. For
 * callers that register with a lock of their own held: this is to be called without it.
 *
 * @param      path   As in the image to come.
 * @param      flags  0 or JITREG_NAMES_ONLY, as in the image to come.
 * @param[out] ret    Set on success only. Kept until the image is registered, then given to
 *                    jitreg_prepared_destroy().
 * @retval 0 or an error as for jitreg_register(), which will say the same
 */
JITREG_API int jitreg_prepare(const char *path, uint32_t flags, struct jitreg_prepared **ret)
	__attribute__((warn_unused_result, nonnull));

/** NULL is ignored. */
JITREG_API void jitreg_prepared_destroy(struct jitreg_prepared *prepared);

/** The same for jitreg_group_pack(): all files that are registered at this moment. */
JITREG_API void jitreg_prepare_registered(void);

/**
 * Register an object file that somebody else has made for debuggers: what a JIT
 * compiler would put into a descriptor of its own. Its sections must be at their
 * run-time addresses.
 *
 * @param      symfile  The ELF object in memory. Copied.
 * @param      size     Its size in bytes.
 * @param[out] ret      As for jitreg_register().
 *
 * @retval 0
 * @retval -ENOEXEC  no ELF64 object of this machine, or it contradicts itself
 * @retval -ENOMEM   no memory
 */
JITREG_API int jitreg_register_symfile(const void *symfile, uint64_t size,
				       struct jitreg_entry **ret)
	__attribute__((warn_unused_result, nonnull));

/**
 * Take an object back. The debugger drops its breakpoint locations; afterwards
 * the caller may unmap the object. NULL is ignored. Frees @p entry.
 */
JITREG_API void jitreg_unregister(struct jitreg_entry *entry);

/** Describe a registered entry. Pointers in @p ret live as long as @p entry. */
JITREG_API void jitreg_entry_get_info(const struct jitreg_entry *entry, struct jitreg_info *ret)
	__attribute__((nonnull));

/**
 * Begin a group: images that lie at the same distances from each other as in other groups,
 * because a loader puts each library at the same offset from the start of a stretch of
 * addresses. Debuggers pay for each object file; jitreg_group_pack() gives them one for all
 * images of a group, or two.
 *
 * Calls about one group must not overlap; jitreg_register() and jitreg_unregister() of its images
 * are such calls. Those about different groups may.
 *
 * @param      base  Start of the stretch. Images that are not within 4 GiB from there can
 *                   be in the group and are not packed.
 * @retval 0 or -ENOMEM
 */
JITREG_API int jitreg_group_create(uint64_t base, struct jitreg_group **ret)
	__attribute__((warn_unused_result, nonnull));

/** Free a group all of whose images are unregistered. NULL is ignored. */
JITREG_API void jitreg_group_destroy(struct jitreg_group *group);

/**
 * Tell debuggers of all images that were registered with JITREG_DEFER since the last time, with
 * one symfile and one event: much of what a debugger does is done for each event.
 *
 * @retval 0, also when there are none
 * @retval -ENOMEM  nothing was told; they wait on
 * @retval -errno   one cannot be described; the others were told one by one
 */
JITREG_API int jitreg_group_list(struct jitreg_group *group)
	__attribute__((warn_unused_result, nonnull));

/**
 * Replace the symfiles of the group's images by one, which has names and does not refer to
 * DWARF. Unwind data, and more names and lines for GDB, are in a file that all groups with the same
 * images share; it is kept in gorgon/ below `$XDG_CACHE_HOME` or `~/.cache`. When it cannot be
 * written there the symfile has all by itself and takes debuggers longer. Of sixteen images or more
 * the first that was registered has one and all others have one: LLDB reads the unwind data of the others when
 * a stack gets there. While a debugger is attached they have one together.
 *
 * While a debugger is attached only images with a symfile of their own are packed, if they
 * are eight or more; breakpoints are in place all the time. After a failure all is as before.
 *
 * @retval 0, also when there is nothing to pack
 * @retval -ENOMEM
 * @retval -errno   a file in memory could not be made or written
 */
JITREG_API int jitreg_group_pack(struct jitreg_group *group)
	__attribute__((warn_unused_result, nonnull));

/**
 * jitreg_group_pack() in steps, for callers whose calls about a group are ordered by a lock that others wait for: to
 * build can take tens of milliseconds.
 *
 *	jitreg_packing_begin()   with the lock: notes what there is
 *	jitreg_packing_build()   without it: calls about this group may come meanwhile, or its end
 *	jitreg_packing_end()     with the lock, if the caller still has the group: debuggers are told
 *	jitreg_packing_destroy() in any case, with the lock or without
 *
 * @param[out] ret  NULL when there is nothing to pack, and after a failure.
 * @retval 0 or as jitreg_group_pack()
 */
JITREG_API int jitreg_packing_begin(struct jitreg_group *group, struct jitreg_packing **ret)
	__attribute__((warn_unused_result, nonnull));
JITREG_API int jitreg_packing_build(struct jitreg_packing *packing)
	__attribute__((warn_unused_result, nonnull));

/**
 * @param group  The one that it was begun for, or another one that has come in its place.
 * @retval 0
 * @retval -EAGAIN  nothing was done: the group has changed since the beginning, or a debugger has come or gone
 */
JITREG_API int jitreg_packing_end(struct jitreg_packing *packing, struct jitreg_group *group)
	__attribute__((warn_unused_result, nonnull));

/** NULL is ignored. */
JITREG_API void jitreg_packing_destroy(struct jitreg_packing *packing);

/**
 * All images of the group are about to be unregistered: debuggers let go of them at once.
 * Their symfiles are gone, the entries remain.
 */
JITREG_API void jitreg_group_close(struct jitreg_group *group) __attribute__((nonnull));

/**
 * Put the whole DWARF of an object into its symfile, every address moved to where the
 * object is, or take it out again. LLDB needs this for lines, arguments, variables and
 * types; GDB does not, and is slower with it.
 *
 * The symfile is replaced: pointers from jitreg_entry_get_info() to the old one are
 * invalid when the call returns. An attached debugger has then seen the old one go and
 * the new one come, and its breakpoints are in their places again.
 *
 * The cost is the size of the file's DWARF once for the process (freed with the last
 * entry of the file) and once for each entry: some 20 MB each for libpython. The DWARF may
 * be in the object or in a detached file, of version 2 to 5, compressed, and with a part of
 * it in a supplementary file (dwz).
 *
 * A debugger may call this in a stopped process. The call allocates memory and reads
 * files, so a thread that was stopped inside of malloc() or dlopen() is a bad choice.
 *
 * @param      with_dwarf  true: with DWARF. What is so already stays as it is.
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval 0
 * @retval -EBUSY       a thread, perhaps this one, is in this library; try again later
 * @retval -ENODATA     the object has no DWARF, or jitreg_register_symfile() made it
 * @retval -ESTALE      the object's file is not the one that was registered
 * @retval -EOPNOTSUPP  split DWARF, unknown compression, or something else that is not
 *                      known; or libjitreg was built without it (DWARF=no)
 * @retval -ENOEXEC     the DWARF contradicts itself
 * @retval -ENOMEM      no memory
 * @retval -errno       a file could not be opened or read
 */
JITREG_API int jitreg_entry_set_dwarf(struct jitreg_entry *entry, bool with_dwarf, const char **reason)
	__attribute__((warn_unused_result, nonnull));

/**
 * Find where the debug information of an object file is, without registering
 * anything. A file without a compilation unit has none.
 *
 * @param      path  Absolute file name.
 * @param      fd    The open file, or -1.
 * @param[out] ret   Set on success only; release with jitreg_debug_deinit().
 * @retval 0, or a negative errno value as for jitreg_register().
 */
JITREG_API int jitreg_find_debug(const char *path, int fd, struct jitreg_debug *ret)
	__attribute__((warn_unused_result, nonnull));

/** Release what jitreg_find_debug() filled in. */
JITREG_API void jitreg_debug_deinit(struct jitreg_debug *debug) __attribute__((nonnull));

/** What is kept unless jitreg_keep() says something else. */
#define JITREG_KEEP_BYTES   (UINT64_C(32) << 20)
#define JITREG_KEEP_SECONDS UINT64_C(300)

/**
 * What is known of files, and packs, is kept after the last image that needs it, so that the next one is registered as
 * fast as a second copy: what was used last. A file that has changed is read again. Kept are memory and no descriptors;
 * DWARF that jitreg_entry_set_dwarf() has read is not kept. Any thread; at once.
 *
 * @param bytes    Of memory, at most. What alone takes a quarter of it is not kept. 0: nothing is kept.
 * @param seconds  Since it was used. What is older goes with the next call that registers, unregisters or prepares something.
 */
JITREG_API void jitreg_keep(uint64_t bytes, uint64_t seconds);

/** Drop what is kept at this moment. */
JITREG_API void jitreg_trim(void);

/** Bytes that are kept, and of how many files and packs. */
JITREG_API uint64_t jitreg_kept(uint64_t *count) __attribute__((nonnull));

/** Number of registered entries in this process at this moment. */
JITREG_API size_t jitreg_count(void);

/** Version of the library that runs: major << 16 | minor. */
JITREG_API unsigned jitreg_version(void);

#ifdef __cplusplus
}
#endif

#endif
