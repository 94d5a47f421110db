# @@needs: kernel
# What shells offer at Tab: the candidates of --complete; and what bash, zsh and fish make of them on a terminal, where
# they are installed.
cd "$TMP" || exit 1
cat >evil.c <<'EOF'
#include <unistd.h>
void good(void) {}
void evil(void) {}
int main(void) { good(); evil(); write(1, "ready\n", 6); pause(); }
EOF
cc -c evil.c && objcopy --redefine-sym 'evil=$(touch evil.ran)' evil.o && cc -o evil evil.o || exit 1
exec python3 - <<'EOF'
import os, pty, select, shutil, signal, subprocess, sys, time

DTRACE, MDB, SRC, PATIENCE = os.environ["DTRACE"], os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["SRC"], int(os.environ["PATIENCE"])
bad = []


def expect(request, only=None, has=(), lacks=(), command=DTRACE):
    p = subprocess.run([command, f"--complete={request}"], capture_output=True, text=True)
    got = [line.split("\t")[0] for line in p.stdout.splitlines()]
    if p.returncode or p.stderr or len(set(got)) != len(got):
        bad.append(f"{request}: status {p.returncode}, {p.stderr}, {got[:40]}")
    if set(has) - set(got) or set(lacks) & set(got) or (only is not None and got != only):
        bad.append(f"{request}: {got[:40]}")


expect("probe:sysc", only=["syscall:"])
expect("probe:syscall::openat", only=["syscall::openat:", "syscall::openat2:"])
expect("probe:syscall::openat:", only=["syscall::openat:entry", "syscall::openat:return"])
expect("probe:", has=["syscall:", "profile:", "dtrace:"], lacks=[":"])
expect("probe:a:b:c:d:e", only=[])
expect("provider:sched", only=["sched"])
expect("function:openat2", only=["openat2"])
expect("name:off-c", only=["off-cpu"])
expect("option:ustackfr", only=["ustackframes"])
expect("option:iregs", only=[])  # it has no effect here
expect("option:oformat=f", only=["oformat=flame", "oformat=folded"])
expect("option:escape=", only=["escape=auto", "escape=always", "escape=never"])
expect("option:bufsize=", only=[])
expect("option:nosuch=", only=[])
expect("option:" + "x" * 5000 + "=", only=[])
expect("word:execn", only=["execname"])
expect("word:quant", only=["quantize"])
expect("nosuch:x", only=[])
expect("nosuch", only=[])
expect("probe:" + "x" * 5000, only=[])
expect("command:findjs", only=["findjsobjects"], command=MDB)
expect("command:", has=["stack", "jsprint"], lacks=["$c"], command=MDB)
expect("walker:thr", only=["thread"], command=MDB)
expect("nosuch:x", only=[], command=MDB)
expect("command", only=[], command=MDB)

# A name that a shell would run is not offered.
evil = subprocess.Popen(["./evil"], stdout=subprocess.PIPE)
evil.stdout.readline()
expect(f"probe:pid{evil.pid}:evil:goo", only=[f"pid{evil.pid}:evil:good:"])
expect(f"probe:pid{evil.pid}:evil:$", only=[])
p = subprocess.run([DTRACE, f"--complete=probe:pid{evil.pid}:evil:"], capture_output=True, text=True)
if f"pid{evil.pid}:evil:main:" not in p.stdout or "touch" in p.stdout:
    bad.append("functions of a process: " + p.stdout)


class Shell:
    """A shell on a terminal, to which a user types."""

    def __init__(self, argv, env):
        env = {**os.environ, "TERM": "dumb", "PATH": f"{os.path.dirname(DTRACE)}:{os.path.dirname(MDB)}:{os.environ['PATH']}", **env}
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvpe(argv[0], argv, env)
        self.text, self.name = "", argv[0]
        self.wait("$ ", argv[0])

    def wait(self, want, what):
        end = time.monotonic() + 30 * PATIENCE
        while want not in self.text and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\a", "")
        if want not in self.text:
            bad.append(f"{what}: {self.text!r}")
        self.text = ""

    def type(self, keys, want):
        os.write(self.fd, keys.encode())
        self.wait(want, keys)
        os.write(self.fd, b"\x15#\n")  # takes the line back
        self.wait("$ ", "^U")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def lines_check(shell):
    shell.type("dtrace -n sysc\t", "dtrace -n syscall:")
    shell.type("dtrace -n syscall::openat2\t", "syscall::openat2:")
    shell.type("dtrace -P sysc\t", "dtrace -P syscall")
    shell.type("dtrace -f openat2\t", "dtrace -f openat2")
    shell.type("dtrace -x ustackfr\t", "dtrace -x ustackframes")
    shell.type("dtrace -n 'syscall:::entry { @[execn\t", "@[execname")
    shell.type("dtrace -x oformat=fla\t", "dtrace -x oformat=flame")
    shell.type("mdb -e '0t1::context; ::findjso\t", "; ::findjsobjects")
    shell.type("mdb -e '::walk thr\t", "::walk thread")
    shell.type("mdb -o js\t", "mdb -o json")
    # the commands: their options and the values of these
    shell.type("opensnoop --js\t", "opensnoop --json")
    shell.type(f"opensnoop -p {str(evil.pid)[:-1]}\t\t", str(evil.pid))
    shell.type("opensnoop -t -n evi\t", "opensnoop -t -n evil")
    shell.type("killsnoop -s SIGUSR\t\t" if "zsh" not in shell.name else "killsnoop -s USR\t\t", "USR2")
    shell.type("dtruss -f openat2\t", "dtruss -f openat2")
    shell.type("dtruss -e touc\t", "dtruss -e touch")
    shell.type("funccount -l a.o\t", "funccount -l a.out")
    shell.end()


# The commands under their names, and the files that a shell loads for them.
for folder in ("bin", "bash", "zsh", "fish"):
    os.mkdir(folder)
COMMANDS = [n for n in os.listdir(f"{SRC}/commands") if n not in ("command", "page.py", "meson.build")]
for name in COMMANDS:
    with open(f"bin/{name}", "w") as f:
        f.write(f'#!/bin/sh\nexec {SRC}/commands/command {SRC}/commands/{name} "$@"\n')
    os.chmod(f"bin/{name}", 0o755)
    os.symlink(f"{SRC}/completion/commands.bash", f"bash/{name}")
    os.symlink(f"{SRC}/completion/commands.fish", f"fish/{name}.fish")
with open(f"{SRC}/completion/_fathom.in") as f, open("zsh/_fathom", "w") as g:
    g.write(f.read().replace("@COMMANDS@", " ".join(COMMANDS)))
os.environ["PATH"] = f"{os.getcwd()}/bin:{os.environ['PATH']}"

if shutil.which("bash") and os.path.exists("/usr/share/bash-completion/bash_completion"):
    with open("bashrc", "w") as f:
        f.write(f"PS1='$ '\n. /usr/share/bash-completion/bash_completion\n. {SRC}/completion/dtrace.bash\n. {SRC}/completion/mdb.bash\nfor f in bash/*; do . $f; done\n")
    lines_check(Shell(["bash", "--noprofile", "--rcfile", "bashrc", "-i"], {}))
if shutil.which("zsh"):
    with open(".zshrc", "w") as f:
        f.write(f"PS1='$ '\nfpath=({SRC}/completion $PWD/zsh $fpath)\nautoload -U compinit\ncompinit -u -D\n")
    lines_check(Shell(["zsh", "-i"], {"ZDOTDIR": os.getcwd()}))
if shutil.which("fish"):
    for line, want in (("-e '::findjso", "::findjsobjects"), ("-e '::walk thr", "::walk thread"), ("-o js", "json")):
        p = subprocess.run(["fish", "--no-config", "-c", f'source {SRC}/completion/mdb.fish; complete -C "mdb {line}"'],
                           capture_output=True, text=True, env={**os.environ, "PATH": f"{os.path.dirname(MDB)}:{os.environ['PATH']}"})
        if want not in p.stdout:
            bad.append(f"fish, mdb {line}: {p.stdout}{p.stderr}")
    for line, want in (("-P sysc", "syscall"), ("-n syscall::openat2", "syscall::openat2:"), ("-x ustackfr", "ustackframes"),
                       ("-n 'syscall:::entry { @[execn", "@[execname")):
        p = subprocess.run(["fish", "--no-config", "-c", f'source {SRC}/completion/dtrace.fish; complete -C "dtrace {line}"'],
                           capture_output=True, text=True, env={**os.environ, "PATH": f"{os.path.dirname(DTRACE)}:{os.environ['PATH']}"})
        if want not in p.stdout:
            bad.append(f"fish, {line}: {p.stdout}{p.stderr}")
    for line, want in (("opensnoop --js", "--json"), (f"opensnoop -p {str(evil.pid)[:-1]}", str(evil.pid)), ("opensnoop -n evi", "evil"), ("killsnoop -s USR", "USR2"),
                       ("dtruss -f openat2", "openat2"), ("dtruss -e touc", "touch"), ("funccount -l a.o", "a.out")):
        p = subprocess.run(["fish", "--no-config", "-c", f'source fish/{line.split()[0]}.fish; complete -C "{line}"'],
                           capture_output=True, text=True, env={**os.environ, "PATH": f"{os.path.dirname(DTRACE)}:{os.environ['PATH']}"})
        if want not in p.stdout:
            bad.append(f"fish, {line}: {p.stdout}{p.stderr}")
evil.kill()
if os.path.exists("evil.ran"):
    bad.append("a name of a process was run")
print("\n".join(bad))
sys.exit(bool(bad))
EOF
