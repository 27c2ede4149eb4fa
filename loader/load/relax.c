// SPDX-License-Identifier: MIT
// Objects give up mappings when the process comes near the kernel's limit of them.
//
// A private object has up to six: headers, text, constants, RELRO, data, and zeros where the data are the
// file's until they are written to (map.c). An interpreter with numpy has twenty objects, of which
// few have such data, so that the limit comes at about 500 of them. When three
// quarters of it are used objects give up what costs mappings and is not needed to run:
// RELRO becomes writable like the data behind it, and read-only segments executable like
// the text between them, which leaves two or three. Objects that are there already do so too, the
// oldest namespaces first, as far as it takes to come back below the half.
//
// Others in the process map memory as well. The truth is in /proc/self/maps, which is slow
// to read when it is long: it is read again only when objects that were mapped since could
// have brought the process over the threshold, and after each 64 beyond it.

#include "relax.h"
#include "map.h"
#include "base/mappings.h"
#include "ns/ns.h"

#define PER_OBJECT 7 // six, and what libraries allocate once they run
#define INTERVAL   64

static unsigned left; // objects until the next look
static bool scarce;   // since the last look

// Relax objects until about @excess mappings are spared; how many objects.
static unsigned long relax(unsigned long excess)
{
	unsigned long spared = 0, objects = 0;

	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns && spared < excess; ns = gorgon_ns_next(ns)) {
		for (struct gorgon_object *o = ns->first; o; o = o->next) {
			if (o->relaxed)
				continue;
			gorgon_map_relax(o);
			objects++;
			spared += 3;
		}
	}
	return objects;
}

static void look(struct gorgon_ns *ns)
{
	unsigned long limit = gorgon_mappings_limit(), count = gorgon_mappings_count(), relaxed;
	unsigned long threshold = limit / 4 * 3;

	left = INTERVAL;
	scarce = count > threshold || (scarce && count > limit / 2);
	if (!scarce) {
		if ((threshold - count) / PER_OBJECT > INTERVAL)
			left = (unsigned)((threshold - count) / PER_OBJECT);
		return;
	}
	relaxed = relax(count - limit / 2);
	if (relaxed)
		gorgon_ns_log(ns,
			      "%lu of %lu mappings (sysctl vm.max_map_count): RELRO and separate "
			      "read-only segments of %lu objects given up",
			      count, limit, relaxed);
}

void gorgon_relax_if_scarce(struct gorgon_object *object)
{
	if (!left)
		look(object->ns);
	else
		left--;
	if (scarce)
		gorgon_map_relax(object);
}
