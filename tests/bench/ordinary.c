// SPDX-License-Identifier: MIT
// The peer of bench/debug.py: a host that embeds one libpython in the usual way.
//
// usage: ordinary PYTHON CODE
//
// PYTHON is the executable whose modules it uses.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	PyConfig config;
	PyStatus status;

	if (argc != 3) {
		fprintf(stderr, "usage: ordinary PYTHON CODE\n");
		return 2;
	}
	PyConfig_InitPythonConfig(&config);
	status = PyConfig_SetBytesString(&config, &config.program_name, argv[1]);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status))
		Py_ExitStatusException(status);
	if (PyRun_SimpleString(argv[2]))
		return 1;
	return Py_FinalizeEx() ? 1 : 0;
}
