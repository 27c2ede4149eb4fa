// SPDX-License-Identifier: MIT
// Host functions that private code calls: here Python, through ctypes. Prints
//
//	host_add(40, 2) = 42
//	getpid() = -1

#include <gorgon.h>

#include <stdio.h>
#include <stdlib.h>

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

static int add(int a, int b)
{
	return a + b;
}

// A name that the system has, too: the table is asked first.
static int no_pid(void)
{
	return -1;
}

int main(void)
{
	struct gorgon_table_entry table[] = {
		{"host_add", (void *)add},
		{"getpid", (void *)no_pid},
		{NULL, NULL},
	};
	struct gorgon_provider provider = gorgon_provider_table(table);
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts)};
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};
	struct gorgon_interp *interp;

	ns_opts.provider = &provider;
	check(gorgon_interp_create(&opts, &interp));
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_string(interp,
				       "import ctypes, os\n"
				       "host = ctypes.CDLL(None)\n"
				       "print('host_add(40, 2) =', host.host_add(40, 2))\n"
				       "print('getpid() =', os.getpid())\n",
				       NULL));
	check(gorgon_interp_destroy(interp));
	return 0;
}
