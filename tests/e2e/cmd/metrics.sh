# fathom-metrics: aggregations as what Prometheus scrapes. Counters are exact to the increment, whatever a script does with clear() and
# trunc(), over any number of scrapes; labels, histograms, the limit of series, names, bad scripts.
# @@timeout: 300
[ -x "$BUILD/src/cmd/metrics/fathom-metrics" ] || { echo "not built: it needs the packages libmicrohttpd-dev and libcurl4-openssl-dev"; exit 67; }
exec python3 - <<'EOF'
import json, os, re, shutil, signal, socket, subprocess, sys, time, urllib.error, urllib.request
tmp, trigger, exporter = os.environ["TMP"], os.environ["TRIGGER"], os.environ["BUILD"] + "/src/cmd/metrics/fathom-metrics"
os.chdir(tmp)
me, mine = f"calls{os.getpid()}", f"mkeys{os.getpid()}" # other tests run calls, too
shutil.copy(trigger + "/calls", me)
bad = []

def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

class Exporter:
    def __init__(self, *flags, ready=True):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.err = open("err", "w+")
        self.p = subprocess.Popen([exporter, "-l", self.url[7:], *flags], stdout=subprocess.DEVNULL, stderr=self.err)
        limit = time.monotonic() + 60
        while ready and time.monotonic() < limit and self.p.poll() is None:
            try:
                self.get("/-/healthy")
                return
            except OSError:
                time.sleep(0.05)
    def get(self, path="/metrics", **headers):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=60) as r:
            self.type = r.headers["content-type"]
            return r.read()
    def scrape(self):
        """The samples by name and labels, as the format says; each family stands together, with one TYPE."""
        samples, types, families = {}, {}, []
        for line in self.get().decode().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                check(f"one TYPE of {name}", name in types, False)
                types[name] = kind
                families.append(name)
            elif not line.startswith("# HELP "):
                m = re.fullmatch(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[\d.]+(?:e[-+]\d+)?)', line)
                if not m:
                    bad.append(f"no sample: {line}")
                    continue
                labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2) or ""))
                key = (m.group(1), tuple(sorted((k, re.sub(r"\\(.)", lambda e: {"n": "\n"}.get(e.group(1), e.group(1)), v)) for k, v in labels.items())))
                check(f"one sample {key}", key in samples, False)
                check(f"family of {m.group(1)}", re.sub("_(bucket|sum|count)$", "", m.group(1)) == families[-1] or m.group(1) == families[-1], True)
                samples[key] = float(m.group(3))
        self.types = types
        return samples
    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        status = self.p.wait(60)
        self.err.seek(0)
        self.said = self.err.read()
        return status

def calls(n):
    subprocess.run(["./" + me, "getppid", str(n)], check=True)

# every function, exact over many scrapes while the script throws its data away
open("shop.d", "w").write(r'''
/* @metric calls name=shop_calls_total labels=program,odd help=Calls of "getppid()" \ and more. */
/* @metric level type=gauge */
syscall::getppid:entry /execname == "''' + me + r'''"/
{
	@calls[execname, "a\"b\\c\nd\303\244\377"] = count(); @bytes = sum(3); @level = sum(-1); @mean["x"] = avg(5); @most = max(7); @least = min(-2);
	@q[pid ? "k" : ""] = quantize(5); @q["k"] = quantize(-9); @q["k"] = quantize(0); @l = lquantize(55, 0, 100, 10); @l = lquantize(-1, 0, 100, 10);
	@l = lquantize(100, 0, 100, 10); @ll = llquantize(150, 10, 1, 3, 10); @dev = stddev(4); @[1] = count();
}
tick-20ms { printa(@calls); trunc(@calls); clear(@q); trunc(@bytes, 1); clear(@most); clear(@mean); }
''')
x = Exporter(os.path.join(tmp, "shop.d"))
last = {}
for i in range(10):
    p, is_over = subprocess.Popen(["./" + me, "getppid", "2000"]), False
    while not is_over:
        is_over = p.poll() is not None
        now = x.scrape()
        for k, v in now.items():
            if x.types.get(k[0]) == "counter" or k[0].endswith(("_bucket", "_count")):
                check(f"{k} falls", v >= last.get(k, 0), True)
        last = now
s = x.scrape()
N = 20000.0
check("type of the answer", x.type, "text/plain; version=0.0.4; charset=utf-8")
check("count", {k: v for k, v in s.items() if k[0] == "shop_calls_total"}, {("shop_calls_total", (("odd", 'a"b\\c\ndä?'), ("program", me))): N})
check("the rest", [s.get((n, ())) for n in ("dtrace_shop_bytes_total", "dtrace_shop_level", "dtrace_shop_most", "dtrace_shop_least", "dtrace_shop_dev")],
      [3 * N, -N, 7.0, -2.0, 0.0])
check("anonymous", s.get(("dtrace_shop_total", (("key0", "1"),))), N)
check("avg", [s.get(("dtrace_shop_mean" + p, (("key0", "x"),))) for p in ("_sum", "_count")], [5 * N, N])
def buckets(name, *labels):
    return {dict(k[1])["le"]: v for k, v in s.items() if k[0] == name + "_bucket"}
q = buckets("dtrace_shop_q")
check("quantize", [q.get(b) for b in ("-8", "-1", "0", "3", "7", "+Inf")], [N, N, 2 * N, 2 * N, 3 * N, 3 * N])
check("values below", q.get("-16"), 0.0)
check("lquantize", [buckets("dtrace_shop_l").get(b) for b in ("-1", "49", "59", "99", "+Inf")], [N, N, 2 * N, 2 * N, 3 * N])
check("llquantize", [buckets("dtrace_shop_ll").get(b) for b in ("99", "199", "+Inf")], [0.0, N, N])
check("histogram's count", s.get(("dtrace_shop_q_count", (("key0", "k"),))), 3 * N)
check("types", [x.types.get(n) for n in ("shop_calls_total", "dtrace_shop_level", "dtrace_shop_mean", "dtrace_shop_q", "dtrace_shop_most")],
      ["counter", "gauge", "summary", "histogram", "gauge"])
check("help", rb'# HELP shop_calls_total Calls of "getppid()" \\ and more.' + b"\n" in x.get(), True)
check("up", s.get(("fathom_script_up", (("script", "shop"),))), 1.0)
for path, status in (("/nonesuch", 404),):
    try:
        x.get(path)
        bad.append("finds " + path)
    except urllib.error.HTTPError as e:
        check(path, e.code, status)
try:
    urllib.request.urlopen(x.url + "/metrics", data=b"x", timeout=20)
    bad.append("takes a POST")
except urllib.error.HTTPError as e:
    check("POST", e.code, 405)
# promtool, where it is: Prometheus's own opinion of the text
text = x.get()
try:
    p = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    complaints = [l for l in (p.stdout + p.stderr).decode().splitlines() if "non-histogram and non-summary metrics should not have" not in l and
                  'counter metrics should have "_total" suffix' not in l and "no help text" not in l]
    check("promtool", complaints, [])
except FileNotFoundError:
    pass
check("status", x.stop(), 0)
check("messages", x.said, "")

# more keys than the limit: counted, and no increment is lost; series that nothing changes expire
open("keys.d", "w").write(f'''syscall::getpgid:entry /execname == "{mine}"/''' + ''' { @keys[arg0] = count(); @most[arg0] = max(arg0); @h[arg0] = quantize(arg0); }''')
open("keys.py", "w").write('''import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[3])
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    try:
        os.getpgid(i)
    except OSError:
        pass
''')
x = Exporter("-n", "10", os.path.join(tmp, "keys.d"))
subprocess.run(["python3", "keys.py", "1000000", "1003000", mine], check=True)
s = x.scrape()
for i in range(2):
    subprocess.run(["python3", "keys.py", "1000000", "1000300", mine], check=True)
    s = x.scrape()
keys = {k: v for k, v in s.items() if k[0] == "dtrace_keys_keys_total"}
over = ("dtrace_keys_keys_total", (("otel_metric_overflow", "true"),))
check("series", len(keys), 11)
check("the sum of all", sum(keys.values()), 3600.0)
check("overflow", keys.get(over), 3600.0 - sum(v for k, v in keys.items() if k != over))
check("rows that went there", s.get(("fathom_overflow_rows_total", (("metric", "dtrace_keys_keys"),)), 0) >= 2990, True)
check("the greatest", max(v for k, v in s.items() if k[0] == "dtrace_keys_most"), 1002999.0)
check("histogram of the overflow", sum(v for k, v in s.items() if k[0] == "dtrace_keys_h_count"), 3600.0)
check("status", x.stop(), 0)
x = Exporter("-e", "0.5", os.path.join(tmp, "keys.d"))
series = lambda s: {dict(k[1])["key0"]: v for k, v in s.items() if k[0] == "dtrace_keys_keys_total"}
subprocess.run(["python3", "keys.py", "1000000", "1000050", mine], check=True)
check("series of 50 keys", series(x.scrape()), {str(k): 1.0 for k in range(1000000, 1000050)})
time.sleep(0.6)
x.scrape()
check("expired", series(x.scrape()), {})
subprocess.run(["python3", "keys.py", "1000000", "1000005", mine], check=True)
check("begin anew", series(x.scrape()), {str(k): 1.0 for k in range(1000000, 1000005)})
check("status", x.stop(), 0)

# a directory: scripts that cannot be compiled, or end, leave the others alone
os.mkdir("dir")
open("dir/good.d", "w").write('BEGIN { @c = count(); @["x"] = sum(2); }')
open("dir/wrong.d", "w").write("nonesuch:::x { }")
open("dir/ends.d", "w").write("BEGIN { @n = count(); exit(0); } END { @n = count(); }")
open("dir/9-odd name.d", "w").write("/* @metric n name=dtrace_good_c */\nBEGIN { @n = count(); }")
open("dir/faults.d", "w").write("BEGIN { n = 0; @n = sum(1 / n); }")
open("dir/named.d", "w").write("BEGIN { @n = count(); } /* @metric n colour=red */")
open("dir/not-a-script.txt", "w").write("x")
x = Exporter("-d", "dir", "--prefix", "my_")
time.sleep(1.5)
s = x.scrape()
check("good", [s.get(("my_good_c_total", ())), s.get(("my_good_total", (("key0", "x"),)))], [1.0, 2.0])
check("ended", s.get(("my_ends_n_total", ())), 2.0)
check("a name of its own", s.get(("dtrace_good_c_total", ())), 1.0)
check("up", {dict(k[1])["script"]: v for k, v in s.items() if k[0] == "fathom_script_up"},
      {"good": 1.0, "wrong": 0.0, "ends": 0.0, "9-odd name": 1.0, "faults": 1.0, "named": 0.0})
check("faults", s.get(("fathom_script_errors_total", (("script", "faults"),))), 1.0)
check("status", x.stop(), 0)
for text in ("dir/wrong.d: cannot compile: ", "dir/ends.d: has ended", "divide-by-zero", "dir/named.d:1: unknown item 'colour=red' in '@metric'"):
    check(f"says '{text}'", text in x.said, True)

# the scripts that come with it
x = Exporter("-d", os.environ["SRC"] + "/examples/metrics.d")
calls(700)
subprocess.run(["./" + me, "badclose", "20"], stdout=subprocess.DEVNULL)
subprocess.run(["sh", "-c", "kill -9 $$"])
s = x.scrape()
check("its system calls", s.get(("system_calls_total", (("call", "getppid"),)), 0) >= 700, True)
check("its failures", s.get(("system_call_failures_total", (("call", "close"), ("errno", "9"))), 0) >= 20, True)
check("its programs", s.get(("programs_started_total", (("program", me),)), 0) >= 2, True)
check("its signals", any(k[0] == "processes_killed_total" and dict(k[1])["program"] == "sh" for k in s), True)
check("its latencies", any(k[0] == "system_call_nanoseconds_count" and dict(k[1])["call"] == "read" for k in s), True)
check("status", x.stop(), 0)

# once, and what cannot be
p = subprocess.run([exporter, "-1", "0.1", "dir/good.d"], capture_output=True, text=True)
check("once", (p.returncode, "dtrace_good_c_total 1\n" in p.stdout), (0, True))
for what, argv, status in (("no script", ["-d", "nonesuch"], 1), ("an empty directory", ["-d", "/proc/self/fdinfo"], 1), ("a number", ["-i", "x"], 2),
                           ("a flag", ["--nonesuch"], 2), ("only wrong scripts", ["-L", "dir/wrong.d"], 1), ("an address", ["-l", "nonesuch.invalid:1", "dir/good.d"], 1)):
    p = subprocess.run([exporter, *argv], capture_output=True, text=True, timeout=60)
    check(what, (p.returncode, bool(p.stderr)), (status, True))
print("\n".join(bad))
sys.exit(bool(bad))
EOF
