// SPDX-License-Identifier: MIT
// The report of a fault, made in the handler of its signal.
//
// The thread may have any lock, and its stack and heap may be damaged. So nothing here takes a
// lock, allocates, or opens a file; lists are read without the loader's lock, and walks are
// bounded. A fault in a part of the report ends that part: gorgon_fault_recover() jumps back, and
// the report says so. The text is collected first, so that it comes in one piece among the output
// of other threads.
//
// CPython writes the Python lines to a descriptor. They come by way of a file in memory into the
// text; without one (no descriptor left) they are left out.
//
// One thread reports at a time. The others wait: after a report the process usually ends.

#define _GNU_SOURCE
#include "backtrace.h"
#include "fault_symbol.h"
#include "fault_survival.h"
#include "faults.h"
#include "ns/ns.h"
#include "process/registers.h"
#include "process/threads/parking.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MAX     48   // in the report
#define NAMESPACES_MAX 4096 // looked at
#define OTHERS_MAX     64   // in the report
// A thread may write so many bytes below its stack pointer at once: its stack grows, or overflows.
#define STACK_REACH    (64 << 10)
#define WAIT_MS	       5000

struct report {
	int number;
	const siginfo_t *info;
	const void *context;
	const struct gorgon_signals *view;
	const struct gorgon_ns *ns; // whose code ran, or NULL
	bool stack_overflow;
	struct gorgon_fault_symbol place;
	struct gorgon_frame frames[FRAMES_MAX];
	volatile size_t frame_count;
	char text[32 << 10];
	size_t size;
};

static struct gorgon_fault_opts opts;
static struct report report; // of the thread `reporter`
static pid_t reporter;	     // atomic; 0: none
// where this thread goes on after a fault
static __thread sigjmp_buf *recovery __attribute__((tls_model("initial-exec")));

// --- text
// ----------------------------------------------------------------------------------------------

static void put_bytes(const char *bytes, size_t size)
{
	size_t room = sizeof(report.text) - 1 - report.size;

	if (size > room)
		size = room;
	memcpy(report.text + report.size, bytes, size);
	report.size += size;
	report.text[report.size] = 0;
}

static void faults_put(const char *text)
{
	put_bytes(text, strlen(text));
}

static void put_number(uint64_t value, unsigned base)
{
	char digits[24], *p = digits + sizeof(digits);

	do {
		*--p = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	put_bytes(p, (size_t)(digits + sizeof(digits) - p));
}

static void put_decimal(uint64_t value)
{
	put_number(value, 10);
}

static void put_hex(uint64_t value)
{
	faults_put("0x");
	put_number(value, 16);
}

// --- what has happened
// ---------------------------------------------------------------------------------

static const char *name_of(int number)
{
	switch (number) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGILL:
		return "SIGILL";
	case SIGFPE:
		return "SIGFPE";
	case SIGABRT:
		return "SIGABRT";
	default:
		return "a signal";
	}
}

// The address of the fault lies where the thread's stack would grow to.
static bool is_stack_overflow(int number, const siginfo_t *info, const ucontext_t *context)
{
	uint64_t sp = gorgon_arch_stack_pointer(context), addr = (uintptr_t)info->si_addr;

	return number == SIGSEGV &&
	       (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR) && addr < sp + 4096 &&
	       addr + STACK_REACH > sp;
}

static void put_reason(void)
{
	const siginfo_t *info = report.info;
	uint64_t addr = (uintptr_t)info->si_addr;

	if (info->si_code <= 0) {
		faults_put("the thread has sent it to itself");
		return;
	}
	if (report.stack_overflow) {
		faults_put("the stack has no more room (address ");
		put_hex(addr);
		faults_put(")");
		return;
	}
	switch (report.number) {
	case SIGSEGV:
		faults_put(info->si_code == SEGV_MAPERR   ? "nothing is mapped at address "
			   : info->si_code == SEGV_ACCERR ? "access is not allowed at address "
							  : "an address that cannot be accessed: ");
		break;
	case SIGBUS:
		faults_put("no memory is behind address ");
		break;
	case SIGFPE:
		faults_put(info->si_code == FPE_INTDIV ? "an integer was divided by zero at "
						       : "arithmetic failed at ");
		break;
	default:
		faults_put("no valid instruction is at ");
	}
	put_hex(addr);
}

static bool has_interp(const struct gorgon_ns *ns)
{
	return ns && ns->debug.interp != GORGON_DEBUG_NO_INTERP;
}

// NULL: the host has given it none.
static const char *label_of(const struct gorgon_ns *ns)
{
	const char *label = (const char *)(uintptr_t)ns->debug.label;

	return label && *label ? label : NULL;
}

static void put_interp(const struct gorgon_ns *ns)
{
	put_decimal(ns->debug.interp);
	if (!label_of(ns))
		return;
	faults_put(" (");
	faults_put(label_of(ns));
	faults_put(")");
}

// The namespace that has the thread's view of signals. The thread knows no more when its stack is
// damaged.
static void find_ns_of_view(void)
{
	const struct gorgon_ns *ns = report.view ? gorgon_ns_next(NULL) : NULL;

	for (unsigned i = 0; ns && i < NAMESPACES_MAX && ns->signals != report.view; i++)
		ns = gorgon_ns_next(ns);
	if (ns && ns->signals == report.view)
		report.ns = ns;
}

static uint64_t place_of(const struct gorgon_frame *frame)
{
	return frame->pc - !frame->interrupted;
}

// The caller of the code that had the fault: a thread of the host in a call has no view.
static void find_ns_of_frames(void)
{
	for (size_t i = 0; i < report.frame_count && !report.ns; i++) {
		struct gorgon_fault_symbol place;

		gorgon_fault_symbol_find(place_of(&report.frames[i]), &place);
		report.ns = place.ns;
	}
}

static void faults_walk(void)
{
	gorgon_backtrace(report.context, report.frames, FRAMES_MAX, &report.frame_count);
}

static void put_head(void)
{
	char name[17] = "";

	faults_put("gorgon: ");
	faults_put(name_of(report.number));
	if (has_interp(report.ns)) {
		faults_put(" in interpreter ");
		put_interp(report.ns);
	}
	faults_put(", thread ");
	put_decimal((uint64_t)gettid());
	if (!prctl(PR_GET_NAME, name)) {
		faults_put(" (");
		faults_put(name);
		faults_put(")");
	}
	faults_put(": ");
	put_reason();
	faults_put("\n");
}

// --- frames
// --------------------------------------------------------------------------------------------

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_frame(const struct gorgon_frame *frame)
{
	struct gorgon_fault_symbol place;

	gorgon_fault_symbol_find(place_of(frame), &place);
	faults_put("  ");
	if (!place.object) {
		put_hex(frame->pc);
		faults_put(" in no library\n");
		return;
	}
	faults_put(base_name(place.object));
	if (place.function) {
		faults_put("!");
		faults_put(place.function);
		faults_put("+");
		put_hex(place.function_off + !frame->interrupted);
	} else {
		faults_put("+");
		put_hex(place.object_off + !frame->interrupted);
	}
	if (has_interp(place.ns)) {
		faults_put("  [interp ");
		put_decimal(place.ns->debug.interp);
		faults_put("]");
	}
	faults_put("\n");
}

static void put_frames(void)
{
	faults_put("gorgon: native frames, the innermost first:\n");
	for (size_t i = 0; i < report.frame_count; i++) {
		if (i && report.frames[i].interrupted)
			faults_put("  (handler of a signal)\n");
		put_frame(&report.frames[i]);
	}
	if (report.frame_count == FRAMES_MAX)
		faults_put("  (there are more frames)\n");
}

// Of the frame that the first signal has interrupted: a handler may have handed the fault on by
// raising it again.
static void find_place(void)
{
	const struct gorgon_frame *frame = report.frames;

	for (size_t i = 0; i < report.frame_count; i++)
		if (report.frames[i].interrupted)
			frame = &report.frames[i];
	if (report.frame_count)
		gorgon_fault_symbol_find(place_of(frame), &report.place);
}

static void put_python(void)
{
	const struct gorgon_ns *ns = report.ns;
	char buffer[1024];
	ssize_t count;
	off_t at = 0;
	int fd;

	if (!has_interp(ns) || !ns->user.write_python)
		return;
	fd = memfd_create("gorgon-fault", MFD_CLOEXEC);
	if (fd < 0)
		return;
	if (ns->user.write_python(ns->user.ctx, fd))
		for (; (count = pread(fd, buffer, sizeof(buffer), at)) > 0; at += count)
			put_bytes(buffer, (size_t)count);
	close(fd);
}

static void put_others(void)
{
	const struct gorgon_ns *ns = gorgon_ns_next(NULL);
	unsigned count = 0;

	for (unsigned i = 0; ns && i < NAMESPACES_MAX; i++, ns = gorgon_ns_next(ns)) {
		if (ns == report.ns || !has_interp(ns) || ++count > OTHERS_MAX)
			continue;
		faults_put(count == 1 ? "gorgon: other interpreters: " : ", ");
		put_interp(ns);
		if (ns->debug.thread) {
			faults_put(" (thread ");
			put_decimal(ns->debug.thread);
			faults_put(")");
		} else {
			faults_put(" (not started, or ended)");
		}
	}
	if (count > OTHERS_MAX)
		faults_put(", and more");
	if (count)
		faults_put("\n");
}

// --- the way out
// ---------------------------------------------------------------------------------------

static void write_text(void)
{
	for (size_t done = 0; done < report.size;) {
		ssize_t count = write(STDERR_FILENO, report.text + done, report.size - done);

		if (count < 0 && errno != EINTR)
			return;
		done += count > 0 ? (size_t)count : 0;
	}
}

static void tell_host(void)
{
	const struct gorgon_fault fault = {
		.size = sizeof(fault),
		.number = report.number,
		.interp = has_interp(report.ns) ? report.ns->debug.interp : GORGON_FAULT_NO_INTERP,
		.info = report.info,
		.context = report.context,
		.thread = gettid(),
		.stack_overflow = report.stack_overflow,
		.object = report.place.object,
		.object_off = report.place.object_off,
		.function = report.place.function,
		.function_off = report.place.function_off,
		.text = report.text,
		.label = has_interp(report.ns) ? label_of(report.ns) : NULL,
		.text_size = report.size,
	};

	opts.report(opts.ctx, &fault);
}

bool gorgon_fault_guard(void (*part)(void))
{
	sigjmp_buf here, *outer = recovery;
	bool faulty = sigsetjmp(here, 1);

	if (!faulty) {
		recovery = &here;
		part();
	}
	recovery = outer;
	return !faulty;
}

static void put_guarded(void (*part)(void))
{
	if (!gorgon_fault_guard(part))
		faults_put("\n  (the rest cannot be read)\n");
}

void gorgon_fault_recover(void)
{
	if (recovery)
		siglongjmp(*recovery, 1);
}

void gorgon_faults_allow(sigset_t *saved)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	sigaddset(&faults, SIGILL);
	sigaddset(&faults, SIGFPE);
	sigaddset(&faults, SIGABRT);
	pthread_sigmask(SIG_UNBLOCK, &faults, saved);
}

static bool become_reporter(void)
{
	const struct timespec moment = {.tv_nsec = 10000000};

	for (int ms = 0; ms < WAIT_MS; ms += 10) {
		pid_t nobody = 0;

		if (__atomic_compare_exchange_n(&reporter, &nobody, gettid(), false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
		if (nobody == gettid())
			return false; // the callback has called the handler again
		nanosleep(&moment, NULL);
	}
	return false;
}

static bool survives;

static void look_at_locks(void)
{
	survives = gorgon_fault_may_go_on(report.frames, report.frame_count,
					  report.info->si_code <= 0, report.ns);
}

static bool may_survive(void)
{
	survives = false;
	return opts.abandon && has_interp(report.ns) && !report.ns->linked &&
	       report.ns->user.on_fault && gorgon_fault_guard(look_at_locks) && survives;
}

void gorgon_fault_report(int number, const siginfo_t *info, const void *context,
			 const struct gorgon_signals *view)
{
	struct gorgon_ns *survivor;
	sigset_t saved;

	if (!become_reporter())
		return;
	report.number = number;
	report.info = info;
	report.context = context;
	report.view = view;
	report.ns = NULL;
	report.stack_overflow = is_stack_overflow(number, info, context);
	report.frame_count = report.size = 0;
	memset(&report.place, 0, sizeof(report.place));
	gorgon_faults_allow(&saved);
	gorgon_fault_guard(find_ns_of_view);
	gorgon_fault_guard(faults_walk);
	gorgon_fault_guard(find_ns_of_frames);
	put_head();
	gorgon_fault_guard(find_place);
	put_guarded(put_frames);
	put_guarded(put_python);
	put_guarded(put_others);
	gorgon_fault_guard(opts.report ? tell_host : write_text);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	survivor = may_survive() ? (struct gorgon_ns *)report.ns : NULL;
	if (survivor)
		survivor->user.on_fault(survivor->user.ctx, report.text);
	__atomic_store_n(&reporter, 0, __ATOMIC_RELEASE);
	if (!survivor)
		return;
	// The thread does not return from the handler of the signal, which would put its mask back.
	pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
	gorgon_park(survivor);
}

bool gorgon_faults_survived(void)
{
	return opts.abandon;
}

void gorgon_faults_set(const struct gorgon_fault_opts *given)
{
	opts = *given;
}
