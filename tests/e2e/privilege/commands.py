# SPDX-License-Identifier: MIT
"""Each command of commands/ works with the levels that its line "needs:" names, shows alice's work, and says which level is missing where one is."""
import concurrent.futures, re
from world import *

enter()
WORK = """
import os, signal, socket, subprocess, threading, time
signal.signal(signal.SIGUSR1, lambda *a: None)
server = socket.create_server(("127.0.0.1", 0))
while True:
    with open("/etc/hostname") as f: f.read()
    os.stat("/etc/hostname"); os.getppid(); os.kill(os.getpid(), signal.SIGUSR1)
    try: os.close(99)
    except OSError: pass
    with open("scratch", "w") as f: f.write("x" * 100000); f.flush(); os.fsync(f.fileno())
    subprocess.call(["/bin/true", "of-alice"])
    t = threading.Thread(target=sum, args=(range(300000),)); t.start(); t.join()
    socket.create_connection(server.getsockname()).close(); server.accept()[0].close()
    time.sleep(0.002)
"""
COMMANDS = f"{HOME}/commands"
shutil.copytree(f"{SRC}/commands", COMMANDS)
subprocess.run(["chmod", "-R", "a+rX", COMMANDS], check=True)
ALL = "dtrace_user", "dtrace_proc", "dtrace_kernel", "proc_owner"
work = subprocess.Popen(["/usr/bin/python3", "-c", WORK], stdin=subprocess.DEVNULL, env=ENV, **user(ALICE))
PID = str(work.pid)
# how it is called where that is not by -d alone, and what alice's process has it show
ARGS = {"pstack": [PID], "dtruss": ["-p", PID], "funccount": ["getppid", "-p", PID], "funclatency": ["getppid", "-p", PID], "stackcount": ["getppid", "-p", PID], "mallocstacks": ["-p", PID],
        "hotuser": ["-p", PID], "syscount": ["-c"], "xenstore-snoop": []}
SHOWN = {"cpudist": r"-+ Distribution -+", "cswstat": r"20\d\d .*\d", "dtruss": r"/etc/hostname", "errinfo": r"python3\S* +close +EBADF", "execsnoop": r"/bin/true of-alice",
         "filetop": r"/scratch|/etc/hostname", "opensnoop": r"/etc/hostname", "pidpersec": r"20\d\d .*\d", "procsystime": r"getppid|close",
         "rwsnoop": r"python3.*hostname", "rwtop": r"python3", "statsnoop": r"/etc/hostname", "syncsnoop": r"fsync", "syscount": r"getppid|close", "funccount": r"getppid +\d+",
         "funclatency": r"getppid, ns", "hotstacks": r"\d+ samples", "hotuser": r"python3", "mallocstacks": r"bytes in \d+ blocks", "stackcount": r"getppid", "pstack": r"python3|\+0x|main",
         "offcputime": r"\d+ ms", "exitsnoop": r"true", "killsnoop": r"SIGUSR1", "sigdist": r"SIGUSR1", "threadsnoop": r"python3", "whowakes": r"python3", "pfstat": r"python3"}
OTHERS = {"setuids", "fileslower", "mountsnoop", "oomkill", "hotkernel", "tcpaccept", "biolatency", "bitesize", "iosnoop", "iotop-dtrace", "intrtime", "lockcontention", "runqlat", "tcpconnect", "tcplife",
          "tcpretrans", "tcpsnoop", "tcptop", "udpsnoop", "xenstore-snoop"}  # they trace, but what they show is not alice's to cause


def header(name):
    with open(f"{COMMANDS}/{name}") as f:
        return re.search(r"^ \* needs: (.*)$", f.read(), re.M).group(1)


def run_command(name, *more):
    flags = [] if name in ("pstack", "xenstore-snoop") else ["-d", "2"]
    return run(ALICE, ["sh", f"{COMMANDS}/command", f"{COMMANDS}/{name}", *flags, *ARGS.get(name, []), *more], env={"DTRACE": DTRACE})


def works(name):
    if name == "xenstore-snoop":  # it has no -d SECONDS
        r = run(ALICE, ["timeout", "-s", "INT", "5", "sh", f"{COMMANDS}/command", f"{COMMANDS}/{name}"], env={"DTRACE": DTRACE})
        check(r.returncode in (0, 124) and "needs" not in r.stderr, f"{name} with {header(name)}", r)
        return
    r = run_command(name)
    for _ in range(3):
        if re.search(SHOWN.get(name, ""), r.stdout):
            break
        r = run_command(name)
    check(r.returncode == 0 and "needs" not in r.stderr, f"{name} with {header(name)}", r)
    check(re.search(SHOWN.get(name, ""), r.stdout), f"{name} shows alice's work: {SHOWN.get(name)}", r)


def refuses(name, lacking):
    r = run_command(name)
    said = f"{name}: needs {header(name)}; you are "
    check(r.returncode == 1 and r.stderr.startswith(said) and lacking not in r.stderr[len(said):].split("(")[0] and "\nhint: " in r.stderr and r.stderr.count("\n") == 2 and not r.stdout,
          f"{name} without {lacking}", r)


names = sorted(n for n in os.listdir(COMMANDS) if n not in ("command", "meson.build", "page.py"))
check(set(names) == set(SHOWN) | OTHERS, "the tables here have every command", set(names) ^ (set(SHOWN) | OTHERS))
needs = {name: header(name) for name in names}
try:
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for given in sorted(set(needs.values())):
            levels("" if given == "none" else f"user {ALICE}: {given}\n")
            list(pool.map(works, [n for n in names if needs[n] == given]))
        for lacking in ALL:
            have = [level for level in ALL if level != lacking and not (level == "dtrace_kernel" and lacking in ("dtrace_user", "dtrace_proc"))]
            levels(f"user {ALICE}: {', '.join(have)}\n")
            list(pool.map(lambda n: refuses(n, lacking), [n for n in names if lacking in needs[n]]))
        levels("")
        list(pool.map(lambda n: refuses(n, "dtrace_"), [n for n in names if needs[n] != "none"]))
    for name in names:
        r = run(ALICE, ["sh", f"{COMMANDS}/command", f"{COMMANDS}/{name}", "--help"], env={"DTRACE": DTRACE})
        check(("no level of privilege" if needs[name] == "none" else f"of privilege {needs[name]} (fathom-privileges(5))") in r.stdout, f"{name} --help", r)
    levels(f"user {ALICE}: dtrace_user\n")
    r = run(ALICE, ["sh", f"{COMMANDS}/command", f"{COMMANDS}/opensnoop", "-d", "1"], env={"DTRACE": DTRACE, "DTRACE_OPT_ESCAPE": "never"})
    check(r.returncode == 0, "an option of the environment that commands heed", r)
finally:
    work.kill()
    work.wait()
done()
