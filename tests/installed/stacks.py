# SPDX-License-Identifier: MIT
"""Stacks of each runtime: a program calls known_here() from known_outer() until a stack of it has both names, in the right order.

The programs (data/) end when there is a file 'seen' in their folder. No helper is named, and no option given: jstack() is all that a user types.
"""
import functools, re, shutil

from suite import DATA, Skip, dtrace, dtrace_until, expect, folder, need, run, test


# package, program, file of data/, command, probe, the frames from the inner to the outer one
ROWS = {
    "python": ("python3", "python3", "known.py", "{exe} known.py", "syscall::getppid:entry", r"known\.py:\d+ \(known_here\)", r"known\.py:\d+ \(known_outer\)"),
    "node": ("nodejs", "node", "known.js", "{exe} known.js", "syscall::umask:entry", r"known_here at \S*known\.js line \d+", r"known_outer at \S*known\.js line \d+"),
    "ruby": ("ruby", "ruby", "known.rb", "{exe} known.rb", "syscall::getppid:entry", r"known\.rb:\d+ \(known_here\)", r"known\.rb:\d+ \(known_outer\)"),
    "php": ("php-cli", "php", "known.php", "{exe} known.php", "syscall::getrusage:entry", r"known\.php:\d+ \(known_here\)", r"known\.php:\d+ \(known_outer\)"),
    "perl": ("perl", "perl", "known.pl", "{exe} known.pl", "syscall::getppid:entry", r"known\.pl:\d+ \(main::known_here\)", r"known\.pl:\d+ \(main::known_outer\)"),
    "lua": ("lua5.4", "lua5.4", "known.lua", "{exe} known.lua", "syscall::unlink:entry", r"known\.lua:\d+ \(.*known_here.*\)", r"known\.lua:\d+ \(.*known_outer.*\)"),
    "luajit": ("luajit", "luajit", "known.lua", "{exe} known.lua", "syscall::unlink:entry", r"known\.lua:\d+ \(.*known_here.*\)", r"known\.lua:\d+ \(.*known_outer.*\)"),
    "erlang": ("erlang-base", "erl", "known.erl", "{exe} -noshell -run known main", "syscall::*stat*:entry", r"known:known_here/1", r"known:known_outer/1"),
    "java": ("default-jre-headless", "java", "known_java.sh", "sh known_java.sh", "syscall::openat:entry",
             r"sun/security/tools/keytool/Main\.doCommands\(", r"sun/security/tools/keytool/Main\.main\("),
}


def node_check(exe):
    """Debian's Node.js is a library without a symbol table, which its helper needs; dtrace says that."""
    out = run(["ldd", exe], check=False)[1]
    library = re.search(r"(libnode\.so\S*) => (\S+)", out)
    if library:
        with open(library[2], "rb") as f:
            if b"v8_Default_embedded_blob_code_" not in f.read():
                raise Skip(f"{library[1]} has no symbol table: stacks of this Node.js have native frames only")


def stack(package, program, source, command, probe, inner, outer):
    exe = need(program, package)
    if program == "node":
        node_check(exe)
    with folder() as tmp:
        shutil.copy(f"{DATA}/{source}", tmp)
        if program == "erl":
            run([need("erlc", "erlang-base"), source], cwd=tmp)
        dtrace_until(["-q", "-x", "switchrate=20hz", "-n", f"{probe} /progenyof($target)/ {{ jstack(); }}", "-c", command.format(exe=exe)],
                     rf"{inner}.*\n(.*\n)*?.*{outer}", tmp)  # "[ ]" is around frames that are interpreted


for name, row in ROWS.items():
    test(f"stacks/{name}")(functools.partial(stack, *row))


def first(package, program, source, command, probe, inner, outer):
    """A process of -c waits until its runtime is known: already its first stack has frames of the language."""
    exe = need(program, package)
    with folder() as tmp:
        shutil.copy(f"{DATA}/{source}", tmp)
        open(f"{tmp}/seen", "w", encoding="utf-8").close()
        expect(dtrace("-q", "-n", f"{probe} /pid == $target/ {{ jstack(); exit(0); }}", "-c", command.format(exe=exe), cwd=tmp), rf"{inner}.*\n(.*\n)*?.*{outer}")


for name in ("python", "ruby", "perl", "lua", "luajit"):  # their programs are the only ones to make the call
    test(f"stacks/the first one of {name}")(functools.partial(first, *ROWS[name]))
