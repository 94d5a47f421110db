/* SPDX-License-Identifier: MIT */
// A function of C++ with a '+' in its name, and one whose name is long, make a system call (bindings_node.sh, bindings_python.sh).
#include <sys/syscall.h>
#include <unistd.h>

template <int N> struct Long {
	template <typename A, typename B> static long call();
};
struct S {
	long n;
};
template <int N> template <typename A, typename B> __attribute__((noinline)) long Long<N>::call()
{
	long n = syscall(SYS_getpgid, 0);

	asm volatile("" : : "r"(n));
	return n;
}
template <typename A, typename B> struct Pair {
};
using P1 = Pair<Pair<Pair<S, S>, Pair<S, S>>, Pair<Pair<S, S>, Pair<S, S>>>;
using P2 = Pair<Pair<Pair<P1, P1>, Pair<P1, P1>>, Pair<Pair<P1, P1>, Pair<P1, P1>>>;

__attribute__((noinline)) S operator+(const S &a, const S &b)
{
	long n = Long<1>::call<P2, P2>();

	asm volatile("" : : "r"(n));
	n = syscall(SYS_getpgid, 0);
	asm volatile("" : : "r"(n));
	return S{a.n + b.n};
}

int main()
{
	S s{1};

	s = s + s;
	return s.n == 2 ? 0 : 1;
}
