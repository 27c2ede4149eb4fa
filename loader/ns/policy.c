// SPDX-License-Identifier: MIT
// Which libraries are private and which are shared with the process.
//
// Private by default: a library that keeps callbacks or registries about "the"
// interpreter breaks when several copies of Python use one copy of it. The list below has
// the libraries that are shared: libraries that must exist once in a process because they own
// process-wide state, and a few that are large and keep no state about their caller.
//
// This file goes by names. A name on the list is shared only when everything that the
// library needs is shared, too; closure.c sees to that. No file says which names a library
// will pass to dlopen() and dlsym() at run time. When a shared library calls these functions, the
// system answers: it loads a second, shared copy of a library that is private, and does not find
// what only a namespace has. So a library that opens extension modules,
// plugins that use CPython, or other libraries that are private, must not be on this
// list. The libraries on the list that call dlopen() at all open parts of themselves
// (libgomp its offloading, libc its NSS and iconv modules).
//
// A BLAS is shared for its threads and their buffers. Debian's libblas.so.3 may be all of
// one (BLIS, MKL), the interface of another library that has them (OpenBLAS's, ATLAS's), or
// have no threads at all, the reference implementation. The last is private: it calls
// xerbla_() when an argument is wrong, which numpy defines, and shared would call its own, which
// ends the process. The others' own prints a line. (Interfaces could be private, too; but
// OpenBLAS's LAPACK is 6 MB of code and 2,300 names, which debuggers pay for in each copy:
// LLDB attached to 100 interpreters in 2.7 times the time of one instead of 2 times.)
//
// Some must be shared. To load one privately is an error, and so is an option to do so, when the
// namespace is created: a second C library or dynamic linker knows nothing of the threads, the
// memory and the objects of the first, and a sanitizer's runtime ends the process. All others on
// the list work as copies. Nor can a libpython be shared, which is what an interpreter is.
//
// Not shared although it could be: OpenSSL. Its locks are not reset in a forked child,
// which hangs when another interpreter was in it; a copy each costs 0.4 MB.

#define _GNU_SOURCE
#include "policy.h"
#include "base/arch.h"
#include "base/error.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *pattern;
	const char *reason;
} shared[] = {
	{"ld-linux*.so.*", "the dynamic linker: one per process"},
	{"libc.so.6", "owns malloc, stdio, threads and signal state of the process"},
	{"libm.so.6", "part of the C library, no state but errno and rounding mode"},
	{"libmvec.so.1", "part of the C library"},
	{"libpthread.so.0", "part of the C library"},
	{"libdl.so.2", "part of the C library"},
	{"librt.so.1", "part of the C library"},
	{"libutil.so.1", "part of the C library"},
	{"libanl.so.1", "part of the C library"},
	{"libresolv.so.2", "part of the C library, its state is in libc"},
	{"libnsl.so.1", "part of the C library's name services"},
	{"libnss_*.so.2", "loaded by the C library itself"},
	{"libgcc_s.so.1", "one unwinder per process: exceptions cross its tables"},
	{"libstdc++.so.6", "one C++ runtime: exceptions and locale objects cross modules"},
	{"libatomic.so.1", "locks for wide atomics must be the same for everybody"},
	{"libgfortran.so.5", "needed by shared BLAS; units are process-wide descriptors"},
	{"libquadmath.so.0", "needed by libgfortran"},
	{"libgomp.so.1", "one pool of OpenMP threads; has initial-exec TLS"},
	{"libgomp-*.so*", "as libgomp; wheels carry it under such names"},
	{"libblas.so.3", "one pool of BLAS threads and buffers; tens of MB"},
	{"libcblas.so.3", "as libblas"},
	{"liblapack.so.3", "as libblas"},
	{"libopenblas*.so.0", "as libblas"},
	{"libblis*.so.4", "as libblas"},
	{"libatlas.so.3", "as libblas"},
	{"libf77blas.so.3", "as libblas"},
	{"lib[alt]san.so.*", "a sanitizer's runtime: one per process"},
	{"libubsan.so.*", "a sanitizer's runtime: one per process"},
};

// Libraries on the list that are shared because they have threads (pools), or because a library
// that they need has threads (interfaces). They are private where there are no threads.
static const char *const interfaces[] = {"libblas.so.3", "libcblas.so.3", "liblapack.so.3", NULL};
static const char *const pools[] = {"libopenblas*.so.0", "libblis*.so.4", "libatlas.so.3", NULL};

// Libraries on the list that cannot be private (musts). A pattern of an option that would make
// private what each program needs (needed) is refused before anything is loaded.
static const char *const musts[] = {"ld-linux*.so.*", "libc.so.6", "lib[alt]san.so.*", NULL};
static const char *const needed[] = {GORGON_ARCH_LINKER, "libc.so.6", NULL};

static const char *policy_match(const char *const *patterns, const char *name)
{
	for (; patterns && *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return *patterns;
	return NULL;
}

static struct gorgon_policy_rule find_rule(const char *name, const char *const *share,
					   const char *const *keep_private)
{
	const char *slash = strrchr(name, '/'), *pattern;

	if (slash)
		name = slash + 1;
	if ((pattern = policy_match(keep_private, name)))
		return (struct gorgon_policy_rule){.by_option = true,
						   .pattern = pattern,
						   .reason = "private by option"};
	if ((pattern = policy_match(share, name)))
		return (struct gorgon_policy_rule){.shared = true,
						   .by_option = true,
						   .pattern = pattern,
						   .reason = "shared by option"};
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (!fnmatch(shared[i].pattern, name, 0))
			return (struct gorgon_policy_rule){
				.shared = true,
				.pattern = shared[i].pattern,
				.reason = shared[i].reason,
				.for_a_pool = policy_match(interfaces, name),
				.is_pool = policy_match(pools, name),
			};
	return (struct gorgon_policy_rule){.reason = "private by default"};
}

bool gorgon_policy_is_shared(const char *name, const char *const *share,
			     const char *const *keep_private, const char **reason)
{
	struct gorgon_policy_rule rule = find_rule(name, share, keep_private);

	if (reason)
		*reason = rule.reason;
	return rule.shared;
}

void gorgon_policy_for_each(void (*fn)(void *ctx, const char *pattern, const char *reason),
			    void *ctx)
{
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		fn(ctx, shared[i].pattern, shared[i].reason);
}

static void free_strings(char **strings)
{
	for (char **p = strings; p && *p; p++)
		free(*p);
	free(strings);
}

static bool copy_strings(const char *const *from, char ***ret)
{
	size_t count = 0;
	char **copy;

	*ret = NULL;
	if (!from)
		return true;
	while (from[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return false;
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(from[i]);
		if (!copy[i]) {
			free_strings(copy);
			return false;
		}
	}
	*ret = copy;
	return true;
}

bool gorgon_policy_init(struct gorgon_policy *policy, const char *const *share,
			const char *const *keep_private)
{
	*policy = (struct gorgon_policy){0};
	if (copy_strings(share, &policy->share) &&
	    copy_strings(keep_private, &policy->keep_private))
		return true;
	gorgon_policy_deinit(policy);
	return false;
}

bool gorgon_policy_allow(struct gorgon_policy *policy, const char *const *extensions)
{
	return copy_strings(extensions, &policy->extensions);
}

void gorgon_policy_deinit(struct gorgon_policy *policy)
{
	free_strings(policy->extensions);
	free_strings(policy->share);
	free_strings(policy->keep_private);
	*policy = (struct gorgon_policy){0};
}

struct gorgon_policy_rule gorgon_policy_find(const struct gorgon_policy *policy, const char *name)
{
	return find_rule(name, (const char *const *)policy->share,
			 (const char *const *)policy->keep_private);
}

const char *gorgon_policy_must_share(const char *name)
{
	return policy_match(musts, name) ? find_rule(name, NULL, NULL).reason : NULL;
}

static struct gorgon_error *check_names(const char *const *patterns, const char *option)
{
	for (; patterns && *patterns; patterns++)
		if (strchr(*patterns, '/'))
			return gorgon_error_create(GORGON_ERROR_ARGUMENT,
						   "%s \"%s\": matches nothing: patterns are of "
						   "libraries' names, without folders",
						   option, *patterns);
	return NULL;
}

struct gorgon_error *gorgon_policy_check(const char *const *share, const char *const *keep_private)
{
	struct gorgon_error *err = check_names(share, "share");
	const char *const *name;

	if (err || (err = check_names(keep_private, "private")))
		return err;
	for (; keep_private && *keep_private; keep_private++)
		for (name = needed; *name; name++)
			if (!fnmatch(*keep_private, *name, 0))
				return gorgon_error_create(
					GORGON_ERROR_ARGUMENT,
					"private \"%s\": takes in %s, which cannot be private: %s; "
					"take patterns that leave it out",
					*keep_private, *name, gorgon_policy_must_share(*name));
	// Only a pattern that names libpython is refused. A wider pattern (`lib*`) means other
	// libraries.
	for (; share && *share; share++)
		if (!strncmp(*share, "libpython", 9))
			return gorgon_error_create(
				GORGON_ERROR_ARGUMENT,
				"share \"%s\": a libpython cannot be shared: each "
				"interpreter is a copy of it",
				*share);
	return NULL;
}

bool gorgon_policy_is_python_symbol(const char *name)
{
	return !strncmp(name, "Py", 2) || !strncmp(name, "_Py", 3);
}
