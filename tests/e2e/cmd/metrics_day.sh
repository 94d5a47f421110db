# fathom-metrics for a day: as many scrapes as a day has with one a minute, and sixty thousand keys,
# in half a minute. Memory stays flat, and every increment is there.
# @@timeout: 400
[ -x "$BUILD/src/cmd/metrics/fathom-metrics" ] || { echo "not built: it needs the packages libmicrohttpd-dev and libcurl4-openssl-dev"; exit 67; }
[ -z "$SANITIZED" ] || { echo "a build with sanitizers keeps freed memory"; exit 67; }
exec python3 - <<'EOF'
import http.client, os, re, signal, socket, subprocess, sys, time
exporter = os.environ["BUILD"] + "/src/cmd/metrics/fathom-metrics"
os.chdir(os.environ["TMP"])
SCRAPES, KEYS = 1440, 60000
me = f"mday{os.getpid()}" # another run of this test has another name
open("day.d", "w").write(f'''syscall::getpgid:entry /execname == "{me}"/''' + '''
{ @all = count(); @keys[arg0] = count(); @h[arg0 & 15] = quantize(arg0); @text[lltostr(arg0 % 3000)] = sum(1); @kept[arg0 % 500] = count(); }
tick-100ms { trunc(@text); trunc(@kept); }''')
open("work.py", "w").write('''import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[2])
for i in range(int(sys.argv[1])):
    try:
        os.getpgid(1000000 + i)
    except OSError:
        pass
    if i % 100 == 0:
        time.sleep(0.02)
''')
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
x = subprocess.Popen([exporter, "-l", f"127.0.0.1:{port}", "-n", "200", "-i", "0.5", "--statsd", "127.0.0.1:9", "day.d"])
def scrape():
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("GET", "/metrics")
    text = c.getresponse().read().decode()
    c.close()
    return text
def total(text, name):
    return sum(float(v) for v in re.findall(rf"^dtrace_day_{name}(?:\{{.*\}})? (\S+)$", text, re.M))
def rss():
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{x.pid}/status").read()).group(1))
for _ in range(600):
    try:
        scrape()
        break
    except OSError:
        time.sleep(0.1)
work = subprocess.Popen(["python3", "work.py", str(KEYS), me])
sizes, last = [], 0
for i in range(SCRAPES):
    text = scrape()
    now = total(text, "all_total")
    assert now >= last, (now, last)
    last = now
    if i % (SCRAPES // 20) == 0:
        sizes.append(rss())
    time.sleep(0.002)
assert work.wait() == 0
text = scrape()
bad = []
for name, want in (("all_total", KEYS), ("text_total", KEYS), ("h_count", KEYS)):
    if total(text, name) != want:
        bad.append(f"{name}: {total(text, name)}, not {want}")
drops = total(text.replace("fathom_script", "dtrace_day"), "drops_total")
if drops:
    bad.append(f"{drops} drops")
early, late = max(sizes[4:10]), max(sizes[10:])
if late > early * 1.03 + 512:
    bad.append(f"memory grows: {sizes} KiB")
x.send_signal(signal.SIGTERM)
if x.wait(60):
    bad.append("its status")
print("\n".join(bad))
sys.exit(bool(bad))
EOF
