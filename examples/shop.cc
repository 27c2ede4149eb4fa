// SPDX-License-Identifier: MIT
// A server in C++ whose rules are in Python:
//
//	shop RULES.py WORKERS
//
// It prints the port of 127.0.0.1 on which it listens. Each line of a connection is an order, which
// decide() of the rules answers with a line. A worker is a thread with an interpreter of its own:
// orders are decided on all processors, and the globals of rules are each worker's. What all have in
// common is the server's, in C++: rules call stock(item) and take(item, count) of the module `shop`.
// A rule that raises costs its order an answer. SIGTERM ends the server when the open connections
// have ended.

#include <gorgon.hpp>

#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::mutex lock;
static std::map<std::string, int64_t> shelves{{"apple", 1000}, {"pear", 10}};

static gorgon::value stock(const gorgon::list &args, const gorgon::dict &)
{
	const std::lock_guard<std::mutex> guard(lock);

	return shelves.at(args.at(0).get<std::string>()); // std::out_of_range is an IndexError in Python
}

// Whether so many were there: another worker may have been quicker.
static gorgon::value take(const gorgon::list &args, const gorgon::dict &)
{
	const std::lock_guard<std::mutex> guard(lock);
	int64_t &left = shelves.at(args.at(0).get<std::string>()), count = args.at(1).get<int64_t>();

	if (count < 1 || count > left)
		return false;
	left -= count;
	return true;
}

static std::string decide(gorgon::interpreter &interp, const std::string &order)
try {
	return interp.call("decide", {order}).get<std::string>();
} catch (const gorgon::error &error) {
	return std::string("error: ") + (error.exception() ? error.exception()->message : error.what());
}

static void serve(int connection, gorgon::interpreter &interp)
{
	std::string text;
	char part[4096];

	for (ssize_t size; (size = read(connection, part, sizeof(part))) > 0;) {
		text.append(part, size);
		for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
			const std::string answer = decide(interp, text.substr(0, end)) + "\n";

			// Who has gone meanwhile gets no answer, and no SIGPIPE ends the server.
			send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
		}
	}
	close(connection);
}

// A worker, on whose thread its interpreter begins and ends.
static void work(int listener, const char *rules, std::string &failed)
try {
	gorgon::interpreter interp;

	interp.run_string("import sys, types\n"
			  "sys.modules['shop'] = types.ModuleType('shop')\n"
			  "add = sys.modules['shop'].__dict__.update");
	interp.global("add")(
		{}, {{"stock", gorgon::function(interp, "stock", stock)},
		     {"take", gorgon::function(interp, "take", take)}});
	interp.run_file(rules);
	for (int connection; (connection = accept(listener, nullptr, nullptr)) >= 0;)
		serve(connection, interp);
	interp.close();
} catch (const gorgon::error &error) {
	failed = error.what();
	kill(getpid(), SIGTERM);
}

int main(int argc, char **argv)
{
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockaddr_in address{};
	socklen_t size = sizeof(address);
	sigset_t signals;
	int number;

	if (argc != 3)
		return std::fprintf(stderr, "usage: shop RULES.py WORKERS\n"), 2;
	// Only sigwait() sees the end: signals are the server's, whatever rules do.
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, nullptr);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), size) < 0 || listen(listener, 64) < 0 ||
	    getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) < 0)
		return std::perror("shop: 127.0.0.1"), 1;
	std::vector<std::thread> workers;
	std::vector<std::string> failed(std::stoul(argv[2]));

	for (std::string &each : failed)
		workers.emplace_back(work, listener, argv[1], std::ref(each));
	std::printf("%d\n", ntohs(address.sin_port));
	std::fflush(stdout);
	sigwait(&signals, &number);
	shutdown(listener, SHUT_RD); // accept() of each worker returns
	for (std::thread &each : workers)
		each.join();
	for (const std::string &each : failed)
		if (!each.empty())
			std::fprintf(stderr, "shop: %s\n", each.c_str());
	for (const auto &[item, count] : shelves)
		std::printf("%s: %lld left\n", item.c_str(), static_cast<long long>(count));
	return failed != std::vector<std::string>(failed.size());
}
