# Counts that a program knows: signals that are ignored and waited for, forks that fail, pages that the kernel touches, transfers of a disk with and without the page cache,
# a CPU that nobody else wants. Each probe fires as often as the program did it.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) && echo 64M >"/sys/block/zram$zram/disksize" || zram=
# a disk that was mounted is busy for a moment
trap 'umount "$TMP/mnt" 2>/dev/null; for i in 1 2 3 4 5 6 7 8 9; do [ -z "$zram" ] || { echo "$zram" >/sys/class/zram-control/hot_remove; } 2>/dev/null || { sleep 0.3; continue; }; break; done' EXIT
cat >"$TMP/e.d" <<'END'
int phase, mine[int];
syscall::kill:entry /pid == $target && arg1 == 0/ { phase++; }
proc:::create /pid == $target/ { mine[args[0]->pr_pid] = 1; }
proc:::signal-discard /phase == 1 && args[1]->pr_pid == $target/ { @[probename, args[2]] = count(); }
proc:::signal-clear /phase == 1 && pid == $target/ { @[probename, args[0]] = count(); }
sysinfo:::procovf /mine[pid]/ { @[probename, args[0]] = count(); }
vminfo:::as_fault, vminfo:::kernel_asflt /phase == 2 && pid == $target/ { @[probename, args[0]] = count(); }
sysinfo:::phread, sysinfo:::phwrite, sysinfo:::bread, sysinfo:::bwrite, vminfo:::pgin, vminfo:::pgout, vminfo:::pgpgin, vminfo:::pgpgout,
vminfo:::fspgin, vminfo:::fspgout, vminfo:::execpgin, vminfo:::execpgout /phase >= 3 && phase < 7 && pid == $target/ { @n[phase, probename] = sum(arg0); }
sched:::off-cpu /phase == 7 && tid == $target/ { @[probename, 0] = count(); }
END { printa("%s %d: %@d\n", @); printa("phase %d %s: %@d\n", @n); }
END
# doc/kernels.md says which kernels have this probe, and why others do not; cmd/kernels.sh compares the page with what dtrace -l lists
remain=$("$DTRACE" -ln sched:::remain-cpu 2>/dev/null | grep remain-cpu)
[ -z "$remain" ] || echo 'sched:::remain-cpu /phase == 7 && tid == $target/ { @[probename, 0] = count(); }' >>"$TMP/e.d"
cat >"$TMP/work.py" <<'END'
import ctypes, mmap, os, resource, signal, sys
disk, mnt = sys.argv[1:] if len(sys.argv) > 1 else (None, None)
PAGE, me = mmap.PAGESIZE, os.getpid()
def phase(): os.kill(me, 0)
signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
phase() # 1
for i in range(6): os.kill(me, signal.SIGUSR1)
for i in range(4): os.kill(me, signal.SIGUSR2); signal.sigwait({signal.SIGUSR2})
pid = os.fork()
if not pid: # a user that may have no process
    os.setgroups([]); os.setgid(54321); os.setuid(54321); resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    for i in range(3):
        try: os.fork(); os._exit(1)
        except BlockingIOError: pass
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
new = mmap.mmap(-1, PAGE * 64, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); new.madvise(mmap.MADV_NOHUGEPAGE)
at = ctypes.addressof(ctypes.c_char.from_buffer(new)); read = ctypes.CDLL(None).read; zero = os.open("/dev/zero", os.O_RDONLY)
read(zero, ctypes.c_void_p(at + 63 * PAGE), 1) # what is needed for the call itself is there
phase() # 2
for i in range(50): read(zero, ctypes.c_void_p(at + i * PAGE), 8)
phase() # 3
if disk:
    fd = os.open(disk, os.O_RDWR | os.O_DIRECT); buf = mmap.mmap(-1, 16384)
    for i in range(9): os.preadv(fd, [memoryview(buf)[:4096]], i * 65536)
    for i in range(5): os.pwritev(fd, [buf], (40 << 20) + i * 65536)
phase() # 4
if mnt:
    f = os.open(mnt + "/data", os.O_RDWR | os.O_CREAT, 0o644); os.write(f, b"x" * PAGE * 32); os.fsync(f)
    os.pwrite(f, b"y" * PAGE * 32, 0)
    phase(); os.fdatasync(f); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED) # 5
    phase(); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_RANDOM) # 6
    for i in range(0, 32, 4): os.pread(f, 1, i * PAGE)
    os.sched_setaffinity(0, {os.cpu_count() - 1})
else: phase(); phase()
try: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)); fifo = 1
except OSError: fifo = 0
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
phase() # 7
for i in range(200): os.sched_yield()
phase()
print("fifo", fifo, flush=True)
END
args=
if [ -n "$zram" ] && mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=0 "/dev/zram$zram" 2>"$TMP/err" && mkdir "$TMP/mnt" && mount -o noatime "/dev/zram$zram" "$TMP/mnt"; then
	args="/dev/zram$zram $TMP/mnt"
fi
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/e.d" -c "/usr/bin/python3 $TMP/work.py $args" >"$TMP/out" 2>"$TMP/err" || fail "failed"
has 'signal-discard 10: 6'; has 'signal-clear 12: 4'; has 'procovf 1: 3'
has 'as_fault 1: 50'
if [ -n "$args" ]; then
	# without the page cache: transfers; with it: 32 pages that the program's own fdatasync() writes, and 8 pages that it reads one by one
	has 'phase 3 phread: 9'; has 'phase 3 phwrite: 5'; grep -q 'phase 3 \(pg\|fspg\|bread\)' "$TMP/out" && fail "pages without the page cache"
	# when the kernel's clock has ticked since the first write, the file has another time, and its inode is written, too
	if grep -qx 'phase 5 fspgout: 33' "$TMP/out"; then has 'phase 5 bwrite: 2'; else has 'phase 5 fspgout: 32'; has 'phase 5 bwrite: 1'; fi
	has 'phase 6 fspgin: 8'
	# where the kernel had taken pages of the program itself, they are read, too
	if grep -q 'phase 6 execpgin' "$TMP/out"; then
		for name in pgpgin pgin bread; do [ "$(sed -n "s/^phase 6 $name: //p" "$TMP/out")" -ge 8 ] || fail "$name"; done
	else
		has 'phase 6 pgpgin: 8'; has 'phase 6 pgin: 8'; has 'phase 6 bread: 8'
	fi
	grep -q 'phase 6 .*pgout' "$TMP/out" && fail "reads are writes"
fi
# nobody else gets the CPU of a real-time thread that yields; the kernel's own threads that stop a CPU may
if grep -qx 'fifo 1' "$TMP/out" && [ -n "$remain" ]; then
	stay=$(sed -n 's/^remain-cpu 0: //p' "$TMP/out"); away=$(sed -n 's/^off-cpu 0: //p' "$TMP/out")
	[ "${stay:-0}" -ge $((200 - ${away:-0})) ] && [ "${stay:-0}" -le $((200 + 20)) ] || fail "$stay times the CPU remained, $away times it did not"
fi
exit 0
