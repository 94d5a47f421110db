# SPDX-License-Identifier: MIT
# dtrace_proc: stacks of languages and the probes that programs have, of one's own processes only; helpers of others than the system's are not used.
import os, shutil, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PATIENCE = int(os.environ.get("PATIENCE", "1"))
PYTHON = "/usr/bin/python3"
ALICE, BOB = 64011, 64012
PROC = f"privileges={ALICE}:dtrace_user,dtrace_proc"
if not shutil.which("setpriv") or not os.path.exists(PYTHON):
    print("needs setpriv and /usr/bin/python3")
    sys.exit(67)
os.chmod(TMP, 0o755)
open(f"{TMP}/loop.py", "w").write("import os, sys\ndef inner():\n    os.getppid()\ndef outer():\n    while True:\n        inner()\nprint('runs', flush=True)\nouter()\n")
open(f"{TMP}/helper.d", "w").write('dtrace:helper:ustack:\n{\n\tmy = "from a helper";\n}\n')
bad = []


def start(uid):
    p = subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sh", "-c", 'exec "$@"', "sh", PYTHON, f"{TMP}/loop.py"],
                         stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p


def run(*args):
    r = subprocess.run([DTRACE, *args], capture_output=True, text=True, timeout=120 * PATIENCE)
    if r.returncode:
        bad.append(f"{args}: {r.stderr}")
    return r


def stacks(times, *args):
    """The result of a run that has met the processes for long enough to know their tables, on a machine that may be busy."""
    for _ in range(20):
        r = run(*args)
        if r.stdout.count("(inner)") >= times:
            break
    return r


own, other = start(ALICE), start(BOB)
try:
    stack = "syscall::getppid:entry /pid == %d || pid == %d/ { @[pid, jstack(20)] = count(); seen[pid]++; }" % (own.pid, other.pid)
    ends = "tick-10hz /seen[%d] > 1000%s/ { exit(0); }"
    r = stacks(2, "-q", "-n", stack + ends % (own.pid, f" && seen[{other.pid}] > 1000"))
    if r.stdout.count("(inner)") < 2:
        bad.append(f"root: {r.stdout}")
    r = stacks(1, "-q", "-x", PROC, "-n", stack + ends % (own.pid, ""))
    if "loop.py:3 (inner)" not in r.stdout or str(own.pid) not in r.stdout or str(other.pid) in r.stdout:
        bad.append(f"stacks: {r.stdout} {r.stderr}")
    r = subprocess.run([DTRACE, "-x", PROC, "-x", f"helper={TMP}/helper.d", "-n", "BEGIN { exit(0); }"], capture_output=True, text=True, timeout=120 * PATIENCE)
    if r.returncode != 1 or "Option helper needs dtrace_kernel" not in r.stderr:
        bad.append(f"-x helper: {r.stdout} {r.stderr}")
    r = run("-q", "-x", PROC, "-x", "inproc=auto", "-n", f"pid{own.pid}::getppid:entry {{ n++; }} tick-10hz /n > 100/ {{ exit(0); }}")
    if "option inproc needs proc_owner" not in r.stderr:
        bad.append(f"-x inproc: {r.stderr}")
    providers = lambda text: {line.split()[1] for line in text.splitlines()[1:] if len(line.split()) > 1}
    both = {f"python{own.pid}", f"python{other.pid}"}
    if both <= providers(run("-l", "-P", "python*").stdout):  # this Python has probes
        r = run("-x", PROC, "-l", "-P", "python*")
        if providers(r.stdout) != {f"python{own.pid}"}:
            bad.append(f"listing: {providers(r.stdout)}")
        r = subprocess.run([DTRACE, "-x", PROC, "-n", "python*:::function-entry { n++; }"], capture_output=True, text=True, timeout=120 * PATIENCE)
        if r.returncode != 1 or "processes of all users, which needs proc_owner: name the process" not in r.stderr:
            bad.append(f"python*: {r.stdout} {r.stderr}")
        r = run("-q", "-x", PROC, "-n", f"python{own.pid}:::function-entry {{ @[pid] = count(); n++; }} tick-10hz /n > 1000/ {{ exit(0); }}")
        if r.stdout.split()[0::2] != [str(own.pid)]:
            bad.append(f"python of the own process: {r.stdout}")
finally:
    for p in (own, other):
        p.kill()
        p.wait()
print("\n".join(bad))
sys.exit(len(bad) > 0)
