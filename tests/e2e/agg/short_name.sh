# A name that is shorter than the one before it on the same CPU is the same key each time, and equals its text: a kernel may leave what stood behind its end.
fail() { echo "$1"; cat out; exit 1; }
cd "$TMP" || exit 1
cat >rename.py <<'END'
import ctypes, os
libc = ctypes.CDLL(None)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for i in range(200):
    for name in b"abcdefghijklmno", b"ab", b"abcdefgh", b"":
        libc.prctl(15, name, 0, 0, 0)
        os.getppid()
END
timeout 120 "$DTRACE" -qc "/usr/bin/python3 rename.py" -n '
syscall::getppid:entry /pid == $target && execname != "python3"/ { @[execname] = count(); @t["all"] = count(); }
syscall::getppid:entry /pid == $target && execname == "ab"/ { @t["ab is equal"] = count(); }
syscall::getppid:entry /pid == $target && execname == ""/ { @t["none is equal"] = count(); }
syscall::getppid:entry /pid == $target && execname == "abcdefgh"/ { @t["eight are equal"] = count(); }
END { printa("<%s> %@d\n", @); printa("%s %@d\n", @t); }' >out 2>&1 || fail "dtrace failed"
for line in "<abcdefghijklmno> 200" "<ab> 200" "<abcdefgh> 200" "<> 200" "all 800" "ab is equal 200" "none is equal 200" "eight are equal 200"; do
	grep -qx "$line" out || fail "no line '$line'"
done
[ "$(grep -c '^<' out)" = 4 ] || fail "a name has several keys"
