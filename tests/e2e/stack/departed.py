# SPDX-License-Identifier: MIT
"""Programs of new files that end at once: nobody can look at their memory. The first one's stacks say that frames are missing, and how many said so is
told at the end; what its files fix is learned from these, so that the stacks of the second one are whole. A machine that is slow to end the first one
may look at it in time, and one that is slow to read the unwind tables of the file begins the second one before: then it is done again, with another
copy of the file."""
import os, re, shutil, signal, subprocess, sys, time

DTRACE, TMP, PATIENCE = os.environ["DTRACE"], os.environ["TMP"], int(os.environ.get("PATIENCE") or 1)
# The interpreter, which is in the file of the program; a call that is seen; the frame of its function.
PROGRAMS = {
    "lua5.4": ("ends.lua", "local function asks() io.open('/nonexistent/ends') end\nasks() asks() os.exit(true, false)\n", "(asks)"),
    "perl": ("ends.pl", "sub asks { -e '/nonexistent/ends' }\nasks(); asks();\nuse POSIX (); POSIX::_exit(0);\n", "(main::asks)"),
    "php": ("ends.php", "<?php function asks() { @fopen('/nonexistent/ends', 'r'); }\nasks(); asks(); posix_kill(posix_getpid(), 9);\n", "(asks)"),
}
CALLS = """syscall::newfstatat:entry, syscall::openat:entry
    /execname == "NAME" && arg1 && copyinstr(arg1) == "/nonexistent/ends"/ { printf("\\nat %d\\n", pid); jstack(40); }
    tick-20ms /!begun/ { begun = 1; printf("begun\\n"); }"""
# A program of musl's C library, which is its dynamic linker, too; a helper knows its interpreter. That library has no unwind information, so the program
# begins by itself.
TOY = r"""
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>
const int toy_version = 7;
__asm__(".text\n.globl _start\n_start:\n.cfi_startproc\n.cfi_undefined rip\nand $-16, %rsp\ncall toy_main\nhlt\n.cfi_endproc");
__attribute__((noinline)) void toy_run(void)
{
	char path[] = "/nonexistent/ends";
	long nr = SYS_openat;

	__asm__ volatile("xor %%r10d, %%r10d; syscall" : "+a"(nr) : "D"(AT_FDCWD), "S"(path), "d"(O_RDONLY) : "rcx", "r10", "r11", "memory");
}
__attribute__((noinline)) void toy_end(void)
{
	_exit(0);
}
void toy_main(void)
{
	toy_run();
	toy_run();
	toy_end();
}
"""
TOY_HELPER = """#pragma D helper exec "musltoy*"
uint64_t begin, end;
dtrace:helper:attach:
{
	this->version = symaddr("toy_version");
	if (!this->version || *(uint32_t *)this->version != 7)
		udecline("this version is not known");
	begin = symaddr("toy_run");
	end = symaddr("toy_end");
}
dtrace:helper:ustack:
/arg0 >= begin && arg0 < end/
{
	uframe("(asks)");
}
"""
TRIES = 10
bad = []
os.chdir(TMP)


def text_of(path):
    with open(path) as f:
        return f.read()


def wait_for(pattern, paths, tracer):
    """Until one of the files has such a text, or it is too late for it."""
    end = time.monotonic() + 30 * PATIENCE
    while tracer.poll() is None and time.monotonic() < end and not any(re.search(pattern, text_of(path)) for path in paths):
        time.sleep(0.02)


def stacks_of(pid):
    return [part.split("\n", 1)[1] for part in text_of("out").split("\nat ")[1:] if part.split("\n")[0] == str(pid)]


def program_check(name, script, function):
    """Whether it was learned from files; None: the second process has begun before the unwind tables of the file were there."""
    shutil.copy(os.path.realpath(shutil.which(name, path=f"{os.environ['PATH']}:{TMP}/bin")), name)
    with open("out", "w") as out, open("err", "w") as err:
        tracer = subprocess.Popen([DTRACE, "-xdebug", "-xhelper=toy.d", "-x", "jstackstrsize=4k", "-x", "switchrate=50ms", "-n", CALLS.replace("NAME", name)],
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        wait_for("begun", ["out"], tracer)
        pids = []
        for _ in range(2):
            p = subprocess.Popen([os.path.join(TMP, name), script])
            p.wait()
            pids.append(p.pid)
            wait_for(rf"process {pids[0]} has ended before|helpers of process {pids[0]}: '", ["err"], tracer)
        wait_for(rf"\nat {pids[1]}\n(?s:.)*\nat {pids[1]}\n(?s:.)*\n\n", ["out"], tracer)
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    os.unlink(name)
    marked = sum("[no language frames yet]" in s for s in stacks_of(pids[0]))
    said = sum(int(n) for n in re.findall(r"(\d+) user stacks? ha\w+ native frames only", text_of("err")))
    whole = [s for s in stacks_of(pids[1]) if function in s and "[" not in re.sub(r"\[ .* \]", "", s)]
    print(f"{name}: {marked} of {len(stacks_of(pids[0]))} stacks were too early, then {len(whole)} of {len(stacks_of(pids[1]))} are whole")
    if any("[no unwind table yet]" in s for s in stacks_of(pids[1])):
        return None
    if len(whole) < 2 or len(whole) != len(stacks_of(pids[1])) or marked != said:
        bad.append(f"{name}: {said} said\n" + text_of("out") + text_of("err"))
    return re.search(rf"process {pids[0]} has ended before .*: its files fix what they need", text_of("err"))


found = [name for name in PROGRAMS if shutil.which(name)]
with open("toy.d", "w") as f:
    f.write(TOY_HELPER)
if shutil.which("musl-gcc"):
    os.mkdir("bin")
    subprocess.run(["musl-gcc", "-nostartfiles", "-O1", "-fno-toplevel-reorder", "-g", "-xc", "-", "-o", "bin/musltoy"], input=TOY, text=True, check=True)
    PROGRAMS["musltoy"] = ("none", "", "(asks)")
    found.append("musltoy")
else:
    print("skip: musl-gcc is not there (package musl-tools)")
nlearned = 0
for name in found:
    script, text, function = PROGRAMS[name]
    with open(script, "w") as f:
        f.write(text)
    seen = []
    for _ in range(TRIES):
        is_learned = program_check(name, script, function)
        seen.append(is_learned)
        if is_learned or bad:
            break
    if not bad and all(s is None for s in seen):
        bad.append(f"{name}: in {TRIES} tries, the unwind tables of its file were always late")
    nlearned += bool(is_learned)
    if name == "musltoy" and not is_learned and not bad:
        bad.append(f"musltoy: in {TRIES} tries, nothing was learned from its files")
print(f"{nlearned} of {len(found)} were learned from their files")
print("\n".join(bad))
sys.exit(1 if bad else 0 if nlearned else 67)
