// SPDX-License-Identifier: MIT
// A python3 that is linked with its libpython, which interpreters load, too. Debian's own python3 contains CPython
// instead, and is faster for that.

#include <Python.h>

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
