# Listings show programs' own probes: of running processes, of the program of -c, by each field, quickly.
# @@foreign
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
echo 'provider listed { probe one__first(int); probe two(int); };' >probes.d
cat >app.c <<'END'
#include "probes.h"
#include <unistd.h>
__attribute__((noinline)) static void inner(int i) { LISTED_ONE_FIRST(i); }
int main(int argc, char **argv) { inner(argc); LISTED_TWO(argc); return argc > 1 ? (int)sleep(60 * PATIENCE) : 0; }
END
"$DTRACE" -h -s probes.d && gcc -O2 -DPATIENCE="$PATIENCE" app.c -o listedapp || fail "building"
list() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" "$@" >out 2>err || fail "$*"; }
rows() { # number of rows of the listing that match
	[ "$(grep -cE "$2" out)" = "$1" ] || fail "not $1 rows of $2"
}
pids=
for i in 1 2 3 4 5 6 7 8 9 10; do
	./listedapp wait &
	pids="$pids $!"
done
end() { kill $pids; wait $pids 2>/dev/null; }
trap end EXIT
set -- $pids
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lP 'listed*' >out 2>err
	[ "$(grep -c two out)" = 10 ] && break
done
# without a description, also with the program of -c, which has not started
list -l
rows 20 ' listed[0-9]+ +listedapp +'
rows 1 "listed$1 +listedapp +inner one-first$"
rows 1 "listed$1 +listedapp +main two$"
[ "$(awk 'NR > 1 { print $1 }' out | sort -n | uniq -d)" = "" ] || fail "two probes have one id"
list -l -c ./listedapp
rows 22 ' listed[0-9]+ +listedapp +'
# by each field, and by id
list -lP "listed$1" && rows 2 "listed$1 "
list -lm listedapp && rows 20 'listed[0-9]+ +listedapp '
list -lf inner && rows 10 'listed[0-9]+ +listedapp +inner one-first$'
list -ln one-first && rows 10 'one-first$'
list -ln "listed$1:listedapp::t*" && rows 1 'two$'
list -ln 'listed$target:::two' -c ./listedapp && rows 1 'two$'
list -l -n 'listed*:::one-first' -m listedapp && rows 20 'one-first$'
# what is enabled by a module alone is what is listed
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qm 'listedapp { printf("%s;", probename); }' -c ./listedapp >out 2>err && grep -q 'one-first;two;' out || fail "a module without a provider"
# why there is none: the number is missing, or the module and the function are others
none() { # text, then the description
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -ln "$2" -c ./listedapp >out 2>err
	grep -qF "$1" err || fail "$2: no '$1'"
}
none "a program's own has a process id or a star behind its name: 'listed\$target', 'listed*'" listed:::two
none "dtrace -ln 'listed*:::two' lists the modules and functions that have it" 'listed*:listedapp:inner:two'
none "did you mean 'two'?" 'listed*:::twoo'
# the cost: the system's probes are named without a look at processes
list -ln syscall::read:entry && rows 1 'read'
! command -v strace >/dev/null || strace -f -e trace=openat -o calls "$DTRACE" -ln syscall::read:entry >/dev/null 2>&1 && grep -q '"/proc/[0-9]*/maps"' calls && fail "processes are read for a listing of system calls"
:
