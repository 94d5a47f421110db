# Files that are met for the first time while tracing: a library that is loaded then, a program that is started then.
# Stacks through them are complete within milliseconds, and marked until then.
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
} >"$TMP/wrong" 2>&1
cat "$TMP/wrong"
[ ! -s "$TMP/wrong" ]
