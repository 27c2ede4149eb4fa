/* SPDX-License-Identifier: MIT */
/* A buffer for functions of the C library that say ERANGE when it is too small. */
#ifndef GORGON_PROCESS_BUFFER_H
#define GORGON_PROCESS_BUFFER_H

#include <stdbool.h>
#include <stdlib.h>

/* Zeroed: none yet. */
struct gorgon_buffer {
	char *data;
	size_t size;
};

static inline void gorgon_buffer_free(struct gorgon_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct gorgon_buffer){0};
}

/* A larger one, without its contents. False with errno set; the old one is freed by then. */
static inline bool gorgon_buffer_grow(struct gorgon_buffer *buffer)
{
	size_t size = buffer->size ? 2 * buffer->size : 1024;

	gorgon_buffer_free(buffer);
	buffer->data = malloc(size);
	buffer->size = buffer->data ? size : 0;
	return buffer->data;
}

#endif
