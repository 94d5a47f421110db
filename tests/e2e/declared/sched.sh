# Provider sched: a thread leaves its CPU as often as the kernel has counted, comes back as often, and arguments are the other thread.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lP sched >"$TMP/list" 2>"$TMP/err" || fail "no list"
for name in sleep preempt enqueue dequeue off-cpu wakeup tick change-pri; do
	grep -q " $name\$" "$TMP/list" || { cp "$TMP/list" "$TMP/out"; fail "there is no $name"; }
done
# what Linux has nothing like is not there, and asking for it names what to use instead
grep -qE 'schedctl|cpucaps' "$TMP/list" && fail "a probe that cannot fire is listed"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n sched:::schedctl-yield 2>"$TMP/err" && fail "schedctl-yield is there"
grep -q 'sched:::schedctl-yield cannot fire here: .*syscall::sched_yield:entry' "$TMP/err" || fail "what to use instead"
grep -q ' on-cpu$' "$TMP/list" || {
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n sched:::on-cpu 2>"$TMP/err" && fail "on-cpu is not there"
	grep -q 'there is no probe rawtp:::sched_exit_tp' "$TMP/err" || fail "what is missing"
	echo "this kernel does not say when a thread gets its CPU"; exit 67; }
# Some kernels run no BPF program at all while a certain process is on the CPU (a hypervisor's agent). A switch to a thread of such a
# process is seen, the switch away from that thread is not: the next thread that gets the CPU is not the one that was announced (a gap).
# What such a thread or an interrupt in it did to the target is counted as hidden, and only where a gap says so.
cat >"$TMP/s.d" <<'END'
int on, gaps, gaps_before, asleep, queued;
syscall::kill:entry /pid == $target/ { on = !on; }
sched:::sleep /on && tid == $target/ {
	@[probename] = sum(1); asleep = 1; gaps_before = gaps;
	@["early"] = sum(queued); queued = 0; /* woken before it slept */
}
sched:::preempt /on && tid == $target/ { @["asked"] = sum(1); }
sched:::wakeup /on && args[0]->pr_lwpid == $target && asleep/ { @[probename] = sum(1); asleep = 0; }
sched:::enqueue /on && args[0]->pr_lwpid == $target/ {
	@[probename] = sum(!queued); queued = 1; @["other cpu"] = sum(args[2]->cpu_id != 0);
}
sched:::dequeue /on && args[1]->pr_pid == $target/ { @[probename] = sum(1); @["other cpu"] = sum(args[2]->cpu_id != 0); }
sched:::off-cpu /on && tid == $target/ { @[probename] = sum(1); }
sched:::off-cpu { next[cpu] = args[0]->pr_lwpid; known[cpu] = 1; @seen[tid] = sum(1); }
sched:::on-cpu /known[cpu]/ { @["all"] = sum(1); }
sched:::on-cpu /known[cpu] && next[cpu] != tid/ { gaps++; @hidden[next[cpu]] = sum(1); }
sched:::on-cpu /on && tid == $target/ { @[probename] = sum(1); @["dequeue hidden"] = sum(next[cpu] != tid); }
sched:::on-cpu /on && tid == $target && asleep/ { @["wakeup hidden"] = sum(gaps != gaps_before); asleep = 0; }
sched:::on-cpu /on && tid == $target && !queued/ { @["enqueue hidden"] = sum(gaps != gaps_before); }
sched:::on-cpu /on && tid == $target/ { queued = 0; }
sched:::tick { @["tick"] = sum(1); }
sched:::change-pri /args[0]->pr_lwpid == $target/ { @["nice"] = sum(args[2]); }
END { printa("%s %@d\n", @); printa("seen %d %@d\n", @seen); printa("hides %d %@d\n", @hidden); }
END
cat >"$TMP/work.py" <<'END'
import os, resource, time
os.sched_setaffinity(0, {0})
def count():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_nvcsw, r.ru_nivcsw
a = count(); os.kill(os.getpid(), 0); b = count()
for i in range(300):
    time.sleep(0.0005)
x = 0
for i in range(3000000): x += i
c = count(); os.kill(os.getpid(), 0); d = count()
print("priority", 120 + os.nice(3))
print("program", sum(c) - sum(b), sum(d) - sum(a), c[0] - b[0], d[0] - a[0], flush=True)
END
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/s.d" -c "python3 $TMP/work.py" >"$TMP/out" 2>"$TMP/err" || fail "failed"
python3 - "$TMP/out" <<'END' || fail "the numbers do not agree"
import sys
n, seen, hides = {}, {}, {}
for line in filter(str.strip, open(sys.argv[1])):
    name, *values = line.rsplit(" ", 1) if not line.startswith("program") else line.split()
    if name.split()[0] in ("seen", "hides"):
        (seen if name.startswith("seen") else hides)[int(name.split()[1])] = int(values[0])
        continue
    n[name] = [int(v) for v in values] if values else []
least, most, vleast, vmost = n["program"]
got = {k: v[0] for k, v in n.items() if k != "program"}
hidden = lambda name: got.get(name + " hidden", 0)
assert least <= got["off-cpu"] <= most, "off-cpu"
assert got["on-cpu"] == got["off-cpu"], "on-cpu"
assert vleast <= got["sleep"] <= vmost, "sleep"
assert got["wakeup"] + hidden("wakeup") == got["sleep"], "wakeup"
assert got["dequeue"] + hidden("dequeue") == got["on-cpu"], "dequeue"
assert got["enqueue"] - got.get("early", 0) + hidden("enqueue") == got["off-cpu"], "enqueue"
assert got.get("other cpu", 0) == 0, "other cpu"
assert got["all"] > 100 and not seen.keys() & hides.keys(), "a thread that is seen was not seen once"
assert got["tick"] > 10 and got["nice"] == got["priority"], "others"
END
# a thread that its own timer wakes before it sleeps goes on running: it does not come to a queue
cat >"$TMP/woken.py" <<'END'
import ctypes, os, time
os.sched_setaffinity(0, {0})
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0) # PR_SET_TIMERSLACK
for i in range(300):
    time.sleep(1e-9)
END
timeout 60 "$DTRACE" -qn 'rawtp:::sched_wakeup /pid == $target && args[0]->pid == tid && args[0]->on_cpu/ { @["woken"] = sum(1); }
	sched:::enqueue /pid == $target && args[0]->pr_lwpid == tid/ { @["queued"] = sum(1); }
	sched:::off-cpu /pid == $target/ { @["left"] = sum(1); }
	END { printa("%s %@d\n", @); }' -c "python3 $TMP/woken.py" >"$TMP/out" 2>"$TMP/err" || fail "failed"
awk '{ n[$1] = $2 } END { exit n["woken"] > 100 ? 0 : 1 }' "$TMP/out" || { echo "no thread was woken before it slept"; exit 67; }
awk '{ n[$1] = $2 } END { exit n["queued"] <= n["left"] ? 0 : 1 }' "$TMP/out" || fail "a running thread came to a queue"
exit 0
