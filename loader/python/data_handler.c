// SPDX-License-Identifier: MIT
// NumPy's memory from the host: a data handler as NEP 49 describes it.
//
// gorgon.use_data_handler() makes numpy allocate the data of new arrays as counted blocks
// (block.c), which gorgon.share() then passes on without a copy. numpy keeps the handler in
// a context variable: each thread of a program begins with numpy's default.
//
// Programs create and drop small arrays all the time, most of them of few sizes. So small blocks
// that numpy frees are kept, CACHED_COUNT of each size, and stay in the interpreter's list meanwhile.
// numpy 1.22 to 2 hold the GIL when they call; nothing that NEP 49 says promises that of others. So the
// cache has a flag for its user. Who finds it set does not wait, but goes by the long way.
//
// numpy is not needed to compile this. Its C API is a table of pointers in a capsule; the
// indexes of it are part of its ABI and the same in 1.22 and 2.x (numpy's
// code_generators/numpy_api.py, __multiarray_api.h).

#define _GNU_SOURCE
#include "share.h"
#include "ns/ns.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CACHED_COUNT 8
#define CLASS_SIZE   64	// bytes; a block of the cache has room for a multiple of it
#define CLASS_COUNT  32

#define CAPSULE	       "mem_handler"
#define HUGE_PAGES_MIN (4u << 20) // bytes; from here on numpy's own handler asks for them, too

// Indexes in the table, and the version of it (NPY_1_22_API_VERSION) that brought handlers.
enum { GET_FEATURE_VERSION = 211, SET_HANDLER = 304 };
#define FEATURE_VERSION_MIN 0xf

// numpy/ndarraytypes.h, PyDataMemAllocator and PyDataMem_Handler, version 1.
struct handler {
	char name[127];
	uint8_t version;
	struct {
		void *ctx;
		void *(*malloc)(void *ctx, size_t size);
		void *(*calloc)(void *ctx, size_t count, size_t size);
		void *(*realloc)(void *ctx, void *data, size_t size);
		void (*free)(void *ctx, void *data, size_t size);
	} allocator;
};

struct cache {
	struct gorgon_block *blocks[CLASS_COUNT + 1][CACHED_COUNT];
	unsigned char count[CLASS_COUNT + 1];
	atomic_flag used;
};

// A handler of an interpreter, with what it needs; numpy sees the first member.
struct data_handler {
	struct handler handler;
	struct gorgon_interp *interp;
	struct cache cache;
};

// numpy gives us back what we gave it, so there is a header.
static struct gorgon_block *header(void *data)
{
	return (struct gorgon_block *)data - 1;
}

static size_t class_of(size_t size)
{
	return size ? (size + CLASS_SIZE - 1) / CLASS_SIZE : 1;
}

static struct gorgon_block *take_cached(struct cache *cache, size_t class)
{
	struct gorgon_block *ret = NULL;

	if (!cache->count[class] || atomic_flag_test_and_set_explicit(&cache->used, memory_order_acquire))
		return NULL;
	if (cache->count[class])
		ret = cache->blocks[class][--cache->count[class]];
	atomic_flag_clear_explicit(&cache->used, memory_order_release);
	return ret;
}

// Only what nobody else holds, and what has its own size: another one may have come by realloc().
static bool put_cached(struct cache *cache, struct gorgon_block *block)
{
	size_t class = class_of(block->size);
	bool ret;

	if (class > CLASS_COUNT || block->capacity != class * CLASS_SIZE ||
	    __atomic_load_n(&block->count, __ATOMIC_ACQUIRE) != 1 ||
	    atomic_flag_test_and_set_explicit(&cache->used, memory_order_acquire))
		return false;
	ret = cache->count[class] < CACHED_COUNT;
	if (ret)
		cache->blocks[class][cache->count[class]++] = block;
	atomic_flag_clear_explicit(&cache->used, memory_order_release);
	return ret;
}

static void *create(struct data_handler *own, size_t size, bool zeroed)
{
	size_t class = class_of(size);
	struct gorgon_block *block = class <= CLASS_COUNT ? take_cached(&own->cache, class) : NULL;

	if (block) {
		block->size = size;
		return zeroed ? memset(block->data, 0, size) : block->data;
	}
	block = gorgon_block_create(class <= CLASS_COUNT ? class * CLASS_SIZE : size, zeroed);
	if (!block)
		return NULL;
	block->size = size;
	if (size >= HUGE_PAGES_MIN)
		gorgon_block_use_huge_pages(block);
	gorgon_shared_refs_add(&own->interp->shared_refs, &own->interp->shared_refs.blocks, &block->link);
	return block->data;
}

static void *handler_malloc(void *ctx, size_t size)
{
	return create(ctx, size, false);
}

static void *handler_calloc(void *ctx, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : create(ctx, bytes, true);
}

static void handler_free(void *ctx, void *data, size_t size)
{
	struct data_handler *own = ctx;

	(void)size;
	if (!data || put_cached(&own->cache, header(data)))
		return;
	gorgon_shared_refs_remove(&own->interp->shared_refs, &header(data)->link);
	gorgon_block_release(header(data));
}

static void *handler_realloc(void *ctx, void *data, size_t size)
{
	struct data_handler *own = ctx;
	struct gorgon_shared_refs *refs = &own->interp->shared_refs;
	struct gorgon_block *block, *resized;

	if (!data)
		return create(own, size, false);
	block = header(data);
	gorgon_shared_refs_remove(refs, &block->link);
	resized = gorgon_block_resize(block, size);
	gorgon_shared_refs_add(refs, &refs->blocks, &(resized ?: block)->link);
	return resized ? resized->data : NULL;
}

static PyObject *create_capsule(struct gorgon_interp *interp)
{
	struct data_handler *own = interp->data_handler;

	if (!own) {
		own = calloc(1, sizeof(*own));
		if (!own)
			return API(interp, PyErr_NoMemory)();
		own->interp = interp;
		own->handler = (struct handler){
			.name = "gorgon",
			.version = 1,
			.allocator = {own, handler_malloc, handler_calloc, handler_realloc, handler_free},
		};
		interp->data_handler = own;
	}
	return API(interp, PyCapsule_New)(&own->handler, CAPSULE, NULL);
}

// numpy's table of functions, or NULL with an exception.
static void **import_table(struct gorgon_interp *interp)
{
	PyObject *module = API(interp, PyImport_ImportModule)("numpy._core._multiarray_umath");
	unsigned (*version)(void);
	PyObject *capsule;
	void **table;

	// Before numpy 2; where there is no numpy at all this says so.
	if (!module && API(interp, PyErr_ExceptionMatches)(*API(interp, PyExc_ModuleNotFoundError))) {
		API(interp, PyErr_Clear)();
		module = API(interp, PyImport_ImportModule)("numpy.core._multiarray_umath");
	}
	capsule = module ? API(interp, PyObject_GetAttrString)(module, "_ARRAY_API") : NULL;
	// The module is loaded for good, and the table with it.
	table = capsule ? API(interp, PyCapsule_GetPointer)(capsule, NULL) : NULL;
	API(interp, Py_DecRef)(capsule);
	API(interp, Py_DecRef)(module);
	if (!table)
		return NULL;
	version = (unsigned (*)(void))table[GET_FEATURE_VERSION];
	if (version() < FEATURE_VERSION_MIN) {
		API(interp, PyErr_Format)(*API(interp, PyExc_RuntimeError),
					  "numpy's C API is version %u, expected %u (numpy 1.22) or "
					  "newer, which has data handlers",
					  version(), FEATURE_VERSION_MIN);
		return NULL;
	}
	return table;
}

PyObject *gorgon_data_handler_use(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	PyObject *(*set)(PyObject *);
	PyObject *capsule = NULL, *ret;
	void **table;

	(void)self;
	if (!API(interp, PyArg_ParseTuple)(args, "|O:use_data_handler", &capsule))
		return NULL;
	table = import_table(interp);
	if (!table)
		return NULL;
	set = (PyObject * (*)(PyObject *)) table[SET_HANDLER];
	if (capsule == API(interp, _Py_NoneStruct))
		return set(NULL);
	// numpy 1 believes whatever it gets.
	if (capsule && !API(interp, PyCapsule_IsValid)(capsule, CAPSULE)) {
		API(interp, PyErr_SetString)(*API(interp, PyExc_TypeError),
					     "use_data_handler(): not a handler of numpy's, expected "
					     "one that it returned or None");
		return NULL;
	}
	if (capsule)
		return set(capsule);
	capsule = create_capsule(interp);
	ret = capsule ? set(capsule) : NULL;
	API(interp, Py_DecRef)(capsule);
	return ret;
}

// --- from an array to its block -----------------------------------------------------------

// A module if it is loaded, or NULL.
static PyObject *loaded_module(struct gorgon_interp *interp, const char *name)
{
	PyObject *text = API(interp, PyUnicode_FromString)(name), *ret;

	ret = text ? API(interp, PyImport_GetModule)(text) : NULL;
	API(interp, Py_DecRef)(text);
	return ret;
}

// Whether an object is an ndarray that owns memory of our handler.
static bool is_ours(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *module = loaded_module(interp, "numpy._core.multiarray"), *name;
	bool ret;

	if (!module && !API(interp, PyErr_Occurred)())
		module = loaded_module(interp, "numpy.core.multiarray");
	if (!module)
		return false;
	name = API(interp, PyObject_CallMethod)(module, "get_handler_name", "O", object);
	API(interp, Py_DecRef)(module);
	// What is not an ndarray is a ValueError.
	if (!name && API(interp, PyErr_ExceptionMatches)(*API(interp, PyExc_ValueError)))
		API(interp, PyErr_Clear)();
	ret = name && name != API(interp, _Py_NoneStruct) &&
	      !API(interp, PyUnicode_CompareWithASCIIString)(name, "gorgon");
	API(interp, Py_DecRef)(name);
	return ret;
}

struct gorgon_block *gorgon_data_handler_block(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *interface, *data;
	void *address = NULL;

	if (!is_ours(interp, object))
		return NULL;
	// Not by a buffer, which not all types of items have.
	interface = API(interp, PyObject_GetAttrString)(object, "__array_interface__");
	data = interface ? API(interp, PyDict_GetItemString)(interface, "data") : NULL;
	data = data ? API(interp, PyTuple_GetItem)(data, 0) : NULL;
	address = data ? API(interp, PyLong_AsVoidPtr)(data) : NULL;
	API(interp, Py_DecRef)(interface);
	return address ? gorgon_block_of(address) : NULL;
}
