# @@needs: kernel
# Where no option names a folder, the D library and its ustack helpers are those of the installation: the folder is there, in a mount
# namespace, and Python's frames have their names. Without helpers, dtrace says so, once.
python=/usr/bin/python3
[ -x $python ] || { echo "this test needs Debian's CPython (package python3)"; exit 67; }
. "$SRC/tests/e2e/stack/met.inc"
cd "$TMP" || exit 1
mkdir -p low/dtrace
cp -r "$SRC/dlib/." low/dtrace
cat >busy.py <<'X'
import os
def known_here():
    os.getppid()
known_here()
while not any(map(os.path.exists, ("met", "unmet"))) and not os.environ.get("MET_NEVER"): pass
known_here()
X
cat >inside <<'X'
mount -t overlay -o lowerdir="$TMP/low:/usr/lib" overlay /usr/lib || exit 67
unset DTRACE_OPT_SYSLIBDIR
"$DTRACE" -qn 'syscall::getppid:entry /pid == $target/ { trace(O_NONBLOCK); jstack(); }' -c "/usr/bin/python3 busy.py"
X
unshare -m sh inside >out 2>err
case $? in
0) ;;
67) echo "this test needs file systems of the kind overlay: $(cat err)"; exit 67 ;;
*) cat out err; exit 1 ;;
esac
grep -q 'busy.py:3 (known_here)' out && grep -q '^ *2048' out && [ ! -s err ] || { cat out err; exit 1; }

rm -r low/dtrace/helpers
MET_NEVER=1 unshare -m sh inside >out 2>err
grep -q 'python3' out || { cat out err; exit 1; }
[ "$(grep -c "cannot read the folder '/usr/lib/dtrace/helpers' of ustack helpers: No such file" err)" = 1 ] || { cat err; exit 1; }
