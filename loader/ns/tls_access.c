// SPDX-License-Identifier: MIT What private code runs whenever it touches a thread-local variable
// (tls.c says what is kept where).
//
// Nobody who types "step" at such a line has called anything. Debuggers go over calls of the
// system's linker there, and of functions without lines. So the Makefile builds this file, and
// tlsdesc.S, without debug information.

#include "base/arch.h"
#include "thread.h"
#include "tls.h"

extern void *__tls_get_addr(void *index);

GORGON_ARCH_ALIGN_STACK void *gorgon_tls_get_addr(const struct gorgon_tls_index *index)
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
