// SPDX-License-Identifier: MIT
// The process's number of mappings, which the kernel limits (sysctl vm.max_map_count,
// 65,530 by default).
//
// A private object has up to five: headers, text, constants, RELRO, data. An interpreter
// with numpy has twenty objects, so that the limit comes at about 500 of them. When three
// quarters of it are used objects give up what costs mappings and is not needed to run:
// RELRO becomes writable like the data behind it, and read-only segments executable like
// the text between them, which leaves two. Objects that are there already do so too, the
// oldest namespaces first, as far as it takes to come back below the half.
//
// Others in the process map memory as well. The truth is in /proc/self/maps, which is slow
// to read when it is long: it is read again only when objects that were mapped since could
// have brought the process over the threshold, and after each 64 beyond it.

#define _GNU_SOURCE
#include "mappings.h"
#include "ns.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PER_OBJECT 6 // five, and what libraries allocate once they run
#define INTERVAL   64

static unsigned left; // objects until the next look
static bool scarce;   // since the last look

static unsigned long read_limit(void)
{
	FILE *in = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long limit = 65530;

	if (in) {
		if (fscanf(in, "%lu", &limit) != 1)
			limit = 65530;
		fclose(in);
	}
	return limit;
}

static unsigned long count_mappings(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	unsigned long count = 0;
	char buffer[16384];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		for (const char *p = buffer; (p = memchr(p, '\n', (size_t)(buffer + n - p))); p++)
			count++;
	if (fd >= 0)
		close(fd);
	return count;
}

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
	unsigned long limit = read_limit(), count = count_mappings(), relaxed;
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

bool gorgon_mappings_are_used_up(unsigned long *limit)
{
	*limit = read_limit();
	// Splitting one needs two at once.
	return count_mappings() + 2 >= *limit;
}

void gorgon_mappings_added(struct gorgon_object *object)
{
	if (!left)
		look(object->ns);
	else
		left--;
	if (scarce)
		gorgon_map_relax(object);
}
