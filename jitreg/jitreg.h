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
 *   other functions, with two exceptions: calls about one entry must not overlap, and
 *   calls about one group and its images must not. The caller orders such calls. One mutex
 *   guards the state that entries share; it is held while a debugger is stopped
 *   in `__jit_debug_register_code`, and while jitreg_image.symfile_changed runs.
 * - Fork: the mutex is taken around fork(), so that the child's list is whole.
 *   The child inherits the registrations together with the mappings.
 * - Signals: not async-signal-safe.
 * - Errors: functions that can fail return 0 or a negative errno value, and
 *   change nothing on failure. Unregistering cannot fail. No function prints or
 *   ends the process.
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

#define JITREG_VERSION_MAJOR 0 /**< grows when programs have to be changed */
#define JITREG_VERSION_MINOR 1 /**< grows when something is added */

#ifndef JITREG_API
/** What programs may use of the library. */
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
	/** DWARF in the detached file that the object's own `.gnu_debuglink` names; or in a copy of
	 * the object's debug file, in the cache, without the names of the GDB JIT interface. */
	JITREG_DEBUG_LINK = 3,
};

/** The longest build-id that is carried; longer ones are cut (GNU ld makes 8 to 20 bytes). */
#define JITREG_BUILD_ID_MAX 64

/** Flags of an image. */
enum {
	/** Names and unwind data only, without a reference to the DWARF: cheap for debuggers. */
	JITREG_NAMES_ONLY = 1,
	/** With JITREG_NAMES_ONLY and a group: debuggers are told of the image by
	 * jitreg_group_list(), or at once if the image cannot be packed. Without JITREG_NAMES_ONLY
	 * and a group the flag has no effect. */
	JITREG_DEFER = 2,
};

/** An object to register. Everything is copied or read before the call returns. */
struct jitreg_image {
	size_t size;      /**< sizeof(struct jitreg_image) */
	const char *path; /**< Absolute name of the file that was mapped. */
	/** The file, open for reading at any offset, or -1: @c path is opened. Borrowed. */
	int fd;
	uint32_t flags;   /**< JITREG_NAMES_ONLY, JITREG_DEFER */
	uint64_t bias;    /**< Load bias: run-time address minus link-time address. */
	uint64_t start;   /**< First mapped address. */
	uint64_t end;     /**< One past the last mapped address. */
	/** The group that the image belongs to, or NULL. Borrowed: must outlive the entry. */
	struct jitreg_group *group;
	/**
	 * Called whenever the image gets another symfile, before debuggers are told; the first time
	 * when debuggers are first told of the image. @c info lives during the call. The function
	 * must not call functions of this library. NULL: nothing is called.
	 */
	void (*symfile_changed)(void *ctx, const struct jitreg_info *info);
	void *ctx; /**< passed to the functions */
};

/** What a symfile describes. */
enum jitreg_symfile_kind {
	/** One image: addresses, names, unwind data, and a reference to its DWARF. */
	JITREG_SYMFILE_FULL = 0,
	/** One image: addresses, names, unwind data. */
	JITREG_SYMFILE_NAMES_ONLY = 1,
	/** All packed images of a group, or an image with JITREG_NAMES_ONLY alone: names and unwind
	 * data, and a reference to functions and lines for GDB. */
	JITREG_SYMFILE_PACK = 2,
};

/** What was registered; see jitreg_entry_get_info(). */
struct jitreg_info {
	/** The in-memory ELF object, of this image or of several images of its group. Lives until
	 * the image is unregistered or gets another symfile. NULL while debuggers know nothing of
	 * the image: before jitreg_group_list() with JITREG_DEFER, after jitreg_group_close(). */
	const void *symfile;
	uint64_t symfile_size;    /**< Its size in bytes. */
	enum jitreg_debug_kind debug_kind; /**< where the DWARF is */
	const char *debug_path;   /**< File with the DWARF, or NULL. Lives until unregistered. */
	/** NULL when the object has no build-id. Lives until unregistered. */
	const uint8_t *build_id;
	size_t build_id_size;     /**< Bytes in @c build_id. */
	uint64_t start;           /**< First address of the image, */
	/** and one past the last; both are 0 when the symfile has no addresses. */
	uint64_t end;
	enum jitreg_symfile_kind symfile_kind; /**< what the symfile describes */
};

/** Where the debug information of an object file is; see jitreg_find_debug(). */
struct jitreg_debug {
	enum jitreg_debug_kind kind; /**< how the file was found */
	char *path;               /**< malloc()ed file with the DWARF, or NULL. */
	uint8_t build_id[JITREG_BUILD_ID_MAX]; /**< of the object, not of the file */
	size_t build_id_size;     /**< 0 when there is no build-id. */
	/** Why there is no DWARF when @c kind is JITREG_DEBUG_NAMES: one static line; otherwise
	 * NULL. */
	const char *reason;
	/** malloc()ed file with DWARF that GDB cannot be referred to, because the file has names of
	 * the GDB JIT interface: a detached file, or the object's own. jitreg_register() refers GDB
	 * to a copy of it. NULL: there is no such file. */
	char *names_path;
};

/**
 * Register one mapped object.
 *
 * Builds a symfile (ELF64, ET_REL, sections at their run-time addresses, unwind
 * data and names inside, DWARF referred to and not copied) and links it into
 * the descriptor's list. When the call returns, an attached debugger has read
 * the symfile and has set its pending breakpoints in the object.
 *
 * @param      image  Described above. Its range must stay mapped until the
 *                    entry is unregistered.
 * @param[out] ret    Set on success only. Owned by the caller, to be given to
 *                    jitreg_unregister().
 *
 * @retval 0
 * @retval -EINVAL   @p image has another size or an unknown flag, its path is not absolute, or
 *                   its range is empty
 * @retval -ENOEXEC  the file is no ELF64 object or contradicts itself
 * @retval -ENOMEM   no memory
 * @retval -errno    the file could not be opened or read
 */
JITREG_API int jitreg_register(const struct jitreg_image *image, struct jitreg_entry **ret)
	__attribute__((warn_unused_result, nonnull));

/**
 * Do the slow part of registering a file beforehand: reading it, and for a library whose lines no
 * process has made yet, up to 0.3 s of making them. A caller that holds a lock of its own while it
 * registers calls this function without that lock.
 *
 * @param      path   The path of the image that is to be registered.
 * @param      flags  0 or JITREG_NAMES_ONLY, as that image will have it.
 * @param[out] ret    Set on success only. To be given to jitreg_prepared_destroy() once the image
 *                    is registered.
 *
 * @retval 0
 * @retval -ENOEXEC, -ENOMEM, -errno  as for jitreg_register(), which would fail in the same way
 */
JITREG_API int jitreg_prepare(const char *path, uint32_t flags, struct jitreg_prepared **ret)
	__attribute__((warn_unused_result, nonnull));

/** Free what jitreg_prepare() has returned. Registered images stay. NULL is ignored. */
JITREG_API void jitreg_prepared_destroy(struct jitreg_prepared *prepared);

/** Do the slow part of jitreg_group_pack() beforehand, for all files that are registered at this
 * moment. */
JITREG_API void jitreg_prepare_registered(void);

/**
 * Around fork() the library takes its locks by itself, with pthread_atfork(). A caller that
 * registers while it holds a lock of its own has to take that lock before these. It calls this
 * once, before it registers anything, and from then on jitreg_before_fork() as the last thing
 * before each fork(), and jitreg_after_fork() as the first thing after it, in the parent and in the
 * child. Any thread.
 */
JITREG_API void jitreg_fork_by_caller(void);

/** Take the library's locks before fork(). The same thread forks and calls jitreg_after_fork(). */
JITREG_API void jitreg_before_fork(void);

/** Release them, in the parent and in the child. */
JITREG_API void jitreg_after_fork(void);

/**
 * Register a symfile that the caller has made or got: what a JIT compiler would put into a
 * descriptor of its own. Its sections must have their run-time addresses.
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
 * Unregister an object and free @p entry. Debuggers drop their breakpoint locations in the
 * object; when the call returns, the caller may unmap it. NULL is ignored.
 *
 * GDB disables a breakpoint that loses its last location. So while GDB listens, a symfile of the
 * file's last object stays in the list, at reserved addresses without access, until the file is
 * registered again or something is registered without GDB. jitreg_count() does not count it.
 */
JITREG_API void jitreg_unregister(struct jitreg_entry *entry);

/** What traces the process. */
enum jitreg_tracer {
	JITREG_TRACER_NONE, /**< nothing, or /proc cannot be read */
	JITREG_TRACER_GDB,  /**< gdb or gdbserver */
	JITREG_TRACER_LLDB, /**< lldb-server, also that of an editor */
	JITREG_TRACER_OTHER, /**< something else, as strace */
};

/** Ask the kernel for what traces the process at this moment: `TracerPid` of /proc/self/status, and
 * the name of that process. Needs no lock. */
JITREG_API enum jitreg_tracer jitreg_find_tracer(void);

/** Describe a registered entry. Pointers in @p ret live as struct jitreg_info says. */
JITREG_API void jitreg_entry_get_info(const struct jitreg_entry *entry, struct jitreg_info *ret)
	__attribute__((nonnull));

/**
 * Create a group: images that lie at the same distances from each other as in other groups,
 * because a loader puts each library at the same offset from the start of a stretch of
 * addresses. Each object file costs debuggers time and memory; jitreg_group_pack() gives them one
 * or two for all images of a group.
 *
 * Calls about one group must not overlap, and jitreg_register() and jitreg_unregister() of its
 * images are such calls. Calls about different groups may overlap.
 *
 * @param      base  Start of the stretch. Images that are not within 4 GiB from there can
 *                   be in the group and are not packed.
 * @param[out] ret   To be given to jitreg_group_destroy().
 *
 * @retval 0
 * @retval -ENOMEM
 */
JITREG_API int jitreg_group_create(uint64_t base, struct jitreg_group **ret)
	__attribute__((warn_unused_result, nonnull));

/** Free a group all of whose images are unregistered. NULL is ignored. */
JITREG_API void jitreg_group_destroy(struct jitreg_group *group);

/**
 * Tell debuggers of all images of the group that were registered with JITREG_DEFER since the last
 * call, with one symfile and one event: much of a debugger's work is done once for each event.
 *
 * @retval 0        also when there is no such image
 * @retval -ENOMEM  debuggers were told of no image; the next call tries again
 * @retval -errno   an image cannot be described; debuggers were told of the others one by one
 */
JITREG_API int jitreg_group_list(struct jitreg_group *group)
	__attribute__((warn_unused_result, nonnull));

/**
 * Replace the symfiles of the group's images by one symfile, a pack, which has names and unwind
 * data and does not refer to the images' DWARF. It refers to a file with more names, unwind data
 * and lines for GDB, which all groups with the same images share; the file is kept in gorgon/ below
 * `$XDG_CACHE_HOME` or `~/.cache`. When it cannot be written there, the pack has the names itself,
 * those of static functions included: GDB has no lines of the images, and takes longer to read many
 * packs. A damaged file is made anew.
 *
 * A group of sixteen images or more gets two packs, one of the image that was registered first and
 * one of the others: LLDB reads the unwind data of the second when a stack gets there. While a
 * debugger is attached they are one pack, and images are packed only if they have symfiles of their
 * own, and are eight or more or refer to DWARF; breakpoints stay in place all the time.
 *
 * @retval 0        also when there is nothing to pack
 * @retval -ENOMEM
 * @retval -errno   a symfile cannot be made
 */
JITREG_API int jitreg_group_pack(struct jitreg_group *group)
	__attribute__((warn_unused_result, nonnull));

/**
 * jitreg_group_pack() in steps, for callers whose calls about a group are ordered by a lock that
 * others wait for: to build can take tens of milliseconds.
 *
 *	jitreg_packing_begin()   with the lock: notes what there is
 *	jitreg_packing_build()   without it: calls about this group may come meanwhile, or its end
 *	jitreg_packing_end()     with the lock, if the caller still has the group: debuggers are told
 *	jitreg_packing_destroy() in any case, with the lock or without
 *
 * @param singly    Only images that refer to DWARF get another symfile, each a pack of its own: for
 *                  a group that is about to have more images. Such a pack is made once for each
 *                  file, and not once for each set of images that the group has in between. Without
 *                  effect while a debugger is attached, because every further symfile costs the
 *                  debugger time.
 * @param[out] ret  NULL when there is nothing to pack, and after a failure.
 * @retval 0 or as jitreg_group_pack()
 */
JITREG_API int jitreg_packing_begin(struct jitreg_group *group, bool singly,
				    struct jitreg_packing **ret)
	__attribute__((warn_unused_result, nonnull));
/** The second step.
 * @retval 0 or as jitreg_group_pack()
 */
JITREG_API int jitreg_packing_build(struct jitreg_packing *packing)
	__attribute__((warn_unused_result, nonnull));

/**
 * @param group  The group that the packing was begun for, or a group that may have come in its
 *               place.
 * @retval 0
 * @retval -EAGAIN  nothing was done: the group has changed since the beginning, or a debugger has
 *                  come or gone
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
 * Find where the debug information of an object file is, without registering
 * anything. A file without a compilation unit counts as one without debug information.
 *
 * @param      path  Absolute file name.
 * @param      fd    The open file, or -1: @p path is opened. Borrowed.
 * @param[out] ret   Set on success only; release with jitreg_debug_deinit().
 *
 * @retval 0
 * @retval -EINVAL                    @p path is not absolute
 * @retval -ENOEXEC, -ENOMEM, -errno  as for jitreg_register()
 */
JITREG_API int jitreg_find_debug(const char *path, int fd, struct jitreg_debug *ret)
	__attribute__((warn_unused_result, nonnull));

/** Release the strings that jitreg_find_debug() has filled in. */
JITREG_API void jitreg_debug_deinit(struct jitreg_debug *debug) __attribute__((nonnull));

/**
 * Keep a program's source that is in no file, where debuggers find it: in gorgon/sources/ below
 * $XDG_CACHE_HOME or ~/.cache, in a folder that depends on the text. A symfile that names the file
 * shows its lines, also in a core of this process. When there are more than 1,024 such sources, the
 * oldest ones are removed. Any thread.
 *
 * @param      name  The file's name, without a folder: as the program calls the source.
 * @param      text  Copied.
 * @param      size  Bytes, at most 16 MiB.
 * @param[out] ret   The absolute name of the file: malloc()ed. Set on success only.
 *
 * @retval 0
 * @retval -EINVAL   @p name is empty, too long, or has a slash
 * @retval -EFBIG    it is larger than that, or than RLIMIT_FSIZE
 * @retval -ENOTDIR  there is no folder for it that is the user's alone
 * @retval -ENOMEM, -errno
 */
JITREG_API int jitreg_keep_source(const char *name, const void *text, uint64_t size, char **ret)
	__attribute__((warn_unused_result, nonnull));

/** What is kept unless jitreg_keep() says something else. */
#define JITREG_KEEP_BYTES   (UINT64_C(32) << 20)
#define JITREG_KEEP_SECONDS UINT64_C(300) /**< and for how long, in seconds */

/**
 * Limit what is kept of files and packs that no image needs any more, so that the next image of a
 * file is registered as fast as a second copy. What was used last is kept. A file that has changed
 * is read again. No descriptor is kept. The limits hold at once.
 *
 * @param bytes    Bytes of memory, at most. A file or pack that takes more than a quarter of that
 *                 is not kept. 0: nothing is kept.
 * @param seconds  How long something is kept after its last use. What is older is freed by the next
 *                 call that registers, unregisters or prepares.
 */
JITREG_API void jitreg_keep(uint64_t bytes, uint64_t seconds);

/** Drop what is kept at this moment. The limits stay. */
JITREG_API void jitreg_trim(void);

/**
 * @param[out] count  How many files and packs are kept.
 * @return how many bytes of memory they take.
 */
JITREG_API uint64_t jitreg_kept(uint64_t *count) __attribute__((nonnull));

/** Number of symfiles that debuggers know at this moment, of this library in this process. */
JITREG_API size_t jitreg_count(void);

/** Version of the library that runs: major << 16 | minor. */
JITREG_API unsigned jitreg_version(void);

#ifdef __cplusplus
}
#endif

#endif
