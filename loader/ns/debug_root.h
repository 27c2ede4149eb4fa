/* SPDX-License-Identifier: MIT */
/*
 * What debuggers, gorgon-symdump and core readers see of the namespaces.
 *
 * One exported variable, gorgon_debug_root, heads a list of namespaces, each of
 * which heads a list of objects. It is a format, not an interface of the
 * library: readers look at the memory of another process or of a core.
 *
 * - Fixed-width integers, explicit padding, no bit-fields, no pointers: an
 *   address is a uint64_t. Offsets are pinned below. Strings are
 *   NUL-terminated UTF-8 at an address, with their size beside them.
 * - A reader checks magic and version, then uses ns_size, object_size and
 *   thread_size as the sizes of entries: later versions append members.
 * - Readers that come back look at the namespaces in the order of their last change,
 *   changed_head first, until `sequence` of one is not greater than the root's was: only
 *   these are others than before. Namespaces that have gone show in ns_count.
 * - Readers that do not stop the process read `sequence` before and after: odd,
 *   or changed, means try again. Writers hold the root's lock.
 * - Everything lies in anonymous memory or in written data pages, which the
 *   kernel's default core filter keeps.
 * - An object is linked before a debugger hears of its symfile and unlinked after
 *   the debugger has dropped it, so a stop finds the entry of its pc.
 */
#ifndef GORGON_NS_DEBUG_ROOT_H
#define GORGON_NS_DEBUG_ROOT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GORGON_DEBUG_MAGIC   "GORGONDR"
#define GORGON_DEBUG_VERSION 1

/* interp of a namespace that has no interpreter. */
#define GORGON_DEBUG_NO_INTERP UINT32_MAX

/* Values of gorgon_debug_activity.state. */
enum {
	GORGON_DEBUG_CREATED = 0,
	GORGON_DEBUG_RUNNING = 1, /* a program */
	GORGON_DEBUG_STARTING = 2,
	GORGON_DEBUG_STARTED = 3, /* for calls of the host */
	GORGON_DEBUG_STOPPING = 4,
	GORGON_DEBUG_FINALISING = 5, /* nobody gets its GIL any more */
	GORGON_DEBUG_ENDED = 6,
	GORGON_DEBUG_ABANDONED = 7, /* it did not end, and does not run any more */
};

/* Values of gorgon_debug_ns.state. */
enum {
	GORGON_DEBUG_NS_LIVE = 0,
	GORGON_DEBUG_NS_UNLOADING = 1,
	GORGON_DEBUG_NS_ABANDONED = 2,
};

/* Values of gorgon_debug_ns.python_lines. */
enum {
	GORGON_DEBUG_LINES_OFF = 0, /* nobody has asked for them */
	GORGON_DEBUG_LINES_ON = 1,
	GORGON_DEBUG_LINES_UNKNOWN = 2, /* not to be had: its CPython, isolation or machine */
	GORGON_DEBUG_LINES_FAILED = 3,  /* its libpython is not as expected */
};

/* Bytes of the texts of a namespace, which end with a NUL. */
#define GORGON_DEBUG_TEXT_SIZE 64

struct gorgon_debug_root {
	char magic[8];          /* GORGON_DEBUG_MAGIC without its NUL; zeros before first use */
	uint32_t version;       /* GORGON_DEBUG_VERSION */
	uint32_t size;          /* of this structure */
	uint64_t sequence;      /* odd while the lists change */
	uint64_t timestamp;     /* CLOCK_MONOTONIC nanoseconds of the last change */
	uint32_t ns_size;       /* of struct gorgon_debug_ns */
	uint32_t object_size;   /* of struct gorgon_debug_object */
	uint64_t ns_head;       /* first struct gorgon_debug_ns, oldest first, or 0 */
	uint64_t ns_tail;       /* the last one */
	uint32_t ns_count;
	uint32_t object_count;  /* over all namespaces */
	uint64_t thread_head;   /* first struct gorgon_debug_thread, newest first, or 0 */
	uint32_t thread_count;
	uint32_t thread_size;   /* of struct gorgon_debug_thread */
	uint64_t changed_head;  /* the struct gorgon_debug_ns that has changed last, or 0 */
	uint64_t request; /* the struct gorgon_debug_request, or 0: no interpreter takes requests */
};

struct gorgon_debug_ns {
	uint64_t next;          /* 0 at the end */
	uint64_t prev;
	uint64_t id;            /* identity, never reused */
	uint32_t interp;        /* interpreter's number or GORGON_DEBUG_NO_INTERP */
	uint32_t state;
	uint64_t object_head;   /* first struct gorgon_debug_object, in load order, or 0 */
	uint64_t object_tail;
	uint32_t object_count;
	uint32_t python_minor;  /* 11 for CPython 3.11; 0 without an interpreter */
	uint64_t python_object; /* the struct gorgon_debug_object of libpython, or 0 */
	uint64_t thread;        /* kernel id of the thread that runs the program, or 0 */
	uint64_t sequence;      /* that of the root, odd, when this or its objects changed last */
	uint64_t changed_next;  /* the one that changed before it, or 0 */
	uint64_t changed_prev;
	uint64_t usage;         /* the struct gorgon_debug_usage of its interpreter, or 0 */
	uint64_t activity;      /* the struct gorgon_debug_activity of its interpreter, or 0 */
	uint64_t label;         /* what the host calls its interpreter: a text, or 0 */
	uint64_t job; /* what the newest call of the host runs in it: a text, "" for none, or 0.
				 * Changes without the sequence */
	uint64_t
		/* what requests to its interpreter name as their target, or 0: it takes none */
		requests;
	uint32_t python_lines; /* GORGON_DEBUG_LINES_OFF, ... Changes without the sequence */
	uint32_t reserved;     /* 0 */
	uint64_t copy_of; /* the label of the template of which it is a copy: a text, or 0 */
};

/*
 * The place for a request: that an interpreter runs Python code. Who may write to the memory of
 * the process asks; `gorgon exec` does. One at a time: whoever asks holds an exclusive flock(2)
 * on /proc/PID/mem meanwhile.
 *
 * Write 0 to `id`, then the members after it, then a new `id`, once. Then send SIGURG to a thread
 * of the process (rt_tgsigqueueinfo(2), with `target` as its value), again and again, until
 * `answered` is the id:
 * - to the thread that gorgon_debug_ns.thread names. It takes the request when it looks for
 *   signals;
 * - if no program runs in the interpreter, also to a thread that waits in a system call, with the
 *   same descriptors as that one. The signal then has in si_errno the number of the call, and
 *   behind its value, at the 32nd byte, a struct gorgon_debug_place, as /proc/PID/task/TID/syscall
 *   says. A thread is begun there, and the call repeated.
 * A thread of the interpreter then has two pipes, and waits for who asks to open them in
 * /proc/PID/task/`tid`/fd, to write to `input` a 64-bit number of bytes and as many bytes of
 * Python source; that is run with these names: take and give, the ends of the pipes that are the
 * interpreter's, interrupt(ident), which raises KeyboardInterrupt on a thread, on_main(function),
 * which has the main thread call a function when it runs Python, and interpreter, the dictionary
 * of PyInterpreterState_GetDict(). To withdraw a request, write 0 to `id`, or do not open the
 * pipes.
 */
struct gorgon_debug_request {
	uint64_t id;           /* 0 when there is none, or it was taken */
	uint64_t target;       /* gorgon_debug_ns.requests */
	uint64_t timeout_ms;   /* that the pipes are kept open for who asks */
	uint64_t argument;     /* the first one of the system call in which a thread waits */
	uint64_t answered;     /* the last request that was taken */
	uint64_t tid;          /* 0: it could not be answered, and `input` is the error */
	int32_t input, output; /* descriptors */
};

/* Where a thread waits; zeros when it does not. */
struct gorgon_debug_place {
	uint64_t sp, pc;
};

/* What an interpreter holds, in bytes, and does. Both change without the sequence, each member by
 * itself. */
struct gorgon_debug_usage {
	uint64_t heap_bytes;    /* these four together count for the limit */
	uint64_t mapped_bytes;
	/* Each thread has up to 64 KiB more, or less, to tell; so this may be below 0. */
	uint64_t extension_bytes;
	uint64_t block_bytes;
	uint64_t limit;         /* or 0 */
};

struct gorgon_debug_activity {
	uint32_t state;         /* GORGON_DEBUG_CREATED, ... */
	uint32_t main_calls;    /* calls of the host that run on its main thread */
	uint64_t call_count;    /* calls of the host that have ended */
	uint64_t call_ns;       /* processor time of these, on the threads that called */
	/* how long calls have waited for the GIL, those that have it by now */
	uint64_t gil_wait_ns;
	uint64_t start_ns;      /* CLOCK_MONOTONIC when Python was started, or 0 */
	uint64_t end_ns;        /* when it had ended, or 0 */
};

struct gorgon_debug_object {
	uint64_t next;
	uint64_t prev;
	uint64_t ns;            /* its struct gorgon_debug_ns */
	uint64_t path;          /* address of the file name */
	uint32_t path_size;     /* without the NUL */
	uint32_t build_id_size; /* 0 to 64 */
	uint64_t build_id;      /* address of the bytes */
	uint64_t bias;          /* run-time address = bias + link-time address */
	uint64_t start;         /* mapped range */
	uint64_t end;
	uint64_t symfile;       /* the in-memory object that debuggers have read, or 0 */
	uint64_t symfile_size;
	uint64_t debug_path;    /* address of the name of the file with its DWARF, or 0 */
	uint32_t debug_path_size;
	uint32_t debug_kind;    /* enum jitreg_debug_kind */
	uint64_t tls_module;    /* first word of its TLS index pairs, or 0 */
	uint64_t static_tls;    /* its block's distance from the thread pointer (two's
				   complement) when it is the same in all threads, else 0 */
	uint32_t symfile_kind;  /* enum jitreg_symfile_kind */
	uint32_t reserved;      /* 0 */
	uint64_t link_map;      /* the struct link_map of an object that the system's linker has
				   loaded: debuggers know it from there, and it has no symfile.
				   0 for objects of our loader */
};

/*
 * A thread that has blocks of private TLS modules; others have none yet. Its slots may
 * change without the sequence while the thread runs.
 */
struct gorgon_debug_thread {
	uint64_t next;
	uint64_t prev;
	uint64_t slots;         /* address of an array of struct gorgon_debug_slot */
	uint64_t slot_count;
	uint64_t tid;           /* kernel id */
	uint64_t tp;            /* thread pointer */
	uint64_t ns;            /* the struct gorgon_debug_ns whose code has started it, or 0 */
};

struct gorgon_debug_slot {
	uint64_t module;        /* gorgon_debug_object.tls_module, or 0 */
	uint64_t block;         /* address of this thread's variables of it */
};

static_assert(sizeof(struct gorgon_debug_root) == 96, "format");
static_assert(offsetof(struct gorgon_debug_root, sequence) == 16, "format");
static_assert(offsetof(struct gorgon_debug_root, ns_head) == 40, "format");
static_assert(sizeof(struct gorgon_debug_ns) == 152, "format");
static_assert(offsetof(struct gorgon_debug_ns, usage) == 96, "format");
static_assert(offsetof(struct gorgon_debug_ns, python_lines) == 136, "format");
static_assert(offsetof(struct gorgon_debug_ns, copy_of) == 144, "format");
static_assert(sizeof(struct gorgon_debug_usage) == 40, "format");
static_assert(sizeof(struct gorgon_debug_activity) == 48, "format");
static_assert(sizeof(struct gorgon_debug_request) == 56, "format");
static_assert(offsetof(struct gorgon_debug_thread, ns) == 48, "format");
static_assert(offsetof(struct gorgon_debug_ns, object_head) == 32, "format");
static_assert(sizeof(struct gorgon_debug_object) == 136, "format");
static_assert(offsetof(struct gorgon_debug_object, bias) == 48, "format");
static_assert(offsetof(struct gorgon_debug_object, tls_module) == 104, "format");
static_assert(offsetof(struct gorgon_debug_object, link_map) == 128, "format");

extern struct gorgon_debug_root gorgon_debug_root;
extern struct gorgon_debug_request gorgon_debug_request;

#endif
