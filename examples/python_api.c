// SPDX-License-Identifier: MIT
// Two interpreters in one process. Prints
//
//	two Nones: yes
//	fib(20) = 6765 and 6765
//	ZeroDivisionError: division by zero
//	Python 3 by name: yes

#include <gorgon.h>

#include <stdio.h>
#include <stdlib.h>

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

static struct gorgon_interp *start(void)
{
	struct gorgon_interp *interp;

	check(gorgon_interp_create(NULL, &interp));
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_string(
		interp, "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)", "fib.py"));
	return interp;
}

// A function of `__main__` with one integer, and the integer that it returns.
static long long call(struct gorgon_interp *interp, const char *function, long long number)
{
	struct gorgon_value item = {.kind = GORGON_VALUE_INT, .integer = number};
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}}, ret;

	check(gorgon_interp_call(interp, NULL, function, &args, NULL, &ret));
	return ret.integer;
}

int main(void)
{
	struct gorgon_interp *first = start(), *second = start();
	const char *(*get_version)(void);
	struct gorgon_error *err;

	printf("two Nones: %s\n", gorgon_interp_find_symbol(first, "_Py_NoneStruct") !=
						  gorgon_interp_find_symbol(second, "_Py_NoneStruct")
					  ? "yes"
					  : "no");
	printf("fib(20) = %lld and %lld\n", call(first, "fib", 20), call(second, "fib", 20));

	err = gorgon_interp_run_string(first, "1 / 0", NULL);
	if (gorgon_error_exception(err))
		printf("%s: %s\n", gorgon_error_exception(err)->type,
		       gorgon_error_exception(err)->message);
	gorgon_error_destroy(err);

	get_version = (const char *(*)(void))gorgon_interp_find_symbol(second, "Py_GetVersion");
	printf("Python 3 by name: %s\n", get_version()[0] == '3' ? "yes" : "no");

	check(gorgon_interp_destroy(first));
	check(gorgon_interp_destroy(second));
	return 0;
}
