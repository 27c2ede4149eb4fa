// SPDX-License-Identifier: MIT
// Signals that the library sends, or that a program sends its own process.

#define _GNU_SOURCE
#include "signal_views.h"
#include "signals.h"

#include <jitreg.h>

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

bool gorgon_signals_interrupt(struct gorgon_signals *view)
{
	__atomic_store_n(&view->interrupted, true, __ATOMIC_RELEASE);
	return gorgon_signals_wake(gorgon_signals_tid(view));
}

bool gorgon_signals_wake(pid_t tid)
{
	siginfo_t info = {.si_signo = jitreg_find_tracer() == JITREG_TRACER_LLDB
					      ? GORGON_SIGNAL_WAKE_IN_LLDB
					      : GORGON_SIGNAL_WAKE,
			  .si_code = SI_QUEUE};

	if (!gorgon_signals_install_wake(info.si_signo))
		return false;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = &gorgon_dispositions.wakes;
	return !syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, info.si_signo, &info) ||
	       errno != ESRCH;
}

// When a process sends itself a signal with kill(), and no other thread can take it, the signal is
// delivered before kill() returns (POSIX). But the kernel delivers it to the process's first
// thread: a program in one of our interpreters would go on before its handler has run, and programs
// beside it would get the signal, too. So it goes to the calling thread, or to the program's main
// thread.
static bool send_to_caller(int number)
{
	return !syscall(SYS_tgkill, getpid(), gettid(), number);
}

static bool send_to_main_thread(struct gorgon_signals *view, int number, bool handled)
{
	bool ret;

	gorgon_views_begin_read(); // the thread does not leave meanwhile
	ret = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE);
	if (ret && handled)
		__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
	if (ret)
		pthread_kill(view->thread, number);
	gorgon_views_end_read();
	return ret;
}

bool gorgon_signals_kill_self(struct gorgon_signals *view, int number)
{
	sigset_t mask;
	bool handled, waited;

	if (!view || number < 1 || number >= NSIG || !gorgon_signals_are_ours())
		return false;
	handled = is_function(action_of(view, number));
	waited = !pthread_sigmask(SIG_BLOCK, NULL, &mask) && sigismember(&mask, number);
	if (gorgon_signals_ignores(view, number) && !waited)
		return true;
	if (!handled && !waited)
		return false;
	return gorgon_views_entered() == view ? send_to_caller(number)
					      : send_to_main_thread(view, number, handled);
}
