# The provider python of a stock python3.11: every call of a function, with and without a clause for lines, from the start and later; lines, collections.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
python=/usr/bin/python3.11
[ -x $python ] || { echo "no $python (package python3.11)"; exit 67; }
cat >t.py <<'END'
import gc
gc.disable(); gc.set_threshold(0)
class A:
    def m(self): return 1
def fib(n):
    return n if n < 2 else fib(n-1) + fib(n-2)
fib(5); A().m(); gc.collect(1)
END
cat >t.d <<'END'
#pragma D option quiet
python$target:::function-entry, python$target:::function-return, python$target:::line
/basename(copyinstr(arg0)) == "t.py" && copyinstr(arg1) != "<module>"/
{
	@[probename, copyinstr(arg1), arg2] = count();
}
python$target:::gc-start /arg0 == 1/ { self->is = 1; @["gc-start", "", arg0] = count(); }
python$target:::gc-done /self->is/ { self->is = 0; @["gc-done", "", 1] = count(); }
END { printa("%s %s %d %@d\n", @); }
END
"$DTRACE" -s t.d -c "$python -S -E t.py" >out 2>err || fail "t.py"
sort out | grep . >got
sort >want <<'END'
function-entry A 3 1
function-entry fib 5 15
function-entry m 4 1
function-return A 4 1
function-return fib 6 15
function-return m 4 1
gc-done  1 1
gc-start  1 1
line A 4 1
line fib 6 15
END
diff want got || fail "other calls than the program makes"

# without a clause for lines: the interpreter counts one all the same, and none when tracing has ended
sed 's/, python$target:::line$//' t.d >calls.d
"$DTRACE" -s calls.d -c "$python -S -E t.py" >out 2>err || fail "calls.d"
sort out | grep . >got
grep -v '^line' want | diff - got || fail "calls without lines"
cat >loop.py <<'END'
import sys, time
def work(): return inner()
def inner(): time.sleep(0.005)
print("ready", flush=True)
while True: work()
END
$python -S -E loop.py >ready & loop=$!
trap 'kill $loop 2>/dev/null' EXIT
while [ ! -s ready ]; do sleep 0.01; done
"$DTRACE" -qn 'python$target:::function-entry { @["entry", stringof(args[1])] = count(); }
	python$target:::function-return { @["return", copyinstr(arg1)] = count(); }
	python$target:::function-return /copyinstr(arg1) == "inner" && ++n == 30/ { exit(0); } END { printa("%s %s %@d\n", @); }' -p $loop >out 2>err || fail "a process that runs"
for f in work inner; do
	a=$(awk -v f=$f '$1 == "entry" && $2 == f { print $3 }' out) b=$(awk -v f=$f '$1 == "return" && $2 == f { print $3 }' out)
	[ "$a" ] && [ "$b" ] && [ "$a" -gt 20 ] && [ $((a - b)) -ge -2 ] && [ $((a - b)) -le 2 ] || fail "entries and returns of $f: $a $b"
done

# a Python that was built without probes, if there is one: collections, and reasons for the rest
other=$(python3 -c 'import sys; print(sys.executable)')
readelf -n $(ldd "$other" | awk '/libpython/ { print $3 }') "$other" 2>/dev/null | grep -q 'Provider: python' && exit 0
cat >g.py <<'END'
import gc
gc.disable(); gc.set_threshold(0)
class A: pass
for i in range(5):
    a = A(); a.me = a
del a
print("collected", gc.collect(1), gc.collect(1), gc.collect(0), flush=True)
END
"$DTRACE" -qn 'python$target:::gc-start { self->g = arg0; } python$target:::gc-done { printf("%d %d\n", self->g, args[0]); }' \
	-c "$other -S -E g.py" >out 2>err || { grep -q 'without symbols' err && exit 0; fail "g.py"; }
grep collected out | awk '{ print 1, $2; print 1, $3; print 0, $4 }' >want
grep -E "^[01] " out | tail -n 3 | diff want - || fail "other collections than Python says"
"$DTRACE" -n 'python$target:::function-entry {}' -c "$other -c 1" >out 2>err && fail "function-entry was found"
grep -q 'built without probes' err || fail "no reason for function-entry"
exit 0
