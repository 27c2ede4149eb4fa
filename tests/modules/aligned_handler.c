// SPDX-License-Identifier: MIT
// An extension module with a data handler for numpy, of the kind that NEP 49 shows: 64 bytes
// before the data, by which free() knows what it gets. Its counts are static variables.
//
//	use()      make it numpy's handler in this context; returns the one before
//	counts()   (blocks that live, blocks made so far, blocks or sizes that free() did not know)

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION // the first with data handlers
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK UINT64_C(0x616c69676e656421)

union header {
	struct {
		uint64_t mark;
		size_t size;
	};
	char room[64];
};

_Static_assert(sizeof(union header) == 64, "the data's alignment");

static long live, made, unknown;

static void *finish(union header *header, size_t size)
{
	if (!header)
		return NULL;
	header->mark = MARK ^ (uintptr_t)header;
	header->size = size;
	return header + 1;
}

// The header of a block that was given out. It is made invalid, so that the block is not taken twice.
static union header *take(void *data)
{
	union header *header = (union header *)data - 1;

	if (header->mark != (MARK ^ (uintptr_t)header)) {
		unknown++;
		return NULL;
	}
	header->mark = 0;
	return header;
}

static void *count(void *data)
{
	live += data != NULL;
	made += data != NULL;
	return data;
}

static void *handler_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return count(finish(aligned_alloc(64, (sizeof(union header) + size + 63) & ~(size_t)63), size));
}

static void *handler_calloc(void *ctx, size_t items, size_t size)
{
	void *data = handler_malloc(ctx, items * size);

	return data ? memset(data, 0, items * size) : NULL;
}

static void handler_free(void *ctx, void *data, size_t size)
{
	union header *header = data ? take(data) : NULL;

	(void)ctx;
	if (!header)
		return;
	unknown += header->size != size;
	live--;
	free(header);
}

static void *handler_realloc(void *ctx, void *data, size_t size)
{
	union header *header = data ? take(data) : NULL;
	void *ret = handler_malloc(ctx, size);

	if (!header || !ret)
		return ret;
	memcpy(ret, data, header->size < size ? header->size : size);
	live--;
	free(header);
	return ret;
}

static PyDataMem_Handler handler = {
	"aligned", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};

static PyObject *use(PyObject *self, PyObject *args)
{
	PyObject *capsule = PyCapsule_New(&handler, "mem_handler", NULL), *ret;

	(void)self;
	(void)args;
	ret = capsule ? PyDataMem_SetHandler(capsule) : NULL;
	Py_XDECREF(capsule);
	return ret;
}

static PyObject *counts(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	return Py_BuildValue("(lll)", live, made, unknown);
}

static PyMethodDef methods[] = {
	{"use", use, METH_NOARGS, NULL},
	{"counts", counts, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, .m_name = "aligned_handler", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit_aligned_handler(void)
{
	import_array();
	return PyModule_Create(&module);
}
