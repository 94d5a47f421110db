# @@needs: kernel
# @@exclusive: its files that do not answer would be noticed by other tests
# What takes more than a second is shown on a terminal, as one line that is taken back, and nowhere else: here the
# functions of a program on a file system that does not answer.
[ -c /dev/fuse ] || { echo "there is no /dev/fuse"; exit 67; }
exec python3 - <<'EOF'
import os, pty, re, subprocess, sys, time

DTRACE, TRIGGER, TMP = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP"))
mnt = f"{TMP}/slow"
os.mkdir(mnt)
fs = subprocess.Popen([f"{TRIGGER}/hangfs", mnt, f"{TRIGGER}/deep", f"{TRIGGER}/chain"], stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
first = fs.stdout.readline()
if first != "ready\n":
    print("FUSE cannot be mounted here:", first)
    sys.exit(67)
spin = subprocess.Popen([f"{mnt}/deep", "spin", "1000000000"])
while open(f"/proc/{spin.pid}/stat").read().split()[13:14] < ["3"]:
    time.sleep(0.01)
fs.stdin.write("hang open\n")
fs.stdin.flush()
while not fs.stdout.readline().endswith("done\n"):
    pass
argv = [DTRACE, "-qn", "pid$target:a.out:leaf:entry { exit(0); }", "-p", str(spin.pid), "-x", "filewait=250ms"]


def on_terminal(env):
    """Everything that comes to the terminal."""
    main, other = pty.openpty()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env={**os.environ, **env})
    os.close(other)
    text = b""
    try:
        while chunk := os.read(main, 65536):
            text += chunk
    except OSError:  # nobody has the other end any more
        pass
    os.close(main)
    return p.wait(), text.decode()


bad = []
code, text = on_terminal({"TERM": "xterm"})
if code != 1 or not re.search(r"\r\x1b\[Kdtrace: finding probes, [12] s\r\x1b\[K.*dtrace: .*does not answer", text, re.S):
    bad.append(f"on a terminal: {code} {text!r}")
code, text = on_terminal({"TERM": "dumb"})
if code != 1 or "finding probes" in text or "\x1b" in text:
    bad.append(f"on a terminal without cursor: {code} {text!r}")
p = subprocess.run(argv, capture_output=True, text=True)
if p.returncode != 1 or "finding probes" in p.stderr or "\x1b" in p.stderr:
    bad.append(f"not on a terminal: {p.returncode} {p.stderr!r}")
spin.kill()
fs.stdin.close()
fs.wait()
spin.wait()
print("\n".join(bad))
sys.exit(bool(bad))
EOF
