# SPDX-License-Identifier: MIT
"""A process with a hostile name opens a file with a hostile name. What dtrace prints of both on a terminal (a pseudo terminal), into a pipe,
with each value of the option escape, in JSON and HTML, and what the shell of system() makes of it."""
import json, os, pty, re, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
os.chdir(TMP)
failed = []

NAME = b"a\x1b[2J\r\x07;id>pwn"  # 15 bytes at most
# a line feed, what is to be escaped in UTF-8 and out of it, and what is not
PATH = "/nope\n  0  1 root  /etc/shadow\t\u009b\u202e\u2028\u200b\U000e0041 \u00e4\u20ac\U0001f600\u200d\\n'\"".encode() + b"\xff\xc0\x80."
NAME_SAFE = rb"a\033[2J\r\a;id>pwn"
PATH_SAFE = (rb"/nope\n  0  1 root  /etc/shadow\t" + rb"\302\233\342\200\256\342\200\250\342\200\213\363\240\201\201 "
             + "\u00e4\u20ac\U0001f600\u200d\\n'\"".encode() + rb"\377\300\200.")

with open("hostile", "wb") as f:
    f.write(b"printf '" + NAME + b"' >/proc/$$/comm\nname='" + PATH.replace(b"'", b"'\\''") + b"'\n: <\"$name\"\nexit 0\n")


def check(what, got, want):
    if got != want:
        failed.append(f"{what}: {got}, not {want}")


def run(before, program, *flags, tty=False, quiet=True):
    """What dtrace writes, to a terminal or to a pipe. The program's clause fires once, when PATH has been read."""
    program = (before + ' syscall::open*:entry /pid == $target/ { self->path = probefunc == "open" ? arg0 : arg1; } '
               'syscall::open*:return /self->path && strstr(PATH, "/nope") == PATH/ ' + program).replace("PATH", "copyinstr(self->path)")
    argv = [DTRACE, *(["-q"] if quiet else []), "-w", *flags, "-c", "sh hostile", "-n", program]
    if not tty:
        p = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
        check(f"status of {program}: {p.stderr.decode(errors='replace')}", p.returncode, 0)
        return p.stdout
    master, slave = pty.openpty()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    out = b""
    while True:
        try:
            got = os.read(master, 65536)
        except OSError:  # the other side was closed
            break
        if not got:
            break
        out += got
    err = p.stderr.read().decode(errors="replace")
    check(f"status of {program}: {err}", p.wait(), 0)
    os.close(master)
    return out.replace(b"\r\n", b"\n")


# a terminal gets escapes; what is cut is cut between two of them, and the rest of the line stays where it was
parts = (
    (r'printf("%s|%s", execname, PATH);', NAME_SAFE + b"|" + PATH_SAFE),
    (r'printf("%-9.6s|%8.3s|%.2s|%s", execname, execname, execname, "x");', rb"a\033[   |       a|a|x"),
    (r"trace(execname); trace(PATH);", NAME_SAFE + PATH_SAFE),
    (r'printf("%c%c", ((char *)this->bytes)[5], ((char *)this->bytes)[1]);', rb"\nn"),
    (r'printf("%q %-8.3q", execname, "it\'s");', b"'" + NAME_SAFE + rb"' 'it'\'''"),
    (r'freopen("/proc/self/fd/1"); printf("%s", execname); freopen("");', NAME_SAFE),
    (r'@a[execname] = count(); printa("%s %@d", @a);', NAME_SAFE + b" 1"),
    # the program's own text stays as it is: literals, constants, choices between them, variables that get nothing else
    (r'printf("\t%s%s%s%c%c", RED, strjoin(RED, "\r"), 1 ? "\b" : "\v", 7, this->one);', b"\t\x1b[31m\x1b[31m\r\x08\x07\n"),
    (r'printf("%s%s", pid ? "\033[1m" : "\033[0m", last); trace("\f");', b"\x1b[1m\n\x0c"),
    (r'@b["\033[2m", "k"] = count(); printa("%s", @b);', b"\x1b[2m"),
    (r'printf("%s", mixed);', rb"\a"),
)
got = run('inline string RED = "\\033[31m"; string last, mixed; BEGIN { last = "\\n"; mixed = "\\a"; } syscall::getpgid:entry /pid == 0/ { mixed = execname; }',
          "{ this->one = 10; this->bytes = copyin(self->path, 6); " + ' printf("@@"); '.join(p for p, _ in parts) + " }", tty=True)
for (program, want), part in zip(parts, (got[:-1] if got.endswith(b"\n") else got).split(b"@@")):
    check(program, part, want)
check("parts", got.count(b"@@"), len(parts) - 1)
lines = run("", "{ trace(execname); @[execname, PATH] = count(); }", tty=True, quiet=False).split(b"\n")
check("trace, columns", any(b"  " + NAME_SAFE.ljust(33) == l[-35:] for l in lines), True)
check("keys", [l.split() for l in lines if l.endswith(b" 1")], [(NAME_SAFE + b" " + PATH_SAFE + b" 1").split()])
check("agghist", NAME_SAFE in run("", "{ @[execname] = count(); this->p = PATH; }", "-x", "agghist", tty=True), True)

# everything else gets the bytes; the option says otherwise
FORMAT = r'{ printf("<%s|%s>", execname, PATH); }'
RAW, SAFE = b"<" + NAME + b"|" + PATH + b">\n", b"<" + NAME_SAFE + b"|" + PATH_SAFE + b">\n"
check("pipe", run("", FORMAT), RAW)
check("file", (run("", FORMAT, "-o", "out", tty=True), open("out", "rb").read()), (b"", RAW))
check("always, pipe", run("", FORMAT, "-x", "escape=always"), SAFE)
check("never, terminal", run("", FORMAT, "-x", "escape=never", tty=True), RAW)

# JSON and HTML
got = run("", FORMAT, "-x", "oformat=jsonl", tty=True)
line = json.loads(got.splitlines()[1].decode("ascii", errors="surrogateescape").encode(errors="surrogateescape").decode())
check("JSON", line["output"][1:], [{"value": NAME.decode()}, {"value": PATH.decode(errors="replace")}])
check("JSON on a terminal", [c for c in got.decode() if ord(c) < 32 and c != "\n" or c in "\x7f\x9b\u202e\u2028\u200b\U000e0041"], [])
page = run("", r'{ printf("<%s|%s>", execname, PATH); @[PATH] = count(); }', "-x", "oformat=html").decode()
check("HTML", [c for c in page if ord(c) < 32 and c not in "\n\t" or c in "\x7f\x9b\u202e\u2028\u200b\U000e0041"] + re.findall("^  0  1 root", page, re.M), [])
check("HTML, escaped", page.count(r"/nope\n  0  1 root"), 2)

# messages of one line
p = subprocess.run([DTRACE, "-qwn", r'BEGIN { freopen("/no/such\n%s", "x"); exit(0); }'], capture_output=True, timeout=600)
check("messages", [l for l in p.stderr.decode().splitlines() if l.startswith("x")], [])

# a shell: a text is one word, whatever is in it
got = run("", r'{ system("printf \"<%%s>\" %q %q", execname, PATH); }')
check("system", (got, os.path.exists("pwn")), (b"<" + NAME + b"><" + PATH + b">\n", False))
p = subprocess.run([DTRACE, "-qw", "-x", "strsize=24", "-n", 'BEGIN { system("echo %q", $$1); system("echo %s", "unquoted and too long to be whole"); exit(0); }',
                    "it's a b c d e f g"], capture_output=True, timeout=600)
check("a command that is too long", (p.stdout, "of system() with %q has 28 bytes" in p.stderr.decode()), (b"unquoted and too l\n\n", True))

print("\n".join(failed))
sys.exit(bool(failed))
