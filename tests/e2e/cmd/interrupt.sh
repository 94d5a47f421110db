# ^C, SIGTERM and SIGHUP (a lost terminal) run END, print the aggregations and end with status 0; -o appends. Under
# nohup SIGHUP does nothing. A signal that comes while the reader of the output is slow loses nothing.
exec python3 - <<'EOF'
import os, signal, subprocess, sys, time
dt, tmp = os.environ["DTRACE"], os.environ["TMP"]
out = os.path.join(tmp, "o")
want = "before\nup\n\nend\n\n" + "  " + "k".ljust(50) + " " + "1".rjust(16) + "\n"
prog = 'BEGIN { printf("up\\n"); @["k"] = count(); } END { printf("end\\n"); }'

def wait_for(text):
    limit = time.monotonic() + 20
    while text not in open(out).read() and time.monotonic() < limit:
        time.sleep(0.02)

for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    open(out, "w").write("before\n")
    p = subprocess.Popen([dt, "-o", out, "-qn", prog])
    wait_for("up")
    p.send_signal(sig)
    code = p.wait(20)
    text = open(out).read()
    if code or text != want:
        print(sig, code, repr(text)); sys.exit(1)

p = subprocess.Popen(["nohup", dt, "-o", out, "-qn", 'tick-1ms /$1 == n++/ { printf("third\\n"); exit(3); } BEGIN { printf("again\\n"); }', "1000"],
                     stdin=subprocess.DEVNULL)
wait_for("again")
p.send_signal(signal.SIGHUP)
if p.wait(20) != 3 or "third" not in open(out).read():
    print("nohup", p.returncode, open(out).read()); sys.exit(1)

# a pipe that is full when the signal comes
p = subprocess.Popen([dt, "-qn", 'tick-1ms { printf("%2000d\\n", n++); } END { printf("end\\n"); @["k"] = count(); }'],
                     stdout=subprocess.PIPE)
limit = time.monotonic() + 20
while "pipe_write" not in open(f"/proc/{p.pid}/wchan").read() and time.monotonic() < limit:
    time.sleep(0.05)
p.send_signal(signal.SIGTERM)
time.sleep(0.1)
text = p.communicate()[0].decode()
if p.returncode or "\nend\n" not in text or not text.endswith("1\n"):
    print("slow reader", p.returncode, repr(text[-200:])); sys.exit(1)
EOF
