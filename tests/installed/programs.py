# SPDX-License-Identifier: MIT
"""Programs with probes of their own, made with what the packages bring; and programs that use the library."""
import functools, shutil

from suite import DATA, DTRACE, MISSING, WANTED, Failed, Skip, complaints, dtrace, expect, folder, need, run, test

FIRED = "shop$target:::sale { printf(\"%s %d\\n\", copyinstr(arg0), arg1); }"


@test("programs/a header of -h, an object of -G")
def classic():
    """As a build does that knows DTrace: definition, header, object, link."""
    cc = need("cc", "gcc")
    with folder() as tmp:
        for name in ("shop.d", "shop.c"):
            shutil.copy(f"{DATA}/{name}", tmp)
        run([DTRACE, "-h", "-s", "shop.d"], cwd=tmp)
        run([cc, "-O2", "-c", "shop.c"], cwd=tmp)
        run([DTRACE, "-G", "-s", "shop.d", "-o", "probes.o", "shop.o"], cwd=tmp)
        run([cc, "-o", "shop", "shop.o", "probes.o"], cwd=tmp)
        out = dtrace("-qn", "shop$target:::sale { printf(\"%s %d\\n\", stringof(args[0]), args[1]); }", "-c", "./shop", cwd=tmp)
        expect(out, r"\Atea 4\ntea 5\ntea 6\n")


@test("programs/<dtrace/sdt.h>")
def sdt():
    cc = need("cc", "gcc")
    with folder() as tmp:
        with open(f"{tmp}/s.c", "w", encoding="utf-8") as f:
            f.write('#include <dtrace/sdt.h>\nint main(void) { DTRACE_PROBE2(shop, sale, "tea", 4); return 0; }\n')
        run([cc, "-O2", "-o", "s", "s.c"], cwd=tmp)
        expect(dtrace("-qn", FIRED, "-c", "./s", cwd=tmp), r"^tea 4$")


@test("programs/libusdt")
def libusdt():
    """The library, and the archive in a program that is linked with the shared C library."""
    cc, pkgconfig = need("cc", "gcc"), need("pkg-config", "pkg-config")
    with folder() as tmp:
        flags = run([pkgconfig, "--cflags", "--libs", "libusdt"])[1].split()
        run([cc, "-O2", "-o", "made", f"{DATA}/made.c", *flags], cwd=tmp)
        expect(run(["ldd", "./made"], cwd=tmp)[1], r"libusdt\.so\.0 => (/usr)?/lib/")
        expect(dtrace("-Zqn", FIRED, "-c", "./made", cwd=tmp), r"^tea 4$")
        run([cc, "-O2", "-o", "archive", f"{DATA}/made.c", "-l:libusdt.a", "-pthread"], cwd=tmp)
        expect(dtrace("-Zqn", FIRED, "-c", "./archive", cwd=tmp), r"^tea 4$")


def built(package):
    """Whoever needs a package of a language is skipped where it could not be built, or be installed."""
    code, out, _ = run(["dpkg-query", "-W", "-f", "${Status}", package], check=False)
    if code or "ok installed" not in out:
        raise Skip(f"the package {package} is not installed" + f": not built without {' '.join(MISSING)}" * bool(MISSING))


# program, its package, our package, file of data/
MODULES = {
    "Python": ("python3", "python3", "python3-usdt", "shop.py"),
    "Ruby": ("ruby", "ruby", "ruby-usdt", "shop.rb"),
    "Perl": ("perl", "perl", "libdevel-dtrace-provider-perl", "shop.pl"),
    "Lua": ("lua5.4", "lua5.4", "lua-usdt", "shop.lua"),
    "PHP": ("php", "php-cli", "php-usdt", "shop.php"),
    "Node.js": ("node", "nodejs", "node-dtrace-provider", "shop.js"),
}
NODE = {"NODE_PATH": "/usr/lib/x86_64-linux-gnu/nodejs:/usr/lib/nodejs:/usr/share/nodejs"}  # Debian's node has these built in


def module(program, package, ours, source):
    built(ours)
    with folder() as tmp:
        shutil.copy(f"{DATA}/{source}", tmp)
        expect(dtrace("-Zqn", FIRED, "-c", f"{need(program, package)} {source}", cwd=tmp, env=NODE), r"^tea 4$")


for name, row in MODULES.items():
    test(f"programs/probes in {name}")(functools.partial(module, *row))


@test("programs/a consumer in C")
def consumer():
    cc, pkgconfig = need("cc", "gcc"), need("pkg-config", "pkg-config")
    with folder() as tmp:
        flags = run([pkgconfig, "--cflags", "--libs", "libdtrace"])[1].split()
        run([cc, "-O2", "-Wall", "-Werror", "-o", "topsys", f"{WANTED}/examples/topsys.c", *flags], cwd=tmp)
        with open(f"{tmp}/many.py", "w", encoding="utf-8") as f:
            f.write("import os\nfor i in range(1000): os.getppid()\n")
        expect(run(["ldd", "./topsys"], cwd=tmp)[1], r"libdtrace\.so\.1 => (/usr)?/lib/")
        _, out, err = run(["./topsys", "-n", "3", "/usr/bin/python3 many.py"], cwd=tmp)
        expect(out, r"getppid +1000 ")
        if complaints(err):
            raise Failed(err)


@test("programs/a consumer in Python")
def consumer_python():
    built("python3-libdtrace")
    expect(run(["/usr/bin/python3", f"{DATA}/consumer.py"])[1], r"^calls 100$", r"^frame .*known_here")


@test("programs/a consumer in Node.js")
def consumer_node():
    node = need("node", "nodejs")
    built("node-libdtrace")
    expect(run([node, f"{DATA}/consumer.js"], env=NODE)[1], r"^calls 100$")
