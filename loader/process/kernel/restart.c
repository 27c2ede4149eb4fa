// SPDX-License-Identifier: MIT One signal, two wishes: the host's handler wants system calls
// restarted (SA_RESTART), an interpreter wants EINTR.
//
// The kernel knows one flag for a signal. It has decided when the handler begins: then the context
// says that the call's instruction runs anew. So the handler changes the context where the call is
// to fail. Only calls are changed that signal(7) lists as restarted, which may fail with EINTR;
// sleeping, poll() and their like fail with EINTR anyway.

#define _GNU_SOURCE
#include "restart.h"
#include "process/registers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

static const long restarted[] = {
	SYS_read,         SYS_readv,           SYS_write,   SYS_writev,   SYS_accept, SYS_accept4,
	SYS_connect,      SYS_recvfrom,        SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg,
	SYS_sendmmsg,     SYS_wait4,           SYS_waitid,  SYS_flock,    SYS_openat, SYS_getrandom,
	SYS_mq_timedsend, SYS_mq_timedreceive, SYS_splice,  SYS_tee,
#ifdef SYS_open
	SYS_open,
#endif
};

static bool is_restarted(long number, uint64_t second)
{
	int operation = (int)second & FUTEX_CMD_MASK;

	if (number == SYS_futex)
		return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
		       operation == FUTEX_LOCK_PI;
	if (number == SYS_fcntl)
		return second == F_SETLKW || second == F_OFD_SETLKW;
	for (size_t i = 0; i < sizeof(restarted) / sizeof(*restarted); i++)
		if (restarted[i] == number)
			return true;
	return false;
}

void gorgon_restart_prevent(void *context)
{
	uint64_t second;
	long number;

	if (gorgon_arch_restarts(context, &number, &second) && is_restarted(number, second))
		gorgon_arch_fail_call(context, EINTR);
}
