// SPDX-License-Identifier: MIT
// custom_library.c in C++; prints the same, with either runner library.

#include <gorgon.hpp>

#include <cstdio>

#include "runner.h"

void host_log(const char *expression)
{
	std::printf("host_log: %s\n", expression);
}

static void run(const char *which, const char *program, const char *path)
{
	gorgon::provider provider{{"host_log", reinterpret_cast<void *>(host_log)}};
	gorgon_interp_opts opts{};
	gorgon_ns_opts ns_opts{};
	char name[100], error[100];

	opts.size = sizeof(opts);
	ns_opts.size = sizeof(ns_opts);
	ns_opts.provider = provider.get();
	opts.ns = &ns_opts;
	gorgon::interpreter interp(&opts);
	interp.run_string(program);
	gorgon::library library(interp, path);
	auto evaluate = library.symbol<decltype(runner_evaluate)>("runner_evaluate");
	evaluate("name", name, sizeof(name));
	evaluate("1 / 0", error, sizeof(error));
	std::printf("%s: %s, %s\n", which, name, error);
}

int main(int argc, char **argv)
try {
	if (argc != 2) {
		std::fprintf(stderr, "usage: custom_library LIBRARY\n");
		return 2;
	}
	run("first", "name = 'spam'", argv[1]);
	run("second", "name = 'eggs'", argv[1]);
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
