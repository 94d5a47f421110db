# @@exclusive: all programs of the machine get short of memory
# A machine that runs out of free memory: vminfo:::pgrrun fires as often as the kernel counts the runs of kswapd and of threads that found no free page. Only where $UNPLUG is set and
# memory is little (tools/vm).
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
[ -n "$UNPLUG" ] && [ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -lt 8000000 ] || { echo "not on a machine that others use"; exit 67; }
file=$(mktemp /var/tmp/fathom_shortage.XXXXXX)
trap 'rm -f "$file"' EXIT
# A file without blocks is read into the page cache until there were ten runs. The kernel's counters are read before and after each end of the time that D looks at.
cat >shortage.py <<'END'
import os, re, sys
file, vmstat = os.open(sys.argv[1], os.O_RDWR), os.open("/proc/vmstat", os.O_RDONLY)
os.ftruncate(file, 1 << 40)
def runs(): return sum(map(int, re.findall(r"^(?:pageoutrun|allocstall_\w+) (\d+)$", os.pread(vmstat, 1 << 16, 0).decode(), re.M)))
runs()
outer = runs(); os.kill(os.getpid(), 0); inner = runs()
at = 0
while runs() < inner + 10: at += len(os.pread(file, 1 << 20, at))
least = runs() - inner; os.kill(os.getpid(), 0); most = runs() - outer
print("kernel", least, most, flush=True)
END
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int on; syscall::kill:entry /pid == $target && arg1 == 0/ { on = !on; }
	vminfo:::pgrrun /on/ { @ = sum(arg0); } END { printa("probe %@d\n", @); }' -c "/usr/bin/python3 shortage.py $file" >out 2>err || fail "failed"
set -- $(sed -n 's/^kernel //p' out) $(sed -n 's/^probe //p' out)
[ $# = 3 ] && [ "$1" -ge 10 ] && [ "$3" -ge "$1" ] && [ "$3" -le "$2" ] || fail "the kernel has counted other runs"
