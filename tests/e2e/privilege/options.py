# SPDX-License-Identifier: MIT
"""
Each flag of the command, as alice, who has dtrace_user and dtrace_proc. A flag that is new has no row here, and the test fails
until it is decided. Options of -x have rows in src/privilege/needs.def, which tests/unit/privilege/needs.c compares.
"""
import re
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
NOW = ["-n", "BEGIN { exit(0); }"]
OPENED = "it opens files as alice"
GIVEN_UP = "capabilities are given up before anything else is read"
FORM = "what is recorded anyway, in another form or size"
# the flag: why it may be used, what is run to see that it can; or None, and how it is refused
FLAGS = {
    "3": (None, ["-32", *NOW], "-32: programs"), "6": (FORM, ["-64", *NOW]), "a": (None, ["-a"], "not supported on Linux"), "A": (None, ["-A", *NOW], "not supported on Linux"),
    "b": (FORM, ["-b", "1m", *NOW]), "B": (None, ["-B", *NOW], "not supported"), "c": ("it runs as alice, without capabilities: attacks.py", ["-c", "true", "-n", "END { }"]),
    "C": ("the same", ["-C", "-s", "t.d"]), "D": ("of -C", ["-C", "-D", "X", "-s", "t.d"]), "e": (GIVEN_UP, ["-e", *NOW]), "f": ("what each probe needs: sees_probes.py", ["-f", "getppid", *NOW]),
    "F": (FORM, ["-F", *NOW]), "G": (GIVEN_UP, ["-G", "-s", "usdt.d", "-o", "usdt.o"]), "h": (GIVEN_UP, ["-h", "-s", "usdt.d", "-o", "usdt.h"]), "H": ("of -C", ["-C", "-H", "-s", "t.d"]),
    "i": ("as -f", ["-i", "1", *NOW]), "I": (OPENED, ["-C", "-I", ".", "-s", "t.d"]), "k": ("of -h and -G", ["-h", "-k", "-s", "usdt.d", "-o", "usdt.h"]), "l": (GIVEN_UP, ["-l", "-n", "BEGIN"]),
    "L": ("its files are checked: sees_probes.py", ["-L", "own", *NOW]), "m": ("as -f", ["-Z", "-m", "nothing", *NOW]), "n": ("as -f", NOW), "o": (OPENED, ["-o", "out", *NOW]),
    "p": ("alice's processes only: sees_whom.py", ["-p", "1", *NOW], "is not one of user"), "P": ("as -f", ["-P", "dtrace", *NOW]), "q": (FORM, ["-q", *NOW]), "s": (OPENED, ["-s", "t.d"]),
    "S": ("code before it is linked, without addresses", ["-S", *NOW]), "U": ("of -C", ["-C", "-U", "X", "-s", "t.d"]), "v": (FORM, ["-v", *NOW]), "V": (GIVEN_UP, ["-V"]),
    "w": ("what each action needs: sees_probes.py", ["-w", *NOW]), "x": ("as needs.def says", ["-x", "quiet", *NOW]), "X": ("of -C", ["-C", "-X", "a", "-s", "t.d"]), "Z": (FORM, ["-Z", *NOW]),
    "help": (GIVEN_UP, ["--help"]), "complete": (GIVEN_UP, ["--complete", "probe", "BEG"]), "version": (GIVEN_UP, ["--version"]),
    "helpertrace": ("alice's processes and files only", ["--helpertrace", "1"], ""), "pstack": (GIVEN_UP, ["--pstack", "1"], ""), "core": (GIVEN_UP, ["--core", "/proc/1/mem", *NOW], ""),
    "types": ("of -h and -G", ["-h", "--types", "-s", "usdt.d", "-o", "usdt.h"]), "no-pyparsing": ("of -h and -G", ["-h", "--no-pyparsing", "-s", "usdt.d", "-o", "usdt.h"]),
}
for name, text in (("t.d", "BEGIN { exit(0); }\n"), ("usdt.d", "provider p { probe q(int); };\n")):
    with open(f"{home(ALICE)}/{name}", "w") as f:
        f.write(text)
os.makedirs(f"{home(ALICE)}/own")
with open(f"{SRC}/src/cmd/dtrace/main.c") as f:
    text = f.read()
short = set(re.search(r'optstring\[\] = "([^"]*)"', text).group(1)) - {":"}
long = set(re.findall(r'^\t\{"([^"]+)", (?:no|required|optional)_argument', text, re.M))
check(len(short) > 30 and len(long) > 5, "flags are found in the command", (short, long))
check(short | long == set(FLAGS), "each flag is decided", (short | long) ^ set(FLAGS))
for flag, (why, args, *said) in FLAGS.items():
    r = dtrace(ALICE, *args)
    if said:
        check(r.returncode != 0 and r.stderr.strip() and said[0] in r.stderr, f"{flag} is refused", r)
    else:
        check(r.returncode == 0 and why, f"{flag} can be used", r)
# options: those that are refused, and by what they may be set
for option, said in (("bpflog", "Option bpflog needs dtrace_kernel; this session has dtrace_user, dtrace_proc"), ("helper=h.d", "Option helper needs dtrace_kernel"), ("harmful", "names what is trusted"),
                     ("debugdir=/", "names what is trusted"), ("syslibdir=/", "names what is trusted"), ("privileges=root:dtrace_kernel", "is about processes of user")):
    for args in (["-x", option, *NOW], ["-n", f"#pragma D option {option}\nBEGIN {{ exit(0); }}"]):
        r = dtrace(ALICE, *args)
        check(r.returncode == 1 and (said in r.stderr or "cannot be used from within" in r.stderr), f"{args} is refused", r)
# a program that is refused is told without the kernel's addresses
for args in (["-S"], ["-x", "debug"], ["-x", "dump=bpf"], ["-x", "disasm=9", "-S"], ["-x", "tree=1"]):
    r = dtrace(ALICE, *args, "-n", 'BEGIN { s = "x"; @[s, alloca(8) != NULL] = count(); self->x = 1; exit(0); }')
    check(not re.search(r"(?<![0-9a-f])ffff[89c-f][0-9a-f]{11}(?![0-9a-f])", r.stdout + r.stderr), f"{args} shows an address of the kernel", r)
levels(f"user {ALICE}: dtrace_user, dtrace_kernel\n")
r = dtrace(ALICE, "-x", "bpflog", *NOW)
check(r.returncode == 0 and "processed" in r.stderr, "bpflog with dtrace_kernel", r)
done()
