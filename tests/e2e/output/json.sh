# oformat=json and jsonl: what every kind of action shows is valid, and says the same as text does; under system(), freopen(),
# ftruncate(), faults, drops and ^C too.
exec python3 - <<'EOF'
import datetime, json, os, shutil, signal, subprocess, sys, time
sys.path.insert(0, os.environ["SRC"] + "/tests/e2e/output")
sys.dont_write_bytecode = True
import schema
dt, trigger, tmp = os.environ["DTRACE"], os.environ["TRIGGER"], os.environ["TMP"]
os.chdir(tmp)
bad = []

def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")

def document(text):
    """A document's records and aggregations; jq agrees that it is one."""
    doc = json.loads(text)
    assert list(doc) == ["dtrace"], doc
    if len(text) < 1 << 20:
        bad.extend(schema.complaints("document", doc))
    check("version", doc["dtrace"]["schema"], 3)
    if shutil.which("jq"):
        jq = subprocess.run(["jq", "-e", ".dtrace.probes | length"], input=text, capture_output=True, text=True)
        check("jq", jq.stdout.strip(), str(len(doc["dtrace"]["probes"])))
    return doc["dtrace"]["probes"], doc["dtrace"].get("aggregations", [])

def run(prog, *flags, form="json", status=0):
    p = subprocess.run([dt, "-x", "oformat=" + form, *flags, "-n", prog], capture_output=True)
    check("status of " + prog, p.returncode, status)
    run.err = p.stderr.decode()
    return p.stdout.decode() # strict: invalid UTF-8 raises

def outputs(prog, *flags):
    return [r["output"] for r in document(run(prog, *flags))[0]]

def rows(agg):
    return agg["aggregation-name"], agg["aggregation-data"]

# records
probes, aggs = document(run("BEGIN { trace(1); exit(0); } BEGIN { } END { }"))
check("fields", list(probes[0]), ["timestamp", "cpu", "id", "provider", "module", "function", "name", "output"])
check("probe", [probes[0][k] for k in ("id", "provider", "module", "function", "name")], [1, "dtrace", "", "", "BEGIN"])
check("names", [p["name"] for p in probes], ["BEGIN", "END"])
check("default action", probes[1]["output"], [])
check("quiet", len(outputs("BEGIN { exit(0); } END { }", "-q")), 0)
nothing = run("BEGIN { exit(0); }", "-q")
check("nothing", nothing[nothing.index(',\n"probes"'):], ',\n"probes": [\n]}}\n')
document(nothing)
now = time.time()
session = json.loads(run("BEGIN { trace(1); exit(0); }"))["dtrace"]
started, session = session["probes"][0]["timestamp"], session["session"]
check("system", [session[k] for k in ("system", "release", "machine", "host")], list(os.uname()[i] for i in (0, 2, 4, 1)))
check("cpus", session["cpus"], os.cpu_count())
date = datetime.datetime.fromisoformat(session["started"][:26] + "+00:00").timestamp()
check("date", abs(date - (session["timestamp"] - started) / 1e9 - now) < 60, True)

# values
check("integers", outputs("BEGIN { trace(-1); trace((uint8_t)200); trace(0xffffffffffffffff); exit(0); }")[0],
      [{"value": -1}, {"value": 200}, {"value": 2**64 - 1}])
check("strings", outputs(r'BEGIN { trace("a\"b\\c\n\t\001\177/"); trace("\303\244 \342\202\254 \360\237\230\200"); exit(0); }')[0],
      [{"value": 'a"b\\c\n\t\x01\x7f/'}, {"value": "\u00e4 \u20ac \U0001f600"}])
check("invalid UTF-8", outputs(r'BEGIN { trace("\377x\300\200\355\240\200\342\202"); trace("\303"); exit(0); }')[0],
      [{"value": "\ufffdx" + "\ufffd" * 7}, {"value": "\ufffd"}])
check("printf", outputs(r'BEGIN { printf("%5d|%s|%*x\n", 7, "s\"", 4, 255); printf("none"); exit(0); }')[0],
      [{"message": '    7|s"|  ff\n'}, {"value": 7}, {"value": 's"'}, {"value": 4}, {"value": 255}, {"message": "none"}])
check("tracemem", outputs(r'BEGIN { this->p = (char *)alloca(4); *this->p = 1; this->p[3] = 255; tracemem(this->p, 4); exit(0); }')[0],
      [{"tracemem": "010000ff"}])
check("tracemem, less", outputs(r'BEGIN { this->p = (char *)alloca(4); *this->p = 1; tracemem(this->p, 4, 2); exit(0); }')[0],
      [{"tracemem": "0100"}])
got = outputs("BEGIN { stack(2); sym((uintptr_t)&`schedule); mod((uintptr_t)&`schedule); uaddr(0x10); exit(0); }")[0]
check("kernel frames", [sorted(f) for f in got[0]["stack-frames"]], [sorted(["symbol", "kind", "module", "name", "offset", "address"])] * 2)
f = got[0]["stack-frames"][0]
check("symbol", f["symbol"], f"{f['module']}`{f['name']}+{f['offset']}")
check("sym", got[1:], [{"sym": "vmlinux`schedule", "object": "vmlinux", "name": "schedule"}, {"mod": "vmlinux"}, {"uaddr": "0x10"}])
frames = outputs("BEGIN { ustack(3); exit(0); }", "-q")[0][0]["ustack-frames"]
check("user frame", frames[0]["module"].startswith("libc") and frames[0]["name"], "syscall")

# structures
got = outputs(r'''struct in { int a; unsigned b:3; }; enum e { RED, BLUE };
struct out { struct in in; char text[8]; unsigned char raw[3]; void *p; enum e e; short s[2]; };
BEGIN { this->o = (struct out *)alloca(sizeof(struct out)); this->o->in.a = -5; this->o->in.b = 6; this->o->text[0] = 'h';
this->o->raw[1] = 200; this->o->p = (void *)0x1f; this->o->e = BLUE; this->o->s[1] = -2; print(*this->o); print(1); exit(0); }'''.replace("\n", " "))[0]
check("print", got, [{"type": [{"name": "struct out", "value": [
    {"member-name": "in", "name": "struct in", "value": [
        {"member-name": "a", "name": "int", "value": -5}, {"member-name": "b", "name": "unsigned int", "value": 6}]},
    {"member-name": "text", "name": "char [8]", "value": "h"},
    {"member-name": "raw", "name": "unsigned char [3]", "value": [0, 200, 0]},
    {"member-name": "p", "name": "void *", "value": "0x1f"},
    {"member-name": "e", "name": "enum e", "value": "BLUE"},
    {"member-name": "s", "name": "short [2]", "value": [0, -2]}]}]}, {"type": [{"name": "int", "value": 1}]}])

# aggregations
probes, aggs = document(run('''BEGIN { @c["k", -1] = count(); @s[1] = sum(-5); @mi = min(3); @ma = max(3); @a = avg(8); @d = stddev(2);
@q = quantize(5); @q = quantize(-3); @q = quantize(0); @l = lquantize(7, 0, 10, 2); @l = lquantize(-1, 0, 10, 2); @l = lquantize(99, 0, 10, 2);
@ll = llquantize(15, 10, 0, 2, 10); exit(0); }'''))
got = dict(rows(a) for a in aggs)
check("count", got["c"], [{"keys": ["k", -1], "count": 1}])
check("scalars", [got[n] for n in ("s", "mi", "ma", "a", "d")],
      [[{"keys": [1], "sum": -5}], [{"keys": [], "min": 3}], [{"keys": [], "max": 3}], [{"keys": [], "avg": 8}], [{"keys": [], "stddev": 0}]])
full = lambda n: [b for b in got[n][0]["buckets"] if b["count"]]
check("quantize", full("q"), [{"value": -2, "count": 1, "min": -3, "max": -2}, {"value": 0, "count": 1, "min": 0, "max": 0},
                              {"value": 4, "count": 1, "min": 4, "max": 7}])
check("lquantize", full("l"), [{"value": 0, "count": 1, "max": -1}, {"value": 6, "count": 1, "min": 6, "max": 7},
                               {"value": 10, "count": 1, "min": 10}])
check("llquantize", full("ll"), [{"value": 10, "count": 1, "min": 10, "max": 19}])
got = outputs(r'BEGIN { @a["x"] = count(); @b["x"] = sum(3); printa("%s %@d %@d\n", @a, @b); printa(@a); exit(0); }')[0]
check("printa", got, [{"message": "x 1 3\n"},
                      {"aggregation-data": [{"keys": ["x"], "count": 1}], "aggregation-name": "a", "aggregation-function": "count"},
                      {"aggregation-data": [{"keys": ["x"], "sum": 3}], "aggregation-name": "b", "aggregation-function": "sum"},
                      {"aggregation-data": [{"keys": ["x"], "count": 1}], "aggregation-name": "a", "aggregation-function": "count"}])
probes, aggs = document(run("BEGIN { @[stack(1)] = count(); @n = sum(10); normalize(@n, 5); exit(0); }", "-x", "aggpercpu"))
check("stack as key", list(aggs[0]["aggregation-data"][0]["keys"][0]), ["stack-frames"])
check("normalized", aggs[1]["aggregation-data"][0]["sum"], 2)
check("of the CPUs", sum(c["sum"] for c in aggs[1]["aggregation-data"][0]["cpus"]), 2)
check("printed already", document(run("BEGIN { @a = count(); printa(@a); exit(0); }"))[1], [])

# commands, files, faults
check("system", outputs(r'''BEGIN { printf("a"); system("echo '\"x'; exit 3"); printf("b"); exit(0); }''', "-w")[0],
      [{"message": "a"}, {"system": "echo '\"x'; exit 3", "text": '"x\n', "status": 3}, {"message": "b"}])
probes, _ = document(run('BEGIN { trace(1); freopen("f1"); trace(2); } BEGIN { trace(3); freopen("f2"); } BEGIN { freopen(""); trace(4); exit(0); }', "-w"))
check("main output", [p["output"] for p in probes], [[{"value": 1}], [{"value": 4}]])
check("first file", [p["output"] for p in document(open("f1").read())[0]], [[{"value": 2}], [{"value": 3}]])
check("second file", document(open("f2").read()), ([], []))
run('BEGIN { freopen("f3"); trace(5); @a = count(); exit(0); }', "-w")
check("a file at the end", len(document(open("f3").read())[1]), 1)
run('BEGIN { trace(1); trace(2); ftruncate(); trace(3); exit(0); }', "-o", "f4")
check("emptied file", [p["output"] for p in document(open("f4").read())[0]], [[{"value": 3}]])
probes, _ = document(run('BEGIN { n = 0; trace(1 / n); } BEGIN { @a = count(); normalize(@a, 0); trace(2); exit(0); }'))
check("fault", [p["name"] for p in probes], ["ERROR", "BEGIN"])
check("fault, in numbers", probes[0]["fault"], {"kind": 4, "action": 2, "offset": probes[0]["fault"]["offset"], "address": "0x0", "count": 1,
      "id": 1, "provider": "dtrace", "module": "", "function": "", "name": "BEGIN"})
check("text of the fault", "divide-by-zero in action #2" in probes[0]["msg"] and "divide-by-zero" in run.err, True)
check("fault in a record", [list(o) for o in probes[1]["output"]], [["error"], ["value"]])

# lines
lines = [json.loads(l) for l in run('BEGIN { trace(1); } BEGIN { n = 0; trace(1 / n); } BEGIN { @a[1] = count(); @b = count(); } tick-10ms { exit(0); }',
                                    form="jsonl").splitlines()]
check("lines conform", [c for l in lines for c in schema.complaints("line", l)], [])
check("lines", [l.get("name") or l.get("aggregation-name") or list(l)[0] for l in lines], ["schema", "BEGIN", "ERROR", "tick-10ms", "a", "b"])

# drops: what was kept and what was lost make all
text = run("syscall::getppid:entry /pid == $target/ { trace(timestamp); @n = count(); }", "-q", "-b", "16k", "-x", "switchrate=500ms",
           "-c", trigger + "/calls getppid 100000")
probes, aggs = document(text)
drops = [p for p in probes if p["name"] == "DROP"]
check("drops", sum(p["count"] for p in drops) + len(probes) - len(drops), 100000)
check("kinds", {(p["kind"], p["id"], p["provider"]) for p in drops}, {(0, -1, "dtrace")})
check("total", drops[-1]["total"], sum(p["count"] for p in drops))
check("count under drops", aggs[0]["aggregation-data"][0]["count"], 100000)

# ^C
for form in ("json", "jsonl"):
    p = subprocess.Popen([dt, "-x", "oformat=" + form, "-qn", 'BEGIN { trace(1); @a = count(); } tick-1ms { trace(2); } END { trace(3); }'],
                         stdout=subprocess.PIPE, text=True)
    text = ""
    while "value" not in text and (line := p.stdout.readline()):
        text += line
    p.send_signal(signal.SIGINT)
    text += p.stdout.read()
    check("status after ^C", p.wait(60), 0)
    if form == "json":
        probes, aggs = document(text)
    else:
        every = [json.loads(l) for l in text.splitlines()]
        probes, aggs = [l for l in every if "name" in l], [l for l in every if "aggregation-name" in l]
    check("END after ^C", probes[-1]["output"], [{"value": 3}])
    check("aggregations after ^C", len(aggs), 1)

# -v says what it says elsewhere
document(run("BEGIN { exit(0); }", "-v"))
print("\n".join(bad))
sys.exit(bool(bad))
EOF
