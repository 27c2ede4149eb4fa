// SPDX-License-Identifier: MIT
// A library that notes its constructors and destructors under the name ORDER_NAME,
// and calls the library ORDER_CALLS, which it needs.

#include "note.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TEXT2(a)    #a
#define TEXT(a)	    TEXT2(a)

int JOIN(ORDER_NAME, _get)(void);

#ifdef ORDER_CALLS
int JOIN(ORDER_CALLS, _get)(void);

int JOIN(ORDER_NAME, _get)(void)
{
	return JOIN(ORDER_CALLS, _get)() * 10 + ORDER_VALUE;
}
#else
int JOIN(ORDER_NAME, _get)(void)
{
	return ORDER_VALUE;
}
#endif

__attribute__((constructor(101))) static void first(void)
{
	test_note("+" TEXT(ORDER_NAME) "1");
}

__attribute__((constructor(102))) static void second(void)
{
	test_note("+" TEXT(ORDER_NAME) "2");
}

__attribute__((destructor(101))) static void last(void)
{
	test_note("-" TEXT(ORDER_NAME) "1");
}

__attribute__((destructor(102))) static void next_to_last(void)
{
	test_note("-" TEXT(ORDER_NAME) "2");
}
