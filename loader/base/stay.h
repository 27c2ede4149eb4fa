/* SPDX-License-Identifier: MIT */
/* The library stays mapped. See stay.c. */
#ifndef GORGON_BASE_STAY_H
#define GORGON_BASE_STAY_H

/* From now on the library, or the library that it is linked into, stays mapped as long as the
 * process lives. */
void gorgon_stay_loaded(void);

#endif
