/* SPDX-License-Identifier: MIT */
/* Starting Python with a command line that is not run. See config.c. */
#ifndef GORGON_PYTHON_CONFIG_H
#define GORGON_PYTHON_CONFIG_H

#include "api.h"

/* CPython's PyStatus. */
struct gorgon_python_status {
	int type; /* 0 success, 1 error, 2 Python wants to end: after -h, or -V */
	const char *function, *message; /* constants of the libpython */
	int exit_status;
};

/* None of these functions is of the stable ABI. */
struct gorgon_config_api {
	void (*init)(void *config);
	struct gorgon_python_status (*set_argv)(void *config, Py_ssize_t argc, char *const *argv);
	struct gorgon_python_status (*initialize)(const void *config);
	void (*clear)(void *config);
};

/* Find these functions. GORGON_ERROR_PYTHON: the libpython lacks the function that the message
 * names. */
struct gorgon_error *gorgon_config_find(struct gorgon_interp *interp,
					struct gorgon_config_api *ret);

/*
 * Start Python as python3 does with this command line, but run nothing. Afterwards the calling
 * thread holds the GIL, if Python has started. @argv must live as long as Python.
 * GORGON_ERROR_NOMEM; @status says whether Python has started.
 */
struct gorgon_error *gorgon_config_initialize(const struct gorgon_config_api *api, size_t argc,
					      char *const *argv,
					      struct gorgon_python_status *status);

#endif
