# SPDX-License-Identifier: MIT
"""What becomes of reports: equal ones, mails, posts, metrics, sections by D scripts."""
import email, email.policy, http.server, os, shutil, subprocess, threading
from captures import *

SOURCE = r"""
__attribute__((noinline)) int one(int *p) { return *p + 1; }
__attribute__((noinline)) int two(int *p) { return *p + 2; }
int main(int argc, char **argv) { wait_for_it(); return argc > 1 ? one(NULL) : two(NULL); }
"""
program = compiled("equal", SOURCE)
one, two = Died([program, "1"], "first"), Died([program], "second")
store = store_make()


def same(ident):
    path = f"{store}/{ident}/same"
    return dict(line.split("=", 1) for line in open(path).read().splitlines()) if os.path.exists(path) else {}


# Mails: a program in place of sendmail writes what it gets.
mailer = TMP + "/mailer"
open(mailer, "w").write(f'#!/bin/sh\necho "$@" >>{TMP}/mail.args\ncat >{TMP}/mail.$$\n')
os.chmod(mailer, 0o755)


def mails():
    names = sorted((f for f in os.listdir(TMP) if f.startswith("mail.") and f != "mail.args"), key=lambda f: os.stat(f"{TMP}/{f}").st_mtime_ns)
    return [email.message_from_bytes(open(f"{TMP}/{f}", "rb").read(), policy=email.policy.default) for f in names]


# Posts: a server that is not there at first.
class Handler(http.server.BaseHTTPRequestHandler):
    got, status = [], 200

    def do_POST(self):
        Handler.got.append((self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(Handler.status)
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)  # it answers only from serve_forever() on
url = f"http://127.0.0.1:{server.server_port}/crashes"
scripts = TMP + "/scripts"
os.mkdir(scripts)
open(scripts + "/10-threads.d", "w").write('#!/usr/sbin/dtrace -s\n#pragma D option quiet\nthread:::entry { @ = count(); }\nEND { printa("%@d threads\\n", @); }\n')
open(scripts + "/20-wrong.d", "w").write("nosuch:::probe { }\n")
open(scripts + "/30-open.d", "w").write('BEGIN { printf("never\\n"); exit(0); }\n')
os.chmod(scripts + "/30-open.d", 0o666)  # anybody may write to it
open(scripts + "/40-system.d", "w").write(f'#pragma D option destructive\nBEGIN {{ system("touch {TMP}/owned"); exit(0); }}\n')
os.chmod(TMP, 0o777)
config = store + ".conf"
has_curl = os.path.exists("/usr/bin/curl")
open(config, "w").write(f"mail=root@example.org\nsendmail={mailer}\nmetrics={TMP}/crashes.prom\nscripts={scripts}\n" + (f"post={url}\n" if has_curl else ""))
Handler.status = 503
thread = threading.Thread(target=server.serve_forever, daemon=True)
thread.start()

hostile = {"exe": "/srv/\x1b[31m\"e\\vil\n"}
first = one.entry(store, **hostile)
status, err, report, text, state = analysed(store, first)
check(state["state"] == "done" and report and same(first)["count"] == "1", "the first one", (status, err, state))
sections = {s["name"]: s["text"] for s in report["sections"]}
check(sections.get("10-threads.d", "").strip() == "1 threads" and "nosuch" in sections.get("20-wrong.d", "") and len(sections) == 3 and not os.path.exists(TMP + "/owned"), "sections by D scripts", sections)
check("10-threads.d\n  1 threads" in text, "sections in the text", text[-800:])

# Equal ones: the first and the newest are kept.
others = [one.entry(store, **hostile) for _ in range(3)]
states = [analysed(store, o)[4] for o in others]
check(all(s["signature"] == state["signature"] for s in states), "signatures of equal crashes", states)
check(same(first).get("count") == "4" and same(first).get("last_id") == others[2], "the count", same(first))
check([os.path.exists(f"{store}/{e}") for e in [first, *others]] == [True, False, False, True], "which are kept", os.listdir(store))
# Analysers of equal crashes run beside each other: also if an older crash is counted behind a newer one, the newest is kept.
older, newer = [one.entry(store, **hostile) for _ in range(2)]
for entry in (newer, older):
    subprocess.run([ANALYSE, "--store", store, "--config", config, "analyse", entry], capture_output=True)
told = dict(line.split("=", 1) for line in open(f"{store}/{newer}/capture").read().splitlines()) if os.path.exists(f"{store}/{newer}") else {}
check(same(first).get("count") == "6" and same(first).get("last_id") == newer and same(first).get("last_time_ns") == told.get("time_ns"), "the newest one", (same(first), told))
check([os.path.exists(f"{store}/{e}") for e in (first, others[2], older, newer)] == [True, False, False, True], "which are kept, counted in another order", os.listdir(store))
# The mail names the newer one for both: the older one is no more.
later = [line.split()[0] for line in open(store + "/mail-later").read().splitlines()]
check(later[-2:] == [newer, newer], "which entry the mail names", (later, older, newer))
# The clock was wrong when the last one died.
late = one.entry(store, **{**hostile, "time_ns": str(time.time_ns() + 10**15)})
after = one.entry(store, **hostile)
for entry in (late, after):
    subprocess.run([ANALYSE, "--store", store, "--config", config, "analyse", entry], capture_output=True)
check([os.path.exists(f"{store}/{e}") for e in (newer, late, after)] == [False, False, True], "one of the future is not the newest for ever", os.listdir(store))
different = two.entry(store)
status, err, report, text, other = analysed(store, different)
check(other["signature"] != state["signature"] and same(different)["count"] == "1" and same(first)["count"] == "8", "another crash", (other, state))
alien = one.entry(store, uid="1000", **hostile)
check(analysed(store, alien)[4]["signature"] == state["signature"] and same(first)["count"] == "8", "the same crash of another user", same(first))

# One mail a minute; the rest is a line in the next one.
got = mails()
check(len(got) == 1 and open(TMP + "/mail.args").read() == "-t -oi\n", "one mail", (len(got), got[0].as_string()[:400] if got else ""))
check(got[0]["To"] == "root@example.org" and "has died of SIGSEGV: equal`one+0x" in got[0]["Subject"] and "\x1b" not in got[0].as_string(), "its head", got[0].items())
check("equal`one+0x" in got[0].get_content() and "registers of" in got[0].get_content() and len(got[0].as_bytes()) < 110000, "its text", got[0].get_content()[:300])
subprocess.run([ANALYSE, "--store", store, "--config", config, "analyse"], capture_output=True)
check(len(mails()) == 1, "no second mail in the same minute")
open(store + "/mail", "w").write("last_ns=0\n")
subprocess.run([ANALYSE, "--store", store, "--config", config, "analyse"], capture_output=True)
got = mails()
lines = got[-1].get_content()
check(len(got) == 2 and lines.count("(again)") == 7 and different in lines and alien in lines and not os.path.exists(store + "/mail-later"), "the summary", (len(got), lines))

# The counter.
series = [line for line in open(TMP + "/crashes.prom").read().splitlines() if not line.startswith("#")]
check(len(series) == 2 and any(s.startswith('fathom_crashes_total{exe="/srv/') and s.endswith('signal="SIGSEGV"} 9') and "\x1b" not in s for s in series) and
      f'fathom_crashes_total{{exe="{program}",signal="SIGSEGV"}} 1' in series, "the counter", series)

check(os.stat(TMP + "/crashes.prom").st_mode & 0o777 == 0o644 and os.stat(store + "/tally").st_mode & 0o777 == 0o600, "who may read them")
kept = [line for line in open(store + "/tally").read().splitlines() if not line.startswith("#")]
check(kept == series, "the store's counter", (kept, series))
exporter = os.environ["BUILD"] + "/src/cmd/metrics/fathom-metrics"
if os.path.exists(exporter):
    open(TMP + "/none.d", "w").write("BEGIN { @none = count(); }\n")
    with open(TMP + "/odd", "w") as f:  # lines that are of no use stand between them
        f.write("\n".join(["fathom_crashes_total{exe=\"", kept[0], "fathom_crashes_total{exe=\"a\"} 1", "fathom_crashes_total{exe=\"a\",signal=\"b\"} x", *kept[1:]]))
    for name in (store + "/tally", TMP + "/odd"):
        out = subprocess.run([exporter, "--crashes", name, "-1", "0.1", TMP + "/none.d"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check([line for line in out.stdout.splitlines() if line.startswith("fathom_crashes_total")] == kept and out.stdout.count("# TYPE fathom_crashes_total counter") == 1,
              f"fathom-metrics of {name}", out.stdout + out.stderr)

# Reports that could not be posted wait in the queue.
if has_curl:
    queue = sorted(os.listdir(store + "/queue"))
    check(len(queue) == 10 and queue[0] == first and len(Handler.got) >= 10, "the queue", (queue, len(Handler.got)))
    Handler.got, Handler.status = [], 204
    p = subprocess.run([ANALYSE, "--store", store, "--config", config, "analyse"], capture_output=True, text=True)
    check(p.returncode == 0 and not os.listdir(store + "/queue") and len(Handler.got) == 10, "the queue is sent", (p, os.listdir(store + "/queue")))
    kind, body = Handler.got[0]
    check(kind == "application/json" and json.loads(body) == json.load(open(f"{store}/{first}/report.json")), "what is posted", body[:300])
else:
    print("skip: curl is not installed")
check(not [f for f in os.listdir(f"{store}/{first}") if f not in ("capture", "proc", "log", "core.zst", "report.json", "report.txt", "analysed", "same")], "no other files",
      os.listdir(f"{store}/{first}"))
finish()
