// SPDX-License-Identifier: MIT
/*
 * The descriptor of the GDB JIT interface, its list, and the lock.
 *
 * A debugger puts a breakpoint on __jit_debug_register_code. When it is hit the
 * debugger looks at relevant_entry only, so one call announces one entry. A debugger
 * reads the whole list when it attaches or opens a core file; new entries go to
 * the end, so that this debugger meets them in the order of registration, as a
 * debugger does that was there from the start.
 *
 * Order of one change, under the lock:
 *
 *     sequence odd -> list edited -> sequence even -> rendezvous -> action reset
 *
 * The list is whole again before the rendezvous: whoever reads it while the
 * process stands there finds it consistent. Between events action_flag is
 * JIT_NOACTION and relevant_entry NULL, so a debugger that attaches at any moment
 * does not take a stale request for a new one.
 *
 * Unregistering is followed by two more events: an object without content comes and goes.
 * GDB does not look at its breakpoints again when an object goes: it would keep their
 * locations in the memory of the object, and write breakpoint instructions there, whatever
 * is mapped by then (seen in GDB 13). It does look when an object comes. So the first of the
 * two events makes GDB drop the locations while the memory is still there; breakpoints by
 * name keep their locations in other copies, or are pending again. The object without
 * content is in no list, so only a debugger that stops here sees it.
 *
 * Writers of `sequence` pair a release store with the acquire loads of readers in
 * this process; readers in other processes copy memory and compare twice.
 *
 * Not handled: a second registrar in the process (LLVM, CPython 3.15) has a
 * descriptor of its own. GDB reads each of them, LLDB the first it finds.
 *
 * Specification: GDB manual, "JIT Compilation Interface".
 */
#define _GNU_SOURCE 1
#include "descriptor.h"
#include "jitreg.h"

#include "machine/machine.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* used: link-time optimisation sees no reader of these variables. */
#define KEPT __attribute__((used, visibility("protected")))

KEPT struct jit_descriptor __jit_debug_descriptor = {.version = 1};

KEPT struct jitreg_debug_root jitreg_debug_root = {
	.magic = JITREG_DEBUG_ROOT_MAGIC,
	.version = JITREG_DEBUG_VERSION,
	.size = sizeof(struct jitreg_debug_root),
	.descriptor_size = sizeof(struct jit_descriptor),
	.entry_size = sizeof(struct jitreg_debug_entry),
	.descriptor = (uint64_t)&__jit_debug_descriptor,
};

/* The object without content: a header, and the table of section names. */
static const struct {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[2];
	char names[sizeof("\0.shstrtab")];
} empty_symfile = {
	.ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			    JITREG_DATA, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = JITREG_HOST_MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 2,
		.e_shstrndx = 1,
	},
	.shdrs[1] = {
		.sh_name = 1,
		.sh_type = SHT_STRTAB,
		.sh_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr),
		.sh_size = sizeof("\0.shstrtab"),
		.sh_addralign = 1,
	},
	.names = "\0.shstrtab",
};

static struct jit_code_entry empty_entry = {
	.symfile_addr = (const char *)&empty_symfile,
	.symfile_size = sizeof(empty_symfile),
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct jit_code_entry *last_entry;

/*
 * The place where debuggers stop. The barrier keeps the compiler from moving
 * stores of the caller past the call, and from leaving the call out because the body is empty.
 * The instruction is there for lldb/gorgon_lldb/auto.py, which has threads go on behind it.
 */
KEPT __attribute__((noinline, noclone)) void __jit_debug_register_code(void)
{
	__asm__ volatile("nop" ::: "memory");
}

/* Debuggers write their breakpoints into the code whenever the process runs. */
bool jitreg_descriptor_is_watched(void)
{
	return JITREG_HOST.is_breakpoint((const void *)(uintptr_t)__jit_debug_register_code);
}

void jitreg_making_lock(void)
{
	pthread_mutex_lock(&making);
}

void jitreg_making_unlock(void)
{
	pthread_mutex_unlock(&making);
}

void jitreg_lock(void)
{
	pthread_mutex_lock(&lock);
}

bool jitreg_trylock(void)
{
	return !pthread_mutex_trylock(&lock);
}

void jitreg_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void jitreg_before_fork(void)
{
	jitreg_making_lock();
	jitreg_lock();
}

void jitreg_after_fork(void)
{
	jitreg_unlock();
	jitreg_making_unlock();
}

static bool fork_by_caller; /* atomic */
/* by the handlers below */
static __thread bool held_for_fork __attribute__((tls_model("initial-exec")));

void jitreg_fork_by_caller(void)
{
	__atomic_store_n(&fork_by_caller, true, __ATOMIC_RELEASE);
}

static void before_fork(void)
{
	if (__atomic_load_n(&fork_by_caller, __ATOMIC_ACQUIRE))
		return;
	jitreg_before_fork();
	held_for_fork = true;
}

/* A caller who has come in between takes the locks around the next fork(). */
static void after_fork(void)
{
	if (!held_for_fork)
		return;
	held_for_fork = false;
	jitreg_after_fork();
}

__attribute__((constructor)) static void install_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static uint64_t descriptor_now(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void begin_change(void)
{
	__atomic_store_n(&jitreg_debug_root.sequence, jitreg_debug_root.sequence + 1,
			 __ATOMIC_RELAXED);
	__sync_synchronize(); // odd is seen before any edit
}

static void end_change(void)
{
	jitreg_debug_root.timestamp = descriptor_now();
	__atomic_store_n(&jitreg_debug_root.sequence, jitreg_debug_root.sequence + 1,
			 __ATOMIC_RELEASE);
}

/*
 * gdb goes on from its breakpoint by a step of this thread. If a signal waits for the thread, its
 * handler runs instead, and returns to the breakpoint, where gdb takes the same entry once more. So
 * no signal comes meanwhile but the breakpoint's own.
 */
static void descriptor_announce(uint32_t action, struct jit_code_entry *entry)
{
	const bool watched = jitreg_descriptor_is_watched();
	sigset_t signals, before;

	sigfillset(&signals);
	sigdelset(&signals, SIGTRAP);
	__jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = action;
	if (watched)
		pthread_sigmask(SIG_BLOCK, &signals, &before);
	__jit_debug_register_code();
	if (watched)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	__jit_debug_descriptor.action_flag = JIT_NOACTION;
	__jit_debug_descriptor.relevant_entry = NULL;
}

void jitreg_descriptor_add(struct jitreg_debug_entry *entry)
{
	struct jit_code_entry *base = &entry->base;

	begin_change();
	entry->magic = JITREG_DEBUG_ENTRY_MAGIC;
	entry->size = sizeof(*entry);
	entry->serial = ++jitreg_debug_root.serial;
	entry->timestamp = descriptor_now();
	base->next_entry = NULL;
	base->prev_entry = last_entry;
	if (last_entry)
		last_entry->next_entry = base;
	else
		__jit_debug_descriptor.first_entry = base;
	last_entry = base;
	jitreg_debug_root.entry_count++;
	end_change();

	descriptor_announce(JIT_REGISTER_FN, base);
}

void jitreg_descriptor_remove(struct jitreg_debug_entry *entry)
{
	struct jit_code_entry *base = &entry->base;

	begin_change();
	if (base->prev_entry)
		base->prev_entry->next_entry = base->next_entry;
	else
		__jit_debug_descriptor.first_entry = base->next_entry;
	if (base->next_entry)
		base->next_entry->prev_entry = base->prev_entry;
	else
		last_entry = base->prev_entry;
	entry->magic = 0;
	jitreg_debug_root.entry_count--;
	end_change();

	// the debugger identifies the entry by its address, and may read the symfile once more
	descriptor_announce(JIT_UNREGISTER_FN, base);
}

void jitreg_descriptor_settle(void)
{
	descriptor_announce(JIT_REGISTER_FN, &empty_entry);
	descriptor_announce(JIT_UNREGISTER_FN, &empty_entry);
}
