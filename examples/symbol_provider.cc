// SPDX-License-Identifier: MIT
// symbol_provider.c in C++; prints the same.

#include <gorgon.hpp>

#include <cstdio>

int main()
try {
	int (*add)(int, int) = [](int a, int b) { return a + b; };
	int (*no_pid)() = [] { return -1; };
	gorgon::provider provider{{"host_add", reinterpret_cast<void *>(add)},
				  {"getpid", reinterpret_cast<void *>(no_pid)}};
	gorgon_interp_opts opts{};
	gorgon_ns_opts ns_opts{};

	opts.size = sizeof(opts);
	ns_opts.size = sizeof(ns_opts);
	ns_opts.provider = provider.get();
	opts.ns = &ns_opts;
	gorgon::interpreter interp(&opts);
	interp.run_string("import ctypes, os\n"
			  "host = ctypes.CDLL(None)\n"
			  "print('host_add(40, 2) =', host.host_add(40, 2))\n"
			  "print('getpid() =', os.getpid())\n");
	interp.close();
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
