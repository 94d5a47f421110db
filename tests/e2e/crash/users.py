# SPDX-License-Identifier: MIT
"""fathom-crash serve: two users, their crashes, and crashes with their ids that are not theirs."""
import json, os, shutil, signal, socket, struct, subprocess, sys, time
sys.path.insert(0, os.path.dirname(__file__))
from capturing import *

if not can_write_pattern():
    skip("core_pattern cannot be written here")
ROOT = f"/run/fcu.{os.getpid()}"  # users come here, and not into the test's own folder
COMMAND = [os.path.join(BUILD, "src/cmd/crash/fathom-crash")]
ALICE, BOB = 45001, 45002
NAMES = "report.txt", "core", "capture", "../lock", "proc/environ"


def as_user(uid, argv, **kwargs):
    return subprocess.run(argv, user=uid, group=uid, extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, cwd="/",
                          env={"PATH": os.environ["PATH"], "TMPDIR": f"{ROOT}/tmp", "DTRACE_OPT_SYSLIBDIR": os.environ["SRC"] + "/dlib"}, **kwargs)


def ask(uid, *args, want=0):
    r = as_user(uid, [*COMMAND, "--store", store.dir, "--config", store.config, "--users", f"{ROOT}/users", *args])
    check(r.returncode == want, f"status {r.returncode} of {args} by {uid}", r.stdout + r.stderr)
    return r.stdout, r.stderr.decode()


def listed(uid):
    return [c["pid"] for c in json.loads(ask(uid, "-o", "json", "list")[0])["rows"]]


def died(uid, how="segv", **kwargs):
    """A crash of a user's; its pid, when the capture is whole."""
    pid, sig = die(f"{ROOT}/dies", how, user=uid, group=uid, extra_groups=[], cwd="/", **kwargs)
    check(sig == signal.SIGSEGV and store.wait(pid), f"a capture of {uid}", (sig, store.ids()))
    return pid


RAW = r"""
import json, socket, struct, sys
said = []
for version, what, ident, name, size in json.loads(sys.argv[2]):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(sys.argv[1])
    s.send((struct.pack("<II", version, what) + ident.encode().ljust(64, b"\0") + name.encode().ljust(32, b"\0"))[:size])
    data, control, *_ = s.recvmsg(8, 256)
    said.append([struct.unpack("<Ii", data)[1] if data else None, sum(len(c[2]) // 4 for c in control)])
print(json.dumps(said))
"""


def raw(uid, *requests):
    """What the server says to a program that has no manners, for each (version, what, id, name, size): an errno, the number of descriptors."""
    r = as_user(uid, ["/usr/bin/python3", "-c", RAW, f"{ROOT}/users", json.dumps(requests)])
    return json.loads(r.stdout) if r.stdout else r.stderr.decode()


def files(*ids):
    return [(1, 2, i, n, 104) for i in ids for n in NAMES]


def crash_all():
    """Crashes of both, and those that have their ids and belong to root."""
    secret = os.open(f"{ROOT}/secret", os.O_PATH)
    mine, bobs = died(ALICE), died(BOB)
    with open(f"{ROOT}/public", "w") as log:
        logging = died(ALICE, "log", stderr=log)
    hidden = [died(ALICE, stderr=secret), died(0)]
    os.close(secret)
    # a program that has given up root's ids in part, and then says that it may be dumped
    p = subprocess.Popen([sys.executable, "-c", f"import ctypes, os; os.setegid({ALICE}); os.seteuid({ALICE}); "
                          "ctypes.CDLL(None).prctl(4, 1, 0, 0, 0); os.kill(os.getpid(), 11)"], cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.wait()
    hidden.append(p.pid)
    # one that has kept a capability: it has read what its user cannot
    p = subprocess.Popen(["setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", "--inh-caps", "+dac_read_search", "--ambient-caps",
                          "+dac_read_search", f"{ROOT}/dies", "segv"], cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.wait()
    hidden.append(p.pid)
    if subprocess.run(["unshare", "-Ur", "true"], user=ALICE, group=ALICE, extra_groups=[], capture_output=True).returncode == 0:
        p = subprocess.Popen(["unshare", "-Uc", f"{ROOT}/dies", "segv"], user=ALICE, group=ALICE, extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        p.wait()
        hidden.append(p.pid)
    for pid in hidden:
        check(store.wait(pid), "a capture", pid)
    keys = store.wait(hidden[0]).keys
    check((keys["dumpable"], keys["uid"], keys["log_readable"]) == ("1", str(ALICE), "0"), "a log that is secret", keys)
    return mine, logging, bobs, hidden


def seen(mine, logging, bobs, hidden):
    mine_id = store.ids(mine)[0]
    check(listed(ALICE) == [logging, mine] and listed(BOB) == [bobs], "who sees what", (listed(ALICE), listed(BOB), mine, logging, bobs, hidden))
    with open(f"{store.dir}/{mine_id}/core", "rb") as f:
        check(ask(ALICE, "core", str(mine))[0] == f.read(), "the core, before it is packed")
    subprocess.run([*COMMAND, "--store", store.dir, "--config", store.config, "analyse", mine_id], check=True, stdin=subprocess.DEVNULL)
    with open(f"{store.dir}/{mine_id}/report.txt", "rb") as f:
        check(ask(ALICE, "show", mine_id)[0] == f.read() != b"", "the report")
    report = json.loads(ask(ALICE, "-o", "json", "show", mine_id)[0])
    check(report, "the report as JSON")
    check(f"pid {mine} ".encode() in ask(ALICE, "debug", str(mine), "-e", "::status")[0], "mdb on the packed core")
    check(not os.listdir(f"{ROOT}/tmp"), "the copy for mdb has no name", os.listdir(f"{ROOT}/tmp"))
    check("there is no crash" in ask(ALICE, "show", str(bobs), want=1)[1], "that of another")
    strangers = [store.ids(pid)[0] for pid in [bobs, *hidden]] + ["..", "", "counts", "." + mine_id]
    said = raw(ALICE, *files(*strangers))
    check(said == [[2, 0]] * len(strangers) * len(NAMES), "asked for by name, what is of others or nobody", said)
    said = raw(ALICE, *files(mine_id), (1, 7, mine_id, "report.txt", 104), (9, 2, mine_id, "report.txt", 104), (1, 2, mine_id, "report.txt", 50))
    check(said == [[0, 1]] + [[2, 0]] * (len(NAMES) - 1) + [[22, 0], [None, 0], [None, 0]], "what is given of an own crash, and what is no request", said)


def activated(mine):
    """One connection, which is the standard input, as systemd starts it."""
    os.unlink(f"{ROOT}/users")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.bind(f"{ROOT}/users")
        os.chmod(f"{ROOT}/users", 0o666)
        s.listen(8)
        client = subprocess.Popen([*COMMAND, "--store", store.dir, "--config", store.config, "--users", f"{ROOT}/users", "-o", "json", "list"],
                                  user=BOB, group=BOB, extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        s.settimeout(60)
        for _ in range(2):  # it tries whether somebody listens, then asks
            c, _ = s.accept()
            with c:
                subprocess.run([*COMMAND, "--store", store.dir, "serve"], stdin=c.fileno(), stderr=subprocess.DEVNULL, timeout=60)
        check([c["pid"] for c in json.loads(client.communicate(timeout=60)[0])["rows"]] == [mine], "a connection that was accepted by another")
    os.unlink(f"{ROOT}/users")
    check("fathom-crash serve" in ask(ALICE, "list", want=1)[1], "nobody serves")
    r = subprocess.run([*COMMAND, "--store", store.dir, "serve"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(r.returncode == 1 and "no connection" in r.stderr, "no socket", r)


os.mkdir(ROOT, 0o755)
try:
    os.mkdir(f"{ROOT}/tmp")
    os.chmod(f"{ROOT}/tmp", 0o777)
    subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", f"{ROOT}/dies", SRC + "/tests/e2e/crash/dies.c"], check=True)
    with open(f"{ROOT}/secret", "w") as f:
        os.chmod(f"{ROOT}/secret", 0o600)
        f.write("the password\n")
    store = Store()
    shutil.rmtree(store.dir)
    store.dir, store.config = f"{ROOT}/s", f"{ROOT}/conf"
    os.mkdir(store.dir, 0o700)
    store.configure(captures=16)
    os.chmod(store.config, 0o644)
    with Pattern(store.pattern()):
        crashes = crash_all()
    server = subprocess.Popen([*COMMAND, "--store", store.dir, "serve", f"{ROOT}/users"], stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                if s.connect_ex(f"{ROOT}/users") == 0:
                    break
            time.sleep(0.05)
        seen(*crashes)
    finally:
        server.kill()
        server.wait()
    activated(crashes[2])
finally:
    shutil.rmtree(ROOT)
done()
