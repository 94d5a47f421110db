#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the Debian packages, installs them in a root of their own, and does there what users do.

    tests/installed/run.py [--packages DIR] [--only SUBSTRING]... [--jobs N] [--patience N] [--verbose]
    tests/installed/run.py --build         makes the packages only

The packages are built from a copy of the files of the tree, in build-deb, without their own tests; --packages takes those of DIR. The root (root.py) is this
system with the packages on top, in a mount namespace: every interpreter and compiler of the machine is there, neither the tree nor a build folder is, and the
environment has PATH alone. Nothing of it stays. Needs root.

Prints a line a test, as TAP does, and last 'N passed, N failed, N skipped'. What fails is run once more, alone, as in tests/run.py. A runtime that this machine lacks is a test that is skipped, with the package's name.

build.py     the packages
root.py      the root
inside.py    installs the packages there and runs the tests; suite.py has what these share
    files.py     what is installed: the library, examples, pages, completion; first look
    stacks.py    stacks of each runtime
    probes.py    each family of providers
    outputs.py   pictures, JSON
    programs.py  probes of programs: -h and -G, libusdt, modules of languages; consumers: C, Python, Node.js
    metrics.py   fathom-metrics, with the capabilities that its unit has
    ready.py     the commands
    debugger.py  mdb and dtrace --core: a process and its core file, of each language and of C
    crash.py     fathom-crash
    memory.py    memprof
    privileges.py  a user with levels
data/        programs that are traced
"""
import argparse, os, signal, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


def needs():
    """What the machine lacks for any of this; None: nothing."""
    if os.geteuid():
        return "it needs root"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    return f"no mount namespaces: {probe.stderr.strip()}" if probe.returncode else None


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--packages")
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--jobs", type=int, default=min(os.cpu_count() or 2, 4))
    ap.add_argument("--patience", type=int, default=1)
    ap.add_argument("--verbose", action="store_true")
    ap.add_argument("--build", action="store_true")
    opts = ap.parse_args()
    lack = needs()
    if not lack and not opts.packages:
        lack = build.lack()
    if lack:
        print(f"ok 1 installed # SKIP {lack}\n0 passed, 0 failed, 1 skipped")
        return 0
    packages, missing = os.path.abspath(opts.packages or os.path.join(TREE, "build-deb")), []
    if not opts.packages:
        why, missing = build.packages_build(TREE, packages)
        if why:
            print(f"not ok 1 the packages are built\n{why}\n0 passed, 1 failed, 0 skipped")
            return 1
    if opts.build:
        return 0
    with tempfile.TemporaryDirectory(prefix="fathom-installed.", dir="/var/tmp") as base:
        p = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "/usr/bin/python3", f"{HERE}/root.py", TREE, packages, base,
                              "--jobs", str(opts.jobs), "--patience", str(opts.patience), "--missing", " ".join(missing)]
                             + ["--verbose"] * opts.verbose + [a for o in opts.only for a in ("--only", o)], stdin=subprocess.DEVNULL)
        signal.signal(signal.SIGTERM, lambda *_: p.terminate())
        return p.wait()


if __name__ == "__main__":
    sys.exit(main())
