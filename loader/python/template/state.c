// SPDX-License-Identifier: MIT
// The life of a template's record. Whoever makes interpreters from it holds it meanwhile.

#include "state.h"
#include "parts.h"
#include "base/lock.h"
#include "image/image.h"

#include <stdlib.h>
#include <sys/mman.h>

struct gorgon_template *gorgon_template_hold(struct gorgon_template *template)
{
	__atomic_add_fetch(&template->refs, 1, __ATOMIC_RELAXED);
	return template;
}

static void free_objects(struct gorgon_template *template)
{
	gorgon_lock();
	for (size_t i = 0; i < template->object_count; i++)
		gorgon_image_close(template->objects[i].image);
	gorgon_unlock();
	for (size_t i = 0; i < template->object_count; i++) {
		free(template->objects[i].path);
		free(template->objects[i].tls);
	}
	free(template->objects);
}

void gorgon_template_drop(struct gorgon_template *template)
{
	if (!template || __atomic_sub_fetch(&template->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free_objects(template);
	gorgon_spots_free(&template->places);
	gorgon_map_free(&template->map);
	gorgon_tables_free(&template->tables);
	if (template->bytes)
		munmap(template->bytes, template->bytes_size);
	for (char **p = template->environment; p && *p; p++)
		free(*p);
	free(template->environment);
	gorgon_template_free_parts(template);
	free(template->import_locks);
	free(template->keys);
	free(template->tls_fixes);
	free(template->dtors);
	free(template->exits);
	free(template->forks);
	free(template->locale);
	free(template->libpython);
	free(template->label);
	free(template);
}
