# SPDX-License-Identifier: MIT
# A process of -c that waits for unwind tables is stopped for files that are not known yet, and for no others: not when it opens one again, nor
# when another program executes, and opens, the same ones.
# @@needs: kernel
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >opens.c <<'X'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int n;
static void resumed(int sig)
{
	n++;
}
/* Opens so many libraries, several times, and executes the next program of its arguments. */
int main(int argc, char **argv)
{
	sigset_t cont, pending;
	int nlibs = argc > 1 ? atoi(argv[1]) : 0;
	char name[32];

	(void)sigemptyset(&cont);
	(void)sigaddset(&cont, SIGCONT);
	(void)sigpending(&pending); /* the program before has blocked it */
	printf("%s: %s", argv[0],
	       sigismember(&pending, SIGCONT) ? "stopped when it is executed" : "not stopped");
	signal(SIGCONT, SIG_IGN); /* what is pending goes */
	signal(SIGCONT, resumed);
	(void)sigprocmask(SIG_UNBLOCK, &cont, NULL);
	for (int i = 0; i < 10 * nlibs; i++) {
		void *lib;

		(void)snprintf(name, sizeof(name), "./empty%d.so", i % nlibs);
		lib = dlopen(name, RTLD_NOW);
		if (!lib)
			return 1;
		(void)dlclose(lib);
	}
	puts(!nlibs ? "" : n == 0 ? ", nor for libraries" : ", for libraries");
	(void)fflush(stdout);
	if (argc <= 2)
		return 0;
	(void)sigprocmask(SIG_BLOCK, &cont, NULL);
	(void)execv(argv[2], argv + 2);
	return 1;
}
X
cc -O1 -o opens opens.c -ldl && echo 'int nothing;' | cc -shared -fPIC -x c -o empty0.so - && cp opens other || exit 1
for i in $(seq 11); do
	cp empty0.so "empty$i.so" || exit 1
done
# A process waits for a tenth of a second at most, and what dtrace has not loaded by then on a busy machine is not known to the next program: so
# each is tried some times.
until_is() { # wanted, D program, command: prints the wanted last words of the command, or all that it has said the last time
	for _ in $(seq $((10 * PATIENCE))); do
		said=$("$DTRACE" -q -n "$2" -c "$3" 2>&1)
		case $said in *"$1") said=$1 && break ;; esac
	done
	echo "$said"
}
# lfunc needs tables, but what all processes map is not watched for it: nothing is known before the process waits
lfunc='syscall::reboot:entry { @[lfunc] = count(); }'
ustack='syscall::reboot:entry { @[ustack()] = count(); }'
until_is './opens: not stopped
./other: stopped when it is executed' "$lfunc" './opens 0 ./other'
until_is './opens: not stopped, for libraries
./opens: not stopped, nor for libraries
./opens: not stopped, nor for libraries' "$lfunc" './opens 12 ./opens 12 ./opens 12'
until_is './opens: not stopped, nor for libraries' "$ustack" './opens 12 ./opens 12'

# the second of two programs of one runtime has all frames of its language
command -v python3 >/dev/null || exit 67
cat >asks.py <<'X'
import os
import signal
import sys

first = signal.SIGCONT in signal.sigpending()


def ask():
    return os.getppid()


ask()
print('stopped' if first else 'not stopped')
sys.stdout.flush()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
if len(sys.argv) > 1:
    os.execl(sys.executable, sys.executable, '-S', '-E', sys.argv[0])
X
for _ in $(seq $((10 * PATIENCE))); do
	"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { printf("%s\n", lfunc); }' -c 'python3 -S -E asks.py again' >out 2>&1
	said="$(grep stopped out | tail -n 1), $(grep -c '^ask$' out) named"
	[ "$said" = 'not stopped, 2 named' ] && break
done
echo "$said"
exit 0
