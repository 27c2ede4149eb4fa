// SPDX-License-Identifier: MIT
// ptrace() for a gdb before 14 on a CPU with AMX: writes registers.
//
// That gdb has room for the 2,696 bytes of the extended state that it knows, and the kernel takes only the whole state
// (EFAULT: "Couldn't write extended state status: Bad address"), so gdb can call no function there, of any program. Preloaded,
// this library puts gdb's part into what the kernel has.

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STATE_MAX 65536

static long set_extended_state(pid_t pid, void *kind, struct iovec *given)
{
	static _Thread_local char state[STATE_MAX];
	struct iovec whole = {state, sizeof(state)};

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, kind, &whole) || whole.iov_len < given->iov_len)
		return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, given);
	memcpy(state, given->iov_base, given->iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	pid_t pid;
	void *address, *data;
	long word = 0, ret;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	address = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (request == PTRACE_SETREGSET && (unsigned long)address == NT_X86_XSTATE)
		return set_extended_state(pid, address, data);
	// The C library returns the word that the system call stores.
	if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA && request != PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, pid, address, data);
	ret = syscall(SYS_ptrace, request, pid, address, &word);
	if (ret < 0)
		return -1;
	errno = 0;
	return word;
}
