# A module that is loaded has probes, one that is unloaded has none; neither disturbs a session that runs. Unusual moments: a CPU goes, a buffer is full, all functions at once.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
list() { timeout 300 "$DTRACE" -l "$@" >"$TMP/out" 2>"$TMP/err"; }
list -n fbt::vfs_write:entry || { echo "this kernel has no kprobes"; exit 67; }
cpu=/sys/devices/system/cpu/cpu1/online
{ command -v modprobe && modprobe null_blk && modprobe -r null_blk; } >/dev/null 2>&1 || { echo "the module null_blk cannot be had"; exit 67; }
list -n 'fbt:null_blk::entry'; grep -q ' null_blk ' "$TMP/out" && fail "probes of a module that is not loaded"
# a session over which the module comes and goes: it loses nothing
cat >"$TMP/count.py" <<'END'
import os, sys
r, w = os.pipe()
for line in sys.stdin:
    for i in range(100): os.write(w, b"x" * 77); os.read(r, 77)
    print("done", flush=True)
END
mkfifo "$TMP/go" "$TMP/done"
cat >"$TMP/s.d" <<'END'
fbt::vfs_write:entry /pid == $target && arg2 == 77/ { @["writes"] = count(); printf("w\n"); }
sysinfo:::modload { @["modload"] = count(); }
END { printa("%s %@d\n", @); }
END
printf '#!/bin/sh\nexec /usr/bin/python3 %s <%s >%s\n' "$TMP/count.py" "$TMP/go" "$TMP/done" >"$TMP/run.sh"; chmod +x "$TMP/run.sh"
timeout 500 "$DTRACE" -qs "$TMP/s.d" -o "$TMP/session" -c "$TMP/run.sh" 2>"$TMP/err" & session=$!
exec 3>"$TMP/go" 4<"$TMP/done"
step() { echo go >&3; read -r answer <&4; }
step
modprobe null_blk || fail "null_blk cannot be loaded"
step
list -n 'fbt:null_blk::entry' || fail "the module's functions are not listed"
grep -q ' null_queue_rq entry$' "$TMP/out" || fail "null_queue_rq is not listed"
[ "$(awk 'NR > 1 { print $3 }' "$TMP/out" | sort -u)" = null_blk ] || fail "modules"
list -vn 'fbt:null_blk:null_queue_rq:entry' && grep -q 'args\[0\]: struct blk_mq_hw_ctx \*$' "$TMP/out" && grep -q 'args\[1\]: const struct blk_mq_queue_data \*$' "$TMP/out" || fail "types of the module"
timeout 300 "$DTRACE" -qn 'fbt:null_blk:null_queue_rq:entry { @[probemod] = count(); n = args[1]->rq->__data_len; } END { printa("%s %@d\n", @); printf("bytes %d\n", n); }' \
	-c "dd if=/dev/zero of=/dev/nullb0 bs=4096 count=20 oflag=direct" >"$TMP/out" 2>"$TMP/err" || fail "functions of the module"
grep -qx 'null_blk 20' "$TMP/out" && grep -qx 'bytes 4096' "$TMP/out" || fail "20 requests"
step
# the module cannot go while a session traces it
timeout 300 "$DTRACE" -qn 'fbt:null_blk:null_queue_rq:entry { } BEGIN { system("rmmod null_blk 2>/dev/null && echo gone || echo kept"); } tick-100ms { exit(0); }' -w >"$TMP/out" 2>"$TMP/err" || fail "a session on the module"
modprobe -r null_blk 2>/dev/null || rmmod null_blk || fail "null_blk cannot be unloaded"
step
list -n 'fbt:null_blk::entry'; grep -q ' null_blk ' "$TMP/out" && fail "probes of a module that has gone"
# a CPU goes and comes
if [ -w $cpu ]; then echo 0 >$cpu; step; echo 1 >$cpu; step; want=600; else want=400; fi
exec 3>&-
wait $session || fail "the session"
grep -qx "writes $want" "$TMP/session" && [ "$(grep -cx w "$TMP/session")" = $want ] || { tail -3 "$TMP/session"; fail "not $want writes"; }
grep -q '^modload [1-9]' "$TMP/session" || fail "the module's coming"
# a full buffer: what was kept and what is said to be lost are all
timeout 300 "$DTRACE" -qx bufsize=16k -x switchrate=2s -n 'fbt::vfs_write:entry /pid == $target && arg2 == 1/ { printf("kept\n"); }' \
	-c "dd if=/dev/zero of=/dev/null bs=1 count=3000 status=none" >"$TMP/out" 2>"$TMP/err" || fail "a full buffer"
kept=$(grep -cx kept "$TMP/out") lost=$(sed -n 's/.* \([0-9]*\) drops\{0,1\} on CPU.*/\1/p' "$TMP/err" | awk '{ n += $1 } END { print n + 0 }')
[ $((kept + lost)) = 3000 ] || fail "$kept kept, $lost lost"
# all functions at once, or why not
if timeout 500 "$DTRACE" -qn 'fbt:::entry { @ = count(); } tick-1s { exit(0); } END { printa("%@d\n", @); }' >"$TMP/out" 2>"$TMP/err"; then
	[ "$(grep -E '^[0-9]+$' "$TMP/out")" -gt 1000 ] || fail "few functions"
else
	grep -q 'kernel functions are too many for this kernel, which lacks BPF links to many kernel functions' "$TMP/err" || fail "why not all functions"
fi
exit 0
