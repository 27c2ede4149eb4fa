/* SPDX-License-Identifier: MIT */
/**
 * @file
 * This reads the modules of Rust's functions from the functions' linkage names. Internal to jitreg.
 */
#ifndef JITREG_RUST_PATH_H
#define JITREG_RUST_PATH_H

#include <stddef.h>

/** Longer paths are not written. */
#define JITREG_RUST_PATH_MAX 256

/**
 * Read the path of a function, which is its crate, its modules and its own name, from the name by
 * which the linker knows it.
 *
 * @param[out] path  One name after the other, each with its NUL.
 *
 * @return how many names these are; 0 if the linkage name is of another kind: of a generic function
 *         or of a trait's, for instance.
 *
 * Specification: rustc has two manglings, legacy and v0 (RFC 2603).
 */
size_t jitreg_rust_path(const char *linkage_name, char path[static JITREG_RUST_PATH_MAX]);

#endif
