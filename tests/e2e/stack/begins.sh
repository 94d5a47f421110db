# Stacks that are whole have no mark. A new thread has one frame, in the function that makes the system call, and a child of fork() the stack of its
# parent. A process that has mapped the file of a runtime, and executes nothing of it, misses no frames of a language, also before dtrace has
# looked at it.
command -v cc >/dev/null || { echo "needs cc"; exit 67; }
cd "$TMP" || exit 1
cat >born.c <<'X'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *p)
{
	return p;
}
int main(void)
{
	pthread_t t;
	int status;

	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
		if (fork() == 0)
			_exit(0);
		wait(&status);
	}
	return 0;
}
X
cat >mapsruntime.c <<'X'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) static void asks(void)
{
	syscall(SYS_getppid);
}
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);

	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	for (int i = 0; i < 20; i++)
		asks();
	return 0;
}
X
cc -O1 -o born born.c && cc -O1 -o mapsruntime mapsruntime.c || exit 1
"$DTRACE" -q -o born.out -n 'syscall::clone*:return /progenyof($target) && execname == "born" && arg1 == 0/ { printf("\n%s\n", pid == tid ? "child" : "thread"); ustack(); }' \
	-c ./born || exit 1
awk '
	/^(child|thread)$/ { if (kind) seen[kind " " (kind == "thread" ? n : n > 3 ? "many" : n) " " marks + 0]++; kind = $1; n = marks = 0; next }
	NF { if (/\[/) marks++; else n++ }
	END { seen[kind " " (kind == "thread" ? n : n > 3 ? "many" : n) " " marks + 0]++; for (k in seen) print k, seen[k] }' born.out | sort
# each copy is a file of its own, which nothing is known of
for i in 1 2 3 4 5; do cp /usr/bin/python3.11 python3.1$i; done
echo 'for i in 1 2 3 4 5; do ./mapsruntime ./python3.1$i; done' >all.sh
"$DTRACE" -q -o maps.out -n 'syscall::getppid:entry /progenyof($target) && execname == "mapsruntime"/ { @[jstack()] = count(); }' -c 'sh all.sh' || exit 1
grep -c . maps.out >/dev/null || echo "no stack"
grep -q 'asks\|main' maps.out && echo "stacks of the program"
# a stack that ends before its first table came is not whole, and both of its marks are right
awk 'BEGIN { RS = "" } !/\[no unwind table yet\]/ { n = split($0, l, "\n"); for (i = 1; i <= n; i++) if (l[i] ~ /\[/) print l[i] }' maps.out
exit 0
