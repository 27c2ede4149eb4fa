// SPDX-License-Identifier: MIT
// What a process and a core have in common: memory, mappings of files, and the files.
//
// A name from the target is looked up with the kernel's own check: below the target's
// root (a container's, or --sysroot), where neither ".." nor a link leads out. Only
// regular files are opened (a name may be that of a device or a FIFO).

#define _GNU_SOURCE
#include "symdump.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VDSO_MAX (1u << 20)

static void drop_mappings(struct target *target)
{
	for (size_t i = 0; i < target->mapping_count; i++)
		free(target->mappings[i].path);
	free(target->mappings);
	target->mappings = NULL;
	target->mapping_count = 0;
}

void target_close(struct target *target)
{
	drop_mappings(target);
	elf_end(target->core);
	if (target->memory >= 0)
		close(target->memory);
	if (target->root >= 0)
		close(target->root);
	free(target->sysroot);
	free(target->root_name);
	free(target->segments);
	*target = (struct target){.root = -1, .memory = -1};
}

bool target_read(const struct target *target, uint64_t addr, void *bytes, size_t size)
{
	if (addr + size < addr)
		return false;
	return target->read(target, addr, bytes, size);
}

uint8_t *target_copy(const struct target *target, uint64_t addr, size_t size)
{
	uint8_t last, *ret;

	// The last byte is read first, so that a made-up size takes no memory.
	if (!size || addr + size < addr || !target_read(target, addr + size - 1, &last, 1))
		return NULL;
	ret = zalloc(size, 1);
	if (target_read(target, addr, ret, size))
		return ret;
	free(ret);
	return NULL;
}

bool target_update(struct target *target, struct problems *problems)
{
	if (target->mappings_given)
		return true;
	drop_mappings(target);
	return target->read_mappings(target, problems);
}

void target_add_mapping(struct target *target, uint64_t start, uint64_t end, uint64_t off,
			const char *path)
{
	target->mappings = grow(target->mappings, target->mapping_count, sizeof(*target->mappings));
	target->mappings[target->mapping_count++] =
		(struct mapping){start, end, off, format("%s", path)};
}

const struct mapping *target_find_mapping(const struct target *target, uint64_t addr)
{
	size_t low = 0, high = target->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addr >= target->mappings[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == target->mapping_count || addr < target->mappings[low].start)
		return NULL;
	return &target->mappings[low];
}

static int open_error;

int target_open_error(void)
{
	return open_error;
}

// Keeps an error that says nothing of the file. A file that is missing, or that this user may not
// read, is no error.
static int note_error(int fd)
{
	if (fd < 0 && !open_error && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		open_error = errno;
	return fd;
}

// Opens the file that a descriptor of O_PATH stands for, and closes that. Only a regular file is
// opened, because opening a device may start something.
static int open_regular(int at)
{
	struct stat st;
	char name[32];
	int fd = -1;

	if (at < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", at);
	if (!fstat(at, &st) && S_ISREG(st.st_mode))
		fd = note_error(open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	close(at);
	return fd;
}

int target_open_file(const struct target *target, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (*path != '/')
		return -1;
	return open_regular(
		note_error((int)syscall(SYS_openat2, target->root, path, &how, sizeof(how))));
}

static int open_vdso(const struct target *target, const struct mapping *mapping)
{
	size_t size = mapping->end - mapping->start;
	uint8_t *data = size <= VDSO_MAX ? target_copy(target, mapping->start, size) : NULL;
	int fd = data ? note_error(memfd_create("vdso", MFD_CLOEXEC)) : -1;

	if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	free(data);
	return fd;
}

int target_open_mapping(const struct target *target, const struct mapping *mapping)
{
	char name[96];
	int fd = -1;

	if (!strcmp(mapping->path, VDSO))
		return open_vdso(target, mapping);
	if (target->pid && !*target->sysroot) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%lx-%lx", target->pid,
			 mapping->start, mapping->end);
		fd = open_regular(note_error(open(name, O_PATH | O_CLOEXEC)));
	}
	return fd >= 0 ? fd : target_open_file(target, mapping->path);
}
