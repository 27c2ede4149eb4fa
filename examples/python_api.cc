// SPDX-License-Identifier: MIT
// python_api.c in C++; prints the same.

#include <gorgon.hpp>

#include <cstdio>

static const char program[] = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)";

int main()
try {
	gorgon::interpreter first, second;

	first.run_string(program, "fib.py");
	second.run_string(program, "fib.py");
	std::printf("two Nones: %s\n",
		    first.symbol<char>("_Py_NoneStruct") != second.symbol<char>("_Py_NoneStruct")
			    ? "yes"
			    : "no");
	std::printf("fib(20) = %lld and %lld\n",
		    (long long)first.call("fib", {20}).get<int64_t>(),
		    (long long)second.call("fib", {20}).get<int64_t>());
	try {
		first.run_string("1 / 0");
	} catch (const gorgon::error &error) {
		std::printf("%s: %s\n", error.exception()->type, error.exception()->message);
	}
	std::printf("Python 3 by name: %s\n",
		    second.symbol<const char *()>("Py_GetVersion")()[0] == '3' ? "yes" : "no");
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
