# SPDX-License-Identifier: MIT
"""
A Python program builds a known graph of objects, writes down what it is, and aborts: its core file in mdb, with each CPython that is installed.
Then the same of a process that lives, of core files that are damaged, and of a version whose values are not known.
"""
import glob, json, os, re, struct, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import TMP, check, failed, line_of, rows, run

PROGRAM = r'''
import collections, datetime, decimal, functools, gc, json, os, sys, types

class Worker:
    def __init__(self, id, name): self.id, self.name = id, name
class Slots:
    __slots__ = ("left", "right")
    def __init__(self, left, right): self.left, self.right = left, right
class Pair:
    def __init__(self, a): self.first, self.second = a, a
class Base: pass
class Both(Base):
    __slots__ = ("extra",)
class Meta(type): pass
class WithMeta(metaclass=Meta): pass
class Dict(dict): pass
class List(list): pass
class Set(set): pass
class Deque(collections.deque): pass
class Money(decimal.Decimal): pass
class Day(datetime.date): pass
class Tuple(tuple): pass
class Text(str): pass
class Int(int): pass
class Float(float): pass
Point = collections.namedtuple("Point", "x y")
def plain(x): return x

def made(cls, **attributes):
    o = cls.__new__(cls)
    for name, value in attributes.items(): setattr(o, name, value)
    return o

async def waits(): pass
def other_interpreter(text):
    try: import _xxsubinterpreters as subs
    except ImportError: import _interpreters as subs
    made = subs.create()
    subs.run_string(made, text)
    return made # it ends with this

def raised():
    try:
        try: {}["x"]
        except KeyError as e: raise ValueError("bad", 3) from e
    except ValueError as e: return e

workers = [Worker(i, "w%d" % i) for i in range(1000)]
slots = [Slots(i, None) for i in range(500)]
pairs = [Pair(i) for i in range(20)]
with_dict = Worker(2, "v")
with_dict.__dict__
holes = {i: i for i in range(10)}
del holes[3]
removed = {1, 2, 3}
removed.discard(2)
long_list = list(range(150))
cut = Worker(1, "c")
del cut.id
over = made(List, attr=3)
over.extend([1, 2])
over_dict = Dict(a=1, b=[2])
over_dict.attr, over_dict.other = 5, "o"
over_set = Set((7,))
over_set.attr = 6
over_deque = Deque((1, 2))
over_deque.attr = 8
filled = collections.defaultdict(list, k=[1])
turned = collections.deque(range(200), 130)
turned.rotate(70)
over_tuple = Tuple((1, 2))
over_tuple.attr = 4
values = {
    "none": None, "true": True, "false": False, "dots": ..., "not": NotImplemented,
    "ints": [0, 1, -1, 255, -5, 2**30 - 1, 2**30, -2**30, 2**60, 2**64 - 1, 2**100 + 12345, -10**40, 3**700],
    "floats": [0.0, -0.0, 1.5, 0.1, 1e15, 1e16, 123456789012345680.0, 5e-324, 1e-5, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan")],
    "texts": ["", "abc", "it's", 'say "x"', 'it\'s "x"', "a\nb\t\r\x01\x7f\\", "caf\xe9", "\u20ac5", "\U0001f600!", "\u0436" * 50, Text("derived")],
    "bytes": [b"", b"ab\x00\xff'", b'"q"', b"\n\\"],
    "list": [1, "a", None, [2, [3]]], "tuple": (1, (2, "b")), "one": (5,), "empty": [[], (), {}, set(), frozenset()], "long": long_list,
    "dict": {"a": 1, "b": {"c": 2}}, "general": {1: "a", (1, 2): 3.5, "t": None, None: 1}, "holes": holes, "set": {1, "x", None}, "removed": removed, "frozen": frozenset([7]),
    "types": [Worker, Point, int, type, Meta, WithMeta, ValueError, collections.deque, collections.OrderedDict],
    "functions": [plain, made, len, Worker.__init__, lambda x: x],
    "raised": raised(), "os error": OSError(2, "none"), "no args": KeyError(),
    "worker": Worker(7, "seven"), "late": made(Worker, id=1, name="n", late=[1, 2]), "reversed": made(Worker, name="first", id=9), "cut": cut,
    "many": made(Worker, **{"a%d" % i: i for i in range(40)}), "with dict": with_dict, "its dict": with_dict.__dict__,
    "slots": Slots("l", (1,)), "half": made(Slots, right=2), "both": made(Both, extra=5, z=1), "meta": made(WithMeta, a=1),
    "module": types.ModuleType("madeup"), "point": Point(1, "two"), "over": over, "over tuple": over_tuple, "over dict": Dict(a=1), "int": Int(77), "float": Float(2.5),
    "partial": functools.partial(plain, 3), "slice": slice(1, 2), "bytearray": bytearray(b"xyz"), "complex": 1 + 2j,
    "attributes of dict": over_dict, "of set": over_set, "of deque": over_deque, "filled": filled, "ordered": collections.OrderedDict(a=1), "counter": collections.Counter("aab"),
    "deques": [collections.deque(), collections.deque([1, "a"]), collections.deque([1, 2, 3], 2), turned],
    "decimals": [decimal.Decimal(t) for t in ("0", "-0", "1", "-1.50", "0.000001", "0.0000001", "123.456", "1E+3", "1.5E-10", "-12345E+20", "0E-10", "0.00", "1E+1",
                  "9999999999999999999", "10000000000000000000", "1234567890123456789012345678901234567890.5", "-3.00000000000000000000000000000000000001", "1" + "0" * 60 + ".25",
                  "NaN", "-sNaN12", "Infinity", "-Infinity", "1E-6", "1.1E-7", "100E-2", "0E+3")] + [Money("2.50")],
    "dates": [datetime.date(2024, 2, 29), Day(1, 1, 1), datetime.datetime(2024, 12, 31, 23, 59), datetime.datetime(9999, 1, 2, 3, 4, 5), datetime.datetime(1970, 1, 1, 0, 0, 0, 7),
              datetime.datetime(2020, 1, 1, 2, 3, 4, 999999, fold=1), datetime.time(0, 0), datetime.time(23, 59, 58, 5), datetime.timedelta(0), datetime.timedelta(-1, 5, 6),
              datetime.timedelta(999999999), datetime.timedelta(microseconds=1)],
    "no names": [object(), (x for x in ()), waits(), iter([])],
}

def shown(v):
    """What is expected, of what Python says of the value."""
    t = type(v)
    def items(brackets, these): return brackets[0] + ", ".join(these) + brackets[1]
    def attributes(of): return ["%s=%s" % (k, shown(x)) for k, x in of.items()]
    if t in (type(plain), type(made)): return "<function %s>" % v.__qualname__
    if t is type(len): return repr(v)
    if isinstance(v, type): return repr(v)
    if t is complex: return "complex(%r, %r)" % (v.real, v.imag)
    if v is None or v is ... or v is NotImplemented: return repr(v)
    if isinstance(v, bool): return repr(v)
    for base in (int, float, str, bytes):
        if isinstance(v, base): return repr(base(v))
    if isinstance(v, list): return ("" if t is list else t.__name__ + " ") + items("[]", [shown(x) for x in v] + attributes(getattr(v, "__dict__", {})))
    if isinstance(v, tuple): return ("" if t is tuple else t.__name__) + items("()", [shown(x) for x in v] + attributes(getattr(v, "__dict__", {})))
    if isinstance(v, dict):
        more = ["default_factory=" + shown(v.default_factory)] if t is collections.defaultdict else []
        return ("" if t is dict else t.__name__ + " ") + items("{}", ["%s: %s" % (shown(k), shown(x)) for k, x in v.items()] + more + attributes(getattr(v, "__dict__", {})))
    if isinstance(v, (set, frozenset)): return ("" if t is set and v else t.__name__ + " ") + items("{}", [shown(x) for x in v] + attributes(getattr(v, "__dict__", {})))
    if isinstance(v, collections.deque):
        more = ["maxlen=%d" % v.maxlen] if v.maxlen is not None else []
        return t.__name__ + " " + items("[]", [shown(x) for x in v] + more + attributes(getattr(v, "__dict__", {})))
    if t is Money: return repr(v).replace("Decimal", "Money") # Python writes Decimal
    if isinstance(v, (decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)): return repr(v)
    if isinstance(v, bytearray): return "bytearray(%r)" % bytes(v)
    if isinstance(v, BaseException):
        more = ["__cause__=" + shown(v.__cause__)] if v.__cause__ else []
        return t.__name__ + items("()", [shown(x) for x in v.args] + attributes(vars(v)) + more)
    if isinstance(v, types.ModuleType): return "module " + v.__name__ + items("()", attributes(vars(v)))
    if isinstance(v, functools.partial): return "partial(func=%s, args=%s, keywords=%s)" % (shown(v.func), shown(v.args), shown(v.keywords))
    if isinstance(v, slice): return "slice(start=%r, stop=%r, step=%r)" % (v.start, v.stop, v.step)
    if t in (object, types.GeneratorType, types.CoroutineType, type(iter([]))): return repr(v)
    have = [n for n in getattr(t, "__slots__", ()) if hasattr(v, n)]
    return t.__name__ + items("()", attributes({n: getattr(v, n) for n in have}) + attributes(getattr(v, "__dict__", {})))

def end(kind, is_over=False):
    text = "last"
    for n in ("one", "two"): pass
    deleted = 1
    del deleted
    gc.collect()
    young = [Worker(i, "y") for i in range(37)]
    objects = gc.get_objects()
    count = {t.__name__: sum(type(o) is t for o in objects) for t in (Worker, Slots, Pair, Point, Meta)}
    del objects
    count["Elsewhere"] = 11
    with open(sys.argv[1], "w") as f:
        json.dump({"values": {k: shown(v) for k, v in values.items()}, "at": {k: id(v) for k, v in values.items()}, "id": id(values), "workers": id(workers),
                   "first": id(workers[0]), "name": id(workers[0].name), "late": id(values["late"].late), "count": count, "key": id("its dict")}, f)
    if kind == "core": os.abort()
    print("ready", flush=True)
    sys.stdin.readline()

def outer(argument, *rest, **named):
    shared, number = {"k": argument}, 3.25
    def inner(own):
        seen = (shared, own)
        end(sys.argv[2])
        return seen
    [inner(x) for x in [argument]]
other = other_interpreter("class Elsewhere: pass\nkept = [Elsewhere() for _ in range(11)]")
outer("arg", 1, 2, key=None)
'''


def values_check(target, known):
    names = list(known["values"])
    shown = rows(target, "; ".join(f"{known['at'][n]:x}::pyprint -d 40 -n 1000" for n in names))
    check(len(shown) == len(names), "a row for each value", len(shown))
    for name, row in zip(names, shown):
        text, wanted = line_of(row["rows"][0]["value"]), known["values"][name]
        check(text == wanted, f"the value '{name}'", f"{text}\n{wanted}")


def members_check(target, known):
    check(run(target, f"{known['id']:x}::pyprint worker.name").strip() == "'seven'", "a member of a member")
    check(run(target, f"{known['id']:x}::pyprint list.3.1.0 late.late").strip() == "{ 'list.3.1.0': 3, 'late.late': [ 1, 2 ] }", "members in a line")
    text = run(target, f"{known['id']:x}::pyprint -n 3 long")
    check(line_of(text) == "[0, 1, 2, ... 147 more]", "no more than was asked for", text)
    check(line_of(run(target, f"{known['id']:x}::pyprint -d 1 raised")) == "ValueError('bad', 3, __cause__=KeyError(...))", "no deeper than was asked for")
    check(run(target, f"{known['at']['worker']:x}::pytype").split() == [f"0x{known['at']['worker']:x}:", "Worker"], "::pytype")
    for wrong in (known["id"] + 8, known["id"] + 1, 0x1000, 1 << 63):
        text = run(target, f"{wrong:x}::pyprint", status=1)
        check("is no value" in text, f"{wrong:x} is no value", text)


def stack_check(target):
    text = run(target, "::pystack -v")
    frames = re.findall(r"^py: +(\S+)\n +file: (\S+)\n +posn: line (\d+)\n((?: {10}.*\n)*)", text, re.M)
    names = [f[0] for f in frames]
    check([n for n in names if n != "<listcomp>"] == ["end", "inner", "outer", "<module>"], "frames in their order", text)
    source = PROGRAM.splitlines()
    calls = {"end": "os.abort()|stdin.readline()", "inner": "end(", "outer": "[inner(", "<listcomp>": "[inner(", "<module>": "outer("}
    for name, file, line, _ in frames:
        is_right = any(call in source[int(line) - 1] for call in calls.get(name, "none").split("|"))
        check(file == f"{TMP}/graph.py" and is_right, f"the line of {name}", text)
    found = {name: dict(re.findall(r"^ {10}(\w+): (.*)$", rest, re.M)) for name, _, _, rest in frames}

    def has(frame, variables):
        seen = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in found.get(frame, {}).items()}
        seen = {k: v for k, v in seen.items() if k in variables or k not in ("x", "f", ".0")}
        check(seen == variables, f"variables of {frame}", f"{seen}\n{variables}\n{text}")

    has("inner", {"own": "'arg'", "shared": "(dict)", "seen": "(tuple)"})
    check(found["<module>"].get("long_list") and found["<module>"].get("removed") and "__name__" not in found["<module>"], "variables of the module", found["<module>"])
    outer = {"argument": "'arg'", "rest": "(tuple)", "named": "(dict)", "shared": "(dict)", "number": "3.25", "inner": "<function outer.<locals>.inner>"}
    has("outer", outer)
    kind = "'core'" if "core" in found.get("end", {}).get("kind", "") else "'live'"
    # the variable f is the file that was closed
    has("end", {"kind": kind, "is_over": "False", "text": "'last'", "n": "'two'", "young": "(list)", "count": "(dict)"})


def census_check(target, known):
    shown = {r["shape"].split(":")[0]: r for r in rows(target, "::findpyobjects")[0]["rows"]}
    for name, count in known["count"].items():
        check(shown.get(name, {}).get("objects") == count, f"objects of {name}: {count}", shown.get(name))
    shapes = [shown[n]["shape"] for n in ("Pair", "Slots")]
    check(shapes == ["Pair: first, second", "Slots: left, right"], "names of attributes", shapes)
    text = run(target, "::findpyobjects -p second")
    check(re.search(r" 20 +\d+ Pair: first, second$", text, re.M) and "Slots" not in text, "objects with an attribute", text)
    listed = run(target, "::findpyobjects -c Slots -l").split()
    check(len(listed) == len(set(listed)) == known["count"]["Slots"], "each of a class", len(listed))
    check(len(run(target, f"{known['at']['slots']:x}::findpyobjects").split()) == known["count"]["Slots"], "all like one")

    def refs(word):
        return {r["object"]: (r["name"], r["class"].split(":")[0]) for r in rows(target, f"{word:x}::pyrefs")[0]["rows"] if "object" in r}

    def refs_have(word, holder, name, cls):
        all_refs = refs(word)
        check(all_refs.get(f"0x{holder:x}", all_refs.get(f"{holder:x}", all_refs.get(holder))) == (name, cls), f"{name} of {cls} refers to the object", all_refs)

    refs_have(known["at"]["worker"], known["id"], "worker", "dict")
    refs_have(known["first"], known["workers"], "[0]", "list")
    refs_have(known["name"], known["first"], "name", "Worker")
    refs_have(known["late"], known["at"]["late"], "late", "Worker")


def offset_of(data, addr):
    """Where a core file has the memory at an address."""
    table, = struct.unpack_from("<Q", data, 32)
    n, = struct.unpack_from("<H", data, 56)
    for i in range(n):
        kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", data, table + 56 * i)
        if kind == 1 and start <= addr < start + size:
            return offset + addr - start
    return None


def loop_check(core, known):
    """The collector's list comes back to an object in its middle, never to its head."""
    loop = bytearray(open(core, "rb").read())
    link = known["first"] - 16
    struct.pack_into("<Q", loop, offset_of(loop, link), link)
    open(f"{TMP}/worse", "wb").write(loop)
    listed = run([f"{TMP}/worse"], "::findpyobjects -c Worker -l").split()
    check(0 < len(set(listed)) == len(listed) < known["count"]["Worker"], "a census of a list that has a loop", len(listed))


def program_run(python, kind):
    folder = f"{TMP}/{kind}"
    os.makedirs(folder, exist_ok=True)
    return subprocess.Popen([python, f"{TMP}/graph.py", f"{TMP}/known", kind], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env={**os.environ, "PYTHONHASHSEED": "1"})


open(f"{TMP}/graph.py", "w").write(PROGRAM)
unlimited()
pythons = [p for p in ("/usr/bin/python3.%d" % i for i in range(8, 14)) if os.access(p, os.X_OK)]
pythons += sorted(p for p in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.*")) if re.search(r"python3\.(8|9|1[0-3])$", p))
if not pythons:
    print("no CPython 3.8 to 3.13 is installed")
    sys.exit(67)
if os.environ.get("SANITIZED"):  # mdb is ten times as slow then
    del pythons[1:]
for i, python in enumerate(pythons):
    asked.version = python
    with kernel_cores():
        program_run(python, "core").communicate()
    core = next(iter(glob.glob(f"{TMP}/core/core*")), None)
    if not core:
        check(False, "it leaves a core file")
        continue
    known = json.load(open(f"{TMP}/known"))
    values_check([core], known)
    members_check([core], known)
    stack_check([core])
    census_check([core], known)
    if i == 0:
        loop_check(core, known)
        asked.damage_check(core, known["id"], ("::pystack -v", f"{known['id']:x}::pyprint -d 20", "::findpyobjects", f"{known['first']:x}::pyrefs"))
    os.unlink(core)

asked.version = pythons[0]
p = program_run(asked.version, "live")
try:
    check(p.stdout.readline() == b"ready\n", "the program begins")
    known = json.load(open(f"{TMP}/known"))
    values_check(["-p", str(p.pid)], known)
    stack_check(["-p", str(p.pid)])
    census_check(["-p", str(p.pid)], known)
    p.communicate(b"\n", timeout=60)
    check(p.returncode == 0, "it goes on to its end", p.returncode)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()

for python in glob.glob(os.path.expanduser("~/.pyenv/versions/3.7.*/bin/python3.7")):
    asked.version = python
    p = subprocess.Popen([python, "-c", "print('ready', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    for commands in ("10000::pyprint", "::findpyobjects"):
        text = run(["-p", str(p.pid)], commands, status=1)
        check("values cannot be shown: python.d: this version of CPython is not known" in text, f"{commands} says why", text)
    p.communicate(b"\n")
sys.exit(1 if failed else 0)
