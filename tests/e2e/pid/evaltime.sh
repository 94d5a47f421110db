# @@timeout: 240
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
# probes of other kinds see it from its first instruction
got=$("$DTRACE" -qn 'syscall::brk:entry /pid == $target/ { @ = count(); } END { printa("%@d\n", @); }' -c "$TRIGGER/funcs 1" 2>"$TMP/err")
[ "${got:-0}" -ge 1 ] || { echo "system calls of the dynamic linker: '$got'"; bad=1; }
# one that ends or cannot run before
"$DTRACE" -n 'pid$target:a.out:main:entry' -c /bin/nonexistent >/dev/null 2>"$TMP/err" && { echo 'a program that is not there'; bad=1; }
exit $bad
