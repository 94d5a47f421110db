# SPDX-License-Identifier: MIT
"""Builds the Debian packages from a copy of the tree that has its files only, and nothing that a build has left."""
import contextlib, fcntl, hashlib, os, re, shutil, subprocess

NO_LANGUAGES = "pkg.fathom.nolanguages"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def lack():
    """What this machine lacks to build any package; None: nothing."""
    for program, package in (("dpkg-buildpackage", "dpkg-dev"), ("dh", "debhelper"), ("git", "git")):
        if not shutil.which(program):
            return f"no {program} (package {package})"
    return None


def tree_files(tree):
    """The files that git knows, or would add; a clone may belong to somebody else."""
    names = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=tree,
                           capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(n for n in set(names) if n and os.path.lexists(os.path.join(tree, n)))


def digest(tree, names):
    """Of what packages are made of: those whose own tests are not run need no tests."""
    h = hashlib.sha256()
    for name in names:
        if not name.startswith(("tests/", "bench/")):
            with open(os.path.join(tree, name), "rb") as f:
                h.update(f"{name} {os.stat(f.fileno()).st_mode & 0o111}\0".encode() + f.read() + b"\0")
    return h.hexdigest()


def unmet(source, profile=()):
    p = subprocess.run(["dpkg-checkbuilddeps", *profile, f"{source}/debian/control"], env={"PATH": PATH, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True)
    return re.sub(r".*Unmet build dependencies: ", "", p.stderr.strip()) if p.returncode else ""


@contextlib.contextmanager
def one_builder(tree):
    """Waits until nobody else builds packages of the tree."""
    lock = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def packages_build(tree, folder):
    """Leaves the packages in the folder. Returns why they could not be built, or None; and what is missing to build those of languages."""
    with one_builder(tree):
        return packages_build_alone(tree, folder)


def packages_build_alone(tree, folder):
    names = tree_files(tree)
    source, log = f"{folder}/source", f"{folder}/log"
    languages = unmet(tree)
    profile = [f"-P{NO_LANGUAGES}"] if languages else []
    missing = languages.split() if languages else []
    if languages and unmet(tree, profile):
        return f"  build dependencies are missing: {unmet(tree, profile)}", missing
    made = f"{digest(tree, names)} {profile}\n"
    try:
        with open(f"{folder}/made", encoding="utf-8") as f:
            if f.read() == made:
                return None, missing
    except OSError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    for name in names:
        os.makedirs(os.path.dirname(f"{source}/{name}"), exist_ok=True)
        shutil.copy2(f"{tree}/{name}", f"{source}/{name}", follow_symlinks=False)
    env = {k: v for k, v in os.environ.items() if k.startswith("CCACHE_") or k == "HOME"}
    env |= {"PATH": PATH, "LC_ALL": "C.UTF-8", "DEB_BUILD_OPTIONS": f"nocheck noautodbgsym parallel={os.cpu_count() or 2}"}
    with open(log, "w", encoding="utf-8") as f:
        code = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b", *profile], cwd=source, env=env, stdin=subprocess.DEVNULL, stdout=f, stderr=f).returncode
    shutil.rmtree(source, ignore_errors=True) if code == 0 else None
    if code:
        with open(log, encoding="utf-8", errors="replace") as f:
            return "".join(f"  {line}" for line in f.readlines()[-40:]), missing
    with open(f"{folder}/made", "w", encoding="utf-8") as f:
        f.write(made)
    return None, missing
