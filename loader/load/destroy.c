// SPDX-License-Identifier: MIT
// The end of an object: the steps of its load are undone in reverse, from whatever state it has
// reached. So a load that has failed and an unload both end here.

#include "destroy.h"
#include "map.h"
#include "debug/publish.h"
#include "ns/ns.h"
#include "ns/tls.h"
#include "process/kernel/fork.h"
#include "process/memory/trampoline_file.h"

void gorgon_object_destroy(struct gorgon_object *object)
{
	if (!object)
		return;
	if (object->state >= GORGON_OBJECT_PUBLISHED)
		gorgon_object_unpublish(object);
	if (object->ns)
		gorgon_unique_forget(&object->ns->uniques, object);
	gorgon_fork_drop(object);
	gorgon_trampoline_file_close(object);
	gorgon_tls_module_destroy(object);
	if (!object->debug.link_map)
		gorgon_unmap(object);
	gorgon_object_free(object);
}
