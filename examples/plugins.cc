// SPDX-License-Identifier: MIT
// An application in C++ whose plug-ins are Python files, each for the CPython that it was written for:
//
//	plugins [PLUGIN.py PYTHON]... < lines
//
// Each line of its input goes through all plug-ins, in their order. A plug-in has `about`, a text, and edit(line), and may
// call the application's functions through ctypes. Plug-ins of several versions of CPython are in this process at once, and
// a plug-in that raises is left out from then on; the application goes on.

#include <gorgon.hpp>

#include <cstdio>
#include <iostream>
#include <list>
#include <string>

// What plug-ins may call.
static long counted;

extern "C" void app_count(int characters)
{
	counted += characters;
}

static const gorgon::provider functions{{"app_count", reinterpret_cast<void *>(app_count)}};

class plugin
{
public:
	plugin(const std::string &file, const std::string &python) : file_(file), interp_(start(python))
	{
		interp_.run_file(file);
		// Its own names for what the application asks; the plug-in's are not touched.
		interp_.run_string("import sys\n"
				   "def app_about(): return f'{about}, Python {sys.version_info[0]}.{sys.version_info[1]}'\n"
				   "def app_edit(line): return edit(line)\n",
				   "<application>");
	}
	std::string about()
	{
		return interp_.call("app_about").get<std::string>();
	}
	// The line itself when the plug-in fails.
	std::string edit(const std::string &line)
	{
		if (!works_)
			return line;
		try {
			return interp_.call("app_edit", {line}).get<std::string>();
		} catch (const gorgon::error &error) {
			std::fprintf(stderr, "%s: %s; it is left out from now on\n", file_.c_str(), error.what());
			works_ = false;
			return line;
		}
	}

private:
	static gorgon::interpreter start(const std::string &python)
	{
		gorgon_interp_opts opts{};
		gorgon_ns_opts ns{};

		ns.size = sizeof(ns);
		ns.provider = functions.get();
		opts.size = sizeof(opts);
		opts.python = python.c_str();
		opts.ns = &ns;
		return gorgon::interpreter(&opts);
	}

	std::string file_;
	gorgon::interpreter interp_;
	bool works_ = true;
};

int main(int argc, char **argv)
{
	std::list<plugin> plugins;

	if (argc % 2 == 0) {
		std::fprintf(stderr, "usage: plugins [PLUGIN.py PYTHON]...\n");
		return 2;
	}
	for (int i = 1; i < argc; i += 2)
		try {
			plugins.emplace_back(argv[i], argv[i + 1]);
			std::printf("plug-in: %s\n", plugins.back().about().c_str());
		} catch (const gorgon::error &error) {
			std::fprintf(stderr, "%s: not loaded: %s\n", argv[i], error.what());
		}
	for (std::string line; std::getline(std::cin, line);) {
		for (plugin &each : plugins)
			line = each.edit(line);
		std::printf("%s\n", line.c_str());
	}
	std::printf("characters that plug-ins have counted: %ld\n", counted);
	return 0;
}
