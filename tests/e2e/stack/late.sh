# Files that are met for the first time while tracing: a library that is loaded then, a program that is started then.
# Their tables are loaded when they are mapped: most stacks through them are complete, the others marked. What unwindsize
# has no room for is said.
# @@timeout: 60
cp "$TRIGGER/deep" "$TMP/deep_late"
cp "$TRIGGER/libplug.so" "$TMP/libplug_late.so"

# check NAME FIRST-FRAMES < "frame ... count": nothing, or what is wrong
check() {
	awk '/^[0-9]+$/ { print $1 "|" s; s = ""; next } NF { sub(/^ +/, ""); s = s $0 "|" }' |
		awk -F'|' -v name="$1" -v first="$2" '
			{ all += $1; n = split($0, part, /deep[a-z_]*.f[0-9]+[+]0x[0-9a-f]+[|]/) - 1
			  if (n == 40 && part[1] ~ first && part[41] ~ /main[+].*_start[+]0x[0-9a-f]+[|]$/) ok += $1
			  else if (/\[cut\]/) cut += $1; else wrong = $0 }
			END { if (all < 300 || ok * 2 < all || wrong != "")
				print name ": of " all + 0 " stacks " ok + 0 " are complete, " cut + 0 " cut; " wrong }'
}

script='syscall::getppid:entry /pid == $target/ { @[ustack()] = count(); } END { printa("%k%@d\n", @); }'
{
	$DTRACE -q -n "$script" -c "$TRIGGER/deep plug 300 $TMP/libplug_late.so" | check library 'plug_inner[^|]*[|][^|]*plug[+][^|]*[|][^|]*once_plug[^|]*[|][^|]*leaf'
	$DTRACE -q -n "$script" -c "$TMP/deep_late slow 300" | check program 'once_slow[^|]*[|][^|]*leaf'
	# the same of a process that is not the target, and of one more file
	cp "$TMP/deep_late" "$TMP/deep_other"
	echo "$TMP/deep_other slow 300; exit 0" >"$TMP/other.sh"
	$DTRACE -q -n 'syscall::getppid:entry /execname == "deep_other"/ { @[ustack()] = count(); } END { printa("%k%@d\n", @); }' \
		-c "sh $TMP/other.sh" | check other 'once_slow[^|]*[|][^|]*leaf'
	# no user address is recorded, so nobody watches what is mapped: the walk asks
	cp "$TMP/deep_late" "$TMP/deep_asks"
	$DTRACE -q -n 'syscall::getppid:entry /pid == $target && ustackdepth > 40/ { @ = count(); } END { printa("%@d\n", @); }' \
		-c "$TMP/deep_asks slow 300" | awk '$1 >= 100 { good = 1 } END { if (!good) print "asked: only " $1 + 0 " stacks are deep" }'
	$DTRACE -q -x unwindsize=64k -n "$script" -c "$TMP/deep_late slow 3" 2>&1 |
		grep -q 'unwind table of .* does not fit into what unwindsize allows (6[0-4]k)' || echo "unwindsize: nothing is said"
} >"$TMP/wrong" 2>&1
cat "$TMP/wrong"
[ ! -s "$TMP/wrong" ]
