/* SPDX-License-Identifier: MIT */
/* Streams that private code has opened, flushed when its program ends. See streams.c. */
#ifndef GORGON_PROCESS_STREAMS_H
#define GORGON_PROCESS_STREAMS_H

#include "process/part.h"

#include <stdio.h>

struct gorgon_streams;

extern const struct gorgon_part gorgon_streams_part;

/* Note a stream that code of this namespace has opened; returns it. NULL is ignored. */
FILE *gorgon_streams_note(struct gorgon_streams *streams, FILE *stream);

/* fflush(NULL) for the streams that were noted, and for stdout and stderr. */
int gorgon_streams_flush(struct gorgon_streams *streams);

#endif
