# @@needs: kernel
# oformat=rows: an object a record and a row, with the names of rownames; toprows in it and in text, with what is left out.
exec python3 - <<'END'
import datetime, json, os, subprocess

DTRACE = os.environ["DTRACE"]
bad = []


def run(program, *options):
    p = subprocess.run([DTRACE, "-q", *options, "-n", program], capture_output=True, text=True)
    if p.returncode or p.stderr:
        bad.append(f"{program}: status {p.returncode}: {p.stderr}")
    return p.stdout


def rows(program, names, *options):
    found = [json.loads(line) for line in run(program, "-x", "oformat=rows", *(["-x", f"rownames={names}"] if names else []), *options).splitlines()]
    for row in found:
        datetime.datetime.fromisoformat(row.pop("time").replace("Z", "+00:00"))
    return found


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")


check("a record", rows(r'BEGIN { printf("text %d\n%s", -3, "a\"b\n"); trace(0xffffffffffffffff); exit(0); }', "n,name,big"),
      [{"n": -3, "name": 'a"b\n', "big": 2**64 - 1}])
check("names that are missing", rows("BEGIN { trace(1); trace(2); trace(3); trace(4); exit(0); }", "a,,c"), [{"a": 1, "value2": 2, "c": 3, "value4": 4}])
check("no names", rows("BEGIN { trace(1); exit(0); }", ""), [{"value1": 1}])
check("records without values", rows('BEGIN { printf("hello\\n"); exit(0); } END { trace("end"); }', "a"), [{"a": "end"}])
check("a record that is split", rows('BEGIN { trace(1); freopen("/dev/null"); trace(2); freopen(""); trace(3); exit(0); }', "a", "-w"), [{"a": 1}, {"a": 3}])
check("a command", rows('BEGIN { trace(1); system("echo hi"); exit(0); }', "a,b", "-w"), [{"a": 1, "b": {"system": "echo hi", "text": "hi\n", "status": 0}}])
got = rows("BEGIN { stack(2); tracemem(alloca(2), 2); sym((uintptr_t)&`schedule); mod((uintptr_t)&`schedule); exit(0); }", "s,m,f,o")[0]
check("frames", [f["kind"] for f in got["s"]], ["kernel"] * 2)
check("bytes, names", (got["m"], got["f"], got["o"]), ("0000", "vmlinux`schedule", "vmlinux"))
got = rows('BEGIN { @n["a", 1] = count(); @n["b", 2] = count(); @s["b", 2] = sum(-5); @n["b", 2] = count(); @q["b", 2] = quantize(9);'
           ' printa("%s %d %@d %@d %@d\\n", @n, @s, @q); exit(0); }', "name,cpu,n,sum,h")
check("a table", [{k: v for k, v in r.items() if k != "h"} for r in got], [{"name": "a", "cpu": 1, "n": 1, "sum": 0}, {"name": "b", "cpu": 2, "n": 2, "sum": -5}])
check("histograms", (got[0]["h"], [b for b in got[1]["h"] if b["count"]]), ([], [{"value": 8, "count": 1, "min": 8, "max": 15}]))
check("at the end", rows('BEGIN { @n["a"] = sum(7); exit(0); }', "name,n"), [{"name": "a", "n": 7}])

# Ten rows of 1000 to 10000: the greatest are shown, and the others are told; their sum is not rounded row by row.
MANY = " ".join(f"@ns[{i}] = sum({i * 1000 + 400});" for i in range(1, 11))
TABLE = "BEGIN { %s normalize(@ns, 1000); %s exit(0); }"
check("the greatest rows", rows(TABLE % (MANY, 'printa("%d %@d ms\\n", @ns);'), "key,ms", "-x", "toprows=2"),
      [{"key": 9, "ms": 9}, {"key": 10, "ms": 10}, {"rows_left_out": 8, "ms": 39}])
text = lambda show, *options: run(TABLE % (MANY, show), "-x", "toprows=2", *options).rstrip("\n").split("\n")
check("in text", text('printa("%d %@d ms\\n", @ns);'), ["9 9 ms", "10 10 ms", "... 8 more rows, 39 ms"])
check("in reverse", text('printa("%d %@d ms\\n", @ns);', "-x", "aggsortrev"), ["10 10 ms", "9 9 ms", "... 8 more rows, 39 ms"])
check("columns", text('printa("%d %@d %@d\\n", @ns, @ns);'), ["9 9 9", "10 10 10", "... 8 more rows, sum 39, sum 39"])
check("no format", text("printa(@ns);")[-1], "... 8 more rows, sum 39")
check("a single one", run('BEGIN { @["a"] = max(1); @["b"] = max(2); printa("%s %@d\\n", @); exit(0); }', "-x", "toprows=1"), "b 2\n... 1 more row\n\n")
check("none", run('BEGIN { @["a"] = max(1); printa("%s %@d\\n", @); exit(0); }', "-x", "toprows=1"), "a 1\n\n")
hist = run('BEGIN { @["a"] = quantize(1); @["b"] = quantize(2); @["b"] = quantize(2); printa("%s%@d\\n", @); exit(0); }', "-x", "toprows=1")
check("histograms", (hist.count("Distribution"), hist.rstrip("\n").split("\n")[-1]), (1, "... 1 more row, 1 value"))
stacks = run('BEGIN { @[stack(1)] = sum(5); @[stack(2)] = sum(6); printa("%k%@d ms\\n\\n", @); exit(0); }', "-x", "toprows=1")
check("stacks", stacks.rstrip("\n").split("\n")[-1], "... 1 more row, 5 ms")
print("\n".join(bad))
raise SystemExit(bool(bad))
END
