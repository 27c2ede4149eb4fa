// SPDX-License-Identifier: MIT
// NumPy's memory from the host: a data handler as NEP 49 describes it.
//
// gorgon.use_data_handler() makes numpy allocate the data of new arrays as counted blocks
// (block.c), which gorgon.share() then passes on without a copy. numpy keeps the handler in
// a context variable: each thread of a program begins with numpy's default.
//
// Programs create and drop small arrays all the time, most of them of few sizes. So small blocks
// that numpy frees are kept, CACHED_COUNT of each size, and stay in the interpreter's list
// meanwhile. numpy 1.22 to 2 hold the GIL when they call; NEP 49 does not promise it for other
// releases. So the cache has a flag while a thread uses it. A thread that finds it set does not
// wait: it does without the cache.
//
// numpy is not needed to compile this. Its C API is a table of pointers in a capsule; the
// indexes of it are part of its ABI and the same in 1.22 and 2.x (numpy's
// code_generators/numpy_api.py, __multiarray_api.h).

#define _GNU_SOURCE
#include "array.h"
#include "charges.h"
#include "received.h"
#include "share.h"
#include "base/error.h"
#include "ns/ns.h"
#include "python/calls/raise.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CACHED_COUNT 8
#define CLASS_SIZE   64	// bytes; a block of the cache has room for a multiple of it
#define CLASS_COUNT  32

#define CAPSULE "mem_handler"

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

// A handler of an interpreter, with what it needs; numpy sees the first member. There is one for
// each placement that a program has asked for, until the interpreter's end: arrays keep their
// handler.
struct data_handler {
	struct handler handler;
	struct gorgon_interp *interp;
	struct gorgon_placement placement;
	struct cache cache;
	// that the next array is to have; see gorgon_data_handler_adopt()
	struct gorgon_block *adopted;
	// numpy's PyDataMem_SetHandler(), once an array has adopted a block
	PyObject *(*set)(PyObject *);
	struct data_handler *next;
};

// numpy passes back only the address, so there is a header.
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

	if (!cache->count[class] ||
	    atomic_flag_test_and_set_explicit(&cache->used, memory_order_acquire))
		return NULL;
	if (cache->count[class])
		ret = cache->blocks[class][--cache->count[class]];
	atomic_flag_clear_explicit(&cache->used, memory_order_release);
	return ret;
}

// Keep only a block that nobody else holds and whose size is of its class: realloc() may have
// changed it.
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

static bool is_placed(const struct gorgon_placement *placement)
{
	return placement->alignment > GORGON_PLACEMENT_ALIGN || placement->numa_nodes ||
	       placement->huge_pages || placement->locked;
}

// numpy knows only one error: no memory.
static struct gorgon_block *new_block(const struct data_handler *own, size_t size, bool zeroed)
{
	struct gorgon_placement placement = own->placement;
	struct gorgon_block *ret = NULL;

	if (is_placed(&placement)) {
		placement.huge_pages |= size >= GORGON_BLOCK_HUGE_PAGES_MIN;
		gorgon_error_destroy(gorgon_block_create_placed(size, &placement, &ret));
		return ret;
	}
	ret = gorgon_block_create(size, zeroed);
	if (ret && size >= GORGON_BLOCK_HUGE_PAGES_MIN)
		gorgon_block_use_huge_pages(ret);
	return ret;
}

// The interpreter that has a block made is charged for it, also while the cache keeps the block,
// until gorgon_charges_close().
static void count_block(const struct data_handler *own, struct gorgon_block *block)
{
	block->counted = gorgon_charges_holder(own->interp);
	if (block->counted)
		__atomic_add_fetch(&own->interp->ns->usage.block_bytes, block->capacity,
				   __ATOMIC_RELAXED);
}

// Of a Python that is the host, to which no limit applies.
static void *take_adopted(struct data_handler *own, size_t size)
{
	struct gorgon_block *block = own->adopted;

	own->adopted = NULL;
	if (block->size != size)
		return NULL;
	gorgon_block_hold(block);
	block->counted = false;
	gorgon_shared_refs_add(&own->interp->shared_refs, &own->interp->shared_refs.blocks,
			       &block->link);
	return block->data;
}

static void *create(struct data_handler *own, size_t size, bool zeroed)
{
	size_t class = class_of(size);
	struct gorgon_block *block;

	if (own->adopted)
		return take_adopted(own, size);
	block = class <= CLASS_COUNT ? take_cached(&own->cache, class) : NULL;
	if (block) {
		block->size = size;
		return zeroed ? memset(block->data, 0, size) : block->data;
	}
	if (size > PTRDIFF_MAX || !gorgon_usage_allow(&own->interp->ns->usage, size))
		return NULL;
	block = new_block(own, class <= CLASS_COUNT ? class * CLASS_SIZE : size, zeroed);
	if (!block)
		return NULL;
	count_block(own, block);
	block->size = size;
	gorgon_shared_refs_add(&own->interp->shared_refs, &own->interp->shared_refs.blocks,
			       &block->link);
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
	gorgon_charges_close(header(data), own->interp);
	gorgon_shared_refs_remove(&own->interp->shared_refs, &header(data)->link);
	gorgon_block_release(header(data));
}

// Memory with a placement cannot grow where it is, and others look at shared memory: allocate anew
// and copy.
static void *move(struct data_handler *own, void *data, size_t size)
{
	size_t before = header(data)->size;
	void *ret = create(own, size, false);

	if (!ret)
		return NULL;
	memcpy(ret, data, size < before ? size : before);
	handler_free(own, data, before);
	return ret;
}

static void *handler_realloc(void *ctx, void *data, size_t size)
{
	struct data_handler *own = ctx;
	struct gorgon_shared_refs *refs = &own->interp->shared_refs;
	struct gorgon_block *block, *resized;

	if (!data)
		return create(own, size, false);
	block = header(data);
	if (is_placed(&own->placement) || __atomic_load_n(&block->count, __ATOMIC_ACQUIRE) > 1)
		return move(own, data, size);
	if (size > block->capacity &&
	    !gorgon_usage_allow(&own->interp->ns->usage, size - block->capacity))
		return NULL;
	gorgon_shared_refs_remove(refs, &block->link);
	gorgon_charges_close(block, own->interp);
	resized = gorgon_block_resize(block, size);
	count_block(own, resized ?: block);
	gorgon_shared_refs_add(refs, &refs->blocks, &(resized ?: block)->link);
	return resized ? resized->data : NULL;
}

// NULL: no memory.
static struct data_handler *find_handler(struct gorgon_interp *interp,
					 const struct gorgon_placement *placement)
{
	struct data_handler *own = interp->data_handlers;

	while (own && !gorgon_placement_is_same(&own->placement, placement))
		own = own->next;
	if (own || !(own = calloc(1, sizeof(*own))))
		return own;
	own->interp = interp;
	own->placement = *placement;
	own->handler = (struct handler){
		.name = "gorgon",
		.version = 1,
		.allocator = {own, handler_malloc, handler_calloc, handler_realloc, handler_free},
	};
	own->next = interp->data_handlers;
	interp->data_handlers = own;
	return own;
}

void gorgon_data_handlers_free(struct data_handler *list)
{
	while (list) {
		struct data_handler *next = list->next;

		free(list);
		list = next;
	}
}

// Whether memory can be placed so. numpy cannot be told the reason later, when it wants memory.
static bool try_placement(struct gorgon_interp *interp, const struct gorgon_placement *placement)
{
	struct gorgon_block *block = NULL;
	struct gorgon_error *err = gorgon_block_create_placed(1, placement, &block);

	gorgon_block_release(block);
	if (err)
		gorgon_raise(interp, err);
	return !err;
}

static PyObject *create_capsule(struct gorgon_interp *interp,
				const struct gorgon_placement *placement)
{
	struct data_handler *own;

	if (!try_placement(interp, placement))
		return NULL;
	own = find_handler(interp, placement);
	return own ? API(interp, PyCapsule_New)(&own->handler, CAPSULE, NULL)
		   : API(interp, PyErr_NoMemory)();
}

// numpy's table of functions, or NULL with an exception.
static void **import_table(struct gorgon_interp *interp)
{
	PyObject *module = API(interp, PyImport_ImportModule)("numpy._core._multiarray_umath");
	unsigned (*version)(void);
	PyObject *capsule;
	void **table;

	// The name before numpy 2. Where there is no numpy, the exception of this import stays.
	if (!module &&
	    API(interp, PyErr_ExceptionMatches)(*API(interp, PyExc_ModuleNotFoundError))) {
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
		API(interp,
		    PyErr_Format)(*API(interp, PyExc_RuntimeError),
				  "numpy's C API is version %u, expected %u (numpy 1.22) or "
				  "newer, which has data handlers",
				  version(), FEATURE_VERSION_MIN);
		return NULL;
	}
	return table;
}

static PyObject *refuse(struct gorgon_interp *interp, PyObject *type, const char *message)
{
	API(interp, PyErr_SetString)(type, message);
	return NULL;
}

// Read numbers of NUMA nodes into a bit mask. False with an exception.
static bool read_nodes(struct gorgon_interp *interp, PyObject *numbers, uint64_t *ret)
{
	PyObject *list = API(interp, PySequence_List)(numbers);
	Py_ssize_t count = list ? API(interp, PyList_Size)(list) : -1;
	bool good = count > 0;

	for (Py_ssize_t i = 0; good && i < count; i++) {
		long number = API(interp, PyLong_AsLong)(API(interp, PyList_GetItem)(list, i));

		good = number >= 0 && number < 64;
		*ret |= good ? UINT64_C(1) << number : 0;
	}
	if (!good && !API(interp, PyErr_Occurred)())
		refuse(interp, *API(interp, PyExc_ValueError),
		       "use_data_handler(): numa_nodes: expected numbers of nodes from 0 to 63");
	API(interp, Py_DecRef)(list);
	return good;
}

// Read the keywords. False with an exception.
static bool read_arguments(struct gorgon_interp *interp, PyObject *args, PyObject *kwargs,
			   PyObject **capsule, struct gorgon_placement *ret)
{
	static const char *const names[] = {"handler", "huge_pages", "numa_nodes",
					    "locked",  "alignment",  NULL};
	int huge_pages = 0, locked = 0;
	PyObject *nodes = NULL;
	Py_ssize_t alignment = 0;

	*ret = (struct gorgon_placement){0};
	if (!API(interp, PyArg_ParseTupleAndKeywords)(args, kwargs, "|O$pOpn:use_data_handler",
						      (char **)names, capsule, &huge_pages, &nodes,
						      &locked, &alignment))
		return false;
	if (nodes && nodes != API(interp, _Py_NoneStruct) &&
	    !read_nodes(interp, nodes, &ret->numa_nodes))
		return false;
	if (alignment < 0 || !gorgon_placement_can_align((size_t)alignment))
		return refuse(interp, *API(interp, PyExc_ValueError),
			      "use_data_handler(): alignment: expected a power of two up to 2**30");
	ret->alignment = alignment > GORGON_PLACEMENT_ALIGN ? (size_t)alignment : 0;
	ret->huge_pages = huge_pages;
	ret->locked = locked;
	return !*capsule || !is_placed(ret) ||
	       refuse(interp, *API(interp, PyExc_TypeError),
		      "use_data_handler(): a handler has its options already: expected it alone, "
		      "or options alone");
}

PyObject *gorgon_data_handler_use(PyObject *self, PyObject *args, PyObject *kwargs,
				  struct gorgon_interp *interp)
{
	PyObject *(*set)(PyObject *);
	PyObject *capsule = NULL, *ret;
	struct gorgon_placement placement;
	void **table;

	(void)self;
	if (!read_arguments(interp, args, kwargs, &capsule, &placement))
		return NULL;
	table = import_table(interp);
	if (!table)
		return NULL;
	set = (PyObject * (*)(PyObject *)) table[SET_HANDLER];
	if (capsule == API(interp, _Py_NoneStruct))
		return set(NULL);
	// numpy 1 does not check the handler.
	if (capsule && !API(interp, PyCapsule_IsValid)(capsule, CAPSULE))
		return refuse(interp, *API(interp, PyExc_TypeError),
			      "use_data_handler(): not a handler of numpy's, expected one that it "
			      "returned or None");
	if (capsule)
		return set(capsule);
	capsule = create_capsule(interp, &placement);
	ret = capsule ? set(capsule) : NULL;
	API(interp, Py_DecRef)(capsule);
	return ret;
}

// --- from a block to an array -------------------------------------------------------------

// The block that is all of a received array, if nobody else holds it.
static struct gorgon_block *find_adoptable(struct gorgon_interp *interp, PyObject *object)
{
	struct gorgon_array *array;
	struct gorgon_block *block;
	bool writable;

	if ((void *)Py_TYPE(object) != interp->array_type)
		return NULL;
	array = gorgon_received_array(object, &writable);
	block = array->block;
	return writable && block->offset && !block->mapped && !block->charges &&
			       block->data == array->data &&
			       __atomic_load_n(&block->count, __ATOMIC_ACQUIRE) == 1
		       ? block
		       : NULL;
}

// numpy.empty() of these arguments, which runs no code of Python, in the memory of a block; None:
// numpy wants other memory.
static PyObject *make_in(struct gorgon_interp *interp, struct gorgon_block *block, PyObject *empty,
			 PyObject *args)
{
	struct data_handler *own = find_handler(interp, &(struct gorgon_placement){0});
	PyObject *capsule, *before, *ret = NULL;

	if (!own)
		return API(interp, PyErr_NoMemory)();
	if (!own->set) {
		void **table = import_table(interp);

		if (!table)
			return NULL;
		own->set = (PyObject * (*)(PyObject *)) table[SET_HANDLER];
	}
	capsule = API(interp, PyCapsule_New)(&own->handler, CAPSULE, NULL);
	before = capsule ? own->set(capsule) : NULL;
	if (before) {
		own->adopted = block;
		ret = API(interp, PyObject_Call)(empty, args, NULL);
		own->adopted = NULL;
		API(interp, Py_DecRef)(own->set(before));
	}
	API(interp, Py_DecRef)(before);
	API(interp, Py_DecRef)(capsule);
	if (ret || !API(interp, PyErr_ExceptionMatches)(*API(interp, PyExc_MemoryError)))
		return ret;
	API(interp, PyErr_Clear)();
	return gorgon_none(interp);
}

PyObject *gorgon_data_handler_adopt(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	PyObject *received, *empty, *arguments;
	struct gorgon_block *block;

	(void)self;
	if (!API(interp, PyArg_ParseTuple)(args, "OOO:_adopt", &received, &empty, &arguments))
		return NULL;
	block = find_adoptable(interp, received);
	return block ? make_in(interp, block, empty, arguments) : gorgon_none(interp);
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
