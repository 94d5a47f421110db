# User stacks of a program without frame pointers are complete: in a system call of the C library, a signal handler, on a
# second stack, in a thread, in the vDSO, and in a loop that a timer interrupts.

# stacks SCRIPT-PREDICATE COMMAND: "COUNT|frame|frame|..." a line, from aggregated stacks of 100 frames
stacks() {
	$DTRACE -q -n "$1 { @[ustack(100)] = count(); } END { printa(\"%k%@d\n\", @); }" -c "$2" |
		awk '/^[0-9]+$/ { print $1 "|" s; s = ""; next } NF { sub(/^ +/, ""); s = s $0 "|" }'
}

# check NAME MIN-PERCENT FIRST-FRAMES LAST-FRAMES < stacks: nothing, or what is wrong. Between them is the whole chain.
check() {
	awk -F'|' -v name="$1" -v min="$2" -v first="$3" -v last="$4" '
		{ all += $1; n = split($0, part, /deep.f[0-9]+[+]0x[0-9a-f]+[|]/) - 1
		  if (n == 40 && part[1] ~ first ".*deep.leaf[+]0x[0-9a-f]+[|]$" && part[41] ~ last) ok += $1; else bad = $0 }
		END { if (all < 5 || ok * 100 < all * min) print name ": " ok + 0 " of " all + 0 " stacks are good; " bad }'
}

main='^deep.main[+].*deep._start[+]0x[0-9a-f]+[|]$'
{
stacks 'syscall::getppid:entry /pid == $target/' "$TRIGGER/deep syscall 20" | check syscall 100 'getppid[^|]*[|]deep.once_syscall' "$main"
stacks 'syscall::getppid:return /pid == $target/' "$TRIGGER/deep signal 20" | check signal 100 'deep.handler[^|]*[|][^|]*[|].*deep.once_signal' "$main"
stacks 'syscall::getppid:entry /pid == $target/' "$TRIGGER/deep altstack 20" | check altstack 100 'deep.handler[^|]*[|][^|]*[|].*deep.once_signal' "$main"
stacks 'syscall::getppid:entry /pid == $target/' "$TRIGGER/deep thread 20" |
	check thread 100 'deep.once_syscall' '^deep.in_thread[+][^|]*[|]libc[^|]*[|]libc[^|]*[|]$'
stacks 'profile-997 /pid == $target && arg1/' "$TRIGGER/deep spin 600" | grep once_spin | check spin 95 'deep.once_spin' "$main"
stacks 'profile-997 /pid == $target && arg1/' "$TRIGGER/deep vdso 600" | grep once_vdso | check vdso 95 'deep.once_vdso' "$main"

# the caller of a C library's system call, and how deep it is
out=$($DTRACE -q -n 'syscall::getppid:entry /pid == $target/ { @[ufunc(ucaller), ustackdepth > 44 && ustackdepth < 50] = count(); }
	END { printa("%A %d %@d\n", @); }' -c "$TRIGGER/deep syscall 7")
echo "$out" | grep -q 'deep`once_syscall 1 7' || echo "ucaller, ustackdepth: $out"

# as many frames as asked, no mark where that many were found
out=$($DTRACE -q -n 'syscall::getppid:entry /pid == $target/ { ustack(3); exit(0); }' -c "$TRIGGER/deep syscall 1")
[ "$(echo "$out" | grep -c '`')" = 3 ] && ! echo "$out" | grep -q cut || echo "ustack(3): $out"
} >"$TMP/wrong" 2>&1
cat "$TMP/wrong"
[ ! -s "$TMP/wrong" ]
