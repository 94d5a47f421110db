# Programs that begin, and libraries that are opened, while a pattern is traced: found without being stopped; -c waits for them.
. "$SRC/tests/e2e/usdt/traced_common"
WATCH_STEP=0.01
prov=arr$$x
up=$(echo $prov | tr a-z A-Z)
cat >probes.d <<END
provider $prov { probe step(int, string); };
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
cat >lib.c <<END
#include "probes.h"
void work(int i);
void work(int i) { ${up}_STEP(i, "library"); }
__attribute__((constructor)) static void begin(void) { ${up}_STEP(-1, "constructor"); }
END
cat >app.c <<END
#include "probes.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* app [library]: fires for each line with its number, in the library if there is one */
int main(int argc, char **argv)
{
	void (*work)(int) = NULL;
	char line[100];

	setvbuf(stdout, NULL, _IOLBF, 0);
	${up}_STEP(0, "main");
	if (argc > 1) {
		void *lib = dlopen(argv[1], RTLD_NOW);

		work = lib ? (void (*)(int))dlsym(lib, "work") : NULL;
		if (!work)
			return 1;
		work(1); /* right after dlopen() */
	}
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (work)
			work(atoi(line));
		else
			${up}_STEP(atoi(line), "main");
		printf("done %d\n", atoi(line));
	}
	return 0;
}
END
gcc -O2 -fPIC -c lib.c && "$DTRACE" -G -s probes.d -o libprobes.o lib.o && gcc -shared lib.o libprobes.o -o libone.so || fail "building the library"
gcc -O2 -c app.c && "$DTRACE" -G -s probes.d -o appprobes.o app.o && gcc app.o appprobes.o -ldl -o app || fail "building"
for i in 1 2 3 4; do cp app app$i; cp libone.so lib$i.so; done
run() { # module program args: runs it until a line of its module was traced; the process goes on meanwhile
	module=$1; shift
	rm -f in; mkfifo in
	"$@" <in >prog.out &
	last=$!
	exec 5>in
	until grep -q ready prog.out; do kill -0 $last || fail "it does not start"; done
	for n in $(seq 1 500); do
		echo $((1000 + n)) >&5
		until grep -q "done $((1000 + n))\$" prog.out; do sleep 0.001; done
		grep -q "^$prov$last $module 1[0-9][0-9][0-9] " out && break
		sleep 0.01
	done
	exec 5>&-
	wait $last || fail "it was harmed: $*"
	grep -q "^$prov$last $module 1[0-9][0-9][0-9] " out || fail "never traced: $*"
}
# Nothing is there when tracing starts. A new file is found while its process runs; the next process of it is traced from its begin.
watch -Z -x switchrate=5ms -n "$prov*:::step { printf(\"%s %s %d %s\n\", probeprov, probemod, arg0, probefunc); } tick-10ms { printf(\"on\n\"); }"
run app1 ./app1
run app1 ./app1; grep -q "^$prov$last app1 0 main" out || fail "the second process was not traced from its begin"
run app2 ./app2
run lib1.so ./app1 ./lib1.so; grep -q "^$prov$last lib1.so 10.. work" out || fail "a library"
run lib1.so ./app1 ./lib1.so
grep -q "^$prov$last app1 0 main" out && grep -q "^$prov$last lib1.so -1 begin" out && grep -q "^$prov$last lib1.so 1 work" out || fail "the library's second process"
# a new file at the path of one that is known
rm app1; cp app app1
run app1 ./app1
[ -z "$(grep -v "ended before a file" err)" ] || fail "messages" # other processes may end early
end
# a file that is overwritten where it is
: >out
"$DTRACE" -Z -x switchrate=5ms -n "$prov*:::step { printf(\"%s %s %d\n\", probeprov, probemod, arg0); } tick-10ms { printf(\"on\n\"); }" >out 2>err &
tracer=$!
until grep -q ' on$' out; do kill -0 $tracer || fail "the tracer ends"; sleep 0.01; done
until grep -q ' app2 0$' out; do ./app2 </dev/null >prog.out || fail "app2"; kill -0 $tracer || fail "the tracer ends"; sleep 0.01; done
until cp app app2 2>/dev/null; do sleep 0.01; done # it is busy while its last process is being looked at
until grep -q "'app2' was overwritten while it is traced" err; do
	./app2 </dev/null >prog.out || fail "an overwritten program was harmed"
	kill -0 $tracer || fail "no message"
	sleep 0.1
done
kill -TERM $tracer; wait $tracer; tracer=

# In other mount and PID namespaces, where no path is ours.
mkdir root; cp app4 root/app4 2>/dev/null
mkdir -p root/lib64 root/lib
for f in $(ldd app4 | grep -o '/[^ )]*'); do mkdir -p root$(dirname $f); cp -L $f root$f; done
watch -Z -x switchrate=5ms -n "$prov*:::step { printf(\"%s %d %s\n\", probemod, arg0, execname); @[pid] = count(); } tick-10ms { printf(\"on\n\"); }"
rm -f in; mkfifo in
unshare -m -p -f chroot root /app4 <in >prog.out &
last=$!
exec 5>in
until grep -q ready prog.out; do kill -0 $last || fail "no namespace"; sleep 0.01; done
for n in $(seq 1 500); do
	echo $n >&5
	until grep -q "done $n\$" prog.out; do sleep 0.001; done
	grep -q "^app4 $n app4" out && break
	sleep 0.01
done
exec 5>&-
wait $last
grep -q "^app4 $n app4" out || fail "a container's program"
end

# -c: everything from the first instruction, and from the first constructor of a library, by a pattern and by the process.
cat >runs.sh <<'END'
#!/bin/sh
exec ./app3 ./lib3.so </dev/null
END
chmod +x runs.sh
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -Z -q -n "$prov*:::step { printf(\"all %s %d\n\", probemod, arg0); } $prov\$target:::step { printf(\"one %s %d\n\", probemod, arg0); }" \
	-c ./runs.sh >out 2>err || fail "-c"
cat >want <<'END'
all app3 0
one app3 0
all lib3.so -1
one lib3.so -1
all lib3.so 1
one lib3.so 1
END
grep -v ready out | sed '/^$/d' | cmp - want || fail "-c"
:
