# SPDX-License-Identifier: MIT
"""fathom-metrics and receivers that fail (metrics_push.sh)."""
import http.server
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time

from metrics_case import ME, Exporter, bad, begin, calls, check, end, free_port, script, until


class Statsd:
    """Adds up what datagrams say, as a server does. Reads what has come when it is asked for, and before it closes."""
    def __init__(self, port, counters=None, host="127.0.0.1"):
        self.counters, self.gauges, self.longest, self.lines = {} if counters is None else counters, {}, 0, []
        self.sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.bind((host, port))
        self.sock.setblocking(False)

    def read(self):
        while True:
            try:
                data = self.sock.recv(65536)
            except BlockingIOError:
                return self.counters
            self.longest = max(self.longest, len(data))
            for line in data.decode().split("\n"):
                name, value, kind = re.fullmatch(r"([^:|@\s,;=]+):(-?\d+)\|(c|g)", line).groups()
                self.lines.append(name)
                if kind == "c":
                    self.counters[name] = self.counters.get(name, 0) + int(value)
                else:
                    self.gauges[name] = int(value)

    def close(self):
        self.read()
        self.sock.close()


def statsd_large():
    """A name that fits into no datagram, integers above 2^53, and characters that mean something: each arrives once."""
    port = free_port(socket.SOCK_DGRAM)
    server = Statsd(port)
    script("large.d", r'''#pragma D option strsize=70000
        /* @metric gauge type=gauge */
        BEGIN { @c["small", "one"] = sum(7); @big = sum(9007199254740993); @gauge = sum(9007199254740993); @odd["a:b|c,d;e=f[g]\001\r#h i.j"] = count();
            @long[strjoin(S4, "x")] = sum(5); @long[strjoin(S4, "y")] = sum(6); @h[S4] = quantize(-9007199254740993); }
        syscall::getppid:entry /execname == ME/ { @big = sum(2); }'''.replace("S4", '"' + "\303\244" * 15000 + '"'))
    x = Exporter("--statsd", f"127.0.0.1:{port}", "-i", "0.05", "large.d")
    def values():
        c = server.read()
        return {"c": c.get("dtrace_large_c.small.one"), "big": c.get("dtrace_large_big"), "odd": c.get("dtrace_large_odd.a_b_c_d_e_f_g____h_i_j"),
                "gauge": server.gauges.get("dtrace_large_gauge"), "long": sorted(v for k, v in c.items() if k.startswith("dtrace_large_long.\u00e4\u00e4")),
                "h": sorted(v for k, v in c.items() if k.startswith("dtrace_large_h."))}
    want = {"c": 7, "big": 9007199254740993, "odd": 1, "gauge": 9007199254740993, "long": [5, 6], "h": [1]}
    until("values", values, want)
    pushed = server.lines.count("dtrace_large_gauge")
    until("more pushes", lambda: server.read() and server.lines.count("dtrace_large_gauge") >= pushed + 5, True)
    calls(3)
    until("later increments", values, {**want, "big": 9007199254740999})
    check("datagrams fit", server.longest <= 1432, True)
    check("errors", x.errors(), 0)
    check("status", (x.stop(), x.said()), (0, ""))
    server.close()


SHIM = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* While the file "refuse" is there, a datagram that has "victim" in it cannot be sent. */
ssize_t send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	if (memmem(data, len, "victim", 6) && access("refuse", F_OK) == 0) { errno = ENOBUFS; return -1; }
	return real(fd, data, len, flags);
}
'''


def statsd_part():
    """Some datagrams of each push cannot be sent: only their increments come again."""
    if os.environ.get("SANITIZED"):
        return
    open("shim.c", "w").write(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"], check=True)
    port = free_port(socket.SOCK_DGRAM)
    server = Statsd(port)
    open("refuse", "w").close()
    pad = "p" * 200
    script("part.d", "syscall::getppid:entry /execname == ME/ { " + "".join(
        f'@n["{"victim" if i % 8 == 0 else "good"}{i}{pad}"] = count(); ' for i in range(40)) + "@h = quantize(1); }")
    x = Exporter("--statsd", f"127.0.0.1:{port}", "-i", "0.05", "part.d", env={"LD_PRELOAD": os.path.abspath("shim.so")})
    n = 0
    for i in range(5):
        calls(10)
        n += 10
        errors = x.errors()
        until("pushes", lambda: x.errors() >= errors + 3, True)
    counts = server.read()
    good = {k: v for k, v in counts.items() if "good" in k}
    check("what arrives is counted once", set(good.values()) <= {n}, True)
    check("what cannot be sent does not arrive", [k for k in counts if "victim" in k], [])
    check("most arrive", len(good) >= 10, True)
    os.remove("refuse")
    until("then all", lambda: (len([k for k in server.read() if pad in k]), {v for k, v in server.counters.items()}), (40, {n}))
    check("it says so once", x.said().count("takes no metrics: No buffer space available; increments come with a later datagram"), 1)
    check("status", x.stop(), 0)
    server.close()


def statsd_gone(host="127.0.0.1"):
    """A server that comes and goes: nothing counts twice, and what nobody has received comes when it is back."""
    port = free_port(socket.SOCK_DGRAM, host)
    counters, n = {}, 0
    script("gone.d", "syscall::getppid:entry /execname == ME/ { " + "".join(f'@n["{"k" * 150}{i}"] = count(); ' for i in range(30)) + "}")
    x = Exporter("--statsd", f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "-i", "0.05", "gone.d")
    for _ in range(6):
        errors = x.errors()
        calls(10)
        n += 10
        until("pushes fail", lambda: x.errors() > errors, True)
        server = Statsd(port, counters, host)
        until("all of it arrives, once", lambda: (len(server.read()), set(counters.values())), (30, {n}))
        server.close()
    check("it says each time that nobody listens", x.said().count("takes no metrics: Connection refused") >= 1, True)
    check("status", x.stop(), 0)


class Collector(threading.Thread):
    """Accepts requests of OTLP, and answers each with a text; None: it never does. Counts requests."""
    def __init__(self, answer):
        super().__init__(daemon=True)
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port, self.answer, self.bodies, self.open = self.sock.getsockname()[1], answer, [], []
        self.start()

    def run(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        f = c.makefile("rb")
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = f.readline()
                if not line:
                    return c.close()
                head += line
            body = f.read(int(re.search(rb"(?i)content-length: (\d+)", head).group(1)))
            self.bodies.append(json.loads(body))
            if self.answer is None:
                self.open.append(c)
                return f.read()  # until the other side ends it
            c.sendall(self.answer)

    def metric(self, name):
        return [m for m in self.bodies[-1]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if m["name"] == name][0]


def answer(status, body):
    return f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def is_open(c):
    return c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1  # ESTABLISHED


def otlp_hangs():
    """A collector that never answers: scrapes are answered while the request waits, and the exporter ends."""
    collector = Collector(None)
    script("hangs.d", "syscall::getppid:entry /execname == ME/ { @n = count(); }")
    x = Exporter("--otlp", f"http://127.0.0.1:{collector.port}", "-i", "0.05", "hangs.d")
    until("a request", lambda: len(collector.open), 1)
    n = 0
    for i in range(20):
        calls(5)
        n += 5
        check("a scrape while a request waits", x.family("dtrace_hangs_n_total"), {(): str(n)})
        if i == 0:
            check("the request still waits", is_open(collector.open[0]), True)
    until("it says so", lambda: "takes no metrics: Timeout was reached" in x.said(), True)
    until("another request", lambda: len(collector.open) >= 2, True)
    began = time.monotonic()
    check("status", x.stop(), 0)
    took = time.monotonic() - began
    check(f"it ends soon, not after the time of a request (5 s): {took:.1f} s", took < 4 * int(os.environ.get("PATIENCE", "1")), True)
    check("with a last request", collector.bodies[-1] is not None and collector.metric("dtrace_hangs_n")["sum"]["dataPoints"][0]["asInt"], str(n))


def otlp_refuses():
    """Answers that are no success, and one that takes only a part: each is counted and said, and the next request has it all."""
    script("otlp.d", r'''/* @metric gauge type=gauge */ BEGIN { @big = sum(9007199254740993); @gauge = sum(-9007199254740993); @mean = avg(9007199254740993); @odd["a\001\r\n\"\\b"] = count(); }''')
    collector = Collector(answer("500 Internal Server Error", "{}"))
    x = Exporter("--otlp", f"http://127.0.0.1:{collector.port}", "-i", "0.05", "otlp.d")
    until("several fail", lambda: x.errors() >= 3, True)
    collector.answer = answer("200 OK", '{"partialSuccess":{}}')
    def stays():
        before, requests = x.errors(), len(collector.bodies)
        until("requests", lambda: len(collector.bodies) >= requests + 3, True)
        return x.errors() == before
    until("success", stays, True)
    point = lambda name, kind: collector.metric(name)[kind]["dataPoints"][0]
    check("a sum", point("dtrace_otlp_big", "sum")["asInt"], "9007199254740993")
    check("a gauge", point("dtrace_otlp_gauge", "gauge")["asInt"], "-9007199254740993")
    check("a summary", point("dtrace_otlp_mean", "summary")["sum"], 9007199254740993)
    check("an attribute", point("dtrace_otlp_odd", "sum")["attributes"][0]["value"]["stringValue"], 'a\x01\r\n"\\b')
    collector.answer = answer("200 OK", '{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "no"}}')
    errors = x.errors()
    until("a part is refused", lambda: x.errors() > errors, True)
    check("it says each once", [x.said().count(t) for t in ("takes no metrics: HTTP status 500;", "takes no metrics: it refuses 3 data points;")], [1, 1])
    check("status", x.stop(), 0)
    # a series that was forgotten and comes again has another start: receivers see that it began at zero
    script("starts.d", "syscall::getppid:entry /execname == ME/ { @n = count(); }")
    collector = Collector(answer("200 OK", "{}"))
    x = Exporter("-e", "0.3", "--otlp", f"http://127.0.0.1:{collector.port}", "-i", "0.05", "starts.d")
    def now():
        try:
            p = point("dtrace_starts_n", "sum")
            return int(p["asInt"]), int(p["startTimeUnixNano"])
        except IndexError:
            return 0, 0
    calls(5)
    until("five", lambda: now()[0], 5)
    first = now()[1]
    until("forgotten", lambda: now()[0], 0)
    calls(2)
    until("two", lambda: now()[0], 2)
    check("it starts later", now()[1] > first, True)
    check("status", x.stop(), 0)


def ganglia():
    """Names that gmond would write into XML, and gmetad into a path; what one message can hold."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(60)
    script("gm.d", r'''BEGIN { @big = sum(9007199254740993); @odd["../../a\"/><x&\001"] = sum(2); @long[S4] = sum(3); }'''.replace("S4", '"' + "z" * 200 + '", "' + "y" * 200 + '"'))
    x = Exporter("--ganglia", f"127.0.0.1:{sock.getsockname()[1]}", "-i", "0.05", "gm.d")
    seen, longest = {}, 0
    while len(seen) < 3:
        data = sock.recv(65536)
        longest = max(longest, len(data))
        if struct.unpack(">I", data[:4])[0] != 133:
            continue
        texts, at = [], 4
        for i in range(5):
            size = struct.unpack(">I", data[at:at + 4])[0]
            at += 4
            if i == 2:  # whether the host is another one
                continue
            texts.append(data[at:at + size].decode())
            at += size + -size % 4
        seen[texts[1]] = texts[3]
    check("values", {k[:20]: v for k, v in seen.items()}, {"dtrace_gm_big": "9007199254740993", "dtrace_gm_odd..._.._": "2", "dtrace_gm_long.zzzzz": "3"})
    check("names", [k for k in seen if re.search(r"[/\"<>&\x00-\x1f]", k) or len(k) > 320], [])
    check("messages fit", longest <= 1472, True)
    check("status", x.stop(), 0)


def has_ipv6():
    try:
        free_port(socket.SOCK_DGRAM, "::1")
        return True
    except OSError:
        return False


begin()
for test in (statsd_large, statsd_part, statsd_gone, otlp_hangs, otlp_refuses, ganglia):
    test()
if has_ipv6():
    statsd_gone("::1")
end()
