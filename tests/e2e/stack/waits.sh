# SPDX-License-Identifier: MIT
# A process of -c that waits for dtrace waits for nothing else: not when dtrace was killed, though the process has changed its user.
# @@needs: kernel
command -v setpriv >/dev/null || exit 67
cd "$TMP" || exit 1
mkfifo go || exit 1
cat >changes <<'X'
#!/bin/sh
exec setpriv --reuid=65534 --clear-groups sh -c 'echo ready $$; read -r go; exec echo has run'
X
chmod +x changes
seen() { # what, file: waits until it is there
	for _ in $(seq $((600 * PATIENCE))); do
		grep -q "$1" "$2" && return
		sleep 0.1
	done
	echo "no '$1' in $2:"
	cat "$2"
	exit 1
}

# a clause is about the process: it is stopped when it executes a program, until its probes are there; the keeper, which is stopped here, lets it go on
keeper_of() {
	for stat in /proc/[0-9]*/stat; do
		read -r pid name _ parent _ 2>/dev/null <"$stat" && [ "$name" = "(uprobe-keeper)" ] && [ "$parent" = "$1" ] && echo "$pid"
	done
}
"$DTRACE" -q -n 'pid$target:libc.so.6:getppid:entry { n++; }' -c ./changes <>go >killed 2>&1 &
dtrace=$!
seen ready killed
target=$(awk '/^ready/ { print $2 }' killed)
keeper=$(keeper_of $dtrace)
kill -STOP "$keeper" $dtrace
echo go >go
seen '^State:.T' /proc/"$target"/status
kill -KILL $dtrace
kill -CONT "$keeper"
seen 'has run' killed
echo 'dtrace was killed: the process has run on'

# no clause is about the process, so it waits for its unwind tables only as long as dtrace attends to it, which may wait for the process itself
cat >makes <<'X'
#!/bin/sh
exec touch made
X
chmod +x makes
"$DTRACE" -q -w -n 'syscall::reboot:entry { @[ustack()] = count(); } BEGIN { system("until [ -e made ]; do sleep 0.1; done; echo made"); }' -c ./makes 2>&1

# the same while nobody reads what dtrace writes
cat >writes <<'X'
#!/bin/sh
/usr/bin/env true; read -r go; exec echo has run >ran
X
chmod +x writes
mkfifo full || exit 1
: >ran
exec 3<>full
"$DTRACE" -q -n 'tick-1000hz { printf("%2000s %d\n", "x", n++); } syscall::reboot:entry { @[ustack()] = count(); }' -c ./writes <>go >full 2>err &
dtrace=$!
until grep -q pipe_write /proc/$dtrace/stack; do :; done
echo go >go
seen 'has run' ran
echo 'dtrace writes to a full pipe: the process has run on'
kill -KILL $dtrace

# of many libraries it waits for a few
command -v cc >/dev/null || exit 67
cat >opens.c <<'X'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static volatile int n;
static void resumed(int sig)
{
	n++;
}
int main(void)
{
	signal(SIGCONT, resumed);
	for (int i = 0; i < 200; i++) {
		void *lib = dlopen("./empty.so", RTLD_NOW);
		if (!lib)
			return 1;
		dlclose(lib);
	}
	puts(n == 0 ? "never" : n <= 16 ? "16 times at most" : "often");
	return 0;
}
X
echo 'int nothing;' | cc -shared -fPIC -x c -o empty.so - && cc -O1 -o opens opens.c -ldl || exit 1
# what is said of file systems of another test, which runs at the same time, does not matter
others() { grep -v 'does not answer\|answer too slowly'; }
# stops WANTED ARGUMENTS...: how often ./opens was stopped. It waits for a tenth of a second at most, so on a busy machine the breakpoint in its
# dynamic linker may come after its end: what stops it is tried some times.
stops() {
	wanted=$1
	shift
	for _ in $(seq $((10 * PATIENCE))); do
		said=$("$DTRACE" -q "$@" -c ./opens 2>&1 | others)
		[ "$wanted $said" = '16 times at most never' ] || break
	done
	echo "$said"
}
echo "quiet:" $(stops '16 times at most' -x quiet -n 'syscall::reboot:entry { @[ustack()] = count(); }')
echo "libstop=0:" $(stops never -x libstop=0 -n 'syscall::reboot:entry { @[ustack()] = count(); }')
# nor does it wait where a predicate excludes it
# shellcheck disable=SC2016 # $target is dtrace's
for pred in 'pid == $target' 'pid != $target' 'pid != $target && execname == "x"' 'pid == 1'; do
	wanted=never
	[ "$pred" != 'pid == $target' ] || wanted='16 times at most'
	echo "$pred:" $(stops "$wanted" -n "syscall::reboot:entry /$pred/ { @[lfunc] = count(); }")
done
echo "ustackdepth:" "$("$DTRACE" -q -n 'syscall::reboot:entry { @[ustackdepth] = count(); }' -c ./opens 2>&1 | others)"
exit 0
