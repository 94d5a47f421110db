# The end of each thread, the last one included, fires before that of its process, as on other systems.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'proc:::exit, proc:::lwp-exit /pid == $target/ { printf("%s %d\n", probename, tid == pid); }' -c "$1" >"$TMP/out" 2>"$TMP/err" || fail "$1 failed"; }
run /bin/true
printf 'lwp-exit 1\nexit 1\n\n' | cmp - "$TMP/out" || fail "one thread"
cat >"$TMP/threads.py" <<'END'
import os, threading, time
for _ in range(3):
    t = threading.Thread(target=lambda: None); t.start(); t.join()
    while len(os.listdir("/proc/self/task")) > 1: time.sleep(0.001)
END
run "python3 $TMP/threads.py"
printf 'lwp-exit 0\nlwp-exit 0\nlwp-exit 0\nlwp-exit 1\nexit 1\n\n' | cmp - "$TMP/out" || fail "threads"
