// SPDX-License-Identifier: MIT
// Throws and catches for itself; needs nothing of the program, any process can load it.

extern "C" int unwind_here()
{
	try {
		throw 5;
	} catch (int value) {
		return value;
	}
}
