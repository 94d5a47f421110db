# SPDX-License-Identifier: MIT
"""dtrace confined as by containers: fewer capabilities, user and PID namespaces, seccomp filters, parts of /sys and /proc that are not there."""
import os, re, subprocess, sys

SRC, DTRACE, TRIGGER = os.environ["SRC"], os.environ["DTRACE"], os.environ["TRIGGER"]
SECONDS = 60 * int(os.environ.get("PATIENCE", "1"))
if os.geteuid():
    print("skip: only root makes namespaces")
    sys.exit(67)
with open("/proc/sys/kernel/perf_event_paranoid") as level:
    if int(level.read()) > 2:
        print("skip: kernel.perf_event_paranoid is above 2, as Debian has it: CAP_PERFMON opens no events")
        sys.exit(67)
DOCKER = "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap".split()
CALLS = {"x86_64": {"bpf": 321, "perf_event_open": 298, "ptrace": 101, "capget": 125},
         "aarch64": {"bpf": 280, "perf_event_open": 241, "ptrace": 117, "capget": 90}}[os.uname().machine]
TRACE = ["-qn", 'BEGIN { printf("traced"); } syscall:::entry { n++; } tick-10hz /n/ { exit(0); }']
bad = 0


def text_of(name):
    with open(f"{SRC}/doc/guide/containers.md") as f:
        return f.read().split(name)[1].split("| part |")[0]


def run(how, args):
    return subprocess.run([*how, DTRACE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS)


def works(what, how, args=TRACE, said="traced", silent=True):
    global bad
    r = run(how, args)
    if r.returncode or said not in r.stdout or (silent and r.stderr):
        print(f"{what} does not work:\n{r}")
        bad = 1


def lacks(what, how, said, hint, args=TRACE):
    """One message that names what is missing, and one hint."""
    global bad
    r = run(how, args)
    errors = r.stderr.strip().split("\n")
    if r.returncode == 0 or "traced" in r.stdout or said not in errors[0] or hint not in errors[-1] or "hint:" not in errors[-1]:
        print(f"{what}: not '{said}', '{hint}', but\n{r}")
        bad = 1


def caps(*extra):
    """Root of a container of Docker, with more capabilities."""
    return ["setpriv", "--bounding-set=" + ",".join(["-all", *("+" + c for c in [*DOCKER, *extra])]), "--inh-caps=-all"]


def inside(commands):
    """In a mount namespace that these commands change."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec", commands + '; exec "$@"', "sh"]


def denied(call, errno):
    return [f"{TRIGGER}/denied", str(CALLS[call]), str(errno)]


# ---- capabilities ----
lacks("no capability", caps(), "it lacks CAP_BPF and CAP_PERFMON", "--cap-add=BPF --cap-add=PERFMON")
lacks("no CAP_BPF", caps("perfmon"), "it lacks CAP_BPF", "--cap-add=BPF")
lacks("no CAP_PERFMON", caps("bpf"), "it lacks CAP_PERFMON", "--cap-add=PERFMON")
works("what system calls take", caps("bpf", "perfmon"))
for more, said in ([], "no level (this root lacks CAP_BPF and CAP_PERFMON)"), (["perfmon"], "no level (this root lacks CAP_BPF)"), (["bpf"], "no level (this root lacks CAP_PERFMON)"), \
        (["bpf", "perfmon"], "all levels (as root)"), (["sys_admin"], "all levels (as root)"):
    works(f"-V -v of a root with {more}", caps(*more), ["-V", "-v"], f"you are root: {said}\n")
guide = text_of("## dtrace inside a container")
lists = [sorted(re.findall(r"--cap-add=(\w+)", line)) for line in re.split(r"\n\n", guide) if "--cap-add" in line]
lists.append(sorted(re.search(r"add: \[(.*?)\]", guide)[1].split(", ")))
if len(lists) != 3 or lists[0] != lists[1] or lists[0] != lists[2] or len(lists[0]) < 3:
    print(f"the guide's lists of capabilities: {lists}")
    bad = 1
listed = caps(*(c.lower() for c in lists[0]))
works("what the guide lists", listed)
if os.path.exists("/sys/kernel/tracing/events/sched/sched_switch/id"):
    works("events with what the guide lists", inside("mount --bind /sys/kernel/tracing /sys/kernel/tracing; mount -o remount,bind,ro /sys/kernel/tracing") + listed,
          ["-qn", 'sdt:::sched_switch { printf("traced"); exit(0); }'])
works("a command with what the guide lists", listed, ["-qn", 'pid$target:libc:*nanosleep:entry { printf("traced %s", execname); exit(0); }', "-c", "sleep 1"], "traced sleep")

# ---- user namespaces: their root is an ordinary user ----
if subprocess.run(["unshare", "-U", "-r", "true"], capture_output=True).returncode == 0:
    for flags in ["-U", "-r"], ["-U", "-r", "-m", "-p", "-f", "--mount-proc"], ["-U", "-r", "unshare", "-U", "-r"]:
        lacks(f"a user namespace: {flags}", ["unshare", *flags], "hold in its user namespace only", "sudo podman run")
        r = run(["unshare", *flags], ["-V", "-v"])
        if "you are root: no level (in a user namespace" not in r.stdout:
            print(f"-V -v in a user namespace: {r}")
            bad = 1
    # with capabilities of the file, which hold inside only
    os.makedirs(f"{os.environ['TMP']}/m", exist_ok=True)
    nested = f"""mount -t tmpfs tmpfs {os.environ['TMP']}/m; cd {os.environ['TMP']}/m; cp "$1" dtrace; setcap cap_bpf,cap_perfmon=ep dtrace; shift
        exec env LD_LIBRARY_PATH={os.path.dirname(os.path.realpath(DTRACE))} ./dtrace "$@" """
    lacks("capabilities of a file in a user namespace", ["unshare", "-U", "-r", "-m", "sh", "-ec", nested, "sh"], "hold in its user namespace only", "sudo podman run")

# ---- seccomp ----
for call, name in ("bpf", "bpf(2)"), ("perf_event_open", "perf_event_open(2)"):
    for errno in 1, 38:
        lacks(f"a filter of {call}, {errno}", denied(call, errno), f"a seccomp filter of this process refuses {name}", "--security-opt seccomp=")
lacks("a filter of ptrace", denied("ptrace", 1), "a seccomp filter of this process refuses ptrace(2)", "--security-opt seccomp=", ["-qn", "BEGIN { exit(0); }", "-c", "true"])
works("a filter of perf_event_open, without timers", denied("perf_event_open", 1), ["-qn", 'syscall:::entry { printf("traced"); exit(0); }'])
works("a filter of capget", denied("capget", 1))

# ---- files ----
lacks("no /sys/kernel/btf", inside("mount -t tmpfs tmpfs /sys/kernel/btf"), "kernel type information", "-v /sys/kernel/btf:")
lacks("no /sys", inside("mount -t tmpfs tmpfs /sys"), "kernel type information", "/sys be mounted")
works("/sys that is read-only", inside("mount --bind /sys /sys; mount -o remount,bind,ro /sys"))
no_tracefs = inside("mount -t tmpfs tmpfs /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing 2>/dev/null || :") + caps("bpf", "perfmon")
works("no tracefs", no_tracefs)
if subprocess.run([*inside("mount -t tmpfs tmpfs /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing 2>/dev/null || :"), "grep", "-c", "^tracefs /sys/kernel/debug", "/proc/mounts"], capture_output=True).returncode:
    lacks("events without tracefs", no_tracefs, "does not match any probes", "-v /sys/kernel/tracing:", ["-n", "sdt:::sched_switch { exit(0); }"])
works("masked files of /proc", inside("for f in kallsyms kcore keys timer_list; do [ ! -e /proc/$f ] || mount --bind /dev/null /proc/$f; done"))

# ---- numbers of processes ----
pids = ["unshare", "-p", "-f", "--mount-proc"]
works("numbers of processes", pids, ["-qn", 'syscall::*nanosleep:entry /pid == $target/ { printf("%d is a child of %d, %d", pid, ppid, progenyof($pid)); exit(0); }', "-c", "sleep 1"],
      " is a child of 1, 1")
works("what system() executes", pids, ["-wqn", 'BEGIN { system("echo my parent is $PPID"); exit(0); }'], "my parent is 1")
lacks("/proc of another PID namespace", pids[:3], "'/proc' shows another PID namespace", "--mount-proc", ["-qn", "pid$target:libc::entry { n++; }", "-c", "sleep 1"])
sys.exit(bad)
