# SPDX-License-Identifier: MIT
"""Reports of programs in C."""
import os, random, re, shutil, stat, subprocess
from captures import *

SEG = r"""
#include <pthread.h>
#include <sys/prctl.h>
static void *sleeps(void *arg) { for (;;) pause(); }
__attribute__((noinline)) int inner(int *p) { return *p + 1; }
__attribute__((noinline)) int middle(int *p) { return inner(p) + 1; }
int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, NULL, sleeps, NULL);
	prctl(PR_SET_NAME, "\033[31m<b>\n&x");
	wait_for_it();
	return middle((int *)0x1234);
}
"""
DEEP = r"""
__attribute__((noinline)) int down(int n) { volatile char room[2000]; room[n % 2000] = 1; return down(n + 1) + room[7]; }
int main(void) { wait_for_it(); return down(0); }
"""
store = store_make()
program = compiled("seg", SEG)
os.chmod(program, 0o700)  # the analyser's user may not read it
os.chmod(TMP, 0o700)
argv = [program, "--password=hunter2", "a\nb\x1b[1m<i>", "--token", "s3cret", "https://u:pw@h/?api_key=abc&x=1"]
secret = {"MY_SECRET": "topsecret", "LANG": "C", "EVIL\x1b": "x", "LD_EVIL": "\x1b]0;x\x07<script>\n"}
died = Died(argv, "one", env=secret)
ident = died.entry(store)
open(f"{store}/{ident}/log", "wb").write(b"old\n" * 100 + b"\x1b[2Jlast <words>\n")
status, err, report, text, state = analysed(store, ident)
check(status == 0 and state.get("state") == "done" and state["attempts"] == "1", "analysis", (status, err, state))
if not report:
    finish()

# Frames, registers and code, beside gdb's.
gdb = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "bt", "-ex", "info registers rip rsp", program, died.core],
                     stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout if shutil.which("gdb") else ""
gdb = gdb[gdb.rfind("\n#0 ") + 1:]
theirs = re.findall(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(\w+) \(", gdb, re.M)
ours = [n.split("`")[1].split("+")[0] for n in frames(report)]
check(not gdb or (len(theirs) >= 3 and ours[:len(theirs)] == theirs), "frames as gdb has them", (ours, gdb))
lines = re.findall(r"^#\d+ .* at \S*seg\.c:(\d+)$", gdb, re.M)
check(not gdb or lines == [str(f["line"]) for f in report["threads"][0]["frames"][:3]], "lines as gdb has them", (lines, report["threads"][0]["frames"][:3]))
for name in ("rip", "rsp"):
    value = re.search(rf"^{name}\s+(0x[0-9a-f]+)", gdb, re.M)
    check(not gdb or report["registers"][name] == value[1], f"register {name}", (report["registers"], gdb))
check(any("=> seg`inner+" in c for c in report["code"]) and len(report["code"]) >= 7, "code", report["code"])
check(report["stack-memory"][0]["address"] == report["registers"]["rsp"] and len(report["stack-memory"]) == 32, "memory at the stack", report["stack-memory"][:2])
check(report["signal"]["reason"] == "address 0x1234 is not mapped" and report["signal"]["code-name"] == "SEGV_MAPERR" and report["signal"]["name"] == "SIGSEGV",
      "reason", report["signal"])
check(f"seg (pid {died.pid}, ppid " in text.splitlines()[0] and text.splitlines()[0].endswith("has died of SIGSEGV: address 0x1234 is not mapped (SEGV_MAPERR)"),
      "the first line", text[:300])
check(len(report["threads"]) == 2 and report["threads"][0]["has-crashed"] and any("pause" in n or "clone" in n for n in frames(report, 1)), "threads", report["threads"])
check(report["threads"][1].get("system-call") == "pause", "the other thread's system call", report["threads"][1])
check(state["where"].startswith("seg`inner+0x") and " seg.c:" in state["where"] and re.fullmatch("[0-9a-f]{16}", state["signature"]), "the line of a list", state)
check(any(m["path"] == program for m in report["maps"]) and any(f["target"].endswith("/log") for f in report["files"]), "maps and files")
check(any(l["name"] == "stack size" for l in report["limits"]) and report["process"]["rss-kb"] > 0 and report["process"]["ppid"] > 0, "limits, memory", report["process"])

# What is withheld, and what is escaped.
every = str(report) + text
check(not any(s in every for s in ("hunter2", "topsecret", "s3cret", "=abc", ":pw@")), "secrets", text[:1000])
check(report["process"]["arguments"][1] == "--password=***" and report["process"]["arguments"][4] == "***", "arguments", report["process"]["arguments"])
check(report["process"]["arguments"][5] == "https://u:***@h/?api_key=***&x=1", "a URL", report["process"]["arguments"])
shown = {v["name"]: v["value"] for v in report["environment"]["shown"]}
check(shown["LANG"] == "C" and "<script>" in shown["LD_EVIL"] and "MY_SECRET" in report["environment"]["withheld"], "environment", report["environment"])
check("\\n" in text and "\\033[31m" in text and len(report["log"]) == 20 and report["log"][-1].endswith("last <words>"), "names and log", report["log"])

# The packed core.
folder = f"{store}/{ident}"
packed = open(folder + "/core.zst", "rb").read()
check(not os.path.exists(folder + "/core") and stat.S_IMODE(os.stat(folder + "/core.zst").st_mode) == 0o600, "the core is packed")
if shutil.which("zstd"):
    def unpack(part):
        return subprocess.run(["zstd", "-dc"], input=part, capture_output=True).stdout
    whole = open(died.core, "rb").read()
    check(unpack(packed) == whole, "unpacked, it is the core again")
    n = int.from_bytes(packed[-9:-5], "little")
    table = packed[-9 - 8 * n:-9]
    rows = [(int.from_bytes(table[8 * i:8 * i + 4], "little"), int.from_bytes(table[8 * i + 4:8 * i + 8], "little")) for i in range(n)]
    at = sum(r[0] for r in rows[:n // 2])
    check(packed[-4:] == b"\xb1\xea\x92\x8f" and sum(r[1] for r in rows) == len(whole) and
          unpack(packed[at:at + rows[n // 2][0]]) == whole[(n // 2) << 20:((n // 2) + 1) << 20], "a frame by the table", rows)
seen = [subprocess.run([MDB, "-e", "::stack -a; ::regs", core], stdin=subprocess.DEVNULL, capture_output=True).stdout for core in (folder + "/core.zst", died.core)]
check(b"inner" in seen[0] and seen[0] == seen[1], "mdb reads it", seen)
check(analysed(store, ident)[0] == 1 and "analysed already" in analysed(store, ident)[1], "a second analysis")

# A stack that has overflowed: both ends of it.
deep = Died([compiled("deeper", DEEP)], "deep")
status, err, report, text, state = analysed(store, deep.entry(store))
check(status == 0 and report["signal"]["is-stack-overflow"] and "the stack has overflowed" in text.splitlines()[0], "overflow", (err, text[:300]))
check(len(report["threads"][0]["frames"]) == 128 and report["threads"][0]["frames-left-out"] > 1000 and "main" in str(frames(report)[64:]) and "down" in frames(report)[0],
      "both ends of the stack", (report["threads"][0]["frames-left-out"], frames(report)[60:70]))

# Without the library, the analysis fails: the capture stays, and is analysed once more.
ident = died.entry(store)
status, err, report, text, state = analysed(store, ident, env={"DTRACE_OPT_SYSLIBDIR": "/nonexistent"})
if status:
    check(state["state"] == "failed" and state["why"] and report is None and os.path.exists(f"{store}/{ident}/core"), "a failed analysis", (err, state))
    status, err, report, text, state = analysed(store, ident)
check(status == 0 and state["state"] == "done", "the next one", (err, state))

# A process that is not dumpable by its user: files that only root can read are not opened for it.
ident = died.entry(store, dumpable="2", euid="1000")
status, err, report, text, state = analysed(store, ident)
check(status == 0 and not any("inner" in n for n in frames(report)), "a program that the user may not read", frames(report))

# Without a core, there is what /proc had.
ident = died.entry(store)
os.unlink(f"{store}/{ident}/core")
status, err, report, text, state = analysed(store, ident)
check(status == 0 and report["notes"] == ["there is no core"] and len(report["threads"]) == 2 and "frames" not in report["threads"][0] and
      report["signal"]["name"] == "SIGSEGV" and "MY_SECRET" in text, "no core", (err, report))

# Damaged cores, and files of /proc that are none.
whole = open(died.core, "rb").read()
for seed in range(int(os.environ.get("SEEDS", "24"))):
    r = random.Random(seed)
    core = bytearray(whole[:r.choice((len(whole), len(whole) // 3, 8192, 70))])
    for _ in range(r.choice((1, 30, 300))):
        core[r.randrange(r.choice((min(64, len(core)), min(16384, len(core)), len(core))))] = r.randrange(256)
    ident = died.entry(store, core=bytes(core))
    for name in ("fd", "task", "maps", "status", "stat", "limits", "environ"):
        if r.random() < 0.3:
            open(f"{store}/{ident}/proc/{name}", "wb").write(bytes(r.randrange(256) for _ in range(r.choice((0, 7, 2000)))))
    status, err, report, text, state = analysed(store, ident)
    check(status == 0 and state["state"] == "done" and report and "Sanitizer" not in err, f"damaged core, seed {seed}", (status, err, state))
    shutil.rmtree(f"{store}/{ident}", ignore_errors=True)
finish()
