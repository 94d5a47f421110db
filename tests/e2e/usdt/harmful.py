# SPDX-License-Identifier: MIT
"""Probes that are known to harm: a program that dies when one of its probes is enabled, and rows of the table that say so.

The program aborts while the counter of its probe "fatal" is not 0. It passes the probe "safe" once for each line that it reads.
"""
import os, signal, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PROVIDER = f"hrm{os.getpid()}x"
REASON = "it ends then"
NROWS = 10
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "probes.h"
const char app_version[] = VERSION;
__attribute__((noinline)) int work(int i)
{
	if (i < 0) {
		ROWS
	}
	if (PROV_FATAL_ENABLED()) {
		PROV_FATAL(i);
		abort();
	}
	PROV_SAFE(i);
	return i + 1;
}
int main(void)
{
	char line[8];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		printf("%d %s\\n", work(atoi(line)), app_version);
	return 0;
}
"""


def check(good, *what):
    if not good:
        print(*what, sep="\n")
        sys.exit(1)


def dtrace(*args, lib="lib", env=None):
    """The exit status, standard output, and errors of a dtrace whose process of -c reads three lines."""
    argv = [DTRACE] + (["-L", lib] if lib else []) + list(args)
    p = subprocess.run(argv, input="1\n2\n3\n", capture_output=True, text=True, env={**os.environ, **(env or {})})
    return p.returncode, p.stdout, p.stderr


def row(name, conditions, probe="fatal"):
    os.makedirs(name, exist_ok=True)
    with open(f"{name}/table.d", "w") as f:
        f.write(f'#pragma D harmful {PROVIDER}:{probe} {conditions} "{REASON}"\n')
    return name


def build():
    with open("probes.d", "w") as f:
        f.write(f"provider {PROVIDER} {{ probe fatal(int); probe safe(int); {' '.join(f'probe row__{i}();' for i in range(NROWS))} }};\n")
    with open("app.c", "w") as f:
        f.write(PROGRAM.replace("ROWS", " ".join(f"PROV_ROW_{i}();" for i in range(NROWS))).replace("PROV", PROVIDER.upper()))
    subprocess.run([DTRACE, "-h", "-s", "probes.d", "-o", "probes.h"], check=True)
    for version in ("1.4.2", "1.5.0"):
        name = "app" + version[:3].replace(".", "")
        subprocess.run(["gcc", "-O2", "-c", f'-DVERSION="{version}"', "-o", "app.o", "app.c"], check=True)
        subprocess.run([DTRACE, "-G", "-s", "probes.d", "-o", "p.o", "app.o"], check=True)
        subprocess.run(["gcc", "-Wl,--build-id", "app.o", "p.o", "-o", name], check=True)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


ALL = f"{PROVIDER}$target:::"
COUNT = ALL + '{ @[probename] = count(); } END { printa("%s %@d\\n", @); }'
WHOLE = "2 1.4.2\n3 1.4.2\n4 1.4.2\n"
LEFT_OUT = f"the probes {PROVIDER}*:::fatal of 'app14' are left out: {REASON}; -x harmful enables them"


def left_out():
    """The program lives, the other probe fires, and the message comes once, although two clauses mean the probe."""
    status, out, err = dtrace("-qn", COUNT, "-n", ALL + "{}", "-c", "./app14")
    check(status == 0 and WHOLE in out and "safe 3\n" in out and "fatal" not in out and err.count(LEFT_OUT) == 1,
          "a probe that harms is enabled, or not said to be left out", out, err)
    status, out, err = dtrace("-qn", ALL + "fatal {}", "-c", "./app14")
    check(status == 1 and f"hint: it is left out for 'app14': {REASON}; -x harmful enables it all the same" in err, "no reason when it is named", err)
    status, out, err = dtrace("-ln", ALL, "-c", "./app14")
    check(status == 0 and " safe\n" in out and "fatal" not in out and LEFT_OUT in err, "-l", out, err)
    status, out, err = dtrace("-xharmful", "-ln", ALL, "-c", "./app14")
    check(status == 0 and " safe\n" in out and " fatal\n" in out and LEFT_OUT not in err, "-l -x harmful", out, err)


def insisted():
    """With -x harmful the program dies, so that the test means something, and without a row, too."""
    for args, lib in (("-xharmful",), "lib"), ((), None):
        status, out, err = dtrace(*args, "-qn", COUNT, "-c", "./app14", lib=lib)
        check(WHOLE not in out and "fatal 1\n" in out, "the probe is not enabled, or does no harm", out, err)


def conditions():
    """The facts by which a row knows a file, alone and together: one listing, in which each row is about a probe of its own."""
    ident = build_id("app14")
    rows = (("app_version=1.4.*", True), ("app_version=1.[56].*", False), ("no_such_variable=*", False), ("main=*", False),
            ("file=app1[4-6]", True), ("file=app", False), (f"build-id={ident}", True), (f"build-id={ident[:-1]}", False),
            (f"file=app14 app_version=1.4.2 build-id={ident[:8]}*", True), ("file=app14 app_version=1.5.0", False))
    os.makedirs("lib.rows", exist_ok=True)
    with open("lib.rows/table.d", "w") as f:
        for i, (text, _) in enumerate(rows):
            f.write(f'#pragma D harmful {PROVIDER[:4]}*:row-{i} {text} "{REASON}"\n')
    _, out, err = dtrace("-ln", ALL, "-c", "./app14", lib="lib.rows")
    listed = {line.split()[-1] for line in out.splitlines()}
    check(listed >= {"fatal", "safe"}, "a row is about other probes, too", out)
    for i, (text, holds) in enumerate(rows):
        check((f"row-{i}" not in listed) == holds, f"{text}: {holds}", out, err)
    _, out, _ = dtrace("-ln", ALL, "-c", "./app15")
    check(" fatal\n" in out, "another version has the probe", out)


def instead():
    """A probe that D declares over a function takes the place of the file's own, and stands aside with -x harmful."""
    row("lib.instead", "app_version=1.4.*")
    with open("lib.instead/safe.d", "w") as f:
        f.write(f"provider {PROVIDER} {{ probe fatal(int i) = pid:app14:work:entry ((int)arg0); }};\n")
    sums = ALL + 'fatal { @ = sum(args[0]); } END { printa("sum %@d\\n", @); }'
    status, out, err = dtrace("-qn", sums, "-c", "./app14", lib="lib.instead")
    check(status == 0 and WHOLE in out and "sum 6\n" in out, "the function is not probed instead", out, err)
    _, out, _ = dtrace("-xharmful", "-qn", sums, "-c", "./app14", lib="lib.instead")
    check(WHOLE not in out and "sum 1\n" in out, "-x harmful does not enable the file's own", out)


def comes_later():
    """A process that begins while a pattern is traced, and one that runs before."""
    prog = "BEGIN { printf(\"begun\\n\"); } %s*:::{ printf(\"%%s %%d\\n\", probename, arg0); } %s*:::safe /arg0 == 3/ { exit(0); }" % (PROVIDER, PROVIDER)
    for early in (True, False):
        app = early and subprocess.Popen(["./app14"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if early:
            check(app.stdout.readline() == "ready\n", "it does not start")
        tracer = subprocess.Popen([DTRACE, "-L", "lib", "-Zqn", prog], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(tracer.stdout.readline() == "begun\n", "dtrace does not begin")
        if not early:
            app = subprocess.Popen(["./app14"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        seen = ""
        while tracer.poll() is None:  # what it does before it is met is not seen
            if app.poll() is None:
                app.stdin.write("3\n")
                app.stdin.flush()
                app.stdout.readline()
            else:
                tracer.send_signal(signal.SIGINT)
                break
        seen, err = tracer.communicate()
        app.stdin.close()
        check(app.wait() == 0, f"status {app.returncode} of a process that is traced", seen, err)
        check("safe 3\n" in seen and "fatal" not in seen and err.count(LEFT_OUT) == 1, "what was traced", seen, err)


def without_library():
    """The system folder's table counts with option nolibs, too."""
    os.makedirs("system", exist_ok=True)
    os.replace(row("lib.row", "app_version=1.4.*") + "/table.d", "system/harmful.d")
    status, out, err = dtrace("-xnolibs", "-qn", COUNT, "-c", "./app14", lib=None, env={"DTRACE_OPT_SYSLIBDIR": os.path.abspath("system")})
    check(status == 0 and WHOLE in out and LEFT_OUT in err, "-x nolibs", out, err)


os.chdir(TMP)
build()
row("lib", "app_version=1.4.*")
left_out()
insisted()
conditions()
instead()
comes_later()
without_library()
