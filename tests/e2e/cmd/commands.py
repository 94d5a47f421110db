# SPDX-License-Identifier: MIT
"""Runs every command of commands/ on a workload and checks what it prints; checks the options that all have.

A row: arguments; the workload, as in examples.py; regular expressions for parts of the output. The workload is the -c
process of dtrace, so the command ends with it; commands about one program get that program instead.
"""
import concurrent.futures, json, os, re, shlex, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from examples import DTRACE, EXCUSED, FROZEN, LONG, LOOP, NET, NOBODY, TMP, TRIGGER, output, renamed, write_work  # noqa: E402

HIST = r" *\n +value +-+ Distribution -+ count *\n(.*\n)*? +-?\d+ \|@"
UDP = r"""cat >$tmp/u.py <<'EOF'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 4753))
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3): c.sendto(b"x" * 100, ("127.0.0.1", 4753)); s.recv(200)
EOF
unshare -n sh -c 'ip link set lo up; /usr/bin/python3 '$tmp/u.py"""
MOUNT = "mkdir $tmp/m; unshare -m sh -c \"mount -t tmpfs none $tmp/m; umount $tmp/m\""
XENSTORED = r"""/usr/bin/python3 -c 'import os, socket, struct
open("/proc/self/comm", "w").write("xenstored")
daemon, client = socket.socketpair()
client.send(struct.pack("<4I", 2, 0, 1, 21) + b"/local/domain/6/name\0")
os.read(daemon.fileno(), 16); os.read(daemon.fileno(), 21)
os.write(daemon.fileno(), struct.pack("<4I", 2, 0, 1, 5)); os.write(daemon.fileno(), b"guest")'"""
THREADS = "/usr/bin/python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'"
BUSY = """/usr/bin/python3 -c 'import os, time
def busy():
    while time.process_time() < end: sum(range(20000))
while not os.path.exists(os.environ["MET"] + "/met"): pass
end = time.process_time() + 0.5
busy()'"""

ROWS = {
    "biolatency": ("", LOOP, [r"loop\d+ write, us" + HIST]),
    "bitesize": ("-n calls", LOOP, [r"^\d+ calls, bytes" + HIST, r" +65536 \|@+ +2\d *\n"]),
    "cpudist": ("-n work", "work spin 300; work nap 20", [r"^all, us" + HIST]),
    "cswstat": ("1 1", "work nap 3000", [r"TIME +SWITCHES +PREEMPTED\n", r"20\d\d .* +[1-9]\d{2,} +\d+\n"]),
    "dtruss": ("-f openat", "/bin/cat /etc/hostname", [r'^openat\(.*"/etc/hostname"\) = 3\n']),
    "errinfo": ("-n calls", "calls badclose 50; work connect 3", [r"^calls +close +EBADF +50 Bad file descriptor\n"]),
    "execsnoop": ("-x", "/bin/true one; sh -c /no/such", [r" sh +- +/bin/true one\n", r" sh +ENOENT +/no/such\n"]),
    "exitsnoop": ("-n sh", "sh -c 'sleep 0.2; exit 3'; sh -c 'kill -9 $$'", [r" sh +(0\.[2-9]|[1-9]\d*\.\d)\d\d exit 3\n", r" sh +\d+\.\d{3} SIGKILL\n"]),
    "fileslower": ("-m 20", "mkfifo $tmp/f; work spin 10; dd if=/dev/zero of=$tmp/big bs=256M count=1 status=none; rm $tmp/big",
                   [r" dd +W +\d+ +\d{5,} \S+/big\n"]),
    "filetop": (LONG, "truncate -s 64M $tmp/big; cat $tmp/big >/dev/null", [r"^cat +R +\d+ +67108864 \S+/big\n"]),
    "funccount": ("m*", "chain 50", [r" middle +50\n"]),
    "funclatency": ("-l a.out middle", "chain 20", [r"^chain`middle, ns" + HIST]),
    "hotkernel": ("-n dd", "dd if=/dev/zero of=/dev/null bs=1M count=4000 status=none", [r"^vmlinux`\S+ +\d{2,}\n"]),
    "hotstacks": ("-n python3", BUSY, [r"^python3\S*\n(.*\n)*?.*\(busy\) \]\n(.*\n)*?\d+ samples"]),
    "hotuser": ("-n work", "work spin 500", [r"^work +work +work`\w+ +\d{2,}\n"]),
    "intrtime": ("", LOOP, [r"KIND +OF +TIMES +TOTAL US\n", r"^softirq +\S.* +\d+ +\d+\n"]),
    "iosnoop": ("-n calls", LOOP, [r"(.* calls +loop\d+ +W +\d+ +65536 +\d+ \S+\n){20}"]),
    "iotop-dtrace": (LONG, LOOP, [r" calls +loop\d+ +W +20 +1310720\n"]),
    "killsnoop": ("-s USR1", "sleep 60 & kill -10 $!; wait", [r" sh +SIGUSR1 +\d+ s\w+\n"]),
    "lockcontention": ("-n touch", FROZEN, [r"^touch rw-block\n( +\S+\n)+\d{5,} us\n"]),
    "mallocstacks": ("", "work sync 3", [r"^    .*\n(    .*\n)*\d+ bytes in \d+ blocks, for [\d.ms]+\n", "bytes" + HIST]),
    "mountsnoop": ("", MOUNT, [r" mount +mount +- +none at \S+/m\n", r" umount +umount +- +\S+/m\n"]),
    "offcputime": ("-n work", "work nap 20", [r"^work\n( +\S+\n)+ +\S*nanosleep\S*\n( *\S*\n)+\d+ ms"]),
    "opensnoop": ("-n cat", "cat /etc/hostname /no/such >/dev/null 2>&1", [r"^ *\d+ cat +3 - +/etc/hostname\n", r" cat +-1 ENOENT +/no/such\n"]),
    "pfstat": ("-n work", "work map 50", [r" work +[1-9]\d+ +[1-9]\d* +\d+ +\d+\n"]),
    "pidpersec": ("1 1", "work fork 7; sleep 3", [r"20\d\d .* +[1-9]\d* +\d+\n"]),
    "procsystime": ("-n calls", "calls getppid 500", [r"^calls +getppid +500 +[1-9]\d*\n"]),
    "runqlat": ("-s", "work nap 50", [r"^work, us" + HIST]),
    "rwsnoop": ("-n cat", "cat /etc/hostname >/dev/null", [r" cat +R +\d+ /etc/hostname\n", r" cat +W +\d+ /dev/null\n"]),
    "rwtop": (LONG, "calls write 100", [r" calls +1\d\d +\d+ +1000\n"]),
    "setuids": ("", "setpriv --reuid 65534 --clear-groups true", [r" setpriv +0 setresuid +65534 -\n"]),
    "sigdist": ("", "sleep 60 & kill -10 $!; wait", [r"^sh +SIGUSR1 +s\w+ +[1-9]\d*\n"]),
    "stackcount": ("-l a.out inner", "chain 20", [r"^inner\n +\S*inner\S*\n +\S*middle\S*\n( +\S+\n)*20 call[s]\n"]),
    "statsnoop": ("-x -n stat", "stat /no/such 2>/dev/null", [r" stat +ENOENT +/no/such\n"]),
    "syncsnoop": ("-n work", "work sync 4", [r"(.* work +fsync +\d+ \S.*\n){4}"]),
    "syscount": ("-c -n calls", "calls getppid 500", [r"^getppid +500\n"]),
    "tcpaccept": ("", NET, [r"(?s)( \d+ python\S* +127\.0\.0\.1 +4721 127\.0\.0\.1 +\d+\n.*?){3}"]),
    "tcpconnect": ("", NET, [r"(?s)( \S+ +127\.0\.0\.1 +4721 +\d+ established\n.*?){3}", r" \S+ +127\.0\.0\.1 +4722 +\d+ refused\n"]),
    "tcplife": ("", NET, [r" \d+ python\S* +127\.0\.0\.1 +\d+ 127\.0\.0\.1 +4721 +2000 +\d+ +\d+\n"]),
    "tcpretrans": ("", NOBODY, [r"10\.79\.9\.2 +4741 syn-sent +0\n"]),
    "tcpsnoop": ("-P 4721", NET, [r"^out +127\.0\.0\.1 +\d+ 127\.0\.0\.1 +4721 +0 SYN", r"^in +127\.0\.0\.1 +4721 127\.0\.0\.1 +\d+ +2000 .*ACK\n"]),
    "tcptop": (LONG, NET, [r" \d+ python\S* +127\.0\.0\.1 +\d+ 127\.0\.0\.1 +4721 +2000 +0\n"]),
    "threadsnoop": ("", THREADS, [r" python3\S* +\d+\n( +\S+\n)+"]),
    "udpsnoop": ("-P 4753", UDP, [r"(^(out|in) +127\.0\.0\.1 +\d+ 127\.0\.0\.1 +4753 +100\n){6}"]),
    "xenstore-snoop": ("", XENSTORED, [r"^0 +\d+ +1 +XS_READ: /local/domain/6/name -> guest\n"]),
    "whowakes": ("-n work", "work lock 20", [r"^work +wakes work +\d+\n"]),
}
# a group of processes that may have 20 MB, and one that wants 60
MEMORY = next((d for d in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup") if os.path.exists(f"{d}/cgroup.procs")
               and (d.endswith("memory") or "memory" in open(f"{d}/cgroup.subtree_control").read())), None)
LIMIT = "memory.limit_in_bytes" if MEMORY and MEMORY.endswith("memory") else "memory.max"
OOM = (f"g={MEMORY}/fathom$$; mkdir $g && echo 20000000 >$g/{LIMIT}; echo 0 >$g/memory.swap.max 2>/dev/null; "
       "sh -c 'echo $$ >'$g'/cgroup.procs; exec /usr/bin/python3.11 -c \"x = bytearray(60 << 20)\"' 2>/dev/null; rmdir $g")
if MEMORY and os.access(MEMORY, os.W_OK):
    ROWS["oomkill"] = ("", OOM, [r" python3.11 +python3.11 \(process \d+\)\n"])
    ELSEWHERE = set()
else:
    print("oomkill is not run: no group of processes can be given less memory", file=sys.stderr)
    ELSEWHERE = {"oomkill"}
OPERANDS = {"pstack"}  # no scripts, but commands about their operands: e2e/stack/pstack
MEETS = {"hotstacks"}  # as in examples.py
TARGET = {"dtruss", "funccount", "funclatency", "stackcount", "mallocstacks"}


NO_DAEMON = "xenstore-snoop: no xenstored runs here"


# dtrace with a workload as its -c process, and dtrace that only compiles: written before there are threads, because a
# program that any process has open for writing cannot be executed
WITH_WORK, ONLY_COMPILE = f"{TMP}/with_work", f"{TMP}/only_compile"


def wrappers_write():
    for path, options in ((WITH_WORK, '-c "sh $WORK"'), (ONLY_COMPILE, "-e")):
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec $THROUGH {DTRACE} {options} "$@"\n')
        os.chmod(path, 0o755)


def run_command(argv, env):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                       env={**os.environ, **env})
    return p.returncode, p.stdout, p.stderr


def program_copy(program, path):
    """By another process: what this one has open for writing, a program that another thread starts at that moment has
    open, too, and a file that is open for writing cannot be executed."""
    subprocess.run(["cp", f"{TRIGGER}/{program}", path], check=True)


def run(name):
    args, work, wanted = ROWS[name]
    mine = lambda text: renamed(text, list(ROWS).index(name))
    args, work, wanted = mine(args), mine(work), [mine(w) for w in wanted]
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        for program in ("calls", "work", "chain"):
            program_copy(program, os.path.join(tmp, mine(program)))
        write_work(os.path.join(tmp, "w"), tmp, work)
        argv = ["commands/command", f"commands/{name}"] + args.split()
        env = {"DTRACE": WITH_WORK, "WORK": f"{tmp}/w", "THROUGH": f"{TRIGGER}/met" * (name in MEETS)}
        if name in TARGET:
            argv += (f"{tmp}/{work}" if not work.startswith("/") else work).split()
            env = {"DTRACE": DTRACE}
        code, out, err = output(argv, tmp, wanted if "held" in work else [], env)
        bad = [f"status {code}"] if code else []
        bad += [f"says: {l}" for l in err.split("\n") if l.startswith(("dtrace:", "hint:", name)) and not re.match(f"{EXCUSED}|{NO_DAEMON}", l)]
        bad += [f"does not match: {w}" for w in wanted if not re.search(w, out, re.M)]
    return [f"{name}: {b}" for b in bad[:5]] + [f"    |{l}" for l in (out + err).split("\n")[:40]] * bool(bad)


def members(name, args):
    """What --json calls the values of the command, by its comment."""
    with open(f"commands/{name}") as f:
        lines = re.findall(r"^ \* members(?: -(\w))?: (.*)", f.read(), re.M)
    given = "".join(a[1:] for a in args.split() if re.match(r"-[a-z]", a))
    return [names.split() for flag, names in lines if not flag or flag in given][-1]


def run_json(name):
    """The same workload: objects whose members have the columns' names, and values of the columns' types."""
    args, work, wanted = ROWS[name]
    mine = lambda text: renamed(text, list(ROWS).index(name))
    args, work, wanted = mine(args), mine(work), [mine(w) for w in wanted]
    names, bad = members(name, args), []
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        for program in ("calls", "work", "chain"):
            program_copy(program, os.path.join(tmp, mine(program)))
        write_work(os.path.join(tmp, "w"), tmp, work)
        argv = ["commands/command", f"commands/{name}", "--json"] + args.split()
        env = {"DTRACE": WITH_WORK, "WORK": f"{tmp}/w", "THROUGH": f"{TRIGGER}/met" * (name in MEETS)}
        if name in TARGET:
            argv += (f"{tmp}/{work}" if not work.startswith("/") else work).split()
            env = {"DTRACE": DTRACE}
        code, out, err = output(argv, tmp, [r'"time"'] if "held" in work else [], env)
    rows = [json.loads(line) for line in out.split("\n") if line.startswith('{"time"')]
    for row in rows:
        if list(row) != ["time", *names]:
            bad.append(f"{name} --json: members {list(row)}, want {names}")
    numbers = {"pid", "ppid", "us", "ms", "bytes", "calls", "times", "samples", "sent", "received", "fd", "by_pid", "thread"}
    for row in rows:
        bad += [f"{name} --json: {k} is {v!r}" for k, v in row.items() if isinstance(v, str) and k in numbers]
    if code or not rows:
        bad.append(f"{name} --json: status {code}, {len(rows)} objects: {out[:500]} {err[:500]}")
    return bad[:5]


def options(name):
    """What all commands have in common: help that fits a screen, options that are refused, JSON."""
    bad = []
    command = ["commands/command", f"commands/{name}"]
    code, out, err = run_command(command + ["-h"], {})
    lines = out.split("\n")
    if code or err or len(lines) > 24 or max(map(len, lines)) > 110 or not lines[0].startswith(f"{name} - ") or f"usage: {name}" not in out:
        bad.append(f"{name} -h: {code} {out} {err}")
    for args, why in ((["-Q"], "no option -Q"), (["--nope"], "no option --nope"), (["-d", "x", "a"], "-d needs a number")):
        code, out, err = run_command(command + args, {})
        if code != 2 or out or not err.startswith(f"{name}: ") or why not in err or f"{name} -h" not in err:
            bad.append(f"{name} {args}: {code} {out} {err}")
    if name not in TARGET:  # the script compiles, with the options that dtrace is given
        code, out, err = run_command(command + ["-d", "1", "--json"], {"DTRACE": ONLY_COMPILE})
        if code or re.sub(f"{NO_DAEMON}.*\n", "", err):
            bad.append(f"{name}: {err}")
    text = open(f"commands/{name}").read()
    if not re.match(rf"#!/usr/lib/fathom/command\n/\* SPDX[^\n]*\n/\*\n \* {name} - \S", text) or "\n * example: " not in text or \
            not os.access(f"commands/{name}", os.X_OK):
        bad.append(f"{name}: its comment has no title or no example, or it cannot be executed")
    return bad


def numbers_check():
    """Numbers are decimal, however they are written, and reach the script as that; a duration of 0 is refused."""
    bad = []
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        with open(f"{tmp}/shows", "w") as f:
            f.write('#!/bin/sh\nprintf "[%s]" "$@"\n')
        os.chmod(f"{tmp}/shows", 0o755)
        for args, wanted in (("fileslower -m 08", "[8]"), ("fileslower -m 010", "[10]"), ("fileslower -m 000", "[0]"), ("fileslower -p 0099", "[99]"),
                             ("syscount -d 08", "[tick-8s { exit(0); }]"), ("bitesize 09 08", "[tick-9s /++reports_printed == 8/ { exit(0); }]")):
            name, *rest = args.split()
            code, out, err = run_command(["commands/command", f"commands/{name}", *rest], {"DTRACE": f"{tmp}/shows"})
            if code or err or wanted not in out:
                bad.append(f"{args}: {code} {out}{err}, want {wanted}")
        for args, why in (("syscount -d 0", "-d needs a number of seconds from 1, not '0'"), ("syscount -d 00", "-d needs a number of seconds from 1"),
                          ("bitesize 0", "'0' is no number of seconds"), ("bitesize 1 00", "'00' is no number of reports"), ("fileslower -m 0x10", "-m needs a number, not '0x10'"),
                          ("fileslower -m 1234567890", "-m needs a number"), ("fileslower x", "unexpected argument 'x'"), ("stackcount", "missing ")):
            name, *rest = args.split()
            code, out, err = run_command(["commands/command", f"commands/{name}", *rest], {"DTRACE": f"{tmp}/shows"})
            if code != 2 or out or why not in err:
                bad.append(f"{args}: {code} {out}{err}, want {why}")
    return bad


def arguments_check():
    """Options stand anywhere, and words of a command reach it as they are; what is printed of a table has a limit."""
    bad = []
    nasty = ["sh", "-c", "echo hi", "a b", "", "it's", "'", "back\\slash", "new\nline", "$HOME", "*", '"q"', "-d", "--json", "--", "tab\t"]
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        with open(f"{tmp}/shows", "w") as f:
            f.write('#!/bin/sh\nprintf "%s\\0" "$@"\n')
        os.chmod(f"{tmp}/shows", 0o755)

        def told(*words, env=None):
            code, out, err = run_command(["commands/command", f"commands/{words[0]}", *words[1:]], {"DTRACE": f"{tmp}/shows", **(env or {})})
            return out.split("\0")[:-1] if code == 0 and not err else f"status {code}: {err}"

        def same(one, *others):
            for other in others:
                if told(*one.split()) != told(*other.split()) or isinstance(told(*one.split()), str):
                    bad.append(f"{one}: {told(*one.split())}\n{other}: {told(*other.split())}")

        same("funccount -p 5 -l a.out f*", "funccount f* -p 5 -l a.out", "funccount -l a.out f* -p5", "funccount -p 5 -l a.out -- f*")
        same("syscount -c -p 5 2 3", "syscount 2 -c 3 -p 5", "syscount 2 3 -cp5", "syscount -cp 5 -- 2 3")
        same("opensnoop -xt -n a", "opensnoop -n a -x -t")
        same("dtruss -e -p 5 --json", "dtruss --json -p5 -e")
        same("funccount -d 3 f ls -l", "funccount f -d 3 ls -l")
        for words, why in ((["dtruss", "-p", "5", "ls"], "-p and a command exclude each other"), (["dtruss"], "missing -p PID or a command"),
                           (["funccount", "-p", "5"], "missing FUNCTION"), (["opensnoop", "-p", "0"], "-p needs the id of a process"), (["opensnoop", "-"], "unexpected argument '-'"),
                           (["syscount", "1", "2", "3"], "unexpected argument '3'"), (["syscount", "--", "-c"], "'-c' is no number"), (["opensnoop", "-r", "3"], "no option -r")):
            if why not in told(*words):
                bad.append(f"{words}: {told(*words)}, want {why}")
        got = told("dtruss", "-e", *nasty)
        if got[:2] != ["-x", "quiet"] or shlex.split(got[got.index("-c") + 1]) != nasty:
            bad.append(f"dtruss: {got}")
        for words, wanted in ((["whowakes"], "toprows=50"), (["whowakes", "-r", "7"], "toprows=7"), (["whowakes", "-r", "0"], None), (["whowakes", "--json"], None),
                              (["whowakes", "--json", "-r7"], "toprows=7"), (["opensnoop"], None), (["hotkernel", "--json", "-m"], "rownames=module,samples"),
                              (["hotkernel", "--json"], "rownames=function,samples")):
            options_of = [a for a in told(*words, env={"set_m": "1"}) if a.startswith(("toprows=", "rownames=" if "hotkernel" in words else "-"))]
            if wanted not in options_of if wanted else any("toprows" in o for o in options_of):
                bad.append(f"{words}: {options_of}, want {wanted}")
        with open(f"{tmp}/args", "w") as f:
            f.write('#!/bin/sh\nprintf "<%s>" "$@"\n')
        os.chmod(f"{tmp}/args", 0o755)
        code, out, err = run_command(["commands/command", "commands/dtruss", "-f", "execve", f"{tmp}/args", *nasty], {"DTRACE": DTRACE})
        if code or "".join(f"<{w}>" for w in nasty) not in out:
            bad.append(f"dtruss: {code} {out}{err}")
        code, out, err = run_command(["commands/command", "commands/dtruss", "sh", "-c", "echo hi"], {"DTRACE": DTRACE})
        if code or not re.search(r"^hi$", out, re.M) or "write(0x1, " not in out:
            bad.append(f"dtruss sh -c 'echo hi': {code} {out}{err}")
    return bad


def usage_check():
    """What the comments show under "example:" is taken by the options, and so is the usage with its operands behind."""
    bad = []
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        with open(f"{tmp}/shows", "w") as f:
            f.write("#!/bin/sh\n")
        os.chmod(f"{tmp}/shows", 0o755)
        for name in sorted(ROWS):
            with open(f"commands/{name}") as f:
                text = f.read()
            usage, example = (re.search(rf"^ \* {what}: (.*)", text, re.M).group(1) for what in ("usage", "example"))
            operands = usage.replace("{-p PID | COMMAND}", "-p 5").replace("[SECONDS [COUNT]]", "1 2")
            given = re.sub(r"\[(-\w)( [A-Z]+)?\]", lambda m: m[1] + (" 1" if m[2] else ""), operands)
            for line in (example, given):
                code, out, err = run_command(["commands/command", f"commands/{name}", *shlex.split(line)[1:]], {"DTRACE": f"{tmp}/shows"})
                if code or re.sub(f"{NO_DAEMON}.*\n", "", err) or shlex.split(line)[0] != name:
                    bad.append(f"{line}: {code} {out}{err}")
    return bad


def json_check():
    """-p, -t, operands and letters that stand together, with --json and without; a limit of rows."""
    bad = []
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        with open(os.path.join(tmp, "w"), "w") as f:
            f.write('cat "/no/such" /etc/hostname >/dev/null 2>&1\n')
        run_json = lambda *args: run_command(["commands/command", *args], {"DTRACE": WITH_WORK, "WORK": f"{tmp}/w"})
        code, out, err = run_json("commands/opensnoop", "-n", "cat", "--json", "-t")
        rows = [json.loads(line) for line in out.splitlines()]
        if code or not any((r["path"], r["error"], r["fd"], r["program"]) == ("/no/such", "ENOENT", -1, "cat") for r in rows) or any(type(r["pid"]) is not int for r in rows):
            bad.append(f"--json: {out}{err}")
        code, out, err = run_json("commands/opensnoop", "-xtncat")
        if code or not re.search(r"^20\d\d \w+ +\d+ [\d:]+ +\d+ cat +-1 ENOENT +/no/such\n", out, re.M) or "hostname" in out:
            bad.append(f"-xtncat: {out}{err}")
        code, out, err = run_json("commands/opensnoop", "-p", "1")
        if code or "/no/such" in out:
            bad.append(f"-p: {out}{err}")
        code, out, err = run_json("commands/opensnoop", "-f", 'a"; exit(3); "b')
        if code or err:
            bad.append(f"-f with quotes: {code} {out}{err}")
        code, out, err = run_json("commands/syscount", "-c", "-n", "cat", "-r", "2")
        if code or not re.fullmatch(r"(\w+ +\d+\n){2}\.\.\. \d+ more rows, sum \d+\n\n?", out):
            bad.append(f"-r 2: {out}{err}")
        code, out, err = run_json("commands/syscount", "-c", "-n", "cat", "-r", "2", "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        if code or [set(r) - {"time"} for r in rows] != [{"call", "calls"}] * 2 + [{"rows_left_out", "calls"}]:
            bad.append(f"-r 2 --json: {out}{err}")
        code, out, err = run_json("commands/killsnoop", "-n", "cat")
        if code or re.search(r"^ *\d+ cat ", out, re.M):
            bad.append(f"killsnoop shows SIGCHLD: {out}{err}")
        code, out, err = run_json("commands/killsnoop", "-an", "cat")
        if code or not re.search(r"^ *\d+ cat +SIGCHLD +\d+ sh$", out, re.M):
            bad.append(f"killsnoop -a: {out}{err}")
    return bad


def spoof_check():
    """The name of a file makes no line of its own, also in a pipe; the environment's DTRACE_OPT_ESCAPE has it as it is."""
    bad = []
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        with open(os.path.join(tmp, "w"), "w") as f:
            f.write("cat '/no\033/nope\n  0  1 root  /etc/shadow' 2>/dev/null; true\n")
        for name, escape, want in (("opensnoop", {}, r"/no\033/nope\n  0  1 root  /etc/shadow"),
                                   ("opensnoop", {"DTRACE_OPT_ESCAPE": "never"}, "/no\033/nope\n  0  1 root  /etc/shadow"),
                                   ("execsnoop", {}, r" cat /no\033/nope\n  0  1 root  /etc/shadow")):
            code, out, err = run_command(["commands/command", f"commands/{name}"], {"DTRACE": WITH_WORK, "WORK": f"{tmp}/w", **escape})
            if code or want not in out or ("\n  0  1 root" in out or "\033" in out) != bool(escape):
                bad.append(f"{name}, a hostile path, {escape}: {out}{err}")
    return bad


def main():
    wrappers_write()
    names = sorted(f for f in os.listdir("commands") if f not in ("command", "page.py", "meson.build"))
    wrong = [f"{n}: is in one of commands/ and the table only" for n in set(names) ^ (set(ROWS) | ELSEWHERE | OPERANDS)]
    chosen = [n for n in names if sys.argv[1:2] in ([], [n])]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for bad in pool.map(run, [n for n in chosen if n in ROWS]):
            wrong += bad
        for bad in pool.map(run_json, [n for n in chosen if n in ROWS]):
            wrong += bad
        for bad in pool.map(options, [n for n in chosen if n not in OPERANDS]):
            wrong += bad
    wrong += json_check()
    wrong += spoof_check()
    wrong += numbers_check()
    wrong += arguments_check()
    wrong += usage_check()
    with open("doc/guide/commands.md") as f:
        guide = f.read()
    for name in names:
        with open(f"commands/{name}") as f:
            title = re.search(rf" \* {name} - (.*)", f.read()).group(1)
        if f"| `{name}` | {title} |" not in guide:
            wrong.append(f"doc/guide/commands.md does not have | `{name}` | {title} |")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
