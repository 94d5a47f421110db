#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the root in which packages are tested, and runs inside.py there. In a mount namespace of its own, which ends with the tests.

    root.py TREE PACKAGES BASE ARGUMENTS...

The root is an overlay of this system's: what is written there is in memory. The tree, the folder of the packages, and whatever else is in /tmp, /var/tmp and
/run is not to be seen. What the tests need of the tree is copied to /tmp/suite before.
"""
import os, shutil, subprocess, sys

VIRTUAL = ("/proc", "/sys", "/dev")
EMPTY = ("/tmp", "/var/tmp", "/run")
# what of tests/e2e knows workloads and what commands print about them
SHARED = ("tests/e2e/cmd/commands.py", "tests/e2e/cmd/examples.py", "tests/e2e/trigger/calls.c", "tests/e2e/trigger/work.c", "tests/e2e/trigger/chain.c",
          "tests/e2e/trigger/locks.c", "tests/e2e/trigger/met.c")


def mount(*args):
    p = subprocess.run(["mount", *args], capture_output=True, text=True)
    if p.returncode:
        raise OSError(f"mount {' '.join(args)}: {p.stderr.strip()}")


def is_below(path, *tops):
    return any(path == t or path.startswith(t + "/") for t in tops)


def other_mounts(base):
    """Where file systems besides the root's are mounted that have files of the system."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        points = {line.split()[4].encode().decode("unicode_escape") for line in f}
    return sorted(p for p in points if p != "/" and not is_below(p, *VIRTUAL, *EMPTY, base))


def overlay(base, number, lower, where):
    upper, work = f"{base}/{number}/upper", f"{base}/{number}/work"
    os.makedirs(upper)
    os.makedirs(work)
    shutil.copymode(lower, upper)
    mount("-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", where)


def root_make(base):
    root = f"{base}/root"
    mount("-t", "tmpfs", "tmpfs", base)
    os.mkdir(root)
    overlay(base, 0, "/", root)
    for number, point in enumerate(other_mounts(base), 1):
        if os.path.isdir(point):
            overlay(base, number, point, root + point)
        else:  # such as the /etc/resolv.conf of a container
            mount("--bind", point, root + point)
    for point in VIRTUAL:
        mount("--rbind", point, root + point)
    for point in EMPTY:
        mount("-t", "tmpfs", "-o", f"mode={'755' if point == '/run' else '1777'}", "tmpfs", root + point)
    return root


def suite_copy(root, tree, packages):
    suite = f"{root}/tmp/suite"
    shutil.copytree(f"{tree}/tests/installed", suite, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(f"{tree}/tests/slots.py", suite)
    os.mkdir(f"{suite}/shared")
    for path in SHARED:
        shutil.copy(f"{tree}/{path}", f"{suite}/shared")
    os.mkdir(f"{suite}/packages")
    for name in os.listdir(packages):
        if name.endswith(".deb"):
            shutil.copy(f"{packages}/{name}", f"{suite}/packages")
    # what is to be installed, and a program that uses the library
    for folder in ("commands", "dlib", "doc", "examples"):
        shutil.copytree(f"{tree}/{folder}", f"{suite}/wanted/{folder}")


def tree_hide(root, *folders):
    for folder in folders:
        if os.path.isdir(root + folder):
            mount("-t", "tmpfs", "-o", "ro", "tmpfs", root + folder)


def main():
    tree, packages, base, *args = sys.argv[1:]
    try:
        root = root_make(base)
    except OSError as e:
        print(f"ok 1 installed # SKIP {e}\n0 passed, 0 failed, 1 skipped")
        return 0
    suite_copy(root, tree, packages)
    tree_hide(root, tree, packages)
    os.mkdir(f"{root}/tmp/was")
    os.chdir(root)
    subprocess.run(["pivot_root", ".", "tmp/was"], check=True)
    os.chdir("/tmp/suite")
    subprocess.run(["umount", "--lazy", "/tmp/was"], check=True)
    os.rmdir("/tmp/was")
    sys.stdout.flush()
    os.execve("/usr/bin/python3", ["python3", "/tmp/suite/inside.py", *args], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


sys.exit(main())
