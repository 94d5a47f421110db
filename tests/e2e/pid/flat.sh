# @@timeout: 150
# A process that opens and closes libraries for months: what is closed is taken off again, so the tracer does not grow.
exec python3 - <<'END'
import collections, os, subprocess, sys, time

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
PATIENCE = int(os.environ.get("PATIENCE", 1))
LATE = f"{TRIGGER}/late"
bad = []


def files(pid):
    """How many of each kind the process has open."""
    kinds = collections.Counter()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
            kinds["libraries" if ".so" in name else name.split("/")[0]] += 1
        except OSError:
            pass
    return kinds


def keeper_of(pid):
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{p}/cmdline").read().startswith(f"uprobe-keeper of {pid}\0"):
                return int(p)
        except OSError:
            pass


def memory(pid):
    return next(int(l.split()[1]) for l in open(f"/proc/{pid}/status") if l.startswith("VmRSS"))


def look(pid):
    kinds = files(pid)
    return {"maps": kinds["anon_inode:bpf-map"], "programs": kinds["anon_inode:bpf-prog"], "files": sum(kinds.values()) - kinds["libraries"], "libraries": kinds["libraries"],
            "links": sum(files(keeper_of(pid)).values()), "memory": memory(pid)}


def steady(pid):
    """What there is when nothing has gone for longer than the second for which the tracer keeps what was closed last."""
    before = None
    for _ in range(50 * PATIENCE):
        now = look(pid)
        if now["maps"] == before:
            break
        before = now["maps"]
        time.sleep(1.5)
    return now


# by how much each may be more after as many libraries again, which took thousands before
# (libraries: of up to 1,024 that were mapped, names are kept; which of them are opened in time depends on the machine)
GROWTH = {"maps": 2, "programs": 2, "files": 5, "libraries": 200, "links": 2, "memory": 6000}
if os.environ.get("SANITIZED"):
    del GROWTH["memory"]  # the sanitizer keeps what was freed


def grown(before, now):
    return [what for what, most in GROWTH.items() if now[what] > before[what] + most]


def check(word, first, more, *flags):
    d = subprocess.Popen([DTRACE, "-Zqn", 'pid$target::late_*:entry { @[probefunc] = count(); } END { printa("%s %@d\\n", @); }', *flags, "-c",
                          f"{LATE} {word}={first} wait {word}={more} wait {word}={more} wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    looks = []
    for _ in range(3):
        d.stdout.readline()
        if d.poll() is not None or not keeper_of(d.pid):
            said = d.communicate("\n")
            if not (flags and "this kernel lacks" in said[1]):  # 6.1 has no -x follow
                bad.append(f"{word} {flags}: no keeper; status {d.returncode}, {said}")
            return
        now = steady(d.pid)
        for _ in range(20 * PATIENCE):  # what is more than it may be is perhaps still on its way out
            if len(looks) < 2 or not grown(looks[1], now):
                break
            time.sleep(1.5)
            now = look(d.pid)
        looks.append(now)
        d.stdin.write("\n"), d.stdin.flush()
    out, err = d.communicate()
    got = dict(l.rsplit(" ", 1) for l in out.split("\n") if " " in l)
    want = {f"late_{f}": str(first + 2 * more) for f in ("f", "g", "init", "constructor")}
    if d.returncode or err or got != want:
        bad.append(f"{word} {flags}: status {d.returncode}, {got} instead of {want}, {err}")
    for what in grown(looks[1], looks[2]):
        bad.append(f"{word} {flags}: {what} grow from {looks[1][what]} to {looks[2][what]}")


check("churn", 150, 400)
check("rechurn", 150, 400)
check("rechurn", 150, 200, "-x", "follow=fork")

# what was taken off is probed again when it comes again
p = subprocess.run([DTRACE, "-Zqn", 'pid$target:liblate.so:late_f:entry { @ = count(); } END { printa("%@d", @); }', "-c",
                    f"{LATE} open call=1 close open call=2 close churn=150 open call=3 close churn=150 open call=4"], capture_output=True, text=True)
if p.returncode or p.stderr or p.stdout.strip() != "10":
    bad.append(f"again: status {p.returncode}, {p.stdout!r}, {p.stderr!r}")
# faults in what has gone are told with the probe that they are of
p = subprocess.run([DTRACE, "-Zqn", 'pid$target::late_f:entry { trace(*(int *)8); }', "-c", f"{LATE} churn=150"], capture_output=True, text=True)
lines = [l for l in p.stderr.split("\n") if "error on enabled probe" in l]
if p.returncode or not lines or any("late_f:entry" not in l or "ID 0 " in l for l in lines):
    bad.append(f"faults: status {p.returncode}, {lines[:3]}, {p.stderr[:300]!r}")
print("\n".join(bad), end="")
sys.exit(bool(bad))
END
