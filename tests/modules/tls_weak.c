// SPDX-License-Identifier: MIT
// A weak thread-local variable. Only with descriptors can its address be null when nobody defines it: the other
// models have no null.

#include "note.h"

extern __thread int nobody_has_this_variable __attribute__((weak));

void tls_weak_probe(void);
int *tls_weak_at(void);

int *tls_weak_at(void)
{
	return &nobody_has_this_variable;
}

void tls_weak_probe(void)
{
	test_note("loaded");
#ifdef WITH_DESCRIPTORS
	note_value("null", !tls_weak_at());
#endif
}
