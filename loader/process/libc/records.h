/* SPDX-License-Identifier: MIT */
/*
 * Records of the C library's databases: a structure whose strings and lists lie elsewhere
 * (struct passwd, struct hostent ...), copied into one piece of memory. See records.c.
 */
#ifndef GORGON_PROCESS_RECORDS_H
#define GORGON_PROCESS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What a member points to. */
enum gorgon_field_kind {
	GORGON_FIELD_END,
	GORGON_FIELD_STRING,    /* char *; may be NULL */
	GORGON_FIELD_STRINGS,   /* char **, to a list that ends with NULL; may be NULL */
	/* char **, as STRINGS, each of as many bytes as an int member says */
	GORGON_FIELD_ADDRESSES,
};

struct gorgon_field {
	enum gorgon_field_kind kind;
	size_t offset;
	size_t size_offset; /* of the member that COUNTED and ADDRESSES need */
};

/* A kind of record. */
struct gorgon_record {
	size_t size; /* of the structure */
	const struct gorgon_field *fields; /* the last one is GORGON_FIELD_END */
};

extern const struct gorgon_record gorgon_record_passwd, gorgon_record_group, gorgon_record_spwd,
	gorgon_record_servent, gorgon_record_protoent, gorgon_record_hostent, gorgon_record_mntent;

/*
 * Copy @from to @to and what it points to into @size bytes at @buffer. Returns how many bytes
 * are needed; when that is more than @size, @to is as it was and @buffer has no meaning.
 */
size_t gorgon_record_copy(const struct gorgon_record *record, const void *from, void *to,
			  void *buffer, size_t size);

/* --- a copy that stays until the next one takes its place ----------------------------- */

/* All zero: no copy. */
struct gorgon_result {
	void *block; /* the structure and what it points to */
	size_t size;
};

/* The copy of @from; NULL with errno set: no memory, and the one before it is still there. */
void *gorgon_result_set(struct gorgon_result *kept, const struct gorgon_record *record,
			const void *from);
void gorgon_result_free(struct gorgon_result *kept);

/* --- a list of them --------------------------------------------------------------------- */

struct gorgon_listed {
	struct gorgon_listed *next;
	void *record;
};

/* Zeroed: an empty one. */
struct gorgon_list {
	struct gorgon_listed *first, *last;
};

/* False with errno set: no memory. */
bool gorgon_list_add(struct gorgon_list *list, const struct gorgon_record *record,
		     const void *from);
void gorgon_list_free(struct gorgon_list *list);

/* --- a buffer for functions that say ERANGE ----------------------------------------------- */

/* Zeroed: none yet. */
struct gorgon_buffer {
	char *data;
	size_t size;
};

/* A larger one, without its contents. False with errno set; the old one is freed by then. */
bool gorgon_buffer_grow(struct gorgon_buffer *buffer);
void gorgon_buffer_free(struct gorgon_buffer *buffer);

#endif
