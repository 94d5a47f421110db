# The first stacks of a process: each firing is one record, the first of them with native frames until the helper is attached, the others with frames
# of the language. The second process of a runtime finds the helper compiled, and what was read of the runtime's files.
cd "$TMP" || exit 1
slow=$PATIENCE
[ -z "$SANITIZED" ] || slow=$((5 * slow))
# Each program goes on for a second after dtrace knows it.
cat >first.py <<'X'
import os, time
def asks():
    os.getppid()
n, begin, end = 0, time.monotonic(), None
met = "met.%d" % os.getpid()
while time.monotonic() < (end or begin + 300):
    asks()
    n += 1
    time.sleep(0.0002)
    if not end and os.path.exists(met):
        end = time.monotonic() + 1
print("calls", os.getpid(), n)
X
cat >first.js <<'X'
function asks() { return process.ppid; }
const fs = require('fs'), begin = Date.now();
let n = 0, end = 0;
(function turn() {
	for (let i = 0; i < 20; i++, n++)
		asks();
	if (!end && fs.existsSync('met.' + process.pid))
		end = Date.now() + 1000;
	if (Date.now() < (end || begin + 300000))
		setTimeout(turn, 2);
	else
		console.log('calls', process.pid, n);
})();
X
# twice NAME PROGRAM FILE: nothing, or what is wrong. Until its helper is attached, the tracer may take a second of a CPU, which are 997 of its own samples.
twice() {
	name=$1
	command -v "$2" >/dev/null || return
	printf '%s %s\n%s %s\n' "$2" "$3" "$2" "$3" >"$name.sh"
	"$TRIGGER/met" "$DTRACE" -q -x bufsize=16m -x switchrate=20ms -x jstackstrsize=4k -o "$name.out" -n '
		profile-997 /pid == $pid/ { worked++; }
		syscall::getppid:entry /progenyof($target) && execname != "sh"/ { printf("\nat %d %d", pid, worked); jstack(30); }' \
		-c "sh $name.sh" >"$name.calls" 2>"$name.err"
	awk -v name="$name" -v file="$3" -v most=$((997 * slow)) -v again=400 '
		function finish() {
			if (!pid)
				return
			records[pid]++
			if (!frames)
				empty[pid]++
			if (is_named && !(pid in named))
				named[pid] = at - first[pid]
			if (!is_named && pid in named)
				later[pid]++
		}
		FNR == NR { calls[$2] = $3; order[++n] = $2; next }
		/^at / { finish(); pid = $2; at = $3; frames = is_named = 0; if (!(pid in first)) first[pid] = at; next }
		NF { frames++; if (index($0, file)) is_named = 1 }
		END {
			finish()
			if (n != 2)
				print name ": " n " processes"
			for (i = 1; i <= n; i++) {
				p = order[i]
				if (records[p] != calls[p])
					print name " " i ": " records[p] " records of " calls[p] " calls"
				if (!(p in named) || named[p] > most)
					print name " " i ": frames of the language after " (p in named ? named[p] " samples of the tracer" : "no time")
				if (empty[p])
					print name " " i ": " empty[p] " stacks are empty"
				if (later[p] > again) # a slow tracer hears of a mapping when the process is known, and looks once more
					print name " " i ": " later[p] " stacks have no such frames later"
			}
		}' "$name.calls" "$name.out"
	sed "s/^/$name: /" "$name.err"
}
{
	twice python /usr/bin/python3.11 first.py
	twice node node first.js
	# a process that no helper is for is looked at once
	times=$("$DTRACE" -xdebug -qn 'syscall::getppid:entry /pid == $target/ { @[jstack(3)] = count(); } END { trunc(@); }' -c "$TRIGGER/calls getppid 50000" 2>&1 |
		grep -c 'ustack helpers of process [0-9]*: none')
	[ "$times" -le 2 ] || echo "a process without a helper is looked at $times times"
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
