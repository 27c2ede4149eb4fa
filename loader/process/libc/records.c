// SPDX-License-Identifier: MIT
// Records of the C library's databases, copied by tables that say what their members point to.
//
// A copy is the structure and behind it, in the order of the table, the lists and the strings.
// What is in no table is copied with the structure: numbers, and fs_type of struct fstab, which
// points to a constant.

#define _GNU_SOURCE
#include "records.h"

#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <pwd.h>
#include <shadow.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STRING(type, member)  {GORGON_FIELD_STRING, offsetof(type, member), 0}
#define STRINGS(type, member) {GORGON_FIELD_STRINGS, offsetof(type, member), 0}
#define ADDRESSES(type, member, length)                                                            \
	{GORGON_FIELD_ADDRESSES, offsetof(type, member), offsetof(type, length)}

#define RECORD(name, type, ...)                                                                    \
	const struct gorgon_record gorgon_record_##name = {                                        \
		sizeof(type), (const struct gorgon_field[]){__VA_ARGS__, {GORGON_FIELD_END, 0, 0}}}

RECORD(passwd, struct passwd, STRING(struct passwd, pw_name), STRING(struct passwd, pw_passwd),
       STRING(struct passwd, pw_gecos), STRING(struct passwd, pw_dir),
       STRING(struct passwd, pw_shell));
RECORD(group, struct group, STRINGS(struct group, gr_mem), STRING(struct group, gr_name),
       STRING(struct group, gr_passwd));
RECORD(spwd, struct spwd, STRING(struct spwd, sp_namp), STRING(struct spwd, sp_pwdp));
RECORD(servent, struct servent, STRINGS(struct servent, s_aliases), STRING(struct servent, s_name),
       STRING(struct servent, s_proto));
RECORD(protoent, struct protoent, STRINGS(struct protoent, p_aliases),
       STRING(struct protoent, p_name));
RECORD(hostent, struct hostent, STRINGS(struct hostent, h_aliases),
       ADDRESSES(struct hostent, h_addr_list, h_length), STRING(struct hostent, h_name));
RECORD(mntent, struct mntent, STRING(struct mntent, mnt_fsname), STRING(struct mntent, mnt_dir),
       STRING(struct mntent, mnt_type), STRING(struct mntent, mnt_opts));

// --- copying ----------------------------------------------------------------------------------

// Memory that is given away piece by piece. It counts on behind its end.
struct room {
	char *start;
	size_t used, size;
};

// NULL: behind the end.
static void *records_take(struct room *room, size_t size, size_t align)
{
	size_t gap = -((uintptr_t)room->start + room->used) & (align - 1), at = room->used + gap;

	room->used = at + size;
	return room->used <= room->size ? room->start + at : NULL;
}

static char *copy_bytes(struct room *room, const char *from, size_t size, size_t align)
{
	char *ret = records_take(room, size, align);

	return ret ? memcpy(ret, from, size) : NULL;
}

static char *copy_string(struct room *room, const char *from)
{
	return from ? copy_bytes(room, from, strlen(from) + 1, 1) : NULL;
}

static size_t list_length(char *const *list)
{
	size_t ret = 0;

	while (list[ret])
		ret++;
	return ret;
}

// @count elements, strings when @size is 0, and a NULL.
static char **copy_list(struct room *room, char *const *from, size_t count, size_t size)
{
	char **ret = records_take(room, (count + 1) * sizeof(*ret), _Alignof(char *));

	for (size_t i = 0; i < count; i++) {
		// Addresses are read as struct in_addr and in6_addr.
		char *element = size ? copy_bytes(room, from[i], size, _Alignof(uint32_t))
				     : copy_string(room, from[i]);

		if (ret)
			ret[i] = element;
	}
	if (ret)
		ret[count] = NULL;
	return ret;
}

static void *copy_field(const struct gorgon_field *field, const char *record, struct room *room)
{
	void *from;
	int length;

	memcpy(&from, record + field->offset, sizeof(from));
	if (!from)
		return NULL;
	switch (field->kind) {
	case GORGON_FIELD_STRINGS:
		return copy_list(room, from, list_length(from), 0);
	case GORGON_FIELD_ADDRESSES:
		memcpy(&length, record + field->size_offset, sizeof(length));
		return copy_list(room, from, list_length(from), (size_t)length);
	default:
		return copy_string(room, from);
	}
}

static size_t copy_fields(const struct gorgon_record *record, const void *from, void *to,
			  void *buffer, size_t size)
{
	struct room room = {buffer, 0, size};

	for (const struct gorgon_field *field = record->fields; field->kind; field++) {
		void *copy = copy_field(field, from, &room);

		if (to)
			memcpy((char *)to + field->offset, &copy, sizeof(copy));
	}
	return room.used;
}

// A first pass measures, so that nothing is written unless all of it fits. It writes through no
// pointer, but counts the gaps for alignment as they will be in @buffer.
size_t gorgon_record_copy(const struct gorgon_record *record, const void *from, void *to,
			  void *buffer, size_t size)
{
	size_t needed = copy_fields(record, from, NULL, buffer, 0);

	if (needed > size)
		return needed;
	memcpy(to, from, record->size);
	return copy_fields(record, from, to, buffer, size);
}

// --- what holds copies ------------------------------------------------------------------------

// The structures' sizes are multiples of a pointer's, so what follows one is aligned.
static size_t whole_size(const struct gorgon_record *record, const void *from)
{
	return record->size + copy_fields(record, from, NULL, NULL, 0);
}

void *gorgon_result_set(struct gorgon_result *kept, const struct gorgon_record *record,
			const void *from)
{
	size_t size = whole_size(record, from);

	if (size > kept->size) {
		size_t room = 2 * size;
		void *block = malloc(room);

		if (!block)
			return NULL;
		free(kept->block);
		*kept = (struct gorgon_result){block, room};
	}
	gorgon_record_copy(record, from, kept->block, (char *)kept->block + record->size,
			   kept->size - record->size);
	return kept->block;
}

void gorgon_result_free(struct gorgon_result *kept)
{
	free(kept->block);
	*kept = (struct gorgon_result){0};
}

bool gorgon_list_add(struct gorgon_list *list, const struct gorgon_record *record, const void *from)
{
	size_t size = whole_size(record, from);
	struct gorgon_listed *listed = malloc(sizeof(*listed) + size);

	if (!listed)
		return false;
	*listed = (struct gorgon_listed){NULL, listed + 1};
	gorgon_record_copy(record, from, listed->record, (char *)listed->record + record->size,
			   size - record->size);
	if (list->last)
		list->last->next = listed;
	else
		list->first = listed;
	list->last = listed;
	return true;
}

void gorgon_list_free(struct gorgon_list *list)
{
	struct gorgon_listed *next;

	for (struct gorgon_listed *listed = list->first; listed; listed = next) {
		next = listed->next;
		free(listed);
	}
	*list = (struct gorgon_list){0};
}

#define FIRST_SIZE 1024

bool gorgon_buffer_grow(struct gorgon_buffer *buffer)
{
	size_t size = buffer->size ? 2 * buffer->size : FIRST_SIZE;

	gorgon_buffer_free(buffer);
	buffer->data = malloc(size);
	buffer->size = buffer->data ? size : 0;
	return buffer->data;
}

void gorgon_buffer_free(struct gorgon_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct gorgon_buffer){0};
}
