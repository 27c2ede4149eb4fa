// SPDX-License-Identifier: MIT
/*
 * Symfiles: one per registered object, made from one model per file.
 *
 * The second and all later copies of a library cost a memcpy() of what differs and as
 * many additions as there are sections. The memory (slabs.c, arena.h) is
 * anonymous because the kernel's default core filter leaves out private file mappings,
 * and debuggers need the symfile from a core. It stays writable: to change that twice for each
 * copy would take longer than all the rest, and would split mappings.
 */
#define _GNU_SOURCE 1
#include "symfile.h"

#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void apply_fixups(const struct jitreg_model *model, uint8_t *bytes, uint64_t bias)
{
	for (size_t i = 0; i < JITREG_FIXUP_COUNT; i++) {
		const struct jitreg_fixup *fixup = &model->fixups[i];
		uint8_t *at = bytes + fixup->off;

		for (uint64_t n = fixup->count; n; n--, at += fixup->stride) {
			uint64_t address;

			memcpy(&address, at, sizeof(address));
			address += bias;
			memcpy(at, &address, sizeof(address));
		}
	}
}

/*
 * Copy from the image. If the file has changed since it was mapped, there may be holes, or no read
 * permission, where the file says that there is data. process_vm_readv() makes an error
 * of such a fault; where it is forbidden the image is trusted.
 */
static int read_image(uint64_t addr, void *buf, size_t size)
{
	struct iovec local = {buf, size}, remote = {(void *)(uintptr_t)addr, size};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (n == (ssize_t)size)
		return 0;
	if (n >= 0 || (errno != ENOSYS && errno != EPERM))
		return -EINVAL;
	memcpy(buf, remote.iov_base, size);
	return 0;
}

/* An .eh_frame with absolute pointers is right only in memory, where the loader has relocated it.
 */
static int copy_live_unwind_data(const struct jitreg_model *model,
				 const struct jitreg_image *image, uint8_t *bytes)
{
	uint64_t addr = image->bias + model->live_vaddr;

	if (!model->live_size)
		return 0;
	if (addr < image->start ||
	    !jitreg_range_ok(addr - image->start, model->live_size, image->end - image->start))
		return -EINVAL;
	return read_image(addr, bytes + model->live_off, model->live_size);
}

/* The common part is @distance further away than in the model. */
static void move_contents(const struct jitreg_model *model, uint8_t *bytes, size_t distance)
{
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;

	memcpy(&ehdr, bytes, sizeof(ehdr));
	for (size_t i = 1; i < ehdr.e_shnum; i++) {
		uint8_t *at = bytes + ehdr.e_shoff + i * sizeof(shdr);

		memcpy(&shdr, at, sizeof(shdr));
		if (shdr.sh_offset >= model->private_size)
			shdr.sh_offset += distance;
		memcpy(at, &shdr, sizeof(shdr));
	}
}

static int write_private_part(const struct jitreg_model *model,
			      const struct jitreg_image *image, struct jitreg_slot slot)
{
	uint8_t *bytes = jitreg_slot_bytes(model, slot);

	memcpy(bytes, model->bytes, model->private_size);
	apply_fixups(model, bytes, image->bias);
	move_contents(model, bytes, jitreg_slot_distance(model, slot));
	return copy_live_unwind_data(model, image, bytes);
}

int jitreg_symfile_create(struct jitreg_model *model, const struct jitreg_image *image,
			  struct jitreg_symfile *ret)
{
	struct jitreg_slot slot;
	int r;

	jitreg_lock();
	r = jitreg_slot_acquire(model, &slot);
	if (!r) {
		r = write_private_part(model, image, slot);
		if (r)
			jitreg_slot_release(model, slot);
	}
	jitreg_unlock();
	if (r)
		return r;
	*ret = (struct jitreg_symfile){
		.slot = slot,
		.bytes = jitreg_slot_bytes(model, slot),
		.size = model->size + jitreg_slot_distance(model, slot),
	};
	return 0;
}

void jitreg_symfile_destroy(struct jitreg_model *model, struct jitreg_symfile *symfile)
{
	jitreg_lock();
	jitreg_slot_release(model, symfile->slot);
	jitreg_unlock();
}
