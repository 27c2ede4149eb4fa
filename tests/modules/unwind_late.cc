// SPDX-License-Identifier: MIT
// Throws and catches an exception itself. It needs nothing of the program, so any process can load it.

extern "C" int unwind_here()
{
	try {
		throw 5;
	} catch (int value) {
		return value;
	}
}
