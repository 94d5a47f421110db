# SPDX-License-Identifier: MIT
"""Programs that compile functions, call them and free them, so that memory of code and of names is used again for others: with names that
begin alike and are as long, of the same name in other lines, in alphabets of which a character has one or two bytes, longer than 200 bytes.
Before each system call they write down what the runtime says of the stack; jstack() has the same, frame for frame."""
import os, re, subprocess, sys

from helpertrace import DTRACE, PATIENCE, TMP, read, write

TRIGGER = os.environ["TRIGGER"]
ROUNDS = 300

# program: the command, stacks that it notes, its text. It makes the file `noted`, waits for `met` behind its first system call.
PROGRAMS = {
    "reused.pl": (["/usr/bin/perl"], 2 * ROUNDS, r"""
use strict; use warnings; no strict 'refs';
open my $out, '>', 'noted'; $out->autoflush(1);
sub point {
    my ($i, @frames) = (0);
    my ($file, $line) = (__FILE__, NUMBER);
    while (my @c = caller($i++)) {
        push @frames, "$file:$line " . ($c[3] eq "(eval)" ? "(eval)" : "($c[3])");
        ($file, $line) = @c[1, 2];
    }
    print $out join("|", @frames, "$file:$line (main)"), "\n";
    syscall(110); # HERE
    1
}
syscall(110);
for (1 .. 6000) { last if -e 'met'; select undef, undef, undef, 0.02 }
for my $i (1 .. ROUNDS) {
    my $n = sprintf "%06d", $i * 7919 % 999983;
    my $package = sprintf "P%02d", $i % 4;
    eval qq{#line 1 "/usr/share/perl5/Some/Module$n.pm"
package $package; sub name$n { main::point(); 1 } name$n(); main::point(); 1} or die $@;
    undef &{"${package}::name$n"};
    delete ${"${package}::"}{"name$n"};
}
"""),
    "reused.py": (["/usr/bin/python3.11"], 6 * ROUNDS, r"""
import os, sys, time
out = open("noted", "w", buffering=1, encoding="utf8")
def point():
    f, frames, line = sys._getframe(), [], NUMBER
    while f:
        frames.append("%s:%d (%s)" % (f.f_code.co_filename, line or f.f_lineno, f.f_code.co_name))
        f, line = f.f_back, 0
    print("|".join(frames), file=out)
    os.getppid() # HERE
seen = []
def turn(file, name, lines):
    space = {"point": point}
    exec(compile("def %s():%s point()\n" % (name, "\n" * lines), file, "exec"), space)
    f = space.pop(name)
    seen.append(id(f.__code__))
    return f
os.getppid()
for i in range(6000):
    if os.path.exists("met"): break
    time.sleep(0.02)
def renamed(n):
    f = turn("/usr/lib/python3/changed.py", "f", 1)
    f.__code__ = f.__code__.replace(co_name="".join(["name", n])) # a str without a hash
    f()
numbers = ["%06d" % (i * 7919 % 999983) for i in range(ROUNDS)]
for i, n in enumerate(numbers): turn("/usr/lib/python3/dist-packages/some/module%s.py" % n, "name" + n, i % 3)()
for n in numbers: turn("/" + "long/" * 40 + n + ".py", "f", 1)()
for n in numbers: turn("/usr/lib/python3/\xfc\xf6\xe4/a_rather_long_name/and_on/module%s.py" % n, "f", 1)()
for n in numbers: turn("/usr/lib/python3/\u4e2d\u6587/a_rather_long_name/module%s.py" % n, "f", 1)()
for i in range(ROUNDS): turn("/usr/lib/python3/lines.py", "f", i % 5)()
for n in numbers: renamed(n)
if len(set(seen)) > len(seen) / 2: print("code was seldom freed", file=out)
"""),
    "reused.lua": (["/usr/bin/luajit", "-joff"], 2 * ROUNDS, r"""
local out = io.open("noted", "w") out:setvbuf("no")
function point()
  local frames, i = {}, 2
  while debug.getinfo(i, "S").what ~= "C" do
    local d = debug.getinfo(i, "Sln")
    frames[#frames + 1] = d.short_src .. ":" .. d.currentline .. " (" .. (d.name or "main chunk") .. ")"
    i = i + 1
  end
  out:write(table.concat(frames, "|"), "\n")
  os.remove("/nonexistent")
  return 1
end
os.remove("/nonexistent")
for i = 1, 6000 do local f = io.open("met") if f then f:close() break end os.execute("sleep 0.02") end
for i = 0, 2 * ROUNDS - 1 do
  local n = string.format("%06d", i * 7919 % 999983)
  local text = "local function name" .. n .. "() " .. ("\n"):rep(i % 3) .. " point() return 1 end name" .. n .. "() return 1"
  load(text, (i < ROUNDS and "@/usr/share/lua/a_rather_long_name/module" or "@/x/m") .. n .. ".lua")()
  if i % 5 == 0 then collectgarbage() end
end
"""),
}


def frames(text):
    """The frames of the language in each stack of jstack()'s output."""
    found = ["|".join(f for f in re.findall(r"^ +\[ (.*) \]$", stack, re.M) if not re.search(r"^\[C\]|\.lua:\d+ \(point\)", f))
             for stack in text.split("\n\n")]
    return [stack for stack in found if stack]


def line_of(text):
    return next((n for n, line in enumerate(text.splitlines(), 1) if "HERE" in line), 0)


def check(name, command, count, text):
    text = text.lstrip("\n").replace("ROUNDS", str(ROUNDS))
    write({name: text.replace("NUMBER", str(line_of(text)))})
    call = "syscall::unlink:entry" if name.endswith(".lua") else "syscall::getppid:entry"
    for file in ("noted", "met"):
        if os.path.exists(file):
            os.unlink(file)
    run = subprocess.run([TRIGGER + "/met", DTRACE, "-q", "-x", "jstackframes=100", "-x", "jstackstrsize=16k", "-n",
                          call + ' /pid == $target/ { printf("\\n"); jstack(); }', "-c", " ".join([*command, name])],
                         capture_output=True, encoding="utf8", timeout=120 * PATIENCE,
                         env=dict(os.environ, LC_ALL="C.UTF-8", PYTHONUTF8="1"))
    noted, got = read("noted").splitlines(), frames(run.stdout)
    if len(got) == len(noted) + 1:
        got = got[1:]  # the call by which the process may have to be met is not noted
    wrong = [(a, b) for a, b in zip(noted, got) if a != b]
    print(f"{name}: {len(got) - len(wrong)} of {len(noted)} stacks")
    if len(noted) != count or len(got) != count or wrong:
        print(f"{len(noted)} noted, {len(got)} recorded, {count} expected, {len(wrong)} wrong", run.stderr)
        for a, b in wrong[:5]:
            print("noted:   ", a, "\nrecorded:", b)


os.chdir(TMP)
missing = [argv[0] for argv, _, _ in PROGRAMS.values() if not os.path.exists(argv[0])]
if missing:
    print("this test needs", ", ".join(missing))
    sys.exit(67)
for program, (argv, stacks_noted, source) in PROGRAMS.items():
    check(program, argv, stacks_noted, source)
