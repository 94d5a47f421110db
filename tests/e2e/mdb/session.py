# SPDX-License-Identifier: MIT
"""A program that lists what it has loaded: ::libs, ::files; then ::exec, ::log and ::load."""
import json, os, re, shutil, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = """
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <unistd.h>
static int show(struct dl_phdr_info *i, size_t n, void *a) { return printf("%lx %s\\n", (long)i->dlpi_addr, i->dlpi_name) < 0; }
__attribute__((noinline)) int inner(void) { return pause() + 1; }
int main(void) { dl_iterate_phdr(show, 0); puts("over"); fflush(stdout); return inner() + 1; }
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


os.chdir(TMP)
if not shutil.which("cc"):
    print("cc is not installed")
    sys.exit(67)
open("t.c", "w").write(SOURCE)
subprocess.run(["cc", "-O0", "-o", "t", "t.c", "-lm", "-Wl,--no-as-needed"], check=True)
subprocess.run(["cc", "-O0", "-static", "-o", "static", "t.c"], check=True)
open("a \x1b[31m name", "w").write("0123456789")
opened = os.open("a \x1b[31m name", os.O_RDWR)
os.lseek(opened, 7, 0)
read, write = os.pipe()
program = subprocess.Popen(["./t"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, pass_fds=(opened, read))
static = subprocess.Popen(["./static"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
try:
    loaded = [line.rstrip("\n").split(" ", 1) for line in iter(program.stdout.readline, "over\n")]
    while static.stdout.readline() != "over\n":
        pass

    def run(commands, status=0, pid=program.pid, args=()):
        r = subprocess.run([MDB, *args, "-p", str(pid), "-e", commands], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if "ptrace" in r.stderr or "permitted" in r.stderr:
            print(f"processes cannot be held here: {r.stderr}")
            sys.exit(67)
        check(r.returncode == status, commands, r.stdout + r.stderr)
        return r.stdout, r.stderr

    def rows(commands):
        return json.loads(run(commands, args=("-o", "json"))[0])["rows"]

    libs = rows("::libs")
    check([r["base"][2:] for r in libs] == [base for base, _ in loaded] and len(libs) > 2, "::libs: bases", f"{libs}\n{loaded}")
    check(libs[0]["path"] == os.path.realpath("t") and [r["path"] for r in libs[1:]] == [name for _, name in loaded[1:]], "::libs: paths", f"{libs}\n{loaded}")
    check("static" in run("::libs", 1, static.pid)[1], "::libs of a static program")

    files = {r["fd"]: r for r in rows("::files")}
    check(set(files) == {int(n) for n in os.listdir(f"/proc/{program.pid}/fd")}, "::files: all", files)
    check(files[opened] == {"fd": opened, "type": "file", "mode": "rw", "offset": 7, "name": TMP + "/a \x1b[31m name"}, "::files: a file", files)
    check((files[0]["type"], files[0]["name"], files[read]["type"], files[read]["mode"]) == ("char", "/dev/null", "pipe", "r"), "::files: others", files)
    check("\x1b" not in run("::files")[0], "::files: control characters")
    subprocess.run([MDB, "-S", str(program.pid), "-w", "core", "-e", ""], stdin=subprocess.DEVNULL, check=True)
    r = subprocess.run([MDB, "-e", "::files", "core"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(r.returncode == 1 and not r.stdout and "does not have" in r.stderr, "::files of a core file", r)
    r = subprocess.run([MDB, "-o", "json", "-e", "::libs", "core"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(json.loads(r.stdout)["rows"] == libs, "::libs of a core file", r)

    open("commands", "w").write("5=D\n::exec inner; 7=D\n")
    open("inner", "w").write("6=D")
    check(run("::exec commands")[0].split() == ["5", "6", "7"], "::exec")
    open("endless", "w").write("1=D; ::exec endless")
    out, err = run("::exec endless", 1)
    check("too deep" in err and len(out.split()) < 100, "::exec of itself", err)

    out, err = run("1=D; ::log kept; 2=D; ::nosuch\n3=D ! cat\n0x=\n::log -d; 4=D", 1)
    check(out.split()[-4:] == ["ended:", "kept", "4"][-4:] or out.split()[0] == "1", "::log: the output stays", out)
    text = open("kept").read()
    check(text == "transcript: kept\n> 2=D\n                2\n> ::nosuch\n::nosuch: unknown command\nhint: ::dcmds lists the commands\n> 3=D ! cat\n> 0x=\n" +
          re.search(r"mdb: (column .*\n)", err).group(1) + "> ::log -d\n", "::log", text)
    run("::log kept; 8=D")
    check(open("kept").read() == text + "transcript: kept\n> 8=D\n                8\n", "::log appends", open("kept").read())
    os.mkfifo("fifo")
    for name in ("fifo", ".", "nosuch/log"):
        check(run(f"::log {name}", 1)[1].count("::log: ") == 1, f"::log {name}")
    check("no transcript" in run("::log -d", 1)[1], "::log -d without one")
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", "full")
        check("no regular file" in run("::log full", 1)[1], "::log to a device")

    open("helper.d", "w").write('dtrace:helper:ustack:\n{\n\tuframe("of mine");\n}\n')
    open("wrong.d", "w").write("dtrace:helper:ustack:\n{\n\tnosuch();\n}\n")
    out, err = run("::stack -l; ::load helper.d; ::stack -l; ::load wrong.d; ::stack", 1)
    check(out.startswith("  [ of mine ]\n") and out.count("[ of mine ]") > 4 and re.search(r"t`inner\+\S+\n  \[ of mine \]\nt`main", out), "::load", out)
    check("wrong.d" in err and "nosuch" in err and out.count("[ of mine ]") % 2 == 0, "::load of a wrong helper keeps the other one", out + err)
    for name in ("fifo", ".", "nosuch.d"):
        check(run(f"::load {name}", 1)[1].count("::load: ") == 1, f"::load {name}")
finally:
    for p in (program, static):
        p.kill()
        p.wait()
sys.exit(1 if failed else 0)
