// SPDX-License-Identifier: MIT
// A thread_local with a constructor and a destructor in one library (TLS_DEFINES), used
// by another one through its wrapper function.

#include "note.h"

struct noter {
	noter() : value(3)
	{
		test_note("+thread_local");
	}
	~noter()
	{
		note_value("-thread_local", value);
	}
	int value;
};

#ifdef TLS_DEFINES
thread_local noter shared_noter;
#else
extern thread_local noter shared_noter;

static void use()
{
	note_value("use", shared_noter.value++);
}

extern "C" void tls_cxx_probe()
{
	use();
	use();
	test_on_new_thread(use);
	test_on_old_thread(use);
}
#endif
