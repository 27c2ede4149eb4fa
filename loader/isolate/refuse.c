// SPDX-License-Identifier: MIT
// What isolation by copies cannot do, since it leaves loading to the system's linker.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"

struct gorgon_error *gorgon_refuse(const char *what)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "isolation by copy: %s; isolation by the loader can do that",
				   what);
}

struct gorgon_error *gorgon_refuse_options(const struct gorgon_ns_opts *opts)
{
	if (opts->provider)
		return gorgon_refuse(
			"names cannot come from a provider, the system's linker finds them");
	if (opts->environment)
		return gorgon_refuse("an environment cannot be given, constructors would run "
				     "with the process's");
	if (opts->deny)
		return gorgon_refuse(
			"its code can be denied nothing, the system's linker binds its names");
	if (opts->thread_limit)
		return gorgon_refuse("its threads are not counted");
	if (opts->large_arenas)
		return gorgon_refuse("its arenas cannot be large, it maps them itself");
	if (opts->debug != GORGON_DEBUG_AUTO)
		return gorgon_refuse(
			"what debuggers are told cannot be chosen, the system's linker tells them");
	return NULL;
}
