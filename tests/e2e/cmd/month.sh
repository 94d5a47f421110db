# @@exclusive
# A month in the service of an exporter, in short: processes by the hundred thousand, of which most are like others, some execute
# a file that is new, some live in a container and run generated code; keys of strings, stacks and addresses that are printed and
# truncated many times a second; speculations, variables. What dtrace and its maps take stops growing, nothing is dropped, and
# names are found in the end as in the beginning.
n=160000 # process ids are used again several times
[ -n "$SANITIZED" ] && n=16000 # whose memory says nothing
cat >"$TMP/drive.py" <<'END'
import os, re, subprocess, sys
dtrace, month, tmp, n, measures = *sys.argv[1:4], int(sys.argv[4]), not os.environ.get("SANITIZED")
steps = 50
script = '''int calls;
	syscall::getppid:entry /strstr(execname, "month") == execname/ {
		@stacks[ustack(10)] = count();
		@addrs[uaddr(uregs[R_RIP]), tid % 3] = max(timestamp);
		@texts[strjoin("p", lltostr(calls)), execname] = count();
		@few[execname] = quantize(pid);
		self->n = pid; wide[pid] = timestamp; wide[pid] = 0;
		self->spec = speculation();
		calls++;
	}
	syscall::getppid:entry /self->spec/ { speculate(self->spec); printf("spec %d", pid); ustack(3); }
	syscall::getppid:return /self->spec && pid % 2/ { commit(self->spec); }
	syscall::getppid:return /self->spec && pid % 2 == 0/ { discard(self->spec); }
	syscall::getppid:return { self->spec = 0; self->n = 0; }
	tick-100ms {
		printa("text %s %s %@d\\n", @texts); trunc(@texts);
		trunc(@stacks, 10); printa("%k%@d\\n", @stacks); trunc(@stacks);
		trunc(@addrs, 10); printa("%A %d %@d\\n", @addrs); trunc(@addrs);
		clear(@few); printf("\\ncalls %d\\n", calls);
	}'''
d = subprocess.Popen([dtrace, "-q", "-x", "nspec=64", "-x", "aggsize=4m", "-x", "unwindsize=4m", "-x", "debug", "-n", script], text=True,
                     stdout=subprocess.PIPE)
counted, named, specs = 0, 0, 0
def read_until(calls):
    """What dtrace prints until so many calls were counted."""
    global counted, named, specs
    for line in d.stdout:
        if line.startswith("text "):
            counted += int(line.split()[-1])
        named += "`visit" in line
        specs += line.startswith("spec ")
        if line.startswith("calls ") and int(line.split()[1]) >= calls:
            return
    sys.exit("dtrace has ended")
def state():
    """KiB of memory, descriptors, KiB of maps in the kernel."""
    kib = int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{d.pid}/status").read()).group(1))
    fds, maps = os.listdir(f"/proc/{d.pid}/fd"), 0
    for fd in fds:
        try:
            m = re.search(r"memlock:\s+(\d+)", open(f"/proc/{d.pid}/fdinfo/{fd}").read())
        except OSError: # closed meanwhile
            continue
        maps += int(m.group(1)) // 1024 if m else 0
    return kib, len(fds), maps
read_until(0)
m = subprocess.Popen([month, str(n), tmp, str(n // steps)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
states, names = [], []
for line in m.stdout:
    before = named
    read_until(int(line))
    states.append(state())
    names.append(named - before)
    m.stdin.write("\n")
if m.wait():
    sys.exit("the month has failed")
read_until(n)
d.terminate()
d.communicate()
print("memory, descriptors, maps:", states[4::5], "names:", names[4::5], "texts:", counted, "speculations:", specs)
half, end = states[steps // 2], states[-1]
assert counted >= n * 0.999, "keys are missing" # the last ones may not be printed
assert all(names) and specs > n / 4
if measures:
    # Not a part of what it was at the half: on a busy machine the tables are not full by then. They were in the end, with 55 MiB.
    assert end[0] < 80 << 10, "memory" # 160 bytes for each process would be more
    assert end[1] < 1500, "descriptors"
    assert end[2] < half[2] * 1.2 + 4096, "maps"
END
mkdir "$TMP/root"
# the last line of the option debug about what is kept says that something was forgotten
python3 "$TMP/drive.py" "$DTRACE" "$TRIGGER/month" "$TMP/root" $n >"$TMP/out" 2>"$TMP/err" && ! grep 'drop' "$TMP/err" &&
	grep ' kept: ' "$TMP/err" | tail -1 >"$TMP/kept" && grep -q 'process ids' "$TMP/kept" && grep -q '; [0-9]* strings and' "$TMP/kept" &&
	{ [ -n "$SANITIZED" ] || ! grep -q '(0 were forgotten)\|(0 of which no key' "$TMP/kept"; } && exit 0
cat "$TMP/out" "$TMP/err"
exit 1
