# A name without a provider, and a pattern that begins with a star, find programs' own probes, as Perl's tests expect it.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
echo 'provider depot { probe crate__stored(int); };' >depot.d
"$DTRACE" -h -s depot.d || exit 1
printf '#include "depot.h"\nint main(int argc, char **argv) { DEPOT_CRATE_STORED(argc + 6); return 0; }\n' >app.c
gcc -O2 app.c -o app || exit 1
for desc in crate-stored :::crate-stored ::main:crate-stored app::crate-stored '*:::crate-stored' '*pot*:::crate-stored' 'd*:::crate-stored'; do
	"$DTRACE" -qn "$desc { printf(\"%d\\n\", arg0); }" -c ./app >out 2>err && grep -qx 7 out || fail "$desc"
done
# a name that a provider of the system has means that one only, without a look at all processes
"$DTRACE" -qn 'BEGIN { printf("%s\n", probename); exit(0); }' >out 2>err && grep -qx BEGIN out || fail BEGIN
"$DTRACE" -qn crate-stored-nowhere -c ./app >out 2>err && fail "a probe that is none"
grep -q 'probe description :::crate-stored-nowhere does not match any probes' err || fail "the message"
