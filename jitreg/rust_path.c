// SPDX-License-Identifier: MIT
/*
 * The names of Rust's functions with their modules.
 *
 * In Rust's DWARF a function is below the entries of its modules. entries.c reads functions only,
 * so lines_units.c learns of the modules from the linkage name, of which rustc has two kinds:
 *
 *     legacy   _ZN 5crate 6module 4name 17h0123456789abcdef E
 *     v0       _R Nv Nt Cs1234_5crate 6module 4name, each N with the namespace of what follows: t for a module, v for a function
 *
 * Names with other things in them, such as types and impl blocks, are not read.
 */
#include "rust_path.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 32
#define HASH_SIZE 17 // h and 16 digits

struct writer {
	const char *at; // what is left of the linkage name
	char *path;
	size_t size, count; // of the path: bytes, names
};

/* Read a name, in front of which its length is written. In v0 a _ separates a name that begins with
 * a digit or _ from its length. */
static bool read_name(struct writer *w, bool is_v0, const char **name, size_t *size)
{
	*size = 0;
	while (isdigit((unsigned char)*w->at) && *size < JITREG_RUST_PATH_MAX)
		*size = *size * 10 + (size_t)(*w->at++ - '0');
	w->at += is_v0 && *w->at == '_';
	*name = w->at;
	if (!*size || strnlen(w->at, *size) < *size)
		return false;
	w->at += *size;
	return true;
}

static bool put_name(struct writer *w, const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	if (size >= JITREG_RUST_PATH_MAX - w->size)
		return false;
	memcpy(w->path + w->size, name, size);
	w->size += size;
	w->path[w->size++] = 0;
	w->count++;
	return true;
}

static bool is_hash(const char *name, size_t size)
{
	return size == HASH_SIZE && name[0] == 'h' &&
	       strspn(name + 1, "0123456789abcdef") >= HASH_SIZE - 1;
}

static bool read_legacy(struct writer *w)
{
	const char *name;
	size_t size;

	while (read_name(w, false, &name, &size)) {
		if (is_hash(name, size) && *w->at == 'E')
			return true;
		if (!put_name(w, name, size))
			return false;
	}
	return false;
}

/* Pass over what tells two crates or functions of the same name apart: s, a number in base 62, _.
 */
static bool skip_disambiguator(struct writer *w)
{
	if (*w->at != 's')
		return true;
	do
		w->at++;
	while (isalnum((unsigned char)*w->at));
	return *w->at++ == '_';
}

static bool read_identifier(struct writer *w)
{
	const char *name;
	size_t size;

	return skip_disambiguator(w) && read_name(w, true, &name, &size) && put_name(w, name, size);
}

static bool read_v0(struct writer *w)
{
	unsigned depth = 0;

	for (; *w->at == 'N' && depth < DEPTH_MAX && (w->at[1] == 't' || w->at[1] == 'v');
	     w->at += 2)
		depth++;
	if (*w->at++ != 'C' || !read_identifier(w))
		return false;
	while (depth--)
		if (!read_identifier(w))
			return false;
	return true;
}

size_t jitreg_rust_path(const char *linkage_name, char path[static JITREG_RUST_PATH_MAX])
{
	struct writer w = {.path = path};
	bool is_read = false;

	if (!strncmp(linkage_name, "_ZN", 3)) {
		w.at = linkage_name + 3;
		is_read = read_legacy(&w);
	} else if (!strncmp(linkage_name, "_R", 2)) {
		w.at = linkage_name + 2;
		is_read = read_v0(&w);
	}
	return is_read ? w.count : 0;
}
