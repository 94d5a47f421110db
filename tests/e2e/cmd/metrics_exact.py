# SPDX-License-Identifier: MIT
"""fathom-metrics counts exactly: rows that are one series, normalised rows, series that expire, sums above 2^53 (metrics_exact.sh)."""
import subprocess
import time

from metrics_case import EXPORTER, Exporter, begin, calls, check, end, samples, script, until


def once(*argv, seconds="0.1"):
    p = subprocess.run([EXPORTER, "--once", seconds, *argv], capture_output=True, text=True)
    return p.returncode, samples(p.stdout), p.stderr


def processes():
    """Stacks of processes that come and go are the same text: every call is counted, once, and no counter falls."""
    for name, more in (("plain", ""), ("thrown", "tick-20ms { trunc(@stacks); clear(@q); }")):
        script(name + ".d", "syscall::getppid:entry /execname == ME/ { @stacks[ustack()] = count(); @all = count(); @q[ustack()] = quantize(3); @n[ustack()] = sum(2); }" + more)
        x, last, n = Exporter(name + ".d"), {}, 0
        for i in range(12):
            calls(3 + i)
            n += 3 + i
            s = x.scrape()
            for key, value in last.items():
                if key[0].endswith(("_total", "_count", "_bucket")):
                    check(f"{name}: {key} falls", int(s.get(key, 0)) >= int(value), True)
            last = s
        for metric, want in (("stacks_total", n), ("all_total", n), ("q_count", n), ("n_total", 2 * n)):
            got = x.family(f"dtrace_{name}_{metric}")
            check(f"{name}: {metric} of all stacks", sum(map(int, got.values())), want)
        # each process has its own addresses: where names are equal, so are the texts
        stacks = x.family(f"dtrace_{name}_stacks_total")
        check(f"{name}: stacks are merged", len(stacks) < 12, True)
        check("status", (x.stop(), "has fallen" in x.said()), (0, False))


def coincide():
    """Keys that differ in bytes that no label can have: one series, whose value is that of all its rows."""
    script("collide.d", r'''BEGIN { @c["a\377"] = sum(1); @c["a\376"] = sum(10); @m["a\377"] = min(5); @m["a\376"] = min(3); @x["a\377"] = max(5); @x["a\376"] = max(3);
        @d["a\377"] = stddev(10); @d["a\376"] = stddev(30); @a["a\377"] = avg(1); @a["a\376"] = avg(6); @q["a\377"] = quantize(1); @q["a\376"] = quantize(1); }''')
    status, s, err = once("collide.d")
    check("coinciding", {n: s.get((f"dtrace_collide_{n}", (("key0", "a?"),))) for n in ("c_total", "m", "x", "d", "a_sum", "a_count", "q_count")},
          {"c_total": "11", "m": "3", "x": "5", "d": "10", "a_sum": "7", "a_count": "2", "q_count": "2"})
    check("coinciding", (status, err), (0, ""))


def expire():
    """A series lives as long as one of its rows changes, and what its other rows have counted stays."""
    script("expire.d", r'''BEGIN { @c["a\377"] = sum(100); @norm = sum(100); @h = quantize(5); @plain = sum(100); normalize(@norm, 3); normalize(@h, 3); @least["a\377"] = min(2); @least["a\376"] = min(9); }
        syscall::getppid:entry /execname == ME/ { @c["a\376"] = sum(1); @least["a\376"] = min(7); }''')
    x = Exporter("-e", "0.5", "expire.d")
    calls(1)
    until("BEGIN", lambda: x.family("dtrace_expire_c_total"), {("a?",): "101"})
    check("normalised", x.family("dtrace_expire_norm_total"), {(): "33"})
    time.sleep(0.6)
    calls(1)
    check("after a while without a change", x.family("dtrace_expire_c_total"), {("a?",): "102"})
    check("its least value", x.family("dtrace_expire_least") in ({("a?",): "2"}, {}), True)
    calls(5)
    check("its rows begin anew", x.family("dtrace_expire_c_total"), {("a?",): "107"})
    def others():
        s = x.scrape()
        return [k[0] for k in s if k[0] in ("dtrace_expire_norm_total", "dtrace_expire_plain_total", "dtrace_expire_h_count", "dtrace_expire_c_total")]
    until("all expire, those with a factor, too", others, [])
    calls(1)
    check("and begin at zero", x.family("dtrace_expire_c_total"), {("a?",): "1"})
    check("status", (x.stop(), x.said()), (0, ""))


def living():
    """live() is a gauge of bytes, which falls; a key of which nothing is alive is no sample, or 0, until something is again. Addresses of the kernel are those of all processes."""
    script("living.d", r'''BEGIN { @a["x"] = live(0xffff000000001000, 10); @a["x"] = live(0xffff000000002000, 20); @a["y"] = live(0xffff000000003000, 5); @a["z"] = live(0xffff000000004000, 5000000000); }
        syscall::getppid:entry /execname == ME && n++ == 0/ { dead(0xffff000000001000); dead(0xffff000000003000); @a["z"] = live(0xffff000000004000, 7); }
        syscall::getppid:entry /execname == ME && n == 3/ { @a["y"] = live(0xffff000000005000, 6); }''')
    x = Exporter("living.d")
    until("all", lambda: x.family("dtrace_living_a"), {("x",): "30", ("y",): "5", ("z",): "5000000000"})
    calls(1)
    until("less", lambda: {k: v for k, v in x.family("dtrace_living_a").items() if v != "0"}, {("x",): "20", ("z",): "7"})
    calls(2)
    until("more", lambda: x.family("dtrace_living_a"), {("x",): "20", ("y",): "6", ("z",): "7"})
    check("status", (x.stop(), x.said()), (0, ""))


def normalized():
    """A factor divides what was counted in all, not what was counted between two trunc()s."""
    script("norm.d", r'''syscall::getppid:entry /execname == ME/ { @n = sum(2); @h = quantize(5); @m = max(10); @a = avg(9); @u = count(); @z = count(); }
        BEGIN { normalize(@n, 3); normalize(@h, 3); normalize(@m, 3); normalize(@a, 3); normalize(@u, 3); denormalize(@u); normalize(@z, 0); }
        tick-10ms { trunc(@n); clear(@h); }''')
    x = Exporter("norm.d")
    for _ in range(9):
        calls(1)
        x.scrape()
        time.sleep(0.015)
    s = x.scrape()
    check("normalised", {n: s.get((f"dtrace_norm_{n}", ())) for n in ("n_total", "h_count", "m", "a_sum", "a_count", "u_total", "z_total")},
          {"n_total": "6", "h_count": "3", "m": "3", "a_sum": "27", "a_count": "9", "u_total": "9", "z_total": "9"})
    check("status", x.stop(), 0)
    check("a factor of 0 is a fault", "normaliz" in x.said(), True)
    script("rate.d", r'''BEGIN { @rate = sum(1000); } tick-100ms { normalize(@rate, ++n * 10); }''')
    x = Exporter("rate.d")
    until("a value that a growing factor lowers is no counter", lambda: (x.scrape(), "dtrace_rate_rate has fallen: it is no counter" in x.said())[1], True)
    x.stop()


def large():
    """Integers above 2^53, which a double cannot hold, are printed as they are."""
    script("large.d", r'''/* @metric gauge type=gauge */ BEGIN { @big = sum(9007199254740993); @gauge = sum(-9007199254740993); @most = max(9223372036854775807);
        @mean = avg(9007199254740993); @zero = sum(9223372036854775807); @zero = sum(1); }''')
    status, s, err = once("large.d")
    check("large", {n: s.get((f"dtrace_large_{n}", ())) for n in ("big_total", "gauge", "most", "mean_sum", "zero_total")},
          {"big_total": "9007199254740993", "gauge": "-9007199254740993", "most": "9223372036854775807", "mean_sum": "9007199254740993",
           "zero_total": "-9223372036854775808"})  # as the kernel's sum: it wraps


begin()
for test in (coincide, large, living, normalized, expire, processes):
    test()
end()
