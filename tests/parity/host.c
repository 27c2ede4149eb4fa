// SPDX-License-Identifier: MIT
// The host of the parity sessions, twice: linked with libpython, and with libgorgon.
//
//	host COUNT MODULES PROGRAM
//
// COUNT threads run PROGRAM, which finds extensions in the folder MODULES: in one Python,
// or (PARITY_GORGON) each in an interpreter of its own. They take turns, and a debugger says
// whose turn is next: it stops in turn_sync(), where nobody is in the middle of anything, and
// sets `turn`. So what happens after that, in which order and with which numbers, is the same
// in both hosts.
//
// The mutex is held in turn_sync(); commands there call no function of the host.

#define _GNU_SOURCE
#ifdef PARITY_GORGON
#include <gorgon.h>
#else
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT_MAX 64
#define IDLE_USEC 2000 // between two calls of turn_sync() while no thread has a turn

struct turn {
	int who;    // the thread that has the next turn
	int number; // what it works with
	int left;   // how many turns are left until turn_sync()
	int stop;   // the programs are to end
};

struct turn turn = {.number = 1};
static int count, ready;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *program, *modules;

// Where debuggers stop between two habits.
__attribute__((noinline)) void turn_sync(void);
void turn_sync(void)
{
	__asm__ volatile("" : : : "memory");
}

static void idle(void)
{
	turn_sync();
	if (turn.left || turn.stop)
		return;
	pthread_mutex_unlock(&mutex);
	usleep(IDLE_USEC);
	pthread_mutex_lock(&mutex);
}

// Returns the number to work with, or -1: the program is to end. Called by extensions.
int turn_begin(int me);
int turn_begin(int me)
{
	int number;

	pthread_mutex_lock(&mutex);
	if (turn.number == 1 && ready < count) {
		ready++;
		pthread_cond_broadcast(&changed);
	}
	while (!turn.stop && (ready < count || turn.who != me || !turn.left)) {
		if (ready == count && turn.who == me && !turn.left) {
			idle();
			pthread_cond_broadcast(&changed);
		} else {
			pthread_cond_wait(&changed, &mutex);
		}
	}
	number = turn.stop ? -1 : turn.number;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return number;
}

void turn_end(void);
void turn_end(void)
{
	pthread_mutex_lock(&mutex);
	turn.left--;
	turn.number++;
	turn.who = (turn.who + 1) % count;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

#ifdef PARITY_GORGON
static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "host: %s\n", gorgon_error_message(err));
	exit(3);
}

static struct gorgon_interp *interps[COUNT_MAX];

static void *run(void *arg)
{
	int me = (int)(long)arg, status;
	char number[16];
	const char *const argv[] = {program, modules, number};

	snprintf(number, sizeof(number), "%d", me);
	check(gorgon_interp_main(interps[me], 3, argv, &status));
	return (void *)(long)status;
}

static void start(void)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .files = GORGON_FILES_THREAD};

	for (int i = 0; i < count; i++)
		check(gorgon_interp_create(&opts, &interps[i]));
}

static void end(void)
{
	for (int i = 0; i < count; i++)
		check(gorgon_interp_destroy(interps[i]));
}
#else
static void *run(void *arg)
{
	PyGILState_STATE state = PyGILState_Ensure();
	PyObject *globals = PyDict_New(), *me = PyLong_FromLong((long)arg), *result = NULL;
	FILE *file = fopen(program, "r");

	PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
	PyDict_SetItemString(globals, "me", me);
	if (file)
		result = PyRun_FileEx(file, program, Py_file_input, globals, globals, 1);
	if (!result)
		PyErr_Print();
	PyGILState_Release(state);
	return (void *)(long)!result;
}

static PyThreadState *saved;

static void start(void)
{
	char *argv[] = {(char *)program, (char *)modules};
	PyConfig config;

	PyConfig_InitPythonConfig(&config);
	config.parse_argv = 0;
	if (PyStatus_Exception(PyConfig_SetBytesArgv(&config, 2, argv)) ||
	    PyStatus_Exception(Py_InitializeFromConfig(&config)))
		exit(3);
	PyConfig_Clear(&config);
	saved = PyEval_SaveThread();
}

static void end(void)
{
	PyEval_RestoreThread(saved);
	Py_FinalizeEx();
}
#endif

int main(int argc, char **argv)
{
	pthread_t threads[COUNT_MAX];
	void *status, *failed = NULL;

	if (argc != 4 || (count = atoi(argv[1])) < 1 || count > COUNT_MAX) {
		fprintf(stderr, "usage: host COUNT MODULES PROGRAM\n");
		return 2;
	}
	modules = argv[2];
	program = argv[3];
	start();
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 3;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], &status);
		failed = status ? status : failed;
	}
	end();
	return failed ? 1 : 0;
}
