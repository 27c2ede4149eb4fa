/* SPDX-License-Identifier: MIT */
/* The lines of one module's code, and what debuggers are told of them. See lines/code.c,
 * lines/symfile.c. */
#ifndef GORGON_PYTHON_LINES_CODE_H
#define GORGON_PYTHON_LINES_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct _object; /* PyObject */
struct gorgon_lines_record;
struct gorgon_interp;
struct jitreg_entry;

/* How many values of a frame debuggers are told. */
#define GORGON_LINES_VALUES_MAX 64

/* What a code object has. Rules of debuggers read the first two members (lines/rules.c), which
 * its co_extra leads to. */
struct gorgon_lines_function {
	uint8_t *text; /* its stubs */
	const uint32_t *
		/* for each unit of its bytecode, and for -1: offset from @text of where the line
		 * resumes */
		units;
	uint32_t *units_start; /* malloc()ed */
	uint32_t unit_count;
	/* of its stubs: the first line of the function, then the others in ascending order */
	int *lines;
	size_t line_count;
	char *name;                            /* with the module's, in UTF-8 */
	char *values[GORGON_LINES_VALUES_MAX]; /* names of arguments, then of other values */
	unsigned argument_count, value_count;
	bool has_mapping; /* its names are in a mapping, as those of a class's body are */
	struct _object *code; /* NULL: it is gone */
	/* As lines/events.c updates them: */
	uint8_t *seen; /* the stubs with the breakpoints of then */
	bool wanted;          /* a debugger has breakpoints in it */
	bool awaited;         /* one of them waits for a frame to go on */
	bool quiet;           /* CPython was told that it need not tell of some of its lines */
};

/* The code objects of one module. */
struct gorgon_lines_file {
	struct gorgon_lines_file *next;
	char *path;
	struct gorgon_lines_function *functions;
	size_t function_count;
	struct _object *
		*codes; /* of each function; borrowed, and valid only while the file is made */
	uint8_t *text;  /* the stubs; read-only */
	size_t text_size;
	struct _object *held; /* while the file waits to be told of (lines.c): the module's code */
	uint8_t *pristine; /* the same without breakpoints, */
	uint8_t *seen;     /* and with those of the last update */
	struct jitreg_entry *jit; /* of this file and others; one of them has it */
};

/* What has been made for an interpreter, so that hostile code objects cannot make more than these
 * limits. */
struct gorgon_lines_budget {
	size_t stubs, units;
};

#define GORGON_LINES_STUBS_MAX (4u << 20)
#define GORGON_LINES_UNITS_MAX (32u << 20)

/*
 * Read @code, that of a module in the file @path, and the code objects among its constants. With
 * the GIL and without a Python error, which there is none afterwards, either. NULL: no memory,
 * or over the limits, or code with which CPython's own methods fail.
 */
struct gorgon_lines_file *gorgon_lines_file_create(struct gorgon_interp *interp,
						   struct _object *code, const char *path,
						   struct gorgon_lines_budget *budget);

void gorgon_lines_file_free(struct gorgon_lines_file *file);

/* Whether debuggers would be told the same of the two, and none of the code objects of @old is
 * left. */
bool gorgon_lines_file_replaces(const struct gorgon_lines_file *file,
				const struct gorgon_lines_file *old);

/* The stub of a line; NULL: it has none. */
uint8_t *gorgon_lines_stub(const struct gorgon_lines_function *function, int line);

/* The function's entry, behind its stubs; how many bytes they have together. */
uint8_t *gorgon_lines_entry(const struct gorgon_lines_function *function);
size_t gorgon_lines_text_size(const struct gorgon_lines_function *function);

/* From CPython 3.14 on the lowest bits of a frame's pointers to objects say who owns a reference,
 * and what else it may be. Before, they are 0. */
#define GORGON_LINES_TAG 3u
#define GORGON_LINES_OWN 1u /* greater tags are not those of pointers to objects */

/* Offsets in structures of CPython. */
struct gorgon_lines_layout {
	unsigned minor;
	/* of _PyInterpreterFrame; that of its function is 8 before its globals, that of its
	 * locals, if they are a mapping, 16 behind them */
	uint8_t frame_code, frame_globals, frame_instruction, frame_values;
	uint8_t code_units, code_extra;                      /* of PyCodeObject */
	uint8_t object_frame;                                /* of PyFrameObject */
	/* of PyThreadState, and of its _PyCFrame, in CPython 3.11, else 0 */
	uint8_t state_cframe, state_profile, state_trace, cframe_frame, cframe_previous;
	uint8_t state_interpreter;
	uint8_t state_remaining, state_limit; /* of its recursion */
	/* where a frame's instruction is at its beginning, from the code's first unit */
	int8_t first_instruction;
	/* what is added to the numbers of sys.monitoring's events from RAISE on */
	uint8_t later_events;
	/* offset of our word in what co_extra points to; found out in each interpreter */
	uint8_t extra;
	uint8_t frame_previous;
	/* In CPython 3.11, else 0: whether the frame is the first one of an evaluator. */
	uint8_t frame_entry;
	/* From CPython 3.12 on; else 0: */
	uint8_t frame_owner;
	uint8_t state_frame; /* of PyThreadState; the frame, or, in CPython 3.12, where it is */
	/* of PyThreadState, in CPython 3.15, else 0: whether the evaluator that has returned has
	 * yielded */
	uint16_t state_yields;
	/* The members from here on are found out in each interpreter. This is None's address: a
	 * frame that CPython puts between an __init__ and its caller has None as its function. */
	uint64_t none;
	/* a power of two behind all addresses of frames and stacks */
	uint64_t end;
	/* Offsets follow: from the frame of the evaluator itself, in CPython 3.11 from its
	 * _PyCFrame, to our record, */
	uint32_t entry_record;
	/* from our record to the _PyCFrame of the evaluator that has called the new one itself, */
	uint32_t direct_record;
	/* and the frames' records */
	struct gorgon_lines_record *records;
};

/* A growing buffer (lines/bytes.h). */
struct gorgon_lines_bytes {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
};

/* The symfile of the code of an interpreter (lines/arch.h). */
void gorgon_lines_describe_code(struct gorgon_lines_bytes *ret, uint64_t code,
				const struct gorgon_lines_layout *layout);

/* How many files one symfile tells of. */
#define GORGON_LINES_FILES_MAX 512

/* The symfile of the lines of a list of files, GORGON_LINES_FILES_MAX at most. @code: as above. */
void gorgon_lines_describe_files(struct gorgon_lines_bytes *ret,
				 const struct gorgon_lines_file *files, uint64_t code,
				 const struct gorgon_lines_layout *layout);

/* How many places there are for records of frames that are not on the stack: a power of two. */
#define GORGON_LINES_RECORDS 16384

/* How many frames debuggers follow from one evaluator's newest frame: far more than a program's
 * limit of recursion, and an end. */
#define GORGON_LINES_CHAIN_MAX UINT16_MAX

/* The frame that an evaluator begins with is its own: what such frames have as their owner. */
#define GORGON_LINES_OWNER_EVALUATOR 3

#endif
