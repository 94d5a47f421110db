# @@timeout: 120
# A number that is used again: the process that has it now is neither stopped nor probed in the place of the first one.
unshare -pf --mount-proc sh -c 'echo 50 >/proc/sys/kernel/ns_last_pid' 2>/dev/null || { echo "process numbers cannot be chosen here"; exit 67; }
exec unshare -pf --mount-proc python3 - <<'END'
import os, select, signal, subprocess, sys

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
LATE = f"{TRIGGER}/late"
NUMBER = 3000
bad = []


def spawn_as(number, *words):  # words: the command; it waits until it reads a line
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(number - 1))
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if p.pid != number:
        print(f"process {p.pid} was made, not {number}")
        sys.exit(67)
    return p


def check(what, flags):
    first = spawn_as(NUMBER, LATE, "open", "wait", "call=1")
    other = subprocess.Popen(["sleep", "100"])
    first.stdout.readline()
    tracer = subprocess.Popen([DTRACE, "-Zq", *flags, "-p", str(NUMBER), "-p", str(other.pid), "-n", 'int on; tick-10ms /!on++/ { printf("on\\n"); } '
                               f"pid{NUMBER}:*late*:*_f:entry {{ @[probefunc] = count(); }}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tracer.stdout.readline()
    first.communicate("\n")
    # it executes another program, opens a library, calls: each of it would have stopped the first one
    second = spawn_as(NUMBER, "sh", "-c", f"sleep 0.1; exec {LATE} open call=7 wait")
    try:
        line = second.stdout.readline() if select.select([second.stdout], [], [], 20)[0] else None
        state = open(f"/proc/{NUMBER}/stat").read().rsplit(")", 1)[1].split()[0]
        if line != "ready\n" or state == "T":
            bad.append(f"{what}: the second process does not run on (state {state})")
    finally:
        os.kill(NUMBER, signal.SIGKILL)
        second.wait()
        other.kill()
        other.wait()
    out, err = tracer.communicate(timeout=30 * int(os.environ.get("PATIENCE", "1")))
    counts = dict(l.split() for l in out.split("\n") if l.strip())
    if tracer.returncode or err or counts.get("late_f") != "1":
        bad.append(f"{what}: status {tracer.returncode}, {counts}, {err}")


check("-p", [])
check("-p, stopped", ["-x", "libstop"])
# Before Linux 6.10, children cannot be told from their parents; the option is refused then.
p = subprocess.run([DTRACE, "-qn", "pid$target::first_f:entry { }", "-x", "follow=fork", "-c", f"{LATE} open"], capture_output=True, text=True)
follows = "lacks uprobe links that follow all threads of a process (Linux 6.10)\nhint: without it children" not in p.stderr
if follows:
    check("-p, with children", ["-x", "follow=fork"])
print("\n".join(bad), end="")
sys.exit(len(bad) > 0)
END
