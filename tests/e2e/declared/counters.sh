# Providers vminfo, sysinfo and cpc: counters grow by what a program did, which it also learns from the kernel.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cat >"$TMP/c.d" <<'END'
int on;
syscall::kill:entry /pid == $target && arg1 == 0/ { on = !on; }
proc:::create /pid == $target/ { mine[args[0]->pr_pid] = 1; }
vminfo:::as_fault, vminfo:::zfod, vminfo:::maj_fault, vminfo:::cow_fault /on && pid == $target/ { @[probename] = sum(arg0); }
vminfo:::as_fault /on && pid == $target && arg0 == 1 && arg1 == 0 && args[0] == 1/ { @ones["one"] = count(); }
vminfo:::cow_fault /mine[pid]/ { @["child's cow_fault"] = sum(arg0); }
vminfo:::prot_fault /mine[pid]/ { @["child's prot_fault"] = sum(arg0); }
vminfo:::pgin, vminfo:::pgpgin, vminfo:::fspgin /on && pid == $target/ { @[probename] = sum(arg0); }
vminfo:::fspgin /on && pid == $target/ { @pages = sum(args[0]); }
sysinfo:::readch, sysinfo:::writech, sysinfo:::sysread, sysinfo:::syswrite, sysinfo:::sysfork, sysinfo:::sysvfork, sysinfo:::nthreads,
sysinfo:::sema, sysinfo:::msg /on && pid == $target/ { @[probename] = sum(arg0); }
sysinfo:::sysexec /mine[pid]/ { @[probename] = sum(arg0); }
cpc:::minor_faults-all-1, cpc:::major_faults-all-1 /on && pid == $target/ { @[probename] = sum(1); }
cpc:::minor_faults-user-10 /on && arg0 == 0 && arg1 != 0/ { @tens[cpu] = count(); }
cpc:::minor_faults-user-1 /on/ { @user[cpu] = count(); }
sysinfo:::pswitch { @["all pswitch"] = sum(arg0); }
sched:::off-cpu { @["all off-cpu"] = sum(1); }
sysinfo:::inv_swtch /on && tid == $target/ { @[probename] = sum(arg0); }
END { printa("%s=%@d\n", @); printa("%s=%@d\n", @ones); printa("tens %d=%@d\n", @tens); printa("user %d=%@d\n", @user); }
END
cat >"$TMP/work.py" <<'END'
import ctypes, mmap, os, resource, sys, threading
PAGE, N = mmap.PAGESIZE, 64
libc = ctypes.CDLL(None)
def usage():
    r = resource.getrusage(resource.RUSAGE_SELF); return r.ru_minflt, r.ru_majflt, resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
zero, null = os.open("/dev/zero", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
path = sys.argv[1]
with open(path, "wb") as f:
    f.write(b"x" * PAGE * N); f.flush(); os.fsync(f.fileno())
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
file = mmap.mmap(fd, PAGE * N, mmap.MAP_SHARED, mmap.PROT_READ); file.madvise(mmap.MADV_RANDOM)
new = mmap.mmap(-1, PAGE * N, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); new.madvise(mmap.MADV_NOHUGEPAGE)
readonly = libc.mmap; readonly.restype = ctypes.c_void_p
ro = readonly(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
a = usage(); os.kill(os.getpid(), 0); b = usage()
for i in range(N): new[i * PAGE] = 1
for i in range(N): file[i * PAGE]
for i in range(5): os.write(null, os.read(zero, 1000))
os.readv(zero, [bytearray(10), bytearray(20)])
try: os.read(null, 5)
except OSError: pass
def child(func):
    pid = os.fork()
    if not pid: func(); os._exit(0)
    os.waitpid(pid, 0)
def write():
    for i in range(N): new[i * PAGE] = 2
def crash():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.memset(ro, 1, 1)
child(write); child(crash)
for i in range(3): os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
t = threading.Thread(target=lambda: None); t.start(); t.join()
libc.semop(-1, None, 0); libc.msgsnd(-1, None, 0, 0); libc.msgrcv(-1, None, 0, 0, 0)
c = usage(); os.kill(os.getpid(), 0); d = usage()
for i, name in enumerate(("minor", "major", "inv")): print(f"{name}={c[i] - b[i]}..{d[i] - a[i]}", flush=True)
END
dir=$TMP; case $(stat -f -c %T "$dir") in tmpfs|overlay*) [ ! -d /var/tmp ] || dir=/var/tmp ;; esac
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/c.d" -c "/usr/bin/python3 $TMP/work.py $dir/counters.$$" >"$TMP/out" 2>"$TMP/err" || { rm -f "$dir/counters.$$"; fail "failed"; }
rm -f "$dir/counters.$$"
python3 - "$TMP/out" <<'END' || fail "the numbers do not agree"
import sys
n = dict(l.strip().split("=") for l in open(sys.argv[1]) if "=" in l)
lo = {k: int(v.split("..")[0]) for k, v in n.items() if ".." in v}; hi = {k: int(v.split("..")[1]) for k, v in n.items() if ".." in v}
got = {k: int(v) for k, v in n.items() if ".." not in v}
g = lambda k: got.get(k, 0)
N = 64
assert lo["minor"] <= g("minor_faults-all-1") <= hi["minor"], "minor faults"
assert lo["major"] <= g("major_faults-all-1") <= hi["major"] and g("maj_fault") == g("major_faults-all-1"), "major faults"
cpus = [k.split()[1] for k in got if k.startswith("user ")] # each counts the faults of all programs
assert all(abs(g("tens " + c) - g("user " + c) // 10) <= 1 for c in cpus) and sum(g("tens " + c) for c in cpus) > 5, "every tenth"
assert N <= g("zfod") <= N + 60, "zfod"
assert g("as_fault") == g("one") >= N + g("maj_fault"), "as_fault"
assert g("pgpgin") >= g("fspgin") >= 1 and g("pgin") >= 1 if lo["major"] >= N else True, "pages in"
assert lo["major"] < N or g("fspgin") >= N, "pages of the file"
assert N <= g("child's cow_fault") and g("child's prot_fault") == 1, "cow, prot"
assert g("readch") == 5030 and g("writech") == 5000, "bytes"
assert g("sysread") == 7 and g("syswrite") == 5, "calls"
assert g("sysfork") == 2 and g("sysvfork") == 3 and g("nthreads") == 6 and g("sysexec") == 3, "processes"
assert g("sema") == 1 and g("msg") == 2, "messages"
assert lo["inv"] <= g("inv_swtch") <= hi["inv"], "inv_swtch"
assert g("all pswitch") == g("all off-cpu") > 0, "switches"
END
# what cannot be said what is used instead of
for p in 'vminfo:::swapin vminfo:::anonpgin' 'vminfo:::rev vminfo:::scan'; do
	set -- $p
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$1" 2>"$TMP/err" && fail "$1 is there"
	grep -q "$1 cannot fire here: .*$2" "$TMP/err" || fail "what is used instead of $1"
done
refused() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$1" 2>"$TMP/err" && fail "$1 is accepted"; grep -q "$2" "$TMP/err" || fail "'$2' is not said of $1"; }
refused cpc:::no_event-all-5000 'there is no such event'
refused cpc:::cpu_cycles-all-1 'at most every 5000'
refused cpc:::page_faults-some-1 'MODE is user, kernel or all'
refused cpc:::page_faults 'EVENT-MODE-COUNT'
refused cpc:::page_faults-all-1x 'COUNT is a number'
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lP cpc >"$TMP/out" 2>"$TMP/err"
grep -q ' page_faults-all-1$' "$TMP/out" || fail "the list of cpc"
if timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'cpc:::PAPI_tot_cyc-all-1000000 { exit(0); }' >"$TMP/out" 2>"$TMP/err"; then
	grep -q 1000000 "$TMP/out" || fail "cycles"
else
	grep -q 'this machine does not count that' "$TMP/err" || fail "no counters"
fi
exit 0
