/* SPDX-License-Identifier: MIT */
// A program that leaves its functions in all ways that C++ has, from several threads, and checks each.
//
// victim_cxx [THREADS]: runs until SIGTERM. Prints "ready" when it runs, and at the end "ok" with the
// number of rounds; a wrong result is an abort.
#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <future>
#include <map>
#include <memory>
#include <pthread.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile std::sig_atomic_t stopped;
static std::atomic<unsigned long> rounds;

static void check(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	abort();
}

struct Counted {
	int &n;
	explicit Counted(int &n) : n(n) { n++; }
	~Counted() { n--; }
};

// Throws from some frames below, each of which has something to destroy.
static void frames_throw(int depth, int &n, int kind)
{
	Counted c(n);
	std::string text(static_cast<size_t>(depth) * 7 + 1, 'x');

	if (depth)
		return frames_throw(depth - 1, n, kind);
	switch (kind) {
	case 0: throw std::runtime_error(text + "thrown");
	case 1: throw 42;
	case 2: std::vector<int>(3).at(7); break;
	case 3: (void)std::stoi("no number"); break;
	default: std::string().substr(5);
	}
}

static void exceptions_check(int kind)
{
	int n = 0, caught = 0;

	try {
		try {
			frames_throw(7, n, kind);
		} catch (const std::logic_error &e) {
			caught = 1;
			throw;
		} catch (const std::runtime_error &e) {
			check(std::string(e.what()) == "xthrown", "what()");
			caught = 2;
			throw std::string("again");
		}
	} catch (const std::string &s) {
		check(caught == 2 && s == "again", "the second throw");
	} catch (const std::out_of_range &) {
		check(caught == 1 && (kind == 2 || kind == 4), "out of range");
	} catch (const std::invalid_argument &) {
		check(caught == 1 && kind == 3, "invalid argument");
	} catch (int i) {
		check(i == 42 && kind == 1, "int");
	}
	check(n == 0, "destructors");
}

static void containers_check(unsigned seed)
{
	std::map<std::string, int> m;
	std::vector<int> v;
	std::ostringstream out;
	std::istringstream in;
	int sum = 0, x;

	for (unsigned i = 0; i < 50; i++) {
		m[std::to_string(i * seed % 1009)] += static_cast<int>(i);
		v.push_back(static_cast<int>(i * seed % 997));
	}
	std::sort(v.begin(), v.end());
	check(std::is_sorted(v.begin(), v.end()), "sort");
	for (const auto &p : m)
		sum += p.second;
	check(sum == 50 * 49 / 2, "map");
	for (int i : v)
		out << i << ' ';
	in.str(out.str());
	for (int i : v)
		check(in >> x && x == i, "streams");
	out.str("");
	out << std::hex << 255 << ' ' << 1.5;
	check(out.str() == "ff 1.5", "formats");
}

static void *thread_leave(void *p)
{
	int &n = *static_cast<int *>(p);
	Counted c(n);

	pthread_exit(p);
}

static void *thread_wait(void *p)
{
	int &n = *static_cast<int *>(p);
	Counted c(n);

	for (;;)
		pause();
}

static void threads_check()
{
	int n = 0;
	pthread_t t;
	void *r;

	check(!pthread_create(&t, nullptr, thread_leave, &n) && !pthread_join(t, &r) && r == &n && !n,
	      "pthread_exit");
	check(!pthread_create(&t, nullptr, thread_wait, &n) && !pthread_cancel(t) &&
		      !pthread_join(t, &r) && r == PTHREAD_CANCELED && !n,
	      "pthread_cancel");
	auto f = std::async(std::launch::async, []() -> int { throw std::runtime_error("async"); });
	try {
		f.get();
		check(false, "async");
	} catch (const std::runtime_error &e) {
		check(std::string(e.what()) == "async", "async what()");
	}
}

static void jumps_check()
{
	std::jmp_buf j;
	void *frames[64];
	volatile int k = 0;

	if (setjmp(j) == 0) {
		k = 1;
		std::longjmp(j, 1);
	}
	check(k == 1, "longjmp");
	check(backtrace(frames, 64) >= 3, "backtrace");
}

static void work_run(unsigned seed)
{
	for (unsigned i = 0; !stopped; i++) {
		exceptions_check(static_cast<int>(i % 5));
		containers_check(seed + i);
		jumps_check();
		if (i % 16 == 0)
			threads_check();
		rounds++;
	}
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	std::signal(SIGTERM, [](int) { stopped = 1; });
	for (int i = 0; i < (argc > 1 ? std::atoi(argv[1]) : 3); i++)
		threads.emplace_back(work_run, static_cast<unsigned>(i) + 3);
	printf("ready\n");
	fflush(stdout);
	for (auto &t : threads)
		t.join();
	printf("ok: %lu rounds\n", rounds.load());
	return 0;
}
