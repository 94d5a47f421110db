# SPDX-License-Identifier: MIT
"""For tests of levels: a world of their own, in which dtrace is installed with capabilities of its file.

The caller becomes a process in a mount namespace of its own, which has an /etc and a /usr/lib of its own, so that
/etc/fathom/privileges, the D library and the command are where an installation has them, and nothing of it is left when the
last process of the test ends. Users are numbers, which need no entry in /etc/passwd.
"""
import os, shutil, subprocess, sys

BUILD, SRC, TMP = os.environ["BUILD"], os.environ["SRC"], os.environ["TMP"]
HOME = "/usr/lib/fathom-test"  # root's folder, which everybody may read
DTRACE = f"{HOME}/dtrace"
LEVELS = "/etc/fathom/privileges"
# Sessions of one user share quotas: no two tests that run at once have the same users.
USERS = int(os.environ.setdefault("FATHOM_TEST_USERS", str(100000 + os.getpid() * 10)))
ALICE, BOB, CAROL, STAFF = USERS + 1, USERS + 2, USERS + 3, USERS + 9
SKIP = 67
failed, left_out = [], []
SECONDS = 60 * int(os.environ.get("PATIENCE", "1"))


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:4000]}", flush=True)


def skip(why):
    print(f"skip: {why}")
    sys.exit(SKIP)


def done():
    sys.exit(1 if failed else 0)


def mount(*args):
    r = subprocess.run(["mount", *args], capture_output=True, text=True)
    if r.returncode:
        skip(f"mount {' '.join(args)}: {r.stderr.strip()}")


def replace(folder, more):
    """
    Puts another folder in its place, which has the same files and `more`. They are mounted one by one: files of an overlay
    are not the ones that /proc/PID/maps names.
    """
    new = f"{TMP}/new{folder}"
    os.makedirs(new)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", new)
    for name in os.listdir(folder):
        old, to = f"{folder}/{name}", f"{new}/{name}"
        if os.path.islink(old):
            os.symlink(os.readlink(old), to)
        elif name not in more and name != "fathom":
            more = {**more, name: old}
    for name, old in more.items():
        to = f"{new}/{name}"
        if os.path.isdir(old):
            os.mkdir(to)
        else:
            open(to, "w").close()
        mount("--rbind", old, to)
    mount("--rbind", new, folder)


def enter(capabilities="cap_bpf,cap_perfmon=p"):
    """Makes the world, the first time by starting this test anew inside of it."""
    if os.geteuid():
        skip("only root makes mount namespaces")
    if os.environ.get("SANITIZED"):
        skip("the sanitizer of leaks traces the process, which must not be possible here")
    for tool in "unshare", "setcap", "setpriv":
        if not shutil.which(tool):
            skip(f"there is no {tool}")
    if os.environ.get("FATHOM_TEST_WORLD") != "1":
        os.environ["FATHOM_TEST_WORLD"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", TMP)
    replace("/etc", {})
    replace("/usr/lib", {"dtrace": f"{SRC}/dlib"})
    os.makedirs(HOME, exist_ok=True)
    os.makedirs("/etc/fathom", exist_ok=True)
    command = f"{BUILD}/src/cmd/dtrace"
    shutil.copy(f"{command}/libdtrace.so.1.0.0", "/usr/lib/libdtrace.so.1")
    shutil.copy(f"{command}/dtrace", DTRACE)
    for name in os.listdir(os.environ["TRIGGER"]):
        if name in ("calls", "open_loop"):
            shutil.copy(os.path.join(os.environ["TRIGGER"], name), HOME)
    os.chmod(DTRACE, 0o755)
    set_capabilities(capabilities)
    levels("")
    os.makedirs(f"{TMP}/home")
    for uid in ALICE, BOB, CAROL:
        os.makedirs(f"{TMP}/home/{uid}")
        os.chown(f"{TMP}/home/{uid}", uid, uid)


def set_capabilities(text):
    r = subprocess.run(["setcap", text, DTRACE], capture_output=True, text=True)
    if r.returncode:
        skip(f"setcap {text}: {r.stderr.strip()}")


def levels(text, mode=0o644, quotas="default: cpu=100%\n"):
    """
    Writes the file of levels; None removes it. Processes of others that do nothing but call the system do not end a session,
    unless the test is about quotas.
    """
    if os.path.lexists(LEVELS):
        os.unlink(LEVELS)
    if text is None:
        return
    with open(LEVELS, "w") as f:
        f.write(text + (quotas if text.endswith("\n") and "default:" not in text and len(text) < 60000 else ""))
    os.chmod(LEVELS, mode)


def home(uid):
    return f"{TMP}/home/{uid}"


def user(uid, groups=()):
    """Arguments of subprocess for a program of this user."""
    return dict(user=uid, group=uid, extra_groups=list(groups), cwd=home(uid))


ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def run(uid, argv, groups=(), env=None, stdin=subprocess.DEVNULL, **kwargs):
    return subprocess.run(argv, stdin=stdin, capture_output=True, text=True, errors="replace", timeout=SECONDS, env={**ENV, **(env or {})},
                          **user(uid, groups), **kwargs)


def dtrace(uid, *args, **kwargs):
    return run(uid, [DTRACE, *args], **kwargs)
