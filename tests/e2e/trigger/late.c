/* SPDX-License-Identifier: MIT */
/*
 * Code that comes later. The words of the command line are done one after the other:
 *
 *     open[=LIB]  loads the library (liblate.so, where the program is); its constructor runs
 *     call=N      calls late_f() N times, late_g() once each of these
 *     close       unloads it
 *     twice       opens, calls 5, closes, opens, calls 5, closes
 *     fork=N      a child calls late_f() N times; waits for it
 *     clean       a child that goes on until late_f() has no breakpoint any more, at most 20 s;
 *                 waits for it
 *     exec=WORDS  executes this program again with WORDS ("call=3,wait"), under the name late_other
 *     texec=WORDS the same, by a thread that is not the first
 *     child=WORDS a child does WORDS ("open,call=3"; in those of its own children + stands for the
 *                 comma); waits for it
 *     tchild=WORDS, left=WORDS, spawn=WORDS, vchild=WORDS
 *                 the same, but: forked by another thread; not waited for; late_other with WORDS by
 *                 posix_spawn(); by vfork(), the child calls first_f() before
 *     many=N      N children at one time that call first_f() three times
 *     wait        prints "ready", reads a line
 *     slow        waits until late_f() has a breakpoint, at most a minute
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static char dir[PATH_MAX];
static void *lib;
static volatile long sink;

long first_f(long x);

NOINLINE long first_f(long x)
{
	sink += x;
	return sink;
}

static void fail(const char *what)
{
	fprintf(stderr, "late: %s\n", what);
	exit(1);
}

static void do_open(const char *name)
{
	char path[PATH_MAX + 64];

	if (name && *name == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", dir, name && *name ? name : "liblate.so");
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		fail(dlerror());
}

static void do_call(const char *n)
{
	long (*f)(long) = lib ? (long (*)(long))dlsym(lib, "late_f") : NULL;

	if (!f)
		fail("there is no late_f()");
	for (int i = 0; i < atoi(n); i++)
		f(i);
}

static void do_close(const char *arg)
{
	(void)arg;
	if (!lib || dlclose(lib))
		fail("dlclose");
	lib = NULL;
}

static void do_twice(const char *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		do_open(NULL);
		do_call("5");
		do_close(NULL);
	}
}

/* Is the first instruction of late_f() what it was? */
static int has_breakpoint(void)
{
	const volatile unsigned char *f = lib ? dlsym(lib, "late_f") : NULL;

	for (int k = 0; f && k < 8; k++)
		if (f[k] == 0xcc)
			return 1;
	return 0;
}

/* n: calls; NULL = until there is no breakpoint. */
static void do_fork(const char *n)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (n)
			do_call(n);
		for (int i = 0; !n && has_breakpoint(); i++) {
			if (i == 2000)
				_exit(8);
			do_call("1");
			usleep(10000);
		}
		_exit(7);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		fail("the child was harmed");
}

/* late_other and its words, which stay. */
static void command_line(const char *words, char *argv[16])
{
	char path[PATH_MAX + 64], *copy = strdup(words), *save = NULL;
	int n = 0;

	snprintf(path, sizeof(path), "%s/late_other", dir);
	argv[n++] = strdup(path);
	for (char *w = strtok_r(copy, ",", &save); w && n < 15; w = strtok_r(NULL, ",", &save))
		argv[n++] = w;
	argv[n] = NULL;
}

static void do_exec(const char *words)
{
	char *argv[16];

	command_line(words, argv);
	execv(argv[0], argv);
	fail("exec");
}

static void *exec_thread(void *words)
{
	do_exec(words);
	return NULL;
}

static void do_texec(const char *words)
{
	pthread_t t;

	if (pthread_create(&t, NULL, exec_thread, (void *)words) == 0)
		pthread_join(t, NULL);
	fail("thread");
}

static void do_words(char *list, const char *separator);

static void wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		fail("a child was harmed");
}

static pid_t make_child(const char *words)
{
	char *copy = strdup(words);
	pid_t child = fork();

	if (child == 0) {
		do_words(copy, ",");
		_exit(0);
	}
	free(copy);
	return child;
}

static void do_child(const char *words)
{
	wait_for(make_child(words));
}

static void do_left(const char *words)
{
	make_child(words);
}

static void *child_thread(void *words)
{
	do_child(words);
	return NULL;
}

static void do_tchild(const char *words)
{
	pthread_t t;

	if (pthread_create(&t, NULL, child_thread, (void *)words) || pthread_join(t, NULL))
		fail("thread");
}

static void do_spawn(const char *words)
{
	char *argv[16];
	pid_t child;

	command_line(words, argv);
	if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ))
		fail("posix_spawn");
	wait_for(child);
}

static void do_vchild(const char *words)
{
	char *argv[16];
	pid_t child;

	command_line(words, argv);
	child = vfork();
	if (child == 0) {
		first_f(1);
		execv(argv[0], argv);
		_exit(1);
	}
	wait_for(child);
}

static void do_many(const char *arg)
{
	int n = atoi(arg);
	pid_t *children = calloc((size_t)n + 1, sizeof(*children));

	for (int i = 0; i < n; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			for (int k = 0; k < 3; k++)
				first_f(k);
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++)
		wait_for(children[i]);
	free(children);
}

static void copy_library(const char *to)
{
	char from[PATH_MAX + 64], buf[65536];
	FILE *in, *out;
	size_t n;

	snprintf(from, sizeof(from), "%s/liblate.so", dir);
	in = fopen(from, "re");
	out = fopen(to, "we");
	if (!in || !out)
		fail("cannot copy the library");
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		if (fwrite(buf, 1, n, out) != n)
			fail("cannot copy the library");
	fclose(in);
	fclose(out);
}

static void churn(int n, int is_same)
{
	const char *tmp = getenv("TMP") ? getenv("TMP") : "/tmp";
	static int serial;
	char path[PATH_MAX];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/churn%d.so", tmp, is_same ? 0 : ++serial);
		copy_library(path);
		do_open(path);
		do_call("1");
		do_close(NULL);
		unlink(path);
	}
}

static void do_churn(const char *n)
{
	churn(atoi(n), 0);
}

static void do_rechurn(const char *n)
{
	churn(atoi(n), 1);
}

static void do_wait(const char *arg)
{
	char line[16];

	(void)arg;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		fail("end of input");
}

static void do_slow(const char *arg)
{
	(void)arg;
	for (int i = 0; !has_breakpoint() && i < 60000; i++)
		usleep(1000);
}

static void do_clean(const char *arg)
{
	(void)arg;
	if (!has_breakpoint())
		fail("there is no breakpoint");
	do_fork(NULL);
}

/* clang-format off */
static const struct {
	const char *word;
	void (*func)(const char *arg);
} words[] = {
	{"open", do_open}, {"call", do_call}, {"close", do_close}, {"twice", do_twice}, {"fork", do_fork},
	{"exec", do_exec}, {"texec", do_texec}, {"wait", do_wait}, {"slow", do_slow}, {"clean", do_clean},
	{"child", do_child}, {"tchild", do_tchild}, {"left", do_left}, {"spawn", do_spawn}, {"vchild", do_vchild}, {"many", do_many},
	{"churn", do_churn}, {"rechurn", do_rechurn},
};
/* clang-format on */

static void do_word(char *word)
{
	size_t len = strcspn(word, "="), k = 0;

	while (k < sizeof(words) / sizeof(words[0]) &&
	       (strncmp(words[k].word, word, len) != 0 || words[k].word[len]))
		k++;
	if (k == sizeof(words) / sizeof(words[0]))
		fail(word);
	words[k].func(word[len] ? word + len + 1 : NULL);
}

static void do_words(char *list, const char *separator)
{
	char *save = NULL;

	for (char *w = strtok_r(list, separator, &save); w; w = strtok_r(NULL, separator, &save)) {
		for (char *plus = strchr(w, '+'); plus; plus = strchr(plus, '+'))
			*plus = ',';
		do_word(w);
	}
}

int main(int argc, char **argv)
{
	char *exe = realpath("/proc/self/exe", NULL);

	if (!exe)
		fail("/proc/self/exe");
	snprintf(dir, sizeof(dir), "%s", dirname(exe));
	first_f(argc);
	for (int i = 1; i < argc; i++)
		do_word(argv[i]);
	return 0;
}
