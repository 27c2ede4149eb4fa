// SPDX-License-Identifier: MIT --extract: writes each symfile to a file. File names consist of
// numbers and harmless characters, and an existing file is never overwritten.

#define _GNU_SOURCE
#include "symdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_KEPT 150

// "interp-0.3.libfoo.so.symfile"; the number is the object's place in the namespace.
static char *file_name(const struct snapshot *snapshot, const struct object *object)
{
	char label[32],
		*name = format("%.*s", NAME_KEPT, *object->path ? base_name(object->path) : "jit"),
		*ret;
	size_t first = object->ns == NO_NS ? snapshot->listed_count
					   : snapshot->namespaces[object->ns].first_object;

	for (char *c = name; *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-",
			    *c))
			*c = '_';
	ns_label(snapshot, object->ns, label);
	if (strchr(label, ' '))
		*strchr(label, ' ') = '-';
	ret = format("%s.%zu.%s.symfile", label, (size_t)(object - snapshot->objects) - first,
		     name);
	free(name);
	return ret;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done <= 0)
			return false;
		data += done;
		size -= (size_t)done;
	}
	return true;
}

static bool write_symfile(int dir, const char *dir_name, const char *name,
			  const struct object *object)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd >= 0 && write_all(fd, object->symfile_data, object->symfile_size);

	if (!done)
		fprintf(stderr, "gorgon-symdump: %s/%s: %s\n", dir_name, name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return done;
}

int extract(struct dump *dump)
{
	int dir, status = STATUS_FOUND_NOTHING;

	if (mkdir(dump->pattern, 0700) && errno != EEXIST)
		dir = -1;
	else
		dir = open(dump->pattern, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		fprintf(stderr, "gorgon-symdump: --extract %s: %s\n", dump->pattern,
			strerror(errno));
		return STATUS_USAGE;
	}
	for (size_t i = 0; i < dump->snapshot.object_count; i++) {
		const struct object *object = &dump->snapshot.objects[i];
		char *name;

		if (!object->symfile_data) // the object has no symfile, or an earlier object has it
			continue;
		name = file_name(&dump->snapshot, object);
		if (!write_symfile(dir, dump->pattern, name, object)) {
			free(name);
			status = STATUS_NO_TARGET;
			break;
		}
		printf("%s/%s\n", dump->pattern, name);
		free(name);
		status = STATUS_OK;
	}
	close(dir);
	return status;
}
