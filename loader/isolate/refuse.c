// SPDX-License-Identifier: MIT
// What the strategies that leave loading to the system's linker cannot do.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"

struct gorgon_error *gorgon_refuse(const char *how, const char *what)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "isolation by %s: %s; isolation by the loader can do that", how,
				   what);
}

struct gorgon_error *gorgon_refuse_options(const char *how, const struct gorgon_ns_opts *opts)
{
	if (opts->provider)
		return gorgon_refuse(
			how, "names cannot come from a provider, the system's linker finds them");
	if (opts->environment)
		return gorgon_refuse(how, "an environment cannot be given, constructors would run "
					  "with the process's");
	if (opts->deny)
		return gorgon_refuse(
			how, "its code can be denied nothing, the system's linker binds its names");
	if (opts->thread_limit)
		return gorgon_refuse(how, "its threads are not counted");
	if (opts->large_arenas)
		return gorgon_refuse(how, "its arenas cannot be large, it maps them itself");
	if (opts->debug != GORGON_DEBUG_AUTO)
		return gorgon_refuse(
			how,
			"what debuggers are told cannot be chosen, the system's linker tells them");
	return NULL;
}
