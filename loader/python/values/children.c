// SPDX-License-Identifier: MIT
// Processes that a program starts to run itself again.
//
// multiprocessing's spawn and forkserver, concurrent.futures and joblib start a python3, which gets
// the program's sys.path and runs the program's file as the module __mp_main__. `gorgon` is built
// into interpreters only, so importing it would fail in that python3, and a pool would start
// workers for ever. So a program that imports `gorgon` gets a folder at the end of its sys.path,
// with a module of that name for processes without interpreters (children/gorgon.py).
//
// The folder is found from where this library lies: in the build folder, or PREFIX/share of an
// installation; otherwise where it was configured for. Without one nothing is added.

#define _GNU_SOURCE
#include "children.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[PATH_MAX]; // empty: there is none

static bool is_child_package_there(const char *format, const char *dir)
{
	char path[PATH_MAX + 64], file[PATH_MAX + 80];

	snprintf(path, sizeof(path), format, dir);
	snprintf(file, sizeof(file), "%s/gorgon.py", path);
	return !access(file, R_OK) && realpath(path, folder);
}

// The file of this library, or of the program that it is linked into.
static void find_childrens_folder(void)
{
	static const char *const places[] = {"%s/share/gorgon/children",
					     "%s/../share/gorgon/children",
					     "%s/../../share/gorgon/children"};
	char file[PATH_MAX], *slash;
	bool found = false;
	Dl_info info;

	if (dladdr(folder, &info) && realpath(info.dli_fname, file) &&
	    (slash = strrchr(file, '/'))) {
		*slash = 0;
		for (size_t i = 0; !found && i < sizeof(places) / sizeof(*places); i++)
			found = is_child_package_there(places[i], file);
	}
	if (!found && !is_child_package_there("%s/children", GORGON_DATADIR))
		*folder = 0;
}

bool gorgon_children_add_path(struct gorgon_interp *interp)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	PyObject *path = API(interp, PySys_GetObject)("path"), *item; // path is borrowed
	int done = 0;

	pthread_once(&once, find_childrens_folder);
	if (!*folder || !path)
		return true;
	if (!(item = API(interp, PyUnicode_DecodeFSDefault)(folder)))
		return false;
	// A program may have replaced sys.path by something that is no list: then nothing is added.
	done = API(interp, PySequence_Contains)(path, item);
	if (!done)
		done = API(interp, PyList_Append)(path, item) + 1;
	API(interp, Py_DecRef)(item);
	if (done < 1)
		API(interp, PyErr_Clear)();
	return true;
}
