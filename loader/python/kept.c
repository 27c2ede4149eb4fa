// SPDX-License-Identifier: MIT
// The public functions about what the process keeps for the next interpreter. Of a library that no
// namespace has any more it keeps the image, with places and bindings (../image/image_cache.c), and
// the symfile's model (libjitreg).

#include "gorgon.h"
#include "base/lock.h"
#include "base/sized.h"
#include "image/image.h"

#include <jitreg.h>

#define SECOND_NS UINT64_C(1000000000)

_Static_assert(GORGON_KEEP_MEMORY_BYTES == JITREG_KEEP_BYTES &&
		       GORGON_KEEP_SECONDS == JITREG_KEEP_SECONDS,
	       "the defaults that the header names are libjitreg's");

struct gorgon_error *gorgon_keep(const struct gorgon_keep_opts *opts)
{
	struct gorgon_keep_opts keep = GORGON_KEEP_DEFAULTS;
	struct gorgon_error *err =
		opts ? gorgon_sized_read("gorgon_keep_opts", opts, &keep, sizeof(keep)) : NULL;

	if (err)
		return err;
	gorgon_lock();
	gorgon_image_keep(keep.file_bytes, keep.seconds * SECOND_NS);
	gorgon_unlock();
	jitreg_keep(keep.memory_bytes, keep.seconds);
	return NULL;
}

void gorgon_trim(void)
{
	gorgon_lock();
	gorgon_image_trim();
	gorgon_unlock();
	jitreg_trim();
}

struct gorgon_error *gorgon_kept_get_stats(struct gorgon_kept_stats *ret)
{
	struct gorgon_kept_stats stats = {0};

	gorgon_lock();
	stats.file_bytes = gorgon_image_kept(&stats.file_count);
	gorgon_unlock();
	stats.memory_bytes = jitreg_kept(&stats.symfile_count);
	return gorgon_sized_write("gorgon_kept_stats", &stats, ret, sizeof(stats));
}
