// SPDX-License-Identifier: MIT
// Thread-local variables of every kind; the model is an option of the compiler.

#include "machine.h"

#include <stddef.h>
#include <stdint.h>

#ifndef TLS_LARGE
#define TLS_LARGE 100000
#endif

__thread int tls_value = 11;
__thread int tls_zero;
__thread char tls_aligned[64] __attribute__((aligned(TEST_STATIC_TLS_ALIGN))) = "aligned";
__thread char tls_large[TLS_LARGE];
// Its initial value is relocated: it must be this copy's address.
static int target;
__thread int *tls_pointer = &target;

static __thread int local_value = 21;
static __thread int local_zero;

int *tls_value_at(void);
int *tls_zero_at(void);
char *tls_aligned_at(void);
char *tls_large_at(void);
size_t tls_large_size(void);
int tls_pointer_is_own(void);
int tls_next(void);
int tls_local_next(void);
double tls_sum(double a, double b);

int *tls_value_at(void)
{
	return &tls_value;
}

int *tls_zero_at(void)
{
	return &tls_zero;
}

char *tls_aligned_at(void)
{
	return tls_aligned;
}

char *tls_large_at(void)
{
	return tls_large;
}

size_t tls_large_size(void)
{
	return sizeof(tls_large);
}

int tls_pointer_is_own(void)
{
	return tls_pointer == &target;
}

int tls_next(void)
{
	return ++tls_value + ++tls_zero;
}

int tls_local_next(void)
{
	return ++local_value + ++local_zero;
}

// With descriptors the compiler keeps a and b in vector registers across the access.
static __thread volatile int sum_extra = 31;

double tls_sum(double a, double b)
{
	return a + b + sum_extra;
}
