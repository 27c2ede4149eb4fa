// SPDX-License-Identifier: MIT
// What the host denies the code of a namespace: `deny` of struct gorgon_ns_opts.
//
// New processes: private code finds functions under the names of the C library that refuse. This is
// order among friends: code that makes system calls itself, or looks names up in a library of the
// system's (ctypes.CDLL(None)), gets what it wants.
//
// Extension modules are what libpython itself opens; everything else that is opened is a library.
// Handlers of signals are refused in signals.c.

#define _GNU_SOURCE
#include "permissions.h"
#include "part.h"
#include "base/error.h"
#include "image/symbol.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

struct gorgon_error *gorgon_permissions_check(const struct gorgon_ns_opts *opts)
{
	const unsigned known = GORGON_DENY_EXTENSIONS | GORGON_DENY_LIBRARIES | GORGON_DENY_FORK |
			       GORGON_DENY_EXEC | GORGON_DENY_SIGNALS;

	if (opts->deny & ~known)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_ns_opts: deny is 0x%x, expected flags of 0x%x",
					   opts->deny, known);
	// A host that gives a list means it to hold.
	if (opts->extensions && *opts->extensions && !(opts->deny & GORGON_DENY_EXTENSIONS))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_ns_opts: extensions is a list, and deny is "
					   "0x%x, expected GORGON_DENY_EXTENSIONS in it",
					   opts->deny);
	return NULL;
}

static bool is_python(const struct gorgon_object *object)
{
	struct gorgon_symbol_query query = gorgon_symbol_query("PyModule_FromDefAndSpec2", NULL);

	return object && gorgon_symbol_find(object->image, &query);
}

// A pattern with a folder is for the whole path, another one for the file's name.
static bool is_allowed(const struct gorgon_policy *policy, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (char **pattern = policy->extensions; pattern && *pattern; pattern++)
		if (!fnmatch(*pattern, strchr(*pattern, '/') || !slash ? path : slash + 1, 0))
			return true;
	return false;
}

struct gorgon_error *gorgon_permissions_check_open(const struct gorgon_ns *ns,
						   const struct gorgon_object *requester,
						   const char *path)
{
	const unsigned both = GORGON_DENY_EXTENSIONS | GORGON_DENY_LIBRARIES;

	if (!(ns->opts.deny & both))
		return NULL;
	if (is_python(requester)) {
		if (!(ns->opts.deny & GORGON_DENY_EXTENSIONS) || is_allowed(&ns->policy, path))
			return NULL;
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED, "%s: the host denies this interpreter %s", path,
			ns->policy.extensions ? "extension modules that are not on its list"
					      : "extension modules");
	}
	if (!(ns->opts.deny & GORGON_DENY_LIBRARIES))
		return NULL;
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "%s: the host denies this interpreter to open libraries", path);
}

// --- names
// ------------------------------------------------------------------------------------------

// The functions take any arguments and look at none.
static int permissions_refuse(void)
{
	errno = EPERM;
	return -1;
}

static int refuse_number(void)
{
	return EPERM;
}

static void *refuse_pointer(void)
{
	errno = EPERM;
	return NULL;
}

#define REFUSED(name, target) \
	{name, target, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "the host denies it (EPERM)"}

static const struct gorgon_bound no_fork[] = {
	REFUSED("fork", permissions_refuse),   REFUSED("_Fork", permissions_refuse),
	REFUSED("vfork", permissions_refuse),  REFUSED("forkpty", permissions_refuse),
	REFUSED("daemon", permissions_refuse), REFUSED("clone", permissions_refuse),
	REFUSED("posix_spawn", refuse_number), REFUSED("posix_spawnp", refuse_number),
	REFUSED("system", permissions_refuse), REFUSED("popen", refuse_pointer),
};

static const struct gorgon_bound no_exec[] = {
	REFUSED("execve", permissions_refuse),  REFUSED("execv", permissions_refuse),
	REFUSED("execvp", permissions_refuse),  REFUSED("execvpe", permissions_refuse),
	REFUSED("execl", permissions_refuse),   REFUSED("execle", permissions_refuse),
	REFUSED("execlp", permissions_refuse),  REFUSED("execveat", permissions_refuse),
	REFUSED("fexecve", permissions_refuse), REFUSED("posix_spawn", refuse_number),
	REFUSED("posix_spawnp", refuse_number), REFUSED("system", permissions_refuse),
	REFUSED("popen", refuse_pointer),
};

const struct gorgon_part gorgon_no_fork_part = {
	.bound = no_fork,
	.bound_count = sizeof(no_fork) / sizeof(*no_fork),
	.when = GORGON_WHEN_NO_FORK,
	.loader_only = true,
};

const struct gorgon_part gorgon_no_exec_part = {
	.bound = no_exec,
	.bound_count = sizeof(no_exec) / sizeof(*no_exec),
	.when = GORGON_WHEN_NO_EXEC,
	.loader_only = true,
};
