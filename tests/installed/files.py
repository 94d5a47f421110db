# SPDX-License-Identifier: MIT
"""What is installed: the library, examples, pages, completion; and the first minutes of a new user."""
import filecmp, glob, gzip, os, re, subprocess

import workloads
from suite import DTRACE, ENV, WANTED, Failed, Skip, dtrace, expect, folder, need, run, test

DOC = "/usr/share/doc/fathom"
NOT_INSTALLED = {"architecture.md", "release.md", "style.md", "testing.md", "meson.build", "page.py", "dtrace.8", "fathom-crash.1", "fathom-metrics.8", "fathom-privileges.5",
                 "mdb.1", "memprof.8"}  # of doc/


def names(*globs):
    return sorted(p for g in globs for p in glob.glob(g))


def commands_wanted():
    """The names of the ready-made commands."""
    return sorted(os.path.basename(p) for p in names(f"{WANTED}/commands/*") if "." not in os.path.basename(p) and not p.endswith("/command"))


def same(wanted, installed, but=()):
    """Every file of one folder is in the other, with the same bytes."""
    bad = []
    for top, _, files in os.walk(wanted):
        for name in set(files) - set(but):
            path = os.path.join(top, name)
            there = os.path.join(installed, os.path.relpath(path, wanted))
            if not os.path.exists(there) or not filecmp.cmp(path, there, shallow=False):
                bad.append(there)
    if bad:
        raise Failed("missing, or not that of the tree:\n" + "\n".join(sorted(bad)))


@test("files/the environment has nothing of a build")
def environment():
    bad = [n for n in os.environ if n.startswith(("DTRACE_", "LD_", "LIBDTRACE"))]
    out = run(["ldd", DTRACE, "/usr/sbin/fathom-metrics"])[1]
    expect(out, r"libdtrace\.so\.1 => (/usr)?/lib/")
    bad += [line for line in out.splitlines() if "build" in line or "/tmp/" in line]
    if bad:
        raise Failed("\n".join(bad))


@test("files/the D library and the helpers")
def library():
    same(f"{WANTED}/dlib", "/usr/lib/dtrace")


@test("files/examples and pages")
def documentation():
    same(f"{WANTED}/examples", f"{DOC}/examples")
    same(f"{WANTED}/doc", f"{DOC}/doc", NOT_INSTALLED)


@test("files/links between pages")
def links():
    bad, n = [], 0
    for page in names(f"{DOC}/*.md", f"{DOC}/doc/*.md", f"{DOC}/doc/guide/*.md", f"{DOC}/doc/reference/*.md"):
        with open(page, encoding="utf-8") as f:
            text = re.sub(r"^```.*?^```", "", f.read(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            n += 1
            if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(page), target)):
                bad.append(f"{page}: {target}")
    if bad or n < 50:
        raise Failed(f"of {n} links, these lead nowhere:\n" + "\n".join(bad))


@test("files/manual pages")
def manual():
    wanted = {f"8/{n}.8" for n in ("dtrace", "fathom-metrics", "memprof")}
    wanted |= {"1/fathom-crash.1", "1/mdb.1", "5/fathom-privileges.5"} | {f"8/{n}.8" for n in commands_wanted()}
    wanted |= {f"7/dtrace-{os.path.basename(p)[:-3]}.7" for p in names(f"{WANTED}/doc/guide/*.md")}
    missing = [p for p in sorted(wanted) if not os.path.exists(f"/usr/share/man/man{p}.gz")]
    if missing or len(wanted) < 60:
        raise Failed(f"of {len(wanted)} pages, these are missing: {missing}")
    for page in sorted(wanted):
        with gzip.open(f"/usr/share/man/man{page}.gz", "rt", encoding="utf-8") as f:
            if "\n.SH" not in f.read():
                raise Failed(f"{page} is no manual page")


@test("files/completion")
def completion():
    out = run([DTRACE, "--complete=probe:sysc"])[1]
    expect(out, r"^syscall:")
    bash = need("bash", "bash")
    for name in ("dtrace", "mdb", "memprof"):
        script = f". /usr/share/bash-completion/completions/{name} && complete -p {name}"
        expect(run([bash, "-c", script])[1], rf"complete .*{name}$")
    paths = ["/usr/share/zsh/vendor-completions/_mdb", "/usr/share/fish/vendor_completions.d/mdb.fish", "/usr/share/zsh/vendor-completions/_memprof", "/usr/share/fish/vendor_completions.d/memprof.fish", "/usr/share/zsh/vendor-completions/_dtrace", "/usr/share/zsh/vendor-completions/_fathom", "/usr/share/fish/vendor_completions.d/dtrace.fish"]
    for name in commands_wanted():
        script = f". /usr/share/bash-completion/completions/{name} && complete -p {name}"
        expect(run([bash, "-c", script])[1], rf"complete .* {name}$")
        paths.append(f"/usr/share/fish/vendor_completions.d/{name}.fish")
    for path in paths:
        if not os.path.exists(path):
            raise Failed(f"there is no {path}")
    with open("/usr/share/zsh/vendor-completions/_fathom", encoding="utf-8") as f:
        if f.readline().split() != ["#compdef", *commands_wanted()]:
            raise Failed("zsh completes other commands than there are")


@test("files/the group dtrace, and sudo's rule")
def group():
    expect(run(["getent", "group", "dtrace"])[1], r"^dtrace:x:\d+:$")
    if os.stat("/etc/sudoers.d/fathom").st_mode & 0o777 != 0o440:
        raise Failed("/etc/sudoers.d/fathom can be read or written by others")
    visudo = need("visudo", "sudo")
    expect(run([visudo, "-cf", "/etc/sudoers.d/fathom"])[1], "parsed OK")
    with open("/etc/sudoers.d/fathom", encoding="utf-8") as f:
        allowed = set(re.search(r"^Cmnd_Alias FATHOM = (.*)", f.read(), re.M)[1].split(", "))
    wanted = {DTRACE, "/usr/sbin/memprof"} | {f"/usr/sbin/{n}" for n in commands_wanted()}
    if allowed != wanted:
        raise Failed(f"sudo's rule differs from what is installed: {sorted(allowed ^ wanted)}")


@test("files/a member of the group dtrace runs dtrace and a command through sudo")
def member():
    need("visudo", "sudo")
    run([need("useradd", "passwd"), "-m", "-s", "/bin/sh", "-G", "dtrace", "fathom-member"])
    try:
        run(["chpasswd"], text="fathom-member:secret\n")
        through = lambda command: ["runuser", "-u", "fathom-member", "--", "sh", "-c", f"echo secret | sudo -S -p '' {command}"]
        expect(run(through("dtrace -qn 'BEGIN { printf(\"uid %d\\n\", uid); exit(0); }'"))[1], "^uid 0$")
        expect(run(through("syscount -c -d 1"))[1], r"^\w+ +\d+$")
        code, _, err = run(through("/bin/cat /etc/shadow"), check=False)
        if code == 0 or "not allowed" not in err:
            raise Failed(f"sudo gives more than the rule says: status {code}: {err}")
    finally:
        run(["userdel", "-r", "fathom-member"], check=False)


@test("files/who else may use the command")
def others():
    """Anybody compiles; nobody but root traces."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    run([*nobody, DTRACE, "-en", "BEGIN { trace(pid); }"])
    code, _, err = run([*nobody, DTRACE, "-n", "BEGIN { exit(0); }"], check=False)
    if code == 0 or "dtrace: " not in err:
        raise Failed(f"status {code}: {err}")


@test("first/version and help")
def version():
    expect(run([DTRACE, "-V"])[1], r"^dtrace: Sun D 1")
    expect(run(["sh", "-c", "command -v dtrace"])[1], "^/usr/sbin/dtrace$")
    if len(run([DTRACE, "--help"])[1].splitlines()) > 60:
        raise Failed("the help does not fit a screen")


@test("first/firstlook.d")
def firstlook():
    out = dtrace("-qs", f"{DOC}/examples/firstlook.d", "1")
    expect(out, r"^Who was on a CPU, for how many milliseconds\?\n\n +\S+ ", r"^Which system calls took most CPU time", r"^Which system calls failed")


@test("first/a table of system calls")
def table():
    out = dtrace("-n", "syscall:::entry /pid == $target/ { @[execname, probefunc] = count(); }", "-c", "/bin/cat /etc/hostname")
    expect(out, r"^ +cat +openat +\d+$")


@test("first/types and constants of the library")
def types():
    """Each of these names is in a file of /usr/lib/dtrace."""
    out = dtrace("-qn", "BEGIN { printf(\"%d %d %d %s %d\\n\", O_NONBLOCK, SIGKILL, ENOENT, curpsinfo->pr_fname, AF_INET); exit(0); }")
    expect(out, r"^2048 9 2 dtrace 2$")


@test("first/the examples compile, by their own first lines")
def examples():
    bad, n = [], 0
    for path in names(f"{DOC}/examples/*.d", f"{DOC}/examples/metrics.d/*.d"):
        name = os.path.basename(path)
        if os.path.isdir(path) or name == "nfsops.d":  # it needs the types of a module that is rarely loaded
            continue
        n += 1
        with open(path, encoding="utf-8") as f:
            flags = re.match(r"#!/usr/sbin/dtrace -(\w+)s$", f.readline().strip())
        args = ["libc.so.6", "malloc"] if name == "slowfunc.d" else workloads.examples.ROWS.get(name, ("",))[0].replace(workloads.examples.SELF, "").split()
        code, _, err = run([DTRACE, "-Z", "-e", "-x", "defaultargs", "-x", "destructive", *["-C"] * bool(flags and "C" in flags[1]), "-p", str(os.getpid()), "-s", path, *args], check=False)
        if code:
            bad.append(f"{path}: {err.strip()[:300]}")
        if flags and not os.access(path, os.X_OK):
            bad.append(f"{path} cannot be executed")
    if bad or n < 50:
        raise Failed(f"{n} examples\n" + "\n".join(bad))


@test("first/without its library, dtrace says so")
def no_library():
    """In a mount namespace in which the folder is empty."""
    with folder() as tmp:
        script = f"mount -t tmpfs tmpfs /usr/lib/dtrace && exec {DTRACE} -qn 'syscall::getppid:entry /pid == $target/ {{ jstack(); }}' -c '/usr/bin/python3 -c \"import os; os.getppid()\"'"
        p = subprocess.run(["unshare", "--mount", "sh", "-c", script], cwd=tmp, env=ENV, capture_output=True, text=True)
        if p.returncode == 32 or "mount:" in p.stderr:
            raise Skip(f"no file system can be mounted: {p.stderr.strip()}")
        expect(p.stderr, r"cannot read the folder '/usr/lib/dtrace/helpers' of ustack helpers: No such file or directory")
