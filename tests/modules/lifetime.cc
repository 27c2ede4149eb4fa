// SPDX-License-Identifier: MIT
// Objects with constructors and destructors, global and thread_local, that report both.
// One source for two libraries: NAME is what they report, TOUCH their function, and
// TOUCH_NEEDED that of the library which the second needs.

#include "note.h"

#include <string>

namespace
{
struct noted {
	std::string name;

	explicit noted(const char *what) : name(std::string(NAME ".") + what)
	{
		test_note(("+" + name).c_str());
	}
	~noted()
	{
		test_note(("-" + name).c_str());
	}
};

noted global("global");
thread_local noted first("first"), second("second");
} // namespace

// Any use of a thread_local initialises all of its source file.
extern "C" size_t TOUCH()
{
	return second.name.size();
}

#ifdef TOUCH_NEEDED
extern "C" size_t TOUCH_NEEDED();

extern "C" size_t lifetime_touch_both()
{
	return TOUCH_NEEDED() + TOUCH();
}
#endif
