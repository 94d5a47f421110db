# CPython 3.11 makes the record of a call from C the thread's own some instructions before it says which frame it is about: what lies there
# until then belongs to an earlier call. In between no names are shown; one instruction before and behind, they are.
python=/usr/bin/python3.11
[ -x "$python" ] && command -v objdump >/dev/null || { echo "this test needs $python and objdump (packages python3.11 and binutils)"; exit 67; }
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
start=$(nm -D "$python" | sed -n 's/^\([0-9a-f]*\) T _PyEval_EvalFrameDefault.*/\1/p')
# the first instruction that stores to tstate->cframe, the next one, and the one behind the store of both fields
set -- $(objdump -d --no-show-raw-insn --start-address=0x"$start" --stop-address=$((0x$start + 512)) "$python" | awk '
	$1 !~ /^[0-9a-f]+:$/ { next }
	{ at = substr($1, 1, length($1) - 1) }
	seen == 1 { print at; seen = 2 }
	seen == 3 { print at; exit }
	!seen && /mov +%r[a-z0-9]+,0x38\(%r/ { print at; seen = 1 }
	seen == 2 && /movups .*\(%rsp\)/ { seen = 3 }')
[ $# = 3 ] || { echo "this build of CPython sets the fields in another way"; exit 67; }
cat >entered.py <<'X'
def inner(n):
    return -n
def outer():
    return list(map(inner, range(20))), sorted(range(5), key=inner)
def other(a, b):
    return inner(a + b)
import functools, os, time
for i in range(6000):
    if os.path.exists("met"): break
    outer()
    time.sleep(0.02)
for i in range(200):
    outer()
    functools.reduce(other, range(6))
X
for at; do
	at=$(printf %x $((0x$at - 0x$start)))
	rm -f met
	"$DTRACE" -x bufsize=4m -x switchrate=100hz -q -n "pid\$target:python3.11:_PyEval_EvalFrameDefault:$at { @[jstack(40)] = count(); n++; }
		END { printf(\"%s\", n > 5000 ? \"traced\\n\" : \"too few\\n\"); }" -c "$python entered.py" >out 2>err
	grep -v 'does not answer\|answer too slowly\|^dtrace: [1-9] errors\{0,1\} in ustack helpers\|^hint' err # a program that begins has structures half made
	grep -m 1 -E 'traced|too few' out
	grep -c 'entered.py' out | sed 's/^[1-9].*/names/; s/^0/no names/'
done
