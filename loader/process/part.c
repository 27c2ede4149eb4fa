// SPDX-License-Identifier: MIT
// The state of one part in a namespace.

#include "part.h"

void *gorgon_parts_state(const struct gorgon_part_state *states, const struct gorgon_part *part)
{
	while (states->part != part)
		states++;
	return states->state;
}
