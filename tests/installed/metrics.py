# SPDX-License-Identifier: MIT
"""fathom-metrics, as its systemd unit starts it: with the capabilities that the unit leaves, and no others."""
import glob, os, re, shutil, socket, subprocess, time, urllib.request

from suite import DATA, ENV, Failed, expect, folder, limit, run, test

UNIT = "fathom-metrics.service"


def unit():
    """The settings of the section [Service] of the installed unit."""
    path = next(p for p in (f"/lib/systemd/system/{UNIT}", f"/usr/lib/systemd/system/{UNIT}") if os.path.exists(p))
    with open(path, encoding="utf-8") as f:
        section = re.search(r"^\[Service\]\n(.*?)(?=^\[|\Z)", f.read(), re.M | re.S)[1]
    return dict(line.split("=", 1) for line in section.splitlines() if "=" in line and not line.startswith("#"))


def confined(settings, argv):
    """The command under the settings that limit what it may do. A capability that this machine gives to nobody cannot be given to it, either."""
    numbers = {name: n for n, name in enumerate(run(["setpriv", "--list-caps"])[1].split())}
    wanted = {c.lower().removeprefix("cap_") for c in settings["CapabilityBoundingSet"].split()}
    if wanted - set(numbers):
        raise Failed(f"the unit names capabilities that do not exist: {wanted - set(numbers)}")
    with open("/proc/self/status", encoding="utf-8") as f:
        bound = int(re.search(r"CapBnd:\s*(\w+)", f.read())[1], 16)
    given = [c for c in sorted(wanted) if bound >> numbers[c] & 1]
    command = ["setpriv", "--bounding-set=" + ",".join(["-all"] + [f"+{c}" for c in given]), "--inh-caps=-all"]
    command += ["--no-new-privs"] * (settings.get("NoNewPrivileges") == "yes")
    return [*command, *argv]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def rows(url, name):
    """Labels and value of each series of the metric, as Prometheus scrapes them; none while the server does not answer yet."""
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as r:
            text = r.read().decode()
    except OSError:
        return []
    return [(m[1], float(m[2])) for m in re.finditer(rf"^{name}\{{(.*)\}} (\S+)$", text, re.M)]


@test("metrics/with the capabilities of its unit")
def capabilities():
    settings = unit()
    command = [w for w in settings["ExecStart"].split() if not w.startswith("$")]
    os.makedirs("/etc/fathom/metrics.d", exist_ok=True)
    shutil.copy(f"{DATA}/kernel_metrics.d", "/etc/fathom/metrics.d/kernel.d")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with folder() as tmp:
        err = open(f"{tmp}/err", "w+", encoding="utf-8")
        exporter = subprocess.Popen(confined(settings, [*command, "--listen", f"127.0.0.1:{port}"]), env=ENV, cwd=tmp, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        work = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
        try:
            end, kernel, calls = time.monotonic() + limit(), [], []
            while time.monotonic() < end and exporter.poll() is None and not (kernel and calls):
                subprocess.run(["/usr/bin/python3", "-c", "import os; [os.getppid() for i in range(100)]"], check=True)
                kernel, calls = rows(url, "kernel_samples_total"), rows(url, "parents_total")
        finally:
            work.kill()
            work.wait()
            exporter.terminate()
            exporter.wait()
        err.seek(0)
        said = err.read()
    os.unlink("/etc/fathom/metrics.d/kernel.d")
    if not kernel or not calls:
        raise Failed(f"no such metrics: {kernel} {calls}\n{said}")
    bare = [label for label, _ in kernel if not re.search(r"vmlinux`[a-zA-Z_]", label)]
    if bare:
        raise Failed("frames of the kernel have no names:\n" + "\n".join(bare[:10]) + f"\n{said}")


@test("metrics/the examples of scripts")
def examples():
    scripts = sorted(glob.glob("/usr/share/doc/fathom-metrics/examples/metrics.d/*.d"))
    if not scripts:
        raise Failed("there are none")
    out = run(["/usr/sbin/fathom-metrics", "--once", "1", *scripts])[1]
    expect(out, r"^# TYPE system_calls_total counter$", r'^system_calls_total\{call="\w+"\} \d+$')
