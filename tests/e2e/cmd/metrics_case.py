# SPDX-License-Identifier: MIT
"""What the tests of fathom-metrics share (metrics_exact.py, metrics_push.py, metrics_input.py): an exporter and its samples."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

EXPORTER = os.environ["BUILD"] + "/src/cmd/metrics/fathom-metrics"
TRIGGER = os.environ["TRIGGER"]
ME = f"mcase{os.getpid()}"  # the workload's name: other tests run the same program
bad = []


def begin():
    """Skips the test if there is no exporter; works in the test's folder, with the workload under its own name."""
    if not os.access(EXPORTER, os.X_OK):
        print("not built: it needs the packages libmicrohttpd-dev and libcurl4-openssl-dev")
        sys.exit(67)
    os.chdir(os.environ["TMP"])
    shutil.copy(TRIGGER + "/calls", ME)


def end():
    print("\n".join(bad), end="\n" if bad else "")
    sys.exit(bool(bad))


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")


def until(what, func, want, seconds=60):
    """Waits until func() gives what is wanted."""
    limit, got = time.monotonic() + seconds * int(os.environ.get("PATIENCE", "1")), None
    while time.monotonic() < limit:
        try:
            got = func()
        except (OSError, KeyError, IndexError, ValueError) as e:
            got = repr(e)
        if got == want:
            return True
        time.sleep(0.05)
    check(what, got, want)
    return False


def calls(n, call="getppid"):
    subprocess.run(["./" + ME, call, str(n)], check=True)


def free_port(kind=socket.SOCK_STREAM, host="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as s:
        s.bind((host, 0))
        return s.getsockname()[1]


def script(name, text):
    with open(name, "w", encoding="latin-1") as f:
        f.write(text.replace("ME", f'"{ME}"'))
    return name


def unescape(value):
    return re.sub(r"\\(.)", lambda e: {"n": "\n"}.get(e.group(1), e.group(1)), value)


def samples(text):
    """The samples of Prometheus's text format by name and labels; values stay texts, because a number may not hold them."""
    found = {}
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        m = re.fullmatch(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)', line, re.S)
        if not m:
            bad.append(f"no sample: {line!r}")
            continue
        labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2) or "", re.S)
        key = (m.group(1), tuple((k, unescape(v)) for k, v in labels))
        check(f"one sample {key}", key in found, False)
        check(f"labels of {key} once each", len({k for k, v in labels}), len(labels))
        found[key] = m.group(3)
    return found


class Exporter:
    def __init__(self, *argv, host="127.0.0.1", env=None):
        self.port = free_port(host=host)
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        self.err = open(f"err{self.port}", "w+")
        self.p = subprocess.Popen([EXPORTER, "-l", self.address, *argv], stdout=subprocess.DEVNULL, stderr=self.err,
                                  env=dict(os.environ, **(env or {})))
        if not until("the exporter starts", lambda: self.p.poll() or self.get("/-/healthy"), "OK\n"):
            bad.append(self.said())
            end()

    def get(self, path="/metrics"):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as r:
            return r.read().decode()

    def scrape(self):
        return samples(self.get())

    def family(self, name):
        """The values of a metric by the texts of its labels."""
        return {tuple(v for _, v in labels): value for (n, labels), value in self.scrape().items() if n == name}

    def errors(self):
        return int(self.family("fathom_push_errors_total")[()])

    def said(self):
        self.err.seek(0)
        return self.err.read()

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        status = self.p.wait(120)
        return status
