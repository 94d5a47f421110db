#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long Prometheus waits for fathom-metrics: a scrape of 10,000 series, counters and histograms.

    bench/metrics.py [--build build] [--runs 20]

Beside the time of the whole scrape stands what the exporter itself says of reading the kernel's maps.
"""
import argparse, http.client, os, re, signal, socket, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ap = argparse.ArgumentParser()
ap.add_argument("--build", default=os.path.join(ROOT, "build"))
ap.add_argument("--runs", type=int, default=20)
opts = ap.parse_args()
os.environ.setdefault("DTRACE_OPT_SYSLIBDIR", os.path.join(ROOT, "dlib"))
KINDS = (("10,000 counters", "@k[arg0] = count();", 10000, 1), ("10,000 counters, two text keys", "@k[execname, lltostr(arg0)] = count();", 10000, 1),
         ("500 histograms of 20 buckets", "@k[arg0 % 500] = quantize(1 << (arg0 / 500));", 10000, 20))


def scrape(port, headers):
    start = time.monotonic()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("GET", "/metrics", headers=headers)
    body = c.getresponse().read()
    c.close()
    return (time.monotonic() - start) * 1e3, body


def main():
    print(f"{'what':<36} {'ms':>8} {'of it reading':>14} {'KiB':>8}   target")
    for what, action, calls, per in KINDS:
        with tempfile.TemporaryDirectory() as tmp, socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            s.close()
            with open(f"{tmp}/b.d", "w") as f:
                f.write('syscall::getpgid:entry /execname == "metricsbench"/ { ' + action + " }")
            x = subprocess.Popen([f"{opts.build}/src/cmd/metrics/fathom-metrics", "-l", f"127.0.0.1:{port}", "-n", "20000", f"{tmp}/b.d"])
            while True:
                try:
                    scrape(port, {})
                    break
                except OSError:
                    time.sleep(0.1)
            subprocess.run([sys.executable, "-c", f"""
import ctypes
open('/proc/self/comm', 'w').write('metricsbench')
libc = ctypes.CDLL(None)
for i in range({calls}): libc.getpgid(i)
"""], check=True)
            for form, headers in (("text", {}), ("protobuf", {"accept": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"})):
                times, reading = [], []
                for _ in range(opts.runs):
                    ms, body = scrape(port, headers)
                    times.append(ms)
                    text = scrape(port, {})[1].decode() if headers else body.decode()
                    reading.append(float(re.search(r"^fathom_reading_seconds (\S+)", text, re.M).group(1)) * 1e3)
                series = len(re.findall(r"^dtrace_b_k", text, re.M))
                assert series >= 10000 // per, series
                print(f"{what + ', ' + form:<46} {statistics.median(times):8.1f} {statistics.median(reading):14.1f} {len(body) / 1024:8.0f}   <= 50 ms", flush=True)
            x.send_signal(signal.SIGTERM)
            x.wait()


main()
