# The provider python of a stock python3.11: calls of functions, also of functions in Python by functions in Python.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
python=/usr/bin/python3.11
[ -x $python ] || { echo "no $python (package python3.11)"; exit 67; }
cat >t.py <<'END'
import gc
gc.disable()
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
exit 0
