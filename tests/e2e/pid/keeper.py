# SPDX-License-Identifier: MIT
"""kill -9 while uprobes are placed, hit or taken off, 21 times: the code is as it was, in processes old and
new, the kernel has leaked nothing, no process of ours is left; ^C in the middle of placing ends the run soon."""
import contextlib, glob, os, random, re, signal, subprocess, sys, time

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
NFUNCS = 2000
EXE = f"{TMP}/many"
bad = []
ours = set()  # pids of the dtrace commands and of their keepers
seed = int(os.environ.get("SEED", time.time()))
random.seed(seed)


def build():
    """A program of many functions, which calls all of them again and again and checks what they return."""
    with open(f"{TMP}/many.c", "w") as f:
        f.write("int write(int, const void *, unsigned long);\n")
        for i in range(NFUNCS):
            f.write(f"__attribute__((noinline)) unsigned int many_{i}(unsigned int x) {{ return x * 3 + {i}; }}\n")
        f.write("unsigned int round_of(void)\n{\n\tunsigned int x = 1;\n")
        f.writelines(f"\tx = many_{i}(x);\n" for i in range(NFUNCS))
        f.write("\treturn x;\n}\nint main(void)\n{\n\tunsigned int first = round_of();\n\twrite(1, \"up\\n\", 3);\n"
                "\twhile (round_of() == first)\n\t\t;\n\treturn 1;\n}\n")
    subprocess.check_call(["cc", "-O0", "-o", EXE, f"{TMP}/many.c"])


def start():
    p = subprocess.Popen([EXE], stdout=subprocess.PIPE)
    p.stdout.readline()
    return p


def text_of(headers):
    """File offset and size of the code."""
    return next((int(m[1], 16), int(m[2], 16)) for m in re.finditer(r"LOAD\s+0x(\w+) 0x\w+ 0x\w+ 0x(\w+) 0x\w+ R E", headers))


def changed(pid):
    """How many bytes of its code are not those of the file."""
    off, size = text_of(subprocess.check_output(["readelf", "-lW", EXE], text=True))
    with open(f"/proc/{pid}/maps") as f:
        at = next(int(l.split("-")[0], 16) for l in f if "r-xp" in l and l.rstrip().endswith("/many"))
    with open(f"/proc/{pid}/mem", "rb") as mem, open(EXE, "rb") as exe:
        mem.seek(at), exe.seek(off)
        return sum(a != b for a, b in zip(mem.read(size), exe.read(size)))


def leaks():
    """What the kernel says of our runs: it names the task that removed the probe, which may be a worker of its own."""
    got = subprocess.run(["dmesg"], capture_output=True, text=True, errors="replace")
    by = re.compile(r"uprobe: (?:(?:dtrace|uprobe-keeper):(\d+)|kworker\S*) .*leaking uprobe")
    found = [(l, by.search(l)) for l in got.stdout.split("\n")]
    return [l for l, m in found if m and (not m[1] or m[1] in ours)]


def keepers(of=None):
    """Of our runs, or of one of them: other runs on this machine have their own."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as f:
                words = f.read().rstrip("\0").split()
            if words[:2] == ["uprobe-keeper", "of"] and words[2] in ([str(of.pid)] if of else ours):
                found.append(path.split("/")[2])
                ours.add(found[-1])
        except OSError:
            pass
    return found


def wait_until(done, seconds=20):
    limit = time.monotonic() + seconds
    while not (is_done := done()) and time.monotonic() < limit:
        time.sleep(0.002)
    return is_done


def shrinks_to_zero(count, seconds=20):
    """The kernel takes its time, and more of it on a busy machine; but it goes on."""
    least, limit = count(), time.monotonic() + seconds
    while least and time.monotonic() < limit:
        time.sleep(0.05)
        now = count()
        if now < least:
            least, limit = now, time.monotonic() + seconds
    return not least


def dtrace(program, pid):
    p = subprocess.Popen([DTRACE, "-q", "-x", "switchrate=10ms", "-n", program, "-p", str(pid)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    ours.add(str(p.pid))
    return p


PROGRAM = """pid$target:many:many_*:entry, pid$target:many:many_*:return { @ = count(); }
    BEGIN { printf("begin\\n"); } tick-10ms { printf("on\\n"); } END { printf("end\\n"); }"""


def lines_until(p, line):
    while True:
        got = p.stdout.readline()
        if got == line or not got:
            return got


def first_run(pid):
    """A run that nobody kills; how long placing and taking off take."""
    p = dtrace(PROGRAM, pid)
    p.stdout.readline()
    begin = time.monotonic()
    if lines_until(p, "on\n") != "on\n":
        said = p.stderr.read()
        if "lacks BPF links to many uprobes" in said:  # there are no long lists of them either
            print(said)
            os.kill(pid, signal.SIGKILL)
            sys.exit(67)
        bad.append(f"no run: {said}")
    on = time.monotonic()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate()
    if p.returncode or err:
        bad.append(f"status {p.returncode}: {err}")
    return on - begin, time.monotonic() - on


def killed_run(phase, pid, placing, removing):
    p = dtrace(PROGRAM, pid)
    p.stdout.readline()  # BEGIN has fired
    if phase == "placing":
        time.sleep(random.uniform(0, placing))
    else:
        lines_until(p, "on\n")
    if phase == "removing":
        p.send_signal(signal.SIGINT)
        time.sleep(random.uniform(0, removing))
    p.kill()
    p.communicate()


def whole_code(victim, what):
    new = start()
    for name, pid in (("the process", victim.pid), ("a new process", new.pid)):
        if not shrinks_to_zero(lambda: changed(pid)):
            bad.append(f"{what}: {changed(pid)} bytes of the code of {name} are changed")
    new.kill()
    new.communicate()


def links_of(keeper):
    """How many BPF links it has; 0 when it has ended."""
    links = 0
    for path in glob.glob(f"/proc/{keeper}/fd/*"):
        try:
            links += os.readlink(path).endswith("bpf_link")
        except OSError:
            pass
    return links


def stopped(keeper):
    """Stops it between two of its system calls; false: it has ended."""
    try:
        os.kill(int(keeper), signal.SIGSTOP)
        return wait_until(lambda: open(f"/proc/{keeper}/stat").read().rsplit(")", 1)[1].split()[0] == "T")
    except (ProcessLookupError, FileNotFoundError):
        return False


def interrupted(victim):
    """Every instruction takes some links; ^C after the first: END fires, the status is 0, the others are not placed."""
    program = """pid$target:many:many_*: { @ = count(); } BEGIN { printf("begin\\n"); } tick-10ms { printf("on\\n"); } END { printf("end\\n"); }"""
    p = dtrace(program, victim.pid)
    lines_until(p, "on\n")  # all are placed
    whole = links_of(next(iter(keepers(p)), 0))
    p.send_signal(signal.SIGINT)
    p.communicate()
    if whole < 3:
        bad.append(f"{whole} links: too few to be interrupted between them")
        return
    for attempt in range(50):
        p = dtrace(program, victim.pid)
        wait_until(lambda: p.poll() is not None or keepers(p))
        keeper = next(iter(keepers(p)), None)
        begun = links_of(keeper) if keeper and stopped(keeper) else whole
        p.send_signal(signal.SIGINT)
        if keeper and p.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it may end before dtrace does
                os.kill(int(keeper), signal.SIGCONT)
        most = begun
        while 2 * begun <= whole and p.poll() is None:
            most = max(most, links_of(keeper))
        out, err = p.communicate()
        if 2 * begun <= whole:  # else too much was placed before it was stopped: this attempt shows nothing
            if p.returncode or err or "begin" not in out or "end" not in out:
                bad.append(f"interrupted: status {p.returncode}, {out!r}, {err!r}")
            if most >= whole:
                bad.append(f"{whole} links, {most} in the run that was interrupted after {begun}")
            return
    bad.append("in none of 50 runs was the keeper stopped before it had placed the half")


def keeper_killed(victim):
    """Whoever kills the keeper, too: the run ends and says why; nothing is held open for those who read the output."""
    p = dtrace(PROGRAM, victim.pid)
    lines_until(p, "on\n")
    keeper = next(iter(keepers(p)), None)
    if keeper:
        os.kill(int(keeper), signal.SIGKILL)
    out, err = p.communicate()
    if p.returncode != 1 or f"helper process {keeper}, which holds the probes, was killed; tracing has ended" not in err:
        bad.append(f"keeper {keeper} killed: status {p.returncode}, {err!r}")
    p = dtrace(PROGRAM, victim.pid)
    lines_until(p, "on\n")
    p.stdout.close()  # as head(1) does
    if p.wait() == 0:
        bad.append("a closed pipe is no error")
    p.stderr.read()  # to its end, which comes with the last process that has it open


build()
before = leaks()
victim = start()
try:
    placing, removing = first_run(victim.pid)
    for i in range(21):
        killed_run(("placing", "running", "removing")[i % 3], victim.pid, placing, removing)
        if i % 7 == 6 and not bad:
            if not wait_until(lambda: not keepers()):
                bad.append(f"round {i}: keepers {keepers()} go on")
            whole_code(victim, f"round {i}")
    interrupted(victim)
    keeper_killed(victim)
    if not wait_until(lambda: not keepers()):
        bad.append(f"keepers {keepers()} go on")
    whole_code(victim, "at the end")
    if victim.poll() is not None:
        bad.append(f"the process ended with {victim.returncode}")
finally:
    victim.kill()
    victim.communicate()
leaked = [l for l in leaks() if l not in before]
if leaked:
    bad.append(f"{len(leaked)} uprobes are left: {leaked[0]}")
if bad:
    print(f"seed {seed}", *bad, sep="\n")
sys.exit(bool(bad))
