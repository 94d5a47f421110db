# SPDX-License-Identifier: MIT
"""pstack, on programs whose stacks are known: all threads of each runtime, alive and from a core file, in other namespaces; its refusals; what
is left behind."""
import ctypes, json, os, re, shutil, signal, subprocess, sys

from helpertrace import PATIENCE, TMP, language_frames, read, report, stacks, until, write
from readers import MADE_BY, PROGRAMS, reader, threads

PSTACK = [os.environ["SRC"] + "/commands/command", os.environ["SRC"] + "/commands/pstack"]
RUNTIMES = {  # name: command, frames of the language at least
    "C": (["./toy"], 0),
    "Python": (["/usr/bin/python3.11", "p.py"], 5),
    "Perl": (["perl", "p.pl"], 4),
    "Ruby": (["ruby", "p.rb"], 8),
    "PHP": (["php", "p.php"], 5),
    "Lua": (["lua5.4", "p.lua"], 4),
    "LuaJIT": (["luajit", "p.lua"], 4),
    "Node.js": (["node", "p.js"], 6),
    "Java": (["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "P"], 5),
}
CORES = {"C", "Python", "Perl", "Ruby", "PHP", "Lua", "LuaJIT"}  # gcore writes small files
MORE = {
    "threads.py": """
import os, sys, threading
sys.setrecursionlimit(9999)
ready = threading.Barrier(5)
def work(n):
    if n: return work(n - 1)
    ready.wait()
    threading.Event().wait()
for i in range(4): threading.Thread(target=work, args=(2000 if i == 3 else 3,), daemon=True).start()
ready.wait()
print("ready", flush=True)
os.read(0, 1)
""",
    "leader.c": """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *other(void *arg) { char c; puts("ready"); fflush(stdout); _exit((int)read(0, &c, 1)); return arg; }
int main(void) { pthread_t t; pthread_create(&t, NULL, other, NULL); pthread_exit(NULL); }
""",
    "many.c": """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *other(void *arg) { for (;;) pause(); return arg; }
int main(void)
{
	pthread_t t;
	char c;

	for (int i = 0; i < 300; i++) pthread_create(&t, NULL, other, NULL);
	puts("ready");
	fflush(stdout);
	return (int)read(0, &c, 1) + 6;
}
""",
}
bad = []


def expect(what, good, text=""):
    if not good:
        bad.append(f"{what}: {text}")


def pstack(*args, before=(), status=0):
    run = subprocess.run([*before, *PSTACK, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * PATIENCE)
    expect(f"pstack {args}", run.returncode == status, f"status {run.returncode}, {run.stdout[:500]} {run.stderr}")
    return run.stderr if status else run.stdout


def program(command, **more):
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    expect(f"{command}", p.stdout.readline() == "ready\n", "does not begin")
    return p


def parts(text):
    """The stack of each thread, as lists of frames, and what is said of it."""
    found, said = {}, {}
    for line in text.splitlines():
        if m := re.fullmatch(r"-+  thread (\d+)(.*)  -+", line):
            found[int(m[1])], said[int(m[1])] = [], m[2]
        elif found:
            list(found.values())[-1].append(line.strip())
    return found, said


def runtime_check(name, command, least):
    with program(command) as p:
        try:
            tid = until(lambda: reader(p.pid))
            known = [line.strip() for line in stacks(report(tid), tid)[tid]]
            live, _ = parts(pstack(p.pid))
            expect(name, sorted(live) == sorted(threads(p.pid)), f"threads {sorted(live)}")
            expect(name, live.get(tid) == known and language_frames(known) >= least, "\n".join([f"{live.get(tid)}", "not", *known]))
            for other, stack in live.items():
                expect(f"{name}, thread {other}", stack and not stack[-1].startswith("("), "\n".join(stack[-5:]))
            alone, _ = parts(pstack(f"{p.pid}/{tid}"))
            expect(name, alone == {tid: known}, f"one thread: {alone}")
            if name in CORES and shutil.which("gcore"):
                subprocess.run(["gcore", "-o", "made", str(p.pid)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300 * PATIENCE)
                dead, _ = parts(pstack(f"made.{p.pid}"))
                expect(f"{name}, core file", dead == live, f"{dead}\nnot {live}")
                alone, _ = parts(pstack(f"./made.{p.pid}/{tid}"))
                expect(f"{name}, core file", alone == {tid: known}, f"one thread: {alone}")
                os.unlink(f"made.{p.pid}")
        finally:
            p.kill()


def threads_check():
    """All threads, a deep one whole, equal ones together, and the same as JSON."""
    with program(["/usr/bin/python3.11", "threads.py"]) as p:
        text = pstack(p.pid)
        live, said = parts(text)
        depths = sorted(sum("(work) ]" in f for f in stack) for stack in live.values())
        expect("threads", text.startswith(f"{p.pid}:\t/usr/bin/python3.11 threads.py\n") and len(live) == 5 and depths == [0, 4, 4, 4, 2001], f"{depths} {text[:300]}")
        expect("threads", all(s == " (python3.11), sleeping" for s in said.values()), said)
        objects = [json.loads(line) for line in pstack("--json", p.pid, p.pid).splitlines()]
        expect("JSON", len(objects) == 2 and all(o["pid"] == p.pid and o["command"] == "/usr/bin/python3.11 threads.py" for o in objects), objects)
        for t in objects[0]["threads"]:
            frames = [f"[ {f['symbol']} ]" if f["kind"] == "language" else f["symbol"] for f in t["frames"]]
            expect("JSON", frames == live[t["tid"]] and t["state"] == "sleeping" and "cut" not in t, f"{frames[:9]} {live[t['tid']][:9]}")
        heads = [line for line in pstack("-g", p.pid).splitlines() if line.startswith("---")]
        expect("equal stacks", len(heads) == 3 and max(h.count("; ") for h in heads) == 2, heads)
        p.kill()


def refusals_check():
    with program(["./toy"]) as p:
        tracer = os.fork()
        if not tracer:  # PTRACE_SEIZE, and then it sleeps until it is killed
            ok = ctypes.CDLL(None).ptrace(0x4206, ctypes.c_long(p.pid), None, None) == 0
            os.write(2, b"") if ok else os._exit(1)
            signal.pause()
        expect("tracer", until(lambda: f"TracerPid:\t{tracer}\n" in read(f"/proc/{p.pid}/status")), "")
        said = pstack(p.pid, status=1)
        expect("traced", f"process {tracer} (" in said and ") traces it\nhint: " in said, said)
        os.kill(tracer, signal.SIGKILL)
        os.waitpid(tracer, 0)
        said = pstack(p.pid, before=["setpriv", "--reuid", "65534", "--clear-groups"], status=1)
        expect("another user's", "hint: " in said and "user 0" in said, said)
        said = pstack(f"{p.pid}/1", status=1)
        expect("no thread", f"there is no thread 1 in process {p.pid}" in said, said)
        said = pstack("nothing", p.pid, status=1)
        expect("several", "'nothing' is no process id, and no core file" in said and len(said.splitlines()) == 2, said)
        p.send_signal(signal.SIGSTOP)
        expect("stops", until(lambda: "State:\tT" in read(f"/proc/{p.pid}/status")), "")
        _, states = parts(pstack(p.pid))
        expect("stopped", list(states.values()) == [" (toy), stopped"] * 2 and "State:\tT" in read(f"/proc/{p.pid}/status"), states)
        p.send_signal(signal.SIGCONT)
        p.kill()
        expect("ends", until(lambda: "State:\tZ" in read(f"/proc/{p.pid}/status")), "")
        said = pstack(p.pid, status=1)
        expect("zombie", "it is a zombie" in said and f"process {os.getpid()}" in said, said)
    said = pstack(p.pid, status=1)
    expect("gone", f"there is no process or thread {p.pid}" in said, said)
    said = pstack("toy.c", status=1)
    expect("no core file", "'toy.c' is no core file" in said, said)


def first_thread_check():
    """The first thread has ended, and the process lives."""
    with program(["./leader"]) as p:
        expect("leader", until(lambda: "State:\tZ" in read(f"/proc/{p.pid}/status")), "")
        text = pstack(p.pid)
        live, _ = parts(text)
        expect("leader", live.pop(p.pid) == ["(it has ended)"] and len(live) == 1 and "\nthe first thread of the process has ended" in text, text)
        p.kill()


def namespaces_check():
    """A process with other numbers, and with files that are not there outside."""
    script = ("mount -t tmpfs none " + TMP + "/inner && cp /usr/bin/python3.11 " + TMP + "/inner/snake && cd " + TMP + "/inner && cp ../p.py . && "
              "exec ./snake p.py")
    os.makedirs("inner", exist_ok=True)
    with program(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]) as p:
        pid = int(read(f"/proc/{p.pid}/task/{p.pid}/children").split()[0])
        live, said = parts(pstack(pid))
        expect("namespaces", said == {pid: " = 1 in its container (snake), sleeping"}, said)
        expect("namespaces", sum("p.py:" in f for f in live[pid]) >= 5 and any(f.startswith("snake`Py_") for f in live[pid]), live)
        p.kill()


def killed_check():
    """pstack is killed while all threads stand still: they go on."""
    with program(["./many"]) as p:
        caught = 0
        while caught < 3:
            with subprocess.Popen([*PSTACK, str(p.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as shower:
                while shower.poll() is None and f"TracerPid:\t{shower.pid}\n" not in read(f"/proc/{p.pid}/status"):
                    pass
                caught += shower.poll() is None
                shower.kill()
        free = lambda: all("TracerPid:\t0\n" in s and "State:\tS" in s for s in (read(f"/proc/{p.pid}/task/{t}/status") for t in threads(p.pid)))
        expect("killed", until(free), read(f"/proc/{p.pid}/status"))
        expect("killed", len(parts(pstack(p.pid))[0]) == 301, "not all threads")
        p.stdin.write("x")
        p.stdin.close()
        expect("killed", p.wait() == 7, f"status {p.returncode}")


def main():
    os.chdir(TMP)
    write({**PROGRAMS, **MORE})
    for name in ("leader", "many"):
        subprocess.run(["cc", "-O1", "-pthread", "-o", name, f"{name}.c"], check=True)
    for name, (command, least) in RUNTIMES.items():
        maker = MADE_BY.get(name)
        if shutil.which((maker or command)[0]):
            if maker:
                subprocess.run(maker, check=True, stdin=subprocess.DEVNULL)
            runtime_check(name, command, least)
    for check in (threads_check, refusals_check, first_thread_check, namespaces_check, killed_check):
        check()
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
