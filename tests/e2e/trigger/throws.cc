/* SPDX-License-Identifier: MIT */
// Exceptions through several frames, coroutine-like jumps, many threads: throws N. Prints what it counted.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

namespace shop {
struct Order {
	int items;
	NOINLINE int price(int each) const
	{
		if (each < 0)
			throw std::runtime_error("price " + std::to_string(each));
		return items * each;
	}
};
} // namespace shop

NOINLINE int t_middle(const shop::Order &o, int each)
{
	std::string guard = "cleanup runs"; // something to unwind
	int v = o.price(each);
	return v + (int)guard.size();
}

NOINLINE int t_catch(int each)
{
	shop::Order o{3};
	try {
		return t_middle(o, each);
	} catch (const std::exception &) {
		return -1;
	}
}

static jmp_buf jump;
NOINLINE void t_jump(int n)
{
	if (n > 0)
		longjmp(jump, n);
}

static int volatile caught;

static void t_thread(int n)
{
	for (int i = 0; i < n; i++)
		if (t_catch(i % 2 ? -i : i) < 0)
			__atomic_fetch_add(&caught, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	int volatile jumps = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back(t_thread, n);
	for (auto &t : threads)
		t.join();
	if (setjmp(jump) < n) {
		jumps = jumps + 1;
		t_jump(jumps);
	}
	std::printf("caught %d jumps %d\n", caught, jumps);
	return 0;
}
