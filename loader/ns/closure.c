// SPDX-License-Identifier: MIT
// The closure rule: a library is shared only when everything that it needs is.
//
// The system's linker loads a shared library together with all that it needs and
// knows nothing of private objects. If a library that it needs were private in a namespace,
// the process would have two copies of that library: the private copy, and the copy behind the
// shared library. What one copy knows (an open handle, a registered type), the other does not.
// A library that uses CPython's API could not even be bound: there is no CPython in
// the system's scope. So a library whose name is on the policy's list is private all the same
// when its closure has a library that is private by name, or that leaves a name of CPython's
// undefined. It is an error if an option of the host shares such a library, because the
// option cannot be obeyed.
//
// What a file needs is read once in a process and kept for good, as a library stays for good
// that the system has opened. Whether the file can be shared by the built-in list is kept beside
// it, so that a namespace without patterns of its own walks nothing.
//
// Some libraries are on the list only because they, or libraries that they need, have a pool of
// threads (policy.c says why). When neither has a pool, the library is private. A shared library
// that needs it uses the system's copy then. Two copies do no harm, since they keep no state.
//
// A program may open a library by a path whose name is not the one that the list has
// (libgomp.so.1.0.0, where the list has libgomp.so.1); dl_iterate_phdr() and realpath() give such
// paths. Then the file's SONAME decides, or that the namespace already shares this very file.
//
// A file that cannot be found or read is no obstacle: it goes to the system's linker,
// whose error says more.

#define _GNU_SOURCE
#include "closure.h"
#include "base/error.h"
#include "ns.h"
#include "search.h"
#include "image/symbol.h"
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Libraries that any requester finds under a name.
struct known_name {
	struct known_name *next;
	char *name;
	struct gorgon_closure_file *file;
};

static struct gorgon_closure_file *files;
static struct known_name *names;

static void file_destroy(struct gorgon_closure_file *file)
{
	for (size_t i = 0; i < file->need_count; i++)
		free(file->needs[i].name);
	free(file->needs);
	free(file->path);
	free(file->rpath);
	free(file->runpath);
	free(file->python);
	free(file);
}

static bool copy_string(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return !from || *ret;
}

static const char *python_symbol(const struct gorgon_image *image)
{
	for (uint32_t i = 1; i < image->symbol_count; i++) {
		const char *name = image->strtab + image->symbols[i].st_name;

		if (image->symbols[i].st_shndx == SHN_UNDEF && gorgon_policy_is_python_symbol(name))
			return name;
	}
	return NULL;
}

// By itself, or with what it opens.
static bool may_start_threads(const struct gorgon_image *image)
{
	static const char *const starts[] = {"pthread_create", "thrd_create", "GOMP_parallel",
					     "__kmpc_fork", "dlopen", "dlmopen"};

	for (uint32_t i = 1; i < image->symbol_count; i++) {
		const char *name = image->strtab + image->symbols[i].st_name;

		if (image->symbols[i].st_shndx != SHN_UNDEF)
			continue;
		for (size_t j = 0; j < sizeof(starts) / sizeof(*starts); j++)
			if (!strncmp(name, starts[j], strlen(starts[j])))
				return true;
	}
	return false;
}

// Note what the rules need of an image. NULL: no memory.
static struct gorgon_closure_file *file_create(const char *path, const struct gorgon_image *image)
{
	struct gorgon_closure_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->threads = may_start_threads(image);
	file->dev = image->st.st_dev;
	file->ino = image->st.st_ino;
	file->needs = calloc(image->needed_count + 1, sizeof(*file->needs));
	if (!file->needs || !copy_string(path, &file->path) ||
	    !copy_string(image->rpath, &file->rpath) ||
	    !copy_string(image->runpath, &file->runpath) ||
	    !copy_string(python_symbol(image), &file->python)) {
		file_destroy(file);
		return NULL;
	}
	for (; file->need_count < image->needed_count; file->need_count++) {
		if (copy_string(image->needed[file->need_count],
				&file->needs[file->need_count].name))
			continue;
		file_destroy(file);
		return NULL;
	}
	return file;
}

// The file at @path, read unless it is known; NULL when it cannot be read.
static struct gorgon_error *get_file(const struct gorgon_ns *ns, const char *path,
				     struct gorgon_closure_file **ret)
{
	struct gorgon_closure_file *file = files;
	struct gorgon_image *image;
	struct gorgon_error *err;

	while (file && strcmp(file->path, path))
		file = file->next;
	if (file) {
		*ret = file;
		return NULL;
	}
	err = gorgon_image_open(path, &image);
	if (gorgon_error_code(err) == GORGON_ERROR_NOMEM)
		return err;
	if (err) {
		gorgon_ns_log(ns, "what a shared library needs is unknown: %s",
			      gorgon_error_message(err));
		gorgon_error_destroy(err);
		*ret = NULL;
		return NULL;
	}
	file = file_create(path, image);
	gorgon_image_close(image);
	if (!file)
		return &gorgon_error_nomem;
	file->next = files;
	files = file;
	*ret = file;
	return NULL;
}

// Find the file as the system's linker would: a library that is loaded already comes first. @ret is
// NULL when there is none.
static struct gorgon_error *find_file(const struct gorgon_ns *ns, const char *name,
				      const struct gorgon_requester *requester,
				      struct gorgon_closure_file **ret)
{
	char *path = gorgon_system_path(name);
	struct gorgon_error *err = path ? NULL : gorgon_search(name, requester, &path);

	*ret = NULL;
	if (gorgon_error_code(err) == GORGON_ERROR_MISSING) {
		gorgon_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	err = get_file(ns, path, ret);
	free(path);
	return err;
}

static struct gorgon_error *closure_know(const char *name, struct gorgon_closure_file *file)
{
	struct known_name *known = calloc(1, sizeof(*known));

	if (!known || !copy_string(name, &known->name)) {
		free(known);
		return &gorgon_error_nomem;
	}
	known->file = file;
	known->next = names;
	names = known;
	return NULL;
}

// Find a shared library by its name, otherwise by the requester's search path: the order in which
// load.c opens it.
static struct gorgon_error *find_shared(const struct gorgon_ns *ns, const char *name,
					const struct gorgon_requester *requester,
					struct gorgon_closure_file **ret)
{
	struct known_name *known = names;
	struct gorgon_error *err;

	while (known && strcmp(known->name, name))
		known = known->next;
	if (known) {
		*ret = known->file;
		return NULL;
	}
	if ((err = find_file(ns, name, NULL, ret)))
		return err;
	if (*ret)
		return closure_know(name, *ret);
	return requester ? find_file(ns, name, requester, ret) : NULL;
}

static struct gorgon_error *search_need(const struct gorgon_ns *ns,
					struct gorgon_closure_need *need,
					const struct gorgon_requester *requester)
{
	struct gorgon_error *err =
		need->searched ? NULL : find_file(ns, need->name, requester, &need->file);

	need->searched |= !err;
	return err;
}

static struct gorgon_error *closure_say(char **obstacle, const char *format, const char *a,
					const char *b)
{
	char *inner = *obstacle, *text;
	int length = asprintf(&text, format, a, b);

	free(inner);
	*obstacle = length < 0 ? NULL : text;
	return length < 0 ? &gorgon_error_nomem : NULL;
}

// Depth first; @obstacle is the chain to the first private library that is met. The
// loaders of a file, for inherited search paths, are the stack of the walk.
static struct gorgon_error *find_obstacle(const struct gorgon_ns *ns,
					  struct gorgon_closure_file *file,
					  const struct gorgon_requester *loader, char **obstacle)
{
	struct gorgon_requester self = {file->path, file->rpath, file->runpath, loader};
	struct gorgon_error *err;

	file->mark = true;
	if (file->python)
		return closure_say(obstacle, "uses %s%s", file->python,
				   ", which each copy of CPython has");
	for (size_t i = 0; i < file->need_count; i++) {
		struct gorgon_closure_need *need = &file->needs[i];
		struct gorgon_policy_rule rule;

		if ((err = search_need(ns, need, &self)))
			return err;
		if (need->file && need->file->mark)
			continue;
		rule = gorgon_policy_find(&ns->policy, need->name);
		if (!rule.shared)
			return closure_say(obstacle, "needs %s, which is %s", need->name,
					   rule.reason);
		if (need->file && (err = find_obstacle(ns, need->file, &self, obstacle)))
			return err;
		if (*obstacle)
			return closure_say(obstacle, "needs %s, which %s", need->name, *obstacle);
	}
	return NULL;
}

static void clear_marks(void)
{
	for (struct gorgon_closure_file *file = files; file; file = file->next)
		file->mark = false;
}

// Every library of the closure that is private by its name, a space before each.
static struct gorgon_error *write_private(const struct gorgon_ns *ns,
					  struct gorgon_closure_file *file,
					  const struct gorgon_requester *loader, FILE *out)
{
	struct gorgon_requester self = {file->path, file->rpath, file->runpath, loader};
	struct gorgon_error *err = NULL;

	file->mark = true;
	for (size_t i = 0; i < file->need_count && !err; i++) {
		struct gorgon_closure_need *need = &file->needs[i];

		if ((err = search_need(ns, need, &self)) || (need->file && need->file->mark))
			continue;
		if (!gorgon_policy_find(&ns->policy, need->name).shared)
			fprintf(out, " %s", need->name);
		if (need->file)
			err = write_private(ns, need->file, &self, out);
	}
	return err;
}

// All of them, so that nobody has to find them out one by one.
static struct gorgon_error *cannot_share(const struct gorgon_ns *ns, const char *name,
					 const struct gorgon_verdict *verdict)
{
	struct gorgon_error *err;
	char *list = NULL;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	if (!out)
		return &gorgon_error_nomem;
	err = write_private(ns, verdict->file, NULL, out);
	clear_marks();
	if (fclose(out) && !err)
		err = &gorgon_error_nomem;
	if (!err)
		err = gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"%s: is to be shared by option (%s), but %s; a library is "
			"shared only with all that it needs%s%s",
			name, verdict->rule.pattern, verdict->obstacle, size ? ", here also:" : "",
			list);
	free(list);
	return err;
}

static bool has_patterns(const struct gorgon_policy *policy)
{
	return (policy->share && *policy->share) || (policy->keep_private && *policy->keep_private);
}

static struct gorgon_error *judge_file(const struct gorgon_ns *ns, struct gorgon_closure_file *file,
				       char **obstacle)
{
	bool built_in = !has_patterns(&ns->policy);
	struct gorgon_error *err;

	if (built_in && file->fits)
		return NULL;
	err = find_obstacle(ns, file, NULL, obstacle);
	// All that a walk without an obstacle has passed fits as well.
	for (struct gorgon_closure_file *f = files; f; f = f->next)
		f->fits |= f->mark && built_in && !err && !*obstacle;
	clear_marks();
	return err;
}

// A path that says nothing by itself: who opens the file says why it cannot, if so.
static struct gorgon_error *find_rule_of_file(const struct gorgon_ns *ns, const char *name,
					      const struct gorgon_requester *requester,
					      struct gorgon_policy_rule *ret)
{
	struct gorgon_image *image;
	struct gorgon_error *err;
	char *path;

	if ((err = gorgon_search(name, requester, &path)))
		return err;
	err = gorgon_image_open(path, &image);
	free(path);
	if (gorgon_error_code(err) == GORGON_ERROR_NOMEM)
		return err;
	if (err) {
		gorgon_error_destroy(err);
		return NULL;
	}
	if (image->soname)
		*ret = gorgon_policy_find(&ns->policy, image->soname);
	gorgon_image_close(image);
	return NULL;
}

// Whether the library, or a library that it needs, has a pool of threads. Its needs have been
// searched.
static bool has_pool(const struct gorgon_ns *ns, struct gorgon_closure_file *file)
{
	bool found = file->threads;

	file->mark = true;
	for (size_t i = 0; i < file->need_count && !found; i++) {
		const struct gorgon_closure_need *need = &file->needs[i];
		struct gorgon_policy_rule rule = gorgon_policy_find(&ns->policy, need->name);

		found = rule.is_pool || (rule.for_a_pool && need->file && !need->file->mark &&
					 has_pool(ns, need->file));
	}
	return found;
}

// The list has it for a pool, and there is none.
static struct gorgon_error *judge_pool(const struct gorgon_ns *ns, struct gorgon_verdict *verdict)
{
	bool found = has_pool(ns, verdict->file);

	clear_marks();
	if (found)
		return NULL;
	verdict->obstacle = strdup("neither starts threads nor needs a library that does");
	return verdict->obstacle ? NULL : &gorgon_error_nomem;
}

struct gorgon_error *gorgon_closure_judge(const struct gorgon_ns *ns, const char *name,
					  const struct gorgon_requester *requester,
					  struct gorgon_verdict *ret)
{
	struct gorgon_verdict verdict = {.rule = gorgon_policy_find(&ns->policy, name)};
	struct gorgon_error *err = NULL;

	if (!verdict.rule.shared && !verdict.rule.by_option && strchr(name, '/'))
		err = find_rule_of_file(ns, name, requester, &verdict.rule);
	if (!err && verdict.rule.shared)
		err = find_shared(ns, name, requester, &verdict.file);
	if (!err && verdict.file)
		err = judge_file(ns, verdict.file, &verdict.obstacle);
	if (!err && verdict.file && !verdict.obstacle && verdict.rule.for_a_pool)
		err = judge_pool(ns, &verdict);
	if (!err && verdict.obstacle && verdict.rule.by_option)
		err = cannot_share(ns, name, &verdict);
	if (err) {
		gorgon_verdict_deinit(&verdict);
		return err;
	}
	verdict.shared = verdict.rule.shared && !verdict.obstacle;
	*ret = verdict;
	return NULL;
}

void gorgon_verdict_deinit(struct gorgon_verdict *verdict)
{
	free(verdict->obstacle);
	verdict->obstacle = NULL;
}

// Whether @st is a file of this closure. What has not been searched has not been met.
static bool has_file(struct gorgon_closure_file *file, const struct stat *st)
{
	if (!file || file->mark)
		return false;
	file->mark = true;
	if (file->dev == st->st_dev && file->ino == st->st_ino)
		return true;
	for (size_t i = 0; i < file->need_count; i++)
		if (has_file(file->needs[i].file, st))
			return true;
	return false;
}

static struct gorgon_closure_file *file_of(const struct gorgon_system_library *library)
{
	struct gorgon_closure_file *file = files;

	for (struct known_name *known = names; known; known = known->next)
		if (!strcmp(known->name, library->name))
			return known->file;
	while (file && strcmp(file->path, library->name))
		file = file->next;
	return file;
}

static struct gorgon_error *has_from_system(const struct gorgon_ns *ns, const char *name,
					    const struct gorgon_requester *requester, bool *ret)
{
	struct gorgon_error *err;
	struct stat st;
	char *path;

	if ((err = gorgon_search(name, requester, &path)))
		return err;
	*ret = false;
	if (!stat(path, &st))
		for (size_t i = 0; i < ns->system_count && !*ret; i++)
			*ret = has_file(file_of(ns->system[i]), &st);
	clear_marks();
	free(path);
	return NULL;
}

struct gorgon_error *gorgon_closure_shares(const struct gorgon_ns *ns, const char *name,
					   const struct gorgon_requester *requester, bool *ret)
{
	struct gorgon_verdict verdict;
	struct gorgon_error *err;

	if (gorgon_ns_has_system(ns, name)) {
		*ret = true;
		return NULL;
	}
	if ((err = gorgon_closure_judge(ns, name, requester, &verdict)))
		return err;
	*ret = verdict.shared;
	if (!verdict.shared && !verdict.rule.by_option && strchr(name, '/'))
		err = has_from_system(ns, name, requester, ret);
	gorgon_verdict_deinit(&verdict);
	return err;
}
