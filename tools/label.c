// SPDX-License-Identifier: MIT
// Prints each interpreter's output in whole lines, with "[i] " before each line when asked.
//
// Bytes are collected until a line is whole and then written at once: an unbuffered
// Python writes a line and its end separately, and lines of several interpreters would
// mix. A carriage return ends a piece too, for programs that draw progress with it. All this is
// for the files that the interpreters share. If a program puts another file on descriptor 1 or 2,
// bytes go to that file as they are; an unfinished line waits until the shared file is back.

#define _GNU_SOURCE
#include "tool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct label {
	bool prefix;
	unsigned number;
	pthread_mutex_t lock;
	struct {
		char *data;
		size_t size;
		bool open, coloured;
		struct stat file; // the file that the interpreters share
	} pending[2]; // of descriptors 1 and 2
};

struct label *label_create(bool prefix)
{
	struct label *label = calloc(1, sizeof(*label));

	if (!label)
		return NULL;
	label->prefix = prefix;
	for (int fd = 1; fd <= 2; fd++) {
		label->pending[fd - 1].open = !fstat(fd, &label->pending[fd - 1].file);
		label->pending[fd - 1].coloured = tool_has_colours(fd);
	}
	pthread_mutex_init(&label->lock, NULL);
	return label;
}

void label_set_number(struct label *label, unsigned number)
{
	label->number = number;
}

// Write a piece that ends with a newline; only the end of the output may lack it.
static bool write_piece(const struct label *label, int fd, const char *piece, size_t size)
{
	static const unsigned colours[] = {36, 33, 35, 32, 34, 31}; // of ECMA-48's SGR
	const char *end = piece[size - 1] == '\n' || piece[size - 1] == '\r' ? "" : "\n";
	char before[16] = "", after[8] = "";
	char *text = NULL;
	bool ok;
	int length;

	if (!label->prefix)
		return tool_write(fd, piece, size);
	if (label->pending[fd - 1].coloured) {
		snprintf(before, sizeof(before), "\033[%um", colours[label->number % 6]);
		strcpy(after, "\033[0m");
	}
	length = asprintf(&text, "%s[%u]%s %.*s%s", before, label->number, after, (int)size, piece,
			  end);
	ok = length >= 0 && tool_write(fd, text, (size_t)length);
	free(text);
	return ok;
}

static char *find_end(char *from, size_t size)
{
	for (char *p = from; p < from + size; p++)
		if (*p == '\n' || *p == '\r')
			return p;
	return NULL;
}

static bool is_redirected(const struct label *label, int fd)
{
	const struct stat *before = &label->pending[fd - 1].file;
	struct stat now;

	return fstat(fd, &now) || !label->pending[fd - 1].open || now.st_dev != before->st_dev ||
	       now.st_ino != before->st_ino;
}

// Called on any thread of the interpreter, in place of write(2).
ssize_t label_write(void *ctx, int fd, const void *data, size_t size)
{
	struct label *label = ctx;
	char **pending = &label->pending[fd - 1].data;
	size_t *pending_size = &label->pending[fd - 1].size;
	char *all, *line, *end;
	bool ok = true;

	if (is_redirected(label, fd))
		return write(fd, data, size);
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
	while (ok && (end = find_end(line, *pending_size - (size_t)(line - all)))) {
		ok = write_piece(label, fd, line, (size_t)(end + 1 - line));
		line = end + 1;
	}
	*pending_size -= (size_t)(line - all);
	memmove(all, line, *pending_size);
	pthread_mutex_unlock(&label->lock);
	return ok ? (ssize_t)size : -1;
}

void label_flush(struct label *label)
{
	if (!label)
		return;
	pthread_mutex_lock(&label->lock);
	for (int fd = 1; fd <= 2; fd++) {
		if (label->pending[fd - 1].size)
			write_piece(label, fd, label->pending[fd - 1].data,
				   label->pending[fd - 1].size);
		label->pending[fd - 1].size = 0;
	}
	pthread_mutex_unlock(&label->lock);
}

void label_destroy(struct label *label)
{
	if (!label)
		return;
	label_flush(label);
	free(label->pending[0].data);
	free(label->pending[1].data);
	pthread_mutex_destroy(&label->lock);
	free(label);
}
