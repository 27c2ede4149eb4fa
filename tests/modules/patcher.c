// SPDX-License-Identifier: MIT
// Patches other libraries, as UCX's libucm and Open MPI do. It writes a jump to a function of its own over the
// start of a function, or the address of its function into a table.

#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int patcher_calls(void);
int patcher_jump(void *function);
int patcher_protect(void *addr, int prot);
int patcher_protect_with_key(void *addr, int prot);
void *patcher_own_code(void);
void *patcher_own_table(void);

static int calls;

static int replacement(void)
{
	return ++calls;
}

static void *const table[] = {replacement}; // becomes read-only after relocation

int patcher_calls(void)
{
	return calls;
}

void *patcher_own_code(void)
{
	return replacement;
}

void *patcher_own_table(void)
{
	return (void *)table;
}

static void *page_of(void *addr)
{
	return (void *)((uintptr_t)addr & -(uintptr_t)getpagesize());
}

// Returns 0 or errno.
int patcher_protect(void *addr, int prot)
{
	return mprotect(page_of(addr), (size_t)getpagesize(), prot) ? errno : 0;
}

int patcher_protect_with_key(void *addr, int prot)
{
	return pkey_mprotect(page_of(addr), (size_t)getpagesize(), prot, -1) ? errno : 0;
}

// Makes a function jump to ours. Returns 0, or errno without a change. Two pages are made writable, because the
// jump may cross from one to the next.
int patcher_jump(void *function)
{
	struct __attribute__((packed)) {
		uint8_t move[2]; // movabs $target, %r11
		void *target;
		uint8_t jump[3]; // jmp *%r11
	} code = {{0x49, 0xbb}, replacement, {0x41, 0xff, 0xe3}};

	if (mprotect(page_of(function), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return errno;
	memcpy(function, &code, sizeof(code));
	return mprotect(page_of(function), 8192, PROT_READ | PROT_EXEC) ? errno : 0;
}
