// SPDX-License-Identifier: MIT
// A shared object that is copied under another name. If a copy is written, it can be read like the file.

#include "fuzz.h"

#include "base/lock.h"
#include "copy/rewrite.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_readable(const char *name)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(name, &image);
	gorgon_image_close(image);
	gorgon_unlock();
	if (err && gorgon_error_code(err) != GORGON_ERROR_MACHINE)
		fprintf(stderr, "%s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gorgon_rewrite_name replace[] = {{"libc.so.6", "libc-0.so"}, {"libm.so.6", "libm-0.so"}, {0}};
	static const char *const add[] = {"libpython-0.so", NULL};
	static const struct gorgon_rewrite_opts opts = {
		.soname = "libother.so", .replace = replace, .add = add, .runpath = "/nowhere"};
	char name[32], to[64];
	int fd = fuzz_file(data, size, name);
	struct gorgon_error *err;

	snprintf(to, sizeof(to), "/tmp/gorgon-fuzz-rewritten-%d", getpid());
	unlink(to);
	err = gorgon_rewrite(name, to, &opts);
	if (!err && !is_readable(to))
		abort();
	unlink(to);
	gorgon_error_destroy(err);
	close(fd);
	return 0;
}
