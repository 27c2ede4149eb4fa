/* SPDX-License-Identifier: MIT */
/*
 * gorgon-symdump: what is loaded where, for a live process or a core.
 *
 *     target.c process.c core.c    where bytes come from: memory, mappings, files
 *     snapshot.c jitlist.c         the lists in that memory, checked
 *     library.c                    names and lines of one file, at its own addresses
 *     location.c                      from an address to interpreter, library, function, line
 *     python_layout.c python.c     Python frames
 *     unwind.c stacks.c generated.c    native frames of all threads
 *     record.c watch.c samples.c native.c pages.c profile.c    what threads do, again and again
 *     table.c json.c script.c extract.c check.c stacks_print.c top.c profile_print.c flame.c    what is printed
 *     text.c terminal.c main.c
 *
 * Everything that is read may be garbage or made up: sizes, counts, lists and names are
 * limited, and what was odd becomes a line in struct problems instead of stopping the
 * reader. Only main.c ends the process, and text.c when there is no memory left.
 */
#ifndef GORGON_SYMDUMP_H
#define GORGON_SYMDUMP_H

#include "ns/debug_root.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- text.c: memory, problems, names ---------------------------------------- */

/* Zeroed. No memory ends the program: nothing here has a state to save. */
void *zalloc(size_t count, size_t size);
/* @array with room for one more after @count items. */
void *grow(void *array, size_t count, size_t size);
char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A copy of a name from elsewhere that is fit for a terminal: valid UTF-8, no control characters.
 */
char *clean_text(const char *bytes, size_t size);
/* The part after the last slash. */
const char *base_name(const char *path);
/* Hexadecimal digits; free() it. */
char *hex(const uint8_t *bytes, size_t size);

/* What was odd, one line each. The number kept is limited; count goes on. */
struct problems {
	char **lines;
	size_t count, kept;
};
void problem(struct problems *problems, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void problems_deinit(struct problems *problems);

/* A set of addresses. */
struct address_set {
	uint64_t *slots;
	size_t capacity, count;
};
/* False when it was there already. 0 is never in a set. */
bool address_set_add(struct address_set *set, uint64_t addr);
bool address_set_has(const struct address_set *set, uint64_t addr);
void address_set_deinit(struct address_set *set);

/* A map: two numbers are a key, and the value is a third number. */
struct map {
	struct map_slot *slots;
	size_t capacity, count;
};
#define MAP_NEW SIZE_MAX
/* The value of this key, which is MAP_NEW at first; valid until the next call. */
size_t *map_find(struct map *map, uint64_t a, uint64_t b);
/* The value of this key, or NULL if the map does not have the key. */
size_t *map_get(const struct map *map, uint64_t a, uint64_t b);
void map_clear(struct map *map);
void map_deinit(struct map *map);

/* ---- terminal.c ----------------------------------------------------------------- */

/*
 * For people at a terminal: escape sequences around a heading or an interpreter's name, "" when
 * the output is no terminal or NO_COLOR is set; and a line on standard error that overwrites
 * itself, only if something takes long.
 */
const char *heading_begin(void);
const char *interp_begin(void);
const char *colour_end(void);
void progress(const char *what, size_t done, size_t total);
void progress_end(void);

/* ---- target.c: a process or a core -------------------------------------------- */

/* The kernel's own library, which is only in memory. */
#define VDSO "[vdso]"

/* Part of a file in the target's memory. Sorted by address. */
struct mapping {
	uint64_t start, end, off;
	char *path; /* as the target has it: not clean, and no name to open unchecked; or VDSO */
};

/* Memory that a core has; a live process has none of these. */
struct segment {
	uint64_t start, size, off;
};

struct target {
	/* Of a process or a core; see target_read() and target_update(). */
	bool (*read)(const struct target *target, uint64_t addr, void *bytes, size_t size);
	bool (*read_mappings)(struct target *target, struct problems *problems);
	const char *name; /* what the user wrote */
	pid_t pid;        /* 0: a core */
	int root;         /* directory that the target's file names start from */
	char *sysroot;    /* the user's name of it, or "" */
	char *root_name;  /* its name: that, or /proc/PID/root, or "" */
	int memory;       /* /proc/PID/mem, or the core */
	bool no_readv;    /* process_vm_readv() is not to be had */
	Elf *core;
	uint16_t core_machine; /* e_machine */
	uint64_t cut_off; /* bytes of the core that its file does not have */
	struct segment *segments;
	size_t segment_count;
	struct mapping *mappings;
	size_t mapping_count;
	bool mappings_given; /* by a core or by a test: nothing to read again */
};

/* open_target.c. @what is a process id or a core's file name. False: a problem says why. */
bool target_open(struct target *target, const char *what, const char *sysroot,
		 struct problems *problems);
void target_close(struct target *target);
/* Read @size bytes. False: not all of them can be read, and @bytes is undefined. */
bool target_read(const struct target *target, uint64_t addr, void *bytes, size_t size);
/* Read @size bytes into new memory, which the caller frees; NULL: they cannot be read. */
uint8_t *target_copy(const struct target *target, uint64_t addr, size_t size);
/* Read the mappings of a live process anew. */
bool target_update(struct target *target, struct problems *problems);
/*
 * The error of the first file that is there and could not be opened (no descriptors, no memory), or
 * 0. After such an error, what depends on the file is incomplete.
 */
int target_open_error(void);
const struct mapping *target_find_mapping(const struct target *target, uint64_t addr);
/*
 * Open a regular file by a name that came from the target: below its root, links
 * included. -1 when there is none.
 */
int target_open_file(const struct target *target, const char *path);
/* The file of a mapping; of a live process, that very file even if it was replaced. */
int target_open_mapping(const struct target *target, const struct mapping *mapping);
void target_add_mapping(struct target *target, uint64_t start, uint64_t end, uint64_t off,
			const char *path);

/* process.c, core.c */
bool process_open(struct target *target, struct problems *problems);
bool process_read(const struct target *target, uint64_t addr, void *bytes, size_t size);
bool process_read_mappings(struct target *target, struct problems *problems);
bool core_open(struct target *target, struct problems *problems);
bool core_read(const struct target *target, uint64_t addr, void *bytes, size_t size);
/* link_map.c: mapped files from the list of the system's linker, which the vector of the kernel
 * leads to. */
void link_map_read(struct target *target, const Elf64_auxv_t *vector, size_t count);

/* ---- snapshot.c, jitlist.c: what the target says of itself -------------------- */

struct object {
	uint64_t addr;           /* of its entry in the target */
	char *path, *debug_path; /* clean; "" and NULL when there is none */
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t bias, start, end;
	uint64_t symfile, symfile_size;
	uint64_t link_map; /* of the system's linker's, or 0 */
	uint8_t *symfile_data; /* with SNAPSHOT_SYMFILES, if it could be read; of several objects
				  that have one together, only the first has this */
	bool symfile_is_elf;   /* with SNAPSHOT_CHECKS */
	uint32_t debug_kind;
	size_t ns; /* index into snapshot.namespaces, or NO_NS */
};

/* Of objects that only a JIT list has. They come after all others. */
#define NO_NS SIZE_MAX

struct namespace
{
	uint64_t addr, id;
	uint32_t interp; /* or GORGON_DEBUG_NO_INTERP */
	uint32_t state, python_minor;
	uint64_t python_object, thread;
	uint64_t usage, activity, label, job; /* addresses in the target, or 0 */
	char *copy_of; /* the label of the template of which it is a copy, or "" */
	size_t first_object, object_count; /* in snapshot.objects */
};

/* A thread that code of a namespace has started. */
struct started_thread {
	uint64_t tid, ns; /* address of the namespace in the target */
};

enum source {
	SOURCE_GORGON, /* gorgon_debug_root */
	SOURCE_JITREG, /* jitreg_debug_root: ranges, but no namespaces */
	SOURCE_JIT,    /* a plain GDB JIT list: symfiles only */
};

struct snapshot {
	enum source source;
	uint64_t root; /* address of gorgon_debug_root, or 0 */
	uint64_t sequence;
	bool consistent; /* nothing changed while it was read */
	struct namespace *namespaces;
	size_t ns_count;
	struct started_thread *threads;
	size_t thread_count;
	struct object *objects;
	size_t object_count;
	size_t listed_count;      /* of these, in namespaces */
	struct address_set starts; /* of those, and of generated code beside them */
	uint64_t symfile_bytes;   /* in symfile_data of all */
	struct address_set symfiles_read;
	struct object **by_start; /* those with a range, sorted */
	size_t range_count;
	struct address_set jit_symfiles; /* of all JIT lists of the target */
	bool has_jit_list;
	struct problems problems;
};

enum {
	SNAPSHOT_SYMFILES = 1, /* copy the symfiles, too */
	SNAPSHOT_MAPPINGS = 2, /* read the mappings of that moment, too */
	/* look at the symfiles' headers, at the list of threads, and at the JIT lists beside a
	 * registry */
	SNAPSHOT_CHECKS = 4,
	SNAPSHOT_ANYWAY = 8,    /* follow the lists although they are just being changed */
	SNAPSHOT_OPTIONAL = 16, /* a target without any lists will do */
};

/* False: there is nothing to read, and snapshot->problems says why. */
bool snapshot_take(struct target *target, unsigned flags, struct snapshot *snapshot);
void snapshot_deinit(struct snapshot *snapshot);
struct object *snapshot_find(const struct snapshot *snapshot, uint64_t addr);
/* A text of a namespace, to be freed; "" if there is none. */
char *snapshot_text(const struct target *target, uint64_t addr);
/* The libpython of a namespace, or NULL. */
const struct object *snapshot_libpython(const struct snapshot *snapshot, size_t ns);
/* "interp 3", "namespace 7" or "jit". Returns @buffer. */
const char *ns_label(const struct snapshot *snapshot, size_t ns, char buffer[32]);

/* Where the variables are that head the lists; see heads.c. */
struct heads {
	uint64_t *roots, *jitregs, *descriptors;
	size_t root_count, jitreg_count, descriptor_count;
	struct runtime {
		uint64_t start, bias; /* of a file that has a CPython, private copies among them */
	} *runtimes;
	size_t runtime_count;
};
void heads_find(struct target *target, struct heads *heads);
void heads_deinit(struct heads *heads);

/* Make one attempt to read the registry at @root. False: there is none. */
bool snapshot_read_root(struct target *target, uint64_t root, unsigned flags,
			struct snapshot *snapshot);
/*
 * Read a jitreg_debug_root: its sequence is returned, and its descriptor goes to @descriptor.
 * False: there is none at @addr.
 */
bool jitreg_read(struct target *target, uint64_t addr, uint64_t *sequence, uint64_t *descriptor);
/*
 * Make one attempt to read all JIT lists. @beside a registry, only generated code is added: the
 * registry has the rest.
 */
bool jitlist_read(struct target *target, const struct heads *heads, bool beside, unsigned flags,
		  struct snapshot *snapshot);

/* For snapshot.c and jitlist.c. */
struct object *snapshot_add_object(struct snapshot *snapshot);
/* Remove the last object. */
void snapshot_drop_object(struct snapshot *snapshot);
void snapshot_read_symfile(struct target *target, struct snapshot *snapshot, struct object *object,
			   unsigned flags);
bool symfile_is_elf(struct target *target, uint64_t addr, uint64_t size);
void snapshot_reset(struct snapshot *snapshot);
void snapshot_index(struct snapshot *snapshot);

/* ---- library.c: one file, at the addresses that it was linked for -------------- */

struct symbol {
	uint64_t vaddr, size;
	const char *name; /* from the file: see symbol_name() */
	unsigned char type, bind;
};

struct library;
/*
 * From an open file, or from the bytes of a symfile; never NULL. @fd and @data are the
 * library's afterwards. @debug_path, looked up in the target, may be NULL.
 */
struct library *library_create(const struct target *target, int fd, void *data, size_t size,
			       const char *name, const char *debug_path);
void library_destroy(struct library *library);
size_t library_symbols(struct library *library, const struct symbol **ret);
/* Clean, and without the version that libdw puts behind it; free() it. */
char *symbol_name(const struct symbol *symbol);
/* The function or variable that @vaddr is in, or NULL. */
const struct symbol *library_find(struct library *library, uint64_t vaddr);
/*
 * File and line of @vaddr, or NULL; with @opening, of the function that starts there. The
 * name lives as long as the library.
 */
const char *library_find_line(struct library *library, uint64_t vaddr, bool opening, int *line);
/* Size of the build-id that was copied to @id; 0: none. */
size_t elf_build_id(Elf *elf, uint8_t id[64]);
/*
 * Find the link-time address at which the first byte of an object file belongs, from the file's
 * lowest segment. Whatever the size of a page is, the segment is as far from that address as it is
 * from the beginning of the file. Returns false if no segment of the file is loaded.
 */
bool elf_file_start(Elf *elf, uint64_t *ret);

/* ---- location.c ------------------------------------------------------------------- */

struct locations;
struct locations *locations_create(struct target *target, const struct snapshot *snapshot);
void locations_destroy(struct locations *locations);
/* The library of an object. Problems with its file are told once. */
struct library *locations_library(struct locations *locations, const struct object *object);
/* Is that library made from its file, not from the symfile? */
bool locations_has_file(struct locations *locations, const struct object *object);
/* Is the symbol one of this object's? A symfile may be that of several objects. */
bool locations_has_symbol(struct locations *locations, const struct object *object,
			  const struct symbol *symbol);
/* What to add to the library's addresses to get this copy's. */
uint64_t locations_bias(struct locations *locations, const struct object *object);

struct location {
	const struct object *object; /* or NULL: code of the system's linker */
	const char *path;            /* of the file, not clean; NULL: in no file */
	uint64_t vaddr;
	const struct symbol *symbol; /* or NULL */
	const char *file;            /* or NULL */
	int line;
};
/* @after: addr is a return address, the call is before it. False: addr is in no file. */
bool location_find(struct locations *locations, uint64_t addr, bool after, struct location *ret);
/* Without file and line, which take longer. */
bool location_find_function(struct locations *locations, uint64_t addr, bool after,
			    struct location *ret);
/* "interp N  libfoo.so!func+0x12  file.c:34"; free() it. */
char *location_text(struct locations *locations, const struct location *location);
struct problems *locations_problems(struct locations *locations);

/* ---- python_layout.c, python.c: Python frames of a thread ------------------------ */

struct python_frame {
	const char *function, *file; /* clean; of the python_codes */
	int line;      /* 0: unknown */
	bool is_entry; /* the last of those that one C call of the bytecode loop runs */
};

struct python_stack {
	struct python_frame *frames; /* innermost first */
	size_t count;
	bool holds_gil;
};

struct python_thread {
	pid_t tid;
	uint64_t interp, addr; /* of its PyInterpreterState and PyThreadState */
};

/*
 * Where the structures of CPython 3.@minor have their members; never NULL. From 3.13 on the copy
 * at @bias is asked.
 */
struct python_layout;
struct python_layout *python_layout_create(struct target *target, struct library *libpython,
					   uint64_t bias, unsigned minor);
void python_layout_destroy(struct python_layout *layout);
/* Why no frames can be read, or NULL. */
const char *python_layout_problem(const struct python_layout *layout);
/* The threads of this copy; free() the list. */
size_t python_threads(struct target *target, const struct python_layout *layout, uint64_t bias,
		      struct python_thread **ret);
/* False: the thread is none of this copy's. */
bool python_find_thread(struct target *target, const struct python_layout *layout, uint64_t bias,
			pid_t tid, struct python_thread *ret);
/* Is @addr in the GIL that this thread would wait for? */
bool python_is_gil(struct target *target, const struct python_layout *layout, uint64_t bias,
		   const struct python_thread *thread, uint64_t addr);

/* Names and lines of the code objects that frames were seen to run; of any number of targets'
 * moments. */
struct python_codes;
struct python_codes *python_codes_create(void);
void python_codes_destroy(struct python_codes *codes);

/*
 * Read at most @limit frames. False: frames are missing or wrong, because the thread went on
 * meanwhile or its structures are damaged. The frames that were read go to @ret in any case.
 */
bool python_read(struct target *target, const struct python_layout *layout, uint64_t bias,
		 struct python_codes *codes, const struct python_thread *thread, size_t limit,
		 struct python_stack *ret);
void python_stack_deinit(struct python_stack *stack);

/* ---- output; each returns an exit status ---------------------------------------- */

enum {
	STATUS_OK = 0,
	STATUS_FOUND_NOTHING = 1, /* or --check found something */
	STATUS_USAGE = 2,
	STATUS_NO_TARGET = 3,
};

struct profile;

struct dump {
	struct target target;
	struct snapshot snapshot;
	struct locations *locations;
	const char *pattern;    /* of --symbols, --find, --extract */
	char *const *addresses; /* of --addr */
	int address_count;
	bool json; /* with --stacks */
	double seconds, rate; /* of --record; samples a second */
	bool native;
	void (*print_profile)(const struct profile *profile);
};

/* --- JSON (json.c) ------------------------------------------------------------------ */

struct json_object;

/* Members; a NULL is null. json_add_namespace() adds the number of a namespace as @name, and
 * that of its interpreter. */
void json_add_string(struct json_object *to, const char *name, const char *value);
void json_add_address(struct json_object *to, const char *name, uint64_t addr);
void json_add_number(struct json_object *to, const char *name, uint64_t value);
void json_add_namespace(struct json_object *to, const char *name, const struct snapshot *snapshot,
			size_t ns);
/* A document: what is said of every snapshot, then lists whose items are freed one by one. */
void json_begin(const struct dump *dump, const char *schema, const char *list);
void json_print_item(struct json_object *item, bool first);
void json_end_list(void);
void json_next_list(const char *name);
void json_end(void);

int print_top(struct dump *dump);
int record(struct dump *dump);
int print_table(struct dump *dump);
int print_json(struct dump *dump);
int print_addresses(struct dump *dump);
int print_symbols(struct dump *dump);
int print_find(struct dump *dump);
int print_gdb(struct dump *dump);
int print_lldb(struct dump *dump);
int print_perf_map(struct dump *dump);
int print_stacks(struct dump *dump);
int extract(struct dump *dump);
int check(struct dump *dump);

#endif
