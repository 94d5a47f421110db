# SPDX-License-Identifier: MIT
"""Runs every script of examples/ on a workload and checks that its output makes sense.

A row: script arguments; the workload (a line of sh: 'work' and 'calls' are the programs of tests/e2e/trigger under names of their
own, so that those of other tests do not count, $tmp a folder of its own; 'held' waits until the script has printed what it must); what that is, regular expressions for
parts of the output.
A program in a language (MEETS) does what gives it a stack until dtrace knows its helpers: $MET/met is there then (trigger/met). After that it does what the row is about.
The workload is the -c process: a script ends with it, unless it ends by itself.
"""
import concurrent.futures, os, re, subprocess, sys, tempfile, threading

DTRACE, TRIGGER, TMP = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP"))
HELD = 120 * min(int(os.environ.get("PATIENCE", "1")), 5)  # seconds: who waits longer goes on, and what the script has printed is wrong
SECONDS = os.environ.get("PATIENCE", "1")  # of a script that ends by itself: more on a slow machine
LONG = "3600"  # seconds of a script that is to end with its workload, however long that takes
SELF = "-c $TARGET"  # a script about $target gets the program itself, not a shell around it

# 20 transfers of 64 KB to a device of our own, by a dd with a name of its own: other tests have the device before and after
LOOP = ("(cd $tmp && cp /bin/dd calls); truncate -s 8M $tmp/i; d=$(losetup -f --show $tmp/i) && "
        "calls if=/dev/zero of=$d bs=64k count=20 oflag=direct status=none; losetup -d $d")

# three connections in a network of their own, which carry 2000 bytes each, and one that is refused
NET = ("export tmp; unshare -n sh -c 'ip link set lo up; /usr/bin/python3 $tmp/net.py'", """
import socket
s = socket.create_server(("127.0.0.1", 4721))
for i in range(3):
    c = socket.create_connection(("127.0.0.1", 4721)); p, _ = s.accept()
    c.sendall(b"x" * 2000); c.close()
    while p.recv(2000): pass
    p.close()
try: socket.create_connection(("127.0.0.1", 4722))
except ConnectionRefusedError: pass
""")
NET = f"cat >$tmp/net.py <<'EOF'{NET[1]}EOF\n{NET[0]}"

# a name server in a network of its own that answers three of four questions, one of them late
DNS = ("export tmp; unshare -n sh -c 'ip link set lo up; /usr/bin/python3 $tmp/dns.py'", """
import socket, threading, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53))
def serve():
    for i in range(3):
        question, peer = s.recvfrom(500)
        time.sleep(0.02 if b"slow" in question else 0)
        s.sendto(question, peer)
threading.Thread(target=serve, daemon=True).start()
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); c.settimeout(60)
def ask(name, wait=True):
    c.sendto(bytes(12) + b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + bytes([0, 0, 1, 0, 1]), ("127.0.0.1", 53))
    if wait: c.recv(500)
ask("www.example.org"); ask("slow.a.very.deep.test"); ask("localhost"); ask("nobody.test", False)
""")
DNS = f"cat >$tmp/dns.py <<'EOF'{DNS[1]}EOF\n{DNS[0]}"

# a program that waits a tenth of a second for a file system that is frozen
FROZEN = ("truncate -s 16M $tmp/i; d=$(losetup -f --show $tmp/i); mkfs.ext4 -q $d; mkdir $tmp/m; mount $d $tmp/m; fsfreeze -f $tmp/m; "
          "touch $tmp/m/x & until grep -q '^State:.D' /proc/$!/status; do :; done; sleep 0.1; fsfreeze -u $tmp/m; wait; umount $tmp/m; losetup -d $d")

# a connection to an address at which nobody is: its SYN is sent again after a second
NOBODY = """cat >$tmp/net.sh <<'EOF'
ip link add v0 type veth peer name v1; ip addr add 10.79.9.1/24 dev v0; ip link set v0 up; ip link set v1 up
ip neigh add 10.79.9.2 lladdr 02:00:00:00:00:01 dev v0
exec /usr/bin/python3 -c 'import socket; socket.create_connection(("10.79.9.2", 4741))'
EOF
unshare -n sh $tmp/net.sh & held; kill $!"""

# Programs in languages.
PYTHON = """cat >$tmp/w.py <<'EOF'
import os, sys, time
def emit(n): os.write(1, b""); return n
class Worker:
    def run(self, n): return list(map(emit, range(n)))
    def wait(self): time.sleep(0.5)
    def fill(self): return [b'x' * (300000 + i) for i in range(20)]
def meet(): os.write(1, b""); b'x' * 123400; time.sleep(0.05); return os.path.exists(os.environ["MET"] + "/met")
while not meet(): pass
getattr(Worker(), sys.argv[1])(*map(int, sys.argv[2:]))
EOF
exec /usr/bin/python3.11 $tmp/w.py """

NODE = """cat >$tmp/a.c <<'EOF'
#include <node_api.h>
#include <unistd.h>
__attribute__((noinline)) void slow_part(void) { usleep(1200); __asm__ volatile(""); }
static napi_value slow(napi_env env, napi_callback_info info) { usleep(1200); slow_part(); return NULL; }
NAPI_MODULE_INIT() { napi_value f; napi_create_function(env, "slow", 4, slow, NULL, &f); return f; }
EOF
cat >$tmp/a.js <<'EOF'
const slow = require('./a.node'), { existsSync } = require('fs');
function handle() { slow(); }
function later() { for (let i = 0; i < 30; i++) handle(); }
function meet() { slow(); setTimeout(existsSync(process.env.MET + '/met') ? later : meet, 50); }
meet();
EOF
gcc -shared -fPIC -O1 -g -I/usr/include/node -o $tmp/a.node $tmp/a.c
exec /usr/bin/node $tmp/a.js"""

BUSY = """cat >$tmp/w.rb <<'EOF'
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
def met() = File.exist?(ENV["MET"] + "/met")
until met do fib(15) end
start = Process.times.utime
until Process.times.utime > start + 1 do [15].each { |n| fib(n) } end
EOF
exec /usr/bin/ruby $tmp/w.rb"""

# a web server with PHP, in a network of its own, and someone who asks it until it is known, and ten times more
PHP = """cat >$tmp/index.php <<'EOF'
<?php
class Config { function load($n) { return file_exists("/nonexistent/$n.ini"); } }
function page() { return array_map(function ($n) { return (new Config)->load($n); }, ["site"]); }
page(); echo "hello";
EOF
cat >$tmp/ask.py <<'EOF'
import os, time, urllib.request
left = 10
while left:
    time.sleep(0.05)
    left -= os.path.exists(os.environ["MET"] + "/met")
    try: urllib.request.urlopen("http://127.0.0.1:4751/").read()
    except OSError: left = 10 # it does not listen yet
EOF
cp /usr/bin/php8.2 $tmp/php8.2web
export tmp; unshare -n sh -c 'ip link set lo up; $tmp/php8.2web -q -S 127.0.0.1:4751 -t $tmp 2>/dev/null & /usr/bin/python3 $tmp/ask.py; kill $!'"""

ROWS = {
    "addonlat.d":     ("a.node slow*", NODE, [r"slow_part, us\n\n(\S.*\n)*?handle at \S*/a\.js line 2\n", r"slow, us\n\n(\S.*\n)*?handle at \S*/a\.js line 2\n(node`.*\n)*later at \S*/a\.js line 3\n(.*\n)*?\n +value(.*\n)*? +(2048|4096|8192|\d{5,}) \|@"]),
    "callflow.d":     (SELF, "work map 2", [r"=> mmap +\d+ us \(0x0, 0x10000\)", r"<= munmap += 0, \d+ us"]),
    "callrate.d":     ("", "while :; do calls write 1000; sleep 0.1; done & held; kill $!", [r"TIME +CALLS +ERRORS +WRITTEN\n",
                       r"20\d\d \w+ +\d+ [\d:]+ +[1-9]\d{3,} +\d+ +[1-9]\d{4,}\n"]),
    "cgroups.d":      (LONG, LOOP + "; " + NET + "; work spin 600", [r"\S+ +\d+ +\d{7,} +\d{4,}\n"]),
    "changes.d":      ("", "touch $tmp/a; chmod 600 $tmp/a; mv $tmp/a $tmp/b; rm $tmp/b; rmdir $tmp/nope",
                       [r"chmod +fchmodat\d? +0 \S*/a\n", r"mv +rename\w* +0 \S*/a -> \S*/b\n",
                        r"rm +unlinkat +0 \S*/b\n", r"rmdir +rmdir +2 \S*/nope\n"]),
    "connlat.d":      ("", NET, [r"python3: 127\.0\.0\.1 port 4722 refused the connection after \d+ us\n",
                       r"python3 to 127\.0\.0\.1 port 4721, us *\n +value.*\n(.*\n)*? +\d+ \|@"]),
    "connections.d":  ("", "work connect 2", [r"(work +connect +111 127\.0\.0\.1 port 9\n[^$]*){2}"]),
    "dnslatency.d":   ("", DNS, [r"python3\S* asked 127\.0\.0\.1 for slow\.a\.very\.deep\.test: ([2-9]\d{4}|\d{6,}) us\n", r"for www\.example\.org: \d+ us\n",
                       r"answers of 127\.0\.0\.1, us *\n +value.*\n(.*\n)*? +\d+ \|@", r"for nobody\.test: 1 not answered\n", r"for localhost: 0 not answered\n"]),
    "errorcore.d":    (f"close EBADF calls {TMP}", "calls badclose 100", [r"calls\[\d+\]: close\(\) has failed, errno 9\n *\d+ \S+/core\.\d+\n"]),
    "errors.d":       ("work", "work connect 3", [r"work +connect +ECONNREFUSED +3\n"]),
    "execs.d":        ("", "/bin/true one; sh -c /no/such", [r"sh +/bin/true one\n", r"sh +/no/such \(failed\)\n"]),
    "family.d":       ("", "work fork 3; calls badclose 20", [r"work +clone\w* +3 +0 +\d+\n", r"calls +close +\d+ +20 +\d+\n"]),
    "faults.d":       ("", "work map 50", [r"work +\d+ +\d+ +\d+ +\d+\n"]),
    "fdbytes.d":      ("", "calls write 100", [r"calls +\d+ +3 /dev/null +1000 +0\n"]),
    "firstcalls.d":   ("5 calls", "calls getppid 2000", [r"(?s)^( +\d+ us +\d+ calls +\w+\(0x\w+, 0x\w+\) = -?\d+\n){5}\n?$"]),
    "firsterror.d":   ("EBADF calls", "calls badclose 1", [r"calls\[\d+\] close\(0xffffffff, 0x\w+\): errno 9\n( +\S+\n)+"]),
    "firstlook.d":    ("60", "work spin 300; calls badclose 100000", [r"(?s)Who was on a CPU.*milliseconds\?\n\n +\S+ +(own code|kernel) +\d+\n",
                       r"which error, how often\?\n\n(.*\n)*? +calls +close +EBADF +100000\n"]),
    "forks.d":        ("", "while :; do work fork 7; sleep 0.1; done & held; kill $!", [r"work +\d+ clone\w* +7\n"]),
    "fslatency.d":    ("", "dd if=/dev/zero of=/dev/shm/fslatency.$$ bs=4k count=100 conv=fsync status=none; cat /dev/shm/fslatency.$$ >/dev/null; rm /dev/shm/fslatency.$$",
                       [r"tmpfs write, us *\n +value.*\n(.*\n)*? +\d+ \|@", r"tmpfs read, us *\n", r"tmpfs synchronize, us *\n", r"tmpfs open, us *\n",
                        r"ON +LONGEST +MICROSECONDS FILE\n(\S+ +\w+ +\d+ \S.*\n)+"]),
    "funccounts.d":   (SELF + " a.out", "chain 50", [r"chain +inner +50\n", r"chain +middle +50\n"]),
    "heatmap.d":      ("write", "calls write 500; sleep 1; calls write 500", [r"min \.-+\. max", r"\n +\d+ .*\| +\d{3,}\n(.*\n)*? +\d+ .*\| +\d{3,}\n"]),
    "hotlocks.d":     (SELF, "locks", [r"locks`plain +\w+ +109 +4 +\d{5,} +\d{4,}\n", r"locks`rw +\w+ +18 +3 +\d+ +\d+\n", r"\nlocks`(locker|writer|reader)\S*\n(\S+\n)*\d+ us waited\n"]),
    "interrupts.d":   (LONG, LOOP, [r"softirq +block devices +\d+\n", r"softirq +(timers|RCU|scheduler) +[1-9]\d*\n"]),
    "iolatency.d":    (LONG, LOOP, [r"loop\d+ +write, us *\n +value.*\n(.*\n)*? +\d+ \|@"]),
    "iotop.d":        ("", LOOP, [r"calls +loop\d+ +W +1310720 <none>\n"]),
    "kernellocks.d":  ("", FROZEN, [r"touch rw-block\n( +\S+\n)+\d{5,} us\n"]),
    "kernelstacks.d": ("", "dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null", [r"^dd\n( +vmlinux`\S+\n)+ +\S*entry_SYSCALL\S*\n\d+ samples"]),
    "langcalls.d":    ("write", PYTHON + "run 25", [r"^libc\.so\.6`write\S*\n(python3\.11`\S+\n)+  \[ \S*w\.py:2 \(emit\) \]\n(python3\.11`\S+\n)+  \[ \S*w\.py:4 \(run\) \]\n"
                        r"(python3\.11`\S+\n)+  \[ \S*w\.py:9 \(<module>\) \]\n(.*\n)+?[12]\d times\n"]),
    "langmalloc.d":   ("", PYTHON + "fill", [r"^libc\.so\.6`malloc\n(.*\n)*?  \[ \S*w\.py:6 \(<listcomp>\) \]\n  \[ \S*w\.py:6 \(fill\) \]\n(.*\n)+?60\d{5} bytes\n"]),
    "langoffcpu.d":   ("", PYTHON + "wait", [r"nanosleep\S*\n(python3\.11`\S+\n)+  \[ \S*w\.py:5 \(wait\) \]\n(python3\.11`\S+\n)*  \[ \S*w\.py:9 \(<module>\) \]\n"
                        r"(.*\n)+?([5-9]\d\d|\d{4,}) ms\n"]),
    "langprofile.d":  ("", BUSY, [r"(  \[ \S*w\.rb:1 \(fib\) \]\n)+  \[ \S*w\.rb:5 \(block in <main>\) \]\n(.*\n)*?  \[ \S*w\.rb:5 \(<main>\) \]\n(.*\n)*?\d+\n"]),
    "latency.d":      ("close", "calls badclose 2000", [r"\n  calls, us +\n +value +-+ Distribution -+ count *\n(.*\n)*? +\d+ \|@+ +\d+ *\n"]),
    "lockwait.d":     ("", "work lock 20", [r"^\S.*\n( +\S.*\n)+\d+ us", r"work, ns\n(.*\n)*? +(524288|\d{7,}) \|@+"]),
    "mallocs.d":      (SELF, "work sync 3", [r"^    .*\n(    .*\n)*\d+ bytes\n", r"value +-+ Distribution"]),
    "memgrow.d":      ("", "work map 20", [r"work +\d+ +\d+ +(1[3-9]\d\d|[2-9]\d\d\d) +(6[4-9]\d|[7-9]\d\d)\n"]),
    "mmapstacks.d":   (SELF + " work", "work map 20", [r"^work\n( +\S+\n)+1280 KiB in 20 [c]alls"]),
    "offcpu.d":       ("work", "work nap 20", [r"^work\n( +\S+\n)+ +\S*nanosleep\S*\n( *\S*\n)+[1-9]\d* ms"]),
    "cpuflame.d":     (LONG, "work spin 600", [r"<svg [\s\S]*@cpu[\s\S]*\"r(?:work)\"[\s\S]*n(?:work)`[\s\S]*</svg>"]),
    "latencymap.d":   ("read 2", "work nap 20", [r"<svg [\s\S]*@latency_ns\[[\s\S]*\"unit\":\"ns\"[\s\S]*</svg>"]),
    "oncpu.d":        (LONG, "work spin 300", [r"PROGRAM +IN +SAMPLES\n", r"work +user +\d{2,}\n"]),
    "openfail.d":     ("", "calls open 5000", [r"calls +missing +5000 /no/such/file\n"]),
    "opens.d":        ("", "cat /etc/hostname /no/such >/dev/null 2>&1", [r"cat +3 +0 /etc/hostname\n", r"cat +-1 +2 /no/such\n"]),
    "outliers.d":     ("poll 1", "work poll 3", [r"work\[\d+\] poll\(0x0, 0x0, 0x1\)\n( +\S+\n)*took \d{4,} us, returned 0, errno 0\n"]),
    "phpfiles.d":     ("php8.2web", PHP, [r"/nonexistent/site\.ini\n(.*\n)*?  \[ \[internal function\] \(file_exists\) \]\n  \[ \S*index\.php:2 \(Config->load\) \]\n"
                        r"  \[ \S*index\.php:3 \(\{closure\}\) \]\n(.*\n)*?  \[ \[internal function\] \(array_map\) \]\n  \[ \S*index\.php:3 \(page\) \]\n"
                        r"  \[ \S*index\.php:4 \(\{main\}\) \]\n(.*\n)*?\d+ times"]),
    "pollers.d":      ("", "work poll 30; work nap 20", [r"work +\d+ poll +30 +30\n", r"work +\d+ (clock_)?nanosleep +20 +20\n"]),
    "pyflow.d":       (SELF + " formatyear calendar.py", "/usr/bin/python3.11 -m calendar 2026",
                       [r"^ +0 us +\d+ +-> formatyear \(calendar\.py\)\n", r"^ +\d+ us +\d+ {5}-> \w+ \(calendar\.py\)\n",
                        r"^ +\d+ us +\d+ +<- formatyear\n"]),
    "runqlat.d":      (SECONDS, "work nap 50; held", [r"all threads, us *\n +value.*\n(.*\n)*? +\d+ \|@", r"PROGRAM +LONGEST, US\n(\S.* +\d+\n)+"]),
    "rwsize.d":       ("", "calls write 40", [r"calls +write \(bytes\) +\n +value.*\n.*\n +8 \|@{40} 40 *\n"]),
    "signals.d":      ("", "work kill 2", [r"work +SIGUSR1 +\d+ sent\n(.*\n)*?.*work +\(test\) +\d+ sent\n"]),
    "sleeps.d":       ("", "work nap 15", [r"work +15 +1000 +1000 +\d+\n"]),
    "slowfunc.d":     (SELF + " a.out middle", "chain 20", [r"ns\n +value +-+ Distribution", r" +RETURNED +TIMES\n( +\d+ +20\n)"]),
    "slowcalls.d":    ("20", "mkfifo $tmp/f; cat $tmp/f & exec 3>$tmp/f; until grep -q '^0 ' /proc/$!/syscall; do :; done; sleep 0.03; "
                       "exec 3>&-; wait", [r"cat +read +([2-9]\d{4}|\d{6,}) us\n"]),
    "syncs.d":        ("", "work sync 4", [r"work +fsync\(3\) \d+ us\n", r"work +fsync +\d+ +4\n"]),
    "syscalltime.d":  ("", "calls getppid 500", [r"calls +getppid +\d+ +500 +[1-9]\d*\n"]),
    "tcplife.d":      ("", NET, [r"(?s)(127\.0\.0\.1 +\d+ 127\.0\.0\.1 +4721 +2000 +[01] +\d+\n.*){3}", r"127\.0\.0\.1 +4721 127\.0\.0\.1 +\d+ +0 +2001 +\d+\n"]),
    "tcpretrans.d":   ("", NOBODY, [r"10\.79\.9\.2 +4741 syn-sent +0\n"]),
    "threads.d":      (SELF, "work spin 400", [r"THREAD +SAMPLES +CALLS\n +\d+ +[2-9]\d +\d+\n"]),
    "userstacks.d":   ("work", "work spin 600", [r"^work\n( +\S+\n)+\d{2,} samples"]),
    "waits.d":        ("", "work nap 20; calls getppid 100", [r"work +(clock_)?nanosleep +([2-9]\d{4}|\d{6,}) +\d{1,5} +[1-9]\d{4,}\n",
                       r"calls +getppid +\d+ +\d+ +\d+\n"]),
    "writetext.d":    (SELF, "work print 2", [r"fd 1, 7 bytes: line\\t1\\n\n(line\t0\n)?fd 1, 7 bytes: line\\t0\\n\n"]),
}
ELSEWHERE = {"pgslow.d", "nfsops.d"}  # scripts that a walk-through of doc/ runs, or declared/nfs.sh, with the server that they need
MEETS = {"addonlat.d", "langcalls.d", "langmalloc.d", "langoffcpu.d", "langprofile.d", "phpfiles.d"}
NEEDS = {**dict.fromkeys(("langcalls.d", "langmalloc.d", "langoffcpu.d", "pyflow.d"), "/usr/bin/python3.11"), "langprofile.d": "/usr/bin/ruby",
         "addonlat.d": "/usr/include/node/node_api.h", "phpfiles.d": "/usr/bin/php8.2"}  # a script's row needs this file
# What a busy machine causes is no fault of a script: strings not in memory yet, drops, files of other processes that take long to be read, a frame
# of Ruby at the instruction at which its structures change.
EXCUSED = r"dtrace: script .* matched|dtrace: cannot read .*: (its file system does not answer|file systems answer too slowly)|dtrace: pid \d+ (has exited|exited with status \d)|dtrace: error on enabled .* invalid address|" \
          r"dtrace: \d+ (more error|.*drop)|dtrace: [1-9] errors? in ustack helpers|dtrace: \d+ times a probe was reached while the kernel ran a program|hint: "


def output(argv, tmp, wanted, env=None):
    """Exit status, stdout and stderr of a run. 'held' in its workload ends when all of 'wanted' was printed, or after a long while."""
    os.mkfifo(os.path.join(tmp, "enough"))
    enough = os.open(os.path.join(tmp, "enough"), os.O_RDWR)

    def go_on():
        os.write(enough, b"\n")
        open(os.path.join(tmp, "met"), "w").close()

    late = threading.Timer(HELD, go_on)
    late.start()
    with open(os.path.join(tmp, "err"), "w+", errors="replace") as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, errors="replace",
                             env={**os.environ, "MET": tmp, **(env or {})})
        out = ""
        for line in p.stdout:
            out += line
            if wanted and all(re.search(w, out, re.M) for w in wanted):
                os.write(enough, b"\n")
        p.wait()
        late.cancel()
        late.join()
        os.close(enough)
        err.seek(0)
        return p.returncode, out, err.read()


def renamed(text, number):
    """With names of the programs that no other run, and no other row, has."""
    return re.sub(r"(?<![/\w])(calls|work)(?![/\w])", rf"\g<1>{os.getpid()}{number:02}", text)


def write_work(path, tmp, work):
    with open(path, "w") as f:
        f.write(f"PATH={tmp}:$PATH tmp={tmp}\nheld() {{ read -r _ <$tmp/enough; }}\n{work}\n")


def program_copy(program, path):
    """By another process: what this one has open for writing, a program that another thread starts at that moment has
    open, too, and a file that is open for writing cannot be executed."""
    subprocess.run(["cp", f"{TRIGGER}/{program}", path], check=True)


def run(name):
    args, work, wanted = ROWS[name]
    mine = lambda text: renamed(text, list(ROWS).index(name))
    args, work, wanted = mine(args), mine(work), [mine(w) for w in wanted]
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        for program in ("calls", "work", "chain", "locks"):
            program_copy(program, os.path.join(tmp, mine(program)))
        sh = os.path.join(tmp, "w")
        write_work(sh, tmp, work)
        target = f"sh {sh}" if SELF not in args else work if work.startswith("/") else f"{tmp}/{work}"
        flags = open(f"examples/{name}").readline().split()[1]  # as the kernel starts it
        argv = [f"{TRIGGER}/met"] * (name in MEETS) + [DTRACE, flags, f"examples/{name}", "-c", target] + args.replace(SELF, "").split()
        code, out, err = output(argv, tmp, wanted if "held" in work else [])
    status = 1 if name == "firsterror.d" else 0
    bad = [f"status {code}"] if code != status else []
    bad += [f"says: {l}" for l in err.split("\n") if l.startswith(("dtrace:", "hint:")) and not re.match(EXCUSED, l)]
    bad += [f"does not match: {w}" for w in wanted if not re.search(w, out, re.M)]
    return [f"{name}: {b}" for b in bad[:5]] + [f"    |{l}" for l in out.split("\n")[:60]] * bool(bad)


def documented(name):
    """The first lines: the interpreter line, then a comment whose first paragraph is a question or an answer."""
    text = open(f"examples/{name}").read()
    good = re.match(r"#!/usr/sbin/dtrace -q?w?Z?s\n/\* SPDX.*\n/\*\n \* .*\?", text) and len(text.split("\n */")[0]) > 150
    return [] if good and os.access(f"examples/{name}", os.X_OK) else [f"{name}: no question in its comment, or not executable"]


def main():
    scripts = sorted(f for f in os.listdir("examples") if f.endswith(".d") and os.path.isfile(f"examples/{f}"))
    wrong = [f"{n}: is in one of examples/ and the table only" for n in set(scripts) ^ (set(ROWS) | ELSEWHERE)]
    wrong += [line for n in ELSEWHERE for line in documented(n)]
    missing = {n: p for n, p in NEEDS.items() if not os.path.exists(p)}
    for n, p in missing.items():
        print(f"{n} is not run: there is no {p}", file=sys.stderr)
    names = [n for n in scripts if n not in missing and n not in ELSEWHERE]
    names = [n for n in names if n in ROWS and sys.argv[1:2] in ([], [n])]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for name, bad in zip(names, pool.map(run, names)):
            wrong += bad + documented(name)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
