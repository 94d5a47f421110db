# SPDX-License-Identifier: MIT
# A thread executes a static program, and that one a program with a dynamic linker: the process is another task then, and its libraries are
# reported again when it has a dynamic linker again, though it is the one of before. So they are where the first thread has executed it.
# @@needs: kernel
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >start.c <<'X2'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *execute(void *arg)
{
	char **argv = arg;

	(void)execv(argv[0], argv);
	_exit(1);
}
/* Executes the rest of its arguments, by another thread if the first one is "thread". */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 1;
	if (argv[1][0] != 't')
		(void)execute(argv + 2);
	else if (pthread_create(&thread, NULL, execute, argv + 2) == 0)
		(void)pthread_join(thread, NULL);
	return 1;
}
X2
cat >bare.c <<'X2'
#include <unistd.h>
/* Executes the rest of its arguments; it has no dynamic linker. */
int main(int argc, char **argv)
{
	if (argc > 1)
		(void)execv(argv[1], argv + 1);
	return 1;
}
X2
cat >opens.c <<'X2'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t n;
static void resumed(int sig)
{
	n++;
}
/* Opens a library, and calls its function, three times. */
int main(void)
{
	(void)signal(SIGCONT, resumed);
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen("./mine.so", RTLD_NOW);
		int (*f)(int) = lib ? (int (*)(int))dlsym(lib, "mine") : NULL;

		if (!f)
			return 1;
		(void)f(i);
		(void)dlclose(lib);
	}
	puts(n ? "stopped for it" : "not stopped for it");
	return 0;
}
X2
echo 'int mine(int n) { return n + 1; }' | cc -shared -fPIC -x c -o mine.so - || exit 1
cc -O1 -static -o bare bare.c || exit 67
cc -O1 -pthread -o start start.c && cc -O1 -o opens opens.c -ldl || exit 1
# a library of which no session knows a table by then
probes='pid$target:mine.so:mine:entry { n++; } END { printf("%d calls\n", n); }'
for by in first thread; do
	for follow in none fork; do
		echo "$by, follow=$follow:" "$("$DTRACE" -Zqn "$probes" -x follow=$follow -c "./start $by ./bare ./opens" 2>&1 | grep -v stopped)"
	done
done
# The process waits for its tables for a tenth of a second at most; dtrace may not have come to the dynamic linker by then on a busy machine.
for by in first thread; do
	for _ in $(seq $((10 * PATIENCE))); do
		said=$("$DTRACE" -q -n 'syscall::reboot:entry { @[lfunc] = count(); }' -c "./start $by ./bare ./opens" 2>&1)
		[ "$said" = 'stopped for it' ] && break
	done
	echo "$by, tables:" "$said"
done
exit 0
