// SPDX-License-Identifier: MIT
// Several libraries that define and ask for the same name: whose is found?

#include "note.h"

#define TEXT2(a) #a
#define TEXT(a)	 TEXT2(a)

const char *who(void);
const char *who_asks(void);
void who_probe(void);

const char *who(void)
{
	return TEXT(WHO_NAME);
}

const char *who_asks(void)
{
	return who();
}

void who_probe(void)
{
	test_note(who());
}

__attribute__((constructor)) static void start(void)
{
	test_note("+" TEXT(WHO_NAME));
}

__attribute__((destructor)) static void stop(void)
{
	test_note("-" TEXT(WHO_NAME));
}
