// SPDX-License-Identifier: MIT
// An extension of bench/extensions.py. Much of the standard library's templates makes it 3.7 MB of
// debug information without optimisation, as an extension in pybind11 or Rust has. It is compiled
// under the name MODULE, of a copy of this file.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define NAME_(a, b) a##b
#define NAME(a, b) NAME_(a, b)

namespace MODULE {

using Value = std::variant<int, double, std::string, std::vector<int>>;

struct Item {
	std::string name;
	std::map<std::string, Value> values;
	std::unordered_map<int, std::shared_ptr<Item>> parts;
};

template <typename T> struct Shelf {
	std::vector<T> items;
	std::multimap<T, std::string> labels;
	void add(T item)
	{
		items.push_back(item);
		labels.emplace(item, "label");
		std::stable_sort(items.begin(), items.end());
	}
};

int price(int count)
{
	Item item{"item", {{"count", count}, {"weight", 1.5}}, {}};
	Shelf<int> shelf;

	shelf.add(count);
	item.parts[count] = std::make_shared<Item>();
	int total = count * 2;
	return total + (int)shelf.items.size(); // a breakpoint by line
}

// What is not called makes debug information all the same.
template <typename C>
std::basic_string<C> replaced(const std::basic_string<C> &text, const C *pattern, const C *by)
{
	Shelf<std::basic_string<C>> shelf;
	std::basic_ostringstream<C> out;
	std::map<std::basic_string<C>, std::deque<std::set<std::basic_string<C>>>> sets;

	shelf.add(text);
	sets[text].emplace_back().insert(text);
	out << std::regex_replace(text, std::basic_regex<C>(pattern), by);
	return out.str();
}

std::string rest(const std::string &text)
{
	Shelf<double> doubles;
	Shelf<std::pair<int, std::string>> pairs;
	std::mt19937_64 numbers(1);
	std::function<double(double)> half = [](double value) { return value / 2; };

	doubles.add(half(std::normal_distribution<double>(0, 1)(numbers)));
	pairs.add({1, text});
	std::wstring wide(text.begin(), text.end());
	wide = replaced<wchar_t>(wide, L"[a-z]+(.*)", L"$1");
	return replaced<char>(std::string(wide.begin(), wide.end()), "[a-z]+(.*)", "$1") +
	       std::to_string(std::async([] { return 1; }).get());
}

} // namespace MODULE

static PyObject *run(PyObject *, PyObject *count)
{
	return PyLong_FromLong(MODULE::price((int)PyLong_AsLong(count)));
}

static PyObject *rest(PyObject *, PyObject *text)
{
	return PyUnicode_FromString(MODULE::rest(PyUnicode_AsUTF8(text)).c_str());
}

static PyMethodDef methods[] = {{"run", run, METH_O, nullptr}, {"rest", rest, METH_O, nullptr}, {}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, TEXT(MODULE), nullptr, -1, methods,
				 nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC NAME(PyInit_, MODULE)(void)
{
	return PyModule_Create(&definition);
}
