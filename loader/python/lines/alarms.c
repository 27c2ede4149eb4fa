// SPDX-License-Identifier: MIT
// A debugger stops a thread in C code, sets a breakpoint at a Python line, and lets it go on: the
// thread that watches (lines.c) is to see that before the thread reaches the line.
//
// Each thread has a timer that the watching thread puts off again and again. While the process is
// stopped nobody does, the timer expires, and its signal comes before the thread's next
// instruction. The thread waits then until the watching one has looked.
//
// gdb passes SIGURG on without a word, so there are timers while it is the debugger, unless the
// program has a handler for that signal. LLDB cannot have memory of the process while a signal
// waits.

#define _GNU_SOURCE
#include "alarms.h"
#include "machine.h"
#include "process/kernel/dispositions.h"
#include "process/kernel/signal_dispatch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A signal cuts a write() to a pipe short. On a busy machine the watching thread runs late, so that
// an alarm would go off although no debugger has stopped the program: alarms wait longer then.
#define ALARM_MS	15
#define LATE_ALARM_MS	100
#define ALARMS_MAX	GORGON_LINES_ALARMS_MAX
#define WAIT_US		100
#define WAITS_MAX	200

static struct {
	pid_t thread;
	int timer; // the kernel's number of it
} alarms[ALARMS_MAX];
static size_t alarm_count;
static bool was_ignored; // SIGURG, in place of left to its default action
static unsigned rounds;	 // of looks; odd while somebody looks; atomic

// For a look that begins from now on.
static void wait_for_look(int number)
{
	const struct timespec pause = {.tv_nsec = WAIT_US * 1000L};
	const unsigned since = __atomic_load_n(&rounds, __ATOMIC_ACQUIRE);
	const unsigned needed = since % 2 ? 3 : 2;
	int saved = errno;

	(void)number;
	for (unsigned i = 0;
	     i < WAITS_MAX && __atomic_load_n(&rounds, __ATOMIC_ACQUIRE) - since < needed; i++)
		syscall(SYS_nanosleep, &pause, NULL);
	errno = saved;
}

void gorgon_lines_alarms_note(void)
{
	__atomic_add_fetch(&rounds, 1, __ATOMIC_ACQ_REL);
}

static bool is_dispatcher(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == gorgon_signals_dispatch;
}

// What the process does at SIGURG without the library's dispatcher.
static action_word find_action(struct sigaction *installed)
{
	sigaction(SIGURG, NULL, installed);
	return is_dispatcher(installed)
		       ? __atomic_load_n(&gorgon_dispositions.host_words[SIGURG], __ATOMIC_ACQUIRE)
		       : action_word_of(installed);
}

// The dispatcher takes what is put over it for the host's, and comes in front of it again.
static void put(const struct sigaction *action, const struct sigaction *installed)
{
	sigaction(SIGURG, action, NULL);
	if (is_dispatcher(installed))
		gorgon_signals_install_wake(SIGURG);
}

// False: the program has a handler.
static bool take_signal(void)
{
	struct sigaction ours = {.sa_handler = wait_for_look, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction installed;
	action_word action;

	sigfillset(&ours.sa_mask);
	action = find_action(&installed);
	if (action == action_word_of(&ours))
		return true;
	if (is_function(action))
		return false;
	was_ignored = action == (action_word)SIG_IGN;
	put(&ours, &installed);
	return true;
}

// A signal that waits does nothing then.
static void give_signal_back(void)
{
	struct sigaction ours = {.sa_handler = wait_for_look, .sa_flags = SA_RESTART};
	struct sigaction before = {.sa_handler = was_ignored ? SIG_IGN : SIG_DFL};
	struct sigaction installed;

	if (find_action(&installed) == action_word_of(&ours))
		put(&before, &installed);
}

static void put_off(int timer, long ms)
{
	const struct itimerspec later = {.it_value = {.tv_nsec = ms * 1000000}};

	syscall(SYS_timer_settime, timer, 0, &later, NULL);
}

static bool has_alarm(pid_t thread)
{
	for (size_t i = 0; i < alarm_count; i++)
		if (alarms[i].thread == thread)
			return true;
	return false;
}

static void add_alarm(pid_t thread)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	int timer;

	event._sigev_un._tid = thread;
	if (alarm_count == ALARMS_MAX || syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer))
		return;
	alarms[alarm_count].thread = thread;
	alarms[alarm_count++].timer = timer;
}

void gorgon_lines_alarms_find(const pid_t *threads, size_t count)
{
	if (!take_signal())
		return;
	for (size_t i = alarm_count; i-- > 0;)
		if (syscall(SYS_tgkill, getpid(), alarms[i].thread, 0)) {
			syscall(SYS_timer_delete, alarms[i].timer);
			alarms[i] = alarms[--alarm_count];
		}
	for (size_t i = 0; i < count; i++)
		if (!has_alarm(threads[i]))
			add_alarm(threads[i]);
}

void gorgon_lines_alarms_put_off(bool busy)
{
	for (size_t i = 0; i < alarm_count; i++)
		put_off(alarms[i].timer, busy ? LATE_ALARM_MS : ALARM_MS);
}

void gorgon_lines_alarms_end(void)
{
	for (size_t i = 0; i < alarm_count; i++)
		syscall(SYS_timer_delete, alarms[i].timer);
	if (alarm_count)
		give_signal_back();
	alarm_count = 0;
}

void gorgon_lines_alarms_in_child(void)
{
	alarm_count = 0;
}
