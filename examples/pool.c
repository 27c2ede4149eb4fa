// SPDX-License-Identifier: MIT
// Work for whichever interpreter is free, and a runaway among it. Prints
//
//	0 1 4 9 16 25 36 49
//	runaway: KeyboardInterrupt

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

int main(void)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 3};
	struct gorgon_job *jobs[8], *runaway;
	struct gorgon_error *err;
	struct gorgon_pool *pool;
	struct gorgon_value ret;

	opts.warm_up = "def square(x): return x * x\n"
		       "def run_away():\n"
		       "    while True: pass\n";
	check(gorgon_pool_create(&opts, &pool));
	check(gorgon_pool_submit(pool, NULL, "run_away", NULL, NULL, -1, &runaway));
	for (int i = 0; i < 8; i++) {
		struct gorgon_value item = {.kind = GORGON_VALUE_INT, .integer = i};
		struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};

		// Waits while the queue is full.
		check(gorgon_pool_submit(pool, NULL, "square", &args, NULL, -1, &jobs[i]));
	}
	for (int i = 0; i < 8; i++) {
		check(gorgon_job_finish(jobs[i], &ret));
		printf("%lld%c", (long long)ret.integer, i < 7 ? ' ' : '\n');
	}
	check(gorgon_job_cancel(runaway));
	err = gorgon_job_finish(runaway, NULL);
	if (gorgon_error_exception(err))
		printf("runaway: %s\n", gorgon_error_exception(err)->type);
	gorgon_error_destroy(err);
	check(gorgon_pool_destroy(pool));
	return 0;
}
