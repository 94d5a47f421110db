# memprof: growth by place of a Python program and of a C program, its forms of output, what it refuses.
memprof=$BUILD/src/cmd/memprof/memprof
python=/usr/bin/python3
[ -x "$memprof" ] || exit 67
[ -x $python ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -50 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1

# 40 MB are kept at one line, as much is taken and freed at another one
cat >grow.py <<'END'
keep = []
def leaky():
    keep.append(bytearray(1000000))
def harmless():
    bytearray(1000)
for i in range(40):
    leaky()
    for k in range(1000):
        harmless()
END
"$memprof" $python grow.py >out 2>err || fail "python3 grow.py"
sed -n 2p out | grep -Eq '^ +(39|4[0-9])\.[0-9] MB  .*grow\.py:3 \(leaky\)$' || fail "the first row is not leaky()"
grep -q 'harmless' out && fail "harmless() is a row"

# the same numbers in JSON, and a native program
cat >grow.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void leak(void) { char *p = malloc(1000000); memset(p, 1, 1000000); __asm__("" ::"r"(p)); }
int main(void) { for (int i = 0; i < 20; i++) leak(); if (getenv("STAY")) pause(); return 0; }
END
cc -O1 -fno-optimize-sibling-calls -o grow grow.c || exit 1
"$memprof" --json -n 1 -c ./grow >out 2>err || fail "./grow"
$python - <<'END' || fail "JSON"
import json
row, = [json.loads(l) for l in open("out")]
assert 19e6 < row["bytes"] < 22e6 and "grow`leak" in row["stack"], row
END
"$memprof" --flame g.svg ./grow >out 2>err || fail "--flame"
grep -q '^<svg' g.svg && grep -q 'grow`leak' g.svg || fail "no picture"

# SIGUSR1 prints, and it goes on; ^C ends it
cat >slow.py <<'END'
import time
keep = []
for i in range(600): # it ends by itself, whatever becomes of the test
    keep.append(bytearray(1000000))
    time.sleep(0.1)
END
$python slow.py >/dev/null 2>&1 & victim=$!
trap 'kill $victim 2>/dev/null' EXIT
"$memprof" -p $victim >out 2>err & tracer=$!
for i in $(seq 100); do sleep 0.1; kill -USR1 $tracer || fail "it has ended"; grep -q 'slow.py:4' out && break; done
grep -q 'slow.py:4' out || fail "SIGUSR1"
kill -0 $tracer || fail "it has ended"
n=$(grep -c PLACE out)
kill -TERM $tracer
wait $tracer || fail "TERM: exit status $?"
[ "$(grep -c PLACE out)" -gt "$n" ] || fail "no table at the end"
# -i: differences, about 10 MB each second at the most
"$memprof" -i 1 -d 3.5 -p $victim >out 2>err || fail "-i"
[ "$(grep -c '^ *GROWN' out)" -ge 3 ] || fail "-i: too few tables"
[ "$(grep -c 'slow.py:4' out)" -ge 3 ] || fail "-i: a table without the place"
grep -E '[2-9][0-9]\.[0-9] MB .*slow.py:4' out && fail "-i: no differences"
# nothing is placed, one clear message, a status that is not 0
"$memprof" -p 4194303 >out 2>err; [ $? = 1 ] && grep -q "cannot trace process 4194303" err || fail "a process that is not there"
"$memprof" >out 2>err; [ $? = 2 ] && grep -q "which process" err || fail "no process"
"$memprof" --flame f.svg --json ./grow >out 2>err; [ $? = 2 ] || fail "two forms"
"$memprof" -i 1 --flame f.svg ./grow >out 2>err; [ $? = 2 ] || fail "-i --flame"
"$memprof" -n x ./grow >out 2>err; [ $? = 2 ] && grep -q "expected a number" err || fail "-n x"
"$memprof" /nonexistent >out 2>err; [ $? = 1 ] && grep -q "cannot start" err || fail "no such command"
"$memprof" --show -p $$ >out 2>err && grep -q '^vminfo:::as_fault' out || fail "--show"
exit 0
