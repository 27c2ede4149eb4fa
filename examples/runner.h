/* SPDX-License-Identifier: MIT */
/* A library over CPython's C API that knows nothing of its host; see custom_library. */
#ifndef RUNNER_H
#define RUNNER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Evaluate an expression. Its str() or that of the exception; false for the latter. */
bool runner_evaluate(const char *expression, char *text, size_t size);

/* The host's, called for each evaluation. */
void host_log(const char *expression);

#ifdef __cplusplus
}
#endif

#endif
