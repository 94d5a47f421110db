# @@needs: kernel
# -c splits words as a shell does and expands nothing; a quote without its end is one error. The same in the library.
cat >"$TMP/shows" <<'END'
#!/bin/sh
printf '<%s>' "$@"
echo
END
chmod +x "$TMP/shows"
cd "$TMP" || exit 1
shows() { # want command
	got=$("$DTRACE" -qn 'BEGIN { self->x = 1; }' -c "$2" 2>"$TMP/err") || { cat "$TMP/err"; exit 1; }
	[ "$got" = "$1" ] || { printf '%s\n  want %s\n  got  %s\n' "$2" "$1" "$got"; exit 1; }
}
shows '<a b><c"d><><e f><$HOME><*><g\h>' "./shows 'a b' \"c\\\"d\" '' e\\ f \$HOME * 'g\\h'"
[ "$("$DTRACE" -qn 'BEGIN { self->x = 1; }' -c 'sh -c "echo one; echo two three"')" = "one
two three" ] || { echo "sh -c"; exit 1; }
refused() { # message command
	"$DTRACE" -qn 'BEGIN { self->x = 1; }' -c "$2" >out 2>err && { echo "$2: no error"; exit 1; }
	[ ! -s out ] && [ "$(grep -c '^dtrace: ' err)" = 1 ] && grep -qF "$1" err || { echo "$2:"; cat out err; exit 1; }
}
refused "failed to execute ./shows it's: the ' in column 11 is not closed" "./shows it's"
refused 'the " in column 9 is not closed' './shows "a'
refused 'a backslash ends the command' './shows a\'
[ -z "$SANITIZED" ] || exit 0 # a library with sanitizers cannot be loaded into Python
PYTHONPATH=$SRC/bindings/python PYTHONDONTWRITEBYTECODE=1 LIBDTRACE=$BUILD/src/cmd/dtrace/libdtrace.so python3 - <<'END'
import libdtrace

with libdtrace.Consumer() as s:
    s.create("sh -c 'exit 7'")
with libdtrace.Consumer() as s:
    try:
        s.create("sh -c 'exit 7")
        raise SystemExit("the library takes a quote without its end")
    except libdtrace.Error as e:
        assert "the ' in column 7 is not closed" in str(e), e
END
