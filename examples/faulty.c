// SPDX-License-Identifier: MIT
// A host whose tenants' programs run side by side, and which leaves a core when native code of one of them is at fault:
//
//	faulty NAME=PROGRAM.py...
//
// Then postmortem.py says whose fault it was. Prints what the programs print, and ends with the largest of their statuses.

#include <gorgon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TENANTS_MAX 64

// What postmortem.py reads in the core: numbers of interpreters are what debuggers know, names are what we know.
struct tenant {
	const char *name, *program;
	unsigned interpreter;
	int status;
	pthread_t thread;
};

static struct tenant tenants[TENANTS_MAX];

static void *run(void *arg)
{
	struct tenant *tenant = arg;
	const char *args[] = {tenant->program, NULL};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .label = tenant->name};
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_interp_create(&opts, &interp);

	tenant->status = 3;
	if (!err) {
		tenant->interpreter = gorgon_interp_number(interp);
		err = gorgon_interp_main(interp, 1, args, &tenant->status);
		if (!err)
			err = gorgon_interp_destroy(interp);
	}
	if (err)
		fprintf(stderr, "%s: %s\n", tenant->name, gorgon_error_message(err));
	gorgon_error_destroy(err);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	int status = 0;

	// As much as we may ask for; where it goes is /proc/sys/kernel/core_pattern's decision.
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
	for (int i = 1; i < argc && i <= TENANTS_MAX; i++) {
		char *program = strchr(argv[i], '=');

		if (!program) {
			fprintf(stderr, "%s: expected NAME=PROGRAM.py\n", argv[i]);
			return 2;
		}
		*program = '\0';
		tenants[i - 1].name = argv[i];
		tenants[i - 1].program = program + 1;
	}
	for (int i = 0; i < TENANTS_MAX && tenants[i].name; i++)
		if (pthread_create(&tenants[i].thread, NULL, run, &tenants[i]))
			return 3;
	for (int i = 0; i < TENANTS_MAX && tenants[i].name; i++) {
		pthread_join(tenants[i].thread, NULL);
		if (tenants[i].status > status)
			status = tenants[i].status;
	}
	return status;
}
