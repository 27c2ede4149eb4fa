/* SPDX-License-Identifier: MIT */
/* What all headers of libgorgon need: the version, how functions are marked, the names of its types. Rules that hold for all
 * of them are in ../gorgon.h. */
#ifndef GORGON_API_H
#define GORGON_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORGON_VERSION_MAJOR 0
#define GORGON_VERSION_MINOR 1
#define GORGON_VERSION_PATCH 0

#define GORGON_API __attribute__((visibility("default")))
#define GORGON_MUST_CHECK __attribute__((warn_unused_result))

struct gorgon_error;
struct gorgon_ns;
struct gorgon_object;
struct gorgon_interp;
struct gorgon_array;
struct gorgon_pool;
struct gorgon_job;
struct gorgon_value;
struct gorgon_pyobject;
struct gorgon_replica;

/** Version of the library that runs: major << 16 | minor << 8 | patch. */
GORGON_API unsigned gorgon_version(void);

#ifdef __cplusplus
}
#endif

#endif
