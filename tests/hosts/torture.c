// SPDX-License-Identifier: MIT Lives of interpreters at random from several host threads, under a
// thousand signals a second. torture SEED LIVES FILE
//
// Each of the threads makes LIVES interpreters one after the other. FILE
// (tests/long/programs/torture.py) has what they do, which often does not end by itself: after a
// while another thread interrupts it again and again. In the end the interpreter is stopped
// within 1 to 500 ms, and destroyed or abandoned. Every second seed has few descriptors. When
// Python is ending, an import may wait for another thread's import of the same module, while that
// thread does not run any more. No interrupt ends this wait, as in a python3; the stop does.
//
// The same seed makes the same choices; what happens at the same time differs. Nothing may crash,
// hang or be wrong: each call of the host returns, and what Python finds wrong itself is an
// AssertionError. Other exceptions may come after an interrupt, which may leave a module imported
// in part, and where memory or descriptors are few. Prints what the lives came to.

#define _GNU_SOURCE
#include <gorgon.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS     3
#define DESCRIPTORS 64
#define INTERRUPTS  1000 // of one call, before it is looked whether its Python is ending

struct torturer {
	pthread_t thread, interrupter;
	unsigned random;
	struct gorgon_interp *interp;
	unsigned wait_ms; // before the first interrupt
	bool is_over;     // atomic: the call that is to be interrupted
};

static const char *file;
static unsigned lives, seed;
static unsigned ended, abandoned, refused, raised, stopped, wrong, signals; // atomic

static void count(unsigned *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

static void on_signal(int number)
{
	(void)number;
	count(&signals);
}

static void sleep_ms(unsigned ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static unsigned choose(struct torturer *me, unsigned choices)
{
	return (unsigned)rand_r(&me->random) % choices;
}

static bool is_finalizing(struct gorgon_interp *interp)
{
	int (*ask)(void) = (int (*)(void))gorgon_interp_find_symbol(interp, "_Py_IsFinalizing");

	return ask && ask();
}

static void *interrupt(void *arg)
{
	struct torturer *me = arg;
	unsigned times = 0;

	for (sleep_ms(me->wait_ms); !__atomic_load_n(&me->is_over, __ATOMIC_ACQUIRE);
	     sleep_ms(20)) {
		gorgon_error_destroy(gorgon_interp_interrupt(me->interp));
		if (++times % INTERRUPTS == 0 && is_finalizing(me->interp)) {
			count(&stopped);
			gorgon_error_destroy(gorgon_interp_stop_within(me->interp, 1000));
		}
	}
	return NULL;
}

// Destroys the error.
static void judge(struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (exception && !strcmp(exception->type, "AssertionError")) {
		count(&wrong);
		printf("seed %u: %s: %s\n%s", seed, exception->type, exception->message,
		       exception->traceback);
	} else if (err) {
		count(exception ? &raised : &refused);
	}
	gorgon_error_destroy(err);
}

static struct gorgon_error *call_deed(struct torturer *me, unsigned number)
{
	struct gorgon_value item = {.kind = GORGON_VALUE_INT, .integer = number},
			    ret = {.kind = GORGON_VALUE_NONE};
	const struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
	struct gorgon_error *err = gorgon_interp_call(me->interp, NULL, "deed", &args, NULL, &ret);

	if (!err && ret.integer != 2 * (int64_t)number) {
		count(&wrong);
		printf("seed %u: deed(%u) is %lld\n", seed, number, (long long)ret.integer);
	}
	gorgon_value_deinit(&ret);
	return err;
}

static void do_deed(struct torturer *me, bool program)
{
	unsigned number = choose(me, 1 << 30);
	struct gorgon_error *err;
	char text[16];
	int status;

	me->wait_ms = 50 + choose(me, 500);
	__atomic_store_n(&me->is_over, false, __ATOMIC_RELEASE);
	if (pthread_create(&me->interrupter, NULL, interrupt, me))
		return;
	snprintf(text, sizeof(text), "%u", number);
	err = program ? gorgon_interp_main(me->interp, 2, (const char *const[]){file, text},
					   &status)
		      : call_deed(me, number);
	__atomic_store_n(&me->is_over, true, __ATOMIC_RELEASE);
	pthread_join(me->interrupter, NULL);
	judge(err);
}

// An abandoned interpreter stays while threads of it are parked or in C code.
static void end(struct torturer *me)
{
	static const int limits[] = {1, 5, 20, 100, 500};
	struct gorgon_error *err = gorgon_interp_stop_within(me->interp, limits[choose(me, 5)]);

	gorgon_error_destroy(err);
	for (int i = 0; i < 20 && (err = gorgon_interp_destroy(me->interp)); i++) {
		gorgon_error_destroy(err);
		sleep_ms(10);
	}
	count(err ? &abandoned : &ended);
}

static void live(struct torturer *me)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	bool program = !choose(me, 4);
	struct gorgon_error *err;

	opts.end = choose(me, 2) ? GORGON_END_QUICK : GORGON_END_FULL;
	opts.memory_limit = choose(me, 3) ? 0 : 40 << 20;
	opts.files = choose(me, 3) ? GORGON_FILES_AUTO : GORGON_FILES_SHARED;
	err = gorgon_interp_create(&opts, &me->interp);
	if (err) {
		judge(err);
		return;
	}
	if (program) {
		do_deed(me, true);
	} else {
		err = gorgon_interp_start(me->interp, NULL);
		err = err ?: gorgon_interp_run_file(me->interp, file);
		for (unsigned deeds = err ? 0 : 1 + choose(me, 3); deeds; deeds--)
			do_deed(me, false);
		judge(err);
	}
	end(me);
}

static void *torture(void *arg)
{
	for (unsigned i = 0; i < lives; i++)
		live(arg);
	return NULL;
}

static void storm(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = seed % 4 ? SA_RESTART : 0};
	timer_t timer;

	sigaction(SIGUSR2, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		abort();
}

int main(int argc, char **argv)
{
	const struct rlimit few = {DESCRIPTORS, DESCRIPTORS};
	static struct torturer torturers[THREADS];

	if (argc != 4)
		return 2;
	seed = (unsigned)atoi(argv[1]);
	lives = (unsigned)atoi(argv[2]);
	file = argv[3];
	if (seed % 2 && setrlimit(RLIMIT_NOFILE, &few))
		return 2;
	gorgon_error_destroy(gorgon_faults_report(NULL));
	storm();
	for (unsigned i = 0; i < THREADS; i++) {
		torturers[i].random = seed * THREADS + i;
		if (pthread_create(&torturers[i].thread, NULL, torture, &torturers[i]))
			return 2;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(torturers[i].thread, NULL);
	printf("%u ended, %u stay, %u refused, %u exceptions, %u stopped, %u wrong, %u signals\n",
	       ended, abandoned, refused, raised, stopped, wrong, signals);
	return wrong != 0;
}
