# SPDX-License-Identifier: MIT
"""memprof: numbers that are known, of a program in C and of one of Ruby and Python."""
import os, re, signal, subprocess, time

from suite import ENV, Failed, complaints, expect, folder, limit, need, run, test

MEMPROF = "/usr/sbin/memprof"
BLOCKS = """#include <stdlib.h>
void *kept[1000], *lost;
__attribute__((noinline)) void keep(int i) { kept[i] = malloc(100); }
__attribute__((noinline)) void lose(int i) { lost = malloc(5000); }
__attribute__((noinline)) void give_back(int i) { free(malloc(77)); }
int main(void) { for (int i = 0; i < 1000; i++) { keep(i); if (i < 10) lose(i); give_back(i); } lost = 0; return kept[0] == 0; }
"""
# The same, when it is told to, and the program goes on then.
TOLD = BLOCKS.replace("#include <stdlib.h>\nvoid *kept[1000]", "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\nvoid *kept[20000]") \
    .replace("int main(void) { for (int i = 0; i < 1000;", 'int main(void) { while (access("go", F_OK)) usleep(10000); for (int i = 0; i < 20000;') \
    .replace("lost = 0;", 'lost = 0; close(creat("made", 0600)); while (access("seen", F_OK)) usleep(10000);')
RUBY = """$kept = []
def made
  100.times do
    $kept << "a#{1}"
  end
end
made
1000.times { $kept << "abc" }
"""
PYTHON = """class Item: pass
kept = [Item() for i in range(700)]
import os, time
open("ready", "w").close()
while not os.path.exists("seen"): time.sleep(0.02)
"""


def memprof(*args, cwd):
    """What it prints; a message that matters is a failure. Rates and sums are said on stderr, too."""
    _, out, err = run([MEMPROF, *args], cwd=cwd)
    bad = [line for line in complaints(err) if not line.startswith("memprof: ") or "error" in line]
    if bad:
        raise Failed("\n".join(bad))
    return out


def compiled(tmp):
    with open(f"{tmp}/blocks.c", "w", encoding="utf-8") as f:
        f.write(BLOCKS)
    run([need("cc", "gcc"), "-O1", "-o", "blocks", "blocks.c"], cwd=tmp)


@test("memory/malloc")
def malloc():
    with folder() as tmp:
        compiled(tmp)
        out = memprof("malloc", "-n", "0", "./blocks", cwd=tmp)
        expect(out, r"^ *100\.0 kB +1000 .*\n +blocks`keep$", r"^ *50\.0 kB +10 .*\n +blocks`lose$")
        if "give_back" in out:
            raise Failed(f"blocks that were given back are alive:\n{out}")


def awaited(path, process):
    end = time.monotonic() + limit()
    while not os.path.exists(path):
        if time.monotonic() > end or process.poll() is not None:
            raise Failed(f"there is no {path}")
        time.sleep(0.02)


def grown(program, place, *args, cwd):
    """
    Traces a process that runs, and has it make its blocks when the first table is there. Returns bytes and blocks of all tables in whose rows the place
    matches, and what was printed.
    """
    for name in ("go", "made", "seen"):
        if os.path.exists(f"{cwd}/{name}"):
            os.unlink(f"{cwd}/{name}")
    p = subprocess.Popen([f"{cwd}/{program}"], cwd=cwd, env=ENV)
    m = subprocess.Popen([MEMPROF, "malloc", *args, "-i", "1", "-n", "0", "-p", str(p.pid)], cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    try:
        first = m.stdout.readline()
        open(f"{cwd}/go", "w").close()
        awaited(f"{cwd}/made", p)
        m.send_signal(signal.SIGTERM)
        out, err = m.communicate(timeout=limit())
        if m.returncode or p.poll() is not None:
            raise Failed(f"status {m.returncode}, the process's is {p.returncode}\n{first}{out}{err}")
    finally:
        open(f"{cwd}/seen", "w").close()
        m.kill()
        p.wait()
    units = {"B": 1, "kB": 1e3, "MB": 1e6}
    rows = re.findall(rf"^ *(-?[\d.]+) (B|kB|MB) +(-?\d+)  {place}$", out, re.M)
    return sum(float(n) * units[unit] for n, unit, _ in rows), sum(int(n) for _, _, n in rows), out + err


def told_compiled(tmp):
    with open(f"{tmp}/told.c", "w", encoding="utf-8") as f:
        f.write(TOLD)
    run([need("cc", "gcc"), "-O1", "-o", "told", "told.c"], cwd=tmp)
    run([need("strip", "binutils"), "-o", "bare", "told"], cwd=tmp)


@test("memory/malloc --by caller of a process that runs, with symbols and without")
def callers():
    with folder() as tmp:
        told_compiled(tmp)
        for program, keep, lose in (("told", r"told`keep\+0x[0-9a-f]+", r"told`lose\+0x[0-9a-f]+"), ("bare", r"bare`\+0x[0-9a-f]+", None)):
            size, blocks, out = grown(program, keep, "--by", "caller", cwd=tmp)
            if lose:
                more = grown(program, lose, "--by", "caller", cwd=tmp)
                size, blocks = size + more[0], blocks + more[1]
            # 2.00 MB and 50.0 kB; each table is rounded
            if blocks != 20010 or abs(size - 2050000) > 100000:
                raise Failed(f"{program}: {size} bytes in {blocks} blocks\n{out}")


@test("memory/malloc -r of a process that runs")
def sampled():
    with folder() as tmp:
        told_compiled(tmp)
        size, samples, out = grown("told", r"libc\.so\.6`malloc\n +told`keep", "-r", "4k", cwd=tmp)
        # 488 samples on average, so one row in a thousand millions is off by a third
        if not 1400000 < size < 2600000 or not 300 < samples < 700 or "give_back" in out:
            raise Failed(f"{size} bytes in {samples} samples of 2,000,000 bytes\n{out}")


@test("memory/leaks")
def leaks():
    with folder() as tmp:
        gcore = need("gcore", "gdb")
        compiled(tmp)
        with open(f"{tmp}/wait.c", "w", encoding="utf-8") as f:
            f.write(BLOCKS.replace("return kept[0] == 0;", "pause(); return 0;").replace("#include", "#include <unistd.h>\n#include", 1))
        run(["cc", "-O1", "-o", "wait", "wait.c"], cwd=tmp)
        p = subprocess.Popen([f"{tmp}/wait"], cwd=tmp, env=ENV)
        try:
            end = time.monotonic() + limit()
            while not re.search("pause|do_sys_pause", open(f"/proc/{p.pid}/wchan").read()) and open(f"/proc/{p.pid}/syscall").read().split()[0] != "34":
                if time.monotonic() > end:
                    raise Failed("the program does not wait")
                time.sleep(0.02)
            live = memprof("leaks", "-p", str(p.pid), cwd=tmp)
            run([gcore, "-o", "core", str(p.pid)], cwd=tmp)
        finally:
            p.kill()
            p.wait()
        core = memprof("leaks", f"core.{p.pid}", cwd=tmp)
        for out in (live, core):
            expect(out, r"^ *50\.1 kB +10 .* 5000 bytes$")


@test("memory/objects of Ruby")
def objects():
    ruby = need("ruby", "ruby")
    with folder() as tmp:
        with open(f"{tmp}/made.rb", "w", encoding="utf-8") as f:
            f.write(RUBY)
        expect(memprof("objects", "-c", f"{ruby} --disable-gems made.rb", cwd=tmp), r"^ *1000 made\.rb:8:String$", r"^ *100 made\.rb:4:String$")


@test("memory/alive and holds of Python")
def alive():
    python = need("python3", "python3")
    with folder() as tmp:
        with open(f"{tmp}/made.py", "w", encoding="utf-8") as f:
            f.write(PYTHON)
        p = subprocess.Popen([python, "made.py"], cwd=tmp, env=ENV)
        try:
            end = time.monotonic() + limit()
            while not os.path.exists(f"{tmp}/ready"):
                if time.monotonic() > end or p.poll() is not None:
                    raise Failed("the program is not ready")
                time.sleep(0.02)
            expect(memprof("alive", "-p", str(p.pid), cwd=tmp), r" 700 +[0-9a-f]+ +python +Item$")
            expect(memprof("holds", "-p", str(p.pid), "Item", cwd=tmp), r"^ +700 +[0-9a-f]+ +kept in .*made\.py")
        finally:
            open(f"{tmp}/seen", "w").close()
            p.wait()
