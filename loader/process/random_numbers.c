// SPDX-License-Identifier: MIT
// Random numbers of the C library: rand(), random() and drand48(), with their seeds.
//
// A program that sets a seed expects the numbers that follow from it, as in a process of its own:
// the generators are the C library's, by its functions that take the state, and each namespace has
// one of each, in the state in which a process begins. As in the C library those of random() may be
// used by several threads, those of drand48() by one at a time.

#define _GNU_SOURCE
#include "part.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_SIZE 128 // bytes: the kind of generator that a process has first
#define FIRST_SEED 1

struct random_numbers {
	pthread_mutex_t lock; // of this namespace's generators
	struct random_data data;
	char first[FIRST_SIZE] __attribute__((aligned(8)));
	struct drand48_data data48;
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

// The address that setstate() takes: it is a word before the generator's state.
static char *before(struct random_numbers *state)
{
	return (char *)&state->data.state[-1];
}

static char *random_init(unsigned value, char *memory, size_t size, struct random_numbers *state)
{
	char *ret;

	pthread_mutex_lock(&state->lock);
	ret = before(state);
	if (initstate_r(value, memory, size, &state->data))
		ret = NULL;
	pthread_mutex_unlock(&state->lock);
	return ret;
}

static char *random_set(char *memory, struct random_numbers *state)
{
	char *ret;

	pthread_mutex_lock(&state->lock);
	ret = before(state);
	if (setstate_r(memory, &state->data))
		ret = NULL;
	pthread_mutex_unlock(&state->lock);
	return ret;
}

// --- 48 bits ---------------------------------------------------------------------------------------

// The next number: the C library's function with _r does it for any state.
#define NEXT(type, name)                                                                           \
	static type next_##name(struct random_numbers *state)                                      \
	{                                                                                          \
		type number;                                                                       \
                                                                                                   \
		name##_r(&state->data48, &number);                                                 \
		return number;                                                                     \
	}
#define NEXT_OF(type, name)                                                                        \
	static type next_##name(unsigned short *x, struct random_numbers *state)                   \
	{                                                                                          \
		type number;                                                                       \
                                                                                                   \
		name##_r(x, &state->data48, &number);                                              \
		return number;                                                                     \
	}

NEXT(double, drand48)
NEXT_OF(double, erand48)
NEXT(long, lrand48)
NEXT_OF(long, nrand48)
NEXT(long, mrand48)
NEXT_OF(long, jrand48)

static void seed48_by_number(long value, struct random_numbers *state)
{
	srand48_r(value, &state->data48);
}

static unsigned short *seed48_by_words(unsigned short *words, struct random_numbers *state)
{
	seed48_r(words, &state->data48);
	return state->data48.__old_x;
}

static void set_parameters(unsigned short *words, struct random_numbers *state)
{
	lcong48_r(words, &state->data48);
}

// --- the part ------------------------------------------------------------------------------------

static bool random_begin(void *arg, struct gorgon_ns *ns)
{
	struct random_numbers *state = arg;

	(void)ns;
	pthread_mutex_init(&state->lock, NULL);
	return !initstate_r(FIRST_SEED, state->first, FIRST_SIZE, &state->data);
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
	OWN("initstate", random_init, 3, "as random"),
	OWN("setstate", random_set, 1, "as random"),
	OWN("drand48", next_drand48, 0, "as random"),
	OWN("erand48", next_erand48, 1, "as random: lcong48() changes its parameters"),
	OWN("lrand48", next_lrand48, 0, "as random"),
	OWN("nrand48", next_nrand48, 1, "as erand48"),
	OWN("mrand48", next_mrand48, 0, "as random"),
	OWN("jrand48", next_jrand48, 1, "as erand48"),
	OWN("srand48", seed48_by_number, 1, "as random"),
	OWN("seed48", seed48_by_words, 1, "as random"),
	OWN("lcong48", set_parameters, 1, "as random"),
};

const struct gorgon_part gorgon_random_numbers = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct random_numbers),
	.begin = random_begin,
	.in_child = in_child,
};
