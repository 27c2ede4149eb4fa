// SPDX-License-Identifier: MIT
// One probe for each type of dynamic relocation that a shared object may carry, against
// its own symbols and those of reloc_dep.c. Some need the assembler: compilers do not
// write them, other languages' tools and hand-written code do.

#define _GNU_SOURCE
#include "machine.h"
#include "note.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern int dep_value;
extern int dep_words[5];
extern __thread int dep_tls, dep_tls_zero;
extern int nobody_has_this(void) __attribute__((weak));
int dep_function(int value);
int *dep_value_at(void);
int *dep_tls_at(void);

void reloc_relative(void);
void reloc_data(void);
void reloc_call(void);
void reloc_addend(void);
void reloc_pc(void);
void reloc_narrow(void);
void reloc_size(void);
void reloc_tls(void);
void reloc_weak(void);
void reloc_system_ifunc(void);

int reloc_own[3] = {7, 8, 9};
static int hidden[3] = {4, 5, 6};

static int *volatile relative = &hidden[1];
static int *volatile with_addend = &dep_words[3];
static size_t (*volatile system_ifunc)(const char *) = strlen;
static int (*volatile weak_pointer)(void) = nobody_has_this;

#ifdef TEST_LINKER_WRITES_ALL
__asm__(".pushsection .data.reloc_asm, \"aw\"\n"
	"	.p2align 3\n"
	"size64: .quad dep_words@SIZE\n"
	"size64_addend: .quad dep_words@SIZE + 100\n"
	"pc32:	.long reloc_own + 4 - .\n"
	"size32: .long dep_words@SIZE\n"
	"narrow: .long dep_absolute\n"
	"	.popsection\n");

extern volatile uint64_t size64 __attribute__((visibility("hidden")));
extern volatile uint64_t size64_addend __attribute__((visibility("hidden")));
extern volatile int32_t pc32 __attribute__((visibility("hidden")));
extern volatile uint32_t size32 __attribute__((visibility("hidden")));
extern volatile uint32_t narrow __attribute__((visibility("hidden")));
#endif

void reloc_relative(void)
{
	note_value("relative", *relative);
	note_value("same", relative == &hidden[1]);
}

void reloc_data(void)
{
	note_value("value", dep_value);
	note_value("same", &dep_value == dep_value_at());
}

void reloc_call(void)
{
	note_value("call", dep_function(20));
}

void reloc_addend(void)
{
	note_value("word", *with_addend);
	note_value("distance", with_addend - dep_words);
}

#ifdef TEST_LINKER_WRITES_ALL
void reloc_pc(void)
{
	note_value("pc32", *(const int *)((uintptr_t)&pc32 + (uintptr_t)(intptr_t)pc32));
}

void reloc_narrow(void)
{
	note_value("absolute", narrow);
}

void reloc_size(void)
{
	note_value("size32", size32);
	note_value("size64", (long)size64);
	note_value("size64+", (long)size64_addend);
}
#endif

void reloc_tls(void)
{
	note_value("value", dep_tls);
	note_value("zero", dep_tls_zero);
	note_value("same", &dep_tls == dep_tls_at());
}

void reloc_weak(void)
{
	note_value("call", nobody_has_this != 0);
	note_value("pointer", weak_pointer != 0);
}

void reloc_system_ifunc(void)
{
	note_value("length", (long)system_ifunc("four"));
	note_value("same", (void *)system_ifunc == dlsym(RTLD_DEFAULT, "strlen"));
}
