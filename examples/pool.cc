// SPDX-License-Identifier: MIT
// pool.c in C++; prints the same.

#include <gorgon.hpp>

#include <cstdio>

int main()
try {
	gorgon_pool_opts opts{};

	opts.size = sizeof(opts);
	opts.count = 3;
	opts.warm_up = "def square(x): return x * x\n"
		       "def run_away():\n"
		       "    while True: pass\n";
	gorgon::pool pool(&opts);
	gorgon::job runaway = pool.submit("run_away");
	std::vector<gorgon::job> jobs;

	for (int i = 0; i < 8; i++)
		jobs.push_back(pool.submit("square", {i}));
	for (int i = 0; i < 8; i++)
		std::printf("%lld%c", (long long)jobs[i].finish().get<int64_t>(), i < 7 ? ' ' : '\n');
	runaway.cancel();
	try {
		runaway.finish();
	} catch (const gorgon::error &error) {
		std::printf("runaway: %s\n", error.exception()->type);
	}
	pool.close();
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
