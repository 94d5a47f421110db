# SPDX-License-Identifier: MIT
# Makes a random ustack helper and a C program that computes the same values: random_helper.py SEED writes random.d, and random.c, which
# defines data for the helper to read and prints in main() the lines that the helper's frames have to be.
import random
import sys

rnd = random.Random(int(sys.argv[1]))
NDATA, NVARS, NGLOBALS, NCLAUSES = 16, 8, 16, 6
NAMES = ["", "zero", "one", "a longer name", "two", "grün", "x/y/z", "7"]
helper, program = [], []  # lines of both


def const():
    return rnd.choice([0, 1, 2, 3, -1, -2, 7, 8, 63, 64, 127, 128, 255, 256, -128, 4096, 2**31 - 1, 2**31, 2**32, 2**40 + 5, -2**33, 2**62])


class Scope:
    """What an expression may use; each method returns the text in D and the text in C."""

    def __init__(self, variables):
        self.variables = variables

    def leaf(self):
        k = rnd.randrange(4 if self.variables else 3)
        if k == 0:
            c = const()
            return "(int64_t)(%d)" % c, "(int64_t)(%dll)" % c
        if k == 1:
            i = rnd.randrange(NDATA)
            return "N[%d]" % i, "data.n[%d]" % i
        if k == 2:
            t = rnd.choice(["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t"])
            at = rnd.randrange(8 * NDATA - 8)
            return "(int64_t)*(%s *)(data + %d)" % (t, at), "(int64_t)AT(%s, %d)" % (t, at)
        v = rnd.choice(self.variables)
        return "this->" + v, v

    def number(self, depth):
        if depth <= 0 or rnd.random() < 0.1:
            return self.leaf()
        k = rnd.randrange(16)
        if k < 5:  # conditional expressions in all three operands are what this is about
            (c, cc), (a, ca), (b, cb) = self.condition(depth - 1), self.number(depth - 1), self.number(depth - 1)
            form = rnd.choice(["(%s ? %s : %s)", "((%s) ? (%s) : (%s))"])
            return form % (c, a, b), "(%s ? %s : %s)" % (cc, ca, cb)
        if k == 5:
            c, cc = self.condition(depth - 1)
            return "(int64_t)(%s)" % c, "(int64_t)(%s)" % cc
        if k == 6:
            t = rnd.choice(["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t"])
            a, ca = self.number(depth - 1)
            return "(int64_t)(%s)(%s)" % (t, a), "(int64_t)(%s)(%s)" % (t, ca)
        if k == 7:
            op = rnd.choice("-~")
            a, ca = self.number(depth - 1)
            return "(%s(%s))" % (op, a), "(%s(%s))" % (op, ca)
        if k == 8:
            s, cs = self.string(depth - 1)
            return "(int64_t)strlen(%s)" % s, "(int64_t)strlen(%s)" % cs
        (a, ca), (b, cb) = self.number(depth - 1), self.number(depth - 1)
        if k == 9:
            op = rnd.choice("/%")
            return "(%s %s ((%s & 15) + 1))" % (a, op, b), "(%s %s ((%s & 15) + 1))" % (ca, op, cb)
        if k == 10:
            op = rnd.choice("/%")
            form = "(int64_t)((uint64_t)(%s) " + ("%%" if op == "%" else op) + " ((uint64_t)(%s) | 1))"
            return form % (a, b), form % (ca, cb)
        if k == 11:
            op = rnd.choice(["<<", ">>"])
            return "(%s %s (%s & 63))" % (a, op, b), "(%s %s (%s & 63))" % (ca, op, cb)
        op = rnd.choice("+-*&|^")
        return "(%s %s %s)" % (a, op, b), "(%s %s %s)" % (ca, op, cb)

    def condition(self, depth):
        k = rnd.randrange(9)
        if depth <= 0 or k < 2:
            (a, ca), (b, cb) = self.number(depth - 1), self.number(depth - 1)
            op = rnd.choice(["<", "<=", ">", ">=", "==", "!="])
            if rnd.random() < 0.3:
                a, b, ca, cb = ("(uint64_t)(%s)" % x for x in (a, b, ca, cb))
            return "(%s %s %s)" % (a, op, b), "(%s %s %s)" % (ca, op, cb)
        if k == 2:
            return self.number(depth - 1)
        if k == 3:
            a, ca = self.condition(depth - 1)
            return "!(%s)" % a, "!(%s)" % ca
        if k == 4:
            (a, ca), (b, cb) = self.string(depth - 1), self.string(depth - 1)
            op = rnd.choice(["==", "!=", "<", ">="])
            return "(%s %s %s)" % (a, op, b), "(strcmp(%s, %s) %s 0)" % (ca, cb, op)
        (a, ca), (b, cb) = self.condition(depth - 1), self.condition(depth - 1)
        if k == 5:
            c, cc = self.condition(depth - 1)
            return "(%s ? %s : %s)" % (c, a, b), "(%s ? %s : %s)" % (cc, ca, cb)
        if k == 6:
            return "(%s ^^ %s)" % (a, b), "(!!(%s) ^ !!(%s))" % (ca, cb)
        op = rnd.choice(["&&", "||"])
        return "(%s %s %s)" % (a, op, b), "(%s %s %s)" % (ca, op, cb)

    def string(self, depth):
        k = rnd.randrange(6) if depth > 0 else rnd.randrange(2)
        if k == 0:
            s = rnd.choice(NAMES)
            return '"%s"' % s, '"%s"' % s
        if k == 1:
            i, ci = self.number(min(depth - 1, 1))
            return "copyinstr(data + %d + 16 * (%s & 7))" % (8 * NDATA, i), "data.name[%s & 7]" % ci
        if k == 2 and depth < 3:
            (a, ca), (b, cb) = self.string(depth - 2), self.string(depth - 2)
            return "strjoin(%s, %s)" % (a, b), "joined(%s, %s)" % (ca, cb)
        (c, cc), (a, ca), (b, cb) = self.condition(depth - 1), self.string(depth - 1), self.string(depth - 1)
        return "(%s ? %s : %s)" % (c, a, b), "(%s ? %s : %s)" % (cc, ca, cb)


names = ["v%d" % i for i in range(NVARS)]
here, attach = Scope(names), Scope([])
d_globals, d_attach = [], []
for i in range(NGLOBALS):
    d, c = attach.number(4)
    d_globals.append("int64_t g%d;" % i)
    d_attach.append("\tg%d = %s;" % (i, d))
    helper.append('dtrace:helper:ustack: /IN_LEAF/ { uframe("global %d: ", g%d); }' % (i, i))
    program.append('printf("global %d: %%lld\\n", (long long)(%s));' % (i, c))
for i in range(NCLAUSES):
    d, c = here.condition(4)
    helper.append('dtrace:helper:ustack: /IN_LEAF && (%s)/ { uframe("clause %d"); }' % (d, i))
    program.append('if (%s) printf("clause %d\\n");' % (c, i))
    (a, ca), (b, cb), (t, ct), (s, cs), (w, cw) = here.number(4), here.number(3), here.condition(4), here.string(3), here.condition(3)
    v = rnd.choice(names)
    helper.append('dtrace:helper:ustack: /IN_LEAF/ {\n\tthis->%s = %s;\n\tuframe("value %d: ", this->%s, " ", %s, " ", %s);\n'
                  '\tif (%s)\n\t\tuframe("yes %d");\n\telse\n\t\tuframe("no %d");\n'
                  '\tthis->n = (int64_t)0;\n\twhile (this->n < 9 && (%s); 20) {\n\t\tthis->n++;\n\t\tthis->%s = this->n;\n\t}\n'
                  '\tuframe("loop %d: ", this->n);\n}' % (v, a, i, v, b, s, t, i, i, w, v, i))
    program.append('%s = %s; printf("value %d: %%lld %%lld %%s\\n", (long long)%s, (long long)(%s), %s);' % (v, ca, i, v, cb, cs))
    program.append('puts(%s ? "yes %d" : "no %d");' % (ct, i, i))
    program.append('for (n = 0; n < 9 && (%s);) %s = ++n;' % (cw, v))
    program.append('printf("loop %d: %%lld\\n", (long long)n);' % i)

data = [rnd.choice([0, 1, -1, rnd.randrange(16), rnd.randrange(-2**31, 2**31), rnd.randrange(-2**63, 2**63)]) for _ in range(NDATA)]
with open("random.d", "w") as f:
    print('#pragma D helper exec "randomhelper"\nuint64_t data, leaf;', " ".join(d_globals), file=f)
    print("inline int64_t N[uint64_t i] = *(int64_t *)(data + 8 * i);\ninline int IN_LEAF = arg0 > leaf && arg0 - leaf < 256;", file=f)
    print('dtrace:helper:attach: {\n\tdata = symaddr("data");\n\tleaf = symaddr("leaf");\n%s\n}' % "\n".join(d_attach), file=f)
    print("dtrace:helper:uthread: { %s }" % " ".join("this->v%d = N[%d];" % (i, i) for i in range(NVARS)), file=f)
    print("\n".join(helper), file=f)
with open("random.c", "w") as f:
    print('''#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct { int64_t n[%d]; char name[8][16]; } data = {{%s}, {%s}};
#define AT(type, at) ({ type x; memcpy(&x, (char *)&data + (at), sizeof(x)); x; })
static const char *joined(const char *a, const char *b)
{
	char *s;

	return asprintf(&s, "%%s%%s", a, b) < 0 ? "" : s;
}
volatile int touched;
char byte;
__attribute__((noinline, aligned(256))) void leaf(int waits) { touched += waits ? read(0, &byte, 1) : write(2, &data, access("go", F_OK) ? 8 : 7); }
__attribute__((aligned(256))) int main(int argc, char **argv)
{
	int64_t n = 0;
''' % (NDATA, ", ".join("%d%s" % (x, "ll" if x > -2**63 else "ll - 1") for x in (max(y, -2**63 + 1) for y in data)), ", ".join('"%s"' % n for n in NAMES)), file=f)
    print("\tint64_t %s;" % ", ".join("v%d = data.n[%d]" % (i, i) for i in range(NVARS)), file=f)
    print("\n".join("\t" + line for line in program), file=f)
    print('''	fflush(stdout);
	if (argc > 1)
		leaf(1);
	for (;;) {
		leaf(0);
		usleep(5000);
	}
}''', file=f)
