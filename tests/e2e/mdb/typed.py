# SPDX-License-Identifier: MIT
"""Types in mdb, compared with gdb on the same core file: a C program with all kinds of members and a library, one in C++, and both damaged."""
import json, os, random, re, shutil, struct, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
C = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
enum color { RED, GREEN = 5, BLUE = -2 };
enum flags { READ = 1, WRITE = 2, EXEC = 4 };
typedef struct point { int x, y; } point_t;
struct node { struct node *next; int number; char name[12]; };
struct hidden;
struct other;
typedef int (*call_f)(const char *, int);
struct link { struct link *next, *prev; };
struct linked { long number; struct link link; };
struct inner { unsigned char bytes[4]; struct { short a, b; } pair[2]; };
struct every {
	char letter; signed char small; unsigned char byte; short s; unsigned short us; int i; unsigned int u; long l; unsigned long ul;
	long long ll; _Bool yes; float f; double d; long double ld; enum color color; enum flags flags;
	unsigned bits3 : 3; int sbits : 5; unsigned long wide : 40; enum color ecolor : 4;
	char text[16]; char full[4]; unsigned char raw[3]; const char *words; void *nothing;
	int matrix[2][3]; int many[100]; point_t points[3]; point_t *origin; call_f call; struct hidden *unknown; struct other *other;
	union { int as_int; float as_float; unsigned char as_bytes[4]; } u1;
	union { long anon_long; struct { int anon_lo, anon_hi; }; };
	struct inner in; volatile const int cv; uint64_t u64; size_t size; int8_t i8; struct node *list; int flexible[];
};
int twice(int);
extern struct other the_other;
static int called(const char *a, int b) { return a[0] + b; }
point_t origin = {-7, 9};
struct node nodes[3] = {{&nodes[1], 1, "one"}, {&nodes[2], 2, "two"}, {0, 3, "three"}};
struct node ring[2] = {{&ring[1], 1, "r1"}, {&ring[0], 2, "r2"}};
struct node rho[3] = {{&rho[1], 1, "a"}, {&rho[2], 2, "b"}, {&rho[1], 3, "c"}};
struct linked linked[2] = {{10, {&linked[1].link, &linked[1].link}}, {11, {&linked[0].link, &linked[0].link}}};
struct every every = {
	'A', -3, 200, -1234, 65000, -70000, 4000000000u, -5000000000, 0xfedcba9876543210, 1ll << 62, 1, 1.5f, -2.25, 3.125L, GREEN,
	READ | EXEC, 5, -9, 0x123456789a, BLUE, "hello \"x\"\n", {'a', 'b', 'c', 'd'}, {1, 2, 255}, "words", 0, {{1, 2, 3}, {4, 5, 6}},
	{7, 8}, {{1, 2}, {3, 4}, {5, 6}}, &origin, called, 0, 0, {.as_float = 1.0f}, {.anon_long = 0x200000001},
	{{9, 8, 7, 6}, {{1, -1}, {2, -2}}}, 42, 1ull << 63, 77, -8, nodes,
};
static int count(void) { struct within { short a; int b; }; static struct within counter = {3, 4}; struct inner { char c; } in = {1}; return in.c + counter.a++; }
int main(void) { count(); every.unknown = (struct hidden *)&every; every.other = &the_other; puts(every.words); twice(2); *(volatile int *)1 = 0; }
"""
LIB = """
struct node { double weight; int kind; };
struct other { long a, b; };
struct node lib_node = {2.5, 4};
struct other the_other = {21, 22};
int twice(int n) { return 2 * n + lib_node.kind; }
"""
TWO = "struct twofold { int a; }; struct twofold two_a = {1};\n"
CXX = r"""
#include <cstdlib>
#include <string>
#include <vector>
namespace net { enum class State : unsigned char { Idle, Busy = 7 };
inline namespace v1 { struct Base { int id; virtual ~Base() {} }; }
struct Impl;
template <class T> struct Box { T value; Box *next; struct Deep { T a[2]; }; Deep deep; };
class Conn : public Base { public: State state; static int count; std::string name; Box<int> box; int &ref; Impl *impl;
Conn(int &r) : ref(r), impl(0) { id = 3; state = State::Busy; name = "conn"; box = {11, 0, {{1, 2}}}; } };
int Conn::count; struct Impl { short a, b; }; Impl impl = {4, 5}; }
struct Outer { struct Inner; Inner *inner; }; struct Outer::Inner { int a[5]; } inner = {{1, 2}}; Outer outer = {&inner};
struct Impl { char wrong; } wrong;
namespace { struct Local { char c; long l; }; Local local = {'x', 5}; }
int number = 5; net::Conn conn(number); std::vector<int> numbers = {1, 2, 3};
int main() { conn.impl = &net::impl; local.l++; *(volatile int *)1 = 0; }
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(commands, *args):
    r = subprocess.run([MDB, "-e", commands, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def rows(commands, *target):
    status, out, err = run(commands, "-o", "json", *target)
    check(status == 0, commands, out + err)
    return json.loads(out)["rows"] if status == 0 else [{}]


def gdb(program, core, *questions):
    """What gdb prints for each expression."""
    args = [a for q in questions for a in ("-ex", q)]
    r = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set print elements 0", *args, program, core],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return [line.split(" = ", 1)[1] for line in r.stdout.splitlines() if re.match(r"\$\d+ = ", line)]


def build(*args):
    subprocess.run([args[0], "-g", "-O0", *args[1:]], check=True)


def core_of(program, name):
    subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex", f"generate-core-file {name}", program],
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    if not os.path.exists(name):
        print("gdb makes no core file here")
        sys.exit(67)


def is_float(name):
    return name.split(".")[-1] in ("f", "d", "ld", "as_float")


def flat(value, name=""):
    """The scalars of a JSON value, with gdb's expression for each."""
    if isinstance(value, dict) and "pointer" in value:
        yield name, int(value["pointer"], 16)
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from flat(v, f"{name}.{k}")
    elif isinstance(value, list):
        for i, v in enumerate(value):
            if v != {"more": 68}:
                yield from flat(v, f"{name}[{i}]")
    else:
        yield name, value


os.chdir(TMP)
for tool in ("cc", "c++", "gdb", "objcopy"):
    if not shutil.which(tool):
        print(f"{tool} is not installed")
        sys.exit(67)
for name, text in (("t.c", C), ("lib.c", LIB), ("c.cc", CXX), ("two_a.c", TWO), ("two_b.c", TWO.replace("int", "double").replace("two_a", "two_b"))):
    open(name, "w").write(text)
build("cc", "-shared", "-fPIC", "-o", "libtypes.so.1", "lib.c")
build("cc", "-o", "t", "t.c", "two_a.c", "two_b.c", "./libtypes.so.1", "-Wl,-rpath,$ORIGIN")
build("c++", "-o", "c", "c.cc")
core_of("./t", "core.t")
core_of("./c", "core.c")

# Each scalar of a structure, as gdb says it.
value = rows("every::print struct every", "core.t")[0]["value"]
scalars = list(flat(value, "every"))
check(len(scalars) > 90, "scalars", str(scalars))
numbers = [(n, v) for n, v in scalars if not isinstance(v, str)]
says = gdb("./t", "core.t", *[f"p {n}" if is_float(n) else f"p/{'d' if v < 0 else 'u'} {n}" for n, v in numbers])
check(len(says) == len(numbers), "gdb's answers", str(says))
for (name, shown), said in zip(numbers, says):
    said = {"true": "1", "false": "0"}.get(said.split()[0], said.split()[0])
    check(float(said) == shown if is_float(name) else int(said, 0) == shown, name, f"mdb {shown}, gdb {said}")
check(value["color"] == "GREEN" and value["ecolor"] == "BLUE" and value["flags"] == "READ|EXEC", "enumerators", str(value))
check(value["text"] == 'hello "x"\n' and value["full"] == "abcd" and value["words"]["text"] == "words", "texts", str(value))
check(value["call"]["symbol"] == "t`called" and value["origin"]["symbol"] == "t`origin", "symbols of pointers", str(value))
check(value["many"][-1] == {"more": 68} and value["raw"] == [1, 2, 255], "an array that is cut", str(value["many"]))
status, text, err = run("every::print struct every", "core.t")
for line in ("    i = -0t70000", "    u = 0xee6b2800", "    letter = 'A'", "    bits3 :3 = 0x5", "    color = GREEN", '    text = [ "hello \\"x\\"\\n" ]',
             "    u1 = {", "        as_float = 1", "    matrix = [ [ 0t1, 0t2, 0t3 ], [ 0t4, 0t5, 0t6 ] ]", "    yes = true"):
    check(line in text.splitlines(), f"text: {line}", text + err)
check("0t0, ... 68 more ]" in text and re.search(r"    origin = 0x[0-9a-f]+ <t`origin>\n", text), "text of arrays and pointers", text)
check(run("origin::print -a point_t", "core.t")[1].split()[0] == gdb("./t", "core.t", "p/x (long)&origin")[0][2:], "addresses")
check(run("every::print -d 0 struct every points", "core.t")[1].count("{ ... }") == 3, "depth")
check(run("every::print -l 2 -x struct every many i", "core.t")[1] == "many = [ 0x7, 0x8, ... 98 more ]\ni = 0xfffeee90\n", "elements, hexadecimal")

# Sizes and offsets.
names = ("struct every", "struct inner", "point_t", "enum color", "struct node *[4]", "unsigned long", "call_f", "int [3][5]", "size_t")
for name, said in zip(names, gdb("./t", "core.t", *[f"p sizeof({name})" for name in names]), strict=True):
    check(rows(f"::sizeof {name}", "core.t")[0]["size"] == int(said), f"size of {name}", said)
members = ("s", "many[3]", "points[1].y", "in.pair[1].b", "anon_hi", "u1.as_float", "cv", "flexible")
for member, said in zip(members, gdb("./t", "core.t", *[f"p/d (long)&((struct every *)0)->{member}" for member in members]), strict=True):
    check(rows(f"::offsetof struct every {member}", "core.t")[0]["offset"] == int(said), f"offset of {member}", said)
row = rows("::offsetof struct every sbits", "core.t")[0]
bit = 8 * row["offset"] + row["bit"]
layout = subprocess.run(["gdb", "-nx", "-batch", "-ex", "ptype /o struct every", "./t"], capture_output=True, text=True, timeout=300).stdout
place = re.search(r"/\* +(\d+): ?(\d+) +\| .*sbits : 5", layout)
check(row["bits"] == 5 and place and bit == 8 * int(place.group(1)) + int(place.group(2)), "a bit-field", f"{row}\n{layout}")

# Members, pipes, lists, arrays, formats.
check([r["value"] for r in rows("nodes::list struct node next | ::print struct node name", "core.t")] == ["one", "two", "three"], "a list")
check(len(rows("ring::list struct node next", "core.t")) == 2, "a list that ends at its begin")
check(len(rows("nodes,2::list struct node next", "core.t")) == 2, "a list with a count")
status, out, err = run("rho::list struct node next", "core.t")
check(status == 1 and out.count("\n") == 3 and "comes back" in err, "a list that ends in a cycle", out + err)
check([r["value"] for r in rows("linked::list struct linked link.next | ::print struct linked number", "core.t")] == [10, 11], "a list of links")
check([r["value"] for r in rows("nodes::array struct node 3 | ::print struct node number", "core.t")] == [1, 2, 3], "an array")
check(rows("nodes::print struct node next | ::print struct node next->number", "core.t")[0]["value"] == 3, "a pipe")
status, out, err = run('every::printf "%d|%5d|%-6d|%05x|%#x|%s|%s|%.2f|%c|%s|%p\\n" struct every i s s us us words full d letter color u1.as_int', "core.t")
check(out == "-70000|-1234|-1234 |0fde8|0xfde8|words|abcd|-2.25|A|GREEN|0x3f800000\n", "printf", out + err)
for wrong, why in (("every::print struct nosuch", "no type 'struct nosuch'"), ("every::print struct every nosuch", "no member 'nosuch'"),
                   ("0::print struct node", "memory at 0x0"), ("every::print struct every unknown->x", "defined nowhere"),
                   ("every::print struct every many[100]", "has 100 elements"), ("every::print struct every i.x", "no member"),
                   ("::offsetof struct every list->next", "no part"), ("nodes::list struct node name", "no pointer"),
                   ('every::printf "%d" struct every', "more conversions"), ("::sizeof struct", "no type"), ("::sizeof void", "no size"),
                   ("nodes::array struct node 10000001", "greater than"), ("::typedef 'struct x { nosuch_t a; }'", "nosuch_t")):
    status, out, err = run(wrong, "core.t")
    check(status == 1 and why in err, wrong, out + err)

# The types of variables.
check(rows("every::print .i .list->name", "core.t")[1]["value"] == "one" and rows("nodes::print [1].number", "core.t")[0]["value"] == 2, "members of variables")
check(rows("origin::print", "core.t")[0] | {"address": 0} == {"address": 0, "type": "point_t", "value": {"x": -7, "y": 9}}, "a variable")
check(rows("lib_node::print", "core.t")[0]["value"] == {"weight": 2.5, "kind": 4}, "a variable of a library")
status, out, err = run("origin+4::print", "core.t")
check(status == 1 and "no variable begins" in err, "an address within a variable", out + err)

check(rows("::sizeof struct within", "core.t")[0]["size"] == 8 and rows("::sizeof count::within", "core.t")[0]["size"] == 8, "a type inside of a function")
check(run("::sizeof struct within; ::sizeof struct inner", "core.t")[1:] == ("sizeof (struct within) = 0x8\nsizeof (struct inner) = 0xc\n", ""),
      "a type hides those of its name inside of functions")
within, = [r["address"] for r in rows("::findsym counter.*", "core.t")]
check(rows(f"{within}::print", "core.t")[0]["value"] == {"a": 4, "b": 4}, "a variable inside of a function")

# Names with several definitions: which one is taken, and how the other is meant.
status, out, err = run("::sizeof struct node", "core.t")
check(status == 0 and "0x18" in out and "several definitions" in err and "libtypes.so.1`node" in err, "an ambiguous name", out + err)
check(rows("lib_node::print libtypes`struct node", "core.t")[0]["value"] == {"weight": 2.5, "kind": 4}, "a type of a library")
check(rows("lib_node::print struct libtypes.so.1`node kind", "core.t")[0]["value"] == 4, "the other order")
check(rows("every::print struct every other->b", "core.t")[0]["value"] == 22, "a type that only the library defines")
check([rows(f"::sizeof two_{f}.c`struct twofold", "core.t")[0]["size"] for f in "ab"] == [4, 8], "types of source files")
check("several" in run("::sizeof struct twofold", "core.t")[2], "two source files")

# C++: namespaces, templates, base classes.
conn = rows("conn::print net::Conn", "core.c")[0]["value"]
check(conn["Base"]["id"] == 3 and conn["state"] == "Busy" and conn["name"]["_M_dataplus"]["_M_p"]["text"] == "conn" and
      conn["box"] == {"value": 11, "next": {"pointer": "0x0"}, "deep": {"a": [1, 2]}}, "an object of C++", str(conn))
check(rows("conn::print net::Conn impl->b id Base.id", "core.c")[0]["value"] == 5, "a class of the same namespace")
# gdb is asked for values of the types: it does not find all of them by their names
names = {"net::Conn": "conn", "net::Box<int>": "conn.box", "net::Box<int>::Deep": "conn.box.deep", "Local": "local", "Impl": "wrong",
         "net::Impl": "*conn.impl", "std::vector<int, std::allocator<int> >": "numbers", "net::State": "conn.state", "Outer::Inner": "inner"}
for name, said in zip(names, gdb("./c", "core.c", *[f"p sizeof({value})" for value in names.values()]), strict=True):
    check(rows(f"::sizeof '{name}'", "core.c")[0]["size"] == int(said), f"size of {name}", said)
check([rows(f"::sizeof {n}", "core.c")[0]["size"] for n in ("net::v1::Base", "net::Base")] == [16, 16], "an inline namespace may be left out")

check(rows("_ZN3net4implE::print", "core.c")[0]["value"] == {"a": 4, "b": 5} and rows("conn::print .id", "core.c")[0]["value"] == 3, "variables of C++")

check(rows("outer::print Outer inner->a[1]", "core.c")[0]["value"] == 2, "a class that is defined outside of its own")
subprocess.run(["c++", "-gdwarf-4", "-fdebug-types-section", "-o", "c4", "c.cc"], check=True)
core_of("./c4", "core.c4")
check(rows("conn::print net::Conn box.deep.a impl->b", "core.c4")[0]["value"] == [1, 2] and rows("::sizeof Outer::Inner", "core.c4")[0]["size"] == 20,
      "types in units of their own")

# A program without debug information: declarations, and what is said without them.
DEBUG = "u.debug"
shutil.copy("t", "u")
subprocess.run(["objcopy", "--only-keep-debug", "u", DEBUG], check=True)
subprocess.run(["strip", "-g", "u"], check=True)
core_of("./u", "core.u")
status, out, err = run("::sizeof point_t", "core.u")
check(status == 1 and "no type 'point_t'" in err, "no debug information", out + err)
DECLARED = "::typedef 'struct n { struct n *next; int number; char name[12]; }; typedef struct n n_t'; "
check(run(DECLARED + "nodes::list n_t next | ::print n_t name; ::sizeof struct n; ::offsetof n_t name", "core.u")[1].splitlines() ==
      ['name = [ "one" ]', 'name = [ "two" ]', 'name = [ "three" ]', "sizeof (struct n) = 0x18", "offsetof (n_t, name) = 0xc, sizeof = 0xc"],
      "declarations", str(run(DECLARED + "::typedef", "core.u")))
check(run("::typedef 'typedef struct { point_t a, b; } pair_t'; ::sizeof pair_t", "core.t")[1] == "sizeof (pair_t) = 0x10\n", "the program's type in a declaration")
os.mkdir(".debug")
shutil.move(DEBUG, ".debug/u.debug")
subprocess.run(["objcopy", "--add-gnu-debuglink=.debug/u.debug", "u"], check=True)
core_of("./u", "core.v")
check(rows("nodes::print struct node number", "core.v")[0]["value"] == 1, "a separate debug file")

# A process.
open("w.c", "w").write(r"""
#include <unistd.h>
struct live { int a; char t[8]; } live = {9, "alive"};
int main(void) { return write(1, "\n", 1) == 1 && pause(); }
""")
build("cc", "-o", "w", "w.c")
process = subprocess.Popen(["./w"], stdout=subprocess.PIPE)
process.stdout.readline()
check(rows("live::print struct live", "-p", str(process.pid))[0]["value"] == {"a": 9, "t": "alive"}, "a process")
process.kill()
process.wait()

# Damaged debug information: answers or messages, but no crash and no endless work.
def section(elf, name):
    table, = struct.unpack_from("<Q", elf, 40)
    n, names = struct.unpack_from("<HH", elf, 60)
    row = lambda i: struct.unpack_from("<IIQQQQ", elf, table + 64 * i)
    texts = row(names)[4]
    for i in range(n):
        begin = texts + row(i)[0]
        if elf[begin:elf.index(b"\0", begin)].decode() == name:
            return row(i)[4:6]


for program, commands in (("t", "every::print struct every; ::sizeof point_t; nodes::list struct node next; every::print -a -t -l 0 struct every; lib_node::print libtypes`struct node; origin::print"),
                          ("c", "conn::print net::Conn; numbers::print -l 0 std::vector<int,std::allocator<int>>; ::sizeof net::Box<int>::Deep")):
    whole = open(program, "rb").read()
    for seed in range(15):
        r = random.Random(seed)
        damaged = bytearray(whole)
        for name in (".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets"):
            place = section(whole, name)
            for _ in range(r.choice((0, 1, 5, 60)) if place else 0):
                damaged[place[0] + r.randrange(place[1])] = r.choice((0, 0xff, 1, r.randrange(256)))
        os.unlink(program)
        open(program, "wb").write(damaged)
        os.chmod(program, 0o755)
        status, out, err = run(commands, f"core.{program}")
        check(status in (0, 1) and len(out) < 64 << 20, f"damaged debug information of {program}, seed {seed}", f"{status}\n{err[-2000:]}")
    os.unlink(program)
    open(program, "wb").write(whole)
print("\n".join(failed) if failed else "same")
sys.exit(1 if failed else 0)
