# SPDX-License-Identifier: MIT
"""
The debugger: a process that it holds, and the same process's core file, show the values of its language, which are known; dtrace runs programs over both, and
shows their stacks. The programs of data/orders.* have an order 4711 with 100 items as an argument of known_here(), and wait there.
"""
import contextlib, functools, glob, json, os, re, shutil, signal, subprocess

from stacks import node_check
from suite import DATA, ENV, Failed, dtrace, expect, folder, limit, need, run, test

MDB = "/usr/bin/mdb"
CORES_UNLIMITED = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh"]


@contextlib.contextmanager
def started(argv, cwd):
    """A program that has said that it is ready; it ends with the block."""
    program = subprocess.Popen([*CORES_UNLIMITED, *argv], cwd=cwd, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        line = program.stdout.readline()
        if line != b"ready\n":
            program.stdin.close()
            raise Failed(f"the program says:\n{line.decode()}{program.stdout.read().decode()}")
        yield program
    finally:
        program.kill()
        program.wait()
        program.stdin.close()
        program.stdout.close()


def core_write(program, cwd):
    """The core file of a program that gets a signal; where the kernel gives those to somebody else, a copy."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read()
    if pattern[0] in "|/@":
        run([MDB, "-S", str(program.pid), "-w", f"{cwd}/core", "-e", "::status"])
    program.send_signal(signal.SIGABRT)
    program.wait(limit())
    found = glob.glob(f"{cwd}/core*")
    if not found:
        raise Failed("there is no core file")
    return found[0]


def mdb(target, commands):
    """What mdb prints; a complaint is a failure."""
    _, out, err = run([MDB, "-e", commands, *target])
    if err:
        raise Failed(f"{commands} says:\n{err[:2000]}")
    return out


def stacks_of(target):
    """What dtrace shows of a process or core file: the frames of each thread, without what it says about the thread."""
    parts = re.split(r"^-+  thread (\d+) .*\n", dtrace("--pstack", target), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@test("mdb/JSON, of a process that goes on")
def documents():
    with folder() as tmp:
        shutil.copy(f"{DATA}/orders.py", tmp)
        with started([need("python3", "python3"), "orders.py"], tmp) as p:
            shown = [json.loads(line) for line in mdb(["-p", str(p.pid), "-o", "json"], "::threads; ::args; ::nm").splitlines()]
            if [d["command"] for d in shown] != ["threads", "args", "nm"] or not all(d["rows"] for d in shown):
                raise Failed(str(shown)[:2000])
            p.communicate(b"\n", limit())
            if p.returncode:
                raise Failed(f"the program ended with {p.returncode}")


@test("mdb/what it cannot open")
def refused():
    status, out, err = run([MDB, "-e", "::status", "/etc/passwd"], check=False)
    if status != 1 or out or err.count("\n") != 1:
        raise Failed(f"status {status}\n{out}{err}")


# package, program, file of data/, command, what names of commands have, language of dtrace's objects, names of classes, an item of an order, how the stack shows the order
VALUES = {
    "python": ("python3", "python3", "orders.py", "{exe} orders.py", "py", "python", "{}", "items.7", r"order: [0-9a-f]+ \(Order\)"),
    "node": ("nodejs", "node", "orders.js", "{exe} orders.js", "js", "js", "{}", "items.7", r"arg1: [0-9a-f]+ \(Order\)"),
    "ruby": ("ruby", "ruby", "orders.rb", "{exe} orders.rb", "rb", "ruby", "{}", "@items.7", r"order: [0-9a-f]+ \(Order\)"),
    "php": ("php-cli", "php", "orders.php", "{exe} orders.php", "php", "php", "{}", "items.7", r"order: [0-9a-f]+ \(Order\)"),
    "perl": ("perl", "perl", "orders.pl", "{exe} orders.pl", "pl", "perl", "{}", "items.7", r"\$order: [0-9a-f]+ \(Order\)"),
    "lua": ("lua5.4", "lua5.4", "orders.lua", "{exe} orders.lua", "lua", "lua", "{}", "items.8", r"order: [0-9a-f]+ \(Order\)"),
    "luajit": ("luajit", "luajit", "orders.lua", "{exe} orders.lua", "lua", "lua", "{}", "items.8", r"order: [0-9a-f]+ \(Order\)"),
    "java": ("default-jdk-headless", "java", "Orders.java", "{exe} -Xmx64m -Xint -cp . Orders", "java", "java", "Orders${}", "items.7", r"order: [0-9a-f]+ \(Orders\$Order\)"),
}


def compare(tmp, program, commands, patterns, ignored):
    """Asks mdb and dtrace about a process, and of its core file, which they must know alike; returns the core file."""
    target = ["-p", str(program.pid)]
    alive, stacks_alive = mdb(target, commands), stacks_of(str(program.pid))
    expect(alive, *patterns)
    core = core_write(program, tmp)
    dead, stacks_dead = mdb([core], commands), stacks_of(core)
    expect(dead, *patterns)
    # the order of threads may be another one
    known = lambda text: sorted(re.sub(ignored, "", text, flags=re.M).splitlines())
    if known(alive) != known(dead):
        raise Failed(f"the process:\n{alive}\nthe core file:\n{dead}")
    main = str(program.pid)
    if stacks_alive.keys() != stacks_dead.keys() or stacks_alive[main] != stacks_dead[main]:
        raise Failed(f"the process:\n{stacks_alive}\nthe core file:\n{stacks_dead}")
    return core, "".join(stacks_dead.values())


def values(package, program, source, command, prefix, language, name, item, order):
    exe = need(program, package)
    if program == "node":
        node_check(exe)
    of_orders, refs = f"::find{prefix}objects -c '{name.format('Order')}' -l", "jsfindrefs" if prefix == "js" else f"{prefix}refs"
    every_thread = "::walk thread | " if program == "java" else ""
    commands = "; ".join([f"{every_thread}::{prefix}stack -v", f"{of_orders} | ::{prefix}print -d 1", f"::find{prefix}objects -c '{name.format('Item')}'",
                          f"{of_orders} | ::{prefix}print {item} | ::{refs}"])
    with folder() as tmp:
        shutil.copy(f"{DATA}/{source}", tmp)
        if program == "java":
            run([need("javac", package), "-g", source], cwd=tmp)
        with started(command.format(exe=exe).split(), tmp) as p:
            core, stacks = compare(tmp, p, commands, [
                rf"known_here\n(.*\n)*? +{order}\n(.*\n)*? +\S+: [\"']word[\"']\n(.*\n)*?\w+: +\S*known_outer\n(.*\n)*? +\S+: 4711\n",
                r"\bid\W+4711,\n", rf"^ +[0-9a-f]+ +100 +\d+ {re.escape(name.format('Item'))}:", r"^ +[0-9a-f]+ (items|elementData)?\[[78]\] of "],
                r"^native: .*\n|^java: +(?!Orders).*\n( {10}.*\n)*")  # other threads of Java may run
        expect(stacks, r"known_here.*\n(.*\n)*?.*known_outer")
        number = "@number" if prefix == "rb" else "number"  # in JavaScript, the prototype is an Item without one
        asked = f"""object:::{language} /args[0]->class == "{name.format('Item')}" && args[0]->prop["{number}"] != ""/
            {{ @n = count(); @s = sum(args[0]->number["{number}"]); }} END {{ printa("%@d %@d\\n", @n, @s); }}"""
        seen = dtrace("--core", core, "-qn", asked)
        if seen.split() != ["100", "4950"]:
            raise Failed(f"objects, and the sum of their numbers: {seen}")


for name, row in VALUES.items():
    test(f"mdb/values of {name}")(functools.partial(values, *row))


@test("mdb/values of erlang")
def erlang():
    exe = need("erl", "erlang-base")
    with folder() as tmp:
        shutil.copy(f"{DATA}/orders.erl", tmp)
        run([need("erlc", "erlang-base"), "orders.erl"], cwd=tmp)
        with started([exe, "-noshell", "-run", "orders", "main"], tmp) as p:
            compare(tmp, p, "::erlps -va shop; ::erlstack shop; ::ltasks waiting", [
                r" <0\.\d+\.0> +shop +3 .* waiting +orders:known_here/2 ", r'message: [0-9a-f]+: \{order,3,<<"bread">>\}$',
                r'^orders:known_here/2 .*\n +y\(\d\) +"word"\n +y\(\d\) +\{order,4711,\[\{item,0\},', r"^orders:known_outer/1 ", r" code_server +\d+ "], r"^native: .*\n")


PROGRAM = """
mapping:::entry /basename(args[0]->path) == "orders" && args[0]->perms == "w-p"/ { is_mapped = 1; }
thread:::entry { threads++; }
frame:::caller /args[0]->function == "known_outer"/ { printf("%s %d\\n", args[0]->function, arg1); }
chunk:::busy /arg1 >= 3000 && arg1 < 3100 && copyinstr(arg0, 2) == "xx"/ { bread++; }
END /is_mapped/ { printf("threads %d chunks %d\\n", threads, bread); }
"""


@test("mdb/types, malloc, leaks and locks; programs over a core file; compressed ones; copies")
def native():
    cc, zstd = need("cc", "gcc"), need("zstd", "zstd")
    names = r"(?<=\d )(orders|cook|cashier) +"  # a core file has the program's name only
    with folder() as tmp:
        run([cc, "-g", "-O1", "-pthread", "-o", "orders", f"{DATA}/orders.c"], cwd=tmp)
        with started(["./orders"], tmp) as p:
            copy = f"{tmp}/copy"
            expect(run([MDB, "-S", str(p.pid), "-w", copy, "-e", "::status"])[1], r"^threads: 3\b")
            commands = "\n".join(["::stack", "*order::print struct order", "*order::print struct order items | ::list struct item next | ::print struct item number ! tail -n 1",
                                  "::malloc", "*order::chunk", "::findleaks", "::locks", "known_here,1::dis", "::sizeof struct item", "order::whatis"])
            core, stacks = compare(tmp, p, commands, [
                r"\Alibc\.so\.6`read\+.*\norders`known_here\+.*\norders`known_outer\+.*\norders`main\+", r"^    id = 0t4711\n    is_paid :1 = 0x1\n", r"^number = 0t99$",
                r" is memory of a busy chunk of 32 bytes ", r"^ +3008 +[67] +", r"^nothing points to [67] of ", r"^ +(\d+) .* mutex +[0-9a-f]+ +\d+ orders`cook\+\S+ +orders`till$",
                r"^deadlock: (\d+) -> (\d+) -> \1$", r"^ +orders`known_here: ", r"^sizeof \(struct item\) = 0x18$", r" is orders`order in "],
                names)
        run([zstd, "-q", core, "-o", f"{core}.zst"])
        asked = "::stack\n*order::print struct order\n::findleaks\n::locks"
        answers = [re.sub(names, "", mdb([file], asked)) for file in (core, copy, f"{core}.zst")]
        if len(set(answers)) != 1:
            raise Failed("the core file, the copy, and compressed:\n" + "\n".join(answers))
        for file in (core, f"{core}.zst", copy):
            seen = dtrace("--core", file, "-qn", PROGRAM).split()
            if seen != ["known_outer", "2", "threads", "3", "chunks", "7"]:
                raise Failed(f"programs over {file}: {seen}")
