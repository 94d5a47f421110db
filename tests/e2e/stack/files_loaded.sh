# Files that are met for the first time while tracing: a library that is loaded then, a program that is started then.
# Their tables are loaded when they are mapped: most stacks through them are complete, the others marked. What unwindsize
# has no room for is said.
cp "$TRIGGER/deep" "$TMP/deep_late"

# check NAME FIRST-FRAMES < "frame ... count": nothing, or what is wrong
check() {
	awk '/^[0-9]+$/ { print $1 "|" s; s = ""; next } NF { sub(/^ +/, ""); s = s $0 "|" }' |
		awk -F'|' -v name="$1" -v first="$2" '
			{ all += $1; n = split($0, part, /deep[a-z_]*.f[0-9]+[+]0x[0-9a-f]+[|]/) - 1
			  if (n == 40 && part[1] ~ first && part[41] ~ /main[+].*_start[+]0x[0-9a-f]+[|]$/) ok += $1
			  else if (/\[cut\]|\[no unwind/) cut += $1; else wrong = $0 }
			END { if (all < 300 || ok * 2 < all || wrong != "")
				print name ": of " all + 0 " stacks " ok + 0 " are complete, " cut + 0 " cut; " wrong }'
}

script='syscall::getppid:entry /pid == $target/ { @[ustack()] = count(); } END { printa("%k%@d\n", @); }'

# Each is tried with 300 stacks, and with 5000 where the machine is so busy that the tables come later. $1: how many; the files in
# the folder $1 are new.
patient() { # FUNCTION
	for n in 300 5000; do
		mkdir -p "$TMP/$n"
		said=$("$1" $n 2>&1)
		[ -n "$said" ] || return
	done
	echo "$said"
}
library() {
	cp "$TRIGGER/libplug.so" "$TMP/$1/libplug_late.so"
	$DTRACE -q -n "$script" -c "$TRIGGER/deep plug $1 $TMP/$1/libplug_late.so" |
		check library 'plug_inner[^|]*[|][^|]*plug[+][^|]*[|][^|]*once_plug[^|]*[|][^|]*leaf'
}
program() {
	cp "$TRIGGER/deep" "$TMP/$1/deep_late"
	$DTRACE -q -n "$script" -c "$TMP/$1/deep_late slow $1" | check program 'once_slow[^|]*[|][^|]*leaf'
}
other() { # a process that is not the target
	cp "$TRIGGER/deep" "$TMP/$1/deep_other"
	echo "$TMP/$1/deep_other slow $1; exit 0" >"$TMP/other.sh"
	$DTRACE -q -n 'syscall::getppid:entry /execname == "deep_other"/ { @[ustack()] = count(); } END { printa("%k%@d\n", @); }' \
		-c "sh $TMP/other.sh" | check other 'once_slow[^|]*[|][^|]*leaf'
}
asked() { # no user address is recorded, so nobody watches what is mapped: the walk asks
	cp "$TRIGGER/deep" "$TMP/$1/deep_asks"
	$DTRACE -q -n 'syscall::getppid:entry /pid == $target && ustackdepth > 40/ { @ = count(); } END { printa("%@d\n", @); }' \
		-c "$TMP/$1/deep_asks slow $1" | awk '$1 >= 100 { good = 1 } END { if (!good) print "asked: only " $1 + 0 " stacks are deep" }'
}
{
	for what in library program other asked; do patient $what; done
	$DTRACE -q -x unwindsize=64k -n "$script" -c "$TMP/deep_late slow 3" 2>&1 |
		grep -q 'unwind table of .* does not fit into what unwindsize allows (6[0-4]k)' || echo "unwindsize: nothing is said"
} >"$TMP/wrong" 2>&1
cat "$TMP/wrong"
[ ! -s "$TMP/wrong" ]
