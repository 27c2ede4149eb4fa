// SPDX-License-Identifier: MIT
// session.c in C++; prints the same.

#include <gorgon.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>

static const char model_source[] = "class Model:\n"
				   "    def __init__(self, weights):\n"
				   "        self.weights = list(weights)\n"
				   "    def forward(self, x):\n"
				   "        return [w * x for w in self.weights]\n";

/** Interpreters, and who uses them. */
class manager
{
public:
	/** One user of an interpreter, until its end. */
	class session
	{
	public:
		session(manager &owner, size_t index) : owner_(owner), index_(index)
		{
		}
		session(const session &) = delete;
		~session()
		{
			std::lock_guard<std::mutex> guard(owner_.lock_);
			owner_.users_[index_]--;
		}
		gorgon::interpreter *operator->() const
		{
			return &owner_.interpreters_[index_];
		}
		const gorgon::interpreter &interpreter() const
		{
			return owner_.interpreters_[index_];
		}

	private:
		manager &owner_;
		size_t index_;
	};

	explicit manager(size_t count) : interpreters_(count), users_(count)
	{
		for (gorgon::interpreter &interp : interpreters_)
			interp.run_string("import sys, types\n"
					  "nets = sys.modules['nets'] = types.ModuleType('nets')\n"
					  "exec(" + std::string("'''") + model_source + "''', nets.__dict__)\n");
	}
	/** In the interpreter that has the fewest users. */
	session acquire()
	{
		std::lock_guard<std::mutex> guard(lock_);
		size_t index = std::min_element(users_.begin(), users_.end()) - users_.begin();

		users_[index]++;
		return session(*this, index);
	}

private:
	std::mutex lock_;
	std::vector<gorgon::interpreter> interpreters_;
	std::vector<int> users_;
};

int main()
try {
	manager interpreters(3);
	std::unique_ptr<gorgon::replica> shared;
	std::string lines[4];
	std::vector<std::thread> threads;

	{
		auto session = interpreters.acquire();
		gorgon::object model = session->global("nets", "Model")({gorgon::list{1, 10, 100}});
		gorgon::object result = model.attr("forward")({2});

		std::printf("%s of %zu:", result.type().attr("__name__").to_value().get<std::string>().c_str(),
			    result.to_value().get<gorgon::list>().size());
		for (const gorgon::object &item : result)
			std::printf(" %lld", (long long)item.to_value().get<int64_t>());
		std::printf("\n");
		try {
			model.attr("backward");
		} catch (const gorgon::error &error) {
			std::printf("%s\n", error.exception()->message);
		}
		shared = std::make_unique<gorgon::replica>(model);
	}
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			auto session = interpreters.acquire();
			gorgon::object model = shared->in(session.interpreter());
			gorgon::object result = model.attr("forward")({i})[2];

			lines[i] = std::to_string(result.to_value().get<int64_t>());
		});
	for (std::thread &thread : threads)
		thread.join();
	for (int i = 0; i < 4; i++)
		std::printf("%s%c", lines[i].c_str(), i < 3 ? ' ' : '\n');
	return 0;
} catch (const gorgon::error &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
