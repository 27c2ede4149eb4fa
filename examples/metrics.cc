// SPDX-License-Identifier: MIT
// metrics.c in C++; prints the same.

#include <gorgon.hpp>

#include <cstdio>

using stats = gorgon_interp_stats;

static const struct {
	const char *name, *type, *help;
	double (*value)(const stats &);
} metrics[] = {
	{"state", "gauge", "0 created, 1 runs a program, 2 starts, 3 started, 4 stops, 5 ends, 6 ended, 7 abandoned",
	 [](const stats &s) { return double(s.state); }},
	{"memory_bytes", "gauge", "what it holds and the limit counts",
	 [](const stats &s) { return double(s.heap_bytes + s.mapped_bytes + s.extension_bytes + s.block_bytes); }},
	{"memory_limit_bytes", "gauge", "0: none", [](const stats &s) { return double(s.memory_limit); }},
	{"threads", "gauge", "that its code has started", [](const stats &s) { return double(s.thread_count); }},
	{"cpu_seconds_total", "counter", "of calls and of its threads",
	 [](const stats &s) { return double(s.total_cpu_ns) / 1e9; }},
	{"gil_wait_seconds_total", "counter", "of calls", [](const stats &s) { return double(s.gil_wait_ns) / 1e9; }},
	{"calls_total", "counter", "that have ended", [](const stats &s) { return double(s.call_count); }},
};

int main()
try {
	gorgon_interp_opts opts{};

	opts.size = sizeof(opts);
	opts.memory_limit = 256 << 20;

	gorgon::interpreter interps[] = {gorgon::interpreter(&opts), gorgon::interpreter(&opts)};
	std::vector<stats> all;

	for (gorgon::interpreter &interp : interps) {
		interp.run_string("squares = [i * i for i in range(100000)]");
		all.push_back(interp.stats());
	}
	for (const auto &metric : metrics) {
		std::printf("# HELP gorgon_interpreter_%s %s\n# TYPE gorgon_interpreter_%s %s\n", metric.name, metric.help,
			    metric.name, metric.type);
		for (size_t i = 0; i < all.size(); i++)
			std::printf("gorgon_interpreter_%s{interpreter=\"%u\"} %.9g\n", metric.name,
				    gorgon_interp_number(interps[i].get()), metric.value(all[i]));
	}
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
