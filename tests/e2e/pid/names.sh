# Which probes a description means: patterns in every field, other names of modules, addresses (providers.md 19.1, 19.3).
# @@foreign
bad=0
list() { # description -> "module function name" lines
	"$DTRACE" -ln "$1" -c "$TRIGGER/funcs 1" 2>"$TMP/err" | awk 'NR > 1 { print $3, $4, $5 }'
}
expect() { # description, lines
	got=$(list "$1")
	[ "$got" = "$2" ] || { echo "$1: got"; echo "$got"; echo "want"; echo "$2"; cat "$TMP/err"; bad=1; }
}
count() { # description, least number
	n=$(list "$1" | wc -l)
	[ "$n" -ge "$2" ] || { echo "$1: $n probes"; cat "$TMP/err"; bad=1; }
}
expect 'pid$target:funcs:f_add:entry' 'funcs f_add entry'
expect 'pid$target:a.out:f_add:entry' 'funcs f_add entry'
expect 'pid$target:fun*:f_add:entry' 'funcs f_add entry'
expect 'pid$target::f_add:entry' 'funcs f_add entry'
expect 'p*d$target:fun[a-z]s:f_?dd:ent*' 'funcs f_add entry'
expect 'pid$target:LM0`funcs:f_ends:return' 'funcs f_ends return'
# a function has one name, whichever is asked for: few underscores, then strong before weak, then short
expect 'pid$target:a.out:f_alias:entry' 'funcs f_add entry'
expect 'pid$target:a.out:f_al*:entry' 'funcs f_add entry'
expect 'pid$target:a.out:f_w:return' 'funcs f_strong return'
expect 'pid$target:a.out:__f_strong:0' 'funcs f_strong 0'
expect 'pid$target:a.out:l_local:entry' 'funcs f_weak_of_local entry'
expect 'pid$target:libc.so.6:__write:entry' 'libc.so.6 write entry'
expect 'pid$target:funcs:f_*:entry' 'funcs f_strong entry
funcs f_weak_of_local entry
funcs f_fixed entry
funcs f_add entry
funcs f_ten entry
funcs f_ends entry
funcs f_pair entry'
expect 'pid$target:libc:getppid:entry' 'libc.so.6 getppid entry'
expect 'pid$target:libc.so:getppid:entry' 'libc.so.6 getppid entry'
expect 'pid$target:libc.so.*:getppid:entry' 'libc.so.6 getppid entry'
expect 'pid$target::getppid:entry' 'libc.so.6 getppid entry'
expect 'pid$target:a.out:_init:entry' 'funcs _init entry'
expect 'pid$target:a.out:_ini*:entry' ''
expect 'pid$target:[vdso]::entry' ''
expect 'pid$target:nothing*::entry' ''
count 'pid$target:libc.so.6::entry' 2000
count 'pid$target:libc.so.6::return' 1900
count 'pid$target:::entry' 2000
count 'pid$target:funcs:f_ends:' 10
# one probe an address: malloc has other names, too
expect 'pid$target:libc.so.6:mallo[c]:entry' 'libc.so.6 malloc entry'
[ "$(list 'pid$target:libc.so.6:*free:entry' | grep -c '\(^\| \)cfree')" = 0 ] || { echo 'an old name stands for free'; bad=1; }
# a clause that gives several names of a function runs once a call
got=$("$DTRACE" -qn 'pid$target::f_alias:entry, pid$target::f_add:entry, pid$target::f_al*:entry { @[probefunc] = count(); }
	pid$target::f_alias:entry { @["its own clause"] = count(); } END { printa("%s %@d ", @); }' -c "$TRIGGER/funcs 5" 2>"$TMP/err")
[ "$got" = 'f_add 9 its own clause 9 ' ] || { echo "several names in a clause: $got"; cat "$TMP/err"; bad=1; }
# every instruction: as objdump has them
if command -v objdump >/dev/null; then
	objdump -d --no-show-raw-insn "$TRIGGER/funcs" | awk '
		/^[0-9a-f]+ <f_ends>:/ { base = strtonum("0x" $1); on = 1; next } /^$/ { on = 0 }
		on { sub(":", "", $1); printf "%x\n", strtonum("0x" $1) - base }' >"$TMP/objdump" 2>/dev/null
	size=$(nm -S "$TRIGGER/funcs" | awk '$4 == "f_ends" { print $2 }')
	list 'pid$target:funcs:f_ends:*' | awk '$3 != "entry" && $3 != "return" { print $3 }' >"$TMP/ours"
	head -n "$(wc -l <"$TMP/ours")" "$TMP/objdump" >"$TMP/want"
	[ ! -s "$TMP/objdump" ] || cmp -s "$TMP/ours" "$TMP/want" || { echo "instructions of f_ends (size $size)"; diff "$TMP/ours" "$TMP/want"; bad=1; }
fi
# stripped programs: addresses, as linked
addr=$(nm "$TRIGGER/funcs" | awk '$3 == "f_add" { sub("^0*", "", $1); print $1 }')
cp "$TRIGGER/funcs" "$TMP/stripped" && strip "$TMP/stripped"
got=$("$DTRACE" -qn 'pid$target:a.out:-:'"$addr"' { @ = count(); } END { printa("%@d\n", @); }' -c "$TMP/stripped 5" 2>&1)
[ "$got" = 9 ] || { echo "address $addr of a stripped program: $got"; bad=1; }
# the same of a library, whose name says that the address is its own
libc=$(ldd "$TRIGGER/funcs" | awk '$1 == "libc.so.6" { print $3 }')
addr=$(nm -D "$libc" | awk '$3 ~ /^getppid(@|$)/ { sub("^0*", "", $1); print $1 }')
echo 'import os; [os.getppid() for i in range(7)]' >"$TMP/calls.py"
got=$("$DTRACE" -qn 'pid$target:libc.so.6:-:'"$addr"' { @ = count(); } END { printa("%@d\n", @); }' -c "/usr/bin/python3 $TMP/calls.py" 2>&1)
[ "$got" = 7 ] || { echo "address $addr of the C library: $got"; bad=1; }
"$DTRACE" -n 'pid$target:libnone.so:-:1139' -c "$TMP/stripped 5" >"$TMP/out" 2>&1 && { echo 'a library that is not there was found'; bad=1; }
grep -q 'does not match any probes' "$TMP/out" || { echo 'no library:'; cat "$TMP/out"; bad=1; }
"$DTRACE" -n 'pid$target:a.out:f_add:entry' -c "$TMP/stripped 5" >"$TMP/out" 2>&1 && { echo 'a stripped name was found'; bad=1; }
grep -q D_PROC_FUNC "$TMP/out" || { echo 'stripped:'; cat "$TMP/out"; bad=1; }
exit $bad
