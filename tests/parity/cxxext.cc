// SPDX-License-Identifier: MIT
// The extension in C++ of the parity sessions: methods, templates, overloads, exceptions. Built
// with -g -O0. habits.py looks for the comments that name lines.

#include <Python.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace geometry {

class Shape {
public:
	explicit Shape(int side) : side_(side) {}
	virtual ~Shape() = default;
	virtual int area() const
	{
		int result = side_ * side_; // in Shape::area

		return result;
	}
	int scaled(int by) const
	{
		return side_ * by; // in Shape::scaled
	}
	static int made;

protected:
	int side_;
};

class Cube : public Shape {
public:
	explicit Cube(int side) : Shape(side) {}
	int area() const override
	{
		int face = Shape::area();

		return 6 * face; // in Cube::area
	}
};

int Shape::made = 0;
static int hidden = 12;
thread_local int level = 1;

} // namespace geometry

namespace {
int unnamed = 0;
}

template <typename T> T biggest(T a, T b)
{
	T result = a > b ? a : b; // in biggest

	return result;
}

static int overloaded(int n)
{
	return n + 1; // in overloaded(int)
}

static int overloaded(const std::string &text)
{
	return static_cast<int>(text.size()); // in overloaded(string)
}

static inline int inlined(int n)
{
	return n * 3; // in inlined
}

static int thrower(int n)
{
	if (n > 0)
		throw std::runtime_error("thrown"); // in thrower
	return n;
}

static int catcher(int n)
{
	try {
		return thrower(n);
	} catch (const std::runtime_error &error) {
		return static_cast<int>(std::string(error.what()).size()); // in the handler
	}
}

static int collect(int n)
{
	std::vector<int> numbers{n, n + 1, n + 2};
	std::string text = "text" + std::to_string(n);
	std::map<std::string, int> sizes{{text, n}, {"other", 2}};
	const geometry::Cube cube(n);
	const geometry::Shape &shape = cube;
	auto add = [&numbers](int more) {
		numbers.push_back(more); // in the lambda
		return static_cast<int>(numbers.size());
	};

	add(n);
	return shape.area() + shape.scaled(2) + static_cast<int>(sizes.size()); // end of collect
}

static PyObject *cxx_work(PyObject *, PyObject *args)
{
	int n, result = 0;

	if (!PyArg_ParseTuple(args, "i", &n))
		return nullptr;
	geometry::Shape::made = n;
	geometry::level = 300 + n;
	unnamed = 400 + n;
	result = collect(n);
	result += biggest(n, 3) + static_cast<int>(biggest(2.5, 1.5));
	result += overloaded(n) + overloaded(std::string("abc"));
	result += inlined(n) + catcher(n) + geometry::hidden + unnamed;
	return PyLong_FromLong(result);
}

static PyMethodDef methods[] = {
	{"work", cxx_work, METH_VARARGS, nullptr},
	{nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cxxext", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_cxxext(void)
{
	return PyModule_Create(&definition);
}
