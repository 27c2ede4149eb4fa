// SPDX-License-Identifier: MIT
// gorgon_debug_root of another process, as it was at one moment; the format is in
// debug_root.h.
//
// The lists were whole if `sequence` was even before they were read, and has the same value
// afterwards. If not, take.c reads them again.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>
#include <string.h>

#define NS_MAX         100000
#define OBJECT_MAX     500000 // in all namespaces
#define ENTRY_SIZE_MAX 4096
#define NAME_MAX_SIZE  4096
#define NAMES_MAX      (256u << 20) // in all objects
#define SYMFILE_MAX    (256u << 20)
#define SYMFILES_MAX   (UINT64_C(2) << 30)
#define THREAD_MAX     500000
#define SLOT_MAX       (1u << 24) // of a thread

static char *read_text(struct target *target, struct snapshot *snapshot, uint64_t addr,
		       uint32_t size, uint64_t *budget)
{
	char bytes[NAME_MAX_SIZE];

	if (size > sizeof(bytes) || size > *budget) {
		problem(&snapshot->problems, "a name of %u bytes at 0x%lx: too long", size, addr);
		return NULL;
	}
	if (!target_read(target, addr, bytes, size)) {
		problem(&snapshot->problems, "a name of %u bytes at 0x%lx: cannot be read", size,
			addr);
		return NULL;
	}
	*budget -= size;
	return clean_text(bytes, size);
}

// It may change meanwhile, and a core may be damaged.
char *snapshot_text(const struct target *target, uint64_t addr)
{
	char text[GORGON_DEBUG_TEXT_SIZE];

	if (!addr || !target_read(target, addr, text, sizeof(text)))
		*text = 0;
	return clean_text(text, sizeof(text));
}

struct object *snapshot_add_object(struct snapshot *snapshot)
{
	snapshot->objects =
		grow(snapshot->objects, snapshot->object_count, sizeof(*snapshot->objects));
	snapshot->objects[snapshot->object_count] = (struct object){0};
	return &snapshot->objects[snapshot->object_count++];
}

void snapshot_drop_object(struct snapshot *snapshot)
{
	struct object *object = &snapshot->objects[--snapshot->object_count];

	free(object->path);
	free(object->debug_path);
	free(object->symfile_data);
}

// Whether the header and the last byte can be read: the rest lies between them.
bool symfile_is_elf(struct target *target, uint64_t addr, uint64_t size)
{
	Elf64_Ehdr ehdr;
	char last;

	return size >= sizeof(ehdr) && addr + size > addr &&
	       target_read(target, addr, &ehdr, sizeof(ehdr)) &&
	       target_read(target, addr + size - 1, &last, 1) &&
	       !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) && ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_shnum && ehdr.e_shoff < size;
}

void snapshot_read_symfile(struct target *target, struct snapshot *snapshot, struct object *object,
			   unsigned flags)
{
	if (!object->symfile)
		return;
	if (flags & SNAPSHOT_CHECKS)
		object->symfile_is_elf =
			symfile_is_elf(target, object->symfile, object->symfile_size);
	if (!(flags & SNAPSHOT_SYMFILES) ||
	    !address_set_add(&snapshot->symfiles_read, object->symfile))
		return;
	if (object->symfile_size > SYMFILE_MAX ||
	    object->symfile_size > SYMFILES_MAX - snapshot->symfile_bytes) {
		problem(&snapshot->problems, "symfile at 0x%lx: %lu bytes are too many",
			object->symfile, object->symfile_size);
		return;
	}
	object->symfile_data = target_copy(target, object->symfile, object->symfile_size);
	if (object->symfile_data)
		snapshot->symfile_bytes += object->symfile_size;
	else
		problem(&snapshot->problems, "symfile at 0x%lx: its %lu bytes cannot be read",
			object->symfile, object->symfile_size);
}

static void fill_object(struct target *target, struct snapshot *snapshot, struct object *object,
			const struct gorgon_debug_object *entry, uint64_t *budget)
{
	object->path =
		read_text(target, snapshot, entry->path, entry->path_size, budget) ?: format("?");
	if (entry->debug_path)
		object->debug_path = read_text(target, snapshot, entry->debug_path,
					       entry->debug_path_size, budget);
	if (entry->build_id_size > sizeof(object->build_id))
		problem(&snapshot->problems, "%s: a build-id of %u bytes; at most %zu expected",
			object->path, entry->build_id_size, sizeof(object->build_id));
	else if (!target_read(target, entry->build_id, object->build_id, entry->build_id_size))
		problem(&snapshot->problems, "%s: its build-id at 0x%lx cannot be read",
			object->path, entry->build_id);
	else
		object->build_id_size = entry->build_id_size;
	object->bias = entry->bias;
	object->start = entry->start;
	object->end = entry->end;
	object->symfile = entry->symfile;
	object->symfile_size = entry->symfile_size;
	object->debug_kind = entry->debug_kind;
	object->link_map = entry->link_map;
}

struct list_walk {
	struct target *target;
	struct snapshot *snapshot;
	unsigned flags;
	struct address_set seen; // entries of all lists: no entry is in two
	uint64_t name_budget;
	size_t total; // of objects, as the root has it
	size_t object_size; // of an entry, as far as it is known here
	size_t ns_size; // the same of a namespace
};

// False: the list ends here, and a problem says so.
static bool may_step(struct list_walk *walk, const char *what, uint64_t addr, size_t count,
		     size_t limit)
{
	if (count >= limit)
		problem(&walk->snapshot->problems, "the list of %s has more than %zu entries", what,
			limit);
	else if (!address_set_add(&walk->seen, addr))
		problem(&walk->snapshot->problems, "the list of %s leads to 0x%lx a second time",
			what, addr);
	else
		return true;
	return false;
}

static void read_objects(struct list_walk *walk, size_t ns, uint64_t head, uint32_t expected)
{
	struct snapshot *snapshot = walk->snapshot;
	uint64_t prev = 0, ns_addr = snapshot->namespaces[ns].addr;
	struct gorgon_debug_object entry = {0};
	char label[32];

	ns_label(snapshot, ns, label);
	snapshot->namespaces[ns].first_object = snapshot->object_count;
	for (uint64_t addr = head; addr; prev = addr, addr = entry.next) {
		struct object *object;

		if (!may_step(walk, "objects", addr, snapshot->object_count, OBJECT_MAX))
			break;
		if (!target_read(walk->target, addr, &entry, walk->object_size)) {
			problem(&snapshot->problems, "%s: an object at 0x%lx cannot be read", label,
				addr);
			break;
		}
		object = snapshot_add_object(snapshot);
		object->addr = addr;
		object->ns = ns;
		address_set_add(&snapshot->starts, entry.start);
		fill_object(walk->target, snapshot, object, &entry, &walk->name_budget);
		progress("objects", snapshot->object_count, walk->total);
		if (entry.prev != prev || entry.ns != ns_addr)
			problem(&snapshot->problems,
				"%s: %s: 'prev' is 0x%lx and 'ns' 0x%lx; 0x%lx and 0x%lx expected",
				label, object->path, entry.prev, entry.ns, prev, ns_addr);
		snapshot_read_symfile(walk->target, snapshot, object, walk->flags);
	}
	snapshot->namespaces[ns].object_count =
		snapshot->object_count - snapshot->namespaces[ns].first_object;
	if (snapshot->namespaces[ns].object_count != expected)
		problem(&snapshot->problems, "%s: %zu objects in its list; 'object_count' is %u",
			label, snapshot->namespaces[ns].object_count, expected);
}

static void read_namespaces(struct list_walk *walk, const struct gorgon_debug_root *root)
{
	struct snapshot *snapshot = walk->snapshot;
	struct gorgon_debug_ns entry;
	uint64_t prev = 0;

	walk->total = root->object_count;
	for (uint64_t addr = root->ns_head; addr; prev = addr, addr = entry.next) {
		size_t ns = snapshot->ns_count;

		if (!may_step(walk, "namespaces", addr, ns, NS_MAX))
			break;
		entry = (struct gorgon_debug_ns){0};
		if (!target_read(walk->target, addr, &entry, walk->ns_size)) {
			problem(&snapshot->problems, "a namespace at 0x%lx cannot be read", addr);
			break;
		}
		snapshot->namespaces =
			grow(snapshot->namespaces, ns, sizeof(*snapshot->namespaces));
		snapshot->namespaces[ns] = (struct namespace){
			.addr = addr,
			.id = entry.id,
			.interp = entry.interp,
			.state = entry.state,
			.python_minor = entry.python_minor,
			.python_object = entry.python_object,
			.thread = entry.thread,
			.usage = entry.usage,
			.activity = entry.activity,
			.label = entry.label,
			.job = entry.job,
			.copy_of = snapshot_text(walk->target, entry.copy_of),
		};
		snapshot->ns_count++;
		if (entry.prev != prev)
			problem(&snapshot->problems,
				"namespace %lu: 'prev' is 0x%lx; 0x%lx expected", entry.id,
				entry.prev, prev);
		read_objects(walk, ns, entry.object_head, entry.object_count);
	}
	if (snapshot->ns_count != root->ns_count || snapshot->object_count != root->object_count)
		problem(&snapshot->problems,
			"%zu namespaces and %zu objects in the lists; the root counts %u and %u",
			snapshot->ns_count, snapshot->object_count, root->ns_count,
			root->object_count);
}

// Whether the arrays of a thread can be read. They change while threads run, and `sequence` does
// not: an array that cannot be read is a problem only if the thread still lists it.
static bool has_slots(const struct list_walk *walk, uint64_t addr,
		      const struct gorgon_debug_thread *entry)
{
	struct gorgon_debug_thread again = {0};
	struct gorgon_debug_slot slot;
	uint64_t last = entry->slots + (entry->slot_count - 1) * sizeof(slot);

	if (!entry->slot_count)
		return true;
	if (entry->slot_count <= SLOT_MAX &&
	    target_read(walk->target, entry->slots, &slot, sizeof(slot)) &&
	    target_read(walk->target, last, &slot, sizeof(slot)))
		return true;
	return walk->target->pid &&
	       target_read(walk->target, addr, &again, offsetof(struct gorgon_debug_thread, ns)) &&
	       (again.slots != entry->slots || again.slot_count != entry->slot_count);
}

// In an older process the entry has no owner.
static bool read_thread(const struct list_walk *walk, const struct gorgon_debug_root *root,
			uint64_t addr, struct gorgon_debug_thread *entry)
{
	*entry = (struct gorgon_debug_thread){0};
	return target_read(walk->target, addr, entry,
			   root->thread_size < sizeof(*entry) ? root->thread_size : sizeof(*entry));
}

static bool has_threads(const struct gorgon_debug_root *root)
{
	return root->thread_head && root->thread_size >= offsetof(struct gorgon_debug_thread, ns) &&
	       root->thread_size <= ENTRY_SIZE_MAX;
}

// Reads the threads that code of a namespace has started. check_threads() says what is wrong with
// the list.
static void read_started_threads(struct list_walk *walk, const struct gorgon_debug_root *root)
{
	struct snapshot *snapshot = walk->snapshot;
	struct address_set seen = {0};
	struct gorgon_debug_thread entry;

	for (uint64_t addr = has_threads(root) ? root->thread_head : 0; addr; addr = entry.next) {
		if (seen.count >= THREAD_MAX || !address_set_add(&seen, addr) ||
		    !read_thread(walk, root, addr, &entry))
			break;
		if (!entry.ns)
			continue;
		snapshot->threads =
			grow(snapshot->threads, snapshot->thread_count, sizeof(*snapshot->threads));
		snapshot->threads[snapshot->thread_count++] =
			(struct started_thread){entry.tid, entry.ns};
	}
	address_set_deinit(&seen);
}

// Checks the whole list of threads, since debuggers' scripts read it.
static void check_threads(struct list_walk *walk, const struct gorgon_debug_root *root)
{
	struct problems *problems = &walk->snapshot->problems;
	struct gorgon_debug_thread entry;
	uint64_t prev = 0;
	size_t count = 0;

	if (root->thread_head && !has_threads(root)) {
		problem(problems, "gorgon_debug_root: thread size is %u; %zu to %u expected",
			root->thread_size, offsetof(struct gorgon_debug_thread, ns),
			ENTRY_SIZE_MAX);
		return;
	}
	for (uint64_t addr = root->thread_head; addr; prev = addr, addr = entry.next) {
		if (!may_step(walk, "threads", addr, count, THREAD_MAX))
			return;
		if (!read_thread(walk, root, addr, &entry)) {
			problem(problems, "a thread at 0x%lx cannot be read", addr);
			return;
		}
		count++;
		if (entry.prev != prev)
			problem(problems, "thread %lu: 'prev' is 0x%lx; 0x%lx expected", entry.tid,
				entry.prev, prev);
		if (!entry.tid || entry.tid > INT32_MAX)
			problem(problems, "thread at 0x%lx: %lu is no thread's number", addr,
				entry.tid);
		if (!has_slots(walk, addr, &entry))
			problem(problems, "thread %lu: its %lu slots at 0x%lx cannot be read",
				entry.tid, entry.slot_count, entry.slots);
	}
	if (count != root->thread_count)
		problem(problems, "%zu threads in the list; the root counts %u", count,
			root->thread_count);
}

// True: its lists may be followed.
static bool check_root(const struct gorgon_debug_root *root, struct problems *problems)
{
	const struct {
		const char *what;
		uint32_t size, least;
	} sizes[] = {
		{"root", root->size, sizeof(*root)},
		// Older processes have no figures.
		{"namespace", root->ns_size, offsetof(struct gorgon_debug_ns, usage)},
		// Older processes have no link_map.
		{"object", root->object_size, offsetof(struct gorgon_debug_object, link_map)},
	};

	if (memcmp(root->magic, GORGON_DEBUG_MAGIC, sizeof(root->magic))) {
		static const char unused[sizeof(root->magic)];

		if (memcmp(root->magic, unused, sizeof(unused)) || root->version)
			problem(problems,
				"gorgon_debug_root does not begin with %s: it is damaged or "
				"belongs to something else",
				GORGON_DEBUG_MAGIC);
		return false;
	}
	if (root->version != GORGON_DEBUG_VERSION) {
		problem(problems, "gorgon_debug_root has version %u; this program knows version %u",
			root->version, GORGON_DEBUG_VERSION);
		return false;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i].size < sizes[i].least || sizes[i].size > ENTRY_SIZE_MAX) {
			problem(problems, "gorgon_debug_root: %s size is %u; %u to %u expected",
				sizes[i].what, sizes[i].size, sizes[i].least, ENTRY_SIZE_MAX);
			return false;
		}
	return true;
}

bool snapshot_read_root(struct target *target, uint64_t addr, unsigned flags,
			struct snapshot *snapshot)
{
	struct list_walk walk = {target, snapshot, flags, .name_budget = NAMES_MAX};
	struct gorgon_debug_root root, after;

	if (!target_read(target, addr, &root, sizeof(root)) ||
	    !check_root(&root, &snapshot->problems))
		return false;
	walk.object_size = root.object_size < sizeof(struct gorgon_debug_object)
				   ? root.object_size
				   : sizeof(struct gorgon_debug_object);
	walk.ns_size = root.ns_size < sizeof(struct gorgon_debug_ns)
			       ? root.ns_size
			       : sizeof(struct gorgon_debug_ns);
	snapshot->source = SOURCE_GORGON;
	snapshot->root = addr;
	snapshot->sequence = root.sequence;
	if (!(root.sequence & 1) || flags & SNAPSHOT_ANYWAY)
		read_namespaces(&walk, &root);
	read_started_threads(&walk, &root);
	if (flags & SNAPSHOT_CHECKS && (!(root.sequence & 1) || flags & SNAPSHOT_ANYWAY))
		check_threads(&walk, &root);
	progress_end();
	address_set_deinit(&walk.seen);
	snapshot->consistent = !(root.sequence & 1) &&
			       target_read(target, addr, &after, sizeof(after)) &&
			       after.sequence == root.sequence;
	return true;
}

static int compare_starts(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void snapshot_index(struct snapshot *snapshot)
{
	snapshot->by_start = zalloc(snapshot->object_count, sizeof(*snapshot->by_start));
	for (size_t i = 0; i < snapshot->object_count; i++)
		if (snapshot->objects[i].start < snapshot->objects[i].end)
			snapshot->by_start[snapshot->range_count++] = &snapshot->objects[i];
	if (snapshot->range_count)
		qsort(snapshot->by_start, snapshot->range_count, sizeof(*snapshot->by_start),
		      compare_starts);
}

struct object *snapshot_find(const struct snapshot *snapshot, uint64_t addr)
{
	size_t low = 0, high = snapshot->range_count;

	// The last object that starts at or before the address.
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot->by_start[middle]->start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < snapshot->by_start[low - 1]->end ? snapshot->by_start[low - 1] : NULL;
}

const struct object *snapshot_libpython(const struct snapshot *snapshot, size_t ns)
{
	const struct namespace *namespace = &snapshot->namespaces[ns];

	for (size_t i = 0; i < namespace->object_count; i++)
		if (snapshot->objects[namespace->first_object + i].addr == namespace->python_object)
			return &snapshot->objects[namespace->first_object + i];
	return NULL;
}

const char *ns_label(const struct snapshot *snapshot, size_t ns, char buffer[32])
{
	const struct namespace *namespace = ns == NO_NS ? NULL : &snapshot->namespaces[ns];

	if (!namespace)
		snprintf(buffer, 32, "jit");
	else if (namespace->interp == GORGON_DEBUG_NO_INTERP)
		snprintf(buffer, 32, "namespace %lu", namespace->id);
	else
		snprintf(buffer, 32, "interp %u", namespace->interp);
	return buffer;
}

void snapshot_reset(struct snapshot *snapshot)
{
	while (snapshot->object_count)
		snapshot_drop_object(snapshot);
	free(snapshot->objects);
	for (size_t i = 0; i < snapshot->ns_count; i++)
		free(snapshot->namespaces[i].copy_of);
	free(snapshot->namespaces);
	free(snapshot->threads);
	free(snapshot->by_start);
	address_set_deinit(&snapshot->jit_symfiles);
	address_set_deinit(&snapshot->symfiles_read);
	address_set_deinit(&snapshot->starts);
	problems_deinit(&snapshot->problems);
	*snapshot = (struct snapshot){0};
}

void snapshot_deinit(struct snapshot *snapshot)
{
	snapshot_reset(snapshot);
}
