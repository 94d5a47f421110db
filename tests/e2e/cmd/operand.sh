# A script as operand runs as with -s; what is no script is refused with what to type, which works; so is a program that the shell has split.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { "$DTRACE" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null; }
said() { grep -qF -- "$1" "$TMP/err" || fail "no '$1'"; }

printf 'BEGIN { printf("%%s %%s\\n", $$0, $$1); exit(3); }\n' >"$TMP/script.d"
for flags in "-q $TMP/script.d one" "$TMP/script.d -q one" "-q -s $TMP/script.d one"; do
	run $flags; [ $? = 3 ] && grep -qx "$TMP/script.d one" "$TMP/out" || fail "$flags"
done
run "$TMP/script.d" one; [ $? = 3 ] && grep -q "script '$TMP/script.d' matched 1 probe" "$TMP/err" || fail "not quiet"
run "$TMP/script.d"; [ $? = 1 ] || fail "no argument"; said '$$1 is not defined'
printf 'syscall::read:entry, syscall::write:entry { trace(1); }\n' >"$TMP/list.d"
run -l "$TMP/list.d" && [ "$(wc -l <"$TMP/out")" = 3 ] || fail "-l SCRIPT"
printf 'BEGIN { printf("piped\\n"); exit(0); }\n' | "$DTRACE" -q /dev/stdin >"$TMP/out" 2>"$TMP/err" && grep -qx piped "$TMP/out" || fail "a pipe"
printf '#!/usr/sbin/dtrace -qs\nBEGIN { exit(5); }\n' >"$TMP/first.d"
run "$TMP/first.d"; [ $? = 5 ] || fail "a script with a first line"
# an operand beside a program is an argument, as ever
run -qn 'BEGIN { printf("%s\n", $$1); exit(0); }' "$TMP/script.d" && grep -qx "$TMP/script.d" "$TMP/out" || fail "an argument"

# typed: runs the command line of a hint, by the shell. $1: what stands before it.
typed() {
	cmd=$(sed -n "s/^ *hint: .*$1//p" "$TMP/err")
	[ "$cmd" ] && sh -c "\"\$DTRACE\" -e $2$cmd" >"$TMP/out2" 2>&1 || { cat "$TMP/out2"; fail "the hint '$cmd'"; }
}
run BEGIN '{' exit'(0);' '}'; [ $? = 1 ] || fail "a program as operands"; said 'no probes specified'; typed 'dtrace ' ''
run 'BEGIN { exit(0); }' && fail "a program as operand"; typed 'dtrace ' ''
run "BEGIN /execname != 'x'/" '{' 'trace("it'"'"'s"); }' && fail "quotes"; grep -qF "it'\\''s" "$TMP/err" || fail "quotes are not quoted"
run && fail "nothing"
run -q && fail "no program"; said 'no probes specified'; cmd=$(sed -n "s/^hint: .*: dtrace \(-n '.*'\);.*/\1/p" "$TMP/err"); sh -c "\"\$DTRACE\" -e $cmd" || fail "no program: '$cmd'"
run -l syscall::open: && fail "-l DESCRIPTION"; typed 'dtrace ' ''
run "$TMP/none.d" && fail "no such script"; said "there is no script '$TMP/none.d'"
run /bin/ls -q && fail "a command"; said "-c '/bin/ls'"; cmd=$(sed -n 's/^hint: .*: //p' "$TMP/err"); sh -c "\"\$DTRACE\" -qn 'BEGIN { exit(0); }' $cmd" >/dev/null || fail "'$cmd'"
run "$TMP" && fail "a folder"; said "is no file with a script"
run -n "$TMP/list.d" && fail "-n FILE"; typed 'dtrace ' ''
run -s 'BEGIN { exit(0); }' && fail "-s PROGRAM"; said 'hint: -s takes a file; a program follows -n'
run -p sh -n BEGIN && fail "-p NAME"; said 'invalid pid: sh'; said 'pgrep -n sh'

# The shell has split the program: dtrace -n BEGIN { exit }
run -n BEGIN '{' 'exit(0);' '}' && fail "-n BEGIN {"; typed 'holds* it together: ' '-n '
run -n syscall::read:entry '/pid' '==' '5/' '{' 'exit(0);' '}' && fail "a predicate"; typed 'hold it together: ' '-n '
run -n BEGIN '{ exit(0); }' && fail "the braces are another word"; typed 'hold it together: ' '-n '
run -n 'BEGIN { exit(0); }' more && fail "an argument that is not used"; said 'argref'; run -x argref -qn 'BEGIN { exit(0); }' more || fail "argref"
exit 0
