#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of languages from the first event on: how many are whole, on this machine as it is and beside processes that compute.

    bench/first_stacks.py [--build build | --dtrace /usr/sbin/dtrace] [--only TEXT] [--busy 30] [--seconds 3] [--json FILE] [--verbose]

Each row is one session of dtrace and real work of one runtime, and counts stacks (or processes, where the row says so). Whole: no line of the stack
says that something is missing, and the interpreter's own function is not there without a frame of the language. Known: another process of the same files ran
when the session began, and the same work was done once before what is counted, so that the session has met the files that it opens; else the file is new to the
session. Anywhere: the session does not follow the processes; of those that it sees, only what this program has started counts. --verbose shows the
commonest stack of each kind that is not whole.
"""
import argparse, collections, contextlib, http.client, json, os, platform, re, shutil, signal, socket, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
signal.signal(signal.SIGINT, signal.default_int_handler)  # it ends the sessions: they would take no notice of it if it were ignored here, as a shell has it behind &

MARK = re.compile(r"\[(no language frames yet|language frames cut|helper error|names cut|no unwind table yet|cut)[^\]]*\]")
# Functions that execute code of a language: a stack that has one, and no frame of a language, has lost them.
INTERPRETERS = re.compile(r"`(_PyEval_EvalFrameDefault|Builtins_InterpreterEntryTrampoline|rb_vm_exec|Perl_runops_standard|execute_ex|luaV_execute|beam_jit_\w+)")

PYTHON = "/usr/bin/python3.11"
SCRIPTS = {
    "early.py": "import os\ndef asks():\n    os.stat('/nonexistent/early')\nfor i in range(200):\n    try:\n        asks()\n    except OSError:\n        pass\n",
    "early.js": "const fs = require('fs');\nfunction asks() { try { fs.statSync('/nonexistent/early'); } catch (e) {} }\nfor (let i = 0; i < 200; i++) asks();\n",
    "early.rb": "def asks() = File.exist?('/nonexistent/early')\n200.times { asks }\n",
    "early.pl": "sub asks { -e '/nonexistent/early' }\nasks() for 1 .. 200;\n",
    "early.php": "<?php function asks() { @stat('/nonexistent/early'); clearstatcache(); }\nfor ($i = 0; $i < 200; $i++) asks();\n",
    "early.lua": "local function asks() io.open('/nonexistent/early') end\nfor i = 1, 200 do asks() end\n",
    "forks.py": """import os, time
def asks():
    os.stat('/nonexistent/early')
for i in range(50):
    if not (pid := os.fork()):
        end = time.monotonic() + 0.015
        while time.monotonic() < end:
            try:
                asks()
            except OSError:
                pass
            time.sleep(0.002)
        os._exit(0)
    os.waitpid(pid, 0)
""",
    "deep.py": "import os, sys\nsys.setrecursionlimit(9999)\ndef deep(n):\n    if n:\n        deep(n - 1)\n    else:\n        os.path.exists('/nonexistent/early')\ndeep(1000)\n",
    "deep.js": "const fs = require('fs');\nfunction deep(n) { if (n) deep(n - 1); else try { fs.statSync('/nonexistent/early'); } catch (e) {} }\ndeep(1000);\n",
    "compute.js": "function work(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * (i % 7); return s; }\nfor (;;) work(1e5);\n",
    "test_sample.py": "import json, re, unittest\nclass Sample(unittest.TestCase):\n" + "".join(
        f"    def test_{k}(self):\n        self.assertEqual(json.loads(json.dumps(list(range(2000)))), list(range(2000)))\n        re.findall(r'(a|b)+c', 'ab' * 200)\n"
        for k in range(60)),
    "test_sample.rb": "require 'minitest/autorun'\nrequire 'json'\nclass Sample < Minitest::Test\n" + "".join(
        f"  def test_{k}\n    assert_equal 2000, JSON.parse(JSON.generate((1..2000).to_a)).length\n  end\n" for k in range(60)) + "end\n",
    "test_sample.t": "use Test::More;\nuse Data::Dumper;\nfor my $k (1 .. 300) { my %h = map { $_ => [$_] } 1 .. 500; like(Dumper(\\%h), qr/VAR/); }\ndone_testing();\n",
    "page.php": "<?php function row($i) { return htmlspecialchars(json_encode(['id' => $i, 'name' => str_repeat('x', $i % 50)])); }\n$s = '';\nfor ($i = 0; $i < 3000; $i++) $s .= row($i);\necho strlen($s);\n",
    "server.js": "const http = require('http');\nfunction page() { return JSON.stringify(Array.from({length: 500}, (_, i) => ({id: i, name: 'x'.repeat(i % 50)}))); }\n"
                 "http.createServer((req, res) => res.end(page())).listen(process.argv[2], '127.0.0.1');\n",
    "server.py": "import http.server, json, sys\ndef page():\n    return json.dumps([{'id': i, 'name': 'x' * (i % 50)} for i in range(500)]).encode()\n"
                 "class Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        body = page()\n        self.send_response(200)\n        self.end_headers()\n"
                 "        self.wfile.write(body)\n    def log_message(self, *_):\n        pass\nhttp.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n",
    "server.pl": "use IO::Socket::INET;\nsub page { join ',', map { sprintf '%d %s', $_, 'x' x ($_ % 50) } 1 .. 500 }\nsub answer { my $c = shift; while (<$c>) { last if /^\\r?\\n/ } my $p = page();\n"
                 "    print $c \"HTTP/1.0 200 OK\\r\\nContent-Length: \" . length($p) . \"\\r\\n\\r\\n$p\"; close $c }\n"
                 "my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 9, ReuseAddr => 1) or die;\nwhile (my $c = $s->accept) { answer($c) }\n",
    "server.rb": "require 'socket'\nrequire 'json'\ndef page() = JSON.generate((1..500).map { |i| { id: i, name: 'x' * (i % 50) } })\ndef answer(c)\n  while (l = c.gets) && l != \"\\r\\n\"\n  end\n  p = page\n"
                 "  c.write(\"HTTP/1.0 200 OK\\r\\nContent-Length: #{p.bytesize}\\r\\n\\r\\n#{p}\")\n  c.close\nend\ns = TCPServer.new('127.0.0.1', ARGV[0].to_i)\nloop { answer(s.accept) }\n",
    "work.lua": "local function row(i) return string.format('%d %s', i, ('x'):rep(i % 50)) end\nfor k = 1, 60 do local t = {} for i = 1, 20000 do t[i] = row(i) end table.sort(t) end\n",
    "Work.java": "import java.util.*;\npublic class Work {\n    static String row(int i) { return String.format(\"%d %s\", i, \"x\".repeat(i % 50)); }\n"
                 "    public static void main(String[] a) {\n        for (int k = 0; k < 30; k++) { List<String> t = new ArrayList<>(); for (int i = 0; i < 5000; i++) t.add(row(i)); Collections.sort(t); }\n    }\n}\n",
    "Wait.java": "public class Wait { public static void main(String[] a) throws Exception { System.out.println(\"ready\"); System.in.read(); } }\n",
    "work.erl": "-module(work).\n-export([main/0, row/1]).\nrow(I) -> lists:flatten(io_lib:format(\"~w ~s\", [I, lists:duplicate(I rem 50, $x)])).\n"
                "main() -> [lists:sort([row(I) || I <- lists:seq(1, 5000)]) || _ <- lists:seq(1, 20)], halt().\n",
}
STAT = "syscall::newfstatat:entry, syscall::statx:entry, syscall::stat:entry, syscall::openat:entry"
STARTED = f"progenyof({os.getpid()})"  # other programs of the same name may run on the machine
LANGUAGES = {"Python": [PYTHON, "early.py"], "Node.js": ["node", "early.js"], "Ruby": ["ruby", "early.rb"], "Perl": ["perl", "early.pl"],
             "PHP": ["php", "early.php"], "Lua": ["lua5.4", "early.lua"]}


class Stacks:
    """What a session has printed: records of a process, each with a stack."""

    def __init__(self, text):
        self.records = []
        for part in text.split("\nstack ")[1:]:
            head, *lines = part.split("\n")
            self.records.append((int(head.split()[0]), [line.strip() for line in lines if line.strip() and not line.startswith("dtrace: ")]))

    def fault(self, lines):
        """Why the stack is not whole; None: it is."""
        for line in lines:
            if m := MARK.search(line):
                return m[1]
        if any("`" not in line and not re.fullmatch(r"0x[0-9a-f]+", line) for line in lines):
            return None
        return "no frame of the language" if any(INTERPRETERS.search(line) for line in lines) else None

    def named(self, lines):
        return any("`" not in line and not re.fullmatch(r"0x[0-9a-f]+", line) and not MARK.search(line) for line in lines)


class Table:
    def __init__(self):
        ap = argparse.ArgumentParser()
        ap.add_argument("--build", default=os.path.join(ROOT, "build"))
        ap.add_argument("--dtrace", help="the command; of an installed one, its own library is used")
        ap.add_argument("--only", default="")
        ap.add_argument("--busy", type=int, default=30, help="processes that compute beside the second pass; 0: there is none")
        ap.add_argument("--seconds", type=float, default=3)
        ap.add_argument("--json", default=os.path.join(ROOT, "bench/first_stacks.json"))
        ap.add_argument("--verbose", action="store_true")
        self.opts = ap.parse_args()
        self.dtrace = self.opts.dtrace or os.path.join(os.path.abspath(self.opts.build), "src/cmd/dtrace/dtrace")
        if not self.opts.dtrace:
            os.environ.setdefault("DTRACE_OPT_SYSLIBDIR", os.path.join(ROOT, "dlib"))
        self.rows, self.beside = [], 0

    def options(self):
        return [self.dtrace, "-q", "-x", "jstackframes=2500", "-x", "jstackstrsize=64k", "-x", "bufsize=32m", "-x", "switchrate=20hz"]

    def session(self, clauses, command=None, work=None, meets=False):
        """What dtrace prints of a command of its own, or while work() runs; meets: work() runs once before, of which nothing is returned."""
        if command:
            return subprocess.run([*self.options(), "-n", clauses, "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True).stdout
        with tempfile.TemporaryFile("w+") as out:
            tracer = subprocess.Popen([*self.options(), "-n", clauses + ' tick-10ms /!begun/ { begun = 1; printf("begun\\n"); }'], stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=subprocess.STDOUT, text=True)
            while tracer.poll() is None and b"begun\n" not in os.pread(out.fileno(), 1 << 20, 0):
                time.sleep(0.01)
            met = 0
            if meets:
                work()
                time.sleep(0.5)
                met = os.fstat(out.fileno()).st_size
            work()
            time.sleep(0.2)
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
            return os.pread(out.fileno(), 1 << 30, met).decode(errors="replace")

    def row(self, name, records, fault, unit="stacks"):
        faults = collections.Counter()
        examples = {}
        for r in records:
            if why := fault(r):
                faults[why] += 1
                examples.setdefault(why, collections.Counter())["\n".join(r[1]) if isinstance(r[1], list) else str(r)] += 1
        whole = len(records) - sum(faults.values())
        share = f"{100 * whole / len(records):8.2f} %" if records else f"{'-':>10}"
        print(f"{name:<52} {self.beside:>6} {len(records):>8} {unit:<9} {share}   {', '.join(f'{n} {why}' for why, n in faults.most_common())}", flush=True)
        self.rows.append({"name": name, "beside": self.beside, "unit": unit, "all": len(records), "whole": whole, "faults": faults})
        if self.opts.verbose:
            for why, some in examples.items():
                lines = some.most_common(1)[0][0].split("\n")
                left_out = [f"... {len(lines) - 60} more"] if len(lines) > 60 else []
                print(f"--- {why}, {some.most_common(1)[0][1]} times:", *lines[:30], *left_out, *(lines[-30:] if left_out else lines[30:]), "---", sep="\n")

    def wants(self, name):
        return self.opts.only in name


def processes(stacks):
    """(pid, whether one of its stacks has frames of the language), for each."""
    named = collections.defaultdict(bool)
    for pid, lines in stacks.records:
        named[pid] |= stacks.named(lines)
    return list(named.items())


WAITS = {"Python": [PYTHON, "-c", "print('ready', flush=True); input()"],
         "Node.js": ["node", "-e", "console.log('ready'); process.stdin.resume()"],
         "Ruby": ["ruby", "-e", "$stdout.sync = true; puts 'ready'; gets"],
         "Perl": ["perl", "-e", "$| = 1; print qq(ready\\n); <STDIN>"],
         "PHP": ["php", "-r", "echo 'ready', PHP_EOL; fgets(STDIN);"],
         "Lua": ["lua5.4", "-e", "print('ready') io.stdout:flush() io.read()"],
         "Erlang": ["erl", "-noshell", "-eval", 'io:format("ready~n"), timer:sleep(infinity).'],
         "Java": ["java", "Wait"]}


@contextlib.contextmanager
def waiting(argv):
    """A process of the same files, which has begun, and waits."""
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        p.stdout.readline()
        yield p
    finally:
        os.killpg(p.pid, signal.SIGKILL)  # erl has children
        p.wait()


def early(table):
    """The first calls of programs, and programs that end at once."""
    calls = f'{STAT} /progenyof($target) && copyinstr(probefunc == "stat" ? arg0 : arg1) == "/nonexistent/early"/ {{ printf("\\nstack %d\\n", pid); jstack(); }}'
    for name, command in LANGUAGES.items():
        if not shutil.which(command[0]):
            continue
        anywhere = calls.replace("progenyof($target)", STARTED)
        if table.wants(row := f"{name}: -c, 200 calls at its start"):
            s = Stacks(table.session(calls, " ".join(command)))
            table.row(row, s.records, lambda r: s.fault(r[1]) or (None if s.named(r[1]) else "no frame of the language"))
        if table.wants(row := f"{name}: short programs anywhere, known file"):
            with waiting(WAITS[name]):
                s = Stacks(table.session(anywhere, work=lambda: [subprocess.run(command, stdout=subprocess.DEVNULL) for _ in range(10)]))
            table.row(row, s.records, lambda r: s.fault(r[1]) or (None if s.named(r[1]) else "no frame of the language"))
        if table.wants(row := f"{name}: 10 short programs anywhere, new file"):
            s = Stacks(table.session(anywhere, work=lambda: [subprocess.run(command, stdout=subprocess.DEVNULL) for _ in range(10)]))
            table.row(row, processes(s), lambda r: None if r[1] else "without any frame of the language", "processes")
    if table.wants(row := "Python: 50 forked children of 15 ms"):
        s = Stacks(table.session(calls, f"{PYTHON} forks.py"))
        table.row(row, s.records, lambda r: s.fault(r[1]) or (None if s.named(r[1]) else "no frame of the language"))
    for name, command in (("Python", [PYTHON, "deep.py"]), ("Node.js", ["node", "deep.js"])):
        if shutil.which(command[0]) and table.wants(row := f"{name}: one stack of 1,000 frames, the first"):
            s = Stacks(table.session(calls, " ".join(command)))
            deep = lambda lines: sum(bool(re.search(r"\bdeep\b(?!\.)", line)) for line in lines)
            table.row(row, s.records, lambda r: s.fault(r[1]) or (None if deep(r[1]) == 1001 else f"{deep(r[1])} of 1001 frames"))


def programs(table):
    """Package managers, test suites, servers, builds: samples from the first instruction on, of -c, and where the files are known."""
    work = {
        "Python: pip list": ("python3.11", f"{PYTHON} -m pip list"),
        "Python: a test suite": ("python3.11", f"{PYTHON} -m unittest -q test_sample"),
        "Node.js: npm ls -g": ("node", "npm ls -g"),
        "Node.js: code that computes": ("node", f"timeout {table.opts.seconds} node compute.js"),
        "Ruby: gem list": ("ruby", "gem list"),
        "Ruby: a test suite": ("ruby", "ruby test_sample.rb"),
        "Perl: prove": ("perl", "perl test_sample.t"),
        "PHP: a page": ("php", "php page.php"),
        "Lua: rows": ("lua5.4", "lua5.4 work.lua"),
        "Erlang: a build and its run": ("erl_child_setup|beam.smp", "erl -noshell -eval 'c:c(work),work:main().'"),
        "Java: a build": ("javac|java", "javac Work.java"),
        "Java: a program": ("java", "java Work"),
    }
    for name, (execname, command) in work.items():
        if not shutil.which(command.split()[0]):
            continue
        if name.startswith("Java") and not os.path.exists("Wait.class"):
            subprocess.run(["javac", "Work.java", "Wait.java"], check=True)
        names = " || ".join(f'execname == "{n}"' for n in execname.split("|"))
        clauses = lambda whose: f'profile-997 /({whose}) && ({names})/ {{ printf("\\nstack %d\\n", pid); jstack(); }}'
        if table.wants(row := name + ", -c"):
            s = Stacks(table.session(clauses("progenyof($target)"), command))
            table.row(row, s.records, lambda r: s.fault(r[1]))
        if table.wants(row := name + ", known file"):
            with waiting(WAITS[name.split(":")[0]]) as other:
                s = Stacks(table.session(clauses(f"{STARTED} && pid != {other.pid}"), meets=True,
                                         work=lambda: subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
            table.row(row, s.records, lambda r: s.fault(r[1]))
    servers(table)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def request(port):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        c.request("GET", "/page.php")
        c.getresponse().read()
    finally:
        c.close()


def servers(table):
    """Web servers under load, which run when the session begins."""
    commands = {
        "Node.js": ["node", "server.js", "PORT"],
        "Python": [PYTHON, "server.py", "PORT"],
        "PHP": ["php", "-S", "127.0.0.1:PORT"],
        "Perl": ["perl", "server.pl", "PORT"],
        "Ruby": ["ruby", "server.rb", "PORT"],
    }
    for name, command in commands.items():
        if not shutil.which(command[0]) or not table.wants(row := f"{name}: a web server under load"):
            continue
        port = free_port()
        server = subprocess.Popen([word.replace("PORT", str(port)) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def load():
            end = time.monotonic() + table.opts.seconds
            while time.monotonic() < end:
                request(port)
        try:
            for _ in range(1000):
                try:
                    request(port)
                    break
                except OSError:  # it has not begun to listen
                    time.sleep(0.05)
            s = Stacks(table.session(f'profile-997 /pid == {server.pid}/ {{ printf("\\nstack %d\\n", pid); jstack(); }}', work=load))
        finally:
            server.kill()
            server.wait()
        table.row(row, s.records, lambda r: s.fault(r[1]))


def main():
    table = Table()
    computing = []
    with tempfile.TemporaryDirectory() as tmp:
        exe = os.path.join(tmp, "busy")
        subprocess.run(["gcc", "-O2", "-o", exe, os.path.join(ROOT, "bench/busy.c")], check=True)
        os.chdir(tmp)
        for path, text in SCRIPTS.items():
            with open(path, "w") as f:
                f.write(text)
        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {table.dtrace}")
        print(f"{'what':<52} {'beside':>6} {'all':>8} {'':<9} {'whole':>10}   what is missing", flush=True)
        try:
            for n in (0, table.opts.busy) if table.opts.busy else (0,):
                computing = [subprocess.Popen([exe], start_new_session=True) for _ in range(n)]
                table.beside = n
                early(table)
                programs(table)
        finally:
            for p in computing:
                p.kill()
                p.wait()
            os.chdir(ROOT)
    with open(table.opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "load": os.getloadavg(), "rows": table.rows}, f, indent=1)


main()
