# memprof malloc -r: a program that executes itself, forks, opens a library with another malloc(), or has jemalloc, tcmalloc, mimalloc preloaded; allocators that come later are told.
# @@timeout: 240
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >many.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define APART __attribute__((noinline, optimize("no-optimize-sibling-calls")))
static void *volatile kept[4000], *volatile theirs[4000];
static void *(*get)(size_t);
APART void before(int i) { kept[i] = malloc(1000); }
APART void after(int i) { kept[i] = malloc(1000); }
APART void child(int i) { kept[i] = malloc(1000); }
APART void grow(int i) { kept[i] = realloc(kept[i], 3000); }
APART void zero(int i) { kept[2000 + i] = calloc(10, 200); }
APART void other(int i) { theirs[i] = get(1000); }
APART void garbage(void) { void *volatile p = malloc(1000); free(p); }
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *h;

	if (!strcmp(what, "exec")) {
		for (int i = 0; i < 1000; i++) before(i);
		execl(argc > 2 ? argv[2] : argv[0], argv[0], "", NULL);
		return 1;
	}
	if (!strcmp(what, "open")) {
		if (!(h = dlopen(argv[2], RTLD_NOW)) || !(get = (void *(*)(size_t))dlsym(h, argv[3]))) { fputs(dlerror(), stderr); return 1; }
		for (int i = 0; i < 500; i++) other(i);
	}
	for (int i = 0; i < 1500; i++) { after(i); garbage(); }
	for (int i = 0; i < 100; i++) { grow(i); zero(i); }
	if (!strcmp(what, "fork") && fork() == 0) {
		for (int i = 0; i < 300; i++) free(kept[i]);
		for (int i = 0; i < 300; i++) child(i);
		_exit(0);
	}
	while (wait(NULL) > 0) ;
	/* it is there until memprof has looked at it, and at most for a minute */
	for (int i = 0; !strcmp(what, "open") && i < 600 && access("seen", F_OK); i++) usleep(100000);
	return 0;
}
END
cc -O1 -o many many.c -ldl || exit 1
sums() {
	/usr/bin/python3 - <<'END'
import json
sums = {}
for row in map(json.loads, open("out")):
    name = next((f[5:] for f in row["stack"] if isinstance(f, str) and f.startswith("many`") and f not in ("many`main", "many`_start")), None)
    if name:
        s = sums.setdefault(name, [0, 0])
        s[0] += row["bytes"]
        s[1] += row["count"]
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END
}
cat >wanted <<'END'
after 1400000 1400
grow 300000 100
zero 200000 100
END
# check NAME PROGRAM...: a sample of one byte has all blocks
check() {
	name=$1; shift
	timeout 100 "$memprof" malloc --json -n 0 -r 1 -x maxrate=1000000000 "$@" >out 2>err || fail "$name"
	sums >got
	diff wanted got || fail "$name: other numbers"
}
for how in auto off; do
	check "exec, $how" -x inproc=$how ./many exec
	check "fork, $how" -x inproc=$how ./many fork
	! grep -q "not followed" err || fail "fork, $how: there is no other allocator"
done
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(ls /usr/lib/*-linux-gnu/$library 2>/dev/null | head -1)
	[ -n "$path" ] || { echo "skip: there is no $library"; continue; }
	check "$library" -x "setenv=LD_PRELOAD=$path" ./many
	check "$library, exec" -x "setenv=LD_PRELOAD=$path" ./many exec
done

# a library that comes later: one with an allocator is told, and what the C library gives is followed as ever
cat >own.c <<'END'
#include <stddef.h>
static char room[1 << 20], *next = room;
void *malloc(size_t n) { char *p = next; next += (n + 15) & ~(size_t)15; return p; }
void free(void *p) { (void)p; }
END
echo 'void *make(unsigned long n) { return 0; }' >plain.c
cc -O1 -fPIC -shared -fno-builtin -o libown.so own.c && cc -O1 -fPIC -shared -o libplain.so plain.c || exit 1
rm -f seen
(for i in $(seq 500); do grep -q "not followed" err 2>/dev/null && break; sleep 0.1; done; touch seen) & watcher=$!
check "a library that is opened" ./many open ./libown.so malloc
wait $watcher
grep -qx "memprof: 'libown.so', which has come later, has a malloc() whose blocks are not followed" err && [ "$(grep -c libown.so err)" = 1 ] || fail "libown.so is not told, once"
grep -qx "hint: memprof malloc -p [0-9]*, begun now, follows them" err || fail "libown.so: no hint"
rm -f seen
(sleep 4; touch seen) & watcher=$!
check "a library without an allocator" ./many open ./libplain.so make
wait $watcher
! grep -q "not followed" err || fail "libplain.so is no allocator"
exit 0
