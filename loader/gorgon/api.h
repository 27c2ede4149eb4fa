/* SPDX-License-Identifier: MIT */
/** @file
 * What all headers of libgorgon need: the version, how functions are marked, the names of
 * its types. Rules that hold for all of them are in ../gorgon.h. */
#ifndef GORGON_API_H
#define GORGON_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORGON_VERSION_MAJOR 0 /**< grows when programs have to be changed */
#define GORGON_VERSION_MINOR 1 /**< grows when something is added */
#define GORGON_VERSION_PATCH 0 /**< grows when something is mended */

/** What programs may use of the library. */
#define GORGON_API __attribute__((visibility("default")))
/** A caller that drops the error object is warned. */
#define GORGON_MUST_CHECK __attribute__((warn_unused_result))

struct gorgon_error;
struct gorgon_ns;
struct gorgon_object;
struct gorgon_interp;
struct gorgon_array;
struct gorgon_pool;
struct gorgon_template;
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
