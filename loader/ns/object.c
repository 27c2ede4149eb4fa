// SPDX-License-Identifier: MIT
// One object: its record, and what is asked about it. publish.c makes it known to debuggers and
// undoes what was done with it.

#define _GNU_SOURCE
#include "object.h"
#include "tls.h"
#include "image/arch.h"
#include "file/grow.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct gorgon_object, debug) == 0, "one address for both");

struct gorgon_object *gorgon_object_create(struct gorgon_ns *ns, const char *path,
					   struct gorgon_image *image)
{
	struct gorgon_object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->file.fd = -1;
	object->path = strdup(path);
	// One slot each more than needed, so that calloc never gets a size of zero.
	object->deps = calloc(image->needed_count + 1, sizeof(*object->deps));
	object->system = calloc(image->needed_count + 1, sizeof(*object->system));
	if (!object->path || !object->deps || !object->system) {
		gorgon_object_free(object);
		return NULL;
	}
	object->ns = ns;
	object->image = image;
	object->requester =
		(struct gorgon_requester){object->path, image->rpath, image->runpath, NULL};
	return object;
}

void gorgon_object_free(struct gorgon_object *object)
{
	gorgon_file_close(&object->file);
	gorgon_image_close(object->image);
	free(object->deps);
	free(object->system);
	free(object->refs);
	free(object->tls_indices);
	free(object->foreign_build_id);
	free(object->path);
	free(object);
}

struct gorgon_object **gorgon_object_closure(struct gorgon_object *root, size_t *count)
{
	struct gorgon_object **list = NULL, **added;
	size_t n = 0;

	if (!(added = jitreg_add(&list, &n, sizeof(*added))))
		return NULL;
	*added = root;
	root->mark = true;
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < list[i]->dep_count; d++) {
			struct gorgon_object *dep = list[i]->deps[d];

			if (dep->mark)
				continue;
			if (!(added = jitreg_add(&list, &n, sizeof(*added))))
				goto fail;
			dep->mark = true;
			*added = dep;
		}
	}
	for (size_t i = 0; i < n; i++)
		list[i]->mark = false;
	*count = n;
	return list;

fail:
	for (size_t i = 0; i < n; i++)
		list[i]->mark = false;
	free(list);
	return NULL;
}

bool gorgon_object_add_ref(struct gorgon_object *object, struct gorgon_object *to)
{
	struct gorgon_object **added;

	if (to == object)
		return true;
	for (size_t i = 0; i < object->ref_count; i++)
		if (object->refs[i] == to)
			return true;
	added = jitreg_add(&object->refs, &object->ref_count, sizeof(*added));
	if (added)
		*added = to;
	return added;
}

void *gorgon_object_symbol_address(struct gorgon_object *object, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	uint64_t addr = sym->st_shndx == SHN_ABS ? sym->st_value : object->bias + sym->st_value;

	if (type == STT_TLS)
		return object->tls_module ? gorgon_tls_get_addr(&(struct gorgon_tls_index){
						    object->tls_module, sym->st_value})
					  : NULL;
	if (type == STT_GNU_IFUNC)
		return (void *)(uintptr_t)gorgon_arch_resolve(addr);
	return (void *)(uintptr_t)addr;
}
