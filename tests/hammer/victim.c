/* SPDX-License-Identifier: MIT */
/*
 * A program that calls libc in all kinds of ways from several threads, under signals, and checks
 * each result.
 *
 * victim [-t THREADS] [-s SECONDS] [-i USEC]: -s 0 runs until SIGTERM; -i is the period of the
 * timer whose signals interrupt all of it. Prints "ready" when it runs, and at the end "ok" with
 * the number of rounds; a wrong result is an abort with its name.
 */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

#define THREADS_MAX 64

static volatile sig_atomic_t stopped;
static volatile unsigned long nsignals;
static unsigned long rounds[THREADS_MAX];
extern char **environ;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "wrong: %s:%d: %s\n", __func__, __LINE__, #cond);          \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void alarm_note(int sig)
{
	int saved = errno;
	char text[32];

	nsignals++;
	snprintf(text, sizeof(text), "%d %lu", sig, nsignals);
	errno = saved;
}

static void stop_note(int sig)
{
	(void)sig;
	stopped = 1;
}

static void texts_check(unsigned *seed)
{
	char a[256], b[256], word[16], *end;
	int n = rand_r(seed) % 100000, m;
	double d;
	wchar_t w[64];

	snprintf(a, sizeof(a), "%d %s %.3f %lx", n, "abc", n / 8.0, (unsigned long)n * 3);
	CHECK(sscanf(a, "%d %15s %lf", &m, word, &d) == 3);
	CHECK(m == n && strcmp(word, "abc") == 0 && fabs(d - n / 8.0) < 0.001);
	memset(b, 'x', sizeof(b));
	CHECK(stpcpy(b, a) == b + strlen(a));
	CHECK(strncmp(a, b, 200) == 0 && strcasecmp(a, b) == 0);
	CHECK(memchr(a, 'a', sizeof(a)) == strchr(b, 'a') - b + a);
	CHECK(strrchr(a, ' ') && strstr(a, "abc ") && strspn(a, "0123456789") > 0);
	CHECK(memmem(a, strlen(a), "bc", 2) == strstr(a, "bc"));
	CHECK(strtol(a, &end, 10) == n && *end == ' ');
	CHECK(strtod("2.5e3x", &end) == 2500.0 && *end == 'x');
	CHECK(strtoull("ffffffffffffffff", NULL, 16) == UINT64_MAX);
	CHECK(mbstowcs(w, "hallo", 64) == 5 && wcslen(w) == 5 && wcscmp(w, L"hallo") == 0);
	CHECK(swprintf(w, 64, L"%d-%ls", n, L"z") > 0 && wcstol(w, NULL, 10) == n);
	memmove(a + 1, a, 100);
	CHECK(memcmp(a + 1, b, 100) == 0 || strlen(b) < 100);
	CHECK(toupper('a') == 'A' && isdigit('7') && !isalpha('7'));
	snprintf(a, sizeof(a), "one,two,,three");
	CHECK(strcmp(strtok_r(a, ",", &end), "one") == 0);
	CHECK(strcmp(strtok_r(NULL, ",", &end), "two") == 0);
	CHECK(strcmp(strtok_r(NULL, ",", &end), "three") == 0);
	CHECK(!strtok_r(NULL, ",", &end));
}

static void memory_check(unsigned *seed)
{
	size_t n = (size_t)rand_r(seed) % 3000 + 16;
	uint8_t *p = malloc(n), *q, *big;

	memset(p, (int)n, n);
	q = calloc(n, 3);
	for (size_t i = 0; i < n; i++)
		CHECK(p[i] == (uint8_t)n && q[i] == 0);
	memcpy(q, p, n);
	p = realloc(p, n * 5);
	CHECK(memcmp(p, q, n) == 0);
	CHECK(posix_memalign((void **)&big, 4096, n) == 0 && (uintptr_t)big % 4096 == 0);
	memset(big, 7, n);
	CHECK(big[n - 1] == 7);
	free(big);
	free(p);
	free(q);
	big = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(big != MAP_FAILED && big[5] == 0);
	CHECK(mprotect(big, 4096, PROT_READ) == 0 && munmap(big, 1 << 16) == 0);
}

static int ints_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static void lists_check(unsigned *seed)
{
	int a[97], key;
	void *root = NULL;

	for (size_t i = 0; i < 97; i++)
		a[i] = rand_r(seed);
	key = a[11];
	qsort(a, 97, sizeof(a[0]), ints_compare);
	for (size_t i = 1; i < 97; i++)
		CHECK(a[i - 1] <= a[i]);
	CHECK(*(int *)bsearch(&key, a, 97, sizeof(a[0]), ints_compare) == key);
	for (size_t i = 0; i < 97; i++)
		CHECK(tsearch(&a[i], &root, ints_compare));
	CHECK(**(int **)tfind(&key, &root, ints_compare) == key);
	for (size_t i = 0; i < 97; i++)
		tdelete(&a[i], &root, ints_compare);
	CHECK(!root);
}

static void times_check(unsigned *seed)
{
	time_t t = rand_r(seed) % 2000000000;
	char text[64];
	struct tm tm;

	CHECK(gmtime_r(&t, &tm) && timegm(&tm) == t);
	CHECK(strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 19);
	memset(&tm, 0, sizeof(tm));
	CHECK(strptime(text, "%Y-%m-%d %H:%M:%S", &tm) && timegm(&tm) == t);
	CHECK(localtime_r(&t, &tm) && mktime(&tm) == t);
}

static void jump_away(jmp_buf to, int depth);
static void (*volatile jump_deeper)(jmp_buf to, int depth) = jump_away;

/* Leaves several frames behind. */
static void jump_away(jmp_buf to, int depth)
{
	if (!depth)
		longjmp(to, 5);
	jump_deeper(to, depth - 1);
}

struct contexts {
	ucontext_t main, other;
	int steps;
};

static void context_run(unsigned lo, unsigned hi)
{
	struct contexts *c = (struct contexts *)((uintptr_t)lo | (uintptr_t)hi << 32);

	for (int i = 0; i < 5; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%d", i);
		c->steps += text[0] == '0' + i;
		swapcontext(&c->other, &c->main);
	}
}

static void control_check(void)
{
	static __thread char stack[65536];
	volatile int k = 0;
	struct contexts c;
	void *frames[32];
	sigjmp_buf sj;
	jmp_buf j;

	if (setjmp(j) == 0) {
		k = 1;
		jump_away(j, 9);
	}
	CHECK(k == 1);
	if (sigsetjmp(sj, 1) == 0) {
		k = 2;
		siglongjmp(sj, 1);
	}
	CHECK(k == 2);
	CHECK(backtrace(frames, 32) >= 3);
	memset(&c, 0, sizeof(c));
	CHECK(getcontext(&c.other) == 0);
	c.other.uc_stack.ss_sp = stack;
	c.other.uc_stack.ss_size = sizeof(stack);
	c.other.uc_link = &c.main;
	makecontext(&c.other, (void (*)(void))context_run, 2, (unsigned)(uintptr_t)&c,
		    (unsigned)((uintptr_t)&c >> 32));
	for (int i = 0; i < 5; i++)
		CHECK(swapcontext(&c.main, &c.other) == 0);
	CHECK(c.steps == 5);
}

static void files_check(int id)
{
	char name[64], text[64];
	struct dirent *d;
	int fds[2], n = 0;
	regex_t re;
	FILE *f;
	DIR *dir;

	CHECK(pipe(fds) == 0 && write(fds[1], "abcdef", 6) == 6 && read(fds[0], text, 64) == 6);
	CHECK(poll(&(struct pollfd){.fd = fds[1], .events = POLLOUT}, 1, 0) >= 0 || errno == EINTR);
	close(fds[0]);
	close(fds[1]);
	f = tmpfile();
	CHECK(f && fprintf(f, "%d\nline\n", id) > 0);
	rewind(f);
	CHECK(fgets(text, sizeof(text), f) && strtol(text, NULL, 10) == id);
	CHECK(fgets(text, sizeof(text), f) && strcmp(text, "line\n") == 0);
	fclose(f);
	dir = opendir("/proc/self");
	CHECK(dir);
	while ((d = readdir(dir)))
		n += strcmp(d->d_name, "maps") == 0;
	closedir(dir);
	CHECK(n == 1);
	CHECK(regcomp(&re, "^a+(b|c)*d$", REG_EXTENDED) == 0);
	CHECK(regexec(&re, "aaabcbcd", 0, NULL, 0) == 0 && regexec(&re, "ad d", 0, NULL, 0) != 0);
	regfree(&re);
	snprintf(name, sizeof(name), "V%d", id);
	CHECK(!getenv(name));
}

static void *thread_short(void *p)
{
	char text[32];

	snprintf(text, sizeof(text), "%p", p);
	if ((uintptr_t)p % 2)
		pthread_exit(p);
	return p;
}

static void *thread_waits(void *p)
{
	(void)p;
	for (;;)
		pause();
	return NULL;
}

static void threads_check(unsigned *seed)
{
	uintptr_t n = (uintptr_t)rand_r(seed) % 1000;
	pthread_t t;
	void *r;

	CHECK(pthread_create(&t, NULL, thread_short, (void *)n) == 0);
	CHECK(pthread_join(t, &r) == 0 && (uintptr_t)r == n);
	CHECK(pthread_create(&t, NULL, thread_waits, NULL) == 0);
	CHECK(pthread_cancel(t) == 0 && pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);
}

static pid_t child_wait(pid_t pid, int *ret)
{
	pid_t got;

	do
		got = waitpid(pid, ret, 0);
	while (got < 0 && errno == EINTR);
	return got;
}

static void processes_check(void)
{
	char *argv[] = {"true", NULL};
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		char text[64];

		snprintf(text, sizeof(text), "%d", 17);
		free(malloc(100));
		_exit((int)strtol(text, NULL, 10));
	}
	CHECK(child_wait(pid, &status) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 17);
	pid = vfork();
	if (!pid)
		_exit(9);
	CHECK(pid > 0 && child_wait(pid, &status) == pid && WEXITSTATUS(status) == 9);
	CHECK(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
	CHECK(child_wait(pid, &status) == pid && status == 0);
}

static void library_check(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	double (*f)(double);

	CHECK(lib);
	f = (double (*)(double))dlsym(lib, "cbrt");
	CHECK(f && fabs(f(27.0) - 3.0) < 1e-9);
	CHECK(dlclose(lib) == 0);
}

static __thread volatile int on_altstack;

static void altstack_note(int sig)
{
	char text[128];

	(void)sig;
	snprintf(text, sizeof(text), "%s %d", "on the alternate stack", 5);
	on_altstack += text[0] == 'o';
}

static void *thread_work(void *p)
{
	int id = (int)(intptr_t)p, before;
	unsigned seed = (unsigned)id + 1;
	stack_t ss = {.ss_size = 65536};
	sigset_t set;

	/* The timer's signals are for all threads, those of processes for none. */
	ss.ss_sp = malloc(ss.ss_size);
	CHECK(sigaltstack(&ss, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (!stopped) {
		texts_check(&seed);
		memory_check(&seed);
		lists_check(&seed);
		times_check(&seed);
		control_check();
		if (rounds[id] % 8 == 0)
			files_check(id);
		if (rounds[id] % 32 == 1)
			threads_check(&seed);
		if (rounds[id] % 256 == 2)
			processes_check();
		if (rounds[id] % 64 == 3)
			library_check();
		before = on_altstack;
		CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && on_altstack != before);
		rounds[id]++;
	}
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	free(ss.ss_sp);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = 4, seconds = 0, usec = 500, c;
	struct sigaction sa = {.sa_handler = alarm_note, .sa_flags = SA_RESTART};
	unsigned long sum = 0;
	pthread_t t[THREADS_MAX];
	time_t end;

	while ((c = getopt(argc, argv, "t:s:i:")) != -1) {
		int n = (int)strtol(optarg, NULL, 10);

		if (c == 't')
			threads = n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : n;
		else if (c == 's')
			seconds = n;
		else if (c == 'i')
			usec = n;
		else
			return 2;
	}
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = stop_note;
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = altstack_note;
	sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	if (usec) {
		struct itimerval it = {{0, usec}, {0, usec}};

		setitimer(ITIMER_REAL, &it, NULL);
	}
	for (int i = 0; i < threads; i++)
		CHECK(pthread_create(&t[i], NULL, thread_work, (void *)(intptr_t)i) == 0);
	printf("ready\n");
	fflush(stdout);
	end = time(NULL) + seconds;
	while (!stopped && (!seconds || time(NULL) < end)) {
		struct timespec ts = {.tv_nsec = 50000000};

		nanosleep(&ts, NULL);
	}
	stopped = 1;
	for (int i = 0; i < threads; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (int i = 0; i < threads; i++)
		sum += rounds[i];
	printf("ok: %lu rounds, %lu signals\n", sum, nsignals);
	return 0;
}
