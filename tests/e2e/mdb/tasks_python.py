# SPDX-License-Identifier: MIT
"""
A Python program makes tasks that wait for each other, writes down what asyncio says of them, and aborts: its core file in mdb must say the
same, with each CPython that is installed. Then the same of a process that lives.
"""
import glob, json, os, re, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
PROGRAM = r'''
import asyncio, json, os, sys

class Own(asyncio.Task): pass
class Deeper(Own): pass

async def leaf(event, number):
    local = [number, "x"]
    await event.wait()
async def middle(event, number):
    async with asyncio.Lock():
        await leaf(event, number)
async def worker(event, number):
    await middle(event, number)
async def numbers(event):
    yield 1
    await event.wait()
async def iterates(event):
    async for n in numbers(event): last = n
async def sleeps(): await asyncio.sleep(1000)
async def fails(): raise ValueError("bad")
async def ends(): return {"answer": 42}
async def gathers(*tasks): await asyncio.gather(*tasks)
async def joins(task): await task
async def limits(event): await asyncio.wait_for(event.wait(), 1000)
async def never(): pass
async def nested(event, n):
    if n: await nested(event, n - 1)
    else: await event.wait()

def known(task, current):
    chain, c = [], task.get_coro()
    while c is not None and (hasattr(c, "cr_frame") or hasattr(c, "ag_frame")) and not task.done():
        frame = c.cr_frame
        chain.append("%s (%s:%d)" % (frame.f_code.co_name, os.path.basename(frame.f_code.co_filename), frame.f_lineno))
        c = c.cr_await
    waiter = task._fut_waiter
    if task is current: chain = ["main"] # its line goes on
    state = "cancelled" if task.cancelled() else ("failed" if task.exception() else "finished") if task.done() else \
        "running" if task is current else "waiting" if waiter else "ready"
    return {"task": "0x%x" % id(task), "name": task.get_name(), "state": state, "coroutine": task.get_coro().__qualname__, "place": chain[-1] if chain else "-",
            "waits for": "-" if waiter is None else waiter.get_name() if isinstance(waiter, asyncio.Task) else type(waiter).__name__, "chain": chain[::-1]}

async def main():
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    start = lambda coro, name: asyncio.create_task(coro, name=name)
    tasks = [start(worker(event, i), "worker-%d" % i) for i in range(3)]
    tasks += [start(sleeps(), "sleeps"), start(fails(), "fails"), start(ends(), "ends"), start(sleeps(), "cancelled"), start(joins(tasks[0]), "joins"),
              start(gathers(tasks[1], tasks[2]), "gathers"), start(iterates(event), "iterates"), start(limits(event), "limits"), start(nested(event, 150), "nested"),
              Own(sleeps(), loop=loop, name="own"), Deeper(joins(tasks[0]), loop=loop, name="gr\xf6\xdfe"), asyncio.create_task(sleeps())]
    await asyncio.sleep(0.01)
    tasks[6].cancel()
    await asyncio.sleep(0.01)
    tasks += [start(never(), "never"), asyncio.current_task()]
    every = set(tasks) | asyncio.all_tasks()
    with open(sys.argv[1], "w") as f:
        json.dump({"tasks": [known(t, asyncio.current_task()) for t in every], "event": id(event), "ends": id(tasks[5])}, f)
    if sys.argv[2] == "core": os.abort()
    print("ready", flush=True)
    sys.stdin.readline()
    for t in tasks[:-1]: t.cancel()

asyncio.run(main())
'''
failed = []
version = ""


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{version}: {what}:\n{shown}")


def run(target, commands, *options, status=0):
    r = subprocess.run([MDB, *options, "-e", commands, *target], capture_output=True, timeout=120)
    out, err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
    check(r.returncode == status, f"status of {commands}: {r.returncode}", out + err)
    return out + err


def rows(target, commands):
    return [json.loads(line)["rows"] for line in run(target, commands, "-o", "json").splitlines()]


def tasks_check(target, known):
    every = known["tasks"]
    listed, details = rows(target, "::pytasks -s name; ::pytasks -v")
    shown = {r["task"]: r for r in listed}
    check(set(shown) == {t["task"] for t in every}, "all tasks", f"{shown}\n{every}")
    check([r["name"] for r in listed] == sorted((r["name"] for r in listed), key=str.encode), "sorted by name", [r["name"] for r in listed])
    stacks = rows(target, "; ".join(f"{t['task'][2:]}::pytaskstack" for t in every))
    for t, stack in zip(every, stacks):
        have = shown.get(t["task"])
        # the coroutine behind "async for" is a generator's, which it does not tell before 3.11
        wanted = {k: v for k, v in t.items() if k != "chain"}
        if t["state"] == "running":
            have["place"] = have["place"].split()[0]
        if t["name"] == "iterates":
            have, wanted = dict(have, place=""), dict(wanted, place="")
        check(have == wanted, f"task {t['name']}", f"{have}\n{wanted}")
        frames = [r["frame"] for r in stack if "frame" in r]
        frames = ["main"] if t["state"] == "running" and re.fullmatch(r"main \(tasks.py:\d\d\)", frames[0]) else frames
        check(frames == t["chain"] or t["name"] == "iterates" and frames[-1:] == t["chain"][-1:], f"frames of {t['name']}", f"{frames}\n{t['chain']}")
    by_name = {t["name"]: r for t, r in zip(every, stacks)}
    at = next(i for i, r in enumerate(by_name["worker-1"]) if r.get("frame", "").startswith("leaf"))
    variables = {r["variable"]: r["value"] for r in by_name["worker-1"][at + 1:at + 4]}
    check(variables.get("number") == "1" and variables.get("event") == f"{known['event']:x} (Event)" and "(list)" in variables.get("local", ""), "variables of a coroutine", variables)
    by_name = {r["name"]: r["details"] for r in details}
    check(any(re.match(r"exception: [0-9a-f]+ \(ValueError\)", d) for d in by_name["fails"]), "with what a task has failed", by_name["fails"])
    check(any(re.match(r"result: [0-9a-f]+ \(dict\)", d) for d in by_name["ends"]), "the result of a task", by_name["ends"])
    text = re.sub(r",?\n *", " ", run(target, f"{known['ends']:x}::pyprint")).strip()
    check(re.fullmatch(r"Task\( name='ends' state=finished coro=<coroutine object ends at 0x[0-9a-f]+> result={ 'answer': 42 } \)", text), "a task as a value", text)
    census = {r["shape"].split(":")[0]: r for r in rows(target, "::findpyobjects -c coroutine")[0]}["coroutine"]
    check(0 < census["bytes"] < 2000 * census["objects"], "bytes of coroutines", census)
    check("no task has 'nobody'" in run(target, "::pytasks nobody", status=1), "a task that is not there")
    check(len(run(target, "::pytasks waiting").splitlines()) == 1 + sum(t["state"] == "waiting" for t in every), "those that wait")


open(f"{TMP}/tasks.py", "w").write(PROGRAM)
unlimited()
pythons = [p for p in ("/usr/bin/python3.%d" % i for i in range(8, 14)) if os.access(p, os.X_OK)]
pythons += sorted(p for p in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.*")) if re.search(r"python3\.(8|9|1[0-3])$", p))
if not pythons:
    print("no CPython 3.8 to 3.13 is installed")
    sys.exit(67)
if os.environ.get("SANITIZED"):  # mdb is ten times as slow then
    del pythons[1:]
for python in pythons:
    version = python
    os.makedirs(f"{TMP}/core", exist_ok=True)
    with kernel_cores():
        subprocess.run([python, f"{TMP}/tasks.py", f"{TMP}/known", "core"], cwd=f"{TMP}/core", timeout=60)
    core = next(iter(glob.glob(f"{TMP}/core/core*")), None)
    check(core, "it leaves a core file")
    if core:
        tasks_check([core], json.load(open(f"{TMP}/known")))
        os.unlink(core)
version = pythons[0]
p = subprocess.Popen([version, f"{TMP}/tasks.py", f"{TMP}/known", "live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
try:
    check(p.stdout.readline() == b"ready\n", "the program begins")
    tasks_check(["-p", str(p.pid)], json.load(open(f"{TMP}/known")))
    p.communicate(b"\n", timeout=60)
    check(p.returncode == 0, "it goes on to its end", p.returncode)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()
p = subprocess.Popen([version, "-c", "print('ready', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
try:
    p.stdout.readline()
    check(len(run(["-p", str(p.pid)], "::pytasks").splitlines()) == 1, "a program that has no tasks")
finally:
    p.communicate(b"\n", timeout=60)
sys.exit(1 if failed else 0)
