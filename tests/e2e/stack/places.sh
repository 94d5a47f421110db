# Stacks of programs whose files are not where they seem to be: deleted, replaced, in a file system of layers, in one that is gone, below
# another root. They are complete, though the processes are not targets, once the tables are there, which takes a moment on a busy machine.
# @@foreign
unshare -m true 2>/dev/null || exit 67
for n in 400 4000; do # the more for a machine that is very busy
export n
mkdir "$TMP/$n" && cd "$TMP/$n" || exit 1
cp "$TRIGGER/deep" deep_p
cat >run.sh <<'X'
cp deep_p gone; cp deep_p moved; ./gone slow $n & gone=$!; ./moved slow $n & moved=$!
until [ "$(cat /proc/$gone/comm /proc/$moved/comm 2>/dev/null | tr '\n' ' ')" = "gone moved " ] || ! kill -0 $gone 2>/dev/null || ! kill -0 $moved 2>/dev/null; do :; done
rm gone; cp /bin/true new; mv new moved
mkdir -p lower upper work merged; cp deep_p lower/layered
unshare -m sh -c 'mount -t overlay o -o lowerdir=lower,upperdir=upper,workdir=work merged && cp lower/layered merged/copied &&
	{ merged/layered slow $n & merged/copied slow $n; wait; }' 2>/dev/null || echo overlay &
unshare -m -p -f --mount-proc sh -c 'mount -t tmpfs none /mnt && cp deep_p /mnt/inside && /mnt/inside slow $n' 2>/dev/null || echo inside &
wait
X
$DTRACE -q -x switchrate=10s -n 'syscall::getppid:entry /progenyof($target)/ { @[execname, ustack()] = count(); } END { printa("EXEC %s%kCOUNT %@d\n", @); }' \
	-c "sh run.sh" >out 2>&1
awk '/^EXEC/ { f = $2; s = ""; next }
	/^COUNT/ { all[f] += $2; n = split(s, part, /`f[0-9]+[+]0x[0-9a-f]+[|]/) - 1
		if (n == 40 && s ~ /`main[+].*`_start[+]/) ok[f] += $2; else bad[f] = s; next }
	NF { sub(/^ +/, ""); s = s $0 "|" }
	END { n = split("gone moved layered copied inside", want, " ")
		for (i = 1; i <= n; i++) { f = want[i]; if (ok[f] < 40) print f ": " ok[f] + 0 " of " all[f] + 0 " stacks are complete; " bad[f] } }' out >wrong
grep -x 'overlay\|inside' out | while read -r what; do sed -i "/^$what\|^layered\|^copied/d" wrong; done
[ -s wrong ] || exit 0
done
cat wrong
exit 1
