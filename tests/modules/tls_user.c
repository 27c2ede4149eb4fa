// SPDX-License-Identifier: MIT
// Thread-local variables of other objects: of tls.c, which is private, and of the program, whose variables belong
// to the system's linker. With HOST_ONLY only of the program.

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
