# Stacks of CPython: at points where the program writes down its own stack, every Python frame is there, in order, with file, line and
# function; native frames stand where they belong. The program runs before and while it is traced, in threads, generators, coroutines,
# callbacks of C functions, deep recursion; it needs no flag.
# @@foreign
python=${PYTHON:-/usr/bin/python3.11}
if [ ! -x $python ]; then
	echo "this test needs CPython 3.11 of Debian (package python3.11)"
	exit 67
fi
cd "$TMP" || exit 1

cat >points.py <<'X'
import asyncio, functools, os, sys, threading, time

out = open(sys.argv[1], "w", encoding="utf-8")

def note(f):
    frames = []
    while f:
        line = f":{f.f_lineno}" if f.f_lineno else ""
        frames.append(f"{f.f_code.co_filename}{line} ({f.f_code.co_name})")
        f = f.f_back
    out.write("|".join(frames) + "\n")

def point(*unused):
    note(sys._getframe(1)); os.getppid()
    return 0

class Worker:
    def step(self):
        return sorted([3, 1, 2], key=lambda x: point(x) or x)

    @property
    def größe(self):
        point()
        return 1

def numbers():
    for i in range(2):
        point()
        yield i

def deep(n):
    if n:
        return deep(n - 1)
    point()

def back_and_forth(n):
    if not n:
        return point()
    if n % 4 == 0:
        return list(map(back_and_forth, [n - 1]))
    if n % 4 == 1:
        return sorted([n - 1], key=back_and_forth)
    if n % 4 == 2:
        return functools.reduce(lambda a, b: back_and_forth(b), [0, n - 1])
    return max((back_and_forth(x) or 0 for x in [n - 1]), default=0) and None

async def leaf():
    await asyncio.sleep(0)
    point()

async def root():
    await asyncio.gather(leaf(), leaf())

class Dropped:
    def __del__(self):
        point()

def without_line():
    # what removes the variable when another exception leaves its clause has no line
    try:
        try:
            raise ValueError
        except ValueError as e:
            e = Dropped()
            raise
    except ValueError:
        pass

def long_function():
    a = 1




    # the line table has an entry for each of these
    b = [point() for x in range(1)]
    exec("point()\npoint()")
    eval("point()")
    try:
        raise ValueError
    except ValueError:
        point()
    with open("/dev/null"):
        point()
    def 内部():
        point()
    内部()
    return {k: point() for k in (a, b and 2)}

def in_thread():
    t = threading.Thread(target=long_function)
    t.start()
    t.join()

def main():
    Worker().step()
    Worker().größe
    list(numbers())
    sum(numbers())
    deep(5)
    deep(900 if sys.version_info >= (3, 11) else 250)
    back_and_forth(60)
    back_and_forth(100)
    asyncio.run(root())
    without_line()
    long_function()
    in_thread()

# the first stack, after which the tracer looks at the process
sys.setrecursionlimit(5000)
def wait(file):
    for i in range(6000):
        if not os.path.exists(file):
            time.sleep(0.02)
wait(sys.argv[2])
os.getppid()
wait(sys.argv[3])
main()
out.close()
X

# frames FILE < output: one line a stack, the Python frames of each, without stacks that have none
cat >stacks.py <<'X'
import sys
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n")]
    found = [l[2:-2] for l in lines if l.startswith("[ ") and l.endswith(" ]")]
    if found:
        print("|".join(f for f in found if not f.endswith("(point)")))
X
script='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
command="$python -X utf8 points.py" stacks="$python -X utf8 stacks.py"

. "$SRC/tests/e2e/stack/compare.inc"

{
	check_begun
	check_running

	# native frames are where they belong: sorted() calls the lambda, which calls point()
	traced "$script" >got.txt
	$python - <<'X'
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    at = [i for i, l in enumerate(lines) if "(<lambda>)" in l]
    if not at:
        continue
    step = [i for i, l in enumerate(lines) if "(step)" in l][0]
    between = lines[at[0] + 1:step]
    good = "os_getppid" in lines[0] or "getppid" in lines[0]
    good &= any("`" in l for l in between) and "_PyEval_EvalFrameDefault" in between[-1]
    good &= "`_start+0x" in lines[-1] and "(<module>)" in "".join(lines[step:])
    print("mixed:", "good" if good else lines)
    break
X

	# where the interpreter calls something in the part of its loop that the compiler has put elsewhere, as a probe of its own does
	if [ $python = /usr/bin/python3.11 ]; then
		cat >entered.py <<'X'
import os
def marked():
    os.getppid()
for i in range(20):
    marked()
X
		"$DTRACE" -q -n 'python$target:::function-entry /copyinstr(arg1) == "marked"/ { @[jstack()] = count(); }' -c "$python entered.py" >got.txt
		$python - <<'X'
found = 0
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.strip().split("\n")]
    at = [i for i, l in enumerate(lines) if l.endswith("(marked) ]")]
    if at and lines[at[0] + 1].endswith("(<module>) ]") and "`PyEval_EvalCode+" in lines[at[0] + 2] and "`_start+" in lines[-2]:
        found += int(lines[-1])
print("elsewhere:", "good" if found == 20 else open("got.txt").read())
X
	else
		echo 'elsewhere: good' # without such probes
	fi

	# as a key: one for each place, with a sum that is the number of calls
	traced 'syscall::getppid:entry /pid == $target/ { @[jstack(1024)] = count(); }' >got.txt
	# the stack before the helper was there makes a key of its own
	$python - "$(sort -u noted | wc -l)" "$(wc -l <noted)" <<'X'
import re, sys
counts = [int(n) for n in re.findall(r"^ +(\d+)$", open("got.txt").read(), re.M)]
print("keys:", "good" if len(counts) > int(sys.argv[1]) and sum(counts) == int(sys.argv[2]) + 1 else counts)
X

	# in JSON
	traced "$script" -x oformat=json >got.json
	$python - <<'X'
import json
def stacks(o):
    if isinstance(o, dict):
        if "ustack-frames" in o:
            yield o["ustack-frames"]
        o = list(o.values())
    if isinstance(o, list):
        for x in o:
            yield from stacks(x)
want = [l.rstrip("\n").split("|") for l in open("noted", encoding="utf-8").read().splitlines()]
got = [[f["symbol"] for f in s if "address" not in f and not f["symbol"].endswith("(point)")] for s in stacks(json.load(open("got.json")))]
got = [s for s in got if s]
if len(got) == len(want) + 1:
    got = got[1:]  # the call by which the program may have to be met
if got != want:
    print("json differs:", [(g, w) for g, w in zip(got, want) if g != w][:2], len(got), len(want))
print("json:", len(got), "stacks")
X
} 2>&1
