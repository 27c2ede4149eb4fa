// SPDX-License-Identifier: MIT
/* The machines whose object files are read. */
#include "machine.h"

static const struct jitreg_machine *const machines[] = {&jitreg_machine_x86_64,
							&jitreg_machine_aarch64};

const struct jitreg_machine *jitreg_machine_find(unsigned number)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i]->number == number)
			return machines[i];
	return NULL;
}
