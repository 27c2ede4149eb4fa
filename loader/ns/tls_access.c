// SPDX-License-Identifier: MIT
// What private code runs whenever it touches a thread-local variable (tls.c says what is kept where).
//
// Nobody who types "step" at such a line has called anything. Debuggers go over calls of the system's linker there, and of
// functions without lines. So the Makefile builds this file, and tlsdesc_*.S, without debug information.

#include "thread.h"
#include "tls.h"

extern void *__tls_get_addr(void *index);

// Compilers have called __tls_get_addr with a stack that is not aligned to 16 bytes
// (GCC before 4.9 in some cases), which the callees do not survive.
__attribute__((force_align_arg_pointer)) void *
gorgon_tls_get_addr(const struct gorgon_tls_index *index)
{
	struct gorgon_thread *thread;
	size_t i = index->module & GORGON_TLS_INDEX_MASK;

	if (!(index->module & GORGON_TLS_PRIVATE_BIT))
		return __tls_get_addr((void *)index);
	thread = gorgon_thread_peek();
	if (thread && i < thread->slot_count && thread->slots[i].module == index->module)
		return (char *)thread->slots[i].block + index->offset;
	return gorgon_tls_first_access(index);
}
