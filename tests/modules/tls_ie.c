// SPDX-License-Identifier: MIT
// Built with -ftls-model=initial-exec: needs room in the static block of threads that
// exist already.

__thread int tls_ie_value = 5;
int tls_ie_next(void);

int tls_ie_next(void)
{
	return ++tls_ie_value;
}
