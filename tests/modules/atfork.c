// SPDX-License-Identifier: MIT
// Handlers of fork(), which must not be called after the library has gone.

#include "note.h"

#include <pthread.h>

void atfork_probe(void);

static void prepare(void)
{
	test_note("prepare");
}

static void parent(void)
{
	test_note("parent");
}

void atfork_probe(void)
{
	note_value("registered", pthread_atfork(prepare, parent, NULL));
}
