# SPDX-License-Identifier: MIT
"""A C program with two threads that aborts in a recursion: its core file in mdb and in gdb. Then files that are no core files."""
import json, os, random, re, shutil, struct, subprocess, sys
from cores import notes_first

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
const char *greeting = "good day";
static void *idle(void *a) { pause(); return a; }
__attribute__((noinline)) int fail(int n) { if (n > 2) abort(); return fail(n + 1) + 1; }
int main(void) { pthread_t t; pthread_create(&t, 0, idle, 0); return fail(0); }
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, text=""):
    r = subprocess.run([MDB, *args], input=text, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def rows(commands, core):
    status, out, err = run("-o", "json", "-e", commands, core)
    check(status == 0, commands, out + err)
    return json.loads(out)["rows"]


os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("gdb"):
    print("cc and gdb are not installed")
    sys.exit(67)
open("t.c", "w").write(SOURCE)
subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", "t", "t.c"], check=True)
subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "--args", "./t", "one",
                "two words"], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
if not os.path.exists("core"):
    print("gdb makes no core file here")
    sys.exit(67)
gdb = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "bt", "-ex", "info registers", "./t", "core"],
                     stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300).stdout

names = [r["name"].split("`")[-1].split("+")[0] for r in rows("::stack", "core") if "name" in r]
check([n for n in names if n in ("fail", "main")] == re.findall(r"^#\d+ .*?\b(fail|main) \(", gdb, re.M) and names.count("fail") == 4, "stack",
      f"{names}\n{gdb}")
regs = {r["register"]: int(r["value"], 16) for r in rows("::regs", "core")}
for name in ("rip", "rsp", "rbp", "rax", "r12"):
    check(regs[name] == int(re.search(rf"^{name} +0x([0-9a-f]+)", gdb, re.M).group(1), 16), f"register {name}", gdb)
check(len(rows("::threads", "core")) == 2, "threads")
check([r["text"] for r in rows("::args", "core")][1:] == ["one", "two words"], "arguments")
check(rows("*greeting/s", "core")[0]["text"] == "good day", "a string behind a pointer")
check(rows("greeting::whatis", "core")[0].get("name") == "t`greeting", "a symbol of data", rows("greeting::whatis", "core"))
check(rows("greeting+4=a", "core")[0]["text"] == "t`greeting+0x4", "the name of a variable")
check(any("main" in r["name"] for r in rows("main::dis", "core")), "disassembly")
check([r["name"] for r in rows("::findsym fail", "core")] == ["fail"], "a symbol by its name")
check(len(rows("::walk thread | ::grep 1", "core")) == 2, "a pipe")
status, out, err = run("core", text="::nosuch\n5=D\n")
check(status == 1 and out.split() == ["5"] and "unknown command" in err, "an unknown command", out + err)

open("empty", "w").close()
open("text", "w").write("no core file\n" * 100)
os.mkfifo("fifo")
os.mkdir("folder")
for name in ("empty", "text", "fifo", "folder", "nosuch", "t"):
    status, out, err = run("-e", "::status", name)
    check(status == 1 and not out and err.count("\n") == 1 and err.startswith("mdb: "), name, out + err)
whole = open("core", "rb").read()
open("nameless", "wb").write(whole.replace(struct.pack("<I", 0x46494C45) + b"CORE\0", struct.pack("<I", 0x7FFFFFFF) + b"CORE\0"))
status, out, err = run("-e", "::status", "nameless")
check(status == 0 and "threads: 2" in out, "a core file without names of files", out + err)
status, out, err = run("-e", "::status", "./t", "nameless")
check(status == 1 and not out and err.count("\n") == 1 and "which program" in err, "a program, and a core file without names of files", out + err)
status, out, err = run("-e", "main::dis", "./t", "core")
check(status == 0 and "t`main:" in out, "a program that is given", out + err)
status, out, err = run("-e", "::status", MDB, "core")
check(status == 1 and not out and err.count("\n") == 1 and "build id" in err, "another program", out + err)
open("cut", "wb").write(notes_first(whole)[: len(whole) * 2 // 3])
status, out, err = run("-e", "::status", "cut")
check(status == 0 and "are there: memory from 0x" in out, "a core file that is cut", out + err)

# Damaged headers and notes, and lines that are no commands: answers and messages, but no crash and no endless output.
EVERYTHING = "::status; ::threads; ::stack -a; $C; ::regs; ::args; ::env; ::auxv; ::siginfo; ::mappings; ::objects; <rsp::whatis; <rip,5/i; <rsp,9/nap; *<rsp/s"
first = notes_first(whole)
for seed in range(60):
    r = random.Random(seed)
    damaged = bytearray(first)
    for _ in range(r.choice((1, 4, 30))):
        damaged[r.randrange(r.choice((64, 2048, 8192)))] = r.choice((0, 0xff, r.randrange(256)))
    open("damaged", "wb").write(damaged)
    status, out, err = run("-e", EVERYTHING, "damaged")
    check(status in (0, 1) and len(out) < 1 << 20, f"a damaged core file, seed {seed}", f"{status}\n{err[-2000:]}")
for seed in range(300):
    r = random.Random(seed)
    words = ("::", "::stack", "::dis", "::walk", "thread", "|", "!", "$", "$C", "/", "=", "X", "4/i", ",", "main", "<rip", "<", ">x", "(", ")", "'", '"', "`",
             "0t", "0t9", "*", "%", "+", "-", "::map", "::grep", ".", "^", "&", "#", "0", "~", "-n", "ffffffffffffffff", "\\", "s", "\x80", "//")
    line = r.choice(("", " ")).join(r.choice(words) for _ in range(r.randrange(1, 9)))
    if "!" in line.replace("!=", ""):  # not for the shell
        line = line.replace("!", "|")
    lines = line if seed == 0 else lines + "\n" + line
status, out, err = run("core", text=lines)
check(status == 1 and len(out) < 1 << 24, "lines that are no commands", f"{status}\n{err[-2000:]}")

sleeper = subprocess.Popen(["sleep", "1000"])
try:
    status, out, err = run("-p", str(sleeper.pid), "-e", "::stack; ::args")
    if "ptrace" in err or "permitted" in err:
        print(f"skip: {err}")
    else:
        check(status == 0 and "1000" in out, "a process", out + err)
    state = re.search(r"State:\t(.)", open(f"/proc/{sleeper.pid}/status").read()).group(1)
    check(state != "t", "the process goes on", state)
finally:
    sleeper.kill()
    sleeper.wait()
sys.exit(1 if failed else 0)
