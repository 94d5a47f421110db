# @@exclusive: the serial line that it writes to carries the results of other tests
# Threads of interrupts wait as often as the kernel counts (sysinfo:::intrblk): that of a serial line, to which a program writes. A kernel has such threads if its command line has
# 'threadirqs' (tools/vm -a threadirqs).
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
cat >serial.py <<'END'
import glob, os, sys, time
try: line = os.open("/dev/ttyS1", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
except OSError: sys.exit("no serial line")
def read(path):
    try: return open(path).read()
    except OSError: return ""
threads = [p for p in glob.glob("/proc/[0-9]*") if read(p + "/comm").startswith("irq/") and "ttyS1" in read(p + "/comm")]
if len(threads) != 1: sys.exit("no thread of its interrupt")
def waits(): return int(read(threads[0] + "/status").split("\nvoluntary_ctxt_switches:")[1].split()[0])
def quiet():
    """How often it has waited, once it has nothing more to do."""
    n = waits()
    while True:
        time.sleep(0.3)
        if waits() == n: return n
        n = waits()
before = quiet()
os.kill(os.getpid(), 0)
for i in range(50):
    os.write(line, b"\n")
    time.sleep(0.01)
after = quiet()
os.kill(os.getpid(), 0)
print("pid", os.path.basename(threads[0]), "kernel", after - before, flush=True)
END
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int on; syscall::kill:entry /pid == $target && arg1 == 0/ { on = !on; }
	sysinfo:::intrblk /on/ { @[pid, substr(execname, 0, 4)] = sum(arg0); } END { printa("%d %s %@d\n", @); }' -c "/usr/bin/python3 serial.py" >out 2>err
status=$?
grep '^no ' err && exit 67
[ $status = 0 ] || fail "failed"
set -- $(sed -n 's/^pid \([0-9]*\) kernel \([0-9]*\)$/\1 \2/p' out)
[ "${2:-0}" -ge 25 ] || fail "the interrupt's thread hardly waited"
grep -qx "$1 irq/ $2" out || fail "the kernel has counted $2"
grep '^[0-9]' out | grep -qv ' irq/ ' && fail "a thread that is none of an interrupt's"
exit 0
