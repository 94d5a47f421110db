# Where a program of -c is held (d-language.md 9.3): what has run before probes are placed, and what has not.
bad=0
calls() { # flags: how often each function was called from then on
	"$DTRACE" -qn 'pid$target:a.out:_start:entry { @["start"] = count(); } pid$target:a.out:main:entry { @["main"] = count(); }
		END { printa("%s %@d ", @); printf("\n"); }' "$@" -c "$TRIGGER/funcs 1" 2>"$TMP/err"
}
expect() { # what, got
	[ "$2" = "$3" ] || { echo "$1: '$2' instead of '$3'"; cat "$TMP/err"; bad=1; }
}
expect default "$(calls)" 'main 1 start 1 '
expect exec "$(calls -x evaltime=exec)" 'main 1 start 1 '
expect preinit "$(calls -x evaltime=preinit)" 'main 1 start 1 '
expect postinit "$(calls -x evaltime=postinit)" 'main 1 start 1 '
expect main "$(calls -x evaltime=main)" 'main 1 '
modules() { "$DTRACE" -ln 'pid$target:lib*:getppid:entry' -c "$TRIGGER/funcs" "$@" 2>/dev/null | awk 'NR > 1 { print $3 }'; }
expect 'libraries at exec' "$(modules -x evaltime=exec)" ''
for when in preinit postinit main; do
	expect "libraries at $when" "$(modules -x evaltime=$when)" libc.so.6
done
# a stripped program's main() is found, too
cp "$TRIGGER/funcs" "$TMP/stripped" && strip "$TMP/stripped"
got=$("$DTRACE" -qn 'pid$target:libc.so.6:strtol*:entry { @ = count(); } END { printa("%@d\n", @); }' -x evaltime=main -c "$TMP/stripped 1" 2>"$TMP/err")
expect 'stripped, main' "$got" 1
# what the dynamic linker does is not seen, what constructors do is, by probes of all kinds
seen() { # flags: files that were opened, getppid() of the constructor, calls of the constructor
	"$DTRACE" -qn 'syscall::open*:entry /pid == $target/ { @["open"] = count(); } syscall::getppid:entry /pid == $target/ { @["getppid"] = count(); }
		pid$target:libearly.so:early_constructor:entry { @["constructor"] = count(); } END { printa("%s %@d ", @); printf("\n"); }' \
		-Z "$@" -c "$TRIGGER/early" 2>"$TMP/err"
}
expect 'seen by default' "$(seen)" 'constructor 1 getppid 1 open 1 '
expect 'seen, preinit' "$(seen -x evaltime=preinit)" 'constructor 1 getppid 1 open 1 '
expect 'seen, postinit' "$(seen -x evaltime=postinit)" 'open 1 '
expect 'seen, main' "$(seen -x evaltime=main)" 'open 1 '
got=$(seen -x evaltime=exec)
n=${got#*open }
[ "${got%open*}" = 'constructor 1 getppid 1 ' ] && [ "${n% }" -ge 3 ] || expect 'seen, exec' "$got" 'constructor 1 getppid 1 open 3 or more'
got=$("$DTRACE" -qn 'syscall::open*:entry /pid == $target/ { @ = count(); } END { printa("%@d\n", @); }' -c "$TRIGGER/early" 2>"$TMP/err")
expect 'no function is probed' "$got" 1
# programs of 32 bits, too: the C library's functions are there
if echo 'int main(void) { return 0; }' | ${CC:-cc} -m32 -xc -o "$TMP/m32" - 2>/dev/null && "$TMP/m32" 2>/dev/null; then
	n=$("$DTRACE" -ln 'pid$target:libc.so.6:getppid:entry' -c "$TMP/m32" 2>"$TMP/err" | grep -c getppid)
	expect '32 bits' "$n" 1
fi
# a static program has nothing to wait for
if echo 'int main(void) { return 0; }' | ${CC:-cc} -static -xc -o "$TMP/static" - 2>/dev/null; then
	got=$("$DTRACE" -qn 'pid$target:a.out:_start:entry, pid$target:a.out:main:entry { @[probefunc] = count(); }
		END { printa("%s %@d ", @); printf("\n"); }' -c "$TMP/static" 2>"$TMP/err")
	expect static "$got" '_start 1 main 1 '
fi
# one that ends or cannot run before
"$DTRACE" -n 'pid$target:a.out:main:entry' -c /bin/nonexistent >/dev/null 2>"$TMP/err" && { echo 'a program that is not there'; bad=1; }
exit $bad
