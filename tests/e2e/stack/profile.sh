# Kernel stacks of a busy process, sampled: every one of them ends in the system call's entry.
dd if=/dev/zero of=/dev/null bs=64k 2>/dev/null &
dd=$!
out=$($DTRACE -q -n 'profile-997 /pid == $1 && arg0/ { @[stack()] = count(); @n = count(); n++; }
    tick-10hz /n > 200/ { exit(0); } tick-60s { exit(0); } END { printa("%k%@d\n", @); printa("n %@d\n", @n); }' $dd)
kill $dd
echo "$out" | grep -q 'vmlinux`vfs_read+0x' || { echo "no stack goes through vfs_read:"; echo "$out" | tail -30; exit 1; }
n=$(echo "$out" | sed -n 's/^n //p')
[ "${n:-0}" -gt 50 ] || { echo "only $n samples"; exit 1; }
# frames before the count: of those in the kernel proper nearly all are complete
echo "$out" | awk '/^[0-9]+$/ { all += $1; if (last ~ /entry_SYSCALL_64|asm_/) good += $1; last = "" } /`/ { last = $0 }
	END { if (good * 10 < all * 9) { print good " of " all " samples are complete"; exit 1 } }' || exit 1
