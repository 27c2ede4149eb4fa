// SPDX-License-Identifier: MIT
// "[i] " before each line of an interpreter's output.
//
// Bytes are collected until a line is whole and then written at once, so that lines of
// several interpreters do not tear. What is left at the end gets a newline of its own.

#define _GNU_SOURCE
#include "tool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct label {
	unsigned number;
	pthread_mutex_t lock;
	struct {
		char *data;
		size_t size;
	} pending[2]; // of descriptors 1 and 2
};

struct label *label_create(void)
{
	struct label *label = calloc(1, sizeof(*label));

	if (label)
		pthread_mutex_init(&label->lock, NULL);
	return label;
}

void label_set_number(struct label *label, unsigned number)
{
	label->number = number;
}

static bool write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_line(const struct label *label, int fd, const char *line, size_t size)
{
	char *text = NULL;
	int length = asprintf(&text, "[%u] %.*s\n", label->number, (int)size, line);
	bool ok = length >= 0 && write_all(fd, text, (size_t)length);

	free(text);
	return ok;
}

// Called on any thread of the interpreter, in place of write(2).
ssize_t label_write(void *ctx, int fd, const void *data, size_t size)
{
	struct label *label = ctx;
	char **pending = &label->pending[fd - 1].data;
	size_t *pending_size = &label->pending[fd - 1].size;
	char *all, *line, *end;
	bool ok = true;

	pthread_mutex_lock(&label->lock);
	all = realloc(*pending, *pending_size + size + 1);
	if (!all) {
		pthread_mutex_unlock(&label->lock);
		return -1;
	}
	memcpy(all + *pending_size, data, size);
	*pending = all;
	*pending_size += size;
	line = all;
	while (ok && (end = memchr(line, '\n', *pending_size - (size_t)(line - all)))) {
		ok = write_line(label, fd, line, (size_t)(end - line));
		line = end + 1;
	}
	*pending_size -= (size_t)(line - all);
	memmove(all, line, *pending_size);
	pthread_mutex_unlock(&label->lock);
	return ok ? (ssize_t)size : -1;
}

void label_destroy(struct label *label)
{
	if (!label)
		return;
	for (int fd = 1; fd <= 2; fd++) {
		if (label->pending[fd - 1].size)
			write_line(label, fd, label->pending[fd - 1].data,
				   label->pending[fd - 1].size);
		free(label->pending[fd - 1].data);
	}
	pthread_mutex_destroy(&label->lock);
	free(label);
}
