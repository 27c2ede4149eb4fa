/* SPDX-License-Identifier: MIT */
/** @file
 * Values for calls (calls.h), made in one expression. What they refer to stays the caller's. */
#ifndef GORGON_VALUES_H
#define GORGON_VALUES_H

#include "calls.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A bool. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_bool(bool boolean)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_BOOL;
	ret.boolean = boolean;
	return ret;
}

/** An int. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_int(int64_t integer)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_INT;
	ret.integer = integer;
	return ret;
}

/** A float. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_float(double number)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_FLOAT;
	ret.number = number;
	return ret;
}

/** A str, of UTF-8 that ends with a zero byte. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_text(const char *text)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_STRING;
	ret.text.data = text;
	ret.text.size = strlen(text);
	return ret;
}

/** bytes. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_bytes(const void *data, size_t size)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_BYTES;
	ret.text.data = (const char *)data;
	ret.text.size = size;
	return ret;
}

/** A list of @p count items, also for the arguments of a call. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_list(struct gorgon_value *items, size_t count)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_LIST;
	ret.list.items = items;
	ret.list.count = count;
	return ret;
}

/** A dict of @p count entries: key, value, key, value, ... Since 0.1. */
static inline struct gorgon_value gorgon_value_of_dict(struct gorgon_value *items, size_t count)
{
	struct gorgon_value ret = gorgon_value_of_list(items, count);

	ret.kind = GORGON_VALUE_DICT;
	return ret;
}

/** An array. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_array(struct gorgon_array *array)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_ARRAY;
	ret.array = array;
	return ret;
}

/** An object of the interpreter that is called. Since 0.1. */
static inline struct gorgon_value gorgon_value_of_object(struct gorgon_pyobject *object)
{
	struct gorgon_value ret;

	ret.kind = GORGON_VALUE_OBJECT;
	ret.object = object;
	return ret;
}

#ifdef __cplusplus
}
#endif

#endif
