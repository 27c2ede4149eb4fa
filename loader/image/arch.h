/* SPDX-License-Identifier: MIT */
/*
 * The per-architecture part of the loader: names of the machine, widths and
 * kinds of relocations, the thunk encoding. One file per architecture.
 */
#ifndef GORGON_IMAGE_ARCH_H
#define GORGON_IMAGE_ARCH_H

#if defined(__x86_64__)
#include "arch_x86_64.h"
#else
#error "no arch_*.h for this machine"
#endif

#endif
