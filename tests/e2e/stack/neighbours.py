# SPDX-License-Identifier: MIT
# Makes a ustack helper with random clauses: neighbours.py SEED NAME writes NAME.d. Most of its clause-local variables are set before they
# are used; the first ones, and a few others by chance, are set and used on random paths, so they keep values from frame to frame. What they
# were goes into a sum, which the helper writes down at the frame of main().
import random
import sys

rnd = random.Random(sys.argv[1] + sys.argv[2])
NVARS, NKEPT = 56, 8
lines = []


def variable():
    return "this->v%d" % rnd.randrange(NVARS)


def value():
    k = rnd.randrange(6)
    if k == 0:
        return str(rnd.randrange(100000))
    if k == 1:
        return "(arg0 - main)"
    if k == 2:
        return "arg3"
    return "(%s %s %s)" % (variable(), rnd.choice("+-*^"), rnd.choice([variable(), str(rnd.randrange(1, 1000))]))


def condition():
    return "%s & %d" % (rnd.choice(["arg3", variable()]), 1 << rnd.randrange(4))


def statements(depth, indent):
    for _ in range(rnd.randrange(4, 10)):
        k = rnd.randrange(10) if depth else 9
        if k < 2:
            lines.append("%sif (%s) {" % (indent, condition()))
            statements(depth - 1, indent + "\t")
            if k:
                lines.append(indent + "} else {")
                statements(depth - 1, indent + "\t")
            lines.append(indent + "}")
        elif k == 2:
            lines.append("%sthis->n%d = (uint64_t)0;" % (indent, depth))
            lines.append("%swhile (this->n%d < (%s & 3); 8) {" % (indent, depth, variable()))
            lines.append("%s\tthis->n%d++;" % (indent, depth))
            statements(depth - 1, indent + "\t")
            lines.append(indent + "}")
        elif k < 5:
            lines.append("%sthis->sum = this->sum * 31 + %s;" % (indent, variable()))
        else:
            lines.append("%s%s = %s;" % (indent, variable(), value()))


lines.append("this uint64_t sum, n1, n2, %s;" % ", ".join("v%d" % i for i in range(NVARS)))
lines.append("dtrace:helper:uthread:\n{")
for i in range(NVARS):
    if rnd.randrange(4) == 0:
        lines.append("\tthis->v%d = %d;" % (i, rnd.randrange(100)))
lines.append("}")
for _ in range(3):
    # addresses of libraries would be others each time
    lines.append("dtrace:helper:ustack:\n/arg0 - main + 65536 < 131072 && (%s)/\n{" % rnd.choice(["arg0", condition(), "arg0 > main"]))
    for i in range(NKEPT, NVARS):
        if rnd.randrange(40):
            lines.append("\tthis->v%d = %s;" % (i, rnd.choice(["arg0 - main", "arg3", "arg3 * %d" % rnd.randrange(1000)])))
    statements(2, "\t")
    lines.append("}")
others = ["g%d" % i for i in range(40)]  # of attach clauses only
with open(sys.argv[2] + ".d", "w") as f:
    print('#pragma D helper exec "neighbours"\nuint64_t main, main_end, %s;' % ", ".join(others), file=f)
    print('dtrace:helper:attach:\n{\n\tmain = symaddr("main");\n\tmain_end = main + symsize("main");', file=f)
    print("".join("\t%s = main;\n" % o for o in others) + "}", file=f)
    print("\n".join(lines), file=f)
    print('dtrace:helper:ustack:\n/arg0 > main && arg0 <= main_end/\n{\n\tuframe("%s ", this->sum);\n}' % sys.argv[2], file=f)
