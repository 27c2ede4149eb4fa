// SPDX-License-Identifier: MIT
// Objects give up mappings when the process comes near the kernel's limit of mappings.
//
// A private object has up to six mappings: headers, text, constants, RELRO, data, and zeros, where
// the data are a mapping of the file (map.c). An interpreter with numpy has twenty objects, few of
// which map data from the file, so about 500 such interpreters reach the limit. When three quarters
// of the limit are used, objects give up protection that costs mappings and is not needed to run:
// RELRO becomes writable like the data behind it, and read-only segments become executable like the
// text between them. An object then has two or three mappings. Objects that are loaded already do
// so, too, those of the oldest namespaces first, until the process is below half of the limit.
//
// Other code in the process maps memory as well. Only /proc/self/maps tells how much is used, and
// reading it takes long when it is long. So it is read again only when the objects that were mapped
// since then could have brought the process over the threshold, and beyond the threshold after
// every 64 objects.

#include "relax.h"
#include "map.h"
#include "base/mappings.h"
#include "ns/ns.h"

#define PER_OBJECT 7 // six mappings of its own, and one for what the library allocates
#define INTERVAL   64

static unsigned left; // so many objects may be mapped until /proc/self/maps is read again
static bool scarce;   // whether the last reading was over the threshold

// Relax objects until about @excess mappings are saved. Returns the number of objects.
static unsigned long relax(unsigned long excess)
{
	unsigned long spared = 0, objects = 0;

	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns && spared < excess;
	     ns = gorgon_ns_next(ns)) {
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

static void relax_look(struct gorgon_ns *ns)
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
		relax_look(object->ns);
	else
		left--;
	if (scarce)
		gorgon_map_relax(object);
}
