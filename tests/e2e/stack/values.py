# SPDX-License-Identifier: MIT
"""A program takes objects at known places and gives them back elsewhere; its stacks say where each was taken."""
import os, subprocess, sys

BUILD, SRC, TMP = os.environ["BUILD"], os.environ["SRC"], os.environ["TMP"]
DTRACE = BUILD + "/src/cmd/dtrace/dtrace"
PROGRAM = r"""
__attribute__((noinline)) void take(long object) { __asm__ volatile("nop" :: "r"(object) : "memory"); }
__attribute__((noinline)) void give(long object) { __asm__ volatile("" :: "r"(object) : "memory"); }
__attribute__((noinline)) void red(long object) { take(object); __asm__ volatile(""); }
__attribute__((noinline)) void blue(long object) { take(object); __asm__ volatile(""); }
/* As many different stacks as there are numbers of so many bits. */
__attribute__((noinline)) void left(long bits, int n);
__attribute__((noinline)) void right(long bits, int n);
static void down(long bits, int n)
{
	if (n == 0)
		take(0);
	else if (bits & 1)
		left(bits >> 1, n - 1);
	else
		right(bits >> 1, n - 1);
}
void left(long bits, int n) { down(bits, n); __asm__ volatile(""); }
void right(long bits, int n) { down(bits, n); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	for (long i = 1; i <= 10; i++)
		red(i);
	for (long i = 11; i <= 15; i++)
		blue(i);
	for (long i = 0; argc > 1 && i < 8192; i++)
		down(i, 13);
	for (long i = 2; i <= 15; i++)
		give(i);
	return 0;
}
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def dtrace(text, *more, args="", options=()):
    """What a script prints about the program, and what dtrace says."""
    with open(f"{TMP}/values.d", "w") as f:
        f.write(text)
    run = subprocess.run([DTRACE, "-q", *options, "-s", f"{TMP}/values.d", *more, "-c", f"{TMP}/values {args}".strip()], capture_output=True, text=True, timeout=300)
    return run.stdout, run.stderr, run.returncode


def functions(text):
    """The functions of the program of each stack: 'take < red < main', and the sum of what is printed behind it."""
    rows, stack = {}, []
    for line in text.splitlines():
        word = line.strip()
        if word.startswith("values`"):
            stack.append(word[7:].split("+")[0])
        elif word.isdigit():
            name = " < ".join(f for f in stack if f != "_start")
            rows[name] = rows.get(name, 0) + int(word)
            stack = []
    return sorted(rows.items())


with open(f"{TMP}/values.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["cc", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-o", f"{TMP}/values", f"{TMP}/values.c"], check=True)

KEPT = """
stackid_t first, from[long];
pid$target:values:take:entry { self->s = ustack(); from[arg0] = self->s; @all[ustack()] = count(); }
pid$target:values:take:entry /!first/ { first = self->s; }
pid$target:values:take:return /self->s/ { @again[self->s] = count(); self->s = 0; }
pid$target:values:give:entry /from[arg0]/ { @given[from[arg0]] = count(); from[arg0] = 0; }
END { printa("%k%@d\\n", @all); printf("--\\n"); printa("%k%@d\\n", @again); printf("--\\n"); printa("%k%@d\\n", @given); printf("--\\n%k\\n1\\n", first); }
"""
for options in ([], ["-x", "inproc=auto"]):
    out, said, status = dtrace(KEPT, options=options)
    parts = [functions(p) for p in out.split("--\n")]
    check(status == 0 and len(parts) == 4, f"the script runs {options}", (out, said))
    if len(parts) != 4:
        continue
    check(parts[0] == [("take < blue < main", 5), ("take < red < main", 10)], f"stacks as keys {options}", out)
    check(parts[1] == parts[0], f"the same stacks, kept in a variable of the thread {options}", out)
    check(parts[2] == [("take < blue < main", 5), ("take < red < main", 9)], f"stacks in an array {options}", out)
    check(parts[3] == [("take < red < main", 1)], f"a stack in a global variable, when the process has ended {options}", out)
    check("not kept" not in said and "drop" not in said, f"nothing was lost {options}", said)

# many stacks that nothing has any more make room; those that variables have are kept
out, said, status = dtrace(KEPT.split("END")[0].replace("@all[ustack()] = count();", "last = self->s; n++;").replace("@again[self->s] = count();", "")
                           + 'END { printf("--\\n%k\\n1\\n", first); trace(n); trace(first == last); printf("\\n--\\n"); printa("%k%@d\\n", @given); }',
                           args="many", options=["-x", "dynvarsize=256k"])
parts = out.split("--\n")
check(functions(parts[1])[-1:] == [("take < red < main", 1)] and "\n82070\n" in out, "the first one of many stacks", (out, said))
rows = functions(parts[-1])
check(("take < red < main", 9) in rows and ("take < blue < main", 5) in rows, "stacks of an array, behind many others", (out, said))

# a stack is equal to itself, and the same function called elsewhere is another one
out, said, status = dtrace("""
pid$target:values:red:entry /arg0 == 1/ { a = ustack(); }
pid$target:values:red:entry /arg0 == 2/ { b = ustack(); }
pid$target:values:blue:entry /arg0 == 11/ { c = ustack(); none = a; none = 0; }
END { printf("%d %d %d %d %d", a == b, a != c, a == c, !none, none == 0); k[a] = 7; printf(" %d %d", k[b], k[c]); exit(0); }
""")
check(out.strip() == "1 1 0 1 1 7 0", "comparisons, and a stack as an array's key", (out, said))

# as JSON it is a stack like others
out, said, status = dtrace("pid$target:values:blue:entry /arg0 == 11/ { self->s = ustack(); trace(self->s); }", options=["-x", "oformat=json"])
check("blue" in out and "frames" in out, "JSON", (out, said))

for text, message in (("BEGIN { this->s = stack() + 1; }", "incompatible types"), ("BEGIN /stack() < ustack()/ { }", "incompatible types"),
                      ("BEGIN { this->s = stack(); trace((int)this->s); }", "invalid cast"), ("BEGIN { x = 1; x = stack(); }", "incompatible types"),
                      ("BEGIN { @ = sum(stack()); }", "sum")):
    out, said, status = dtrace(text)
    check(status != 0 and message in said, text, said)
sys.exit(1 if failed else 0)
