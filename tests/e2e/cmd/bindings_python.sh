# The Python package of bindings/python: pip installs it offline, its structures are those of the header, and a script gets what a
# workload did, as values.
python=/usr/bin/python3.11
[ -x $python ] && $python -c 'import venv, ensurepip' 2>/dev/null || { echo "needs the package python3-venv"; exit 67; }
[ -z "$SANITIZED" ] || { echo "a library with sanitizers cannot be loaded into Python"; exit 67; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
# as the guide says, in a new virtual environment; no index: nothing is to be downloaded
cp -rL "$SRC/bindings/python" package && $python -m venv clean >out 2>err || fail "the virtual environment"
clean/bin/pip install --disable-pip-version-check --no-index -q --target site ./package >out 2>err || fail "pip install"
export PYTHONPATH=$TMP/site PYTHONDONTWRITEBYTECODE=1 LIBDTRACE=$BUILD/src/cmd/dtrace/libdtrace.so

# Sizes and offsets, as the compiler has them.
$python - >layout.c <<'END'
from libdtrace import _abi
print('#include <dtrace.h>\n#include <stddef.h>\nint main(void)\n{')
for name, struct in _abi.STRUCTS.items():
    print(f'\tprintf("{name} %zu\\n", sizeof({name}));')
    for field in struct._fields_:
        print(f'\tprintf("{name}.{field[0]} %zu %zu\\n", offsetof({name}, {field[0]}), sizeof((({name} *)0)->{field[0]}));')
consts = {n: getattr(_abi, p) for n, p in (("DTRACE_VERSION", "VERSION"), ("DTRACE_DATUM_UADDR", "UADDR"), ("DTRACEACT_PRINTA", "ACT_PRINTA"),
          ("DTRACEACT_CLEAR", "ACT_CLEAR"), ("DTRACEACT_SYSTEM", "ACT_SYSTEM"), ("DTRACEAGG_COUNT", "AGG_COUNT"), ("DTRACEAGG_QUANTIZE", "AGG_QUANTIZE"),
          ("DTRACE_AGGWALK_REMOVE", "AGGWALK_REMOVE"), ("DTRACE_AGGWALK_CLEAR", "AGGWALK_CLEAR"), ("DTRACE_WORKSTATUS_DONE", "WORK_DONE"),
          ("DTRACE_FRAME_LANGUAGE", "FRAME_LANGUAGE"), ("DTRACE_C_ZDEFS", "C_ZDEFS"), ("DTRACE_PROBESPEC_NAME", "PROBESPEC_NAME"))}
for name, value in consts.items():
    print(f'\tprintf("{name} %d\\n", (int){name} == {value});')
print('\treturn 0;\n}')
END
cc -I "$SRC/include" layout.c -o layout 2>err || fail "the header has other members"
./layout >layout.c.out
$python - >layout.py.out <<'END'
import ctypes
from libdtrace import _abi
for name, struct in _abi.STRUCTS.items():
    print(name, ctypes.sizeof(struct))
    for field in struct._fields_:
        d = getattr(struct, field[0])
        print(f"{name}.{field[0]} {d.offset} {d.size}")
END
grep -v '^DTRACE' layout.c.out | diff - layout.py.out >out || fail "structures differ from the header's"
! grep '^DTRACE.* 0$' layout.c.out >out || fail "constants differ from the header's"

cat >script.py <<'END'
import os, signal, sys, threading, time
import libdtrace

trigger = os.environ["TRIGGER"]

def check(what, got, want):
    if got != want:
        print(f"{what}: {got!r}, want {want!r}")

# records of each kind
seen = []
with libdtrace.Consumer() as d:
    d.setopt("quiet")
    n = d.strcompile(r'''BEGIN { trace("text\303\244"); printf("%d %s\n", $1, $$2); trace((int)-3); trace(0xffffffffffffffff); stack(2); sym((uintptr_t)&`schedule);
        mod((uintptr_t)&`schedule); this->p = (char *)alloca(5); this->p[4] = 7; tracemem(this->p, 5); exit(3); } END { trace("end"); }''', 42, "arg")
    check("matches", n, 2)
    d.go()
    d.run(lambda probe, rec: seen.append((probe.name, rec and rec.data)))
    values = [v for p, v in seen if p == "BEGIN"]
    check("values", values[:4] + [values[7]], ["text\u00e4", (42, "arg"), -3, 2**64 - 1, b"\0\0\0\0\7"])
    check("stack", [f.text.split("`")[0] for f in values[4]], ["vmlinux"] * 2)
    check("names", [str(v) for v in values[5:7]], ["vmlinux`schedule", "vmlinux"])
    check("ends of firings", [v for v in seen if v[1] is None], [("BEGIN", None), ("END", None)])
    check("END", seen[-2], ("END", "end"))
    check("exit", d.exit_status, 3)

# aggregations: walked while calls are made, nothing is lost
total, walks = 0, 0
with libdtrace.Consumer() as d:
    d.setopt("switchrate", "10ms")
    d.create(trigger + "/calls getppid 20000")
    d.strcompile('''syscall::getppid:entry /pid == $target/ { @c[execname, -1] = count(); @q["q"] = quantize(0); @s["s"] = sum(-2); @l = lquantize(5, 0, 10, 5); }''')
    d.go()
    def row(varid, keys, value):
        global total
        if varid == 1:
            check("keys", keys, ("calls", -1))
            total += value
    while d.consume():
        d.aggwalk(row)
        walks += 1
    d.aggwalk(row)
    check("calls in %d walks" % walks, total, 20000)
    check("several walks", walks > 1, True)
    check("taken out", d.rows(), [])
with libdtrace.Consumer() as d:
    d.strcompile('''BEGIN { @q[1] = quantize(5); @q[1] = quantize(-1); @l = lquantize(50, 0, 10, 5); @s = sum(-2); @a = avg(3); @m = max(9); exit(0); }''')
    d.go()
    d.run()
    rows = {r.name: r for r in d.rows()}
    check("functions", {n: (r.function, r.value) for n, r in rows.items() if n in "sam"}, {"s": ("sum", -2), "a": ("avg", 3), "m": ("max", 9)})
    check("quantize", [b for b in rows["q"].value if b.count], [(-1, -1, 1), (4, 7, 1)])
    check("lquantize", [b for b in rows["l"].value if b.count], [(10, None, 1)])
    pairs = {}
    d.aggwalk(lambda varid, keys, value: pairs.update({varid: value}))
    check("ranges", [p for p in pairs[2] if p[1]], [((10, None), 1)])

# names of C++ functions
if "PLUS" in os.environ:
    names = []
    with libdtrace.Consumer() as d:
        d.create(os.environ["PLUS"])
        d.strcompile('syscall::getpgid:entry /pid == $target/ { usym(ucaller); umod(ucaller); ustack(3); }')
        d.go()
        d.run(lambda probe, rec: rec and names.append(rec.data))
    check("a long name is whole", any(len(f.text) > 1100 and "+0x" in f.text[-8:] for f in names[2]), True)
    check("a function with a '+'", [str(n) for n in names[3:5]], ["plus`operator+(S const&, S const&)", "plus"])

# text, faults, exceptions, errors
texts, faults = [], []
with libdtrace.Consumer() as d:
    d.on_text, d.on_error = texts.append, faults.append
    d.strcompile(r'BEGIN { @["x"] = count(); printa("%s %@d\n", @); n = 0; } BEGIN { trace(1 / n); } tick-10ms { exit(0); }')
    d.go()
    d.run(lambda p, r: None)
    check("printa", "".join(texts), "x 1\n")
    check("fault", [("divide-by-zero" in f) for f in faults], [True])
with libdtrace.Consumer() as d:
    d.strcompile("BEGIN { trace(1); }")
    d.go()
    try:
        d.run(lambda p, r: 1 // 0, 5)
        print("the exception is lost")
    except ZeroDivisionError:
        pass
    d.stop()
for what, func in (("a wrong program", lambda d: d.strcompile("nonesuch:::x { }")), ("a wrong option", lambda d: d.setopt("nonesuch", 1))):
    try:
        func(libdtrace.Consumer())
        print(what, "is not refused")
    except libdtrace.Error as e:
        check(what, (bool(e.args[0]), e.errno >= 1000), (True, True))
check("listing", [str(p) for p in libdtrace.listing("syscall::openat:")], ["syscall:vmlinux:openat:entry", "syscall:vmlinux:openat:return"])

# ^C ends run(); the other interface
d = libdtrace.Consumer()
d.strcompile("tick-1ms { @ = count(); }")
d.go()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
d.run()
d.stop()
check("ticks", d.rows()[0].value > 0, True)
d.close()
out, walked, chewed = [], [], []
libdtrace.DTraceConsumer(out.append, lambda *a: walked.append(a), lambda *a: chewed.append(a)).run("BEGIN { trace(5); @ = count(); }", 0.2)
check("chewed", [c[1:] for c in chewed], [("dtrace:::BEGIN", 5)])
check("walked", walked, [(1, (), 1)])
END
! command -v g++ >/dev/null || { g++ -O1 -o plus "$SRC/tests/e2e/cmd/plus.cc" && export PLUS=$TMP/plus; } || fail "compiling"
timeout 120 $python script.py >out 2>err || fail "status $?"
[ ! -s out ] && [ ! -s err ] || fail "wrong values"
