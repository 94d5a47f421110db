# Provider lockstat: a frozen file system makes one thread wait for its lock, and another one for the mutex of the open file that the first one holds.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lP lockstat >"$TMP/out" 2>"$TMP/err" || true
grep -q ' adaptive-block$' "$TMP/out" || {
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n lockstat:::adaptive-block 2>"$TMP/err"
	grep -q 'locks have tracepoints since Linux 5.19' "$TMP/err" || fail "why there is none"
	echo "this kernel's locks have no tracepoints"; exit 67; }
for p in rw-upgrade thread-spin; do
	grep -q " $p\$" "$TMP/out" && fail "$p cannot fire, and is listed"
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "lockstat:::$p" 2>"$TMP/err" && fail "$p is there"
	grep -q "lockstat:::$p cannot fire here: " "$TMP/err" || fail "why there is no $p"
done
export FATHOM_NO_FEATURE=KPROBE,KPROBE_MULTI # tests/e2e/fbt has the probes that are functions of the kernel
for p in adaptive-acquire rw-release spin-acquire; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "lockstat:::$p" 2>"$TMP/err" && fail "$p is there"
	grep -q "what lockstat:::$p is made of is not here: .*functions of this kernel cannot be traced.*fire" "$TMP/err" || fail "why there is no $p"
done
truncate -s 16M "$TMP/image"
dev=$(losetup -f --show "$TMP/image" 2>/dev/null) && mkfs.ext4 -q "$dev" && mkdir "$TMP/mnt" && mount "$dev" "$TMP/mnt" || { losetup -d "$dev"; echo "no loop device can be had"; exit 67; }
trap 'fsfreeze -u "$TMP/mnt" 2>/dev/null; umount "$TMP/mnt"; losetup -d "$dev"' EXIT
cat >"$TMP/work.py" <<'END'
import ctypes, os, subprocess, sys, threading, time
path, n = sys.argv[1], int(sys.argv[2])
def state(tid):
    return open(f"/proc/self/task/{tid}/stat").read().rpartition(")")[2].split()[0]
def wait(tid): # until it sleeps in write()
    while state(tid) not in "SD" or open(f"/proc/self/task/{tid}/syscall").read().split()[0] != "1": time.sleep(0.001)
fd = os.open(f"{path}/file", os.O_CREAT | os.O_WRONLY)
ids, go = {}, threading.Semaphore(0)
def write(name):
    ids[name] = threading.get_native_id()
    go.acquire()
    os.write(fd, b"x")
for i in range(n):
    ids.clear()
    first, second = (threading.Thread(target=write, args=(name,)) for name in ("first", "second"))
    first.start(); second.start()
    while len(ids) < 2: time.sleep(0.001)
    subprocess.run(["fsfreeze", "-f", path], check=True)
    go.release()
    while not any(s == "1" for s in (open(f"/proc/self/task/{t}/syscall").read().split()[0] for t in ids.values())): time.sleep(0.001)
    go.release()
    for t in ids.values(): wait(t)
    a = time.monotonic(); time.sleep(0.05); b = time.monotonic() # both wait all this time
    subprocess.run(["fsfreeze", "-u", path], check=True)
    first.join(); second.join()
    print("waited", int((b - a) * 1e9), flush=True)
END
cat >"$TMP/l.d" <<'END'
lockstat:::adaptive-block /pid == $target && arg1 > 50000000/ { @["block"] = count(); @file[args[0]->owner.counter != 0] = count(); mutex = arg0; @ns = max(arg1); }
lockstat:::adaptive-block /pid == $target && args[1] > 50000000 && arg0 == mutex/ { @["block, again"] = count(); }
lockstat:::adaptive-spin /pid == $target && arg0 == mutex && arg1 < 50000000/ { @["spin"] = count(); }
lockstat:::rw-block /pid == $target && args[1] > 50000000 && args[2] == RW_READER/ { @["rw-block"] = count(); }
lockstat:::rw-block /pid == $target && args[1] > 50000000 && args[2] != RW_READER/ { @["writers"] = count(); }
syscall::write:entry /pid == $target/ { self->began = timestamp; }
lockstat:::adaptive-block /self->began && arg1 > 50000000 && arg1 <= timestamp - self->began/ { @["shorter than the call"] = count(); }
END { printa("%s %@d\n", @); }
END
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/l.d" -c "/usr/bin/python3 $TMP/work.py $TMP/mnt 3" >"$TMP/out" 2>"$TMP/err" || fail "failed"
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
has "block 3"; has "block, again 3"; has "rw-block 3"; has "shorter than the call 3"
grep -q '^writers' "$TMP/out" && fail "nobody wrote to the lock"
# a CPU that waits for a spin lock: all that is said is that it is no sleep
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'BEGIN { began = timestamp; } lockstat:::spin-spin /arg1 >= 0 && arg1 <= timestamp - began/ { @ = count(); } lockstat:::spin-spin { @all = count(); }
	END { printa("%@d\n", @); printa("%@d\n", @all); }' -c "$TRIGGER/work fork 200" >"$TMP/out" 2>"$TMP/err" || fail "spin-spin"
[ "$(sort -u "$TMP/out" | grep -c .)" -le 1 ] || fail "a spin that is longer than tracing"
exit 0
