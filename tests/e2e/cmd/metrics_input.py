# SPDX-License-Identifier: MIT
"""fathom-metrics and what it is given: annotations, addresses, keys (metrics_input.sh)."""
import socket
import subprocess

from metrics_case import EXPORTER, Exporter, begin, check, end, free_port, samples, script, until

ALLOWED = "allowed: name=NAME, type=counter, type=gauge, labels=NAME,NAME..., and, as the last one, help=TEXT"


def once(*argv, seconds="0.05", **kw):
    p = subprocess.run([EXPORTER, "--once", seconds, *argv], capture_output=True, text=True, **kw)
    return p.returncode, samples(p.stdout), p.stderr


def annotations():
    """A wrong one: one message with file and line, status 1, nothing is traced."""
    for comment, message in (
            ("@metric n colour=red", "3: unknown item 'colour=red' in '@metric'; " + ALLOWED),
            ("@metric n type=blue", "3: unknown item 'type=blue' in '@metric'; " + ALLOWED),
            ("@metric n type=", "3: unknown item 'type=' in '@metric'; " + ALLOWED),
            ("@metric n name = x", "3: unknown item 'name' in '@metric'; " + ALLOWED),
            ("@metric n name=my-metric", "3: 'my-metric' in '@metric' cannot be the name of a metric"),
            ("@metric n name=", "3: '' in '@metric' cannot be the name of a metric"),
            ("@metric n labels=a,,b", "3: '' in '@metric' cannot be the name of a label"),
            ("@metric n labels=1st", "3: '1st' in '@metric' cannot be the name of a label"),
            ("@metric n labels=le", "3: the label 'le' in '@metric' has a meaning of its own"),
            ("@metric n labels=a,a", "3: the label 'a' stands twice in '@metric'"),
            ("@metric n name=a name=b", "3: 'name=b' is the second item of its kind in '@metric'"),
            ("@metric n name=a\n * @metric n name=b", "4: '@n' has a '@metric' in line 3 already"),
            ("@metric", "3: '@metric' names no aggregation"),
            ("@metric m name=a", "3: '@metric m': the script has no aggregation '@m'"),
            ("@metric\tm", "3: '@metric m': the script has no aggregation '@m'"),
            ("x @metric @ name=a", "3: '@metric _': the script has no aggregation '@'")):
        script("wrong.d", 'BEGIN { x = "/* @metric y */ \\" "; }\n/*\n * ' + comment + "\n */\nBEGIN { @n[1, 2] = count(); }\n")
        status, _, err = once("wrong.d")
        check(f"{comment!r}: status", status, 1)
        check(f"{comment!r}: its message", [line for line in err.split("\n") if line][:1] and err.startswith("fathom-metrics: wrong.d:" + message), True)
        check(f"{comment!r}: one message", err.count("\n"), 2)  # and that no script traces
        check(f"{comment!r}: in the exporter's words", err.split("\n")[1], "fathom-metrics: no script traces")
    # beside a good script: that one runs, and the status of a trial says that one did not
    script("good.d", "BEGIN { @c = count(); }")
    status, s, err = once("wrong.d", "good.d")
    check("beside a good one", (status, s[("dtrace_good_c_total", ())], s[("fathom_script_up", (("script", "wrong"),))]), (1, "1", "0"))
    check("good ones alone", once("good.d")[0], 0)
    # what is none, and what is right
    script("right.d", '''/* its '@metric' is below; see @metrics, user@metric */ /*@metric n labels=a type=counter help= A "help" \\ text. */ /* @metric @ name=none_total
 @metric q help=h*/ BEGIN { @metric = count(); x = "@metric z"; y = '"'; @n["a", 2] = count(); @ = count(); @q["a"] = quantize(1); } /* @metric o type=gauge labels=a,b */
 BEGIN { @o[5] = max(5); @key1["x", "y"] = count(); }''')
    status, s, err = once("right.d")
    check("right", (status, s[("dtrace_right_metric_total", ())], s[("dtrace_right_n_total", (("a", "a"), ("key1", "2")))], s[("none_total", ())],
                    s[("dtrace_right_o", (("a", "5"),))]), (0, "1", "1", "1", "5"))
    check("what has no effect", err, "fathom-metrics: right.d:2: '@o' has 1 key: 'labels=' names 2\n")
    script("clash.d", "/* @metric n labels=key1 */ /* @metric q type=gauge */ BEGIN { @n[1, 2] = count(); @q = quantize(1); @k[" + ", ".join("1" for _ in range(17)) + "] = count(); }")
    status, s, err = once("clash.d")
    check("labels once each", s[("dtrace_clash_n_total", (("key1", "1"), ("key1_", "2")))], "1")
    check("what has no effect", sorted(err.split("\n")), ["", "fathom-metrics: clash.d: '@k' is no metric: it has 17 keys, and 16 are the most",
                                                         "fathom-metrics: clash.d:1: 'type=gauge' has no effect: '@q' is a histogram"])


def keys():
    """Labels of any bytes and any length are read back as they were; a stack's text is whole."""
    odd = "a\x01\t\x1b[31m\r\n\"\\b\u00e4"
    script("odd.d", r'''#pragma D option strsize=20000
        BEGIN { @n["a\001\t\033[31m\r\n\"\\b''' + r"\303\244" + r'''", S4] = count(); }'''.replace("S4", '"' + "w" * 15000 + '"'))
    x = Exporter("odd.d")
    until("odd characters", lambda: list(x.family("dtrace_odd_n_total")), [(odd, "w" * 15000)])
    check("status", (x.stop(), x.said()), (0, ""))


def encodings():
    """A script whose name and annotation are no UTF-8: what is served is."""
    name = b"k\xe4se.d"
    with open(name, "wb") as f:
        f.write(b"/* @metric n help=K\xe4se, gez\xe4hlt */ BEGIN { @n = count(); @m = sum(2); }")
    p = subprocess.run([EXPORTER, "--once", "0.05", name], capture_output=True)
    check("its text", (p.returncode, b"# HELP dtrace_k_se_n_total K?se, gez?hlt\n" in p.stdout, b'fathom_script_up{script="k?se"} 1\n' in p.stdout), (0, True, True))
    check("all of it is UTF-8", p.stdout.decode("utf-8", "replace").count("\ufffd"), 0)


def addresses():
    """A port in use, IPv6, and names that have several addresses."""
    script("good.d", "BEGIN { @c = count(); }")
    x = Exporter("good.d", host="localhost")
    def families():
        found = []
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                to = socket.getaddrinfo("localhost", x.port, family, socket.SOCK_STREAM)[0][4]
                socket.create_connection(to[:2], timeout=20).close()
                found.append(family)
            except OSError as e:
                if isinstance(e, ConnectionRefusedError):
                    found.append(f"{family} refused")
        return found
    check("each address of localhost", [f for f in families() if isinstance(f, str)], [])
    for address in (f"127.0.0.1:{x.port}", f"localhost:{x.port}", f"{x.port}"):
        p = subprocess.run([EXPORTER, "-l", address, "good.d"], capture_output=True, text=True, timeout=120)
        check(f"{address}, which is in use", (p.returncode, p.stderr), (1, f"fathom-metrics: cannot listen on '{address}': Address already in use\n"))
    check("status", x.stop(), 0)
    for address, why in (("[::1", "Name or service"), ("[::1]", "there is no port"), ("[::1]x", "':PORT' is expected behind ']'"), ("127.0.0.1:x", "Servname not supported"),
                         ("127.0.0.1:99999", "a port is a number from 1 to 65535"), ("127.0.0.1:0", "a port is"), ("-1", "a port is"), ("127.0.0.1:", "a port is")):
        p = subprocess.run([EXPORTER, "-l", address, "good.d"], capture_output=True, text=True, timeout=120)
        check(f"{address}: {p.stderr}", (p.returncode, p.stderr.startswith(f"fathom-metrics: cannot listen on '{address}': ") and why in p.stderr, p.stderr.count("\n")), (1, True, 1))
    try:
        port = free_port(host="::1")
    except OSError:
        return
    x = Exporter("good.d", host="::1")
    until("IPv6", lambda: x.family("dtrace_good_c_total"), {(): "1"})
    check("status", x.stop(), 0)
    for name in ("--statsd", "--ganglia"):
        for address in ("::1", "[::1]", f"[::1]:{port}"):
            p = subprocess.run([EXPORTER, "-L", name, address, "nonesuch.d"], capture_output=True, text=True, timeout=120)
            check(f"{name} {address}", p.stderr, "fathom-metrics: nonesuch.d: No such file or directory\nfathom-metrics: no script traces\n")


begin()
for test in (annotations, keys, encodings, addresses):
    test()
end()
