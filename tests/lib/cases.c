// SPDX-License-Identifier: MIT
// Chooses the cases of a cmocka program that run: by the linker's --wrap each group is run through here, and the
// environment names the cases. tests/conftest.py uses it.
//
//   TEST_CASES=?            print the cases' names, one a line, and run none
//   TEST_CASES="one two"    run only the cases with these names, in the program's order
//   TEST_EVERY=20           what test_every() returns, see cases.h
//
// Without the variables all cases run, whole. Programs that a case starts do not inherit them.

#include "cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);

static char *wanted; // the variable's value when the program started
static bool known;   // the variables have been read
static size_t every = 1;

static void read_wanted(void)
{
	const char *text = getenv("TEST_EVERY");

	if (known)
		return;
	known = true;
	if (text && strtoul(text, NULL, 10) > 1)
		every = strtoul(text, NULL, 10);
	unsetenv("TEST_EVERY");
	text = getenv("TEST_CASES");
	if (!text)
		return;
	wanted = strdup(text);
	if (!wanted)
		err(1, "TEST_CASES");
	unsetenv("TEST_CASES");
}

size_t test_every(void)
{
	static bool told;

	if (every > 1 && !told)
		print_message(
			"TEST_EVERY=%zu: what takes long is tried that many times less often\n",
			every);
	told = true;
	return every;
}

static bool is_wanted(const char *name)
{
	size_t size = strlen(name);

	for (const char *at = strstr(wanted, name); at; at = strstr(at + 1, name))
		if ((at == wanted || at[-1] == ' ') && (!at[size] || at[size] == ' '))
			return true;
	return false;
}

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct CMUnitTest *chosen;
	size_t n = 0;
	int ret = 0;

	read_wanted();
	if (!wanted)
		return __real__cmocka_run_group_tests(group, tests, count, setup, teardown);
	if (!strcmp(wanted, "?")) {
		for (size_t i = 0; i < count; i++)
			puts(tests[i].name);
		return 0;
	}
	chosen = calloc(count, sizeof(*chosen));
	if (!chosen)
		err(1, "%s", group);
	for (size_t i = 0; i < count; i++)
		if (is_wanted(tests[i].name))
			chosen[n++] = tests[i];
	if (n)
		ret = __real__cmocka_run_group_tests(group, chosen, n, setup, teardown);
	free(chosen);
	return ret;
}
