// SPDX-License-Identifier: MIT
// Arrays for libraries that speak DLPack (torch, jax, cupy) rather than the buffer protocol.
//
// Specification: DLPack 1.0, and "Python Specification for DLPack" of the array API standard.
// A capsule `dltensor` has a tensor with a deleter; a consumer renames the capsule. The versioned
// form `dltensor_versioned` can say that the memory must not be written to; the older form
// cannot, so a read-only array is not exported in it.
//
// We do not consume a producer's tensor but keep its capsule, which tells the producer when it is
// freed. Only tensors in memory of the CPU are taken, with items for which both sides have a name.

#define _GNU_SOURCE
#include "array.h"
#include "charges.h"
#include "pin.h"
#include "received.h"
#include "share.h"
#include "ns/ns.h"
#include "process/interpose.h"
#include "python/calls/raise.h"
#include "python/calls/thunks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NDIM_MAX 64 // of array.c
#define CAPSULE		  "dltensor"
#define CAPSULE_VERSIONED "dltensor_versioned"

enum { DEVICE_CPU = 1 };
enum { FLAG_READ_ONLY = 1 };

// The kind of each type code, as typestrs call it; '\0' for a type code that typestrs do not have.
static const char kinds[] = {[0] = 'i', [1] = 'u', [2] = 'f', [5] = 'c', [6] = 'b'};

struct tensor {
	void *data;
	int32_t device_type, device_id;
	int32_t ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides; // in items; without strides the items have no gaps
	uint64_t byte_offset;
};

struct managed {
	struct tensor tensor;
	void *ctx;
	void (*deleter)(struct managed *self);
};

struct versioned {
	uint32_t major, minor;
	void *ctx;
	void (*deleter)(struct versioned *self);
	uint64_t flags;
	struct tensor tensor;
};

// An array that a consumer holds; in the interpreter's list of shared memory.
struct exported {
	struct gorgon_received received;
	struct gorgon_interp *interp;
	union {
		struct managed managed;
		struct versioned versioned;
	};
	int64_t numbers[]; // shape, then strides
};

static void *refuse_tensor(struct gorgon_interp *interp, const char *text)
{
	API(interp, PyErr_SetString)(*API(interp, PyExc_BufferError), text);
	return NULL;
}

// --- from others --------------------------------------------------------------------------

static bool typestr_of(const struct tensor *tensor, char *ret, size_t size)
{
	char kind = tensor->code < sizeof(kinds) ? kinds[tensor->code] : 0;
	struct gorgon_format format;

	snprintf(ret, size, "%c%c%u", tensor->bits > 8 ? '<' : '|', kind ?: '?', tensor->bits / 8u);
	return kind && tensor->lanes == 1 && !(tensor->bits % 8) &&
	       gorgon_format_parse(ret, &format);
}

bool gorgon_dlpack_is_offered(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *method = gorgon_find_attribute(interp, object, "__dlpack__");

	API(interp, Py_DecRef)(method);
	// An attribute that raises counts as absent.
	API(interp, PyErr_Clear)();
	return method;
}

static struct gorgon_array *copy_of_tensor(struct gorgon_interp *interp, void *lowest,
					   const struct gorgon_array_layout *layout,
					   const struct gorgon_share_opts *opts)
{
	struct gorgon_array_opts created = {
		.size = sizeof(created), .layout = *layout, .data = lowest};
	struct gorgon_array *array, *ret = NULL;
	struct gorgon_error *err = gorgon_array_create(&created, &array);
	PyObject *object;
	Py_buffer view;

	if (err)
		return (void *)gorgon_raise(interp, err);
	object = gorgon_received_object_of(interp, array, false);
	if (object && !API(interp, PyObject_GetBuffer)(object, &view, PyBUF_FULL_RO)) {
		ret = gorgon_received_copy(interp, &view, layout, opts->writable);
		API(interp, PyBuffer_Release)(&view);
	}
	API(interp, Py_DecRef)(object);
	return ret;
}

// @lowest: the item of the lowest address.
static struct gorgon_array *array_over_tensor(struct gorgon_interp *interp, PyObject *capsule,
					      void *first, void *lowest,
					      const struct gorgon_array_layout *layout,
					      const struct gorgon_share_opts *opts)
{
	struct gorgon_block *block = gorgon_shared_refs_find(&interp->shared_refs, lowest);
	struct gorgon_array *ret = NULL;
	struct gorgon_error *err;

	if (!block && interp->own)
		return gorgon_pin_object(interp, capsule, lowest, layout, opts->writable);
	if (!block && opts->or_copy)
		return copy_of_tensor(interp, lowest, layout, opts);
	if (!block)
		return gorgon_raise_not_shareable(interp);
	err = gorgon_array_create_in(block, first, layout, opts->writable, interp, &ret);
	gorgon_block_release(block);
	if (err)
		gorgon_raise(interp, err);
	return ret;
}

static struct gorgon_array *array_of_tensor(struct gorgon_interp *interp, PyObject *capsule,
					    const struct tensor *tensor,
					    const struct gorgon_share_opts *opts)
{
	char typestr[16];
	ptrdiff_t shape[NDIM_MAX], strides[NDIM_MAX], next = tensor->bits / 8;
	struct gorgon_array_layout layout = {
		.format = typestr,
		.item_size = (size_t)next,
		.ndim = (unsigned)tensor->ndim,
		.shape = shape,
		.strides = strides,
	};
	char *first = (char *)tensor->data + tensor->byte_offset, *lowest = first;
	bool empty = false;

	if (tensor->device_type != DEVICE_CPU)
		return refuse_tensor(interp, "the tensor is not in memory of the CPU");
	if (tensor->ndim < 0 || tensor->ndim > NDIM_MAX ||
	    !typestr_of(tensor, typestr, sizeof(typestr)))
		return refuse_tensor(
			interp,
			"the tensor's items or dimensions have no name in the array interface");
	for (unsigned i = layout.ndim; i--;) {
		shape[i] = tensor->shape[i];
		empty |= !shape[i];
		strides[i] = next;
		if (tensor->strides &&
		    __builtin_mul_overflow(tensor->strides[i], (ptrdiff_t)layout.item_size,
					   &strides[i]))
			return refuse_tensor(
				interp, "the tensor's strides are more than an address can say");
		if (__builtin_mul_overflow(next, shape[i] ?: 1, &next))
			return refuse_tensor(interp,
					     "the tensor spans more than an address can say");
	}
	for (unsigned i = 0; i < layout.ndim && !empty; i++)
		if (strides[i] < 0)
			lowest += (shape[i] - 1) * strides[i];
	// Without items there need not be any memory.
	if (opts->copy || empty)
		return copy_of_tensor(interp, lowest, &layout, opts);
	return array_over_tensor(interp, capsule, first, lowest, &layout, opts);
}

struct gorgon_array *gorgon_dlpack_array_of(struct gorgon_interp *interp, PyObject *object,
					    const struct gorgon_share_opts *opts)
{
	PyObject *capsule = API(interp, PyObject_CallMethod)(object, "__dlpack__", NULL);
	struct gorgon_array *ret = NULL;
	struct managed *managed;

	managed = capsule ? API(interp, PyCapsule_GetPointer)(capsule, CAPSULE) : NULL;
	if (managed)
		ret = array_of_tensor(interp, capsule, &managed->tensor, opts);
	API(interp, Py_DecRef)(capsule);
	return ret;
}

// --- to others ----------------------------------------------------------------------------

static void let_go_of_tensor(struct exported *exported)
{
	gorgon_shared_refs_remove(&exported->interp->shared_refs, &exported->received.link);
	gorgon_charges_leave(exported->received.array, gorgon_charges_holder(exported->interp));
	gorgon_array_release(exported->received.array);
	free(exported);
}

static void delete_managed_tensor(struct managed *self)
{
	let_go_of_tensor(self->ctx);
}

static void delete_versioned_tensor(struct versioned *self)
{
	let_go_of_tensor(self->ctx);
}

// A capsule that still has its name has no consumer.
void gorgon_dlpack_free(PyObject *capsule, struct gorgon_interp *interp)
{
	struct managed *managed;
	struct versioned *versioned;

	if (API(interp, PyCapsule_IsValid)(capsule, CAPSULE)) {
		managed = API(interp, PyCapsule_GetPointer)(capsule, CAPSULE);
		managed->deleter(managed);
	} else if (API(interp, PyCapsule_IsValid)(capsule, CAPSULE_VERSIONED)) {
		versioned = API(interp, PyCapsule_GetPointer)(capsule, CAPSULE_VERSIONED);
		versioned->deleter(versioned);
	}
}

// A type's code for the one item of a format of PEP 3118 in this machine's order, or -1.
static int tensor_code_of(const char *format)
{
	static const char *const codes[] = {[0] = "bhilqn", [1] = "BHILQN", [2] = "efd"};

	if (*format && strchr("<=@|", *format))
		format++;
	if (!strcmp(format, "?"))
		return 6;
	if (!strcmp(format, "Zf") || !strcmp(format, "Zd"))
		return 5;
	for (int i = 0; i < 3; i++)
		if (*format && !format[1] && strchr(codes[i], *format))
			return i;
	return -1;
}

static bool fill_tensor(struct exported *exported, struct tensor *tensor,
			const struct gorgon_array *array)
{
	const struct gorgon_array_layout *layout = &array->layout;
	int code = array->format.differs
			   ? -1
			   : tensor_code_of(*array->format.buffer ? array->format.buffer
								  : layout->format);

	*tensor = (struct tensor){
		.data = array->data,
		.device_type = DEVICE_CPU,
		.ndim = (int32_t)layout->ndim,
		.code = (uint8_t)code,
		.bits = (uint8_t)(8 * layout->item_size),
		.lanes = 1,
		.shape = exported->numbers,
		.strides = exported->numbers + layout->ndim,
	};
	for (unsigned i = 0; i < layout->ndim; i++) {
		if (layout->strides[i] % (ptrdiff_t)layout->item_size)
			return false;
		tensor->shape[i] = layout->shape[i];
		tensor->strides[i] = layout->strides[i] / (ptrdiff_t)layout->item_size;
	}
	return code >= 0;
}

static PyObject *export_tensor(struct gorgon_interp *interp, struct gorgon_array *array,
			       bool writable, bool with_version)
{
	struct exported *exported =
		calloc(1, sizeof(*exported) + 2 * array->layout.ndim * sizeof(int64_t));
	void *free_thunk = gorgon_interpose_thunk(interp->ns, GORGON_THUNK_DLPACK_FREE);
	PyObject *ret;

	if (!exported)
		return API(interp, PyErr_NoMemory)();
	if (!fill_tensor(exported,
			 with_version ? &exported->versioned.tensor : &exported->managed.tensor,
			 array)) {
		free(exported);
		return refuse_tensor(interp, "the array's items or strides have no name in DLPack");
	}
	if (!gorgon_charges_enter(array, interp)) {
		free(exported);
		return API(interp, PyErr_NoMemory)();
	}
	exported->interp = interp;
	exported->received.array = gorgon_array_retain(array);
	if (with_version) {
		exported->versioned.major = 1;
		exported->versioned.ctx = exported;
		exported->versioned.deleter = delete_versioned_tensor;
		exported->versioned.flags = writable ? 0 : FLAG_READ_ONLY;
	} else {
		exported->managed.ctx = exported;
		exported->managed.deleter = delete_managed_tensor;
	}
	gorgon_shared_refs_add(&interp->shared_refs, &interp->shared_refs.arrays,
			       &exported->received.link);
	ret = API(interp, PyCapsule_New)(with_version ? (void *)&exported->versioned
						      : &exported->managed,
					 with_version ? CAPSULE_VERSIONED : CAPSULE,
				 (PyCapsule_Destructor)free_thunk);
	if (!ret)
		let_go_of_tensor(exported);
	return ret;
}

// Refuse arguments that the standard allows to refuse: the CPU has no streams, and a consumer can
// copy by itself.
static bool check_tensor_request(struct gorgon_interp *interp, PyObject *stream, PyObject *device,
				 PyObject *copy)
{
	PyObject *none = API(interp, _Py_NoneStruct);
	int type = DEVICE_CPU, id = 0;

	if (stream != none)
		return refuse_tensor(interp,
				     "the array is in memory of the CPU, which has no streams");
	if (device != none && !API(interp, PyArg_ParseTuple)(device, "ii", &type, &id))
		return false;
	if (type != DEVICE_CPU || id)
		return refuse_tensor(interp, "the array is in memory of the CPU, and is not moved");
	if (copy == (PyObject *)API(interp, _Py_TrueStruct))
		return refuse_tensor(interp, "the array is not copied");
	return true;
}

PyObject *gorgon_dlpack_method(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp)
{
	static char *keywords[] = {"stream", "max_version", "dl_device", "copy", NULL};
	PyObject *none = API(interp, _Py_NoneStruct);
	PyObject *stream = none, *version = none, *device = none, *copy = none;
	unsigned major = 0, minor = 0;
	bool writable;
	struct gorgon_array *array = gorgon_received_array(self, &writable);

	if (!API(interp, PyArg_ParseTupleAndKeywords)(args, kwargs, "|$OOOO:__dlpack__", keywords,
						      &stream, &version, &device, &copy) ||
	    !check_tensor_request(interp, stream, device, copy) ||
	    (version != none && !API(interp, PyArg_ParseTuple)(version, "II", &major, &minor)))
		return NULL;
	if (!writable && !major)
		return refuse_tensor(
			interp, "the array was received read-only, which this DLPack cannot say");
	return export_tensor(interp, array, writable, major > 0);
}

PyObject *gorgon_dlpack_device(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	(void)self;
	(void)args;
	return API(interp, Py_BuildValue)("ii", DEVICE_CPU, 0);
}
