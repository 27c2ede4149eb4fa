// SPDX-License-Identifier: MIT
// A host that runs plug-ins of three customers, and outlives all of them: one loops, one eats memory, one crashes. A fourth
// one does its work meanwhile. Prints, in this order:
//
//	anna: stopped: KeyboardInterrupt
//	bert: refused: MemoryError
//	carl: lost: SIGSEGV in interpreter 2 (carl), thread
//	dora: 1764
//	abandoned so far: 1
//
// and says of each what it held.

#include <gorgon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUSTOMERS 4

struct customer {
	const char *name, *plugin;
	struct gorgon_interp *interp;
	struct gorgon_value result;
	struct gorgon_error *err;
	pthread_t thread;
};

static struct customer customers[CUSTOMERS] = {
	{.name = "anna", .plugin = "def work():\n  while True: pass\n"},
	{.name = "bert", .plugin = "def work():\n  kept = []\n  while True: kept.append(bytes(1000000))\n"},
	{.name = "carl", .plugin = "import ctypes\ndef work(): ctypes.c_int.from_address(0).value = 1\n"},
	{.name = "dora", .plugin = "def work(): return sum(range(42)) + 903\n"},
};

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

// Without this function the library would write a report to stderr: "SIGSEGV in interpreter 2 (carl)", and where. This host
// prints the error of the call, which says that, too.
static void ignore(void *ctx, const struct gorgon_fault *fault)
{
	(void)ctx;
	(void)fault;
}

static void begin(struct customer *customer)
{
	const struct gorgon_ns_opts ns = {.size = sizeof(ns), .deny = GORGON_DENY_FORK | GORGON_DENY_EXEC, .thread_limit = 8};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns, .label = customer->name,
						.memory_limit = 100 << 20, .cpu_limit_ms = 500, .cpu_hard_limit_ms = 5000};

	check(gorgon_interp_create(&opts, &customer->interp));
	check(gorgon_interp_start(customer->interp, NULL));
	check(gorgon_interp_run_string(customer->interp, customer->plugin, customer->name));
}

static void *work(void *arg)
{
	struct customer *customer = arg;

	customer->err = gorgon_interp_call(customer->interp, NULL, "work", NULL, NULL, &customer->result);
	return NULL;
}

static void tell(const struct customer *customer)
{
	const struct gorgon_exception *exception = gorgon_error_exception(customer->err);

	if (!customer->err)
		printf("%s: %ld\n", customer->name, (long)customer->result.integer);
	else if (gorgon_error_code(customer->err) == GORGON_ERROR_ABANDONED)
		printf("%s: lost: %s\n", customer->name, strstr(gorgon_error_message(customer->err), "SIG"));
	else
		printf("%s: %s: %s\n", customer->name, !strcmp(exception->type, "MemoryError") ? "refused" : "stopped", exception->type);
}

// Whatever the plug-in has started, this takes the limit and 100 ms at most if there is a processor for this thread.
static void end(struct customer *customer)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	check(gorgon_interp_get_stats(customer->interp, &stats));
	fprintf(stderr, "%s: %lu ms of processor time, %lu KiB\n", customer->name, (unsigned long)(stats.total_cpu_ns / 1000000),
		(unsigned long)((stats.heap_bytes + stats.mapped_bytes + stats.extension_bytes + stats.block_bytes) / 1024));
	gorgon_error_destroy(gorgon_interp_stop_within(customer->interp, 500));
	gorgon_error_destroy(gorgon_interp_destroy(customer->interp)); // GORGON_ERROR_BUSY: threads of it are parked; it stays
	gorgon_value_deinit(&customer->result);
	gorgon_error_destroy(customer->err);
}

int main(void)
{
	const struct gorgon_fault_opts faults = {.size = sizeof(faults), .report = ignore, .abandon = true};
	struct gorgon_abandoned_stats abandoned = {.size = sizeof(abandoned)};

	check(gorgon_faults_report(&faults));
	for (int i = 0; i < CUSTOMERS; i++)
		begin(&customers[i]);
	for (int i = 0; i < CUSTOMERS; i++)
		if (pthread_create(&customers[i].thread, NULL, work, &customers[i]))
			return 1;
	for (int i = 0; i < CUSTOMERS; i++) {
		pthread_join(customers[i].thread, NULL);
		tell(&customers[i]);
		end(&customers[i]);
	}
	check(gorgon_abandoned_get_stats(&abandoned));
	printf("abandoned so far: %lu\n", (unsigned long)abandoned.total_count);
	return 0;
}
