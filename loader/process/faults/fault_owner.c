// SPDX-License-Identifier: MIT
// Whether the host is asked first about a fault.
//
// Hosts live by faults of their own: a JVM finds null references by SIGSEGV, and threads that are
// to wait; so do Go and collectors of garbage. Such a fault is no news, and no program's handler
// is to have it. So the host's handler is called before anything else where the fault is not
// private code's: where the innermost frame that is not in one of the system's libraries
// (memcpy(), abort(), the throwing of exceptions) is the host's, or is in no object, as what a
// JVM compiles. A call that has gone astray has no frame: there its caller counts.
//
// The host may also have forbidden access to memory, to notice when somebody touches it: to the
// last pages of a stack in a JVM, which any code may reach. Then it is asked first whoever has
// had the fault, unless it wants to survive faults of private code.

#define _GNU_SOURCE
#include "fault_owner.h"
#include "backtrace.h"
#include "fault_symbol.h"
#include "faults.h"

#include <string.h>

#define FRAMES_MAX 24

// What the guarded part works with.
struct question {
	const siginfo_t *info;
	const void *context;
	bool is_private, aborts;
};

static __thread struct question *question __attribute__((tls_model("initial-exec")));

static bool is_system(const struct gorgon_fault_symbol *place)
{
	static const char *const names[] = {"libc.so", "libm.so", "libstdc++.so", "libgcc_s.so",
					    "ld-linux"};
	bool ret = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ret |= gorgon_fault_symbol_is_in(place, names[i]);
	return ret;
}

static bool is_astray(const struct gorgon_frame *frame, const siginfo_t *info)
{
	return frame->interrupted && info->si_signo == SIGSEGV && info->si_code > 0 &&
	       frame->pc == (uintptr_t)info->si_addr;
}

static void find_owner(void)
{
	struct gorgon_frame frames[FRAMES_MAX];
	struct gorgon_fault_symbol place;
	volatile size_t count = 0;

	gorgon_backtrace(question->context, frames, FRAMES_MAX, &count);
	for (size_t i = 0; i < count; i++) {
		gorgon_fault_symbol_find(frames[i].pc - !frames[i].interrupted, &place);
		question->is_private = place.ns != NULL;
		question->aborts |=
			is_system(&place) && place.function && !strcmp(place.function, "abort");
		if (place.ns ||
		    !(place.object ? is_system(&place) : is_astray(&frames[i], question->info)))
			return;
	}
}

bool gorgon_fault_is_hosts(const siginfo_t *info, const void *context, bool *aborts)
{
	bool guarded = info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR &&
		       !gorgon_faults_survived();
	struct question about = {.info = info, .context = context}, *outer = question;
	sigset_t saved;

	question = &about;
	gorgon_faults_allow(&saved);
	gorgon_fault_guard(find_owner);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	question = outer;
	*aborts = about.aborts;
	return guarded || !about.is_private;
}

bool gorgon_fault_ends_process(int number, const siginfo_t *info)
{
	struct sigaction now;
	sigset_t waiting;

	sigaction(number, NULL, &now);
	sigpending(&waiting);
	return now.sa_handler == SIG_DFL && (info->si_code > 0 || sigismember(&waiting, number));
}

void gorgon_fault_report_below(gorgon_signals_handler *dispatch, int number, const siginfo_t *info,
			       const void *context, const struct gorgon_signals *view)
{
	const struct sigaction ours = {.sa_sigaction = dispatch,
				       .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction now;

	sigaction(number, NULL, &now);
	if (now.sa_sigaction != dispatch)
		sigaction(number, &ours, NULL);
	gorgon_fault_report(number, info, context, view);
	if (now.sa_sigaction != dispatch)
		sigaction(number, &now, NULL);
}
