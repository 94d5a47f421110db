# fathom-metrics with real servers, started here on loopback: what they say is what the workload did, also when one side starts again
# in between. Each server is left out where its package is missing: prometheus, ganglia-monitor and gmetad; npm's statsd. OpenTelemetry's
# requests go to a server of the test, which holds them against the published messages. Most of the time goes by with Prometheus,
# which scrapes for the first time 5 s after each of its two starts.
# @@timeout: 400
[ -x "$BUILD/src/cmd/metrics/fathom-metrics" ] || { echo "not built: it needs the packages libmicrohttpd-dev and libcurl4-openssl-dev"; exit 67; }
exec python3 - <<'EOF'
import http.server, json, os, re, shutil, signal, socket, subprocess, sys, threading, time, urllib.parse, urllib.request
tmp, trigger, exporter = os.environ["TMP"], os.environ["TRIGGER"], os.environ["BUILD"] + "/src/cmd/metrics/fathom-metrics"
os.chdir(tmp)
bad, left_out, started = [], [], []
me = f"calls{os.getpid()}" # other tests run calls, too
shutil.copy(trigger + "/calls", me)

def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")

def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

def start(*argv, log="log", **kw):
    p = subprocess.Popen(argv, stdout=open(log, "a"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **kw)
    started.append(p)
    return p

def end(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    p.wait(60)

class Late(Exception):
    pass

def until(what, func, want, seconds=60):
    """Waits until func() gives what is wanted. If it never does, this part of the test ends: what follows builds on it."""
    limit, got = time.monotonic() + seconds, None
    while time.monotonic() < limit:
        try:
            got = func()
        except (OSError, KeyError, IndexError, ValueError) as e:
            got = repr(e)
        if got == want:
            return
        time.sleep(0.1)
    raise Late(f"{what}: {got!r}, want {want!r}")

def calls(n):
    subprocess.run(["./" + me, "getppid", str(n)], check=True)

open("shop.d", "w").write(f'''syscall::getppid:entry /execname == "{me}"/''' + '''
{ @n[execname, "a b"] = count(); @mean = avg(5); @most = max(-7); @q = quantize(5); @q = quantize(-9); @q = quantize(0); @q = quantize(300); }
tick-50ms { trunc(@n); clear(@q); }''')

def export(*flags):
    port = free_port()
    p = start(exporter, "-l", f"127.0.0.1:{port}", *flags, "shop.d", log="exporter.log")
    until("the exporter starts", lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/-/healthy", timeout=9).status, 200)
    return p, port

def log_count(text):
    return open("exporter.log").read().count(text)

def prometheus():
    if not shutil.which("prometheus"):
        return left_out.append("prometheus")
    x, target = export()
    port = free_port()
    open("prometheus.yml", "w").write(f"""
global: {{scrape_interval: 200ms, evaluation_interval: 10s}}
scrape_configs:
  - {{job_name: fathom, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}
""")
    def begin():
        p = start("prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.path=tsdb",
                  "--enable-feature=native-histograms", log="prometheus.log")
        return p
    def query(text):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        return json.load(urllib.request.urlopen(url, timeout=9))["data"]["result"]
    value = lambda text: float(query(text)[0]["value"][1])
    server = begin()
    calls(1000)
    until("a counter", lambda: value(f'dtrace_shop_n_total{{key0="{me}",key1="a b"}}'), 1000.0)
    until("a summary", lambda: (value("dtrace_shop_mean_sum"), value("dtrace_shop_mean_count")), (5000.0, 1000.0))
    until("a gauge", lambda: value("dtrace_shop_most"), -7.0)
    # the histogram came as a native one: 4000 values, a quarter of them negative, a quarter zero
    until("a native histogram", lambda: value("histogram_count(dtrace_shop_q)"), 4000.0)
    until("values up to 8", lambda: round(value("histogram_fraction(-1e9, 8, dtrace_shop_q)"), 6), 0.75)
    until("values above 256", lambda: round(value("histogram_fraction(256, 512, dtrace_shop_q)"), 6), 0.25)
    until("values below 0", lambda: round(value("histogram_fraction(-16, -8, dtrace_shop_q)"), 6), 0.25)
    # Prometheus starts again: what was counted meanwhile is there
    end(server)
    calls(500)
    server = begin()
    until("after Prometheus's start", lambda: value("dtrace_shop_n_total"), 1500.0)
    # the exporter starts again: it begins at zero, which Prometheus knows how to add up
    end(x, signal.SIGKILL)
    again = start(exporter, "-l", f"127.0.0.1:{target}", "shop.d", log="exporter.log")
    until("the exporter is back", lambda: urllib.request.urlopen(f"http://127.0.0.1:{target}/-/healthy", timeout=9).status, 200)
    calls(700)
    until("after the exporter's start", lambda: value("dtrace_shop_n_total"), 700.0)
    until("resets", lambda: value("resets(dtrace_shop_n_total[10m])"), 1.0)
    until("it is up", lambda: value("up"), 1.0)
    end(again)
    end(server)

def ganglia():
    if not shutil.which("gmond") or not shutil.which("gmetad"):
        return left_out.append("ganglia-monitor, gmetad")
    udp, tcp, xml, interactive = free_port(socket.SOCK_DGRAM), free_port(), free_port(), free_port()
    open("gmond.conf", "w").write(f"""
globals {{ daemonize = no setuid = no host_dmax = 0 send_metadata_interval = 0 allow_extra_data = yes }}
cluster {{ name = "fathom" }}
udp_recv_channel {{ port = {udp} bind = 127.0.0.1 }}
tcp_accept_channel {{ port = {tcp} bind = 127.0.0.1 }}
""")
    os.makedirs("rrds", exist_ok=True)
    os.chmod("rrds", 0o777)
    open("gmetad.conf", "w").write(f"""
data_source "fathom" 1 127.0.0.1:{tcp}
setuid off
rrd_rootdir "{tmp}/rrds"
xml_port {xml}
interactive_port {interactive}
trusted_hosts 127.0.0.1
""")
    def read(port):
        with socket.create_connection(("127.0.0.1", port), timeout=9) as s:
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()
    def metric(port, name, *what):
        element = re.search(rf'<METRIC NAME="{re.escape(name)}"[^>]*>', read(port)).group(0)
        return [re.search(rf' {w}="([^"]*)"', element).group(1) for w in what]
    gmond = start("gmond", "-f", "-c", "gmond.conf", log="gmond.log")
    until("gmond starts", lambda: "GANGLIA_XML" in read(tcp), True)
    x, _ = export("--ganglia", f"127.0.0.1:{udp}", "-i", "0.3")
    calls(1000)
    names = [(f"dtrace_shop_n.{me}.a b", 1000, "positive"), ("dtrace_shop_most", -7, "both"), ("dtrace_shop_q.count", 4000, "positive"),
             ("dtrace_shop_q.le_7", 3000, "positive")]
    def seen(port):
        def func():
            try:
                return [(n, int(float(metric(port, n, "VAL")[0])), metric(port, n, "SLOPE")[0]) for n, _, _ in names]
            except AttributeError as e:
                return repr(e)
        return func
    until("gmond", seen(tcp), names)
    gmetad = start("gmetad", "-c", "gmetad.conf", "-d", "1", log="gmetad.log")
    until("gmetad's XML", seen(xml), names, 90)
    # gmond starts again and has forgotten everything; it knows again what the metrics are
    end(gmond)
    calls(500)
    gmond = start("gmond", "-f", "-c", "gmond.conf", log="gmond.log")
    names[:] = [(f"dtrace_shop_n.{me}.a b", 1500, "positive")]
    until("gmond again", seen(tcp), names)
    for p in (x, gmond, gmetad):
        end(p)

class Statsd(threading.Thread):
    """Counts lines as a server does."""
    def __init__(self, port, counters):
        super().__init__(daemon=True)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", port))
        self.sock.settimeout(0.2)
        self.counters, self.gauges, self.is_open, self.longest = counters, {}, True, 0
        self.start()
    def run(self):
        while self.is_open:
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                continue
            self.longest = max(self.longest, len(data))
            for line in data.decode().split("\n"):
                name, value, kind = re.fullmatch(r"([^:|@\s]+):(-?[\d.]+)\|(c|g)", line).groups()
                if kind == "c":
                    self.counters[name] = self.counters.get(name, 0) + float(value)
                else:
                    self.gauges[name] = float(value) if not value.startswith("-") else self.gauges.get(name, 0) + float(value)
    def close(self):
        self.is_open = False
        self.join()
        self.sock.close()

def statsd():
    port = free_port(socket.SOCK_DGRAM)
    server = Statsd(port, {})
    x, exporter_port = export("--statsd", f"127.0.0.1:{port}", "-i", "0.1")
    counter = f"dtrace_shop_n.{me}.a_b"
    calls(1000)
    until("increments", lambda: server.counters.get(counter), 1000.0)
    until("a gauge", lambda: server.gauges.get("dtrace_shop_most"), -7.0)
    until("buckets", lambda: [server.counters.get(f"dtrace_shop_q.to_{b}") for b in (-8, 0, 7, 511)], [1000.0] * 4)
    check("datagrams fit", server.longest <= 1432, True)
    # no server for a while: nothing is lost
    server.close()
    calls(500)
    def errors():
        text = urllib.request.urlopen(f"http://127.0.0.1:{exporter_port}/metrics", timeout=9).read().decode()
        return float(re.search(r"^fathom_push_errors_total (\S+)$", text, re.M).group(1))
    until("several pushes fail", lambda: errors() >= 3, True)
    again = Statsd(port, server.counters)
    until("after the server's start", lambda: again.counters.get(counter), 1500.0)
    calls(50)
    end(x) # the last increments come when it ends
    until("at the end", lambda: again.counters.get(counter), 1550.0)
    again.close()

# npm gets its packages while the first servers are tested
packages = {package: start("npm", "install", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=10000", "--prefix", prefix, package, log="npm.log")
            for prefix, package in (("npm-statsd", "statsd@0.9.0"), ("npm-otlp", "@opentelemetry/otlp-transformer@0.57.2")) if shutil.which("npm")}

def npm(package):
    try:
        return package in packages and packages[package].wait(60) == 0
    except subprocess.TimeoutExpired:
        return False

def statsd_npm():
    """The original server, if npm has it or can get it."""
    if not npm("statsd@0.9.0"):
        return left_out.append("npm's statsd")
    port, management = free_port(socket.SOCK_DGRAM), free_port()
    open("statsd.js", "w").write(f'{{ port: {port}, address: "127.0.0.1", mgmt_address: "127.0.0.1", mgmt_port: {management}, backends: [], flushInterval: 600000, deleteCounters: false }}')
    server = start("node", "npm-statsd/node_modules/statsd/stats.js", "statsd.js", log="statsd.log")
    def ask(what):
        with socket.create_connection(("127.0.0.1", management), timeout=9) as s:
            s.sendall(what.encode() + b"\n")
            text = b""
            while b"END" not in text:
                text += s.recv(65536)
            return text.decode()
    until("statsd starts", lambda: "END" in ask("counters"), True)
    x, _ = export("--statsd", f"127.0.0.1:{port}", "-i", "0.2")
    calls(1000)
    until("npm's statsd, a counter", lambda: f"'dtrace_shop_n.{me}.a_b': 1000," in ask("counters"), True)
    until("npm's statsd, a gauge", lambda: "dtrace_shop_most: -7" in ask("gauges"), True)
    end(x)
    end(server)

# opentelemetry-proto 1.x: metrics/v1/metrics.proto, common/v1/common.proto, resource/v1/resource.proto, as JSON
INT = lambda v: isinstance(v, str) and re.fullmatch(r"-?\d+", v)
NUMBER = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
TEXT, BOOL = (lambda v: isinstance(v, str)), (lambda v: isinstance(v, bool))
VALUE = {"stringValue": TEXT, "boolValue": BOOL}
ATTRIBUTES = [{"key": TEXT, "value": VALUE}]
POINT = {"attributes": ATTRIBUTES, "startTimeUnixNano": INT, "timeUnixNano": INT}
NUMBERS = [{**POINT, "asInt": INT, "asDouble": NUMBER}]
REQUEST = {"resourceMetrics": [{"resource": {"attributes": ATTRIBUTES}, "scopeMetrics": [{"scope": {"name": TEXT, "version": TEXT}, "metrics": [{
    "name": TEXT, "description": TEXT, "unit": TEXT,
    "gauge": {"dataPoints": NUMBERS},
    "sum": {"dataPoints": NUMBERS, "aggregationTemporality": lambda v: v in (1, 2), "isMonotonic": BOOL},
    "histogram": {"aggregationTemporality": lambda v: v in (1, 2), "dataPoints": [{**POINT, "count": INT, "sum": NUMBER, "bucketCounts": [INT], "explicitBounds": [NUMBER]}]},
    "summary": {"dataPoints": [{**POINT, "count": INT, "sum": NUMBER}]},
}]}]}]}

def conforms(value, form, where=""):
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [where]
        return [w for k, v in value.items() for w in (conforms(v, form[k], f"{where}.{k}") if k in form else [f"{where}.{k}: no such member"])]
    if isinstance(form, list):
        return [w for i, v in enumerate(value) for w in conforms(v, form[0], f"{where}[{i}]")] if isinstance(value, list) else [where]
    return [] if form(value) else [f"{where}: {value!r}"]

def otlp_npm():
    """The published messages themselves, if npm has them: the request becomes protocol buffers, and comes back as it was."""
    if not npm("@opentelemetry/otlp-transformer@0.57.2"):
        return left_out.append("npm's otlp-transformer")
    open("otlp.js", "w").write('''
const root = require('./npm-otlp/node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js');
const T = root.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
const sent = JSON.parse(require('fs').readFileSync('request.json'));
const back = JSON.parse(JSON.stringify(T.toObject(T.decode(T.encode(T.fromObject(sent)).finish()), { longs: String, enums: Number })));
// empty lists are not on the wire
const full = (x) => Array.isArray(x) ? x.map(full) : x && typeof x === 'object' ?
	Object.fromEntries(Object.entries(x).filter(([, v]) => !(Array.isArray(v) && !v.length)).map(([k, v]) => [k, full(v)])) : x;
require('assert').strict.deepEqual(full(back), full(sent));
''')
    p = subprocess.run(["node", "otlp.js"], capture_output=True, text=True)
    check("the request as protocol buffers", (p.returncode, p.stderr), (0, ""))

def otlp():
    last, wrong, status = {}, [], 200
    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            text = self.rfile.read(int(self.headers["content-length"]))
            open("request.json", "wb").write(text)
            if status != 200:
                return self.send_error(status)
            body = json.loads(text)
            if self.path != "/v1/metrics" or self.headers["content-type"] != "application/json":
                wrong.append(f"{self.path} {self.headers['content-type']}")
            wrong.extend(conforms(body, REQUEST)[:3])
            for m in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
                last[m["name"]] = m
                for p in m.get("histogram", {}).get("dataPoints", []):
                    if len(p["bucketCounts"]) != len(p["explicitBounds"]) + 1 or sum(map(int, p["bucketCounts"])) != int(p["count"]):
                        wrong.append(f"histogram {p}")
                    if p["explicitBounds"] != sorted(set(p["explicitBounds"])):
                        wrong.append(f"bounds {p}")
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")
        def log_message(self, *args):
            pass
    port = free_port()
    def begin():
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Collector)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
    server = begin()
    x, _ = export("--otlp", f"http://127.0.0.1:{port}/", "-i", "0.2")
    calls(1000)
    total = lambda: [int(p["asInt"]) for p in last["dtrace_shop_n"]["sum"]["dataPoints"]]
    until("a sum", total, [1000])
    check("attributes", {a["key"]: a["value"] for a in last["dtrace_shop_n"]["sum"]["dataPoints"][0]["attributes"]},
          {"key0": {"stringValue": me}, "key1": {"stringValue": "a b"}})
    check("cumulative", [last["dtrace_shop_n"]["sum"][k] for k in ("aggregationTemporality", "isMonotonic")], [2, True])
    until("a gauge", lambda: last["dtrace_shop_most"]["gauge"]["dataPoints"][0]["asInt"], "-7")
    until("a summary", lambda: [last["dtrace_shop_mean"]["summary"]["dataPoints"][0][k] for k in ("count", "sum")], ["1000", 5000])
    def buckets():
        p = last["dtrace_shop_q"]["histogram"]["dataPoints"][0]
        return {b: int(n) for b, n in zip(p["explicitBounds"] + ["inf"], p["bucketCounts"]) if n != "0"}
    until("a histogram", buckets, {-8: 1000, 0: 1000, 7: 1000, 511: 1000})
    # the collector refuses requests, then it is away for a while: nothing is lost
    status = 503
    until("it says that the collector refuses", lambda: log_count("takes no metrics: HTTP status 503; they come with a later request\n"), 1)
    calls(200)
    status = 200
    until("after the refusals", total, [1200])
    server.shutdown()
    server.server_close()
    calls(300)
    until("it says that the collector is away", lambda: log_count("/v1/metrics' takes no metrics"), 2)
    server = begin()
    until("after the collector's start", total, [1500])
    calls(50)
    end(x)
    until("at the end", total, [1550])
    server.shutdown()
    check("requests", wrong, [])
    otlp_npm()
    check("it says each once", log_count("/v1/metrics' takes no metrics"), 2)
    check("without a status where there was no answer", re.findall(r"/v1/metrics' takes no metrics: [^;]*\d;", open("exporter.log").read()), ["/v1/metrics' takes no metrics: HTTP status 503;"])

try:
    for part in (prometheus, ganglia, statsd, statsd_npm, otlp):
        try:
            part()
        except Late as e:
            bad.append(f"{part.__name__}: {e}")
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
if bad:
    for name in sorted(os.listdir(".")):
        if name.endswith(".log"):
            print(f"--- {name}", open(name, errors="replace").read()[-1500:], sep="\n")
print("\n".join(bad), end="\n" if bad else "")
if not bad and left_out:
    print("without the packages " + ", ".join(left_out))
sys.exit(bool(bad))
EOF
