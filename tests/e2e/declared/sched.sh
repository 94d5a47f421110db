# Provider sched: a thread leaves its CPU as often as the kernel has counted, comes back as often, and arguments are the other thread.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
timeout 60 "$DTRACE" -lP sched >"$TMP/list" 2>"$TMP/err" || fail "no list"
for name in sleep preempt enqueue dequeue off-cpu wakeup tick change-pri schedctl-yield cpucaps-sleep; do
	grep -q " $name\$" "$TMP/list" || { cp "$TMP/list" "$TMP/out"; fail "there is no $name"; }
done
grep -q ' on-cpu$' "$TMP/list" || {
	timeout 60 "$DTRACE" -n sched:::on-cpu 2>"$TMP/err" && fail "on-cpu is not there"
	grep -q 'there is no probe rawtp:::sched_exit_tp' "$TMP/err" || fail "what is missing"
	echo "this kernel does not say when a thread gets its CPU"; exit 67; }
cat >"$TMP/s.d" <<'END'
int on;
syscall::kill:entry /pid == $target/ { on = !on; }
sched:::off-cpu, sched:::on-cpu, sched:::sleep /on && tid == $target/ { @[probename] = sum(1); }
sched:::preempt /on && tid == $target/ { @["asked"] = sum(1); }
sched:::wakeup /on && args[0]->pr_lwpid == $target/ { @[probename] = sum(1); }
sched:::enqueue /on && args[0]->pr_lwpid == $target/ { @[probename] = sum(1); @["other cpu"] = sum(args[2]->cpu_id != 0); }
sched:::dequeue /on && args[1]->pr_pid == $target/ { @[probename] = sum(1); @["other cpu"] = sum(args[2]->cpu_id != 0); }
sched:::off-cpu { next[cpu] = args[0]->pr_lwpid; known[cpu] = 1; }
sched:::on-cpu /known[cpu]/ { @["all"] = sum(1); @["wrong"] = sum(next[cpu] != tid); }
sched:::tick { @["tick"] = sum(1); }
sched:::change-pri /args[0]->pr_lwpid == $target/ { @["nice"] = sum(args[2]); }
sched:::schedctl-yield { @["never"] = sum(1); }
END { printa("%s %@d\n", @); }
END
cat >"$TMP/work.py" <<'END'
import os, resource, time
os.sched_setaffinity(0, {0})
time.sleep(0.05)
def count():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_nvcsw, r.ru_nivcsw
a = count(); os.kill(os.getpid(), 0); b = count()
for i in range(300):
    time.sleep(0.0005)
x = 0
for i in range(3000000): x += i
c = count(); os.kill(os.getpid(), 0); d = count()
os.nice(3)
print("program", sum(c) - sum(b), sum(d) - sum(a), c[0] - b[0], d[0] - a[0], flush=True)
END
timeout 60 "$DTRACE" -qs "$TMP/s.d" -c "python3 $TMP/work.py" >"$TMP/out" 2>"$TMP/err" || fail "failed"
python3 - "$TMP/out" <<'END' || fail "the numbers do not agree"
import sys
n = {}
for line in filter(str.strip, open(sys.argv[1])):
    name, *values = line.rsplit(" ", 1) if not line.startswith("program") else line.split()
    n[name] = [int(v) for v in values] if values else []
least, most, vleast, vmost = n["program"]
got = {k: v[0] for k, v in n.items() if k != "program"}
assert least <= got["off-cpu"] <= most, "off-cpu"
assert abs(got["on-cpu"] - got["off-cpu"]) <= 1, "on-cpu"
assert vleast <= got["sleep"] <= vmost, "sleep"
near = lambda a, b: abs(a - b) * 33 <= b
assert near(got["dequeue"], got["on-cpu"]) and near(got["enqueue"], got["dequeue"]), "queue"
assert near(got["wakeup"], got["sleep"]) and got.get("other cpu", 0) == 0, "wakeup"
assert got["all"] > 100 and got["wrong"] * 20 < got["all"], "the next thread"
assert got["tick"] > 10 and got["nice"] == 123 and "never" not in got, "others"
END
exit 0
