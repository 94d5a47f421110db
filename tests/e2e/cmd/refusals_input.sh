# Scripts and libraries that are none: one message that names them, status 1, no crash.
# @@foreign
refused() { # pattern of the message, then the command's arguments
	want=$1
	shift
	"$DTRACE" "$@" >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ $status = 1 ] && [ "$(grep -ac '^dtrace: ' "$TMP/err")" = 1 ] && grep -aq "^dtrace: .*$want" "$TMP/err" && return
	echo "$*: status $status, no message with '$want'"; head -c 2000 "$TMP/err"; exit 1
}
refused "failed to open /no/such/script.d: No such file" -s /no/such/script.d
refused "failed to compile script $TMP: .*Is a directory" -s "$TMP"
refused 'empty D program' -s /dev/null
printf 'BEGIN { x \0 = 1; }' >"$TMP/nul.d"
refused 'syntax error near' -s "$TMP/nul.d"
for i in 1 2 3 4 5 6 7 8; do
	head -c 4000 /dev/urandom >"$TMP/garbage.d"
	refused "failed to compile script $TMP/garbage.d: line " -s "$TMP/garbage.d"
	[ "$(wc -c <"$TMP/err")" -lt 40000 ] || { echo "a long message"; exit 1; }
done
# much: a word of 10 MB, 15,000 clauses, 10 MB of comment
head -c 10000000 /dev/zero | tr '\0' x >"$TMP/word.d"
refused 'expected predicate and/or actions' -s "$TMP/word.d"
[ "$(wc -c <"$TMP/err")" -lt 1000 ] || { echo "a long message"; exit 1; }
awk 'BEGIN { for (i = 0; i < 15000; i++) print "BEGIN { x = " i "; y = x + 12345 * 6789; }" }' >"$TMP/big.d"
refused 'clauses on one kind of probe make ' -q -s "$TMP/big.d"
(printf '/*'; head -c 10000000 /dev/zero | tr '\0' '*'; printf '/ BEGIN { exit(7); }') >"$TMP/comment.d"
"$DTRACE" -q -s "$TMP/comment.d"
[ $? = 7 ] || { echo "10 MB of comment"; exit 1; }
# the preprocessor
echo 'BEGIN { exit(0); }' >"$TMP/good.d"
refused 'Preprocessor not found' -C -x cpppath=/nonexistent -s "$TMP/good.d"
refused 'Preprocessor failed' -C -x cpppath=/bin/false -s "$TMP/good.d"
# the D library
mkdir "$TMP/lib"
head -c 4000 /dev/urandom >"$TMP/lib/a.d"
refused 'failed to compile the D library' -L "$TMP/lib" -n 'BEGIN { exit(0); }'
echo '#pragma D depends_on library nothing.d' >"$TMP/lib/a.d"
refused 'nothing.d' -L "$TMP/lib" -n 'BEGIN { exit(0); }'
refused "/no/such" -x syslibdir=/no/such -n 'BEGIN { exit(0); }'
# targets and output
refused 'failed to execute' -n BEGIN -c /no/such/program
refused 'failed to grab pid 999999' -n BEGIN -p 999999
refused "failed to open output file '/no/such/folder/out'" -o /no/such/folder/out -n 'BEGIN { exit(0); }'
# not readable: only another user is refused
chmod 755 "$TMP"; cp "$TMP/good.d" "$TMP/secret.d"; chmod 000 "$TMP/secret.d"
su nobody -s /bin/sh -c "$DTRACE -e -s $TMP/secret.d" >/dev/null 2>"$TMP/err" && { echo "an unreadable script"; exit 1; }
grep -q 'secret.d: Permission denied\|not found\|dtrace: Permission denied' "$TMP/err" || { cat "$TMP/err"; exit 1; }
