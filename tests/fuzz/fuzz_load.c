// SPDX-License-Identifier: MIT
// A shared object that the loader reads, maps, relocates, tells the unwinder and debuggers of, asks for names and
// unloads. None of its code runs: constructors and destructors are left out (the linker's --wrap), files with IFUNC
// resolvers are only read.

#include "fuzz.h"
#include "machine.h"

#include "base/lock.h"
#include "gorgon.h"
#include "image/image.h"
#include "ns/object.h"

#include <stdlib.h>
#include <unistd.h>

void __wrap_gorgon_init_run(struct gorgon_object **objects, size_t count);
void __wrap_gorgon_fini_run(struct gorgon_object *object);

void __wrap_gorgon_init_run(struct gorgon_object **objects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		objects[i]->state = GORGON_OBJECT_READY;
}

void __wrap_gorgon_fini_run(struct gorgon_object *object)
{
	object->state = GORGON_OBJECT_FINALISED;
}

static bool has_resolver(const Elf64_Rela *rela, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (ELF64_R_TYPE(rela[i].r_info) == TEST_R_IRELATIVE)
			return true;
	return false;
}

static bool runs_nothing(const struct gorgon_image *image)
{
	for (uint32_t i = 0; i < image->symbol_count; i++)
		if (ELF64_ST_TYPE(image->symbols[i].st_info) == STT_GNU_IFUNC)
			return false;
	return !has_resolver(image->rela, image->rela_count) && !has_resolver(image->jmprel, image->jmprel_count);
}

static bool may_load(const char *name)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;
	bool ret;

	gorgon_lock();
	err = gorgon_image_open(name, &image);
	ret = !err && runs_nothing(image) && image->vaddr_end - image->vaddr_start < 1 << 24 && image->tls.mem_size < 1 << 20;
	gorgon_image_close(image);
	gorgon_unlock();
	gorgon_error_destroy(err);
	return ret;
}

static void ask(struct gorgon_object *object)
{
	static const char *const names[] = {"f", "variable", "main", "_init", ""};
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		gorgon_object_find_symbol(object, names[i], i % 2 ? "V1" : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gorgon_object *object = NULL;
	struct gorgon_error *err = NULL;
	static struct gorgon_ns *ns;
	char name[32];
	int fd;

	if (!ns && gorgon_ns_create(NULL, &ns))
		abort();
	fd = fuzz_file(data, size, name);
	if (may_load(name))
		err = gorgon_object_open(ns, name, NULL, &object);
	if (object) {
		ask(object);
		gorgon_object_close(object);
	}
	gorgon_error_destroy(err);
	close(fd);
	return 0;
}
