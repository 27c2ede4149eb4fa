// SPDX-License-Identifier: MIT
// Thread-local variables of others: of tls.c, which is private, and of the program,
// which the system's linker owns. With HOST_ONLY, of the program alone.

extern __thread int test_host_tls;

int *tls_user_host(void);

#ifndef HOST_ONLY
extern __thread int tls_value;

int *tls_user_private(void);

int *tls_user_private(void)
{
	return &tls_value;
}
#endif

int *tls_user_host(void)
{
	return &test_host_tls;
}
