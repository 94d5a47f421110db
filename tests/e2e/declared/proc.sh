# Provider proc: each process, thread, exec and signal is counted once, and arguments are what the program did.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
cat >"$TMP/p.d" <<'END'
self int mine;
proc:::create, proc:::lwp-create /pid == $target/ { @[probename, "", 0] = count(); }
proc:::create /pid == $target/ { mine[args[0]->pr_pid] = 1; }
proc:::lwp-create /pid == $target && args[1]->pr_pid == args[0]->pr_lwpid/ { @["new process", "", args[1]->pr_ppid == pid] = count(); }
proc:::start, proc:::lwp-start, proc:::lwp-exit, proc:::exec-success /mine[pid]/ { @[probename, "", 0] = count(); }
proc:::exit /mine[pid]/ { @[probename, args[0] == CLD_EXITED ? "exited" : args[0] == CLD_KILLED ? "killed" : "dumped", arg0] = count(); }
proc:::exec /mine[pid]/ { @[probename, basename(args[0]), 0] = count(); }
proc:::exec /mine[pid]/ { @["raw", basename(copyinstr(arg0)), 0] = count(); } /* the path's address, as elsewhere */
proc:::exec-failure /mine[pid]/ { @[probename, "", args[0]] = count(); }
proc:::signal-send /mine[pid] || mine[args[1]->pr_pid]/ { @[probename, "", args[2]] = count(); }
proc:::signal-handle /mine[pid]/ { @[probename, args[2] > 1 ? "handler" : "default", args[0]] = count(); }
proc:::fault /mine[pid]/ { @[probename, args[1]->si_addr == 0 ? "null" : "other", args[0]] = count(); }
END { printa("%s %s %d: %@d\n", @); }
END
cat >"$TMP/work.py" <<'END'
import os, signal, threading, time
def child(n, func):
    for _ in range(n):
        pid = os.fork()
        if not pid:
            func()
            os._exit(0)
        os.waitpid(pid, 0)
def threads():
    for _ in range(3):
        t = threading.Thread(target=lambda: None); t.start(); t.join()
    # join() returns before the thread has ended. A kernel without sched_process_exit's group_dead counts two that end at one moment as two ends of the process.
    while len(os.listdir("/proc/self/task")) > 1: time.sleep(0.001)
def signals():
    signal.signal(signal.SIGUSR1, lambda *a: None)
    for _ in range(4):
        os.kill(os.getpid(), signal.SIGUSR1)
def crash():
    import ctypes, resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)
def fail_exec():
    try: os.execv("/no/such/program", ["x"])
    except OSError: pass
child(5, lambda: None)
child(2, threads)
child(1, signals)
child(3, lambda: os.kill(os.getpid(), signal.SIGKILL))
child(1, crash)
child(4, lambda: os.execv("/bin/true", ["true"]))
child(2, fail_exec)
END
run -s "$TMP/p.d" -c "/usr/bin/python3 $TMP/work.py"
has 'create  0: 18'; has 'lwp-create  0: 18'; has 'new process  1: 18'
has 'start  0: 18'; has 'lwp-start  0: 24'; has 'lwp-exit  0: 24'
has 'exit exited 1: 14'; grep -qx 'exit killed 2: 4' "$TMP/out" || { has 'exit killed 2: 3'; has 'exit dumped 3: 1'; } # a program may take cores
has 'exec true 0: 4'; has 'raw true 0: 4'; has 'exec program 0: 2'; has 'exec-success  0: 4'; has 'exec-failure  2: 2'
has 'signal-send  10: 4'; has 'signal-handle handler 10: 4'; has 'signal-send  9: 3'; has 'fault null 6: 1'
# a path in memory that the process has not touched, as constants are after fork()
"$DTRACE" -ln rawtp:::sched_prepare_exec 2>/dev/null | grep -q prepare_exec || exit 0
cat >"$TMP/late.py" <<'END'
import ctypes, mmap, os, sys
with open(sys.argv[1], "w+b") as f:
    f.write(b"/no/such/late".ljust(4096, b"\0") + b"/bin/true".ljust(4096, b"\0"))
    f.flush()
    m = mmap.mmap(f.fileno(), 8192, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
libc, argv = ctypes.CDLL(None), (ctypes.c_char_p * 2)(b"late", None)
for _ in range(3):
    if not os.fork():
        libc.execv(ctypes.c_void_p(at), argv)
        libc.execv(ctypes.c_void_p(at), argv) # it is touched now
        libc.execv(ctypes.c_void_p(at + 4096), argv)
        os._exit(1)
    os.wait()
END
run -n 'proc:::exec /ppid == $target/ { @[execname, args[0]] = count(); } proc:::exec /ppid == $target/ { @["again", copyinstr(arg0)] = count(); }
	proc:::exec-failure /ppid == $target/ { @["failure", lltostr(args[0])] = count(); } END { printa("%s %s %@d\n", @); }' -c "/usr/bin/python3 $TMP/late.py $TMP/paths"
[ -s "$TMP/err" ] && fail "a path could not be read"
grep -q '^python.* /no/such/late 6$' "$TMP/out" && grep -q '^python.* /bin/true 3$' "$TMP/out" || fail "an exec is missing"
has 'again /no/such/late 6'; has 'again /bin/true 3'; has 'failure 2 6'
exit 0
