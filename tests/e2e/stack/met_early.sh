# A process that is met while it executes another program: when its helper is attached, the program may be mapped and its dynamic linker not.
# The helper looks for the C library, so nobody may be told that it is missing.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >metearly.c <<'X'
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wait_us(long us)
{
	struct timespec t, now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - t.tv_sec) * 1000000 + (now.tv_nsec - t.tv_nsec) / 1000 < us);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		int more = argc > 2 ? 50 : 2;

		if (argc > 2) {
			dprintf(open("last", O_WRONLY | O_CREAT, 0666), "%d\n", getpid());
			for (int i = 0; i < 6000 && access("go", F_OK); i++)
				usleep(4000);
		}
		/* the last one goes on until its helper is attached */
		for (int i = 0; i < 6000 && more; i++) {
			syscall(SYS_getppid);
			usleep(4000);
			more -= argc == 2 || access("known", F_OK) == 0;
		}
		return 0;
	}
	for (int i = 0; i < 400; i++) {
		if (!fork()) {
			syscall(SYS_getppid);
			wait_us(i * 5);
			/* by the other name, only what was before execve() is traced */
			execl(i == 399 ? "./metearly" : "/proc/self/exe", "metearly", "1", i == 399 ? "last" : (char *)0, (char *)0);
			_exit(1);
		}
		wait(0);
	}
	return 0;
}
X
cc -O1 -o metearly metearly.c || exit 1
cat >metearly.d <<'X'
#pragma D helper exec "metearly"
uint64_t found;
dtrace:helper:attach:
{
	found = symaddr("malloc", "libc.so*");
	if (!found)
		udecline("the C library is missing");
}
dtrace:helper:ustack:
/arg3 == 0/
{
	uframe("@the C library is there");
}
X
# busy CPUs, so that an execve() takes longer
for i in 1 2; do
	while :; do :; done &
	busy="$busy $!"
done
: >err
DTRACE_DEBUG=1 "$DTRACE" -q -x switchrate=1000hz -x helper=metearly.d -n 'syscall::getppid:entry /execname == "metearly"/ { @[jstack(2)] = count(); }' -c ./metearly >out 2>err &
tracer=$!
goes_on() { grep -q '^State:.[^Z]' /proc/$tracer/status; }
until [ -s last ] || ! goes_on; do sleep 0.02; done
from=$(wc -l <err) # it had the same id before it executed the program, and is met again after this
: >go
until tail -n +$((from + 1)) err | grep -q "ustack helpers of process $(cat last): '" || ! goes_on; do sleep 0.02; done
: >known
wait $tracer
# shellcheck disable=SC2086
kill $busy
grep -v '^libdtrace DEBUG\|does not answer\|answer too slowly' err
grep -o 'the C library is there' out | sort -u
