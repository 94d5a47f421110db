# freopen(), ftruncate(), system(), setopt(): formats, errors, and what they leave (d-language.md 5.2).
# @@foreign
cd "$TMP" || exit 1
fail() { echo "$1"; exit 1; }
$DTRACE -wqn 'BEGIN { printf("one\n"); freopen("%s.%d", "f", 7); printf("two\n"); freopen(""); printf("three\n"); }
	BEGIN { freopen(""); printf("four\n"); exit(0); }' >out 2>err || fail "freopen: $(cat err)"
[ "$(cat f.7)" = two ] && [ "$(tr -d '\n' <out)" = onethreefour ] || fail "freopen: $(cat out f.7)"
$DTRACE -wqn 'BEGIN { freopen("/no/such/%s", "file"); printf("here\n"); exit(0); }' >out 2>err
grep -q here out || fail "output after a failed freopen"
grep -qF "couldn't freopen() \"/no/such/file\": No such file or directory" err || fail "$(cat err)"
$DTRACE -qn 'BEGIN { freopen("x"); }' 2>err && fail "freopen without -w"
grep -q "Destructive actions not allowed" err || fail "$(cat err)"
$DTRACE -o t -qn 'BEGIN { printf("gone\n"); ftruncate(); printf("kept\n"); exit(0); }' || fail ftruncate
[ "$(tr -d '\n\0' <t)" = kept ] || fail "ftruncate: $(cat t)"
$DTRACE -qn 'BEGIN { printf("a\n"); ftruncate(); printf("b\n"); exit(0); }' | tr -d '\n' | grep -qx ab || fail "ftruncate of a pipe"
$DTRACE -wqn 'BEGIN { printf("before "); system("echo %s %d %05d", "sys", 1, 42); printf("after\n"); exit(0); }' >out || fail system
[ "$(tr '\n' ' ' <out)" = "before sys 1 00042 after  " ] || fail "system: $(cat out)"
$DTRACE -wqn 'BEGIN { system("exit 3"); printf("on\n"); exit(0); }' | grep -q on || fail "a command that fails"
$DTRACE -x strsize=16 -wqn 'BEGIN { system("echo 0123456789012345"); exit(0); }' | grep -qx 0123456789 || fail "a command is strsize - 1 long"
$DTRACE -n 'BEGIN { setopt("quiet"); setopt("nosuch", "1"); setopt("bufsize", "1m"); setopt("switchrate", "x"); exit(0); }' >out 2>err
for e in 'couldn.t set option "nosuch" to "1": Invalid option name' \
	'couldn.t set option "bufsize" to "1m": Operation illegal when tracing is active' \
	'couldn.t set option "switchrate" to "x": Invalid value for specified option'; do
	grep -q "$e" err || fail "setopt: $(cat err)"
done
exit 0
