// SPDX-License-Identifier: MIT
// Functions through which private code would reach the whole process: exit, the
// descriptors of standard output, signals to itself, settings of libraries. See
// replacements.c for the table.

#define _GNU_SOURCE
#include "process.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "process/kernel/files.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/libc/atexit.h"
#include "process/libc/environment.h"
#include "process/libc/streams.h"
#include "process/threads/thread_dtors.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// exit() ends the interpreter: its main thread goes back to whoever called
// gorgon_interp_main(). From another of its threads exit() cannot end the main one;
// that thread ends, and the status is kept. In a namespace without an interpreter
// there is nobody to go back to, and exit() is exit().
void gorgon_process_exit(int status, struct gorgon_ns *ns)
{
	if (!ns->user.on_exit)
		exit(status);
	ns->user.on_exit(ns->user.ctx, status);
	pthread_exit(NULL);
}

// In a forked child only the interpreter goes on that has forked. exit() would run functions that
// other interpreters have registered, whose threads are gone, and destructors of shared libraries:
// OpenBLAS's waits for a lock that another interpreter's thread held at the fork.
void gorgon_process_leave(struct gorgon_ns *ns, int status)
{
	if (!gorgon_fork_has_made_us(ns))
		exit(status);
	gorgon_lock();
	gorgon_thread_run_dtors(ns);
	gorgon_unlock();
	gorgon_atexit_run_at_end(gorgon_parts_state(ns->parts, &gorgon_atexit_part), status);
	// Not fflush(NULL): other programs' streams are open in other tables of descriptors.
	gorgon_streams_flush(gorgon_parts_state(ns->parts, &gorgon_streams_part));
	_exit(status);
}

// A process still has its descriptors and its directory when exit() calls what was registered for
// the end. So a program's functions are called here, before its descriptors and its directory are
// given back.
bool gorgon_process_end(struct gorgon_ns *ns, int status)
{
	const struct gorgon_program_files *files =
		gorgon_parts_state(ns->parts, &gorgon_files_part);

	if (!__atomic_load_n(&files->own, __ATOMIC_RELAXED))
		return false;
	gorgon_lock();
	gorgon_thread_run_dtors(ns);
	gorgon_unlock();
	gorgon_atexit_run_at_end(gorgon_parts_state(ns->parts, &gorgon_atexit_part), status);
	return true;
}

// An interpreter that a KeyboardInterrupt has ended restores SIGINT's default and kills itself with
// it, so that a shell sees why it ended. Here that is exit() with the status that a shell would
// show; so it is when a timer's signal, for which it had no handler, has interrupted it
// (signals.c). A fault that a program reports to itself by kill() (cysignals, for errors of C
// libraries) is this thread's, which the kernel need not know: it takes the process's main thread
// if it can. Any other signal to the process itself is the program's alone if it has something for
// it, and has come when kill() returns.
int gorgon_process_kill(pid_t pid, int number, struct gorgon_ns *ns)
{
	struct sigaction action;

	if (pid != getpid())
		return kill(pid, number);
	if (gorgon_signal_is_fault(number))
		return raise(number);
	if (number != SIGINT || !ns->user.on_exit ||
	    gorgon_signal_action(SIGINT, NULL, &action, ns->signals) ||
	    action.sa_handler != SIG_DFL)
		return gorgon_signals_kill_self(ns->signals, number) ? 0 : kill(pid, number);
	gorgon_process_exit(128 + (gorgon_signals_ended_by(ns->signals) ?: SIGINT), ns);
	return 0;
}

static unsigned cpu_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

// How many threads a pool of this namespace may have: the host's word, or the
// processors shared out over the namespaces that there are now. 0: say nothing.
static unsigned pool_size(const struct gorgon_ns *ns)
{
	unsigned all = gorgon_ns_count(), share;

	if (ns->opts.pool_threads)
		return ns->opts.pool_threads;
	if (all < 2)
		return 0;
	share = cpu_count() / all;
	return share ? share : 1;
}

// Libraries size their thread pools by these variables when they are loaded, and by the
// number of processors without them: that many for each copy would leave nobody time to
// work.
static char *size_of_pool(struct gorgon_ns *ns)
{
	unsigned size;
	char *ret;

	// Written once, because callers may keep the pointer.
	gorgon_lock();
	size = pool_size(ns);
	if (size && !*ns->pool_text)
		snprintf(ns->pool_text, sizeof(ns->pool_text), "%u", size);
	ret = *ns->pool_text ? ns->pool_text : NULL;
	gorgon_unlock();
	return ret;
}

// A variable that the user has set comes before this table.
static const struct {
	const char *name;
	const char *value; // NULL: size of a pool of threads
	bool in_company;   // where there are several namespaces
} settings[] = {
	{"OPENBLAS_NUM_THREADS", NULL, true},
	{"OMP_NUM_THREADS", NULL, true},
	{"MKL_NUM_THREADS", NULL, true},
	{"BLIS_NUM_THREADS", NULL, true},
	{"NUMEXPR_NUM_THREADS", NULL, true},
	// To patch the C library is refused (memory/patch.c). UCX would say so in two lines
	// of stderr each time; Open MPI does not look whether it may, and writes.
	{"UCX_MEM_MMAP_HOOK_MODE", "none", false},
	{"OMPI_MCA_patcher", "^overwrite", false},
	// Arrow's allocator gives back memory on a thread of its own, which nothing ends: the
	// interpreter could never go.
	{"JE_ARROW_MALLOC_CONF", "background_thread:false", false},
	// A program without mpirun starts a daemon, of which variables of the process's environment
	// tell: a second one takes it for its own, and is refused. It costs MPI_Comm_spawn().
	{"OMPI_MCA_ess_singleton_isolated", "1", true},
};

static char *find_setting(struct gorgon_ns *ns, size_t i)
{
	if (!settings[i].value)
		return size_of_pool(ns);
	return !settings[i].in_company || gorgon_ns_count() > 1 ? (char *)settings[i].value : NULL;
}

// The value of a variable that the user has not set.
static char *find_default(const char *name, struct gorgon_ns *ns)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strcmp(name, settings[i].name))
			return find_setting(ns, i);
	return NULL;
}

char *gorgon_process_getenv(const char *name, struct gorgon_ns *ns)
{
	return gorgon_getenv(name, ns->environment) ?: find_default(name, ns);
}

char *gorgon_process_secure_getenv(const char *name, struct gorgon_ns *ns)
{
	return gorgon_secure_getenv(name, ns->environment) ?: find_default(name, ns);
}
