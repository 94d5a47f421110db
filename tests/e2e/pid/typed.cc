/* SPDX-License-Identifier: MIT */
/* Methods, references, base classes, objects that are passed by address: typed args[] in C++. */
#include <string>

struct base {
	int id;
	virtual ~base() {}
};

struct shape : base {
	std::string label;
	double area;
	int method(const shape &other, std::string by_address, int n) __attribute__((noinline));
	static int count;
};
int shape::count;

int shape::method(const shape &other, std::string by_address, int n)
{
	__asm__ volatile("" ::: "memory");
	return id + other.id + n + (int)by_address.size();
}

int main()
{
	shape a, b;

	a.id = 7;
	b.id = 8;
	a.area = b.area = 0;
	return a.method(b, "a text that is longer than what fits inside", -9) ? 0 : 1;
}
