// SPDX-License-Identifier: MIT
// What libdwfl is told of a target, so that it can unwind its threads.
//
// Our objects are reported to it at their addresses beside the system's files, and each file is
// opened only when a frame is in it, and once for all its copies. libdwfl compares each object that
// is reported with all before it, and most objects have no frame: it is told of an object when the
// first frame is in it, between that frame and its caller. So each thread is read once.

#define _GNU_SOURCE
#include "unwind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A file that frames are in, or what stands for one of generated code.
struct file {
	const char *path;            // of a mapping
	const struct object *object; // or generated code
	int fd;
	void *data;
	Elf *elf;
};

static struct file *add_file(struct unwinder *unwinder)
{
	unwinder->files = grow(unwinder->files, unwinder->file_count, sizeof(*unwinder->files));
	unwinder->files[unwinder->file_count] = (struct file){.fd = -1};
	return &unwinder->files[unwinder->file_count++];
}

// @mapping: of that file, or NULL: the target's mappings are not known.
static struct file *find_mapped(struct unwinder *unwinder, const char *path,
				const struct mapping *mapping)
{
	const struct target *target = &unwinder->dump->target;
	struct file *file;

	for (size_t i = 0; i < unwinder->file_count; i++)
		if (unwinder->files[i].path && !strcmp(unwinder->files[i].path, path))
			return &unwinder->files[i];
	file = add_file(unwinder);
	file->path = path;
	file->fd = mapping ? target_open_mapping(target, mapping) : target_open_file(target, path);
	if (file->fd >= 0)
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	return file;
}

static struct file *find_generated(struct unwinder *unwinder, const struct object *object)
{
	struct file *file;

	for (size_t i = 0; i < unwinder->file_count; i++)
		if (unwinder->files[i].object == object)
			return &unwinder->files[i];
	file = add_file(unwinder);
	file->object = object;
	file->elf = generated_elf(&unwinder->dump->target, object, &file->data);
	return file;
}

// All modules have the unwinder as userdata; the address says which module is meant.
static int find_elf(Dwfl_Module *module __attribute__((unused)), void **userdata, const char *name,
		    Dwarf_Addr base, char **file_name, Elf **elf)
{
	struct unwinder *unwinder = *userdata;
	const struct mapping *mapping = target_find_mapping(&unwinder->dump->target, base);
	const struct object *object = snapshot_find(&unwinder->dump->snapshot, base);
	struct file *file = NULL;

	if (mapping)
		file = find_mapped(unwinder, mapping->path, mapping);
	else if (object && *object->path)
		file = find_mapped(unwinder, object->path, NULL);
	if (object && !mapping && !(file && file->elf))
		file = find_generated(unwinder, object);
	if (file && file->elf) { // one more reference to the same file
		*elf = elf_begin(-1, ELF_C_READ_MMAP, file->elf);
		*file_name = strdup(mapping ? mapping->path : name);
	}
	return -1;
}

static void unwind_report(Dwfl *dwfl, struct unwinder *unwinder, const char *path, uint64_t start,
			  uint64_t end)
{
	Dwfl_Module *module = dwfl_report_module(dwfl, base_name(path), start, end);
	void **userdata;

	if (!module)
		return;
	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = unwinder;
}

static void report_system(Dwfl *dwfl, struct unwinder *unwinder)
{
	const struct target *target = &unwinder->dump->target;
	const struct snapshot *snapshot = &unwinder->dump->snapshot;

	for (size_t i = 0; i < target->mapping_count;) {
		const struct mapping *first = &target->mappings[i++];

		// Parts of one file that follow each other are one library.
		while (i < target->mapping_count && target->mappings[i].off &&
		       !strcmp(target->mappings[i].path, first->path))
			i++;
		if (!first->off && !snapshot_find(snapshot, first->start))
			unwind_report(dwfl, unwinder, first->path, first->start,
				      target->mappings[i - 1].end);
	}
}

void unwinder_init(struct unwinder *unwinder, struct dump *dump)
{
	*unwinder = (struct unwinder){
		.dump = dump,
		.known = zalloc(dump->snapshot.object_count, sizeof(*unwinder->known))};
}

void unwinder_deinit(struct unwinder *unwinder)
{
	unwinder_end(unwinder);
	for (size_t i = 0; i < unwinder->file_count; i++) {
		elf_end(unwinder->files[i].elf);
		free(unwinder->files[i].data);
		if (unwinder->files[i].fd >= 0)
			close(unwinder->files[i].fd);
	}
	free(unwinder->files);
	free(unwinder->known);
	*unwinder = (struct unwinder){0};
}

static bool unwind_attach(struct unwinder *unwinder, bool is_stopped)
{
	const struct target *target = &unwinder->dump->target;

	if (!target->pid && target->core_machine == EM_AARCH64)
		return (unwinder->core = aarch64_core_attach(unwinder->dwfl, target,
							     &unwinder->dump->snapshot));
	return (target->pid ? dwfl_linux_proc_attach(unwinder->dwfl, target->pid, is_stopped)
			    : dwfl_core_file_attach(unwinder->dwfl, target->core)) >= 0;
}

Dwfl *unwinder_begin(struct unwinder *unwinder, bool is_stopped)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};

	unwinder_end(unwinder);
	unwinder->dwfl = dwfl_begin(&callbacks);
	if (!unwinder->dwfl)
		return NULL;
	dwfl_report_begin(unwinder->dwfl);
	report_system(unwinder->dwfl, unwinder);
	dwfl_report_end(unwinder->dwfl, NULL, NULL);
	return unwind_attach(unwinder, is_stopped) ? unwinder->dwfl : NULL;
}

void unwinder_end(struct unwinder *unwinder)
{
	dwfl_end(unwinder->dwfl);
	unwinder->dwfl = NULL;
	aarch64_core_free(unwinder->core);
	unwinder->core = NULL;
}

static void learn(struct unwinder *unwinder, uint64_t addr)
{
	const struct snapshot *snapshot = &unwinder->dump->snapshot;
	const struct object *object = snapshot_find(snapshot, addr);

	if (!object || unwinder->known[object - snapshot->objects])
		return;
	unwinder->known[object - snapshot->objects] = true;
	dwfl_report_begin_add(unwinder->dwfl);
	unwind_report(unwinder->dwfl, unwinder, object->path, object->start, object->end);
	dwfl_report_end(unwinder->dwfl, NULL, NULL);
}

// To say what the address is libdwfl looks for the frame's caller. If it knows no object there
// then, it follows frame pointers, also where code has none, and keeps what it has found.
bool unwinder_frame(struct unwinder *unwinder, Dwfl_Frame *state, uint64_t *pc, bool *after)
{
	bool activation;

	if (!dwfl_frame_pc(state, pc, NULL))
		return false;
	learn(unwinder, *pc - 1);
	learn(unwinder, *pc);
	if (!dwfl_frame_pc(state, pc, &activation))
		return false;
	*after = !activation;
	return true;
}
