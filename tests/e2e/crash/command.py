# SPDX-License-Identifier: MIT
"""The command fathom-crash over a store of the test's own, and over files that stand for those of the kernel."""
import fcntl, glob, json, os, pty, re, shutil, stat, struct, subprocess, sys, time

CRASH, TMP, SRC = os.environ["BUILD"] + "/src/cmd/crash/fathom-crash", os.environ["TMP"], os.environ["SRC"]
PROGRAMS = f"/run/fathom-crash-test.{os.getpid()}"  # a directory that only root can change, as the capturer's must be
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, want=0, **kw):
    r = subprocess.run([CRASH, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env={**os.environ, "TZ": "UTC"}, **kw)
    out, err = r.stdout.decode(errors="surrogateescape"), r.stderr.decode(errors="surrogateescape")
    check(r.returncode == want, f"status {r.returncode} of {args}", out + err)
    return out, err


try:
    import jsonschema
    VALIDATOR = jsonschema.Draft202012Validator(json.load(open(f"{SRC}/doc/crash-commands-schema.json")))
except ImportError:
    print("skip: Python has no jsonschema")
    VALIDATOR = None


def rows(*args, want=0):
    document = json.loads(run("-o", "json", *args, want=want)[0])
    for error in VALIDATOR.iter_errors(document) if VALIDATOR else ():
        check(False, f"{args} against the schema", error)
    return document["rows"]


def tree(top):
    """Everything below a directory: names, modes, contents."""
    found = {}
    for folder, _, files in os.walk(top):
        for name in ["."] + files:
            path = os.path.normpath(os.path.join(folder, name))
            found[path] = (oct(os.lstat(path).st_mode), open(path, "rb").read() if name != "." else None)
    return found


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(text, bytes) else "w") as f:
        f.write(text)
    os.chmod(path, mode)


def read(path):
    with open(path) as f:
        return f.read()


# ---- install, status, uninstall ------------------------------------------------------------------------------------

def machine(name, pattern, **files):
    """A directory in place of the root of a machine."""
    root = f"{TMP}/{name}"
    write(f"{root}/proc/sys/kernel/core_pattern", pattern)
    write(f"{root}/proc/sys/kernel/core_pipe_limit", "0\n")
    write(f"{root}/proc/sys/kernel/core_uses_pid", "0\n")
    write(f"{root}/proc/sys/kernel/core_modes", "file pipe socket \n")
    os.makedirs(f"{root}/etc/sysctl.d")
    os.makedirs(f"{root}/var/lib")
    for path, text in files.items():
        write(f"{root}/{path.replace('__', '/')}", text)
    return root


def installation():
    capturer = f"{PROGRAMS}/fathom-crash-capture"
    ours = f"|{capturer} pipe %P %I %s %t %d %c %u %g %F\n"

    root = machine("plain", "core.%p\n")
    before = tree(root)
    at = ("--root", root)
    with_program = (*at, "--capturer", capturer)
    check("captured      no" in run("status", *at, want=1)[0], "status before")
    run("uninstall", *at, want=1)
    run("install", *with_program, "--keep-core=some", want=2)
    check(tree(root) == before, "what has failed has changed something")
    run("install", *with_program, "--keep-core=heap", "--mail=root")
    pattern = read(f"{root}/proc/sys/kernel/core_pattern")
    check(pattern == ours, "core_pattern", pattern)
    check(f"kernel.core_pattern={pattern}" in read(f"{root}/etc/sysctl.d/60-fathom-crash.conf"), "sysctl.d")
    config = read(f"{root}/etc/fathom/crash.conf")
    check("keep_core=heap\n" in config and "mail=root\n" in config and "store=/var/lib/fathom/crash\n" in config, "crash.conf", config)
    check(stat.S_IMODE(os.stat(f"{root}/var/lib/fathom/crash").st_mode) == 0o700, "the store's mode")
    now = rows("status", *with_program)[0]
    check(now["is-installed"] and not now["problems"] and now["before"] == "core.%p" and now["way"] == "pidfd" and now["keep-core"] == "heap", "status", now)
    run("install", *with_program, "--mail=")  # once more, and what was there first is still known
    check("mail=" not in read(f"{root}/etc/fathom/crash.conf"), "no mail any more")
    run("uninstall", *with_program)
    check(tree(root) == before, "uninstall restores byte for byte", set(tree(root)) ^ set(before))

    # what was changed meanwhile by others stays
    run("install", *with_program)
    write(f"{root}/proc/sys/kernel/core_pattern", "|/bin/other %p\n")
    write(f"{root}/etc/sysctl.d/99-other.conf", "# other\n kernel.core_pattern = x\n")
    os.unlink(f"{root}/etc/sysctl.d/60-fathom-crash.conf")
    problems = "\n".join(rows("status", *with_program, want=1)[0]["problems"])
    check("/bin/other" in problems and "99-other.conf" in problems and "60-fathom-crash.conf' is missing" in problems, "problems", problems)
    with open(f"{root}/etc/fathom/crash.conf", "a") as f:
        f.write("colour=red\n")
    check("'colour'" in run("status", *with_program, want=1)[1], "an unknown key")
    out, err = run("uninstall", *with_program)
    check("core_pattern was changed since" in err and "crash.conf' was changed since" in err, "uninstall says it", err)
    check(read(f"{root}/proc/sys/kernel/core_pattern") == "|/bin/other %p\n", "another's pattern stays")
    check("colour=red" in read(f"{root}/etc/fathom/crash.conf"), "an edited configuration stays")

    # a value that cannot be
    for line in ("captures=17", "store=here", "keep_core=stack", "env=", "post=file:///etc/passwd"):
        write(f"{TMP}/wrong.conf", f"# a comment\n{line}\n")
        err = run("status", "--root", root, "--config", f"{TMP}/wrong.conf", want=1)[1]
        check("wrong.conf': '" in err, line, err)

    # a configuration of before comes back; a handler of before is not pushed aside
    root = machine("chained", "|/bin/true %P %u\n", etc__fathom__crash_conf="")
    os.rename(f"{root}/etc/fathom/crash_conf", f"{root}/etc/fathom/crash.conf")
    write(f"{root}/etc/fathom/crash.conf", "# mine\nkeep_core=full\n")
    before = tree(root)
    with_program = ("--root", root, "--capturer", capturer)
    out, err = run("install", *with_program, want=1)
    check("crashes go to '/bin/true %P %u' already" in err and "--chain" in err and tree(root) == before, "a second handler is refused", err)
    run("install", *with_program, "--chain")
    config = read(f"{root}/etc/fathom/crash.conf")
    check("chain=/bin/true %P %u\n" in config and "keep_core=full\n" in config, "chain", config)
    check(rows("status", *with_program)[0]["chain"] == "/bin/true %P %u", "status of a chain")
    run("uninstall", *with_program)
    check(tree(root) == before, "uninstall restores the handler and the configuration")
    write(f"{root}/proc/sys/kernel/core_pattern", "@/run/other.sock\n")
    check("socket" in run("install", *with_program, "--chain", want=1)[1], "a socket")

    # programs that others could replace
    root = machine("refused", "core\n")
    before = tree(root)
    os.mkdir(f"{PROGRAMS}/open", 0o755)
    shutil.copy("/bin/true", f"{PROGRAMS}/open/fathom-crash-capture")
    shutil.copy("/bin/true", f"{PROGRAMS}/owned")
    os.chown(f"{PROGRAMS}/owned", 65534, 65534)
    shutil.copy("/bin/true", f"{PROGRAMS}/written")
    os.chmod(f"{PROGRAMS}/written", 0o757)
    os.chmod(f"{PROGRAMS}/open", 0o1777)
    os.symlink(capturer, f"{PROGRAMS}/link")
    write(f"{PROGRAMS}/{'x' * 100}", "", 0o755)
    write(f"{PROGRAMS}/has blank", "", 0o755)
    for name, why in (("open/fathom-crash-capture", "can be written by everybody"), ("owned", "does not belong to root"), ("written", "can be written"),
                      ("link", "symbolic links"), ("missing", "there is no capturer"), ("x" * 100, "the kernel takes 127"), ("has blank", "blank")):
        out, err = run("install", "--root", root, "--capturer", f"{PROGRAMS}/{name}", want=1)
        check(why in err and tree(root) == before, f"the capturer '{name}'", err)
    check("not absolute" in run("install", "--root", root, "--capturer", "capture", want=1)[1], "a relative path")


# ---- entries -------------------------------------------------------------------------------------------------------

STORE = f"{TMP}/store"


def store(*args, **kw):
    return run("--store", STORE, *args, **kw)


def taken_of(pid):
    """Captures a process; its core stays as it is, since no analyser packs it."""
    write(f"{TMP}/crash.conf", "analyser=\n")
    return rows("--config", f"{TMP}/crash.conf", "--store", STORE, "capture", str(pid))[0]


def entry(identity, **keys):
    os.mkdir(f"{STORE}/{identity}", 0o700)
    write(f"{STORE}/{identity}/capture", "".join(f"{k}={v}\n" for k, v in keys.items()).encode(errors="surrogateescape"), 0o600)


def entries():
    out, err = store("list", want=1)
    check("there is no store" in err, "no store", err)
    os.mkdir(STORE, 0o777)
    os.chmod(STORE, 0o777)
    check("others can change" in store("list", want=1)[1], "a store that others can change")
    os.chmod(STORE, 0o700)
    check("there is no crash" in store("list")[0] and not rows("--store", STORE, "list"), "an empty store")

    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        while not re.match(r"\d", read(f"/proc/{sleeper.pid}/syscall")) or read(f"/proc/{sleeper.pid}/comm") != "sleep\n":
            time.sleep(0.01)
        taken = taken_of(sleeper.pid)
        check(sleeper.poll() is None and read(f"/proc/{sleeper.pid}/status").count("TracerPid:\t0"), "the process goes on")
        uid = os.stat(f"/proc/{sleeper.pid}").st_uid
        start = int(read(f"/proc/{sleeper.pid}/stat").rsplit(")", 1)[1].split()[19])
        maps, exe = read(f"/proc/{sleeper.pid}/maps"), os.readlink(f"/proc/{sleeper.pid}/exe")
    finally:
        sleeper.kill()
        sleeper.wait()
    real = taken["id"]
    folder = f"{STORE}/{real}"
    keys = dict(line.split("=", 1) for line in read(f"{folder}/capture").splitlines())
    check(keys["pid"] == str(sleeper.pid) and keys["uid"] == str(uid) and keys["start_ticks"] == str(start) and keys["exe"] == exe, "capture", keys)
    check(keys["format"] == "1" and keys["id"] == real and keys["kept"] == "heap" and keys["threads"] == "1" and keys["signal"] == "0", "capture", keys)
    check(read(f"{folder}/proc/maps") == maps and read(f"{folder}/proc/cmdline") == "sleep\x001000\x00", "copies of /proc")
    check(re.search(r"^0\t/dev/null\t", read(f"{folder}/proc/fd"), re.M), "descriptors", read(f"{folder}/proc/fd"))
    check(all(stat.S_IMODE(os.lstat(p).st_mode) & 0o77 == 0 for p in glob.glob(f"{folder}/**", recursive=True)), "rights")
    check(not [n for n in os.listdir(STORE) if n.startswith(".")], "nothing hidden is left", os.listdir(STORE))

    # the core: a copy, through a pipe, into a file, compressed; not to a terminal
    core = open(f"{folder}/core", "rb").read()
    piped = subprocess.run([CRASH, "--store", STORE, "core", "last"], capture_output=True)
    check(piped.stdout == core, "the core through a pipe", piped.stderr)
    store("core", real, f"{TMP}/out.core")
    check(open(f"{TMP}/out.core", "rb").read() == core, "the core in a file")
    check(os.stat(f"{TMP}/out.core").st_blocks <= os.stat(f"{folder}/core").st_blocks + 64, "it is sparse")
    check("cannot make" in store("core", real, f"{TMP}/out.core", want=1)[1], "a file that is there")
    with open(f"{TMP}/sparse.core", "wb") as f:
        subprocess.run([CRASH, "--store", STORE, "core", str(sleeper.pid)], stdout=f, check=True)
    check(open(f"{TMP}/sparse.core", "rb").read() == core, "the core as standard output")
    main, terminal = pty.openpty()
    r = subprocess.run([CRASH, "--store", STORE, "core", real], stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    check(r.returncode == 1 and b"terminal" in r.stderr, "a terminal", r.stderr)
    os.close(main)
    if shutil.which("gdb"):
        r = subprocess.run(["gdb", "-nx", "-batch", "-ex", "info auxv", "-c", f"{TMP}/out.core", exe], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(re.search(rf'AT_EXECFN .*"{exe}"|Core was generated by `sleep 1000', r.stdout), "gdb reads it", r.stdout + r.stderr)
    else:
        print("skip: there is no gdb")
    copy = shutil.copytree(STORE, f"{TMP}/analysed")  # the core is compressed there
    subprocess.run([CRASH, "--store", copy, "analyse", real], check=True)
    out = subprocess.run([CRASH, "--store", copy, "show", real], stdout=subprocess.PIPE, text=True, check=True).stdout
    report = json.loads(read(f"{copy}/{real}/report.json"))
    check(out.startswith(f"sleep (pid {sleeper.pid}, ") and " lives, and was captured\n" in out and "died" not in out and "crashed" not in out, "the report of one that lives", out[:600])
    check(report["signal"]["number"] == 0 and "lives" in report["signal"]["reason"] and not any(t["has-crashed"] for t in report["threads"]), "the same in JSON", report["signal"])
    out = store("debug", real, "-e", "::status")[0]
    check(f"pid {sleeper.pid} " in out and "command: sleep 1000" in out, "debug", out)
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "--rm", f"{folder}/core", "-o", f"{folder}/core.zst"], check=True)
        piped = subprocess.run([CRASH, "--store", STORE, "core", real], capture_output=True)
        check(piped.stdout == core, "the core of a compressed one", piped.stderr)
        out = store("debug", real, "-e", "::status")[0]
        check(f"pid {sleeper.pid} " in out, "debug of a compressed core", out)
        write(f"{folder}/core.zst", open(f"{folder}/core.zst", "rb").read()[:-1000], 0o600)
        check("damaged" in subprocess.run([CRASH, "--store", STORE, "core", real], capture_output=True, text=True, errors="replace").stderr, "a damaged one")
        write(f"{folder}/core.zst", "no zstd", 0o600)
        check("not compressed" in store("core", real, want=1)[1], "no zstd at all")
    else:
        print("skip: there is no zstd")
    hostile(real, sleeper.pid)


def hostile(real, pid):
    """Entries as a process, or an analyser that it has taken over, could have made them."""
    evil = "20261127T122621-700-00000a"
    entry(evil, format=1, id="../../etc", pid=700, time_ns=1795782381 * 10**9, signal=11, exe="/srv/\x1b[31mevil\\x0a\\x1b]0;x\\x07\udcff",
          comm="\\x1b[2J\r", kept="stacks")
    write(f"{STORE}/{evil}/analysed", "state=failed\nwhy=\x1b[1mno\n", 0o600)
    write(f"{STORE}/{evil}/same", "count=37\n", 0o600)
    entry("20261127T122622-700-00000b", pid=700, time_ns=1795782382 * 10**9, signal=99999)
    entry("20261127T122623-701-00000c", pid="x" * 1000, time_ns=-5, signal=-1, exe="y" * 100000)
    write(f"{STORE}/20261127T122623-701-00000c/capture", b"z=" + b"\xff" * 10**6, 0o600)
    os.mkdir(f"{STORE}/20261127T122624-702-00000d")
    os.symlink("/etc/passwd", f"{STORE}/20261127T122624-702-00000d/capture")
    os.symlink("/etc/passwd", f"{STORE}/20261127T122624-702-00000d/report.txt")
    os.mkdir(f"{STORE}/20261127T122625-703-00000e")
    for name in ("capture", "core", "report.json", "report.txt", "same", "analysed"):
        os.mkfifo(f"{STORE}/20261127T122625-703-00000e/{name}")
    os.symlink("/etc", f"{STORE}/20261127T122626-704-00000f")
    write(f"{STORE}/20261127T122627-705-00001a", "no directory")
    for name in ("20261127T122628-706-00001", "20261127T122628-706-00001g", "20261127-706-00001a", "x", "20261127T122628--00001a"):
        os.mkdir(f"{STORE}/{name}")

    out = store("list")[0]
    lines = out.splitlines()
    # a crash loop: 40 more crashes were only counted (struct crash_count of crash/format.h)
    os.mkdir(f"{STORE}/counts")
    for name, magic in (("a", 0x31544e4343485446), ("b", 1)):
        write(f"{STORE}/counts/{name}", struct.pack("Q16QQQQII64s256s", magic, *[0] * 16, 40, 99, 0, 11, 5, b"20261127T122622-700-00000b", b""))
    check({r["id"]: r["count"] for r in rows("--store", STORE, "list")}["20261127T122622-700-00000b"] == 41, "counted crashes")
    check("\x1b" not in out and "\x07" not in out and len(lines) == 7, "list", out)
    check([r["id"] for r in rows("--store", STORE, "list")][:3] == [real, "20261127T122622-700-00000b", evil] if pid else True, "newest first", out)
    row = next(r for r in rows("--store", STORE, "list") if r["id"] == evil)
    check(row["count"] == 37 and row["signal-name"] == "SIGSEGV" and row["state"] == "failed" and row["exe"].startswith("/srv/\x1b[31mevil\n\x1b]0;x\x07"),
          "its row", row)
    out = store("show", evil)[0]
    check("\x1b" not in out and "no report" in out and "evil" in out, "show", out)
    rows("--store", STORE, "show", evil)
    for word, want in (("last", real), ("700", "20261127T122622-700-00000b"), (evil[:-1], evil), (str(pid), real), (real, real)):
        check(rows("--store", STORE, "show", word)[0].get("id", want) == (want if word != evil[:-1] else "../../etc"), f"the entry '{word}'")
    for word, why in (("20261127", "have ids that begin"), ("9999999", "there is no crash"), ("", "there is no crash"), ("../store", "there is no crash"),
                      ("20261127T122626-704-00000f", "there is no crash"), (".", "there is no crash")):
        check(why in store("show", word, want=1)[1], f"no entry '{word}'")
    for identity in ("20261127T122624-702-00000d", "20261127T122625-703-00000e", "20261127T122623-701-00000c"):
        out = store("show", identity)[0]
        check("root:" not in out and "no report" in out, f"show {identity}", out[:500])
        store("core", identity, f"{TMP}/none", want=1)
        store("debug", identity, "-e", "::status", want=1)
    # a report is shown without what controls a terminal
    write(f"{STORE}/{evil}/report.json", '{"pid": 700}\n', 0o600)
    write(f"{STORE}/{evil}/report.txt", "seg has died\x1b[31m of\tSIGSEGV\n", 0o600)
    check(store("show", evil)[0] == "seg has died?[31m of\tSIGSEGV\n", "a report")
    check(json.loads(run("--store", STORE, "-o", "json", "show", evil)[0]) == {"pid": 700}, "a report as JSON")
    collected(evil)


def collected(evil):
    """gc removes the oldest cores, then the oldest entries; and what a capturer has left that was killed."""
    ids = [f"20251127T12262{i}-80{i}-00000{i}" for i in range(4)]
    for i, identity in enumerate(ids):
        entry(identity, pid=800 + i, time_ns=(1764246380 + i) * 10**9, signal=6)
        write(f"{STORE}/{identity}/core", os.urandom(1 << 20), 0o600)
    for name in (".20251127T122630-810-00000a", ".20251127T122630-811-00000b"):
        os.mkdir(f"{STORE}/{name}")
        write(f"{STORE}/{name}/core", "x")
        os.utime(f"{STORE}/{name}", (1, 1))
    os.mkdir(f"{STORE}/.20251127T122630-812-00000c")  # a young one
    held = os.open(f"{STORE}/.20251127T122630-811-00000b", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)  # its capturer is at work
    before = tree_names()
    used = sum(os.lstat(p).st_blocks * 512 for p in before)
    limit = used - (5 << 19)  # two cores and a half are too much
    planned = rows("--store", STORE, "gc", "-n", f"--limit={limit}")
    check(tree_names() == before, "a dry run changes nothing")
    removed = rows("--store", STORE, "gc", f"--limit={limit}")
    check(removed == planned, "what was planned", (planned, removed))
    check([(r["removed"], r["id"]) for r in removed] == [("unfinished crash", "20251127T122630-810-00000a"), *(("core", i) for i in ids[:3])], "gc", removed)
    check([os.path.exists(f"{STORE}/{i}/core") for i in ids] == [False, False, False, True], "the newest core stays")
    check(all(os.path.exists(f"{STORE}/{i}/capture") for i in ids), "reports stay")
    check(os.path.exists(f"{STORE}/.20251127T122630-811-00000b/core") and os.path.exists(f"{STORE}/.20251127T122630-812-00000c"), "others' work stays")
    check(not rows("--store", STORE, "gc", f"--limit={limit}"), "nothing is left to do")
    run("--store", STORE, "gc", "--limit=0")
    check(os.path.exists(f"{STORE}/counts/a"), "the count of a loop of this day stays")
    check(not rows("--store", STORE, "list"), "all are removed", store("list")[0])
    check(os.path.exists("/etc/passwd") and os.listdir("/etc"), "links are not followed")
    os.close(held)


def tree_names():
    return sorted(os.path.join(folder, name) for folder, folders, files in os.walk(STORE) for name in folders + files)


def usage():
    for args in ((), ("nosuch",), ("show",), ("list", "x"), ("list", "--purge"), ("-o", "xml", "list"), ("watch",), ("watch", "-p", "x"), ("capture", "x"),
                 ("gc", "--limit=-1"), ("install", "--post=ftp://x"), ("install", "--mail=-x"), ("install", "--env=some")):
        out, err = run("--store", STORE, *args, want=2)
        check(not out and err, f"usage of {args}", out + err)
    commands = re.findall(r"^  ([a-z]+)(?: |$)", run("--help")[0], re.M)
    check(len(commands) > 10, "commands", commands)
    for name in ("completion/fathom-crash.bash", "completion/_fathom-crash", "completion/fathom-crash.fish", "doc/fathom-crash.1"):
        missing = [c for c in commands if not re.search(rf"(\b|\\fB){c}\b", read(f"{SRC}/{name}"))]
        check(not missing, f"{name} knows all commands", missing)
    check("usage:" in run("--help")[0] and "Fathom" in run("--version")[0], "help and version")


if os.geteuid():
    print("only root may install")
    sys.exit(67)
os.umask(0o022)
os.mkdir(PROGRAMS, 0o755)
try:
    shutil.copy("/bin/true", f"{PROGRAMS}/fathom-crash-capture")
    installation()
    entries()
    usage()
finally:
    shutil.rmtree(PROGRAMS)
sys.exit(1 if failed else 0)
