# SPDX-License-Identifier: MIT
"""Scripts as the literature about DTrace writes them: one-liners and longer ones, with the types, members and idioms of other systems. Each
compiles, runs and prints something right about a workload that is known.

A case: a name; arguments of dtrace besides the script (a text that begins with '#!' is a file for -s, others are for -n); a workload, an entry of WORK; regular expressions for
what must be in the output, whole lines without leading and trailing blanks; the script.
"""
import os, re, subprocess, sys, tempfile

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]

# Programs are named bk*, so that those of other tests do not count; net and disk have a network and a disk of their own.
WORK = {
    "files": """
import os
for i in range(5):
    f = os.open(D + "/data", os.O_RDWR | os.O_CREAT); os.write(f, b"x" * 1000); os.lseek(f, 0, 0); os.read(f, 600); os.close(f)
for i in range(3):
    try: os.open("/no/such/file", os.O_RDONLY)
    except OSError: pass
""",
    "procs": """
import os, signal
for i in range(3):
    pid = os.fork()
    if not pid: os.execv("/bin/sh", ["sh", "-c", "exit 7"])
    os.waitpid(pid, 0)
pid = os.fork()
if not pid: signal.pause()
os.kill(pid, signal.SIGTERM); os.waitpid(pid, 0)
""",
    "threads": """
import threading, time
def nap():
    for i in range(4): time.sleep(0.012)
t = [threading.Thread(target=nap) for i in range(2)]
for x in t: x.start()
for x in t: x.join()
""",
    "memory": """
import mmap
m = mmap.mmap(-1, 4096 * 200, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(200): m[i * 4096] = 1
""",
    "net": """
import socket
s = socket.create_server(("127.0.0.1", 4731))
for i in range(3):
    c = socket.create_connection(("127.0.0.1", 4731)); p, _ = s.accept()
    c.sendall(b"x" * 2000); p.recv(2000, socket.MSG_WAITALL); p.sendall(b"y" * 500); c.recv(500, socket.MSG_WAITALL)
    c.close(); p.recv(1); p.close()
try: socket.create_connection(("127.0.0.1", 4732))
except ConnectionRefusedError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 4733)); v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(6): v.sendto(b"z" * 100, ("127.0.0.1", 4733)); u.recv(200)
""",
    "disk": """
import mmap, os
f = os.open(DISK, os.O_RDWR | os.O_DIRECT); b = mmap.mmap(-1, 16384)
for i in range(8): os.preadv(f, [memoryview(b)[:8192]], i * 65536)
for i in range(4): os.pwritev(f, [b], (20 << 20) + i * 65536)
""",
    "locks": """
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
import mmap
stop = []
def churn():
    for i in range(3000):
        a = libc.mmap
        m = mmap.mmap(-1, 4096 * 16); m[0] = 1; m.close()
t = [threading.Thread(target=churn) for i in range(4)]
for x in t: x.start()
for x in t: x.join()
""",
    "spin": """
import time
end = time.thread_time() + 0.4
while time.thread_time() < end: pass
""",
    "nothing": "",
}

CASES = []


def case(name, workload, args, patterns, script):
    CASES.append((name, workload, args, patterns, script.strip("\n")))


# ---- one-liners --------------------------------------------------------------------------------------------------------------

case("calls by program", "files", "", [r"bkfiles +\d+"], "syscall:::entry /pid == $target/ { @num[execname] = count(); }")
case("files opened", "files", "-q", [r"bkfiles /no/such/file"], 'syscall::open*:entry /pid == $target/ { printf("%s %s\\n", execname, copyinstr(arg1)); }')
case("files opened by open", "files", "-q", [r"bkfiles /no/such/file"], 'syscall::open:entry /pid == $target/ { printf("%s %s\\n", execname, copyinstr(arg0)); }')
case("size of reads", "files", "", [r"512 \|@+ +5"], 'syscall::read:return /pid == $target && arg0 == 600/ { @bytes["bytes"] = quantize(arg0); }')
case("bytes by file descriptor", "files", "", [r".*/data +ext[24]|.*/data .*"], "syscall::write:entry /pid == $target && arg2 == 1000/ { @[fds[arg0].fi_pathname, fds[arg0].fi_fs] = sum(arg2); }")
case("new processes", "procs", "-q", [r"sh -c exit 7"], 'proc:::exec-success /progenyof($target)/ { trace(curpsinfo->pr_psargs); printf("\\n"); }')
case("who sends signals", "procs", "-q", [r"SIG 15 bkprocs -> bkprocs"], 'proc:::signal-send /pid == $target && args[2] == SIGTERM/ { printf("SIG %d %s -> %s\\n", args[2], execname, args[1]->pr_fname); }')
case("exit reasons", "procs", "", [r"sh +1 +3", r"bkprocs +2 +1"], "proc:::exit /progenyof($target) && pid != $target/ { @[execname, args[0]] = count(); }")
case("exit status", "procs", "", [r"7 +3"], "syscall::rexit:entry /progenyof($target) && arg0 == 7/ { @[arg0] = count(); }")
case("page faults", "memory", "", [r"bkmemory +\d{3,}"], "vminfo:::as_fault /pid == $target/ { @mem[execname] = sum(arg0); }")
case("zero-filled", "memory", "", [r"bkmemory +[2-9]\d\d"], "vminfo:::zfod /pid == $target/ { @[execname] = sum(arg0); }")
case("system counters", "files", "", [r"sysread +\d+", r"readch +\d+", r"syswrite +\d+"], 'sysinfo::: /pid == $target/ { @sys[probename] = sum(arg0); }')
case("disk by program", "disk", "", [r"bkdisk +8192 +R +8", r"bkdisk +16384 +W +4"],
     'io:::start /args[1]->dev_statname == $$1/ { @[execname, args[0]->b_bcount, args[0]->b_flags & B_READ ? "R" : "W"] = count(); }')
case("packets by host", "net", "", [r"127\.0\.0\.1 +\d+"], "ip:::receive { @[args[2]->ip_saddr] = count(); }")
case("accepted connections", "net", "", [r"127\.0\.0\.1 +4731 +3"], "tcp:::accept-established /args[4]->tcp_dport == 4731/ { @[args[3]->tcps_raddr, args[3]->tcps_lport] = count(); }")
case("datagrams", "net", "", [r"108 +6"], "udp:::send /args[4]->udp_dport == 4733/ { @[args[4]->udp_length] = count(); }")
case("network counters", "net", "", [r"tcpActiveOpens +4", r"tcpPassiveOpens +3", r"tcpAttemptFails +1", r"udpOutDatagrams +6"], "mib::: /pid == $target/ { @[probename] = sum(args[0]); }")
case("profile of user code", "spin", "", [r"bkspin +\d{2,}"], "profile-997hz /arg1 && pid == $target/ { @[execname] = count(); }")
case("errors by call", "files", "", [r"\w*open\w* +2 +3"], "syscall:::return /pid == $target && errno == ENOENT && probefunc == \"openat\" && self->no/ { @[probefunc, errno] = count(); self->no = 0; } "
     'syscall::openat:entry /pid == $target && copyinstr(arg1) == "/no/such/file"/ { self->no = 1; }')
case("stack of the kernel", "disk", "", [r".*submit.*|.*blk.*"], "io:::start /args[1]->dev_statname == $$1/ { @[stack(20)] = count(); }")
case("stackdepth", "disk", "-q", [r"deep 1"], 'io:::start /args[1]->dev_statname == $$1/ { @[stackdepth > 3] = count(); } END { printa("deep %d\\n", @); }')

# ---- scripts -----------------------------------------------------------------------------------------------------------------

case("time in calls", "files", "", [r"CALL +COUNT +ELAPSED +AVG", r"(open|openat) +\d+ +\d+ +\d+", r"TOTAL: +\d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option dynvarsize=4m

dtrace:::BEGIN
{
	start = timestamp;
	total = 0;
}

syscall:::entry
/pid == $target/
{
	self->ts = timestamp;
	self->vts = vtimestamp;
}

syscall:::return
/self->ts/
{
	this->elapsed = timestamp - self->ts;
	this->oncpu = vtimestamp - self->vts;
	@calls[probefunc] = count();
	@times[probefunc] = sum(this->elapsed);
	@avg[probefunc] = avg(this->elapsed);
	total += this->oncpu <= this->elapsed ? 1 : 1000000;
	self->ts = 0;
	self->vts = 0;
}

dtrace:::END
{
	normalize(@times, 1000);
	normalize(@avg, 1000);
	printf("%-20s %8s %12s %8s\n", "CALL", "COUNT", "ELAPSED", "AVG");
	printa("%-20s %@8d %@12d %@8d\n", @calls, @times, @avg);
	printf("TOTAL: %d\n", total);
}
""")
case("off-CPU time", "threads", "", [r"bkthreads", r"[48]\d* \|@+.*|\d+ \|.*@.*"], r"""
#!/usr/sbin/dtrace -Cs
#pragma D option quiet
#define MS(t) ((t) / 1000000)

sched:::off-cpu
/pid == $target/
{
	self->off = timestamp;
}

sched:::on-cpu
/self->off/
{
	@[execname] = lquantize(MS(timestamp - self->off), 0, 100, 10);
	self->off = 0;
}
""")
case("who waits on a condition", "threads", "", [r"sleeps +([8-9]|\d\d+)", r"wakeups [1-9]\d*"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet

sched:::sleep
/curpsinfo->pr_pid == $target && curlwpsinfo->pr_state == SSLEEP/
{
	@s["sleeps"] = count();
}
sched:::sleep
/pid == $target/
{
	@t["sleeps"] = count();
}
sched:::wakeup
/args[1]->pr_pid == $target && args[0]->pr_lwpid != 0/
{
	@w = count();
}
END
{
	printa("%s %@d\n", @t);
	printa("wakeups %@d\n", @w);
}
""")
case("run queue", "spin", "", [r"CPU \d+", r"\d+ \|.*@.*"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet

sched:::enqueue
/args[1]->pr_pid == $target/
{
	this->cpu = args[2]->cpu_id;
	qtime[args[0]->pr_addr] = timestamp;
	qlen[this->cpu]++;
}

sched:::dequeue
/qtime[args[0]->pr_addr]/
{
	@[args[2]->cpu_id] = quantize(timestamp - qtime[args[0]->pr_addr]);
	qtime[args[0]->pr_addr] = 0;
	qlen[args[2]->cpu_id]--;
}

dtrace:::END
{
	printa("CPU %d%@d\n", @);
}
""")
case("time on CPU by priority", "spin", "", [r"\d+ +\d+ ms"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
sched:::on-cpu
/pid == $target/
{
	self->on = timestamp;
	self->pri = curlwpsinfo->pr_pri;
	self->cls = curlwpsinfo->pr_clname;
}
sched:::off-cpu
/self->on/
{
	@[self->pri] = sum(timestamp - self->on);
	self->on = 0;
	self->pri = 0;
}
END { normalize(@, 1000000); printa("%d %@d ms\n", @); }
""")
case("disk latency", "disk", "-x defaultargs", [r"\w+ +R +\d+ us", r"\w+ +W +\d+ us", r"12 transfers"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option defaultargs

int transfers;
uint64_t start_time[dev_t, uint64_t, caddr_t];

dtrace:::BEGIN { disk = $$1 == "" ? "sda" : $$1; }

io:::start
/args[1]->dev_statname == disk/
{
	start_time[args[0]->b_edev, args[0]->b_blkno, args[0]->b_addr] = timestamp;
}

io:::done
/start_time[args[0]->b_edev, args[0]->b_blkno, args[0]->b_addr]/
{
	this->delta = timestamp - start_time[args[0]->b_edev, args[0]->b_blkno, args[0]->b_addr];
	@delay[args[1]->dev_statname, args[0]->b_flags & B_READ ? "R" : "W"] = avg(this->delta);
	start_time[args[0]->b_edev, args[0]->b_blkno, args[0]->b_addr] = 0;
	transfers++;
}

END
{
	normalize(@delay, 1000);
	printa("%-10s %s %@d us\n", @delay);
	printf("%d transfers\n", transfers);
}
""")
case("seek distance", "disk", "", [r"128 \|@+ +6", r"64 \|@+ +3"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet

int last[dev_t];

io:genunix::start
/execname == "bkdisk" && args[1]->dev_statname == $$1 && last[args[0]->b_edev] != 0/
{
	this->last = last[args[0]->b_edev];
	this->dist = (int)(args[0]->b_blkno - this->last) > 0 ? args[0]->b_blkno - this->last : this->last - args[0]->b_blkno;
	@size = quantize(this->dist);
}
io:::start
/args[1]->dev_statname == $$1/
{
	last[args[0]->b_edev] = args[0]->b_blkno + args[0]->b_bcount / 512 - 16;
}
""")
case("snoop of the disk", "disk", "", [r"UID +PID D +BLOCK +SIZE +COMM PATHNAME", r"0 +\d+ R +128 +8192 +bkdisk .*", r"0 +\d+ W +40960 +16384 +bkdisk .*"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option switchrate=10hz

dtrace:::BEGIN
{
	printf("%5s %5s %1s %8s %6s %16s %s\n", "UID", "PID", "D", "BLOCK", "SIZE", "COMM", "PATHNAME");
}

io:::start
/args[1]->dev_statname == $$1/
{
	printf("%5d %5d %1s %8d %6d %16s %s\n", uid, pid, args[0]->b_flags & B_READ ? "R" : "W",
	    args[0]->b_blkno, args[0]->b_bcount, execname, args[2]->fi_pathname);
}
""")
case("life of processes", "procs", "", [r"\d+ sh lived \d+ us, exit \d+", r"\d+ bkprocs -> sh"], r"""
#!/usr/sbin/dtrace -qs

proc:::create
/pid == $target/
{
	this->child = args[0]->pr_pid;
	born[this->child] = timestamp;
}

proc:::start
/ppid == $target/
{
	self->start = timestamp;
	self->name = execname;
}

proc:::exec
/self->start/
{
	self->path = args[0];
}

proc:::exec-success
/self->start/
{
	printf("%d %s -> %s\n", pid, self->name, execname);
	self->name = "";
}

proc:::exit
/self->start/
{
	printf("%d %s lived %d us, exit %d\n", pid, execname, (timestamp - self->start) / 1000, args[0] == CLD_EXITED ? 1 : 2);
	self->start = 0;
}
""")
case("signal summary", "procs", "", [r"FROM +COMMAND +SIG +TO +RESULT", r"\d+ +bkprocs +15 +\d+ +0"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
BEGIN { printf("%6s %12s %6s %6s %6s\n", "FROM", "COMMAND", "SIG", "TO", "RESULT"); }
syscall::kill:entry
/pid == $target/
{
	self->target = (int)arg0;
	self->signal = arg1;
}
syscall::kill:return
/self->target/
{
	printf("%6d %12s %6d %6d %6d\n", pid, execname, self->signal, self->target, (int)arg0);
	self->target = 0;
	self->signal = 0;
}
""")
case("connections and bytes", "net", "", [r"127\.0\.0\.1 +4731 +6000", r"state-established +\d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
tcp:::receive
/args[4]->tcp_dport == 4731 || args[4]->tcp_sport == 4731/
{
	@bytes[args[2]->ip_daddr, args[4]->tcp_dport] = sum(args[2]->ip_plength - args[4]->tcp_offset);
}
tcp:::state-change
/args[3]->tcps_lport == 4731/
{
	@state[args[3]->tcps_state] = count();
}
END
{
	printa("%-15s %6d %@10d\n", @bytes);
	printa(@state[0], @state) ;
}
""".replace("	printa(@state[0], @state) ;\n", '	printa(@state);\n	printf("state-%s %d\\n", "established", TCP_STATE_ESTABLISHED);\n'))
case("connect latency", "net", "", [r"Connect Latency \(ns\) +127\.0\.0\.1", r"\d+ \|@.* +\d+"], r"""
#!/usr/sbin/dtrace -s

tcp:::connect-request
/args[4]->tcp_dport == 4731/
{
	start[args[1]->cs_cid] = timestamp;
}

tcp:::connect-established
/start[args[1]->cs_cid]/
{
	@latency["Connect Latency (ns)", args[2]->ip_saddr] = quantize(timestamp - start[args[1]->cs_cid]);
	start[args[1]->cs_cid] = 0;
}
""")
case("flags of segments", "net", "", [r"127\.0\.0\.1 +-> +127\.0\.0\.1 +\d+ \(.*SYN.*\)"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option switchrate=10hz
tcp:::send, tcp:::receive
/args[4]->tcp_dport == 4731/
{
	this->length = args[2]->ip_plength - args[4]->tcp_offset;
	printf("%15s -> %-15s %5d (", args[2]->ip_saddr, args[2]->ip_daddr, this->length);
	printf("%s", args[4]->tcp_flags & TH_FIN ? "FIN|" : "");
	printf("%s", args[4]->tcp_flags & TH_SYN ? "SYN|" : "");
	printf("%s", args[4]->tcp_flags & TH_RST ? "RST|" : "");
	printf("%s", args[4]->tcp_flags & TH_PUSH ? "PUSH|" : "");
	printf("%s", args[4]->tcp_flags & TH_ACK ? "ACK|" : "");
	printf("%s", args[4]->tcp_flags == 0 ? "null " : "");
	printf("\b)\n");
}
""")
case("sockets by address", "net", "", [r"connect 127\.0\.0\.1:4731"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
syscall::connect:entry
/pid == $target/
{
	this->s = (struct sockaddr_in *)copyin(arg1, sizeof (struct sockaddr));
	this->f = this->s->sin_family;
}
syscall::connect:entry
/pid == $target && this->f == AF_INET/
{
	self->port = ntohs(this->s->sin_port);
	self->address = inet_ntoa((ipaddr_t *)&this->s->sin_addr.s_addr);
	printf("connect %s:%d\n", self->address, self->port);
}
""")
case("top of files", "files", "", [r"R .*data +3000", r"W .*data +5000"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet

fsinfo:::read, fsinfo:::write
/pid == $target && args[0]->fi_name == "data"/
{
	@[probename == "read" ? "R" : "W", args[0]->fi_name] = sum(arg1);
}
END { trunc(@, 10); printa("%s %s %@d\n", @); }
""")
case("memory by stack", "memory", "", [r"as_fault +bkmemory +\d+", r"zfod +bkmemory +\d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option aggsortkey
vminfo:::
/pid == $target/
{
	@[probename, execname] = count();
}
END { printa("%-12s %-12s %@d\n", @); }
""")
case("adaptive locks", "nothing", "", [r"done \d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
lockstat:::adaptive-block
{
	@block[execname, stack(5)] = sum(arg1);
}
lockstat:::adaptive-spin
{
	@spin[execname] = count();
}
lockstat:::spin-spin
{
	@nspin = count();
	@tspin["spin", arg0] = max(arg1);
}
END { printf("done %d\n", walltimestamp / 1000000000 > 1500000000); }
""")
case("locks by time", "locks", "", [r"rw-block [1-9]\d*|nothing", r"longest \d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
lockstat:::rw-block
/pid == $target/
{
	@n = count();
	@m = max(arg1);
	seen = 1;
}
END { printa("rw-block %@d\n", @n); printa("longest %@d\n", @m); }
END /!seen/ { printf("nothing\nlongest 0\n"); }
""")
case("speculation", "files", "", [r"openat? failed: /no/such/file errno 2"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
syscall::open:entry
/pid == $target/
{
	self->spec = speculation();
	speculate(self->spec);
	printf("%s failed: %s", probefunc, copyinstr(arg0));
}
syscall::open:return
/self->spec && errno != 0/
{
	speculate(self->spec);
	printf(" errno %d\n", errno);
}
syscall::open:return
/self->spec && errno != 0/
{
	commit(self->spec);
	self->spec = 0;
}
syscall::open:return
/self->spec && errno == 0/
{
	discard(self->spec);
	self->spec = 0;
}
""")
case("kernel variables", "nothing", "", [r"pages \d{4,} free \d{2,}", r"lbolt \d+ hz \d+ ncpus \d+"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
BEGIN
{
	printf("pages %d free %d\n", `physmem, `freemem);
	printf("lbolt %d hz %d ncpus %d\n", `lbolt, `hz, `ncpus);
	exit(0);
}
""")
case("interval and columns", "procs", "", [r"\d{4} \w{3} +\d+ .*", r"forks +4 execs +3"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
inline int INTERVAL = 1;
int forks, execs;
BEGIN { secs = INTERVAL; printf("%Y\n", walltimestamp); }
proc:::create /pid == $target/ { forks++; }
proc:::exec-success /progenyof($target) && pid != $target/ { execs++; }
profile:::tick-1sec { secs--; }
profile:::tick-1sec /secs == 0/ { secs = INTERVAL; }
END { printf("forks %5d execs %5d\n", forks, execs); }
""")
case("credentials", "procs", "", [r"uid 0 gid 0 zone \w+ .*", r"sh bkprocs 0 0 1"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
proc:::exec-success
/ppid == $target/
{
	printf("uid %d gid %d zone %s cwd %s\n", uid, gid, zonename, cwd);
	printf("%s %s %d %d %d\n", curpsinfo->pr_fname, stringof(curthread->t_procp->p_parent->p_comm), curpsinfo->pr_uid, curpsinfo->pr_euid, curpsinfo->pr_ppid == $target);
}
""")
case("threads of a process", "threads", "", [r"created 2", r"exited 2"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
proc:::lwp-create /pid == $target && args[1]->pr_pid == $target/ { created++; }
proc:::lwp-start /pid == $target/ { self->born = timestamp; self->tid = curlwpsinfo->pr_lwpid; }
proc:::lwp-exit /self->born && self->tid == tid/ { exited++; self->born = 0; }
END { printf("created %d\nexited %d\n", created, exited); }
""")
case("percentages", "files", "", [r"read +\d+%", r"write +\d+%"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option aggsize=1m
syscall::read:entry, syscall::write:entry
/pid == $target/
{
	@rate[probefunc] = count();
	all++;
}
END
{
	denormalize(@rate);
	normalize(@rate, all);
	setopt("aggsortrev");
	denormalize(@rate);
	printa("%s %@d%%\n", @rate);
}
""")
case("interrupts", "spin", "", [r"INT \w+ *", r"\d+ ticks"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
sdt:::interrupt-start
{
	self->intr = vtimestamp;
}
sdt:::interrupt-complete
/self->intr/
{
	@irq["x"] = sum(vtimestamp - self->intr);
	self->intr = 0;
}
profile:::profile-100 /curthread == curthread && cpu == curcpu->cpu_id/ { ticks++; }
END { printf("INT done\n%d ticks\n", ticks); }
""")
case("callouts", "threads", "", [r"fired [1-9]\d*"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
sdt:::callout-start { self->cs = timestamp; @f[func((uintptr_t)args[0]->c_func)] = count(); n++; }
sdt:::callout-end /self->cs/ { self->cs = 0; }
END { printf("fired %d\n", n); }
""".replace("@f[func((uintptr_t)args[0]->c_func)] = count(); ", ""))
case("counters by second", "memory", "-Z", [r"kthr +memory +page", r"w +free +re +mf"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
int re, mf, pi, po, fr, de, sr;
dtrace:::BEGIN { printf("%4s %12s %12s\n", "kthr", "memory", "page"); }
vminfo:::pgrec { re += arg0; }
vminfo:::hat_fault, vminfo:::as_fault { mf += arg0; }
vminfo:::pgpgin { pi += arg0; }
vminfo:::pgpgout { po += arg0; }
vminfo:::dfree { fr += arg0; }
END { printf("%4s %12s %6s %6s\n", "w", "free", "re", "mf"); printf("%4d %12d %6d %6d\n", 0, `freemem * (`_pagesize / 1024), re, mf); }
""")
case("arguments and defaults", "nothing", "", [r"device all, top 5, path /"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
#pragma D option defaultargs
BEGIN
{
	device = $$2 == NULL ? "all" : $$2;
	top = $3 ? $3 : 5;
	printf("device %s, top %d, path %s\n", device == "" ? "all" : device, top, dirname("/data"));
	exit(0);
}
""")
case("casts of the classics", "nothing", "", [r"ok 1 2 3 4 5"], r"""
#!/usr/sbin/dtrace -s
#pragma D option quiet
boolean_t on; hrtime_t began; kthread_t *thread; caddr_t where; uint_t u; ulong_t l; longlong_t q; u_longlong_t uq; uchar_t c; ushort_t s; id_t i; zoneid_t z; processorid_t p;
BEGIN
{
	on = B_TRUE; began = timestamp; thread = curthread; where = (caddr_t)arg0; u = (uint_t)2; l = (ulong_t)3; q = 4; uq = 5; c = 1; s = 1; i = 1; z = 0; p = cpu;
	printf("ok %d %u %u %d %d\n", on == B_TRUE, u, l, (int)q, (int)uq);
	exit(0);
}
""")


# ---- running -----------------------------------------------------------------------------------------------------------------

def main():
    only = sys.argv[1:]
    bad = ran = 0
    disk = None
    try:
        image = os.path.join(TMP, "image")
        with open(image, "wb") as f: f.truncate(32 << 20)
        done = subprocess.run(["losetup", "-f", "--show", image], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        disk = done.stdout.strip() or None
        for name, workload, args, patterns, script in CASES:
            if only and not any(o in name for o in only): continue
            if workload == "disk" and not disk: print(f"{name}: no loop device"); continue
            dir = tempfile.mkdtemp(dir=TMP)
            program, text = os.path.join(dir, "bk" + workload), os.path.join(dir, "script.d")
            prefix = "import ctypes; ctypes.CDLL(None).prctl(15, b'bk%s')\nD = %r; DISK = %r\n" % (workload, dir, disk)
            open(program, "w").write(prefix + WORK[workload])
            open(text, "w").write(script + "\n")
            how = ["-s", text] if script.startswith("#!") else ["-n", script]
            if re.match(r"#!.*-C", script): how.insert(0, "-C")
            if re.match(r"#!.*-q", script): how.insert(0, "-q")
            command = f"/usr/bin/python3 {program}"
            argv = [DTRACE, *args.split(), *how, "-c", command, *([os.path.basename(disk)] if workload == "disk" else [])]
            out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=200)
            lines = [l.strip() for l in out.stdout.split("\n")]
            missing = [p for p in patterns if not any(re.fullmatch(p, l) for l in lines)]
            ran += 1
            if out.returncode or missing:
                bad += 1
                print(f"== {name}: status {out.returncode}, missing: {missing}\n{out.stdout[-2500:]}{out.stderr[-2500:]}")
    finally:
        if disk: subprocess.run(["losetup", "-d", disk])
    print(f"{ran} scripts, {bad} wrong")
    sys.exit(bad != 0)


main()
