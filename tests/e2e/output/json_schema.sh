# doc/json-schema.json, by an independent validator: everything that text shows conforms to it as a document and as lines, and
# what does not conform is refused.
python3 -c 'import jsonschema' 2>/dev/null || { echo "the validator is missing: Debian's package python3-jsonschema"; exit 67; }
exec python3 - <<'EOF'
import json, os, subprocess, sys
sys.path.insert(0, os.environ["SRC"] + "/tests/e2e/output")
sys.dont_write_bytecode = True
import schema
dt, trigger, tmp = os.environ["DTRACE"], os.environ["TRIGGER"], os.environ["TMP"]
os.chdir(tmp)
bad, seen, documents = [], set(), []

def note(x):
    """Which members have appeared."""
    if isinstance(x, dict):
        seen.update(x)
        list(map(note, x.values()))
    elif isinstance(x, list):
        list(map(note, x))

def conforms(what, part, instance):
    bad.extend(f"{what}: {c}" for c in schema.complaints(part, instance))
    note(instance)

def run(*argv, part="document"):
    """The command twice, as one document and as lines."""
    for form in ("json", "jsonl"):
        p = subprocess.run([dt, "-x", "oformat=" + form, *argv], capture_output=True, timeout=300)
        text, what = p.stdout.decode(), f"{form} {argv[-1][:60]}"
        if p.returncode:
            print("\n".join(bad) + f"\n{what}: status {p.returncode}: {p.stderr.decode()}")
            sys.exit(1)
        if form == "json":
            documents.append(json.loads(text))
            records = documents[-1]["dtrace"].get("probes", [])
            records[:] = [r for r in records if r["name"] == "DROP"][:3] + records[:100]
            conforms(what, part, documents[-1])
        else:
            for line in text.splitlines()[:100]:
                conforms(what, "line", json.loads(line))
    return documents[-1]["dtrace"]

getppid = "syscall::getppid:entry /pid == $target/"
run("-n", r'BEGIN { trace(-1); trace("a\377\n"); printf("%s %d", "x", 1); printf("none"); exit(0); } BEGIN { } END { }')
run("-n", r'BEGIN { this->p = (char *)alloca(8); *this->p = 1; tracemem(this->p, 4); trace(*(struct { char c[5]; } *)this->p); exit(0); }')
run("-n", r'BEGIN { stack(); sym((uintptr_t)&`schedule); mod((uintptr_t)&`schedule); uaddr(0x10); usym(0x10); umod(0x10); func((uintptr_t)&`schedule); exit(0); }')
run("-x", "lines", "-n", getppid + " { ustack(); usym(ucaller); umod(ucaller); uaddr(ucaller); @[ustack(), uaddr(ucaller), umod(ucaller)] = count(); }",
    "-c", trigger + "/calls getppid 2")
run("-n", r'''struct in { int a; unsigned b:3; float f; }; enum e { RED, BLUE }; struct opaque;
struct out { struct in in[2]; char text[8]; unsigned char raw[3]; void *p; enum e e, other; struct opaque *o; double d; };
BEGIN { this->o = (struct out *)alloca(sizeof(struct out)); this->o->in[0].a = -5; this->o->text[0] = 'h'; this->o->raw[1] = 200; this->o->e = BLUE;
this->o->other = 7; print(*this->o); print(1); print("text"); print(curthread->se); exit(0); }'''.replace("\n", " "))
aggs = '''BEGIN { @c["k", -1, stack(2)] = count(); @s[1] = sum(-5); @mi = min(3); @ma = max(3); @a = avg(8); @d = stddev(2); @mod[mod((uintptr_t)&`schedule)] = count();
@q = quantize(5); @q = quantize(-3); @q = quantize(0); @l = lquantize(7, 0, 10, 2); @l = lquantize(-1, 0, 10, 2); @l = lquantize(99, 0, 10, 2);
@sy[sym((uintptr_t)&`schedule)] = count(); @ll = llquantize(15, 10, 0, 2, 10); this->b = (char *)alloca(8); this->b[1] = 1; @st[*(struct { char c[5]; } *)this->b] = count(); @al["x"] = live(7, 70); @al["x"] = live(8, 8); dead(8); exit(0); }'''.replace("\n", " ")
run("-x", "livesize=1", "-n", aggs)
run("-x", "aggpercpu", "-n", aggs)
run("-n", r'BEGIN { @a["x"] = count(); @b["x"] = sum(3); printa("%s %@d %@d\n", @a, @b); printa(@a); exit(0); }')
run("-w", "-n", r'BEGIN { system("echo x; exit 3"); exit(0); }')
run("-n", 'BEGIN { n = 0; trace(1 / n); } BEGIN { @a = count(); normalize(@a, 0); trace(2); } BEGIN { trace(*(int *)0); } tick-10ms { exit(0); }')
run("-x", "statusrate=1ms", "-n", getppid + " { n = 0; trace(1 / n); }", "-c", trigger + "/calls getppid 150")
run("-q", "-b", "16k", "-x", "switchrate=500ms", "-n", getppid + " { trace(timestamp); }", "-c", trigger + "/calls getppid 50000")
run("-n", "syscall:::return { @[probefunc] = llquantize(timestamp, 10, 0, 15, 10); } tick-50ms { exit(0); }")
run("-x", "stackmerge=function", "-n", getppid + " { @[ustack()] = count(); @k[stack()] = count(); }", "-c", trigger + "/calls getppid 3")
run("-qn", "BEGIN { exit(0); }")

# listings
listing = run("-ln", "syscall::open*:entry", part="listing")["listing"]
text = subprocess.run([dt, "-ln", "syscall::open*:entry"], capture_output=True, text=True).stdout.splitlines()[1:]
if [f"{p['id']} {p['provider']} {p['module']} {p['function']} {p['name']}" for p in listing] != [" ".join(l.split()) for l in text]:
    bad.append("-l: other probes than in text")
listing = run("-lvn", "syscall::openat:entry", part="listing")["listing"]
if [a["type"] for a in listing[0]["arguments"]] != ["int", "userland const char *", "int", "umode_t"]:
    bad.append(f"-lv: {listing[0]}")
run("-lvn", "sched:::, io:::, profile:::, proc:::exec*", part="listing")

# frames of a language; taken apart as far as the text of the helper says
open("h.d", "w").write('''dtrace:helper:ustack: { "@a:b.py:49 (f (x))"; }''')
d = run("-x", "helper=h.d", "-n", getppid + " { jstack(3); }", "-c", trigger + "/calls getppid 1")
frames = [f for r in d["probes"] for o in r["output"] for f in o.get("ustack-frames", [])]
if not frames or any(f["kind"] != "native" or f["helper"] != "@a:b.py:49 (f (x))" for f in frames):
    bad.append(f"annotated frames: {frames}")
open("waits.d", "w").write('''dtrace:helper:ustack: /arg3 == 0/ { uframe("async f at b.js line 49"); }''')
d = run("-x", "helper=waits.d", "-n", getppid + " { jstack(3); }", "-c", trigger + "/calls getppid 1")
frames = [f for r in d["probes"] for o in r["output"] for f in o.get("ustack-frames", []) if "async" in f]
if [(f["kind"], f["name"], f["file"], f["line"]) for f in frames] != [("language", "f", "b.js", 49)]:
    bad.append(f"frames that wait: {frames}")

# what must have been seen is what the schema knows: a member that nothing makes would be untested
def members(x, found):
    if isinstance(x, dict):
        found.update(x.get("properties", {}))
        for v in x.values():
            members(v, found)
    elif isinstance(x, list):
        for v in x:
            members(v, found)
    return found
never = members(schema.SCHEMA["$defs"], set()) - seen - {"pcap", "unreadable", "warning"}  # tests of their own have these
if never:
    bad.append(f"never seen: {sorted(never)}")

# what does not conform is refused
valid = schema.validator("document")
kept = 0
for doc in [d for d in documents if "probes" in d["dtrace"] and len(json.dumps(d)) < 3000]:
    for path, how, mutant in schema.mutants(doc):
        kept += 1
        if valid.is_valid(mutant):
            bad.append(f"accepted: {how} at {path}")
if kept < 100:
    bad.append(f"only {kept} mutants")
print("\n".join(bad))
sys.exit(bool(bad))
EOF
