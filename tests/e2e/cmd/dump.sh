# -S, -x tree and -x dump show the user's program on stderr and nothing of the libraries.
"$DTRACE" -S -e -n 'BEGIN { x = 5; exit(0); }' 2>"$TMP/err" >"$TMP/out" || exit 1
grep -q 'setx DT_INTEGER\[0\], %r1 *! 0x5' "$TMP/err" && grep -q 'stgs DT_VAR' "$TMP/err" || { echo "-S"; cat "$TMP/err"; exit 1; }
[ ! -s "$TMP/out" ] || { echo "-S wrote to stdout"; exit 1; }
"$DTRACE" -x dump=dif -e -n 'BEGIN { x = 5; exit(0); }' 2>&1 | grep -q 'stgs DT_VAR' || { echo "-x dump=dif"; exit 1; }
"$DTRACE" -x tree=1 -e -n 'BEGIN { x = 5; exit(0); }' 2>"$TMP/err" || exit 1
grep -q '(= x 5)' "$TMP/err" || { echo "-x tree"; cat "$TMP/err"; exit 1; }
grep -q EPERM "$TMP/err" && { echo "-x tree shows the libraries"; exit 1; }
"$DTRACE" -x dump=bpf -n 'BEGIN { exit(0); }' 2>&1 | grep -q 'call helper' || { echo "-x dump=bpf"; exit 1; }
# a text with a syntax error has no tree to show
got=$("$DTRACE" -e -x tree=1 -n 'BEGIN / self-> == 1 / { exit(0); }' 2>&1) && exit 1
case $got in *"(null)"* | "(clause"*) echo "a tree of what could not be parsed: $got"; exit 1 ;; esac
exit 0
