// SPDX-License-Identifier: MIT
// The lines of one module's code, read from its code objects' attributes, and their stubs.
//
// Code objects may be hostile: a line table may have any lines, a name any text. Each number is
// checked, and what all of them together make is limited.

#define _GNU_SOURCE
#include "code.h"
#include "machine.h"
#include "file/grow.h"
#include "python/api.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME_MAX_SIZE   512
#define DEPTH_MAX       64 // of code objects among constants
#define LINE_MAX_NUMBER (1 << 24)

// --- attributes of code objects; an error is cleared
// -----------------------------------------------------

static long code_number(struct gorgon_interp *interp, PyObject *code, const char *name)
{
	const struct gorgon_api *api = interp->api;
	PyObject *value = api->PyObject_GetAttrString(code, name);
	int overflow = 0;
	long long ret = value ? api->PyLong_AsLongLongAndOverflow(value, &overflow) : -1;

	api->Py_DecRef(value);
	if (api->PyErr_Occurred())
		api->PyErr_Clear();
	return overflow || ret < 0 || ret > INT_MAX ? -1 : (long)ret;
}

// A copy of a text without control characters; NULL: it has none, or there is no memory.
static char *copy_text(struct gorgon_interp *interp, PyObject *value)
{
	const struct gorgon_api *api = interp->api;
	Py_ssize_t size;
	const char *text = value ? api->PyUnicode_AsUTF8AndSize(value, &size) : NULL;
	char *ret = text ? strndup(text, NAME_MAX_SIZE) : NULL;

	if (!text)
		api->PyErr_Clear();
	for (char *c = ret; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return ret;
}

// --- which code objects there are
// ----------------------------------------------------------------------

struct collected {
	PyObject **codes;
	size_t count;
};

static bool collect(struct gorgon_interp *interp, PyObject *code, struct collected *to,
		    unsigned depth)
{
	const struct gorgon_api *api = interp->api;
	PyObject *constants, **added;
	Py_ssize_t count;
	bool done = true;

	if (!(added = jitreg_add(&to->codes, &to->count, sizeof(*added))))
		return false;
	*added = code;
	constants = api->PyObject_GetAttrString(code, "co_consts"); // the code object holds it, too
	count = constants ? api->PyTuple_Size(constants) : 0;
	for (Py_ssize_t i = 0; done && i < count; i++) {
		PyObject *constant = api->PyTuple_GetItem(constants, i);

		if (Py_TYPE(constant) == Py_TYPE(code))
			done = depth < DEPTH_MAX && collect(interp, constant, to, depth + 1);
	}
	api->Py_DecRef(constants);
	api->PyErr_Clear();
	return done;
}

// --- lines
// -----------------------------------------------------------------------------------------------

struct range {
	uint32_t start, end; // units
	int line;            // 0: none
};

struct ranges {
	struct range *items;
	size_t count;
};

// Neighbours of the same line are one range.
static bool add_range(struct ranges *to, const struct range *range)
{
	struct range *added;

	if (to->count && to->items[to->count - 1].line == range->line) {
		to->items[to->count - 1].end = range->end;
		return true;
	}
	if ((added = jitreg_add(&to->items, &to->count, sizeof(*added))))
		*added = *range;
	return added;
}

// CPython's table of positions (Objects/locations.md in its source) says for each entry what kind
// it is, how many units it is for, and how many lines it is beyond the entry before it. The highest
// bit is set in an entry's first byte only.
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };

static int64_t line_delta(const uint8_t *entry, const uint8_t *end)
{
	unsigned kind = *entry >> 3 & 15, shift = 0;
	uint64_t value = 0;

	if (kind != NO_COLUMNS && kind != LONG)
		return kind >= ONE_LINE && kind < NO_COLUMNS ? (int)kind - ONE_LINE : 0;
	for (entry++; entry < end && shift < 32; shift += 6) {
		value |= (uint64_t)(*entry & 63) << shift;
		if (!(*entry++ & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static bool read_ranges(struct gorgon_interp *interp, PyObject *code, long first,
			struct ranges *ret)
{
	const struct gorgon_api *api = interp->api;
	PyObject *table = api->PyObject_GetAttrString(code, "co_linetable");
	const uint8_t *at = NULL, *end;
	struct range range = {0};
	Py_ssize_t size = 0;
	int64_t line = first;
	bool done = table && !api->PyBytes_AsStringAndSize(table, (char **)(void *)&at, &size);

	for (end = at + size; done && at < end; range.start = range.end) {
		bool known = (*at >> 3 & 15) != NONE;

		line += line_delta(at, end);
		range.end += (*at & 7) + 1;
		range.line = known && line > 0 && line <= LINE_MAX_NUMBER ? (int)line : 0;
		done = ret->count < GORGON_LINES_UNITS_MAX && add_range(ret, &range);
		do
			at++;
		while (at < end && !(*at & 0x80));
	}
	api->Py_DecRef(table);
	api->PyErr_Clear();
	return done;
}

static int by_number(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return left < right ? -1 : left > right;
}

static bool make_lines(struct gorgon_lines_function *function, int first,
		       const struct ranges *ranges)
{
	size_t count = 1;
	int *lines = calloc(ranges->count + 1, sizeof(*lines));

	if (!lines)
		return false;
	lines[0] = first;
	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->items[i].line && ranges->items[i].line != first)
			lines[count++] = ranges->items[i].line;
	qsort(lines + 1, count - 1, sizeof(*lines), by_number);
	function->lines = lines;
	function->line_count = 1;
	for (size_t i = 1; i < count; i++)
		if (i == 1 || lines[i] != lines[i - 1])
			lines[function->line_count++] = lines[i];
	return true;
}

static size_t stub_index(const struct gorgon_lines_function *function, int line)
{
	const int *found = NULL;

	if (line != function->lines[0])
		found = bsearch(&line, function->lines + 1, function->line_count - 1, sizeof(line),
				by_number);
	return found                        ? (size_t)(found - function->lines)
	       : line == function->lines[0] ? 0
					    : SIZE_MAX;
}

uint8_t *gorgon_lines_stub(const struct gorgon_lines_function *function, int line)
{
	size_t i = stub_index(function, line);

	return i == SIZE_MAX ? NULL : function->text + i * GORGON_LINES_STUB_SIZE;
}

uint8_t *gorgon_lines_entry(const struct gorgon_lines_function *function)
{
	return function->text + function->line_count * GORGON_LINES_STUB_SIZE;
}

size_t gorgon_lines_text_size(const struct gorgon_lines_function *function)
{
	return function->line_count * GORGON_LINES_STUB_SIZE + GORGON_LINES_ENTRY_SIZE;
}

// Units without a line are in the line before them.
static bool make_units(struct gorgon_lines_function *function, const struct ranges *ranges)
{
	uint32_t at = GORGON_LINES_STUB_RESUME;

	function->units_start =
		calloc((size_t)function->unit_count + 1, sizeof(*function->units_start));
	if (!function->units_start)
		return false;
	function->units = function->units_start + 1;
	for (uint32_t unit = 0; unit <= function->unit_count; unit++)
		function->units_start[unit] = at;
	for (size_t i = 0; i < ranges->count; i++) {
		const struct range *range = &ranges->items[i];

		if (range->line)
			at = (uint32_t)(stub_index(function, range->line) * GORGON_LINES_STUB_SIZE +
					GORGON_LINES_STUB_RESUME);
		for (uint32_t unit = range->start; unit < range->end && unit < function->unit_count;
		     unit++)
			function->units_start[1 + unit] = at;
	}
	return true;
}

// --- names
// -----------------------------------------------------------------------------------------------

// The names of co_varnames, then of cells that are no arguments, then of free variables: as
// CPython orders a frame's values.
static void read_values(struct gorgon_interp *interp, PyObject *code,
			struct gorgon_lines_function *function)
{
	static const char *const lists[] = {"co_varnames", "co_cellvars", "co_freevars"};
	const struct gorgon_api *api = interp->api;
	long flags = code_number(interp, code, "co_flags");
	long arguments = code_number(interp, code, "co_argcount") +
			 code_number(interp, code, "co_kwonlyargcount") + !!(flags & 4) +
			 !!(flags & 8); // CO_VARARGS, CO_VARKEYWORDS
	char *name;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		PyObject *names = api->PyObject_GetAttrString(code, lists[i]);
		Py_ssize_t count = names ? api->PyTuple_Size(names) : 0;

		for (Py_ssize_t k = 0; k < count && function->value_count < GORGON_LINES_VALUES_MAX;
		     k++) {
			bool known = false;

			name = copy_text(interp, api->PyTuple_GetItem(names, k));
			for (unsigned j = 0; i == 1 && name && j < function->value_count; j++)
				known |= !strcmp(name, function->values[j]);
			if (known) {
				free(name);
				continue;
			}
			if (name && *name == '.') // of a comprehension
				*name = '_';
			if (!name)
				break;
			function->values[function->value_count++] = name;
		}
		api->Py_DecRef(names);
		api->PyErr_Clear();
	}
	function->argument_count = arguments < 0 ? 0 : (unsigned)arguments;
	function->has_mapping = !(flags & 1); // CO_OPTIMIZED
}

// A package's file has the package's name.
static const char *find_stem(const char *path)
{
	const char *file = strrchr(path, '/'), *ret = file;

	if (!strcmp(file, "/__init__.py"))
		while (ret > path && ret[-1] != '/')
			ret--;
	return ret == file || ret == path ? file + 1 : ret;
}

static bool make_name(struct gorgon_interp *interp, PyObject *code, const char *path,
		      struct gorgon_lines_function *function)
{
	PyObject *value = interp->api->PyObject_GetAttrString(code, "co_qualname");
	char *name = copy_text(interp, value);
	const char *stem = find_stem(path);
	int r = asprintf(&function->name, "%.*s.%s", (int)strcspn(stem, "./"), stem, name ?: "?");

	free(name);
	interp->api->Py_DecRef(value);
	interp->api->PyErr_Clear();
	if (r < 0)
		function->name = NULL;
	return r >= 0;
}

static bool make_function(struct gorgon_interp *interp, PyObject *code, const char *path,
			  struct gorgon_lines_function *function,
			  struct gorgon_lines_budget *budget)
{
	long first = code_number(interp, code, "co_firstlineno");
	struct ranges ranges = {0};
	bool done;

	done = read_ranges(interp, code, first, &ranges);
	if (first < 1 || first > LINE_MAX_NUMBER)
		first = 1;
	for (size_t i = 0; i < ranges.count; i++)
		if (ranges.items[i].end > function->unit_count)
			function->unit_count = ranges.items[i].end;
	done = done && function->unit_count <= GORGON_LINES_UNITS_MAX - budget->units &&
	       make_lines(function, (int)first, &ranges) &&
	       function->line_count <= GORGON_LINES_STUBS_MAX - budget->stubs &&
	       make_units(function, &ranges) && make_name(interp, code, path, function);
	free(ranges.items);
	if (!done)
		return false;
	budget->units += function->unit_count;
	budget->stubs += function->line_count;
	read_values(interp, code, function);
	return true;
}

// --- stubs
// -----------------------------------------------------------------------------------------------

static bool make_text(struct gorgon_lines_file *file)
{
	size_t page = (size_t)getpagesize(), size = 0;
	uint8_t *text;

	for (size_t i = 0; i < file->function_count; i++)
		size += gorgon_lines_text_size(&file->functions[i]);
	size = (size + page - 1) / page * page;
	file->pristine = malloc(size);
	file->seen = malloc(size);
	if (!file->pristine || !file->seen)
		return false;
	text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return false;
	file->text = text;
	file->text_size = size;
	for (size_t i = 0; i < file->function_count; i++) {
		file->functions[i].text = text;
		file->functions[i].seen = file->seen + (text - file->text);
		for (size_t k = 0; k < file->functions[i].line_count;
		     k++, text += GORGON_LINES_STUB_SIZE)
			gorgon_lines_write_stub(text);
		gorgon_lines_write_entry(text);
		text += GORGON_LINES_ENTRY_SIZE;
	}
	memcpy(file->pristine, file->text, size);
	memcpy(file->seen, file->text, size);
	__builtin___clear_cache((char *)file->text, (char *)file->text + size);
	return !mprotect(file->text, size, PROT_READ | PROT_EXEC);
}

void gorgon_lines_file_free(struct gorgon_lines_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; file->functions && i < file->function_count; i++) {
		struct gorgon_lines_function *function = &file->functions[i];

		for (unsigned k = 0; k < function->value_count; k++)
			free(function->values[k]);
		free(function->units_start);
		free(function->lines);
		free(function->name);
	}
	if (file->text)
		munmap(file->text, file->text_size);
	free(file->pristine);
	free(file->seen);
	free(file->functions);
	free(file->codes);
	free(file->path);
	free(file);
}

struct gorgon_lines_file *gorgon_lines_file_create(struct gorgon_interp *interp, PyObject *code,
						   const char *path,
						   struct gorgon_lines_budget *budget)
{
	struct gorgon_lines_file *file = calloc(1, sizeof(*file));
	struct collected collected = {0};
	bool done = file && collect(interp, code, &collected, 0);

	if (!file || !done) {
		free(collected.codes);
		free(file);
		return NULL;
	}
	file->codes = collected.codes;
	file->functions = calloc(collected.count, sizeof(*file->functions));
	file->path = strdup(path);
	file->function_count = collected.count;
	done = file->functions && file->path;
	for (size_t i = 0; done && i < collected.count; i++)
		done = make_function(interp, file->codes[i], path, &file->functions[i], budget);
	if (!done || !make_text(file)) {
		gorgon_lines_file_free(file);
		return NULL;
	}
	return file;
}

static bool is_same(const struct gorgon_lines_function *a, const struct gorgon_lines_function *b)
{
	bool same = a->line_count == b->line_count && a->unit_count == b->unit_count &&
		    a->value_count == b->value_count && a->argument_count == b->argument_count &&
		    !strcmp(a->name, b->name) &&
		    !memcmp(a->lines, b->lines, a->line_count * sizeof(*a->lines)) &&
		    !memcmp(a->units_start, b->units_start,
			    ((size_t)a->unit_count + 1) * sizeof(*a->units_start));

	for (unsigned i = 0; same && i < a->value_count; i++)
		same = !strcmp(a->values[i], b->values[i]);
	return same;
}

bool gorgon_lines_file_replaces(const struct gorgon_lines_file *file,
				const struct gorgon_lines_file *old)
{
	bool same = file->function_count == old->function_count && !strcmp(file->path, old->path);

	for (size_t i = 0; same && i < file->function_count; i++)
		same = !old->functions[i].code &&
		       is_same(&file->functions[i], &old->functions[i]);
	return same;
}
