#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's providers: Fathom and bpftrace side by side, medians and ratios.

    sudo bench/kernel.py [--build build] [--runs 3] [--only NAME] [--json bench/kernel.json]

A context switch, a block transfer, a message: nanoseconds added by the tracer (bench/kernel.c), less the same loop untraced just
before. The transfers are those of a zram disk of 16 MB that is made for it, because a real disk takes a thousand times as long as a
probe. First table: the wall time of a whole command that enables every probe of a provider (sdt: of its subsystem sched) and ends in BEGIN,
less that of a program without any. List: 'dtrace -l' of everything.
"""
import subprocess, sys, tempfile

from pairs import Bench, added, build_c, wall_and_rss

SWITCHES, READS, MESSAGES = 400_000, 200_000, 40_000
READY = 'BEGIN { printf("READY\\n"); } '

SWITCH_D = """sched:::on-cpu { self->ts = timestamp; }
sched:::off-cpu /self->ts/ { @[execname] = quantize(timestamp - self->ts); self->ts = 0; }"""
SWITCH_B = """tracepoint:sched:sched_switch {
    $t = @s[tid]; if ($t) { @[comm] = hist(nsecs - $t); delete(@s[tid]); }
    @s[args->next_pid] = nsecs; }"""
IO_D = """io:::start { ts[arg0] = timestamp; }
io:::done /ts[arg0]/ { @[args[1]->dev_statname] = quantize(timestamp - ts[arg0]); ts[arg0] = 0; }"""
IO_B = """tracepoint:block:block_bio_queue { @ts[args->dev, args->sector] = nsecs; }
tracepoint:block:block_bio_complete /@ts[args->dev, args->sector]/ {
    @[args->dev] = hist(nsecs - @ts[args->dev, args->sector]); delete(@ts[args->dev, args->sector]); }"""
TCP_D = """tcp:::send { @s[args[2]->ip_daddr] = sum(args[2]->ip_plength - args[4]->tcp_offset); }
tcp:::receive { @r[args[2]->ip_saddr] = sum(args[2]->ip_plength - args[4]->tcp_offset); }"""
TCP_B = """tracepoint:net:net_dev_queue { $s = (struct sk_buff *)args->skbaddr;
    if ($s->protocol == 8) { $h = (struct iphdr *)($s->head + $s->network_header);
        if ($h->protocol == 6) { $t = (struct tcphdr *)($s->head + $s->transport_header); $l = $h->tot_len;
            @s[ntop($h->daddr)] = sum((($l >> 8) | (($l & 0xff) << 8)) - $h->ihl * 4 - $t->doff * 4); } } }
tracepoint:net:netif_receive_skb { $s = (struct sk_buff *)args->skbaddr;
    if ($s->protocol == 8) { $h = (struct iphdr *)$s->data;
        if ($h->protocol == 6) { $t = (struct tcphdr *)($s->data + $h->ihl * 4); $l = $h->tot_len;
            @r[ntop($h->saddr)] = sum((($l >> 8) | (($l & 0xff) << 8)) - $h->ihl * 4 - $t->doff * 4); } } }"""
PROVIDERS = ["proc:::", "sched:::", "io:::", "vminfo:::", "sysinfo:::", "ip:::", "tcp:::", "udp:::", "udplite:::", "sctp:::", "icmp:::",
             "mib:::", "lockstat:::", "fsinfo:::", "nfs*:::", "smb:::", "fpuinfo:::", "sdt:sched::", "rawtp:::sched_*", "fbt:::entry",
             "cpc:::page_faults-all-1", "profile:::profile-97", "syscall:::"]


class Zram:
    """A disk whose transfers take no longer than copying, or None where there is no zram."""

    def __enter__(self):
        try:
            with open("/sys/class/zram-control/hot_add") as f:
                self.number = f.read().strip()
            with open(f"/sys/block/zram{self.number}/disksize", "w") as f:
                f.write("16M")
            return f"/dev/zram{self.number}"
        except OSError as e:
            print(f"no zram disk: {e}")
            self.number = None

    def __exit__(self, *_):
        if self.number is not None:
            with open("/sys/class/zram-control/hot_remove", "w") as f:
                f.write(self.number)


def main():
    bench = Bench("kernel", width=44, unit_width=5, alone="-")
    dt, row = bench.dtrace, bench.row
    tmp = tempfile.mkdtemp()
    load, exe = build_c(tmp, "load"), build_c(tmp, "kernel", "-lpthread")

    def cost(work, argv):
        """Nanoseconds that the tracer adds to one turn of the work."""
        return added(lambda: float(subprocess.run([exe] + work, check=True, capture_output=True, text=True).stdout), argv)

    def both(name, work, d, b, target):
        row(name, lambda: cost(work, [dt, "-qn", READY + d]),
            lambda: cost(work, ["bpftrace", "-B", "line", "-e", READY + b]), "ns", target)

    def first_table(text):
        """Milliseconds over a program without probes: the least of five, each measured just behind the other."""
        wall = lambda d: wall_and_rss(load, [dt, "-qn", d])[0]
        trivial = min(wall("BEGIN { exit(0); }") for _ in range(5))
        return min(wall(text + " { @[probename] = count(); } BEGIN { exit(0); }") for _ in range(5)) - trivial

    bench.heading(load=False)
    both("switch: time on the CPU by program", ["switch", str(SWITCHES)], SWITCH_D, SWITCH_B, "<= 0.5")
    both("tcp: bytes by address", ["tcp", str(MESSAGES)], TCP_D, TCP_B, "<= 0.6")
    if bench.wants("io: latency by device"):
        with Zram() as disk:
            if disk:
                both("io: latency by device", ["read", disk, str(READS)], IO_D, IO_B, "<= 0.6")
    for p in PROVIDERS:
        if bench.wants(f"first table: {p}") and subprocess.run([dt, "-en", p + " {}"], capture_output=True).returncode:
            continue  # this kernel has none of its probes
        row(f"first table: {p}", lambda: first_table(p), None, "ms", "<= 30 ms")
    everything = lambda: wall_and_rss(load, [dt, "-l"])
    row("dtrace -l: wall", lambda: everything()[0], None, "ms", "<= 500 ms")
    row("dtrace -l -P sched: wall", lambda: wall_and_rss(load, [dt, "-l", "-P", "sched"])[0], None, "ms", "")
    row("dtrace -lv: wall", lambda: wall_and_rss(load, [dt, "-lv"])[0], None, "ms", "")
    row("dtrace -l: peak memory", lambda: everything()[1] / 1024, None, "MiB", "<= 60 MiB")
    bench.save()
    print(f"raw numbers: {bench.opts.json}")


if __name__ == "__main__":
    sys.exit(main())
