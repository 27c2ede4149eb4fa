// SPDX-License-Identifier: MIT Cores of aarch64. Code of this machine may sign return addresses:
// bits of a saved address that the address itself does not need then hold a signature.
//
// libdwfl leaves the signature there (elfutils 0.188), and looks for code at an address that no
// code has. So the threads of such a core are read here. Where a value on a stack is an address of
// code only without a signature, libdwfl gets it without.
//
// Which bits are a signature the kernel says in a note of the core (NT_ARM_PAC_MASK); they depend
// on how many bits addresses have. QEMU writes no such note, and has addresses of 48 bits.
//
// Not handled: processes, which are read by libdw's own means.
//
// Specification: Linux, Documentation/arm64/pointer-authentication.rst.

#define _GNU_SOURCE
#include "unwind.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

// Bits 48 to 54. Bit 55 is set in addresses of the kernel, and the bits above it are free for the
// program.
#define MASK_48 (UINT64_C(0x7f) << 48)

// struct elf_prstatus and struct user_pt_regs of the kernel.
#define PRSTATUS_TID  32
#define PRSTATUS_REGS 112

enum {
	X30 = 30,
	SP = 31,
	PC = 32,
	REGISTER_COUNT = 33,
};

struct core_thread {
	pid_t tid;
	uint64_t regs[REGISTER_COUNT];
};

struct aarch64_core {
	const struct target *target;
	const struct snapshot *snapshot;
	uint64_t mask;
	struct core_thread *threads;
	size_t count;
};

static uint64_t without_signature(const struct aarch64_core *core, uint64_t value)
{
	uint64_t addr = value & ~core->mask;

	if (addr == value || target_find_mapping(core->target, value) ||
	    snapshot_find(core->snapshot, value) ||
	    !(target_find_mapping(core->target, addr) || snapshot_find(core->snapshot, addr)))
		return value;
	return addr;
}

static pid_t next_thread(Dwfl *dwfl __attribute__((unused)), void *arg, void **thread_arg)
{
	struct aarch64_core *core = arg;
	struct core_thread *next =
		*thread_arg ? (struct core_thread *)*thread_arg + 1 : core->threads;

	if (!core->count || next == core->threads + core->count)
		return 0;
	*thread_arg = next;
	return next->tid;
}

static bool read_memory(Dwfl *dwfl __attribute__((unused)), Dwarf_Addr addr, Dwarf_Word *result,
			void *arg)
{
	const struct aarch64_core *core = arg;
	uint64_t word;

	if (!target_read(core->target, addr, &word, sizeof(word)))
		return false;
	*result = without_signature(core, word);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct core_thread *from = arg;

	dwfl_thread_state_register_pc(thread, from->regs[PC]);
	return dwfl_thread_state_registers(thread, 0, SP + 1, from->regs);
}

static void add_thread(struct aarch64_core *core, const char *status)
{
	struct core_thread *thread;
	int32_t tid;

	core->threads = grow(core->threads, core->count, sizeof(*core->threads));
	thread = &core->threads[core->count++];
	memcpy(&tid, status + PRSTATUS_TID, sizeof(tid));
	memcpy(thread->regs, status + PRSTATUS_REGS, sizeof(thread->regs));
	thread->tid = tid;
	thread->regs[X30] = without_signature(core, thread->regs[X30]);
}

// Calls @note for each note of the core with at least @least bytes.
static void for_each_note(struct aarch64_core *core, uint32_t type, size_t least,
			  void (*note)(struct aarch64_core *core, const char *bytes))
{
	size_t count, off = 0, name, desc;
	GElf_Phdr phdr;
	GElf_Nhdr nhdr;

	if (elf_getphdrnum(core->target->core, &count))
		return;
	for (size_t i = 0; i < count; i++, off = 0) {
		Elf_Data *data = NULL;

		if (gelf_getphdr(core->target->core, (int)i, &phdr) && phdr.p_type == PT_NOTE)
			data = elf_getdata_rawchunk(core->target->core, (int64_t)phdr.p_offset,
						    phdr.p_filesz, ELF_T_NHDR);
		while (data && (off = gelf_getnote(data, off, &nhdr, &name, &desc)) > 0)
			if (nhdr.n_type == type && nhdr.n_descsz >= least)
				note(core, (const char *)data->d_buf + desc);
	}
}

// The note has the mask of signatures of data, then the mask of signatures of code.
static void set_mask(struct aarch64_core *core, const char *bytes)
{
	memcpy(&core->mask, bytes + sizeof(core->mask), sizeof(core->mask));
}

struct aarch64_core *aarch64_core_attach(Dwfl *dwfl, const struct target *target,
					 const struct snapshot *snapshot)
{
	static const Dwfl_Thread_Callbacks callbacks = {
		.next_thread = next_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	struct aarch64_core *core = zalloc(1, sizeof(*core));

	*core = (struct aarch64_core){.target = target, .snapshot = snapshot, .mask = MASK_48};
	for_each_note(core, NT_ARM_PAC_MASK, 2 * sizeof(core->mask), set_mask);
	for_each_note(core, NT_PRSTATUS, PRSTATUS_REGS + REGISTER_COUNT * sizeof(uint64_t),
		      add_thread);
	if (core->count &&
	    dwfl_attach_state(dwfl, target->core, core->threads[0].tid, &callbacks, core))
		return core;
	aarch64_core_free(core);
	return NULL;
}

void aarch64_core_free(struct aarch64_core *core)
{
	if (core)
		free(core->threads);
	free(core);
}
