// SPDX-License-Identifier: MIT
// The extension in C of the parity sessions: functions and variables of every kind. Built with
// -g -O0. habits.py looks for the comments that name lines.

#include <Python.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SIGNAL_TURN 600
#define CRASH_TURN  601

int turn_begin(int me);
void turn_end(void);

enum colour { RED, GREEN, BLUE = 7 };

struct point {
	int x, y;
	const char *label;
	enum colour colour;
	unsigned low : 3, high : 5;
	struct point *next;
};

union either {
	int number;
	char bytes[4];
};

typedef int (*operation)(int);

int counter;			   // as many times ten as the number of the turn
static int calls;		   // the number of the turn
__thread int depth;		   // a hundred more
static __thread long inner_depth;  // two hundred more
static const char *names[] = {"zero", "one", "two"};
struct point corner = {1, 2, "corner", GREEN, 5, 9, NULL};
double ratio = 0.5;
int table[5] = {10, 20, 30, 40, 50};

int cext_square(int n)
{
	int result = n * n;

	return result;
}

static int cext_twice(int n)
{
	int result = 2 * n; // in cext_twice

	return result;
}

static int apply(operation what, int n)
{
	return what(n); // in apply
}

static int factorial(int n)
{
	if (n <= 1)
		return 1; // the innermost factorial
	return n * factorial(n - 1);
}

static int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < 5; i++) {
		sum += i * n; // in the loop
		counter++;
	}
	return sum; // after the loop
}

static int shadow(int n)
{
	int counter = 3;
	{
		int n = 4; // hides the argument
		counter += n;
	}
	return counter + n; // in shadow
}

static int helper(int n, const char *name, struct point *where)
{
	int local = n + 1; // first line of helper
	char text[16] = "";
	union either either = {.number = 0x41424344};
	struct point copy = *where;

	snprintf(text, sizeof(text), "%s!", name);
	copy.x += local; // middle of helper
	calls++;
	local += cext_twice(n); // helper calls cext_twice
	local += cext_square(3);
	return local + copy.x + (int)strlen(text) + either.bytes[0]; // last line of helper
}

static PyObject *cext_begin(PyObject *self, PyObject *args)
{
	int me, number;

	if (!PyArg_ParseTuple(args, "i", &me))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	number = turn_begin(me);
	Py_END_ALLOW_THREADS
	counter = 10 * number;
	calls = number;
	depth = 100 + number;
	inner_depth = 200 + number;
	corner.x = 1;
	(void)self;
	return PyLong_FromLong(number);
}

static PyObject *cext_end(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	turn_end();
	Py_RETURN_NONE;
}

static PyObject *cext_work(PyObject *self, PyObject *args)
{
	struct point here = {3, 4, "here", BLUE, 1, 2, &corner};
	const char *name;
	int n, result = 0;

	if (!PyArg_ParseTuple(args, "is", &n, &name))
		return NULL;
	result = helper(n, name, &here); // cext_work calls helper
	result += apply(cext_square, n);
	result += factorial(4);
	result += loop(n);
	result += shadow(n);
	if (n == SIGNAL_TURN)
		raise(SIGUSR1); // the signal
	if (n == CRASH_TURN)
		*(volatile int *)0 = n; // the crash
	(void)self;
	result += (int)ratio + names[1][0] + table[n % 5];
	return PyLong_FromLong(result); // cext_work returns
}

static PyMethodDef methods[] = {
	{"begin", cext_begin, METH_VARARGS, NULL},
	{"end", cext_end, METH_NOARGS, NULL},
	{"work", cext_work, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cext", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_cext(void)
{
	return PyModule_Create(&definition);
}
