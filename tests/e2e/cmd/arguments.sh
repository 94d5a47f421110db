# Script arguments and macros: integers, strings, names, defaults, $0, $target, what is missing or too much.
expect() { want=$1; shift; got=$("$DTRACE" -q "$@" 2>&1); [ "$got" = "$want" ] || { echo "$*: '$got', expected '$want'"; exit 1; }; }
expect '7 16 -3 abc|a b|1' -n 'BEGIN { printf("%d %d %d %s|%s|%d", $1, $2, $3, $$4, $5, $$1 == "7"); exit(0); }' -- 7 0x10 -3 abc 'a b'
expect '0 []' -x defaultargs -n 'BEGIN { printf("%d [%s]", $1, $$2); exit(0); }'
expect 'tick-10ms' -n 'tick-$1ms { printf("%s", probename); exit(0); }' 10
expect 'dtrace' -n 'BEGIN { printf("%s", $1); exit(0); }' execname
expect '1 1' -n 'BEGIN { printf("%d %d", $pid == pid, $uid == uid); exit(0); }'
expect '0' -x defaultargs -n 'BEGIN { printf("%d", $target); exit(0); }'
expect '4' -n 'BEGIN { printf("%d", $1 + 1); exit(0); }' 3 
echo 'BEGIN { printf("%s %s", basename($$0), $$1); exit(0); }' >"$TMP/s.d"
expect 's.d x' -s "$TMP/s.d" x
expect 'ok' -x argref -n 'BEGIN { printf("ok"); exit(0); }' unused
fails() { want=$1; shift; "$DTRACE" "$@" 2>&1 | grep -qF "$want" || { echo "$*: no '$want'"; exit 1; }; }
fails D_MACRO_UNDEF -n 'BEGIN { trace($2); }' 1
fails 'macro variable $target is not defined' -n 'BEGIN { trace($target); }'
fails D_MACRO_UNUSED -n 'BEGIN { trace($1); }' 1 2
fails D_MACRO_OFLOW -n 'BEGIN { trace($1); }' 99999999999999999999
fails 'Undefined macro variable in probe description' -n 'tick-$1 { }'
got=$("$DTRACE" -qn 'syscall::exit_group:entry /pid == $target/ { printf("%d %s", $target == pid, $$target == lltostr(pid) ? "same" : "other"); }' -c true)
[ "$got" = '1 same' ] || { echo "\$target: $got"; exit 1; }
