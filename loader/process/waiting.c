// SPDX-License-Identifier: MIT
// Threads of a namespace that go on when it ends.
//
// Pools of threads (of OpenCV, numba, OpenMP, tokio) mostly never end: their threads wait for work
// until the process ends, which ends them without a word. Here the process goes on. So when the
// code of a namespace has been finalised, its threads are ended as the end of a process would: a
// signal meets the thread, and the thread jumps back to the function that started it. No private
// code runs on it any more, no destructor either.
//
// That is safe if nobody else misses what the thread leaves behind. So the thread's stack is looked
// at, from the inside:
// - functions of the C library, if any, the outermost of which is one that waits and holds no lock
// of the C library (`names`, and what these jump to);
// - functions of the namespace; of libstdc++, whose std::condition_variable and std::thread are
// between the two;
// - the function of ours that has started the thread, and the C library's.
// A thread in private code may compute, or wait by a system call of its own (libgomp). Locks that
// it holds are private. libstdc++ has locks of its own, so where it calls a function that takes a
// lock, the thread stays.
//
// With anything else (malloc(), another shared library, code without unwind data, a host's
// function, functions of ours, a stack that is not the thread's, the lock of a stream) the thread
// goes on, and is looked at again 10 ms later.
//
// The C library's cleanup functions of a wait do not run: that of pthread_cond_wait() takes
// the mutex, which then nobody releases, and the next thread that waits with it could not end.
//
// The handler takes no lock and allocates nothing; what it compares with is found before.

#define _GNU_SOURCE
#include "waiting.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/unwind.h"
#include "process/faults/backtrace.h"
#include "process/kernel/signals.h"
#include "process/registers.h"
#include "process/threads/pthread_create.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#define FRAMES_MAX 128

// What is read of the stack above the jmp_buf of its thread: the frames of the function that has
// it and of the C library's. Behind them is at least the C library's record of the thread.
#define OUTER_FRAMES 2048

#define STACK_NEEDED ((size_t)32 << 10) // for the walk

// The first take locks.
#define LOCKS_COUNT 10
static const char *const names[] = {
	"pthread_mutex_lock",
	"pthread_mutex_timedlock",
	"pthread_mutex_clocklock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_timedrdlock",
	"pthread_rwlock_clockrdlock",
	"pthread_rwlock_wrlock",
	"pthread_rwlock_timedwrlock",
	"pthread_rwlock_clockwrlock",
	"mtx_lock",
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_clockwait",
	"pthread_cond_destroy",
	"cnd_wait",
	"cnd_timedwait",
	"pthread_join",
	"pthread_timedjoin_np",
	"pthread_clockjoin_np",
	"thrd_join",
	"pthread_barrier_wait",
	"sem_wait",
	"sem_timedwait",
	"sem_clockwait",
	"semop",
	"semtimedop",
	"msgrcv",
	"mq_receive",
	"mq_timedreceive",
	"sleep",
	"usleep",
	"nanosleep",
	"clock_nanosleep",
	"thrd_sleep",
	"pause",
	"sched_yield",
	"thrd_yield",
	"poll",
	"ppoll",
	"select",
	"pselect",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"aio_suspend",
	"read",
	"readv",
	"eventfd_read",
	"recv",
	"recvfrom",
	"recvmsg",
	"recvmmsg",
	"accept",
	"accept4",
	"write",
	"writev",
	"send",
	"sendto",
	"sendmsg",
	"sendmmsg",
	"connect",
	"sigwait",
	"sigwaitinfo",
	"sigtimedwait",
	"sigsuspend",
	"syscall",
};

#define NAMES_COUNT (sizeof(names) / sizeof(*names))

struct range {
	uintptr_t start, end; // start: atomic, 0: nothing is in it
};

// Of the C library, without a declaration. The list of the calling thread's cleanup functions
// becomes what it was before @buffer.
extern void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int execute);

static struct range functions[NAMES_COUNT];
// functions without a name to which these jump at their end
static struct range continued[NAMES_COUNT];
static struct range c_library, own; // written before the first thread is ended
static struct range cxx_library;    // once it is there; a handler may look at it meanwhile

static bool is_in(const struct range *range, uintptr_t addr)
{
	uintptr_t start = __atomic_load_n(&range->start, __ATOMIC_ACQUIRE);

	return start && addr >= start && addr < range->end;
}

static struct range range_of_function(const char *name)
{
	void *addr = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!addr || !dladdr1(addr, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return (struct range){0, 0};
	return (struct range){(uintptr_t)addr, (uintptr_t)addr + symbol->st_size};
}

static struct range range_of_object(void *addr)
{
	struct dl_find_object found;

	if (!addr || gorgon_unwind_find_object(addr, &found))
		return (struct range){0, 0};
	return (struct range){(uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end};
}

// sem_wait() jumps to a function without a name, from which a return address leads to private code.
static struct range range_of_continuation(const struct range *function)
{
	for (uintptr_t p = function->start; p < function->end; p++) {
		uint64_t target = gorgon_arch_jump_target(p, function->end);
		uint64_t end;

		if (!is_in(&c_library, target) || is_in(function, target) ||
		    gorgon_backtrace_function(target, &end) != target)
			continue;
		return (struct range){target, end};
	}
	return (struct range){0, 0};
}

static void waiting_prepare(void)
{
	c_library = range_of_object((void *)(uintptr_t)pthread_create);
	for (size_t i = 0; i < NAMES_COUNT; i++) {
		functions[i] = range_of_function(names[i]);
		continued[i] = range_of_continuation(&functions[i]);
	}
	own = range_of_object((void *)(uintptr_t)gorgon_waiting_end);
}

// Whether it is in one of the first functions of `names`.
static bool is_in_first(size_t count, uintptr_t addr)
{
	size_t i = 0;

	while (i < count && !is_in(&functions[i], addr) && !is_in(&continued[i], addr))
		i++;
	return i < count;
}

static bool is_private(const struct gorgon_ns *ns, uintptr_t addr)
{
	return gorgon_unwind_ns_at(addr) == ns;
}

// Whether a stack is as the head of this file says.
static bool can_end(const struct gorgon_ns *ns, const struct gorgon_frame *frames, size_t count)
{
	size_t i = 0, outer, private = 0, ours = 0;
	uintptr_t addr = 0;

#define ADDR(i) (frames[i].pc - !frames[i].interrupted)
	while (i < count && is_in(&c_library, ADDR(i))) {
		addr = ADDR(i);
		i++;
	}
	if (i ? !is_in_first(NAMES_COUNT, addr) : !count || !is_private(ns, ADDR(0)))
		return false;
	if (i < count && is_in(&cxx_library, ADDR(i)) && is_in_first(LOCKS_COUNT, addr))
		return false;
	for (; i < count && (is_private(ns, ADDR(i)) || is_in(&cxx_library, ADDR(i))); i++)
		private += is_private(ns, ADDR(i));
	for (; i < count && is_in(&own, ADDR(i)); i++)
		ours++;
	outer = i;
	while (i < count && is_in(&c_library, ADDR(i)))
		i++;
#undef ADDR
	return private && ours && i > outer && i == count && count < FRAMES_MAX;
}

// Whether the thread is on its stack, and there is room for the walk there or on one of our
// stacks for handlers.
static bool has_room(const struct gorgon_thread *thread, const void *context)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0),
		  bottom = (uintptr_t)thread->stack_bottom;
	uintptr_t size = (uintptr_t)thread->start_env - bottom;

	if (!bottom || gorgon_arch_stack_pointer(context) - bottom >= size)
		return false;
	if (here - bottom < size)
		return here - bottom >= STACK_NEEDED;
	return thread->altstack && here - (uintptr_t)thread->altstack < thread->altstack_size;
}

static __attribute__((noinline)) bool can_end_here(const struct gorgon_thread *thread,
						   const void *context)
{
	struct gorgon_frame frames[FRAMES_MAX];
	size_t count = gorgon_backtrace_below(context, (uintptr_t)thread->start_env + OUTER_FRAMES,
					      frames, FRAMES_MAX);

	return can_end(thread->ns, frames, count);
}

static void end_thread(const void *context)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	struct _pthread_cleanup_buffer none = {};

	if (!thread || !thread->ns || !thread->start_env || thread->streams ||
	    !__atomic_load_n(&thread->ns->ends_threads, __ATOMIC_ACQUIRE) ||
	    !has_room(thread, context) || !can_end_here(thread, context))
		return;
	thread->dropped = true;
	_pthread_cleanup_pop(&none, 0); // longjmp() would run them
	gorgon_thread_leave(thread);
}

// Under the loader's lock.
static void find_cxx_library(void)
{
	void *cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct range found;

	if (!cxx)
		return;
	found = range_of_object(dlsym(cxx, "_ZNSt18condition_variable10notify_allEv"));
	dlclose(cxx);
	cxx_library.end = found.end;
	__atomic_store_n(&cxx_library.start, found.start, __ATOMIC_RELEASE);
}

void gorgon_waiting_end(struct gorgon_ns *ns)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, waiting_prepare);
	if (!cxx_library.start) // It may have been loaded since.
		find_cxx_library();
	gorgon_signals_on_end(end_thread);
	__atomic_store_n(&ns->ends_threads, true, __ATOMIC_RELEASE);
}
