// SPDX-License-Identifier: MIT
// Keys of thread-specific data that a constructor makes; it sets half of them.

#include <pthread.h>
#include <stddef.h>

#define COUNT 8

int early_keys_count(void);
int early_keys_set(void);
int early_keys_destroyed(void);
int early_keys_delete(void);

static pthread_key_t keys[COUNT], unset[COUNT];
static int values[COUNT], destroyed, errors;

static void destroy(void *value)
{
	int *at = value;

	if (at >= values && at < values + COUNT)
		destroyed++;
	else
		errors++;
}

// How many keys have their values on this thread; the other keys have none.
int early_keys_count(void)
{
	int count = 0;

	for (int i = 0; i < COUNT; i++)
		count += pthread_getspecific(keys[i]) == &values[i] && !pthread_getspecific(unset[i]);
	return count;
}

// Sets the keys on a thread that has no values yet.
int early_keys_set(void)
{
	for (int i = 0; i < COUNT; i++)
		if (pthread_getspecific(keys[i]) || pthread_setspecific(keys[i], &values[i]))
			return -1;
	return early_keys_count();
}

// For how many values the destructor was called.
int early_keys_destroyed(void)
{
	return errors ? -errors : destroyed;
}

// Deletes the keys; returns the number of failures.
int early_keys_delete(void)
{
	int failures = 0;

	for (int i = 0; i < COUNT; i++)
		failures += pthread_key_delete(keys[i]) || pthread_getspecific(keys[i]) ||
			    !pthread_setspecific(keys[i], &values[i]);
	return failures;
}

__attribute__((constructor)) static void make(void)
{
	pthread_key_t gone;

	for (int i = 0; i < COUNT; i++)
		if (pthread_key_create(&keys[i], destroy) || pthread_setspecific(keys[i], &values[i]))
			errors++;
	for (int i = 0; i < COUNT; i++)
		if (pthread_key_create(&unset[i], destroy))
			errors++;
	// A key that is deleted leaves its value behind.
	if (pthread_key_create(&gone, destroy) || pthread_setspecific(gone, &errors) || pthread_key_delete(gone))
		errors++;
}
