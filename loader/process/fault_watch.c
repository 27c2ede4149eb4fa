// SPDX-License-Identifier: MIT Whether faults are reported: the options of the host, and what has
// to be ready before a fault comes.

#define _GNU_SOURCE
#include "base/sized.h"
#include "base/stay.h"
#include "ns/unwind.h"
#include "process/faults/faults.h"
#include "process/kernel/signals.h"
#include "process/threads/altstack.h"

#include <dlfcn.h>

struct gorgon_error *gorgon_faults_report(const struct gorgon_fault_opts *opts)
{
	struct gorgon_fault_opts given;
	struct gorgon_error *err =
		gorgon_sized_read("gorgon_fault_opts", opts, &given, sizeof(given));
	struct dl_find_object found;

	if (err)
		return err;
	// The first call finds the C library's function with dlvsym(), which a handler may not
	// call.
	gorgon_unwind_find_object((void *)(uintptr_t)gorgon_faults_report, &found);
	gorgon_signals_watch_faults(false);
	gorgon_stay_loaded();
	gorgon_faults_set(&given);
	gorgon_signals_watch_faults(true);
	gorgon_altstack_want(true);
	return NULL;
}

void gorgon_faults_ignore(void)
{
	gorgon_signals_watch_faults(false);
	gorgon_altstack_want(false);
}
