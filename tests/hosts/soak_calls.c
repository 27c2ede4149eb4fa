// SPDX-License-Identifier: MIT
// The soak of calls: a few interpreters that all threads use at once. See soak.c.
//
// A thread chooses an interpreter at random and calls a function of FILE in it, interrupts what runs, reads its
// statistics, stops it while others call, or replaces it by a new interpreter. Only for the last it needs the
// interpreter for itself; everything else happens at the same time. What may come out of a call: the right value;
// KeyboardInterrupt of somebody's interrupt; BUSY of somebody's stop.

#define _GNU_SOURCE
#include "soak.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4

static struct slot {
	pthread_rwlock_t lock; // locked for writing while the interpreter is replaced
	struct gorgon_interp *interp;
} slots[SLOTS] = {[0 ... SLOTS - 1] = {.lock = PTHREAD_RWLOCK_INITIALIZER}};

// Whether the error may come from what other threads do. Destroys the error.
static bool expected(struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (gorgon_error_code(err) != GORGON_ERROR_BUSY &&
	    (!exception || strcmp(exception->type, "KeyboardInterrupt")))
		return !soak_failed(err);
	gorgon_error_destroy(err);
	return true;
}

// Calls `double` of FILE.
static void call_function(struct gorgon_interp *interp, unsigned number)
{
	struct gorgon_value text = {.kind = GORGON_VALUE_STRING, .text = {"spam", 4}};
	struct gorgon_value item[] = {{.kind = GORGON_VALUE_INT, .integer = number % 1000}, text};
	struct gorgon_value list = {.kind = GORGON_VALUE_LIST, .list = {item, 2}};
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&list, 1}}, ret;
	struct gorgon_error *err = gorgon_interp_call(interp, NULL, "double", &args, NULL, &ret);

	if (err) {
		expected(err);
		return;
	}
	if (ret.kind != GORGON_VALUE_LIST || ret.list.count != 2 ||
	    ret.list.items[0].integer != 2 * (int64_t)(number % 1000) ||
	    strcmp(ret.list.items[1].text.data, "spamspam"))
		soak_fail("double: another value than expected");
	gorgon_value_deinit(&ret);
}

static void run_code(struct gorgon_interp *interp, unsigned number)
{
	static const char *const sources[] = {"pause()", "work()", "grow()",
					      "raise KeyboardInterrupt"};

	expected(gorgon_interp_run_string(interp, sources[number % 4], NULL));
}

static void read_stats(struct gorgon_interp *interp)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	if (!soak_failed(gorgon_interp_get_stats(interp, &stats)) && !stats.object_count)
		soak_fail("statistics: no objects");
}

static void use(struct slot *slot, unsigned number)
{
	unsigned what = number % 32;

	pthread_rwlock_rdlock(&slot->lock);
	if (!slot->interp)
		;
	else if (what < 16)
		call_function(slot->interp, number / 32);
	else if (what < 24)
		run_code(slot->interp, number / 32);
	else if (what < 29)
		expected(gorgon_interp_interrupt(slot->interp));
	else if (what < 31)
		read_stats(slot->interp);
	else
		expected(gorgon_interp_try_stop(slot->interp));
	pthread_rwlock_unlock(&slot->lock);
}

static void end(struct slot *slot)
{
	soak_failed(gorgon_interp_destroy(slot->interp));
	slot->interp = NULL;
}

// No other thread uses this interpreter, but other interpreters may be in use.
static void replace(struct slot *slot, unsigned number)
{
	struct gorgon_start_opts opts = {.size = sizeof(opts), .isolated = number % 2};

	end(slot);
	if (soak_failed(gorgon_interp_create(NULL, &slot->interp)))
		return;
	soak_cycles++;
	if (number % 8 && !soak_failed(gorgon_interp_start(slot->interp, &opts)))
		soak_failed(gorgon_interp_run_file(slot->interp, soak_file));
}

void soak_call(unsigned *random)
{
	struct slot *slot = &slots[(unsigned)rand_r(random) % SLOTS];
	unsigned number = (unsigned)rand_r(random);

	if (number % 64 || pthread_rwlock_trywrlock(&slot->lock)) {
		use(slot, number / 64);
		return;
	}
	replace(slot, number / 64);
	pthread_rwlock_unlock(&slot->lock);
}

void soak_end_calls(void)
{
	for (size_t i = 0; i < SLOTS; i++)
		end(&slots[i]);
}
