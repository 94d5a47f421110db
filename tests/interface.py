#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The interface of the libraries only grows: programs that were compiled with the header of an older version go on working.

    tests/interface.py          compares the headers with what is recorded; status 1 and a line for each fault
    tests/interface.py --add    adds to the record what is new

tests/interface/LIBRARY has a line for each function and type of function, each member of a structure with its offset, size and type,
each enumerator and macro with its value. A line that is no longer true is a program that breaks, until the soname changes and the
record begins anew (doc/release.md). "fixed STRUCT SIZE" is a structure that may not grow either, because callers have arrays of it
or hand it in.
"""
import json, os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = {  # record -> header, beginnings of macros that belong to it, what its structures may not do
    "libdtrace": ("include/dtrace.h", ("DTRACE", "EDT_"), ("dtrace_recdesc_t", "dtrace_datum_t", "dtrace_frame_t", "dtrace_bucket_t",
                                                           "dtrace_probedesc_t")),
    "libusdt": ("lib/usdt/usdt.h", ("USDT_",), ("usdt_probe_t", "usdt_probedef_t", "usdt_provider_t")),
}
# They say where something ends, or how the header is written.
NO_INTERFACE = {"EDT_LAST", "EDT_FIRST", "DTRACE_SIZED", "DTRACE_NO_INLINE", "USDT_H", "USDT_NO_INLINE"}


class Failed(Exception):
    pass


def output_of(*argv):
    p = subprocess.run(argv, capture_output=True, text=True)
    if p.returncode:
        raise Failed(f"{argv[0]}: {p.stderr.strip()[:2000]}")
    return p.stdout


def plain(text):
    return re.sub(r"\s+", " ", text).replace("( ", "(").strip()


def declarations(header):
    """What the header declares, by clang: lines of functions and types, members of structures, names of enumerators."""
    tree = json.loads(output_of("clang", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c", "-I", os.path.dirname(header), header))
    lines, members, enumerators, current = set(), {}, [], None
    for node in tree["inner"]:
        loc = node.get("loc", {})
        current = loc.get("expansionLoc", loc).get("file") or current  # it is said where it is another one than before
        if current is None or os.path.dirname(current) != os.path.dirname(header) or node.get("isImplicit"):
            continue
        kind, name = node["kind"], node.get("name")
        if kind == "FunctionDecl":
            lines.add(f"function {name} {plain(node['type']['qualType'])}")
        elif kind == "RecordDecl" and node.get("completeDefinition"):
            fields = [(f["name"], plain(f["type"]["qualType"])) for f in node.get("inner", []) if f["kind"] == "FieldDecl"]
            members[f"{node['tagUsed']} {name}"] = fields
        elif kind == "EnumDecl":
            enumerators += [e["name"] for e in node.get("inner", []) if e["kind"] == "EnumConstantDecl"]
        elif kind == "TypedefDecl":
            under = node["type"]["qualType"]
            if under in members:
                members[name] = members.pop(under)
            lines.add(f"type {name} {plain(under)}")
    return lines, members, enumerators


def macros_of(header, prefixes):
    text = output_of("cc", "-E", "-dM", "-x", "c", header)
    names = re.findall(r"^#define (\w+) \S", text, re.M)
    return [n for n in names if n.startswith(prefixes) and not re.match(r"_|EDT$", n)]


def interface_of(header, prefixes, fixed):
    lines, members, enumerators = declarations(header)
    print_of = []
    for struct, fields in members.items():
        print_of += [f'printf("member {struct}.{f} %zu %zu {what}\\n", offsetof({struct}, {f}), sizeof((({struct} *)0)->{f}));'
                     for f, what in fields]
    print_of += [f'printf("fixed {struct} %zu\\n", sizeof({struct}));' for struct in fixed]
    for name in enumerators + macros_of(header, prefixes):
        if name not in NO_INTERFACE:
            print_of.append(f'printf("value {name} %lld\\n", (long long)({name}));')
    with tempfile.TemporaryDirectory() as tmp:
        source, program = os.path.join(tmp, "ask.c"), os.path.join(tmp, "ask")
        with open(source, "w") as f:
            f.write("#include <stddef.h>\n#include <stdio.h>\n#include \"%s\"\nint main(void)\n{\n%s\nreturn 0;\n}\n" % (header, "\n".join(print_of)))
        output_of("cc", "-o", program, source)
        lines.update(output_of(program).splitlines())
    return lines


def key_of(line):
    """What a line is about: two lines with the same key say different things of it."""
    return " ".join(line.split(" ", 2)[:2])


def faults_of(name, recorded, actual):
    now = {key_of(l): l for l in actual}
    before = {key_of(l): l for l in recorded}
    for key, line in before.items():
        if key not in now:
            yield f"{name}: '{key}' is gone: programs that use it no longer work. Keep it, or change the soname (doc/release.md)"
        elif now[key] != line:
            yield (f"{name}: '{line}' is now '{now[key]}': programs that were compiled before see something else. Add at the end of "
                   "structures and enumerations, and a new function beside an old one; or change the soname (doc/release.md)")
    for line in sorted(l for k, l in now.items() if k not in before):
        yield f"{name}: '{line}' is new: 'tests/interface.py --add' records it"


def record_path(root, name):
    return os.path.join(root, "tests/interface", name)


def record_read(root, name):
    try:
        with open(record_path(root, name)) as f:
            return [l.rstrip("\n") for l in f if l.strip() and not l.startswith("#")]
    except FileNotFoundError:
        return []


def faults(root, is_adding=False):
    found = []
    for name, (header, prefixes, fixed) in LIBRARIES.items():
        recorded, actual = record_read(root, name), interface_of(os.path.join(os.path.abspath(root), header), prefixes, fixed)
        if is_adding:
            known = {key_of(l) for l in recorded}
            recorded += [l for l in actual if key_of(l) not in known]
            with open(record_path(root, name), "w") as f:
                f.write(f"# The interface of {name} (tests/interface.py). Lines are added, and never changed.\n" +
                        "".join(l + "\n" for l in sorted(recorded)))
        found += faults_of(name, recorded, actual)
    return found


def main():
    try:
        found = faults(ROOT, sys.argv[1:] == ["--add"])
    except Failed as why:
        sys.exit(str(why))
    print("".join(l + "\n" for l in found), end="")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
