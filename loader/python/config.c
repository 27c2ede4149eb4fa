// SPDX-License-Identifier: MIT
// Starting Python with a command line, and going on in the host's code.
//
// PyConfig_SetBytesArgv() reads the command line: it knows virtual environments, -I and the other
// options of its version. The members of PyConfig differ from version to version, so nothing here
// uses them: a PyConfig is memory with much more room than any version takes (about 450 bytes).
// PyStatus is documented and equal in all versions (PEP 587).

#include "config.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define CONFIG_SIZE 16384

struct gorgon_error *gorgon_config_find(struct gorgon_interp *interp, struct gorgon_config_api *ret)
{
	const struct {
		const char *name;
		void *pointer;
	} list[] = {
		{"PyConfig_InitPythonConfig", &ret->init},
		{"PyConfig_SetBytesArgv", &ret->set_argv},
		{"Py_InitializeFromConfig", &ret->initialize},
		{"PyConfig_Clear", &ret->clear},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		void *address = gorgon_interp_find_symbol(interp, list[i].name);

		if (!address)
			return gorgon_api_missing(interp, list[i].name);
		memcpy(list[i].pointer, &address, sizeof(address));
	}
	return NULL;
}

struct gorgon_error *gorgon_config_initialize(const struct gorgon_config_api *api, size_t argc,
					      char *const *argv,
					      struct gorgon_python_status *status)
{
	void *config = calloc(1, CONFIG_SIZE);

	if (!config)
		return &gorgon_error_nomem;
	api->init(config);
	*status = api->set_argv(config, (Py_ssize_t)argc, argv);
	if (!status->type)
		*status = api->initialize(config);
	api->clear(config);
	free(config);
	return NULL;
}
