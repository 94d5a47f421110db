# @@needs: kernel
# Frames that are recorded from a cache are those of the function that is there now: functions are dropped and collected, and others, whose
# names and lines differ, come to lie where they were.
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
python=/usr/bin/python3.11
[ -x $python ] || { echo "this test needs Python 3.11 (package python3)"; exit 67; }
cat >again.py <<'X1'
import gc, os, sys, time
where = {}
def turn(i):
    space = {"call": os.getppid}
    exec(compile("\n" * (i % 50) + "def name%03d(): call()\n" % i, "/srv/app/file%03d.py" % i, "exec"), space)
    f = space["name%03d" % i]
    where[id(f.__code__)] = 1
    f()
    del f, space
    gc.collect()
os.getppid()
for i in range(6000): os.path.exists("met") or time.sleep(0.02)
for i in range(400):
    turn(i)
print(len(where) < 200)
X1
"$DTRACE" -x jstackframes=60 -qn 'syscall::getppid:entry /pid == $target/ { printf("\nstack"); jstack(); }' -c "$python again.py" >out 2>err
grep -c '^True$' out
grep -o '\[ /srv/app/file[0-9]*.py:[0-9]* (name[0-9]*) \]' out >have
$python -c '
for i in range(400): print("[ /srv/app/file%03d.py:%d (name%03d) ]" % (i, i % 50 + 1, i))' >want
cmp have want && echo "Python: $(wc -l <have) of 400 functions, of which many had the address of another"

node=/usr/bin/node
case $($node --version 2>/dev/null) in
v20.*) ;;
*)
	echo "this test needs Node.js 20 (package nodejs)"
	exit 67
	;;
esac
cat >again.js <<'X1'
'use strict';
const vm = require('vm');
process.ppid;
process.ppid;
for (const t = Date.now() + 120000; !require('fs').existsSync('met') && Date.now() < t;);
for (let i = 0; i < 300; i++) {
	const n = String(i).padStart(3, '0');
	const text = `${'\n'.repeat(i % 50)}(function name${n}() { return process.ppid; })()${'\n'.repeat(50 - i % 50)}`;
	new vm.Script(text, { filename: ['/srv/app/file', n, '.js'].join('') }).runInThisContext();
	if (i % 3 === 0)
		gc();
}
X1
rm -f met
"$DTRACE" -x jstackframes=100 -qn 'syscall::getppid:entry /pid == $target/ { printf("\nstack"); jstack(); }' \
	-c "$node --expose-gc again.js" >out 2>err2
grep -o 'name[0-9]* at /srv/app/file[0-9]*.js line [0-9]*' out >have
$python -c '
for i in range(300): print("name%03d at /srv/app/file%03d.js line %d" % (i, i, i % 50 + 1))' >want
cmp have want && echo "Node.js: $(wc -l <have) of 300 functions"
