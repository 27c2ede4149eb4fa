// SPDX-License-Identifier: MIT The lists of GDB's JIT interface ("JIT Compilation Interface" in its
// manual), which every program with generated code may have: LLVM, numba, LuaJIT. libjitreg's own
// list also has a sequence and ranges (descriptor.h). A plain list is taken for consistent when two
// readings of it are equal.

#define _GNU_SOURCE
#include "symdump.h"

#include "descriptor.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_MAX 500000

#define DESCRIPTOR_VERSION 1u // of GDB's manual

// A summary of a walk over a list, by which two walks can be compared.
struct reading {
	uint64_t sum, sequence;
};

static void fill_from_jitreg(struct target *target, struct object *object,
			     const struct jitreg_debug_entry *entry)
{
	const struct mapping *mapping = target_find_mapping(target, entry->start);

	object->bias = entry->bias;
	object->start = entry->start;
	object->end = entry->end;
	if (mapping && entry->start < entry->end) {
		free(object->path);
		object->path = clean_text(mapping->path, strlen(mapping->path));
	}
}

// The range of addresses of a symfile's sections, for a list that does not state a range.
static void fill_from_symfile(struct object *object)
{
	Elf *elf = elf_memory((char *)object->symfile_data, object->symfile_size);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while (elf && (scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &shdr)) {
		if (!(shdr.sh_flags & SHF_ALLOC) || !shdr.sh_addr || !shdr.sh_size ||
		    shdr.sh_addr + shdr.sh_size < shdr.sh_addr)
			continue;
		if (!object->end || shdr.sh_addr < object->start)
			object->start = shdr.sh_addr;
		if (shdr.sh_addr + shdr.sh_size > object->end)
			object->end = shdr.sh_addr + shdr.sh_size;
	}
	elf_end(elf);
}

// What to do with the entries of a list.
enum use {
	COMPARE, // with another reading
	ADD,
	ADD_GENERATED, // unless the registry has it
};

static void add_entry(struct target *target, struct snapshot *snapshot, bool is_jitreg,
		      enum use use, unsigned flags, uint64_t addr,
		      const struct jit_code_entry *entry)
{
	struct jitreg_debug_entry more = {0};
	struct object *object;

	if (is_jitreg && (!target_read(target, addr, &more, sizeof(more)) ||
			  more.magic != JITREG_DEBUG_ENTRY_MAGIC)) {
		more = (struct jitreg_debug_entry){0};
		problem(&snapshot->problems, "JIT entry at 0x%lx: no magic: not in use", addr);
	}
	if (use == ADD_GENERATED && address_set_has(&snapshot->starts, more.start))
		return;
	object = snapshot_add_object(snapshot);
	object->ns = NO_NS;
	object->addr = addr;
	object->symfile = (uintptr_t)entry->symfile_addr;
	object->symfile_size = entry->symfile_size;
	object->path = format("%s", "");
	if (is_jitreg)
		fill_from_jitreg(target, object, &more);
	// Without a file the symfile is the only source of names.
	snapshot_read_symfile(target, snapshot, object,
			      *object->path ? flags : flags | SNAPSHOT_SYMFILES);
	if (object->symfile_data && !object->end)
		fill_from_symfile(object);
	// libjitreg's list has the entries of a private compiler's own list, too.
	if (use == ADD_GENERATED && !address_set_add(&snapshot->starts, object->start))
		snapshot_drop_object(snapshot);
}

static bool is_view(const struct mapping *mapping)
{
	return mapping && !mapping->off;
}

// There is only one version, and debuggers take no other. A descriptor of zeros has not been used
// by its owner yet. The kernel leaves a descriptor that was never written to out of a core;
// libjitreg's was written to.
static bool read_descriptor(struct target *target, uint64_t addr, bool is_jitreg, unsigned flags,
			    struct problems *problems, struct jit_descriptor *ret)
{
	if (!target_read(target, addr, ret, sizeof(*ret))) {
		if (is_jitreg && flags & SNAPSHOT_CHECKS)
			problem(problems, "the JIT descriptor at 0x%lx cannot be read", addr);
		return false;
	}
	if (ret->version == DESCRIPTOR_VERSION || (!ret->version && !ret->first_entry))
		return true;
	// If the target has mapped a whole file to read it (libelf does), other bytes of the file
	// are at the address of the symbol. Such a mapping contains the beginning of the file, too,
	// and the bytes are no version.
	if (flags & SNAPSHOT_CHECKS &&
	    (ret->version <= UINT8_MAX || !is_view(target_find_mapping(target, addr))))
		problem(problems, "the JIT descriptor at 0x%lx has version %u; %u expected", addr,
			ret->version, DESCRIPTOR_VERSION);
	return false;
}

static void check_entry(struct target *target, uint64_t addr, const struct jit_code_entry *entry,
			struct problems *problems)
{
	uint64_t symfile = (uintptr_t)entry->symfile_addr;

	if (!symfile_is_elf(target, symfile, entry->symfile_size))
		problem(problems,
			"JIT entry at 0x%lx: its symfile 0x%lx of %lu bytes is no ELF64 file with "
			"sections",
			addr, symfile, entry->symfile_size);
}

static bool read_list(struct target *target, uint64_t descriptor_addr, bool is_jitreg, enum use use,
		      unsigned flags, struct address_set *seen, struct snapshot *snapshot,
		      struct reading *reading)
{
	struct jit_descriptor descriptor;
	struct jit_code_entry entry;
	uint64_t prev = 0;

	if (!read_descriptor(target, descriptor_addr, is_jitreg, flags, &snapshot->problems,
			     &descriptor))
		return false;
	for (uint64_t addr = (uintptr_t)descriptor.first_entry; addr;
	     prev = addr, addr = (uintptr_t)entry.next_entry) {
		if (seen->count >= ENTRY_MAX) {
			problem(&snapshot->problems, "the JIT lists have more than %u entries",
				ENTRY_MAX);
			break;
		}
		if (!address_set_add(seen, addr)) {
			if (addr != (uintptr_t)descriptor.first_entry) // a list with two heads
				problem(&snapshot->problems,
					"the JIT list at 0x%lx leads to 0x%lx a second time",
					descriptor_addr, addr);
			break;
		}
		if (!target_read(target, addr, &entry, sizeof(entry))) {
			problem(&snapshot->problems,
				"the JIT list at 0x%lx: an entry at 0x%lx cannot be read",
				descriptor_addr, addr);
			break;
		}
		if ((uintptr_t)entry.prev_entry != prev)
			problem(&snapshot->problems,
				"JIT entry at 0x%lx: 'prev' is %p; 0x%lx expected", addr,
				(void *)entry.prev_entry, prev);
		reading->sum = (reading->sum ^ addr) * UINT64_C(0x100000001b3) ^
			       (uintptr_t)entry.symfile_addr ^ entry.symfile_size;
		address_set_add(&snapshot->jit_symfiles, (uintptr_t)entry.symfile_addr);
		if (flags & SNAPSHOT_CHECKS)
			check_entry(target, addr, &entry, &snapshot->problems);
		if (use != COMPARE)
			add_entry(target, snapshot, is_jitreg, use, flags, addr, &entry);
	}
	snapshot->has_jit_list = true;
	return true;
}

// Whether @descriptor is libjitreg's; if so, adds its sequence to the reading.
static bool belongs_to_jitreg(struct target *target, const struct heads *heads, uint64_t descriptor,
			      uint64_t *sequence, bool *changing)
{
	uint64_t its_sequence, its_descriptor;

	for (size_t i = 0; i < heads->jitreg_count; i++)
		if (jitreg_read(target, heads->jitregs[i], &its_sequence, &its_descriptor) &&
		    its_descriptor == descriptor) {
			*sequence += its_sequence;
			*changing |= its_sequence & 1;
			return true;
		}
	return false;
}

static bool read_all(struct target *target, const struct heads *heads, enum use use, unsigned flags,
		     struct snapshot *snapshot, struct reading *reading, bool *changing)
{
	struct address_set seen = {0};
	bool found = false, all_jitreg = true;

	for (size_t i = 0; i < heads->descriptor_count; i++) {
		bool is_jitreg = belongs_to_jitreg(target, heads, heads->descriptors[i],
						   &reading->sequence, changing);

		found |= read_list(target, heads->descriptors[i], is_jitreg, use, flags, &seen,
				   snapshot, reading);
		all_jitreg &= is_jitreg;
	}
	address_set_deinit(&seen);
	if (use == ADD)
		snapshot->source = all_jitreg ? SOURCE_JITREG : SOURCE_JIT;
	return found;
}

bool jitlist_read(struct target *target, const struct heads *heads, bool beside, unsigned flags,
		  struct snapshot *snapshot)
{
	struct reading first = {0}, second = {0};
	struct snapshot again = {0};
	bool changing = false, found;

	snapshot->listed_count = snapshot->object_count;
	found = read_all(target, heads, beside ? ADD_GENERATED : ADD, flags, snapshot, &first,
			 &changing);
	read_all(target, heads, COMPARE, 0, &again, &second, &changing);
	snapshot_reset(&again);
	if (!beside) {
		snapshot->consistent = true;
		snapshot->sequence = first.sequence;
	}
	snapshot->consistent &=
		!changing && first.sum == second.sum && first.sequence == second.sequence;
	return found;
}
