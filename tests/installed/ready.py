# SPDX-License-Identifier: MIT
"""Each ready-made command: started by its name, on a workload that is known, it prints what its comment promises (tests/e2e/cmd/commands.py has the table)."""
import functools, glob, os, subprocess

from suite import Failed, Skip, WANTED, expect, run, test
from workloads import commands, trigger

# commands.py runs what stands in commands/ of the current folder
os.makedirs("/tmp/tree/commands")
os.symlink("/usr/lib/fathom/command", "/tmp/tree/commands/command")
NAMES = sorted(n for n in (os.path.basename(p) for p in glob.glob(f"{WANTED}/commands/*")) if "." not in n and n != "command")
for name in NAMES:
    os.symlink(f"/usr/sbin/{name}", f"/tmp/tree/commands/{name}")
os.chdir("/tmp/tree")


def command(name):
    expect(run([name, "-h"])[1], rf"\A{name} - .", rf"^usage: {name}")
    if name in commands.OPERANDS:
        with subprocess.Popen(["sleep", "60"]) as p:
            out = run([name, str(p.pid)])[1]
            p.kill()
        expect(out, rf"\A{p.pid}:\tsleep 60\n-+  thread {p.pid} \(sleep\).*\n( +\S+\n)*    sleep`")
        return
    if name in commands.ELSEWHERE:
        raise Skip("no group of processes can be given less memory")
    if name not in commands.ROWS:
        raise Failed("tests/e2e/cmd/commands.py has no workload for it")
    trigger()
    bad = commands.run(name)
    if bad:
        raise Failed("\n".join(bad))


commands.wrappers_write()  # before there are threads
for name in NAMES:
    test(f"commands/{name}")(functools.partial(command, name))
