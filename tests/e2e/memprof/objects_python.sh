# memprof objects: Python. Each object that is alive, and each that was created, by line and type, as the program knows them and as tracemalloc has counted them; refusals.
memprof=$BUILD/src/cmd/memprof/memprof
python=/usr/bin/python3.11
[ -x "$memprof" ] && [ -x $python ] || { echo "needs python3.11"; exit 67; }
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
# A report is there: of objects of a program that looks for a file meanwhile, or of none.
is_reported() { [ -s out ] || grep -q 'no object was created' err; }
cd "$TMP" || exit 1
cat >test.py <<'END2'
kept = []
class Thing: pass
class Slim: __slots__ = ("a",)
class Word(str): pass
def made():
    for i in range(100):
        kept.append({"a": i})
made()
numbers = range(1000)
for i in numbers: kept.append({})
for i in numbers: garbage = {"b": 1}; kept.append({"c": 2}); garbage = None
for i in numbers: garbage = (i, 1); kept.append((i, 2)); garbage = None
for i in numbers: kept.append(dict(a=1))
for i in numbers: kept.append({1: 2}.copy())
for i in numbers: kept.append([i for i in ()])
for i in numbers: kept.append(list(()))
for i in numbers: kept.append({2, 3})
for i in numbers: kept.append(Thing())
for i in numbers: kept.append(Slim())
for i in numbers: kept.append(Word("w"))
for i in numbers: kept.append("x%d" % (i + 10))
for i in numbers: kept.append(i / 7)
for i in numbers: kept.append(2 ** 70 + 1)
for i in numbers: kept.append(b"%d" % (i + 10))
for i in numbers: kept.append(lambda: i)
for i in range(20000): garbage = {}; garbage = [garbage]; garbage = Thing(); garbage.a = 1.5
garbage = None
END2
"$memprof" objects -n 0 -x maxrate=10000000 -c "$python -SEI test.py" >out 2>err || fail "alive"
for row in 10:dict 11:dict 13:dict 14:dict 15:list 16:list 17:set 18:Thing 19:Slim 20:Word 22:float 23:int 25:function; do
	grep -qx "   1000 [^ ]*test.py:$row" out || fail "alive: $row has another number"
done
# some are freed by code that calls no function: one of them counts until its memory is used again
for row in 12:tuple 21:str 24:bytes; do
	n=$(sed -n "s/^ *\([0-9]*\) [^ ]*test.py:$row$/\1/p" out)
	[ "${n:-0}" -ge 1000 ] && [ "$n" -le 1002 ] || fail "alive: $row has another number"
done
grep -qx '    100 [^ ]*test.py:7:dict' out || fail "alive: 7 has another number"
awk '/test.py:26:/ { n += $1 } END { exit n > 20 }' out || fail "alive: garbage counts"

"$memprof" objects -C --json -n 0 -x maxrate=10000000 $python -SEI test.py >out 2>err || fail "created"
/usr/bin/python3 - <<'END2' || fail "created: other numbers"
import json
rows = {(r["line"], r["class"]): r["count"] for r in map(json.loads, open("out")) if r["file"].endswith("test.py")}
for line, kind, count in ((10, "dict", 1000), (11, "dict", 2000), (12, "tuple", 2000), (14, "dict", 2000), (26, "dict", 20000), (26, "list", 20000), (26, "Thing", 20000)):
    assert rows[line, kind] == count, (line, kind, count, rows)
END2

# one that runs already, beside tracemalloc, which counts blocks by line: here objects are one block each
cat >beside.py <<'END2'
import os, sys, time, tracemalloc
class Slim: __slots__ = ("a",)
kept = [None] * 5000
tracemalloc.start()
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.05)
def made(n):
    for i in range(n):
        kept[i] = Slim()
        if i % 3 == 0:
            kept[i] = (i / 3, 1)[1:]
        garbage = Slim()
        kept[n + i] = i + 0.5
        if i % 5 == 0:
            kept[n + i - 1] = None
made(2000)
with open("counts", "w") as f:
    for s in tracemalloc.take_snapshot().statistics("lineno"):
        if s.traceback[0].filename.endswith("beside.py"): f.write("%d %d\n" % (s.traceback[0].lineno, s.count))
os.rename("counts", "counted")
time.sleep(60)
END2
$python -SEI beside.py & victim=$!
trap 'kill $victim 2>/dev/null' EXIT
for i in $(seq 300); do [ -e ready ] && break; sleep 0.1; done
"$memprof" objects -n 0 -x maxrate=10000000 -p $victim >out 2>err & tracer=$!
# until it catches SIGUSR1
for i in $(seq 300); do grep -q "^SigCgt:.*[2367abef]..$" /proc/$tracer/status && break; sleep 0.1; done
for i in $(seq 300); do sleep 0.1; kill -USR1 $tracer || fail "-p: it has ended"; [ -e go ] || ! is_reported || touch go; [ -e counted ] && break; done
kill -TERM $tracer
wait $tracer || fail "-p"
# a report before has other numbers: the last row of a line is that of the end
# tracemalloc does not know what was in a free list when it began
for row in "9 Slim 1333" "11 tuple 667" "13 float 1601"; do
	set -- $row
	own=$(sed -n "s/^$1 //p" counted)
	ours=$(sed -n "s/^ *\([0-9]*\) [^ ]*beside.py:$1:$2$/\1/p" out | tail -1)
	[ "$ours" = "$3" ] && [ -n "$own" ] && [ "$own" -le "$3" ] && [ "$own" -gt $(($3 - 40)) ] || fail "-p: line $1: $ours, tracemalloc '$own', expected $3"
done

# a Python without the variable, and one in a library
for other in /root/.pyenv/versions/3.12.*/bin/python3.12; do
	[ -x "$other" ] || continue
	"$memprof" objects -c "$other -c 1" >out 2>err; [ $? = 1 ] && grep -q "cannot be followed: it " err && grep -q "^hint: " err || fail "another Python"
done
"$memprof" objects --show -c "$python -c 1" >out 2>err || fail "--show"
[ "$(grep -c '^pid$target:a.out:-:' out)" -gt 100 ] || fail "--show: few places"
exit 0
