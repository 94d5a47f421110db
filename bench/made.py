#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes that programs make at run time: what they cost while nobody traces them, and how fast a log is snooped.

    sudo bench/made.py [--build build] [--runs 3] [--only NAME] [--json bench/made.json]

Not traced: ns of a call, beside an empty function call in the same process; each 21 times in turn, the shortest counts. V8 leaves
a call out that does nothing when it may inline it, so Node.js runs with and without that.
Snooping: 'bunyan -p' runs the dtrace command of the row; records of 1 kB. What is lost is what dtrace has not written.
"""
import argparse, json, os, platform, shutil, statistics, subprocess, sys, tempfile

from pairs import ROOT

CALLS, HITS, RECORDS, RATE = 2_000_000, 300_000, 200_000, 50_000
SNOOP = 'bunyan%d:::log-*{printf("%%s", copyinstr(arg0))}'


def build(folder):
    lib = f"{ROOT}/lib/usdt"
    sources = [f"{lib}/{f}" for f in os.listdir(lib) if f.endswith(".c")]
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", f"-I{lib}", f"{ROOT}/bench/made.c", *sources, "-o", f"{folder}/made", "-pthread"], check=True)
    if not shutil.which("node"):
        return f"{folder}/made", None
    shutil.copytree(f"{ROOT}/modules/node", f"{folder}/node/modules/node", ignore=shutil.ignore_patterns("build", "libusdt"))
    shutil.copytree(lib, f"{folder}/node/lib/usdt")
    r = subprocess.run(["node", f"{folder}/node/modules/node/build.js"], env=dict(os.environ, NODE_DTRACE_PROVIDER_REQUIRE="hard"))
    return f"{folder}/made", None if r.returncode else f"{folder}/node/modules/node"


def copies(folder, name):
    """A module and libusdt as they lie in the tree; the module's folder."""
    module = f"{folder}/{name}/modules/{name}"
    shutil.copytree(f"{ROOT}/modules/{name}", module)
    shutil.copytree(f"{ROOT}/lib/usdt", f"{folder}/{name}/lib/usdt")
    return module


# Language: commands in the copy of its module, $out is a folder; the program that calls; what is called.
LANGUAGES = {
    "Python": (["/usr/bin/python3 -m pip install -q --no-build-isolation --no-deps --target $out ."],
               "PYTHONPATH=$out /usr/bin/python3 calls.py", ["fire()", "is_enabled()"]),
    "Ruby": (["gem build -q usdt.gemspec -o usdt.gem", "GEM_HOME=$out gem install -q --local --no-document usdt.gem"],
             "GEM_HOME=$out ruby calls.rb", ["fire", "enabled?"]),
    "Perl": (["perl Makefile.PL INSTALL_BASE=$out", "make -s install"], "PERL5LIB=$out/lib/perl5 perl calls.pl", ["fire", "is_enabled"]),
    "Lua": (["make -s install DESTDIR=$out INST_LIBDIR="], "LUA_CPATH=$out/?.so lua5.4 calls.lua", ["fire", "is_enabled"]),
    "PHP": (["phpize", "./configure", "make", "cp modules/usdt.so $out"], "php -d extension=$out/usdt.so calls.php", ["fire()", "isEnabled()"]),
}


def language_build(folder, language):
    """The command that measures calls in a language; None where the language or its headers are missing."""
    commands, program, _ = LANGUAGES[language]
    module, out = copies(folder, language.lower()), f"{folder}/{language.lower()}/out"
    os.mkdir(out)
    for command in commands:
        r = subprocess.run(["sh", "-c", command.replace("$out", out)], cwd=module, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if r.returncode:
            return None
    script = program.split()[-1]
    return ["sh", "-c", program.replace("$out", out).replace(script, f"{ROOT}/bench/calls/{script} {CALLS}")]


def traced(program, command, out):
    """Runs a program that waits for its tracer; returns what it prints, and what the tracer has reported."""
    p = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "READY\n":
        sys.exit(f"{program} does not start")
    with open(out, "wb") as f:
        t = subprocess.Popen(command(p.pid), stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.PIPE, text=True)
        line = p.stdout.readline()
        p.wait()
        t.send_signal(2)
        err = t.communicate()[1]
    return [float(w) for w in line.split()], err


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--only", default="")
    ap.add_argument("--json", default=os.path.join(ROOT, "bench/made.json"))
    opts = ap.parse_args()
    dt = os.path.join(os.path.abspath(opts.build), "src/cmd/dtrace/dtrace")
    raw = {}

    def row(name, values, unit, target):
        raw[name] = {"unit": unit, "values": values}
        print(f"{name:<58} {statistics.median(values):12.3f} {unit:>9}   {target}", flush=True)

    def call_rows(title, argv, names, target):
        if opts.only not in f"not traced: {title}":
            return
        runs = [[float(w) for w in subprocess.check_output(argv, text=True).split()] for _ in range(opts.runs)]
        row(f"not traced: {title}: empty function call", [r[0] for r in runs], "ns", "")
        for i, name in enumerate(names, 1):
            row(f"not traced: {title}: {name}", [r[i] for r in runs], "ns", "")
            row(f"not traced: {title}: {name} / empty call", [r[i] / r[0] for r in runs], "ratio", target)

    def snoop(pid):
        return [dt, "-Z", "-x", "strsize=4k", "-x", "switchrate=10hz", "-qn", SNOOP % pid]

    def snoop_rows(title, argv, n, target, target_lost):
        if opts.only not in f"snooping: {title}":
            return
        rates, lost, late = [], [], []
        for _ in range(opts.runs):
            got, _err = traced(argv, snoop, f"{tmp}/out")
            written = sum(line == b"x" * 1023 + b"\n" for line in open(f"{tmp}/out", "rb"))
            rates.append(got[0])
            lost.append(n - written)
            late += got[1:]
        row(f"snooping: {title}: records of 1 kB", rates, "a second", target)
        row(f"snooping: {title}: lost of {n}", lost, "records", target_lost)
        if late:
            row(f"snooping: {title}: the program was delayed by up to", late, "ms", "")

    with tempfile.TemporaryDirectory() as tmp:
        made, module = build(tmp)
        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {opts.runs} runs, medians")
        call_rows("C", [made, "calls", str(CALLS)], ["usdt_is_enabled()", "usdt_fire_probe()"], "<= 1.5")
        if module:
            js = [f"{ROOT}/bench/made.js", module, "calls", str(CALLS)]
            names = ["probe.fire()", "provider.fire()"]
            call_rows("Node, calls", ["node", "--max-inlined-bytecode-size=0", *js], names, "<= 1.5")
            call_rows("Node, inlined", ["node", *js], names, "(nothing is called)")
        for language, (_, _, names) in LANGUAGES.items():
            argv = language_build(tmp, language) if opts.only in f"not traced: {language}" else None
            if argv:
                call_rows(language, argv, names, "<= 1.5")
        if opts.only in "traced: two arguments, count()":
            count = lambda pid: [dt, "-qn", f"bunyan{pid}:::log-info {{ @ = count(); }}"]
            row("traced: two arguments, count()", [traced([made, "hits", str(HITS)], count, os.devnull)[0][0] for _ in range(opts.runs)], "ns", "")
        snoop_rows(f"C, {RATE} a second", [made, "records", str(RECORDS), str(RATE)], RECORDS, ">= 50000", "0")
        if module:
            snoop_rows("Node, as fast as it can", ["node", f"{ROOT}/bench/made.js", module, "records", str(RECORDS)], RECORDS, "", "")
    with open(opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "runs": opts.runs, "raw": raw}, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
