# SPDX-License-Identifier: MIT
"""Generated scripts of unusual size: each prints what it must, within its time.

    python3 stress.py CASE...      DTRACE, TRIGGER, TMP are set by tests/run.py
    python3 stress.py --print CASE the script

A case returns Case(script, expected standard output, options of dtrace).
"""
import dataclasses, difflib, os, resource, subprocess, sys


@dataclasses.dataclass
class Case:
    script: str
    out: str
    opts: tuple = ()
    err: str = ""  # what standard error must contain; with it the run must fail
    fails: bool = True  # ... or must not
    seconds: float = 60
    sort: bool = False  # the order of lines does not matter


def lines(items):
    return "".join(f"{i}\n" for i in items)


# ---- many maps -------------------------------------------------------------------------------


def case_maps():
    """100 keyless and 100 keyed aggregations, 80 arrays: more maps than a program may have."""
    n, m, k = 100, 100, 80
    body, out = [], []
    for i in range(n):
        body.append(f"@a{i} = {('count()', 'sum(%d)' % i, 'max(%d)' % i, 'avg(%d)' % i)[i % 4]};")
        out.append(f"a{i} {(1, i, i, i)[i % 4]}")
    for i in range(m):
        key, text = (("%d" % i, i), ('"k", %d' % i, "k %d" % i), ("(char)1, (short)%d" % i, "1 %d" % i),
                     ("strjoin(\"x\", probename), %d" % i, "xBEGIN %d" % i))[i % 4]
        conv = ("%d", "%s %d", "%d %d", "%s %d")[i % 4]
        func, val = (("count()", 1), ("sum(%d)" % i, i), ("min(%d)" % i, i), ("stddev(%d)" % i, 0),
                     ("avg(%d)" % i, i))[i % 5]
        body.append(f"@b{i}[{key}] = {func};")
        out.append((f"b{i} {text} {val}", f"b{i} {conv} %@d"))
    for i in range(k):
        scope = ("", "self->")[i % 2]
        key = ("%d" % i, '"s", %d' % i, "1, 2, %d" % i)[i % 3]
        if i % 7 == 6:
            body.append(f'{scope}c{i}[{key}] = "v{i}";')
            out.append((f"c{i} v{i}", f'printf("c{i} %s\\n", {scope}c{i}[{key}]);'))
        else:
            body.append(f"{scope}c{i}[{key}] = {i + 1};")
            out.append((f"c{i} {i + 1}", f'printf("c{i} %d\\n", {scope}c{i}[{key}]);'))
    prints = [f'printa("a{i} %@d\\n", @a{i});' for i in range(n)]
    prints += [f'printa("{o[1]}\\n", @b{i});' for i, o in enumerate(out[n:n + m])]
    reads = [o[1] for o in out[n + m:]]
    # clear() and trunc() of one leave those that share its map alone
    after = ["clear(@a1);", "trunc(@b4);", "clear(@b9);", 'printa("a1 %@d\\n", @a1);', 'printa("a5 %@d\\n", @a5);',
             'printa("b4 %d %@d\\n", @b4);', 'printa("b8 %d %@d\\n", @b8);', 'printa("b9 %s %d %@d\\n", @b9);',
             "exit(0);"]
    script = "BEGIN {\n" + lines(body) + "}\nBEGIN {\n" + lines(reads) + "}\nBEGIN {\n" + lines(prints) + \
             "}\nBEGIN {\n" + lines(after) + "}\nEND {\n" + \
             lines(f"trunc(@a{i});" for i in range(n)) + lines(f"trunc(@b{i});" for i in range(m)) + "}\n"
    text = [o[0] for o in out[n + m:]] + out[:n] + [o[0] for o in out[n:n + m]]
    return Case(script, lines(text) + lines(["a1 0", "a5 5", "b8 8 0", "b9 k 9 0"]))


# ---- many clauses ----------------------------------------------------------------------------


def case_clauses():
    """200 clauses on one probe; every fifth has a predicate that looks at what the others did."""
    text = ["int n; BEGIN { n = 0; }"]
    for i in range(200):
        pred = f"/n == {i}/" if i % 5 == 4 else ""
        text.append(f'BEGIN {pred} {{ printf("{i} %d %s\\n", n, probename); n++; @[{i}] = sum(n); }}')
    text.append("BEGIN { exit(0); } END { trunc(@); }")
    return Case(lines(text), lines(f"{i} {i} BEGIN" for i in range(200)))


def case_clauses_work():
    """200 clauses of a system call with strings, arrays and thread-locals, run by a known number of calls."""
    text, want, step = ["int n; self int x;"], [], sum(range(3, 200, 4))
    for i in range(200):
        body = (f'@["{i}", execname] = count();', f'this->s = strjoin(execname, "{i}"); @["{i}", this->s] = count();',
                f'self->a[{i}] = timestamp; @["{i}", self->a[{i}] ? "set" : ""] = count();',
                f'self->x += {i}; n += self->x > 0; @["{i}", lltostr(self->x)] = count();')[i % 4]
        text.append(f"syscall::getppid:entry /pid == $target/ {{ {body} }}")
        if i % 4 == 3:
            want += [f"{i} {sum(range(3, i + 1, 4)) + call * step}" for call in range(3)]
        else:
            want.append(f"{i} {('calls', f'calls{i}', 'set')[i % 4]}")
    text.append('END { printa("%s %s\\n", @); trunc(@); printf("%d\\n", n); }')
    return Case(lines(text), lines(sorted(want + ["150"])), ("-c", "calls getppid 3"), sort=True)


def case_clauses_over_probes():
    """200 clauses, each on a probe of its own."""
    text = [f"tick-{i + 101}ms {{ @[probename] = count(); x{i} = 1; }}" for i in range(200)]
    return Case(lines(["BEGIN { exit(0); }"] + text), "")


def case_clauses_syscalls():
    """200 clauses of 200 system calls' probes and of all of them."""
    text = ["int n;"] + [f"syscall::*e*:entry /pid == $target && probefunc == \"getppid\" && {i} >= 0/ {{ n++; @[probefunc, {i}] = count(); }}" for i in range(200)]
    text += ['END { trunc(@); printf("%d\\n", n); }']
    return Case(lines(text), "600\n", ("-c", "calls getppid 3"))


def case_clauses_10000():
    """10,000 clauses on one probe: more than a program may have functions."""
    n = 10000
    return Case("int n; int m;\n" + lines(f"BEGIN {{ n += {i}; m++; }}" for i in range(n)) +
                'BEGIN { printf("%d %d\\n", n, m); exit(0); }\n', f"{sum(range(n))} {n}\n")


def case_clauses_strings_64k():
    """200 clauses that work on strings of 64 KiB."""
    text, want, size = ['string s; int n; BEGIN { s = "0123456789abcdef"; ' + "s = strjoin(s, s); " * 12 + "}"], 0, 65535
    for i in range(200):
        text.append("BEGIN " + (f'{{ self->v = strjoin(s, "{i}"); n += strlen(self->v); @[s] = count(); }}',
                                f'/s != "x{i}"/ {{ a[{i % 3}] = s; n += strlen(substr(a[{i % 3}], {i})); }}',
                                '{ this->t = toupper(s); n += index(this->t, "F0"); }',
                                f'{{ n += strlen(basename(s)); self->v = 0; @b[strjoin(s, "{i}"), {i}] = sum(n); }}')[i % 4])
        want += (size, size - i, 15, size)[i % 4]
    text.append('BEGIN { printf("%d\\n", n); exit(0); } END { trunc(@); trunc(@b); }')
    return Case(lines(text), f"{want}\n", ("-x", "strsize=64k", "-x", "dynvarsize=32m", "-x", "aggsize=64m"))


# ---- long strings ----------------------------------------------------------------------------


def case_strings_64k():
    """Strings of 64 KiB in every class of variable, in keys, records and subroutines."""
    full = ("0123456789abcdef" * 8192)[:65535]
    fill = "s = strjoin(s, s); " * 12
    return Case(f"""string s, g; self string v, w; self int x;
BEGIN {{ s = "0123456789abcdef"; {fill} }}
BEGIN {{ self->x = 3; self->v = s; self->w = "w"; g = s; this->t = strjoin(s, "x"); a[1, "k"] = g; self->b[2] = self->v; n[g] = 5; }}
BEGIN {{ @[g] = count(); @[self->v] = count(); @[a[1, "k"]] = count(); @[self->b[2]] = count(); }}
BEGIN {{ printf("%d %d %d %d\\n", strlen(s), strlen(this->t), strlen(g), self->x); }}
BEGIN {{ printf("%d %d %d\\n", strlen(a[1, "k"]), strlen(self->b[2]), strlen(self->v)); }}
BEGIN {{ printf("%s %d %s\\n", substr(self->v, 65530), index(g, "f0", 60000), self->w); }}
BEGIN {{ printf("%d %d %d\\n", n[self->v], g == self->v, s == self->w); }}
BEGIN {{ self->w = NULL; printf("%d\\n", self->w == NULL); }}
BEGIN {{ printf("%s\\n", self->v); printa("%s %@d\\n", @); exit(0); }}
END {{ trunc(@); }}
""", f"65535 65535 65535 3\n65535 65535 65535\nabcde 60015 w\n5 1 0\n1\n{full}\n{full} 4\n", ("-x", "strsize=64k"))


def case_strings_self():
    """More self-> strings than fit in a thread's block."""
    n = 400
    sets = lines(f'self->s{i} = "v{i}"; self->n{i} = {i};' for i in range(n))
    gets = lines(f"total += strlen(self->s{i}) + self->n{i};" for i in range(n))
    want = sum(len(f"v{i}") + i for i in range(n))
    return Case(f"""long total;
BEGIN {{ {sets} }} BEGIN {{ {gets} self->s0 = 0; }}
BEGIN {{ printf("%d %s %s %d\\n", total, self->s1, self->s{n - 1}, self->s0 == NULL); exit(0); }}
""", f"{want} v1 v{n - 1} 1\n", ("-x", "strsize=1k"))


# ---- wide and deep ---------------------------------------------------------------------------


def case_tuple():
    """Tuples of 30 elements as keys of arrays and aggregations."""
    elems = [("%d" % i, '"s%d"' % i, "(char)%d" % i, "execname", "probename", "`linux_banner == 0 ? 1 : 2")[i % 5] for i in range(30)]
    vals = [("%d" % i, "s%d" % i, "%d" % i, "dtrace", "BEGIN")[i % 5] for i in range(30)]
    convs = " ".join(("%d", "%s", "%d", "%s", "%s")[i % 5] for i in range(30))
    t = ", ".join(elems)
    return Case(f"""BEGIN {{ a[{t}] = 7; self->b[{t}] = "text"; @[{t}] = count(); @[{t}] = count(); }}
BEGIN {{ printf("%d %s\\n", a[{t}], self->b[{t}]); printa("{convs} %@d\\n", @); exit(0); }}
END {{ trunc(@); }}
""", "7 text\n" + " ".join(vals) + " 2\n")


def case_tuple_strings():
    """Tuples of 30 strings, made when they are used."""
    t = ", ".join(f'strjoin("k{i}", probename)' for i in range(30))
    want = " ".join(f"k{i}BEGIN" for i in range(30))
    return Case(f"""BEGIN {{ a[{t}] = 7; self->b[{t}] = "text"; @[{t}] = count(); @[{t}] = count(); }}
BEGIN {{ printf("%d %s\\n", a[{t}], self->b[{t}]); printa("{'%s ' * 30}%@d\\n", @); exit(0); }}
END {{ trunc(@); }}
""", f"7 text\n{want} 2\n")


def nested(depth, low):
    text = "-1"
    for i in range(depth, 0, -1):
        text = f"x == {i + low} ? {i} : ({text})"
    return text


def case_ternary():
    """Conditional expressions 50 deep, numbers and strings, in either branch."""
    first = "0"
    for i in range(50):
        first = f"x > {i} ? ({first if i else 'x'}) : {i}"
    strings = '"none"'
    for i in range(50, 0, -1):
        strings = f'x == {i} ? "s{i}" : ({strings})'
    return Case(f"""int x;
BEGIN {{ x = 50; printf("%d %d %s\\n", {nested(50, 0)}, {first}, {strings}); }}
BEGIN {{ x = 1; printf("%d %d %s\\n", {nested(50, 0)}, {first}, {strings}); }}
BEGIN /({nested(50, 0)}) == 1/ {{ x = 51; printf("%d %d %s\\n", {nested(50, 0)}, {first}, {strings}); exit(0); }}
""", "50 50 s50\n1 49 s1\n-1 51 none\n")


def case_ternary_strings():
    """Conditional expressions 50 deep whose conditions and values are made of strings."""

    def chain(cond):
        text = '"none"'
        for i in range(50, 0, -1):
            text = f'{cond % i} ? strjoin("s{i}", probename) : ({text})'
        return text

    name, made = chain('execname == "x%d"'), chain('strjoin("a", lltostr(x)) == "a%d"')
    return Case(f"""int x;
BEGIN {{ x = 50; printf("%s %s\\n", {name}, {made}); }}
BEGIN /({made}) == "s50BEGIN"/ {{ @[{name}, {made}] = count(); printa("%s %s %@d\\n", @); exit(0); }}
END {{ trunc(@); }}
""", "none s50BEGIN\nnone s50BEGIN 1\n")


def case_branches():
    """3,000 if's that compare and make strings, in one clause."""
    body = "".join(f'if (execname == "x{i}") {{ n++; }} else {{ n--; s = strjoin("y", "{i}"); }}' for i in range(3000))
    return Case(f'int n; string s; BEGIN {{ {body} printf("%d %s\\n", n, s); exit(0); }}\n', "-3000 y2999\n")


def case_branches_error():
    """The same in a clause that fails at its end, and in the ERROR clause that then runs."""
    body = "".join(f'if (execname == "x{i}") {{ n++; }} else {{ n--; s = strjoin("y", "{i}"); }}' for i in range(1000))
    return Case(f"""int n; string s; BEGIN {{ {body} z = *(int *)0; }} BEGIN {{ printf("after\\n"); exit(0); }}
ERROR {{ {body} printf("%d %s %d\\n", n, s, arg4); }}
""", "-2000 y999 1\nafter\n", err="invalid address", fails=False)


def depth(in_error):
    """A fault in a clause that is cut; the ERROR clause walks the user's stack behind in_error."""
    work = lines(f'this->s = execname == "a{i}" ? strjoin(probefunc, "x") : execname == "b{i}" ? "q" : "r";' for i in range(700))
    return Case("syscall::getppid:entry /pid == $target && !seen++/ {\n" + work + "trace(*(int *)16);\n}\n"
                "ERROR {\n" + in_error.replace("WORK", work) + '@[ustack(), stack()] = count(); trace("error"); exit(0);\n}\n'
                'END { printa(" %@d\\n", @); }\n', "error 1\n", opts=("-c", "calls getppid 3"), err="in action #701", fails=False)


def case_depth():
    """The chain of calls to the walk is seven functions deep; it was nine."""
    return depth("")


def case_depth_cut():
    """The ERROR clause is cut as well: all eight that the kernel allows."""
    return depth("WORK")


def case_stores():
    """5,000 stores of constants to an array, in one clause."""
    n = 5000
    return Case("BEGIN { " + "".join(f'x[{i}, "k"] = {i}; ' for i in range(n)) +
                f'printf("%d %d\\n", x[0, "k"], x[{n - 1}, "k"]); exit(0); }}\n', f"0 {n - 1}\n")


def case_clauses_self():
    """1,500 clauses that look at a thread-local variable and change it."""
    n = 1500
    return Case("self int v; self string t; int n;\n" +
                lines(f'BEGIN /self->v == {i}/ {{ self->v++; self->t = "t{i}"; n++; }}' for i in range(n)) +
                'BEGIN { printf("%d %s\\n", n, self->t); exit(0); }\n', f"{n} t{n - 1}\n")


def case_branches_nested():
    """if 200 deep around 1,500 comparisons: jumps far ahead, thread-locals and faults on the way."""
    body = "".join(f'if (x >= {i}) {{ n++; self->s = strjoin("a", "{i}"); ' for i in range(200)) + \
        "".join(f"m += x == {i} || x / (x - 1000 + zero) == 0; " for i in range(800)) + \
        "".join(f"}} else {{ k += {i}; j++; }}" for i in range(199, -1, -1))
    show = 'printf("%d %s %d %d %d %s\\n", n, self->s, k, m, j, self->t);'
    return Case(f"""int n; int k; int x; int m; int j; int zero; self string s; self string t;
BEGIN {{ zero = 1; self->t = "t"; x = 1001; {body} {show} }}
BEGIN {{ n = 0; m = 0; x = 100; {body} {show} }}
BEGIN {{ n = 0; m = 0; zero = 0; x = 1000; {body} {show} }}
BEGIN {{ printf("%d %d\\n", n, m); exit(0); }}
ERROR {{ printf("fault %d\\n", arg4); }}
""", "200 a199 0 0 0 t\n101 a100 101 0 1 t\nfault 4\n200 0\n", err="divide-by-zero", fails=False)


def case_expr():
    """Expressions of 500 operators, flat and nested."""
    n = 500
    flat = " + ".join(["x"] * n)
    right = "(x - " * n + "x" + ")" * n
    both = "x"
    for i in range(8):
        both = f"({both} + {both})"
    mixed = "x" + "".join(f" {op} {i % 7 + 1}" for i, op in zip(range(n), "+-*|&^" * n))
    logic = " && ".join(f"x > {-i}" for i in range(n)) + " || x == 3"
    return Case(f"""int x;
BEGIN {{ x = 1; printf("%d %d %d %d\\n", {flat}, {right}, {both}, {logic}); }}
BEGIN /{logic}/ {{ y = {mixed}; z = {flat}; printf("%d\\n", z); exit(0); }}
""", f"{n} 1 256 1\n{n}\n")


def case_vars():
    """300 variables of each class, numbers and strings."""
    sets, gets, want = [], [], []
    for i in range(300):
        for c in ("g", "self->t", "this->l"):
            sets.append(f"{c}{i} = {i};")
        gets.append(f"total += g{i} + self->t{i};")
    sets += [f's{i} = "v{i}"; self->s{i} = "w{i}"; this->s{i} = "x{i}";' for i in range(100)]
    return Case("long total;\nBEGIN {\n" + lines(sets) + lines(f"total += this->l{i};" for i in range(300)) + "}\nBEGIN {\n" +
                lines(gets) + 'printf("%d %s %s\\n", total, s99, self->s50); exit(0);}\n', f"{3 * 300 * 299 // 2} v99 w50\n",
                ("-x", "strsize=64"))


def case_ifs():
    """if 60 deep, and 200 in a row."""
    deep = "".join(f"if (x > {i}) {{ n++; " for i in range(60)) + "m = 1;" + "} else { k++; }" * 60
    row = "".join(f"if (x == {i}) {{ n += {i}; }} else {{ k++; }}\n" for i in range(200))
    return Case(f"""int x; int n; int m; int k;
BEGIN {{ x = 60; {deep} printf("%d %d %d\\n", n, m, k); }}
BEGIN {{ x = 30; n = 0; m = 0; {deep} }} BEGIN {{ printf("%d %d %d\\n", n, m, k); k = 0; n = 0; }}
BEGIN {{ {row} }} BEGIN {{ printf("%d %d\\n", n, k); exit(0); }}
""", "60 1 0\n30 0 1\n30 199\n")


def case_printf():
    """printf() with 100 arguments, strings among them."""
    fmt = " ".join(("%d", "%s", "%x", "%s", "%c")[i % 5] for i in range(100))
    args = ", ".join(("%d" % i, '"a%d"' % i, "x + %d" % i, "strjoin(\"s\", \"%d\")" % i, "65")[i % 5] for i in range(100))
    want = " ".join(("%d" % i, "a%d" % i, "%x" % (i + 1), "s%d" % i, "A")[i % 5] for i in range(100))
    return Case(f"""int x; BEGIN {{ x = 1; printf("{fmt}\\n", {args}); exit(0); }}\n""", want + "\n")


def case_consts():
    """2000 string constants."""
    text = []
    for i in range(0, 2000, 100):
        text.append("BEGIN { " + " ".join(f's = "constant number {k}"; n += strlen("c{k}");' for k in range(i, i + 100)) + " }")
    n = sum(len(f"c{k}") for k in range(2000))
    return Case("int n; string s;\n" + lines(text) + 'BEGIN { printf("%d %s\\n", n, s); exit(0); }', f"{n} constant number 1999\n")


def case_strings():
    """100 string subroutines in one clause, and 40 in one expression."""
    chain = '"a"'
    for i in range(40):
        chain = f'strjoin({chain}, "{i % 10}")'
    body = " ".join(f's = strjoin(substr(s, 0, 20), "{i % 10}"); n += index(s, "1") + strlen(basename(s));' for i in range(34))
    return Case(f"""string s; int n; BEGIN {{ s = ""; {body} printf("%s %s\\n", {chain}, toupper(dirname(s))); exit(0); }}\n""",
                "a" + "0123456789" * 4 + " .\n")


def case_record():
    """A record of many fields and strings."""
    args = "".join(", s" for _ in range(60))
    return Case('string s; BEGIN { s = "0123456789"; s = strjoin(s, s); s = strjoin(s, s); s = strjoin(s, s); printf("' + "%s" * 60 +
                f'\\n"{args}); exit(0); }}\n', "0123456789" * 8 * 60 + "\n", ("-x", "strsize=4k"))


def case_aggs():
    """500 aggregations with strings in their keys, all made in one firing: none is dropped, however busy the machine is."""
    n = 500
    body = lines(f'@a{i}[strjoin("x", "{i}"), {i}] = {("count()", "quantize(%d)" % i, "avg(%d)" % i, "lquantize(%d, 0, 100, 1)" % i)[i % 4]};'
                 for i in range(n))
    shows = lines(f'printa("%s %d %@d\\n", @a{i});' for i in range(0, n, 2))
    return Case(f"BEGIN {{\n{body}}}\nBEGIN {{\n{shows}exit(0);\n}}\nEND {{\n{lines(f'trunc(@a{i});' for i in range(n))}}}\n",
                lines(f"x{i} {i} {i if i % 4 else 1}" for i in range(0, n, 2)))


def case_spec():
    """1,000 speculations at once; every second one is committed."""
    n, body = 1000, []
    body.append(lines(f"BEGIN {{ s[{i}] = speculation(); n += s[{i}] != 0; }}" for i in range(n)))
    body.append(lines(f'BEGIN {{ speculate(s[{i}]); printf("{i}\\n"); }}' for i in range(n)))
    body.append(lines(f"BEGIN {{ {('commit', 'discard')[i % 2]}(s[{i}]); }}" for i in range(n)))
    body.append('BEGIN { printf("all %d\\n", n); exit(0); }\n')
    return Case("int s[int]; int n;\n" + "".join(body), lines(sorted(["all 1000"] + [str(i) for i in range(0, n, 2)])),
                ("-x", f"nspec={n}"), sort=True)


def case_probes():
    """All probes there are of a few providers, several predicates."""
    text = [f"syscall:::, sched:::, sdt:task::, sdt:signal::, vm*:::, io:::, proc::: /pid == $target && {p}/ {{ n++; @[probeprov] = count(); }}" for p in
            ("arg0 >= 0 || 1", "uid >= 0", "tid > 0", "execname != \"\"", "cpu >= 0")]
    return Case("int n;\n" + lines(text) + 'END { printf("%d\\n", n > 15); trunc(@); }\n', "1\n", ("-Z", "-c", "calls getppid 3"))


def case_probes_process():
    """All functions of a process, three clauses, one of them on every second probe or so."""
    text = ["int n;", "pid$target:::entry { n++; @[probefunc] = count(); }", "pid$target:::entry /arg0 != 5/ { n++; }",
            "pid$target::*e*:entry { @e[epid, probefunc] = count(); }", 'END { printf("%d\\n", n > 10); trunc(@); trunc(@e); }']
    return Case(lines(text), "1\n", ("-c", "calls getppid 3"))


# ---- what is refused says why, and what to change ----------------------------------------------


def case_limit_clauses():
    return Case("int n;\n" + lines(f'BEGIN /execname != "x{i}"/ {{ n += {i}; @[{i}] = count(); s{i % 7} = probename; }}' for i in range(12000)),
                "", err="12000 clauses on one kind of probe make ")


def case_limit_record():
    return Case('string s; BEGIN { printf("' + "%s" * 80 + '"' + ", s" * 80 + "); exit(0); }\n", "", ("-x", "strsize=64k"),
                "raise bufsize (-b) or lower strsize")


def case_limit_branches():
    body = "x > 3" + "".join(f' || strjoin("a", lltostr(x)) == "a{i}"' for i in range(1900))
    return Case(f"int x; BEGIN /{body}/ {{ exit(0); }}\n", "", err="compute parts of it in this-> variables first")


def case_limit_nesting():
    return Case("int x; BEGIN { x = " + "(x + " * 3000 + "x" + ")" * 3000 + "; }\n", "", err="nested more than 2000 levels deep")


def case_limit_variables():
    return Case("BEGIN { " + "".join(f"v{i} = 1;" for i in range(64300)) + " }\n", "", ("-x", "errtags"),
                "cannot create v64256: more than 64256 variables")


def case_limit_strsize():
    return Case("BEGIN { exit(0); }\n", "", ("-x", "strsize=1048577"), "'strsize' lies between 1 and 1048576")


CASES = {name[5:]: f for name, f in list(globals().items()) if name.startswith("case_")}


PATIENCE = float(os.environ.get("PATIENCE", 1))  # more of it where all is slower
LACKS = "which lacks BPF links to many uprobes at once"  # a kernel that does without is asked for less elsewhere


def cpu_seconds():
    """Of children: how busy the machine is does not matter."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(name, case):
    script = os.path.join(os.environ["TMP"], name + ".d")
    with open(script, "w") as f:
        f.write(case.script)
    opts = [os.path.join(os.environ["TRIGGER"], o) if o.startswith("calls ") else o for o in case.opts]
    start = cpu_seconds()
    p = subprocess.run([os.environ["DTRACE"], "-q", "-s", script, *opts], stdin=subprocess.DEVNULL, capture_output=True,
                       text=True)
    took = (cpu_seconds() - start) / PATIENCE
    if LACKS in p.stderr:
        print(f"{name}: {p.stderr}")
        return True
    out = lines(sorted(p.stdout.strip().splitlines())) if case.sort else p.stdout
    out = out.rstrip("\n") + "\n" * bool(case.out)
    fine = p.returncode == (1 if case.err and case.fails else 0) and out == case.out and case.err in p.stderr
    fine = fine and bool(case.err or not p.stderr) and took < case.seconds
    print(f"{name}: {took * 1000:.0f} ms, {len(case.script)} bytes{'' if fine else ', wrong'}")
    if not fine:
        print(f"status {p.returncode}\n{p.stderr[:1500]}")
        print("\n".join(list(difflib.unified_diff(case.out.split("\n"), out.split("\n"), "want", "got", lineterm="", n=0))[:20])[:3000])
    return fine


def main(argv):
    if argv[:1] == ["--print"]:
        sys.stdout.write(CASES[argv[1]]().script)
        return 0
    return 0 if all([run(name, CASES[name]()) for name in argv or CASES]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
