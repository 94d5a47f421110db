# SPDX-License-Identifier: MIT
"""Each runtime's program makes the same system call from deep in its code. lstack() there is jstack() without its native frames, and lfile, lline
and lfunc are the parts of its first frame: in records, predicates and keys. Programs without a language have none."""
import json, os, re, shlex, signal, subprocess, sys

from helpertrace import DTRACE, PATIENCE, TMP, read, until, write
from writers import QUIET, RUNTIMES, make, prepare

TRIGGER = os.environ["TRIGGER"]

PROGRAMS = {
    "p.lua": """
local function last() io.stderr:write(string.rep("x", 777)) end
local function deep(n) if n > 0 then deep(n - 1) else last() end return n end
while true do deep(3) local t = os.clock() while os.clock() < t + 0.05 do end end
""",
    "p.erl": """-module(p).
-export([main/1]).
last() -> {error, _} = file:read_file_info("/nonexistent777", [raw]), ok.
deep(0) -> last(), 0;
deep(N) -> 1 + deep(N - 1).
main(_) -> 4 = 1 + deep(3), timer:sleep(100), main(again).
""",
    "none.c": """
#include <string.h>
#include <unistd.h>
char buf[777];
int main(void) { for (;;) { usleep(100000); if (write(2, buf, 777) < 0) return 1; } }
""",
    # one helper for the forms that texts may have: the text is given to the program
    "forms.d": """
uint64_t shown, run, run_end;
dtrace:helper:attach:
{
        shown = symaddr("shown");
        run = symaddr("run");
        run_end = run + symsize("run");
        if (!shown || !run)
                udecline("");
}
dtrace:helper:ustack:
/arg0 > run && arg0 <= run_end/
{
        uframe("behind");
        copyinstr(*(uint64_t *)shown);
}
""",
    "forms.c": """
#include <string.h>
#include <unistd.h>
const char *shown;
char buf[777];
__attribute__((noinline)) void run(void) { strcpy(buf, shown); if (write(2, buf, 777) < 0) _exit(1); __asm__ volatile(""); }
int main(int argc, char **argv) { for (;;) for (int i = 1; i < argc; i++) { shown = argv[i]; run(); usleep(10000); } }
""",
}

WRITE = "syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777"
STAT = 'syscall::newfstatat:entry /(pid == $1 || ppid == $1) && copyinstr(arg1) == "/nonexistent777"'
# What is there beside those of writers.py.
MORE = {
    "lua": ["lua5.4", "p.lua"],
    "luajit": ["luajit", "-joff", "p.lua"],
    "erlang": ["erl", "-noshell", "-run", "p", "main", "x"],
}
# the name of the file, and the function
INNERMOST = {
    "toy": ("", "leaf line 21"),
    "python": ("p.py", "<lambda>"),
    "perl": ("p.pl", "Kind::last_one"),
    "ruby": ("p.rb", "syswrite"),
    "php": ("[internal function]", "fwrite"),
    "node": ("node:fs", "writeSync"),
    "java": ("Native Method", "java/io/FileOutputStream.writeBytes"),
    "java-compiled": ("Native Method", "java/io/FileOutputStream.writeBytes"),
    "lua": ("[C]", "write"),
    "luajit": ("[C]", "write"),
    "erlang": ("", "prim_file:read_info_nif/2"),
}

# texts of frames: file, line, function
FORMS = {
    "@/srv/a.py:12 (f)": ("/srv/a.py", 12, "f"),
    "@/srv/a (copy)/b.py:3 (g (x))": ("/srv/a (copy)/b.py", 3, "g (x)"),
    "@/srv/a.py (f)": ("/srv/a.py", 0, "f"),
    "@x:y (f)": ("x:y", 0, "f"),
    "@(each)": ("", 0, "each"),
    "@[C] (print)": ("[C]", 0, "print"),
    "@prim_file:open_nif/2": ("", 0, "prim_file:open_nif/2"),
    "lists:map/2 (lists.erl:1559)": ("lists.erl", 1559, "lists:map/2"),
    "a/B.c(B.java:7)*": ("B.java", 7, "a/B.c"),
    "a/B.c(B.java)": ("B.java", 0, "a/B.c"),
    "a/B.n(Native Method)*": ("Native Method", 0, "a/B.n"),
    "h at /srv/look at/x.js line 88": ("/srv/look at/x.js", 88, "h"),
    "h at /srv/x.js file position 9": ("/srv/x.js", 0, "h"),
    "h at /srv/x.js:7": ("/srv/x.js:7", 0, "h"),
    "(anon) as X at node:fs line 4294967296": ("node:fs", 4294967296, "(anon) as X"),
    "(all of it)": ("", 0, "(all of it)"),
    "plain": ("", 0, "plain"),
    ") odd (": ("", 0, ") odd ("),
    "7": ("", 0, "7"),
    "x" * 255: ("", 0, "x" * 255),
    # what has no room is cut
    "@/" + "d" * 290: ("/" + "d" * 253, 0, ""),
    "@/srv/a.py:12 (" + "f" * 280: ("/srv/a.py", 12, "f" * 240),
    "a/B.c(" + "B" * 280: ("B" * 249, 0, "a/B.c"),
    "\1a stub (1)": ("", 0, "behind"),
}

# When the helper is there, for which lfunc has asked, process $2 asks for the group of the program.
SCRIPT = """
    syscall::getpgid:entry /pid == $2 && arg0 == $1/ { go = 1; }
    POINT && !go/ { @early[lfunc] = count(); }
    POINT && go/ { printf("%s|%d|%s", lfile, lline, lfunc); jstack(150); lstack(150); lstack(2); calls++; }
    POINT && go && lfunc == ""/ { @none = count(); }
    POINT && go/ { @keys[lfile, lline, lfunc] = count(); @stacks[lstack(1)] = count(); }
    POINT && calls == CALLS/ { exit(0); }
"""

bad = []


def fail(name, what):
    bad.append(f"{name}: {what}")


def recorded(name, command, options=(), point=WRITE, calls=2, seconds=20):
    """What the script has recorded: records of five values, and the keys of aggregations; what dtrace has said."""
    if os.path.exists("met"):
        os.unlink("met")
    with subprocess.Popen(command, start_new_session=True, **QUIET) as program:
        script = SCRIPT.replace("POINT", point).replace("CALLS", str(calls))
        argv = [f"{TRIGGER}/met", DTRACE, "-q", "-x", "oformat=jsonl", "-x", "jstackstrsize=32k", *options, "-n", script, str(program.pid), str(os.getpid())]
        with open(f"{name}.out", "w") as out, open(f"{name}.err", "w") as err:
            with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as tracer:
                until(lambda: os.path.exists("met") or tracer.poll() is not None, seconds)
                if not until(lambda: os.getpgid(program.pid) and tracer.poll() is not None, 40):
                    tracer.terminate()
        os.killpg(program.pid, signal.SIGKILL)
    lines = [json.loads(line) for line in read(f"{name}.out").splitlines() if line.startswith("{")]
    rows = {a["aggregation-name"]: a["aggregation-data"] for a in lines if "aggregation-data" in a}
    return [r["output"] for r in lines if any("ustack-frames" in o for o in r.get("output", []))], rows, read(f"{name}.err")


def is_stub(text):
    """Whether it is the name of code of the Java virtual machine."""
    return re.match(r"\w+\.?\w+\(.*\)\*?$|.*/", text) is None and re.search(r"[Ss]tub|Blob|adapter|Runtime1|callers in this", text)


def language_texts(frames):
    return [f["helper"] for f in frames if f["kind"] == "language" and not is_stub(f["symbol"])]


def parts_of(text):
    """File, line and function of a text, by the runtimes' forms."""
    for form in (r"@(?P<file>.*?):(?P<line>\d+) \((?P<func>.*)\)", r"@(?P<file>.*?) ?\((?P<func>.*)\)",
                 r"(?P<func>.*?) at (?P<file>.*) line (?P<line>\d+)", r"(?P<func>.*?) at (?P<file>.*?)(?: file position \d+)?",
                 r"(?P<func>.*?) ?\((?P<file>.*?)(?::(?P<line>\d+))?\)\*?"):
        if m := re.fullmatch(form, text):
            return m["file"], int(m.groupdict().get("line") or 0), m["func"]
    return "", 0, text.removeprefix("@")


def frames_of(output):
    return [o["ustack-frames"] for o in output if "ustack-frames" in o]


def record_check(name, output):
    """Compares the values of a record with its stacks; returns the values."""
    file, line, func = (o["value"] for o in output if "value" in o)
    message = next(o["message"] for o in output if "message" in o)
    if message != f"{file}|{line}|{func}":
        fail(name, f"printf() has {message}, its arguments are {file}, {line}, {func}")
    whole, only, two = frames_of(output)
    texts = language_texts(whole)
    if [f["helper"] for f in only] != texts:
        fail(name, "jstack() has\n  " + "\n  ".join(texts) + "\nlstack()\n  " + "\n  ".join(f["symbol"] for f in only))
    if [f["helper"] for f in two] != texts[:2]:
        fail(name, f"lstack(2) has {[f['symbol'] for f in two]}, not {texts[:2]}")
    if any(f["kind"] != "language" or "address" in f for f in only):
        fail(name, f"lstack() has other frames: {only}")
    if texts and (file, line, func) != parts_of(texts[0]):
        fail(name, f"of '{texts[0]}', lfile is '{file}', lline {line}, lfunc '{func}'")
    return file, line, func


def keys_check(name, values, texts, rows):
    keys = [tuple(row["keys"]) for row in rows.get("keys", [])]
    if sorted(keys) != sorted(set(values)):
        fail(name, f"keys {keys}, records {values}")
    stacks = [[f["helper"] for f in row["keys"][0]["ustack-frames"]] for row in rows.get("stacks", [])]
    if sorted(stacks) != sorted([t] for t in set(texts)):
        fail(name, f"lstack(1) as a key: {stacks}, not {set(texts)}")


def compare(name, command, options=(), point=WRITE):
    records, rows, said = recorded(name, command, options, point)
    if len(records) != 2 or not all(language_texts(frames_of(r)[0]) for r in records):
        fail(name, f"no frames of the language: {records}\n{said}")
        return
    values = [record_check(name, r) for r in records]
    keys_check(name, values, [language_texts(frames_of(r)[0])[0] for r in records], rows)
    if rows.get("none"):
        fail(name, 'a predicate has found lfunc == ""')
    if (os.path.basename(values[0][0]), values[0][2]) != INNERMOST.get(name):
        fail(name, f"the innermost frame is {values[0]}")
    if said:
        fail(name, said)


def forms_check():
    """What the parts are of each form of text; the name of a native frame comes before the frame behind it."""
    subprocess.run(["cc", "-O1", "-rdynamic", "-o", "forms", "forms.c"], check=True)
    script = """
        syscall::write:entry /pid == $target && arg2 == 777/ { @[copyinstr(arg1), lfile, lline, lfunc, lstack(2)] = count(); }
        syscall::write:entry /pid == $target && arg2 == 777 && lfunc != ""/ { n++; }
        syscall::write:entry /n >= $1/ { exit(0); }"""
    run = subprocess.run([DTRACE, "-q", "-x", "oformat=jsonl", "-x", "helper=forms.d", "-x", "strsize=300", "-n", script, str(2 * len(FORMS)),
                          "-c", "./forms " + " ".join(shlex.quote(t) for t in FORMS)],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60 * PATIENCE)
    rows = [row for line in run.stdout.splitlines() for row in json.loads(line).get("aggregation-data", [])]
    got = {}
    for text, file, line, func, stack in (row["keys"] for row in rows):
        if file or func:
            got.setdefault(text, set()).add(((file, line, func), tuple(f["helper"].lstrip("\1") for f in stack["ustack-frames"])))
    for text, parts in FORMS.items():
        want = {(parts, ("behind",) if text[0] == "\1" else (text, "behind"))}
        if got.get(text) != want:
            fail(f"'{text}'", f"is {got.get(text)}, not {want}\n{run.stderr}")


def nothing_check():
    """Where there is no language: a program in C, dtrace itself, a system without helpers."""
    subprocess.run(["cc", "-O1", "-o", "none", "none.c"], check=True)
    records, rows, said = recorded("none", ["./none"], seconds=0)
    for output in records:
        if record_check("none", output) != ("", 0, ""):
            fail("none", output)
    if not records or len(rows.get("stacks", [])) != 1 or rows["stacks"][0]["keys"][0]["ustack-frames"] or said:
        fail("none", f"{rows}\n{said}")
    os.makedirs("empty", exist_ok=True)
    for folder in (os.environ["DTRACE_OPT_SYSLIBDIR"], "empty"):
        said = subprocess.run([DTRACE, "-q", "-n", 'BEGIN { printf("<%s|%d|%s>", lfile, lline, lfunc); exit(lfunc != ""); }'],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60 * PATIENCE,
                              env={**os.environ, "DTRACE_OPT_SYSLIBDIR": folder})
        if said.stdout.strip() != "<|0|>" or said.returncode:
            fail(folder, f"{said.stdout} {said.stderr}")


def main():
    os.chdir(TMP)
    prepare()
    write(PROGRAMS)
    chosen = os.environ.get("RUNTIMES", "").split()
    for name, (command, _, options) in RUNTIMES.items():
        if (not chosen or name in chosen) and make(name, command[0]):
            compare(name, command, options)
    if make("erlang", "erlc"):
        subprocess.run(["erlc", "p.erl"], check=True)
    for name, command in MORE.items():
        if (not chosen or name in chosen) and make(name, command[0]):
            compare(name, command, (), STAT if name == "erlang" else WRITE)
    forms_check()
    nothing_check()
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
