// SPDX-License-Identifier: MIT
// Isolation by copies of files: each private library is written anew for each interpreter
// (../copy/rewrite.c), so that the system's linker takes it for another library, and loaded
// with RTLD_LOCAL.
//
// A copy has a DT_SONAME of its own and needs, by path, the copies of the private libraries that
// the original needs. A copy that uses CPython's API needs its interpreter's libpython besides,
// which extensions do not name. The loader's rules decide what is private, and the first step of
// its loads (../load/load_set.c) finds it.
//
// Copies are in slots. A slot is a folder inside the private folder of the process (folder.c), and
// belongs to an interpreter as long as the interpreter lives:
//
//	TMPDIR/gorgon-copies-XXXXXX/SLOT/NUMBER/libfoo.so.1
//
// A later interpreter with an equal libpython and equal rules takes a free slot over, with its
// copies. When the linker did not unload a library of a slot, the slot is not used again: that
// library would not start afresh. Files are told apart by device, inode, size and time, as not all
// have a build-id.
//
// Debuggers are told the names of the original files: a copy has the addresses and the build-id of
// its original, and is gone when somebody looks at a core.
//
// Limits: a name in the host's global scope comes before the copies' own, so a host that has a
// libpython there is refused; RTLD_GLOBAL is refused, as it would reach all interpreters; code that
// looks for files beside itself (dladdr) finds the folder of its copy.

#define _GNU_SOURCE
#include "folder.h"
#include "linked.h"
#include "copy/rewrite.h"
#include "ns/closure.h"
#include "base/error.h"
#include "load/load_set.h"
#include "base/lock.h"
#include "ns/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct copy {
	struct copy *next;
	char *from, *to;
	struct stat st; /* of the original */
	unsigned number;
	bool written;
};

struct slot {
	struct slot *next;
	unsigned number;
	char *folder;
	pid_t pid; /* of the process that has made the folder */
	char *key; /* its interpreters' libpython and rules, see make_key() */
	bool used;
	bool unusable; /* the linker has kept a library of it */
	struct copy *copies; /* newest first */
	unsigned copy_count;
};

// Under the lock of linked.c.
static struct slot *slots;
static unsigned slot_count;

static struct gorgon_error *make_folder(const char *path)
{
	return mkdir(path, 0700) ? gorgon_error_create_os(errno, "%s", path) : NULL;
}

// ---- slots --------------------------------------------------------------------------

// Make the slot's folder, if this process has not made one for it. A forked child writes into a
// folder of its own; the copies that it has inherited stay in its parent's folder.
static struct gorgon_error *give_folder(struct slot *slot)
{
	struct gorgon_error *err;
	const char *folder;
	char *path;

	if (slot->pid == getpid())
		return NULL;
	if ((err = gorgon_folder_get(&folder)))
		return err;
	if (asprintf(&path, "%s/%u", folder, slot->number) < 0)
		return &gorgon_error_nomem;
	if ((err = make_folder(path))) {
		free(path);
		return err;
	}
	free(slot->folder);
	slot->folder = path;
	slot->pid = getpid();
	return NULL;
}

// A text of all that decides which libraries are private and what they need. It includes the
// libpython's inode and time, because the file may have been replaced.
static char *make_key(const struct gorgon_ns *ns, const char *python)
{
	struct stat st = {0}; // stays so when there is no such file: the load will say so
	size_t size;
	char *key = NULL;
	FILE *file = open_memstream(&key, &size);

	if (!file)
		return NULL;
	stat(python, &st);
	fprintf(file, "%s %lu %lu %ld.%09ld", python, st.st_dev, st.st_ino, st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
	for (char **p = ns->policy.share; p && *p; p++)
		fprintf(file, "\nshare %s", *p);
	for (char **p = ns->policy.keep_private; p && *p; p++)
		fprintf(file, "\nprivate %s", *p);
	if (!fclose(file))
		return key;
	free(key);
	return NULL;
}

// The slot owns the key after success.
static struct gorgon_error *create_slot(char *key, struct slot **ret)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	struct gorgon_error *err;

	if (!slot)
		return &gorgon_error_nomem;
	slot->number = slot_count;
	if ((err = give_folder(slot))) {
		free(slot);
		return err;
	}
	slot->key = key;
	slot_count++;
	slot->next = slots;
	slots = slot;
	*ret = slot;
	return NULL;
}

// A slot that a forked child has inherited belongs to its parent.
static bool may_take(const struct slot *slot, const char *key)
{
	return !slot->used && !slot->unusable && slot->pid == getpid() && !strcmp(slot->key, key);
}

static struct gorgon_error *take_slot(struct gorgon_ns *ns, const char *python)
{
	char *key = make_key(ns, python);
	struct gorgon_error *err = NULL;
	struct slot *slot = slots;

	if (!key)
		return &gorgon_error_nomem;
	while (slot && !may_take(slot, key))
		slot = slot->next;
	if (slot || (err = create_slot(key, &slot)))
		free(key);
	if (err)
		return err;
	slot->used = true;
	ns->linked->slot = slot;
	return NULL;
}

static void copy_closed(struct gorgon_ns *ns, size_t left)
{
	struct slot *slot = ns->linked->slot;

	if (!slot)
		return;
	slot->used = false;
	slot->unusable |= left;
}

// ---- copies -------------------------------------------------------------------------

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct copy *find_copy(const struct slot *slot, const struct gorgon_object *object)
{
	struct copy *copy = slot->copies;

	while (copy && !is_same_file(&copy->st, &object->image->st))
		copy = copy->next;
	return copy;
}

static void free_copy(struct copy *copy)
{
	free(copy->from);
	free(copy->to);
	free(copy);
}

// Choose the path of an object's copy. The file is written later (write_copy()).
static struct gorgon_error *plan_copy(struct slot *slot, const struct gorgon_object *object)
{
	const char *slash = strrchr(object->path, '/');
	struct gorgon_error *err = NULL;
	struct copy *copy;
	char *place;

	if (find_copy(slot, object))
		return NULL;
	if (!(copy = calloc(1, sizeof(*copy))))
		return &gorgon_error_nomem;
	copy->st = object->image->st;
	copy->number = slot->copy_count;
	copy->from = strdup(object->path);
	if (asprintf(&place, "%s/%u", slot->folder, copy->number) < 0)
		place = NULL;
	if (!place || asprintf(&copy->to, "%s/%s", place, slash ? slash + 1 : object->path) < 0) {
		copy->to = NULL;
		err = &gorgon_error_nomem;
	}
	if (!err && !copy->from)
		err = &gorgon_error_nomem;
	if (!err)
		err = make_folder(place);
	free(place);
	if (err) {
		free_copy(copy);
		return err;
	}
	slot->copy_count++;
	copy->next = slot->copies;
	slot->copies = copy;
	return NULL;
}

static bool uses_python(const struct gorgon_image *image)
{
	for (uint32_t i = 1; i < image->symbol_count; i++)
		if (image->symbols[i].st_shndx == SHN_UNDEF &&
		    gorgon_policy_is_python_symbol(image->strtab + image->symbols[i].st_name))
			return true;
	return false;
}

// Find the new name for each DT_NEEDED. The loader's lists of private and of shared dependencies
// are both in the order of DT_NEEDED. The lock is held.
static struct gorgon_error *name_needs(const struct slot *slot, const struct gorgon_object *object,
				       struct gorgon_rewrite_name *replace)
{
	size_t dep = 0, system = 0;
	struct gorgon_error *err;
	bool shared;

	for (size_t i = 0; i < object->image->needed_count; i++) {
		const char *name = object->image->needed[i];

		if ((err = gorgon_closure_shares(object->ns, name, &object->requester, &shared)))
			return err;
		replace[i] = (struct gorgon_rewrite_name){
			name, shared ? object->system[system++]->name
				     : find_copy(slot, object->deps[dep++])->to};
	}
	return NULL;
}

static struct gorgon_error *write_copy(struct slot *slot, const struct gorgon_object *object)
{
	const struct gorgon_ns *ns = object->ns;
	const char *add[] = {NULL, NULL};
	struct copy *copy = find_copy(slot, object);
	struct gorgon_rewrite_opts opts = {.add = add};
	struct gorgon_rewrite_name *replace;
	struct gorgon_error *err;
	char *soname;

	if (copy->written)
		return NULL;
	// The first object is libpython.
	if (ns->first && uses_python(object->image))
		add[0] = find_copy(slot, ns->first)->to;
	replace = calloc(object->image->needed_count + 1, sizeof(*replace));
	if (!replace)
		return &gorgon_error_nomem;
	if (asprintf(&soname, "gorgon-%u-%u-%s", slot->number, copy->number,
		     strrchr(copy->to, '/') + 1) < 0) {
		free(replace);
		return &gorgon_error_nomem;
	}
	opts.replace = replace;
	opts.soname = soname;
	gorgon_lock();
	err = name_needs(slot, object, replace);
	gorgon_unlock();
	if (!err)
		err = gorgon_rewrite(copy->from, copy->to, &opts);
	copy->written = !err;
	free(soname);
	free(replace);
	return err;
}

// Write copies of a file and of all private libraries that it needs and that are not loaded yet.
static struct gorgon_error *make_copies(struct gorgon_ns *ns, const char *path, const char **ret)
{
	struct gorgon_load_set group = {.ns = ns};
	struct slot *slot = ns->linked->slot;
	struct gorgon_object *root = NULL;
	struct gorgon_error *err;

	gorgon_lock();
	if (!(err = gorgon_load_set_read_name(&group, path, NULL, &root)))
		err = gorgon_load_set_read_dependencies(&group);
	gorgon_unlock();
	if (!err)
		err = give_folder(slot);
	// All copies have their paths before the first copy names the copies that it needs.
	for (size_t i = 0; i < group.count && !err; i++)
		err = plan_copy(slot, group.objects[i]);
	for (size_t i = 0; i < group.count && !err; i++)
		err = write_copy(slot, group.objects[i]);
	if (!err)
		*ret = find_copy(slot, root)->to;
	gorgon_lock();
	gorgon_load_set_deinit(&group);
	gorgon_unlock();
	return err;
}

// ---- the strategy -------------------------------------------------------------------

static struct gorgon_error *copy_refuse(const char *what)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "isolation by copy: %s; isolation by the loader can do that",
				   what);
}

// What the system's linker cannot do.
static struct gorgon_error *refuse_options(const struct gorgon_ns_opts *opts)
{
	if (opts->provider)
		return copy_refuse(
			"names cannot come from a provider, the system's linker finds them");
	if (opts->environment)
		return copy_refuse("an environment cannot be given, constructors would run "
				   "with the process's");
	if (opts->deny)
		return copy_refuse(
			"its code can be denied nothing, the system's linker binds its names");
	if (opts->thread_limit)
		return copy_refuse("its threads are not counted");
	if (opts->large_arenas)
		return copy_refuse("its arenas cannot be large, it maps them itself");
	if (opts->debug != GORGON_DEBUG_AUTO)
		return copy_refuse(
			"what debuggers are told cannot be chosen, the system's linker tells them");
	return NULL;
}

static struct gorgon_error *copy_check(const struct gorgon_ns_opts *opts)
{
	if (dlsym(RTLD_DEFAULT, "Py_GetVersion"))
		return copy_refuse("the process has a Python of its own, which copies would use");
	dlerror(); // the host's next dlerror() must not tell of this look-up
	return refuse_options(opts);
}

static struct gorgon_error *copy_explain(const char *text)
{
	if (strstr(text, "static TLS"))
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: each copy takes of it; "
					   "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=N "
					   "makes it larger",
					   text);
	return gorgon_error_create(GORGON_ERROR_MISSING, "%s", text);
}

static struct gorgon_error *open_shared(const char *path, int flags, void **handle)
{
	if (!(flags & RTLD_NOLOAD))
		return gorgon_system_dlopen(path, flags, handle);
	*handle = dlopen(path, flags);
	dlerror(); // a library that is not loaded is no error
	return NULL;
}

static struct gorgon_error *open_file(struct gorgon_ns *ns, const char *path, int flags,
				      void **handle)
{
	struct gorgon_error *err;
	const char *to, *text;
	bool shared = false;

	if (!ns->linked->slot && (err = take_slot(ns, path)))
		return err;
	gorgon_lock();
	err = gorgon_closure_shares(ns, path, NULL, &shared);
	gorgon_unlock();
	if (err || shared)
		return err ?: open_shared(path, flags, handle);
	if (flags & RTLD_GLOBAL)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: RTLD_GLOBAL is not possible with isolation by copy",
					   path);
	if ((err = make_copies(ns, path, &to)))
		return err;
	*handle = dlopen(to, flags);
	if (*handle)
		return NULL;
	return (text = dlerror()) ? copy_explain(text) : NULL;
}

static const char *file_of(const struct gorgon_ns *ns, const struct link_map *map)
{
	const struct slot *slot = ns->linked->slot;
	const struct copy *copy = slot ? slot->copies : NULL;

	while (copy && strcmp(copy->to, map->l_name))
		copy = copy->next;
	return copy ? copy->from : NULL;
}

static const struct gorgon_linker linker = {
	.open = open_file,
	.file_of = file_of,
	.create_hooks = gorgon_hooks_create,
	.find_hook = gorgon_hooks_find,
	.closed = copy_closed,
};

static struct gorgon_error *open_python(struct gorgon_ns *ns, const char *path,
					struct gorgon_object **ret)
{
	return gorgon_linked_open(ns, &linker, path, ret);
}

const struct gorgon_isolation gorgon_isolation_copy = {
	.name = "copy",
	.check = copy_check,
	.open = open_python,
	.close = gorgon_linked_close,
};
