# ^C runs END, prints the aggregations and ends with status 0; -o appends.
exec python3 - <<'EOF'
import os, signal, subprocess, sys, time
dt, tmp = os.environ["DTRACE"], os.environ["TMP"]
out = os.path.join(tmp, "o")
open(out, "w").write("before\n")
p = subprocess.Popen([dt, "-o", out, "-qn", 'BEGIN { printf("up\\n"); @["k"] = count(); } END { printf("end\\n"); }'])
limit = time.monotonic() + 20
while "up" not in open(out).read() and time.monotonic() < limit:
    time.sleep(0.02)
p.send_signal(signal.SIGINT)
code = p.wait(20)
text = open(out).read()
want = "before\nup\n\nend\n\n" + "  " + "k".ljust(50) + " " + "1".rjust(16) + "\n"
if code or text != want:
    print(code, repr(text)); sys.exit(1)
EOF
