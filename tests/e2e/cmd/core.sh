# A live server, stopped at the instant a system call of it fails, saved by gcore, and continued: the core file has the failing
# frame with its values, in each of its threads' stacks what belongs there; the server goes on and loses nothing.
# @@foreign
command -v cc >/dev/null && command -v gcore >/dev/null || exit 67
cd "$TMP" || exit 1
cat >server.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* Not to be inlined, and no tail calls. */
#define FRAME __attribute__((noinline, optnone))
#ifndef __clang__
#undef FRAME
#define FRAME __attribute__((noipa, optimize("O0")))
#endif
static volatile int is_over;
static char request[] = "request";

FRAME static long reply(int fd, const char *text) { long n = write(fd, text, 7); return n; }
FRAME static long serve(int number) { int fd = number % 50 == 49 ? 4711 : 1; long n = reply(fd, request); return n; }
FRAME static void *worker(void *arg)
{
	unsigned long rounds = 0;

	while (!is_over) {
		rounds++;
		usleep(1000);
	}
	return (void *)rounds;
}
int main(void)
{
	int good = 0, bad = 0;
	pthread_t thread;
	void *rounds;
	char line[8];

	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	for (int i = 0; i < 200; i++) {
		if (read(0, line, 1) != 1)
			break;
		if (serve(i) == 7)
			good++;
		else
			bad++;
	}
	is_over = 1;
	pthread_join(thread, &rounds);
	fprintf(stderr, "%d good, %d bad, %s\n", good, bad, rounds ? "worked" : "idle");
	return 0;
}
C
cc -g -O1 -pthread -o server server.c || exit 1
mkfifo requests
./server <requests >replies 2>report & server=$!
exec 3>requests
"$DTRACE" -qws "$SRC/examples/errorcore.d" -x argref -n 'BEGIN { printf("up\n"); }' write EBADF server "$TMP" >out 2>err & dt=$!
until grep -qx up out; do kill -0 $dt 2>/dev/null || { cat out err; exit 1; }; sleep 0.02; done
i=0
while [ $i -lt 50 ]; do printf x; i=$((i + 1)); done >&3 # the last one fails
wait $dt || { echo "status $?"; cat err; exit 1; }
while [ $i -lt 200 ]; do printf x; i=$((i + 1)); done >&3
exec 3>&-
wait $server || { echo "the server has status $?"; exit 1; }

grep -qx "server\[$server\]: write() has failed, errno 9" out && grep -q "core.$server" out && [ ! -s err ] || { cat out err; exit 1; }
[ "$(cat report)" = "196 good, 4 bad, worked" ] && [ "$(wc -c <replies)" = $((196 * 7)) ] || { cat report; wc -c replies; exit 1; }
gdb -nx -batch -ex "thread apply all bt" -ex "thread 1" -ex "frame function serve" -ex "print number % 50" -ex "print fd" \
	-ex "print request" server "core.$server" >gdb 2>&1
for want in 'write' ' reply (fd=4711' ' serve (number=' ' main (' ' worker (' '= 49$' '= 4711$' '= "request"'; do
	grep -q -- "$want" gdb || { echo "gdb finds no '$want':"; cat gdb; exit 1; }
done
