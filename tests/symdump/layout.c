// SPDX-License-Identifier: MIT
// Compares what python_layout.c knows with the headers of one CPython: prints a line for
// each member that is elsewhere, and how many were compared.

#define Py_BUILD_CORE 1
#include <Python.h>

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

#include "../../tools/symdump/python_layout.c"

typedef struct _is interp;
typedef struct _ts thread;
typedef struct _gil_runtime_state gil;

static int compared;

static void compare(const char *what, uint64_t ours, uint64_t theirs)
{
	compared++;
	if (ours != theirs)
		printf("%s: %lu, not %lu\n", what, theirs, ours);
}

static void compare_constants(void)
{
	compare("PyObject.ob_type", OB_TYPE, offsetof(PyObject, ob_type));
	compare("struct _gil_runtime_state", GIL_SIZE, sizeof(gil));
}

#if PY_MINOR_VERSION < 13
#define SAME(ours, type, member) compare(#type "." #member, ours, offsetof(type, member))

static void compare_all(void)
{
	const struct python_layout *layout = &known[PY_MINOR_VERSION - 11];

#if PY_MINOR_VERSION == 11
	SAME(layout->gil, _PyRuntimeState, ceval.gil);
	SAME(layout->owner, _PyInterpreterFrame, is_entry);
	compare("is_3_11", layout->is_3_11, true);
#else
	SAME(layout->gil, interp, ceval.gil);
	SAME(layout->owner, _PyInterpreterFrame, owner);
	compare("is_3_11", layout->is_3_11, false);
	compare("FRAME_OWNED_BY_CSTACK", 3, FRAME_OWNED_BY_CSTACK);
#endif
	SAME(layout->interp_head, _PyRuntimeState, interpreters.head);
	SAME(layout->interp_next, interp, next);
	SAME(layout->thread_head, interp, threads.head);
	SAME(layout->gil_locked, gil, locked);
	SAME(layout->gil_holder, gil, last_holder);
	SAME(layout->thread_next, thread, next);
	SAME(layout->thread_id, thread, native_thread_id);
	SAME(layout->frame, thread, cframe);
	SAME(layout->current_frame, _PyCFrame, current_frame);
	SAME(layout->code, _PyInterpreterFrame, f_code);
	SAME(layout->previous, _PyInterpreterFrame, previous);
	SAME(layout->instr, _PyInterpreterFrame, prev_instr);
	SAME(layout->filename, PyCodeObject, co_filename);
	SAME(layout->name, PyCodeObject, co_qualname);
	SAME(layout->line_table, PyCodeObject, co_linetable);
	SAME(layout->first_line, PyCodeObject, co_firstlineno);
	SAME(layout->first_instr, PyCodeObject, co_code_adaptive);
	SAME(layout->length, PyASCIIObject, length);
	SAME(layout->state, PyASCIIObject, state);
	compare("PyASCIIObject", layout->ascii_size, sizeof(PyASCIIObject));
	compare("PyCompactUnicodeObject", layout->compact_size, sizeof(PyCompactUnicodeObject));
	SAME(layout->bytes_size, PyBytesObject, ob_base.ob_size);
	SAME(layout->bytes_data, PyBytesObject, ob_sval);
}
#else
#define SAME(ours, member) compare(#member, ours, offsetof(_Py_DebugOffsets, member) / 8)

static void compare_all(void)
{
	const struct offset_table *table = &tables[PY_MINOR_VERSION - 13];

	compare("cookie", 0, memcmp(COOKIE, _Py_Debug_Cookie, 8));
	SAME(COOKIE_WORD, cookie);
	SAME(VERSION_WORD, version);
	SAME(FREE_THREADED_WORD, free_threaded);
	SAME(table->interp_head, runtime_state.interpreters_head);
	SAME(table->interp_next, interpreter_state.next);
	SAME(table->thread_head, interpreter_state.threads_head);
	SAME(table->gil_pointer, interpreter_state.ceval_gil);
	SAME(table->gil, interpreter_state.gil_runtime_state);
	SAME(table->gil_locked, interpreter_state.gil_runtime_state_locked);
	SAME(table->gil_holder, interpreter_state.gil_runtime_state_holder);
	SAME(table->thread_next, thread_state.next);
	SAME(table->frame, thread_state.current_frame);
	SAME(table->thread_id, thread_state.native_thread_id);
	SAME(table->previous, interpreter_frame.previous);
	SAME(table->code, interpreter_frame.executable);
	SAME(table->instr, interpreter_frame.instr_ptr);
	SAME(table->owner, interpreter_frame.owner);
	SAME(table->filename, code_object.filename);
	SAME(table->name, code_object.qualname);
	SAME(table->line_table, code_object.linetable);
	SAME(table->first_line, code_object.firstlineno);
	SAME(table->first_instr, code_object.co_code_adaptive);
	SAME(table->bytes_size, bytes_object.ob_size);
	SAME(table->bytes_data, bytes_object.ob_sval);
	SAME(table->state, unicode_object.state);
	SAME(table->length, unicode_object.length);
	SAME(table->ascii_size, unicode_object.asciiobject_size);
	compare("PyCompactUnicodeObject", sizeof(PyASCIIObject) + 16, sizeof(PyCompactUnicodeObject));
	// read_table() reads this much at once, so all of it must be in _PyRuntime.
	compare("_PyRuntime", true, sizeof(_PyRuntimeState) >= WORDS_MAX * 8);
}
#endif

// python.c takes a str's width from its state.
static void compare_state(void)
{
	PyASCIIObject text = {.state.kind = 7, .state.compact = 1, .state.ascii = 1};
	uint32_t word;

	memcpy(&word, &text.state, sizeof(word));
	compare("PyASCIIObject.state", 7u << 2 | 1u << 5 | 1u << 6, word);
}

int main(void)
{
	compare_constants();
	compare_all();
	compare_state();
	printf("compared: %d\n", compared);
	return 0;
}
