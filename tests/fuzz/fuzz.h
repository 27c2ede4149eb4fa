/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share. Each fuzz_NAME.c defines fuzz() for libFuzzer
 * (make check-long TESTS=fuzz) and for replay.c, which runs the committed corpus.
 */
#ifndef GORGON_FUZZ_H
#define GORGON_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Makes a file in memory with these bytes. A name by which it can be opened goes to @name. */
int fuzz_file(const uint8_t *data, size_t size, char name[32]);
/* A directory without files, for names that a target makes up. */
const char *fuzz_no_files(void);

#endif
