# Code that a process or its debugger has changed is not probed: the process would execute something else.
exec python3 - <<'END'
import os, shutil, signal, subprocess, sys

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
bad = []


def dtrace(program, pid):
    p = subprocess.Popen([DTRACE, "-qn", program + ' tick-20ms { printf("on\\n"); }', "-p", str(pid)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return p, p.stdout.readline()


p = subprocess.Popen([f"{TRIGGER}/patched"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
before, after = p.stdout.readline(), p.stdout.readline()
if (before, after) != ("2222 1111\n", "3333 1111\n"):
    bad.append(f"the program cannot change itself: {before!r} {after!r}")
# asked for by name: refused
d, line = dtrace("pid$target:patched:p_two:entry { @ = count(); }", p.pid)
out, err = d.communicate()
if line or d.returncode != 1 or "has changed its code" not in err:
    bad.append(f"p_two:entry: {d.returncode} {line!r} {err}")
# a pattern: the others are probed, and what is left out is told
d, line = dtrace("pid$target:patched:p_*:entry { @[probefunc] = count(); } END { printa(\"%s %@d\\n\", @); }", p.pid)
p.stdin.write("\n\n"), p.stdin.flush()
lines = [p.stdout.readline() for _ in range(2)]
d.send_signal(signal.SIGINT)
out, err = d.communicate()
if lines != ["3333 1111\n"] * 2:
    bad.append(f"the program says {lines}")
if "p_one 2" not in out or "p_two" in out:
    bad.append(f"p_*:entry: {out!r} {err}")
told = subprocess.run([DTRACE, "-n", "pid$target:patched:p_*:entry { @ = count(); } tick-20ms { exit(0); }", "-p", str(p.pid)],
                      capture_output=True, text=True)
if "1 place in 'patched' is left out" not in told.stderr:
    bad.append(told.stderr)
p.stdin.close()
if p.wait():
    bad.append(f"the program ended with {p.returncode}")

if shutil.which("gdb"):
    p = subprocess.Popen([f"{TRIGGER}/funcs", "1", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    gdb = subprocess.Popen(["gdb", "-nx", "-q", "-p", str(p.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, env=dict(os.environ, DEBUGINFOD_URLS=""))
    gdb.stdin.write("set breakpoint always-inserted on\nset pagination off\nbreak *f_pair\necho set\\n\n"), gdb.stdin.flush()
    for line in gdb.stdout:
        if line.rstrip().endswith("set"):
            break
    d, line = dtrace("pid$target:funcs:f_pair:entry { @ = count(); }", p.pid)
    out, err = d.communicate()
    if "being debugged" not in err:
        bad.append(f"gdb's breakpoint: {line!r} {err}")
    gdb.stdin.write("delete\ndetach\nquit\n"), gdb.stdin.close()
    gdb.wait()
    out, _ = p.communicate("\n")
    if p.returncode or not out.startswith("sum"):
        bad.append(f"the debugged program: {p.returncode} {out!r}")
for text in bad:
    print(text)
sys.exit(bool(bad))
END
