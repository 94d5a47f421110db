# Exit statuses of d-language.md 7.3: 0, 1 for errors, 2 for usage, exit(n) modulo 256.
check() { want=$1; shift; "$@" >"$TMP/o" 2>"$TMP/e"; got=$?; [ $got = $want ] || { echo "$*: $got, expected $want"; cat "$TMP/e"; bad=1; }; }
bad=0
check 0 "$DTRACE" -qn 'BEGIN { exit(0); }'
check 7 "$DTRACE" -qn 'BEGIN { exit(7); }'
check 1 "$DTRACE" -qn 'BEGIN { exit(257); }'
check 1 "$DTRACE" -n 'BEGIN { trace(nothing); }'
check 1 "$DTRACE" -n 'nosuch:::probe'
check 1 "$DTRACE" -s /no/such/script
check 1 "$DTRACE" -x nosuchoption -n BEGIN
check 1 "$DTRACE" -p 0 -n BEGIN
check 1 "$DTRACE" -p 99999999 -n BEGIN
check 1 "$DTRACE" -c /no/such/program -n BEGIN
check 2 "$DTRACE"
check 2 "$DTRACE" -k
check 2 "$DTRACE" -l -V
check 2 "$DTRACE" -33
check 2 "$DTRACE" -32 -n BEGIN
check 0 "$DTRACE" -64 -qn 'BEGIN { exit(0); }'
check 255 "$DTRACE" -qn 'BEGIN { exit(-1); }'
check 44 "$DTRACE" -qn 'BEGIN { exit(300); }'
check 0 "$DTRACE" -V
check 0 "$DTRACE" --help
check 0 "$DTRACE" -e -n 'BEGIN { exit(5); }'
check 0 "$DTRACE" -l -n 'nosuch:::probe'
exit $bad
