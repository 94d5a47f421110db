# Provider proc: each process, thread, exec and signal is counted once, and arguments are what the program did.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout 60 "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
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
run -s "$TMP/p.d" -c "python3 $TMP/work.py"
has 'create  0: 18'; has 'lwp-create  0: 18'; has 'new process  1: 18'
has 'start  0: 18'; has 'lwp-start  0: 24'; has 'lwp-exit  0: 24'
has 'exit exited 1: 14'; grep -qx 'exit killed 2: 4' "$TMP/out" || { has 'exit killed 2: 3'; has 'exit dumped 3: 1'; } # a program may take cores
has 'exec true 0: 4'; has 'raw true 0: 4'; has 'exec program 0: 2'; has 'exec-success  0: 4'; has 'exec-failure  2: 2'
has 'signal-send  10: 4'; has 'signal-handle handler 10: 4'; has 'signal-send  9: 3'; has 'fault null 6: 1'
exit 0
