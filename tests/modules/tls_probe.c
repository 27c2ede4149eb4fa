// SPDX-License-Identifier: MIT
// What threads of every age find in their blocks: initial values, zeros, alignment, a
// large block. Built for each model: LOCAL makes all of it local dynamic, SMALL fits into
// static TLS.

#include "note.h"
#include "machine.h"

#include <stddef.h>
#include <stdint.h>

// Static blocks are small.
#ifdef SMALL
#define LARGE 64
#define PAGE  TEST_STATIC_TLS_ALIGN
#else
#define LARGE (1 << 20)
#define PAGE  4096
#endif

#ifdef LOCAL
#define SCOPE static
#else
#define SCOPE
#endif

SCOPE __thread int value = 11;
SCOPE __thread int zero;
SCOPE __thread char aligned[64] __attribute__((aligned(TEST_STATIC_TLS_ALIGN))) = "cache line";
SCOPE __thread char page[PAGE] __attribute__((aligned(PAGE)));
SCOPE __thread char large[LARGE];
static int target = 5;
SCOPE __thread int *pointer = &target; // relocated, in the initialisation image
static __thread int own_value = 21;
static __thread int own_zero;

void tls_probe(void);

// A function of its own: a C library may spoil vector registers at the first access
// through a descriptor (glibc bug 31372).
static __attribute__((noinline)) long count_used(const char *block)
{
	long used = 0;

	for (size_t i = 0; i < LARGE; i++)
		used += block[i] != 0;
	return used;
}

static void look(void)
{
	note_value("value", value++);
	note_value("zero", zero++);
	note_value("own", own_value++ + own_zero++);
	note_value("aligned", (uintptr_t)aligned % TEST_STATIC_TLS_ALIGN == 0 && aligned[0] == 'c');
	note_value("page", (uintptr_t)page % PAGE);
	note_value("used", count_used(large));
	note_value("pointer", pointer == &target ? *pointer : -1);
	large[0] = large[LARGE - 1] = 1;
	test_note("|");
}

void tls_probe(void)
{
	look();
	look();
	test_on_old_thread(look);
	test_on_new_thread(look);
	test_on_old_thread(look);
}
