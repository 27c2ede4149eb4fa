// SPDX-License-Identifier: MIT
// Taking a snapshot: reading until what was read is consistent.
//
// A live process goes on while we read. When its lists have changed meanwhile, everything that was
// read, and every problem seen, is thrown away and read again. A process that changes its lists
// without pause may never give us the time, or has died in the middle of a change: then what there
// is is shown, and said not to be consistent.

#define _GNU_SOURCE
#include "symdump.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRY_SECONDS 2.0

static double take_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

// A name in the target, clean; NULL when it cannot be read.
// Makes one attempt to read the registry, or the JIT lists. False: nothing can be read.
static bool take_once(struct target *target, const struct heads *heads, unsigned flags,
		      struct snapshot *snapshot)
{
	bool found = false;

	snapshot_reset(snapshot);
	if (flags & SNAPSHOT_MAPPINGS && !target_update(target, &snapshot->problems))
		return false;
	for (size_t i = 0; i < heads->root_count && !found; i++)
		found = snapshot_read_root(target, heads->roots[i], flags, snapshot);
	// Beside a registry they tell of generated code, and serve to compare.
	return jitlist_read(target, heads, found, flags, snapshot) || found;
}

bool snapshot_take(struct target *target, unsigned flags, struct snapshot *snapshot)
{
	double end = take_now() + TRY_SECONDS;
	struct heads heads = {0};
	bool found;

	heads_find(target, &heads);
	while ((found = take_once(target, &heads, flags, snapshot)) && !snapshot->consistent &&
	       target->pid && take_now() < end)
		usleep(200);
	if (found && !snapshot->consistent)
		found = take_once(target, &heads, flags | SNAPSHOT_ANYWAY, snapshot);
	if (!found && flags & SNAPSHOT_OPTIONAL) {
		snapshot_reset(snapshot);
		found = snapshot->consistent =
			!(flags & SNAPSHOT_MAPPINGS) || target->mapping_count;
	}
	if (target->cut_off)
		problem(&snapshot->problems,
			"%s: the core was cut off: %lu bytes of it are missing", target->name,
			target->cut_off);
	if (!found && !snapshot->problems.count && target_open_error())
		problem(&snapshot->problems, "%s: its files cannot be opened: %s", target->name,
			strerror(target_open_error()));
	if (!found && !snapshot->problems.count && heads.root_count + heads.descriptor_count)
		problem(&snapshot->problems,
			"%s: gorgon_debug_root and __jit_debug_descriptor are not in use, or "
			"cannot be read",
			target->name);
	if (!found && !snapshot->problems.count)
		problem(&snapshot->problems,
			"%s: none of its files has gorgon_debug_root or "
			"__jit_debug_descriptor%s",
			target->name, target->pid ? "" : "; were the files found? (--sysroot)");
	heads_deinit(&heads);
	snapshot_index(snapshot);
	return found;
}
