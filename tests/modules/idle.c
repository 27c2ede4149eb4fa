// SPDX-License-Identifier: MIT
// Threads that go on when their library ends, each in another function, as those of a pool do.

#define _GNU_SOURCE
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

int idle_start(const char *name);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static int begun, word, ends[2];
static pthread_key_t key;
static const char *wanted;
static const struct timespec long_after = {.tv_sec = 1 << 30};

// No code of the library runs when its thread is ended.
static void destroy_value(void *value)
{
	if (value)
		abort();
}

static void wait_in_cond(void)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
}

static void wait_in_mutex(void)
{
	pthread_mutex_lock(&locked);
	pthread_mutex_lock(&locked);
}

static void wait_in_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_wait(&barrier);
}

static void wait_in_sem(void)
{
	sem_wait(&sem);
}

static void wait_in_timed_sem(void)
{
	sem_clockwait(&sem, CLOCK_MONOTONIC, &long_after);
}

static void wait_in_read(void)
{
	char byte;

	while (read(ends[0], &byte, 1) < 0)
		continue;
}

static void wait_in_eventfd(void)
{
	eventfd_t value;

	eventfd_read(eventfd(0, 0), &value);
}

static void wait_in_accept(void)
{
	static const struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	// The kernel chooses an address; without one there is nothing to wait for.
	bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family));
	listen(fd, 1);
	accept(fd, NULL, NULL);
}

static void wait_in_poll(void)
{
	struct pollfd poll_of = {.fd = ends[0], .events = POLLIN};

	poll(&poll_of, 1, -1);
}

static void wait_in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static void wait_in_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event);
	for (;;)
		epoll_wait(fd, &event, 1, -1);
}

static void wait_in_sleep(void)
{
	sleep(1000);
}

static void wait_in_nanosleep(void)
{
	nanosleep(&long_after, NULL);
}

static void wait_in_sigwait(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 5);
	sigwait(&set, &number);
}

static void wait_in_futex(void)
{
	syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
}

// As libgomp does: not through the C library.
static void wait_in_inline_futex(void)
{
#ifdef __x86_64__
	register long timeout __asm__("r10") = 0;
	long ret = SYS_futex;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(&word), "S"(0), "d"(0), "r"(timeout)
			 : "rcx", "r11", "memory");
#else
	wait_in_futex();
#endif
}

static void compute(void)
{
	for (volatile unsigned long i = 0;; i++)
		continue;
}

// --- those that stay --------------------------------------------------------------------------

static void wait_in_stream(void) // its lock is the C library's
{
	FILE *stream = fdopen(ends[0], "r");

	while (fgetc(stream) == EOF)
		clearerr(stream); // a signal has ended the read
}

static void wait_with_stream(void)
{
	FILE *stream = fdopen(ends[0], "r");

	flockfile(stream);
	wait_in_read();
	funlockfile(stream);
}

static int wait_and_compare(const void *a, const void *b)
{
	wait_in_read();
	return *(const char *)a - *(const char *)b;
}

static void wait_in_callback(void)
{
	char bytes[] = "ba";

	qsort(bytes, 2, 1, wait_and_compare);
}

static void wait_in_once(void)
{
	pthread_once(&once, wait_in_read);
}

static ucontext_t outside, inside;

static void wait_on_another_stack(void)
{
	static char stack[256 << 10];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, wait_in_read, 0);
	swapcontext(&outside, &inside);
}

// 24 KB are left for handlers.
static void wait_far_down(void)
{
	pthread_attr_t attr;
	void *bottom;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &bottom, &size);
	pthread_attr_destroy(&attr);
	*(volatile char *)alloca((size_t)((char *)__builtin_frame_address(0) - (char *)bottom) -
				 (24 << 10)) = 0;
	wait_in_read();
}

static void wait_and_block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	wait_in_read();
}

static const struct kind {
	const char *name;
	void (*wait)(void);
	bool stays; // until something is written to the pipe
	size_t stack_size;
} kinds[] = {
	{"cond", wait_in_cond},
	{"mutex", wait_in_mutex},
	{"barrier", wait_in_barrier},
	{"sem", wait_in_sem},
	{"timed sem", wait_in_timed_sem},
	{"read", wait_in_read},
	{"eventfd", wait_in_eventfd},
	{"accept", wait_in_accept},
	{"poll", wait_in_poll},
	{"select", wait_in_select},
	{"epoll", wait_in_epoll},
	{"sleep", wait_in_sleep},
	{"nanosleep", wait_in_nanosleep},
	{"sigwait", wait_in_sigwait},
	{"futex", wait_in_futex},
	{"inline futex", wait_in_inline_futex},
	{"compute", compute},
	{"large stack", wait_in_read, false, (size_t)256 << 20},
	{"stream", wait_in_stream, true},
	{"with stream", wait_with_stream, true},
	{"callback", wait_in_callback, true},
	{"once", wait_in_once, true},
	{"another stack", wait_on_another_stack, true},
	{"full stack", wait_far_down, true},
	{"blocked", wait_and_block_all, true},
};

static void *run(void *arg)
{
	const struct kind *kind = arg;

	pthread_setspecific(key, wanted);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	do {
		kind->wait();
	} while (!kind->stays);
	pthread_setspecific(key, NULL);
	return NULL;
}

int idle_start(const char *name)
{
	const struct kind *kind = kinds;
	pthread_attr_t attr;
	pthread_t thread;

	while (strcmp(kind->name, name))
		kind++;
	wanted = kind->name;
	pthread_attr_init(&attr);
	if (kind->stack_size)
		pthread_attr_setstacksize(&attr, kind->stack_size);
	if (pipe(ends) || pthread_key_create(&key, destroy_value) ||
	    pthread_create(&thread, &attr, run, (void *)kind))
		return -1;
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(10000);
	return ends[1];
}
