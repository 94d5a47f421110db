# @@exclusive: the consumer must keep up
# Keys that come and go: strings and stacks that no key has any more make room for new ones, so that a session with trunc() can
# last for ever. The tables beside the aggregations hold some thousands of strings and a thousand stacks here, and more come.
cat >"$TMP/drive.py" <<'END'
import subprocess, sys
rounds, each, processes = 30, 3000, 40
dtrace, calls = sys.argv[1:]
script = '''
	BEGIN { printf("go\\n"); }
	syscall::getppid:entry /execname == "calls"/ { @[strjoin("key ", lltostr(n++))] = count(); }
	syscall::close:entry /execname == "calls" && (int)arg0 == -1/ { @s[ustack(500)] = count(); }
	syscall::getpgid:entry /execname == "calls"/ {
		printa("%s %@d\\n", @); printa("%kstack %@d\\n", @s); trunc(@); trunc(@s); printf("go\\n"); }'''
p = subprocess.Popen([dtrace, "-q", "-x", "aggsize=2m", "-n", script], stdout=subprocess.PIPE, text=True)
seen, double, stacks, lost, done = set(), 0, 0, 0, 0
for line in p.stdout:
    if line.startswith("key "):
        key = line.split()[1]
        double += key in seen
        seen.add(key)
    stacks += line == "stack 1\n"
    lost += "lost" in line
    if line != "go\n":
        continue
    if done == rounds:
        p.terminate()
        break
    done += 1
    # each process has a stack of its own: its id is part of it
    for name, n in ("getppid", each), *[("badclose", 1)] * processes, ("pgid", 1):
        subprocess.run([calls, name, str(n)], check=True)
for line in p.stdout:
    pass
p.wait()
print("keys", len(seen), "double", double, "stacks", stacks, "lost", lost)
sys.exit(len(seen) != rounds * each or double or lost or stacks != processes * rounds)
END
timeout $((120 * ${PATIENCE:-1})) python3 "$TMP/drive.py" "$DTRACE" "$TRIGGER/calls" >"$TMP/out" 2>"$TMP/err" && ! grep -q drop "$TMP/err" && exit 0
cat "$TMP/out" "$TMP/err"
exit 1
