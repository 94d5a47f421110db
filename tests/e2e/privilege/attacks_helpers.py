# SPDX-License-Identifier: MIT
"""
Programs that carry hostile helpers run as alice (and as carol, who executes what alice has written) while bob's run honest ones. Root records the stacks of
all of them, carol with dtrace_kernel her own, alice hers, in which carried helpers do not count.
"""
import random, re, time
from world import *

enter()
if not shutil.which("cc"):
    skip("there is no cc")
levels(f"user {ALICE}: dtrace_user, dtrace_proc\nuser {CAROL}: dtrace_user, dtrace_proc, dtrace_kernel\n")
# control characters, also those of 8 bits as UTF-8 has them
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
READ = re.compile(r"^ *(?:\[ )?read ", re.M)
KERNEL = re.compile(r"(?:0x)?ffff[0-9a-f]{12}", re.I)
TOY = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct frame {
	struct frame *outer;
	const char *name;
	int line;
};
struct frame *current;
volatile int touched;

__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line};

	current = &f;
	touched += **names;
	if (names[1])
		run(names + 1, line + 10);
	else
		syscall(SYS_getppid);
	current = f.outer;
	__asm__ volatile("");
}

int main(void)
{
	static const char *const names[] = {"main", "work", "leaf", NULL};

	for (;; usleep(20000))
		run(names, 1);
}
"""
WHOLE = re.compile(r"\n *leaf line 21\n.*\n *work line 11\n.*\n *main line 1\n.*\n.*\n.*\n.*`_start")
# Each statement is a clause of its own, at a frame of its own. ADDRESS is in the code of the kernel, which can be read.
READS = """strjoin("@read ", *(uint64_t *)ADDRESS ? "it" : "it");
strjoin("@read ", (string)(char *)ADDRESS);
this->p = (int *)ADDRESS; *this->p = 1; "@read";
copyinto(arg2, 8, (void *)ADDRESS); "@read";
bcopy((void *)ADDRESS, alloca(8), 8); "@read ";
strjoin("@read ", copyinstr(ADDRESS));
this->c = (char *)copyin(ADDRESS, 8); strjoin("@read ", lltostr(this->c[0]));
uframe("@read ", *(uint64_t *)ADDRESS);
uframe("@read ", (string)(char *)ADDRESS);
strjoin("@read ", (string)(char *)ADDRESS == "a" ? "a" : "b");"""
ADDRESS = "0x" + next((line.split()[0] for line in open("/proc/kallsyms") if line.split()[2] == "_text" and int(line.split()[0], 16)), "ffffffff81000000")
HOSTILE = {
    "reads": "".join(f"dtrace:helper:ustack: /arg3 == {i}/ {{ {text.replace('ADDRESS', ADDRESS)} }}\n" for i, text in enumerate(READS.split("\n"))),
    "loops": "dtrace:helper:ustack: { while (1; 65536) while (1; 65536) this->i++; }",
    "begins": "dtrace:helper:attach: { while (1; 65536) while (1; 65536) while (1; 65536) this->i++; }\ndtrace:helper:ustack: { \"@never\"; }",
    "threads": "dtrace:helper:uthread: { while (1; 65536) while (1; 65536) this->i++; }\ndtrace:helper:ustack: { \"@never\"; }",
    "frames": 'dtrace:helper:ustack: { while (1; 65536) uframe("@again"); }',
    "turns": "dtrace:helper:ustack: { unwind(arg0, arg2, arg1); }",
    "searches": 'dtrace:helper:ustack: { this->n = (uint64_t)0; while (1; 65536) this->n += strlen(strstr("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "ab")); }',
    "terminal": 'dtrace:helper:ustack: /arg3 == 0/ { "@\\33[31mred\\33]0;title\\7" } dtrace:helper:ustack: /arg3 == 1/ { "@one\\n\\n  bob 1:\\n  libc.so.6`forged+0x1\\r" } '
                'dtrace:helper:ustack: /arg3 == 2/ { uframe("@\\2332J\\200\\377\\302\\233forged\\t\\b\\b"); }'.replace('" }', '"; }'),
    "huge": 'dtrace:helper:ustack: { this->s = strjoin("@", "%s"); this->s = strjoin(this->s, this->s); this->s = strjoin(this->s, this->s); uframe(this->s, this->s, this->s, this->s); this->s; }' % ("h" * 250),
    "own": 'dtrace:helper:ustack: { this->p = (char *)alloca(8); uframe("@own ", (uint64_t)this->p); this->q = (char *)copyin(arg2, 8); uframe("@own ", (uint64_t)this->q); }',
}
running = []


def start(uid, *argv, **kwargs):
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV, **user(uid), **kwargs)
    running.append(p)
    return p


def stop_all():
    for p in running:
        p.kill()
    for p in running:
        p.wait()
    running.clear()


def as_root(*args):
    return subprocess.run([DTRACE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape", timeout=SECONDS, env=ENV)


def cc(name, *args):
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", f"{HOME}/{name}", *args], cwd=TMP, check=True)


def build(name, text):
    """The toy with this helper in it; False if -G refuses the helper."""
    with open(f"{TMP}/{name}.d", "w", encoding="latin-1") as f:
        f.write(text + "\n")
    r = subprocess.run([DTRACE, "-G", "-s", f"{name}.d", "-o", f"{name}.o", "toy.o"], cwd=TMP, capture_output=True, text=True, env=ENV)
    if r.returncode:
        print(f"# -G refuses {name}: {r.stderr}")
        return False
    cc(name, "toy.o", f"{name}.o")
    return True


def honest_helper():
    """The helper of the guide, without its line of patterns."""
    with open(f"{SRC}/doc/guide/ustack-helpers.md") as f:
        texts = re.findall(r"^```d helper\n(.*?)^```", f.read(), re.M | re.S)
    return re.sub(r"^#pragma.*\n", "", [t for t in texts if '"toy"' in t][-1], flags=re.M)


TEXT = 'syscall::getppid:entry { printf("\\nstack %%d %%s:\\n", pid, execname); jstack(100); n++; } syscall::getppid:entry /pid == %d/ { mine++; } tick-20hz /mine > %d/ { exit(0); } tick-%ds { exit(5); }'


def stacks(r):
    """A list for each process of what the session has of it."""
    found = {}
    for part in re.split(r"^stack ", r.stdout, flags=re.M)[1:]:
        found.setdefault(int(part.split()[0]), []).append(part)
    return found


def damaged(rng, image):
    """The DOF in the program, with some bytes that are others, or some words that are huge."""
    at = image.index(b"\x7fDOF")
    size = int.from_bytes(image[at + 40:at + 48], "little")
    for _ in range(rng.choice((1, 1, 2, 8))):
        if rng.random() < 0.5:
            image[at + rng.randrange(16, size)] ^= 1 << rng.randrange(8)
        else:
            word, bytes_of_it = at + rng.randrange(16, size - 8) // 4 * 4, rng.choice((4, 8))
            image[word:word + bytes_of_it] = rng.choice((b"\xff" * 8, b"\xff\xff\xff\x7f" + bytes(4), bytes(8), b"\0\0\1\0" * 2))[:bytes_of_it]
    return image


def write_damaged(n):
    rng, names = random.Random(31), []
    with open(f"{HOME}/honest", "rb") as f:
        good = f.read()
    for i in range(n):
        names.append(f"damaged{i}")
        with open(f"{HOME}/damaged{i}", "wb") as f:
            f.write(damaged(rng, bytearray(good)))
        os.chmod(f"{HOME}/damaged{i}", 0o755)
    return names


def control_check(what, text):
    raw = text.encode("utf-8", "surrogateescape")
    found = CONTROL.search(raw)
    check(not found, f"{what}: control characters", found and raw[max(0, found.start() - 60):found.end() + 60])


def session_check(who, r, bob=None):
    if os.environ.get("SHOW"):
        print(f"{who}: {len(r.stdout)} characters\n{r.stderr}")
        for pid, texts in stacks(r).items():
            print(texts[-1][:600])
    check(r.returncode == 0, f"{who} ends by itself", (r.returncode, r.stderr, r.stdout[-1500:]))
    text = r.stdout + r.stderr
    control_check(who, text)
    check(not re.search(r"^\s*libc\.so\.6`forged|^\s*bob 1:", text, re.M), f"{who} has a line that a name has made", text[-2000:])
    check(not READ.search(r.stdout), f"{who} reads the kernel's memory for a helper", r.stdout[-2000:])
    if bob:
        mine = stacks(r).get(bob.pid, [])
        whole = [bool(WHOLE.search(s)) for s in mine]
        late = whole[whole.index(True):] if True in whole else [False]
        check(all(late) and len(late) > 20, f"{who}: bob's stacks are not whole: {len(mine)}, {whole.count(True)}", ([s for s in mine if not WHOLE.search(s)][-1:], r.stderr))
        check(not any("helper error" in s or "cut" in s for s in mine[-20:]), f"{who}: bob's stacks bear faults of others", mine[-1:])


def helpers():
    with open(f"{TMP}/toy.c", "w") as f:
        f.write(TOY)
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-c", "toy.c"], cwd=TMP, check=True)
    check(build("honest", honest_helper()), "-G takes the helper of the guide")
    names = [name for name, text in HOSTILE.items() if build(name, text)]
    check(len(names) == len(HOSTILE), "-G takes the hostile helpers", names)
    names += write_damaged(16)
    bob = start(BOB, f"{HOME}/honest")
    theirs = {name: start(ALICE, f"{HOME}/{name}") for name in names}
    hers = {name: start(CAROL, f"{HOME}/{name}") for name in names if name in HOSTILE}
    r = as_root("-qn", TEXT % (bob.pid, 80, SECONDS // 2), "-x", "bufsize=16m")
    session_check("root's session", r, bob)
    seen = stacks(r)
    for name, p in theirs.items():
        if p.poll() is None:
            check(any("syscall+" in s or "leaf" in s for s in seen.get(p.pid, [])), f"root has stacks of {name}", (seen.get(p.pid, [])[:1], r.stderr))
    r = as_root("-qn", TEXT % (bob.pid, 10, SECONDS // 2), "-x", f"helper={TMP}/reads.d")
    check(READ.search(r.stdout), "the same clauses in a file of root's read the kernel's memory: else this is no test", (r.stdout[-1500:], r.stderr))
    r = dtrace(ALICE, "-qn", TEXT % (theirs["terminal"].pid, 30, SECONDS // 2))
    session_check("alice's session", r)
    check("[ " not in r.stdout and not KERNEL.search(r.stdout + r.stderr), "a helper that a program carries counts in alice's session", r.stdout[-1000:] + r.stderr)
    check(set(stacks(r)) <= {p.pid for p in theirs.values()}, "alice's session has her processes only", set(stacks(r)))
    r = dtrace(CAROL, "-qn", TEXT % (hers["terminal"].pid, 30, SECONDS // 2))
    session_check("carol's session", r)
    check("red" in r.stdout, "helpers count in carol's session", r)
    check(set(stacks(r)) <= {p.pid for p in hers.values()}, "carol's session has her processes only", set(stacks(r)))
    stop_all()


def notes(name, provider, probes, extra=""):
    """A program with these probes, at an instruction that it executes all the time."""
    def word(*numbers):
        return "\t.4byte " + ", ".join(map(str, numbers)) + "\n"

    with open(f"{TMP}/{name}.s", "w", encoding="latin-1") as f:
        f.write('\t.section .note.stapsdt,"","note"\n')
        for probe in probes:
            texts = b"".join(t.encode("latin-1") + b"\0" for t in (provider, probe, extra))
            f.write(word(8, 24 + len(texts), 3) + '\t.asciz "stapsdt"\n\t.8byte fired, 0, 0\n\t.byte ' + ", ".join(map(str, texts + bytes(-len(texts) % 4))) + "\n")
        f.write("\t.text\n\t.globl fire\n\t.type fire,@function\nfire:\n\t.cfi_startproc\nfired:\tnop\n\tret\n\t.cfi_endproc\n\t.size fire,.-fire\n\t.section .note.GNU-stack,\"\"\n")
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write("#include <unistd.h>\nvoid fire(void);\nint main(void) { for (;; usleep(5000)) fire(); }\n")
    cc(name, f"{name}.c", f"{name}.s")
    return f"{HOME}/{name}"


def probes():
    """65,536 of them, and names that say that they are another process's, or that speak to a terminal."""
    bob = start(BOB, notes("bobs", "shop", ["sold"]))
    many = start(ALICE, notes("many", "many", (f"probe{i}" for i in range(65536))))
    false = start(ALICE, notes("false", f"shop{bob.pid}", ["sold"]))
    odd = start(ALICE, notes("odd", "od\33[31md", ["na\33]0;title\7me", "line\n99999 shop1 bobs main sold", "\x9b31m", "x" * 100000], "8@%rdi \33[31m"))
    for p in running:
        while os.readlink(f"/proc/{p.pid}/exe").split("/")[-1] not in ("bobs", "many", "false", "odd"):
            time.sleep(0.01)
    r = as_root("-ln", f"many{many.pid}:::")
    check(r.returncode in (0, 1) and (r.stdout.count("\n") >= 65536 or r.stderr), "root lists 65,536 probes, or is told why not", (r.returncode, r.stdout[-300:], r.stderr[:500]))
    for name in f"shop{bob.pid}:::", f"shop{bob.pid}:::sold", f"shop{bob.pid}*:::":
        r = as_root("-lvn" if name.endswith("sold") else "-ln", name)
        check("bobs" in r.stdout, f"root lists {name}", r)
        check("false" not in r.stdout or name.endswith("*:::"), f"a probe of alice's is listed as bob's: {name}", r)
    r = as_root("-qn", f"shop{bob.pid}:::sold {{ @[pid] = count(); n++; }} tick-10hz /n > 100/ {{ exit(0); }} tick-{SECONDS // 2}s {{ exit(5); }}")
    check(r.returncode == 0 and re.findall(r"^\s*(\d+)\s", r.stdout, re.M) == [str(bob.pid)], "a probe of alice's fires as bob's", r)
    for args in ["-ln", f"*{odd.pid}:odd::"], ["-lvn", "*$target:odd::", "-p", str(odd.pid)], ["-qn", "*$target:odd:: { trace(probeprov); trace(probename); trace(arg0); } tick-1s { exit(0); }", "-p", str(odd.pid)]:
        for r in as_root(*args), dtrace(ALICE, *args):
            check(r.returncode in (0, 1), f"{args} ends by itself", r)
            control_check(args, r.stdout + r.stderr)
            check(not re.search(r"^\s*99999 +shop1", r.stdout, re.M), f"a name makes a line: {args}", r)
    r = dtrace(ALICE, "-qn", f"many{many.pid}::: {{ @ = count(); }} tick-1s {{ exit(0); }}")
    check(r.returncode == 1 and "probes" in r.stderr, "65,536 probes are more than alice's quota", (r.stdout[-300:], r.stderr[:500]))
    stop_all()


try:
    helpers()
    probes()
finally:
    stop_all()
done()
