# SPDX-License-Identifier: MIT
"""In the root that root.py has made: installs the packages, runs the tests, removes the packages.

    inside.py [--only SUBSTRING]... [--jobs N] [--patience N] [--missing PACKAGES] [--verbose]
"""
import argparse, concurrent.futures, os, re, signal, subprocess, sys, time

import suite
from slots import Slots
from suite import ENV, PACKAGES, Failed, Skip, test

RETRY_MAX, UNSTEADY_MAX = 20, 3  # as in tests/run.py
CORE = ("libdtrace1", "libusdt0", "fathom", "fathom-metrics", "libdtrace-dev", "libusdt-dev")


def files_of_packages():
    """Paths below /etc and /usr that look like ours, whoever has put them there."""
    p = subprocess.run(["find", "/etc", "/usr", "(", "-name", "*dtrace*", "-o", "-name", "*usdt*", "-o", "-name", "*fathom*", ")"], capture_output=True, text=True, check=True)
    return set(p.stdout.splitlines())


def old_files_remove():
    """A file of another installation would hide that the packages lack it."""
    for deb in os.listdir(PACKAGES):
        p = subprocess.run(["dpkg-deb", "--fsys-tarfile", f"{PACKAGES}/{deb}"], capture_output=True, check=True)
        names = subprocess.run(["tar", "-t"], input=p.stdout, capture_output=True, check=True).stdout.decode().splitlines()
        for name in names:
            path = f"/{name.removeprefix('./')}"
            if os.path.isfile(path) or os.path.islink(path):
                os.unlink(path)
    subprocess.run(["rm", "-rf", "/usr/lib/dtrace", "/usr/lib/fathom", "/usr/share/doc/fathom"], check=True)


def dpkg(*args):
    return subprocess.run(["dpkg", "--force-unsafe-io", *args], env=ENV | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


def install(names):
    """Of packages: installs those of the core together, then each other one. Returns name -> None, a Skip, or a Failed."""
    result = {}
    if os.path.exists("/var/lib/man-db/auto-update"):
        os.unlink("/var/lib/man-db/auto-update")  # an index of manual pages takes long and is not looked at
    if set(CORE) <= set(names) and dpkg("-i", *names.values()).returncode == 0:
        return dict.fromkeys(names)
    # one by one, which tells what is missing
    p = dpkg("-i", *(names[n] for n in CORE if n in names))
    for name in CORE:
        result[name] = Failed(f"there is no package {name}") if name not in names else Failed(p.stdout + p.stderr) if p.returncode else None
    for name in sorted(set(names) - set(CORE)):
        p = dpkg("-i", names[name])
        unmet = re.search(rf"{name} depends on (\S+.*?); however", p.stderr)
        result[name] = None if p.returncode == 0 else Skip(f"needs the package {unmet[1]}") if unmet else Failed(p.stdout + p.stderr)
        if p.returncode:
            dpkg("--purge", "--force-depends", name)
    return result


def declare_installation(result):
    for name, what in result.items():
        @test(f"package/{name}")
        def installed(what=what):
            if what:
                raise what
    if suite.MISSING:
        @test("package/those of languages")
        def not_built():
            raise Skip(f"they are not built without the packages {' '.join(suite.MISSING)}")


def one(test_):
    begin, failure, skipped = time.monotonic(), None, None
    try:
        test_[1]()
    except Skip as e:
        skipped = str(e)
    except Failed as e:
        failure = str(e)
    except Exception as e:  # a broken test is a failure, not the end of the run
        failure = f"{type(e).__name__}: {e}"
    return test_[0], time.monotonic() - begin, failure, skipped


def removal(before, names):
    def check():
        p = dpkg("--purge", *names)
        if p.returncode:
            raise Failed(p.stdout + p.stderr)
        left = files_of_packages() - before
        if left:
            raise Failed("these stay:\n" + "\n".join(sorted(left)))
    return "package/all are removed, and nothing of them stays", check


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--patience", type=int, default=1)
    ap.add_argument("--missing", default="")
    ap.add_argument("--verbose", action="store_true")
    opts = ap.parse_args()
    suite.PATIENCE = opts.patience
    signal.signal(signal.SIGTERM, suite.end_tests)
    suite.MISSING += opts.missing.split()
    old_files_remove()
    before = files_of_packages()
    names = {deb.split("_")[0]: f"{PACKAGES}/{deb}" for deb in sorted(os.listdir(PACKAGES))}
    result = install(names)
    declare_installation(result)
    import files, stacks, probes, outputs, programs, metrics, ready, debugger, crash, privileges, memory  # noqa: E401,F401  they declare their tests
    tests = [t for t in suite.TESTS if not opts.only or any(o in t[0] for o in opts.only)]
    total, number, failed = [0, 0, 0], 0, []

    def count(name, seconds, failure, skipped):
        nonlocal number
        number += 1
        total[1 if failure else 2 if skipped else 0] += 1
        suite.report(number, name, seconds, failure, skipped, opts.verbose)

    most = opts.jobs * 2 if opts.patience == 1 else opts.jobs
    slots = Slots(opts.jobs, most)

    def one_of_several(test_):
        with slots:
            return one(test_)

    with concurrent.futures.ThreadPoolExecutor(most) as pool:
        for test_, r in zip(tests, pool.map(one_of_several, tests)):
            if r[2] and len(failed) < RETRY_MAX:
                print(f"# {r[0]} fails, and is run once more, alone\n" + re.sub("^", "#   ", r[2], flags=re.M), flush=True)
                failed.append(test_)
            else:
                count(*r)
    unsteady = []
    for test_ in failed:
        again = one(test_)
        count(*again)
        unsteady += [again[0]] * (not again[2])
    if not opts.only:
        count(*one(removal(before, [n for n in result if result[n] is None])))
    for name in unsteady:
        print(f"unsteady: {name}")
    if len(unsteady) > UNSTEADY_MAX:
        print(f"more than {UNSTEADY_MAX} tests are unsteady: the run has failed")
        total[1] += 1
    print(f"1..{number}\n{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


sys.exit(main())
