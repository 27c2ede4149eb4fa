// SPDX-License-Identifier: MIT
// Random numbers of the C library: rand(), random() and drand48(), with their seeds.
//
// A program that sets a seed expects the numbers that follow from it, as in a process of its own:
// the generators are the C library's, by its functions that take the state, and each namespace has
// one of each, in the state in which a process begins. As in the C library those of random() may be
// used by several threads, those of drand48() by one at a time.

#define _GNU_SOURCE
#include "process/part.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 128 // bytes: the kind of generator that a process has first
#define FIRST_SEED 1

struct random_numbers {
	pthread_mutex_t lock; // of this namespace's generators
	struct random_data data;
	char first[FIRST_SIZE] __attribute__((aligned(8)));
};

static long random_next(struct random_numbers *state)
{
	int32_t number;

	pthread_mutex_lock(&state->lock);
	random_r(&state->data, &number);
	pthread_mutex_unlock(&state->lock);
	return number;
}

static int next_int(struct random_numbers *state)
{
	return (int)random_next(state);
}

static void random_seed(unsigned value, struct random_numbers *state)
{
	pthread_mutex_lock(&state->lock);
	srandom_r(value, &state->data);
	pthread_mutex_unlock(&state->lock);
}

static bool random_begin(void *arg, struct gorgon_ns *ns)
{
	struct random_numbers *state = arg;

	(void)ns;
	pthread_mutex_init(&state->lock, NULL);
	return !initstate_r(FIRST_SEED, state->first, FIRST_SIZE, &state->data);
}

// The generator goes on where the template's was, as in the child of a fork().
static bool random_copy(void *to, const void *from, gorgon_moved_fn *moved, void *ctx)
{
	const struct random_numbers *source = from;
	struct random_numbers *state = to;
	const struct random_data *data = &source->data;
	int32_t *numbers = moved(ctx, data->state);

	memcpy(state->first, source->first, FIRST_SIZE);
	state->data = *data;
	state->data.state = numbers;
	state->data.fptr = numbers + (data->fptr - data->state);
	state->data.rptr = numbers + (data->rptr - data->state);
	state->data.end_ptr = numbers + (data->end_ptr - data->state);
	return true;
}

// The thread that held the lock is not in the forked child.
static void in_child(void *arg)
{
	struct random_numbers *state = arg;

	pthread_mutex_init(&state->lock, NULL);
}

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("random", random_next, 0, "a seed has the numbers that follow from it"),
	OWN("srandom", random_seed, 1, "as random"),
	OWN("rand", next_int, 0, "as random"),
	OWN("srand", random_seed, 1, "as random"),
};

const struct gorgon_part gorgon_random_numbers = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct random_numbers),
	.begin = random_begin,
	.copy = random_copy,
	.in_child = in_child,
};
