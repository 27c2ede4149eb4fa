// SPDX-License-Identifier: MIT
// A library in C++ whose variables are in a namespace and in a class.

namespace spoken
{
int counter;

struct Word
{
	static int made;
	int length;

	int speak();
};

int Word::made;

int Word::speak()
{
	made++;
	return length + made; // C++ speaks
}

static int speak(int length)
{
	counter++;
	return Word{length}.speak() + counter; // the namespace speaks
}
} // namespace spoken

extern "C" int speak_cpp(int length)
{
	return spoken::speak(length);
}
