/* SPDX-License-Identifier: MIT */
/* Names of C++ that mangled.sh looks for; beside them, as labels, names of Rust and hostile ones. */
#include <string>

namespace shop {

struct Order {
	int id;
	Order(int i);
	int price(int quantity) const;
	int price(const std::string &code) const;
	bool operator()(int other) const;
};

__attribute__((noinline)) Order::Order(int i) : id(i)
{
	__asm__ volatile("");
}

__attribute__((noinline)) int Order::price(int quantity) const
{
	__asm__ volatile("");
	return id * quantity;
}

__attribute__((noinline)) int Order::price(const std::string &code) const
{
	__asm__ volatile("");
	return (int)code.size();
}

__attribute__((noinline)) bool Order::operator()(int other) const
{
	__asm__ volatile("");
	return id == other;
}

template <class T> __attribute__((noinline)) T tmpl(T a, T b)
{
	__asm__ volatile("");
	return a + b;
}

namespace {
__attribute__((noinline)) int hidden(int a)
{
	__asm__ volatile("");
	return a;
}
} // namespace

} // namespace shop

#define LABEL(function, name)                                \
	extern "C" void function() __asm__(name);            \
	extern "C" __attribute__((noinline)) void function() \
	{                                                    \
		__asm__ volatile("");                        \
	}
LABEL(rust_i32, "_ZN5stall7generic17h07386897badf7c2bE")
LABEL(rust_str, "_ZN5stall7generic17h91e502dde2b80a2dE")
LABEL(rust_v0, "_RINvCs1234_5stall5boxedlE")
LABEL(control, "stall_control")
LABEL(bomb, BOMB)

int main()
{
	shop::Order *o = new shop::Order(7);
	int sum = o->price(3) + o->price(std::string("abc")) + (*o)(7) + shop::tmpl(1, 2) + (int)shop::tmpl(1.5, 2.5) +
		  shop::hidden(1);

	rust_i32();
	rust_str();
	rust_v0();
	control();
	bomb();
	delete o;
	return sum != 21 + 3 + 1 + 3 + 4 + 1;
}
