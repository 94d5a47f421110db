# @@exclusive
# Many programs one after the other, each a file of its own, as packages that are replaced and containers bring them: the room
# for unwind tables is used again. It holds some twenty of them at a time; without reuse only the first ones had complete stacks.
n=96
for i in $(seq $n); do
	cp "$TRIGGER/deep" "$TMP/deep$i"
done
mkfifo "$TMP/pipe"
"$DTRACE" -q -x unwindsize=256k -x aggsize=64m -n '
	BEGIN { printf("ready\n"); }
	syscall::getppid:entry /strstr(execname, "deep") == execname/ { @[execname, ustack(50)] = count(); }
	END { printa("%s%k\n", @); }' >"$TMP/pipe" 2>"$TMP/err" &
dtrace=$!
exec 3<"$TMP/pipe"
read -r ready <&3
cat <&3 >"$TMP/out" &
reader=$!
for i in $(seq $n); do
	"$TMP/deep$i" slow 150 >/dev/null &
	pids="$pids $!"
	[ $((i % 8)) = 0 ] && wait $pids && pids=
	[ $((i % 16)) = 0 ] && sleep 3.5 # what was used three seconds ago counts as being in use
done
kill -TERM $dtrace # the shell has made it ignore SIGINT
wait $dtrace $reader
# how many programs have at least one complete stack: 40 functions, and what is above
complete=$(awk '/^deep[0-9]+$/ { name = $1; frames = 0; next } /\[cut\]|\[no unwind/ { frames = -100 } /`f[0-9]+[+]/ { frames++ }
	NF == 0 && name { if (frames == 40) ok[name] = 1; if (frames) name = "" }
	END { for (k in ok) c++; print c + 0 }' "$TMP/out")
[ "$complete" -ge $((n * 9 / 10)) ] && exit 0
echo "of $n programs $complete have a complete stack"
cat "$TMP/err"
exit 1
