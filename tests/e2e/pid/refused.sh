# Processes that cannot be looked into: what they are is said. A process that a debugger holds can be, and is let be.
# @@foreign
refused() { # text pid, then a command to run dtrace with
	want=$1 pid=$2
	shift 2
	"$@" "$DTRACE" -n 'pid$target:::entry { @ = count(); }' -p "$pid" >"$TMP/out" 2>"$TMP/err"
	[ $? = 1 ] && grep -q "^dtrace: .*$want" "$TMP/err" || { echo "pid $pid: not '$want'"; cat "$TMP/err"; exit 1; }
}
"$TRIGGER/work" nap 600000 & held=$!
trap 'kill $held; rm -f "$TMP/fifo" "$TMP/zombie"' EXIT

refused 'failed to grab process 2: it is a kernel thread or is ending' 2
refused 'failed to grab pid 4194304: ' 4194304
# a zombie: its parent does not wait for it
mkfifo "$TMP/fifo" "$TMP/zombie"
python3 -c 'import os, sys
pid = os.fork()
if not pid:
	os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(pid, flush=True)
sys.stdin.read()' <"$TMP/fifo" >"$TMP/zombie" & parent=$!
exec 3>"$TMP/fifo"
read -r zombie <"$TMP/zombie"
refused 'it is a kernel thread or is ending' "$zombie"
exec 3>&-
wait $parent
# a process with more rights than ours, which is how that of another user looks to whoever is not root
refused 'failed to grab process [0-9]*: \(its files cannot be opened: Permission denied\|.*Permission denied\)' $held setpriv --bounding-set -sys_ptrace

command -v gdb >/dev/null || exit 0
gdb -nx -batch -ex "attach $held" \
	-ex "shell '$DTRACE' -qn 'pid\$target:work:main:entry { @ = count(); } tick-50ms { printf(\"it runs\"); exit(0); }' -p $held" \
	-ex "print 40 + 2" -ex detach >"$TMP/gdb" 2>&1
grep -q 'it runs' "$TMP/gdb" && grep -q '= 42' "$TMP/gdb" || { cat "$TMP/gdb"; exit 1; }
kill -0 $held || { echo "the process is gone"; exit 1; }
