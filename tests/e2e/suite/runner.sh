# What tests/run.py makes of tests that fail always, now and then, need what the machine lacks, or leave out a part.
set -e
cd "$TMP"
mkdir -p tree/tests/e2e/t
cp "$SRC/tests/run.py" "$SRC/tests/lints.py" "$SRC/tests/interface.py" "$SRC/tests/slots.py" tree/tests
fail() { echo "$*"; cat got; exit 1; }
lacking= # what the machine lacks
at=@@  # directives of this text would be its own
suite() { FATHOM_LACKS=$lacking python3 tree/tests/run.py "$BUILD" --only e2e/t >got 2>&1 && status=0 || status=$?; }
t() { cat >"tree/tests/e2e/t/$1.sh"; }
unsteady() { # fails in its first run
	echo "[ -f '$TMP/$1' ] || { touch '$TMP/$1'; echo 'at first'; exit 1; }" | t "$1"
}

echo 'exit 0' | t good
unsteady u1
suite
[ $status = 0 ] && grep -qx 'unsteady: e2e/t/u1' got && tail -n 1 got | grep -qx '2 passed, 0 failed, 0 skipped' || fail "one unsteady test"
grep -q '!at first' got || fail "the first failure is not shown"

for i in 1 2 3 4; do rm -f u$i; unsteady u$i; done
suite
[ $status = 1 ] && [ "$(grep -c '^unsteady: ' got)" = 4 ] && tail -n 1 got | grep -qx '5 passed, 1 failed, 0 skipped' || fail "four unsteady tests"

rm tree/tests/e2e/t/u*.sh
echo 'echo always; exit 1' | t bad
suite
[ $status = 1 ] && ! grep -q '^unsteady' got && tail -n 1 got | grep -qx '1 passed, 1 failed, 0 skipped' || fail "a test that fails"
for i in $(seq 21); do echo "echo x >>'$TMP/bad.$i'; exit 1" | t "bad.$i"; done
suite
tail -n 1 got | grep -qx '1 passed, 22 failed, 0 skipped' && [ "$(cat bad.[0-9]* | wc -l)" = 21 ] || fail "many failures are no bad luck"

rm tree/tests/e2e/t/bad*.sh
echo "# ${at}needs: int80" | t lacks
lacking=int80
suite
lacking=
[ $status = 0 ] && tail -n 1 got | grep -qx '1 passed, 0 failed, 1 skipped' && grep -q 'int80' got || fail "a need"
echo "# ${at}needs: teapot" | t lacks
suite
[ $status = 1 ] && grep -q "${at}needs names 'teapot'" got || fail "an unknown need"
rm tree/tests/e2e/t/lacks.sh

printf '"$TRIGGER/has" int80 || exit 0\nexit 1\n' | t part
lacking=programs32,int80
suite
lacking=
[ $status = 0 ] && tail -n 1 got | grep -qx '2 passed, 0 failed, 1 skipped' && grep -q 'left out: int80' got || fail "a part that is left out"

echo "# ${at}foreign" | t reads
python3 tree/tests/run.py "$BUILD" --only e2e/t --foreign >got 2>&1 || fail "--foreign"
tail -n 1 got | grep -qx '1 passed, 0 failed, 0 skipped' || fail "--foreign: only what reads foreign bytes"

# What takes long is in the full run alone; --only is for whoever names it.
rm tree/tests/e2e/t/*.sh
echo "# ${at}full" | t long
suite
tail -n 1 got | grep -qx '1 passed, 0 failed, 0 skipped' || fail "--only names it"
python3 - "$SRC/tests" "$BUILD" "$TMP/tree/tests/e2e/t/long.sh" <<'X' >got 2>&1 || fail "full"
import sys, types
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import run
opts = types.SimpleNamespace(build=sys.argv[2], only=None, full=False, no_kernel=False, sanitized="", bless=False, inproc=None)
assert run.test_e2e("long", sys.argv[3], opts).status == "skip"
opts.full = True
assert run.test_e2e("long", sys.argv[3], opts).status == "pass"
X

# '~*' stands for any lines: as many of them as there are, in a time that does not grow exponentially.
python3 - "$SRC/tests" <<'X' >got 2>&1 || fail "matches()"
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from run import matches
lines = "\n".join("line %d" % i for i in range(200))
assert matches("~*\nline 3\n~*\nline 7\n~*", lines) and matches("~*", "") and matches(lines, lines)
assert matches("~line .\n~*\n~.* 199", lines) and not matches("~line ..\n~*", lines)
assert not matches("\n".join(["~*", "~line .*"] * 20 + ["end"]), lines)
assert not matches("line 0\nline 2", "line 0\nline 1\nline 2") and not matches("a\n~*\na", "a")
X

# What gets a small part of a CPU may take longer before it is ended; what hangs ends on any machine, and what its tracers say is seen.
cat >tracer <<'X'
printf memprof >/proc/$$/comm
trap 'echo "what it has"; exit' TERM
echo begun
while :; do sleep 0.1; done
X
python3 - "$SRC/tests" "$TMP/tracer" <<'X' >got 2>&1 || fail "times on a busy machine"
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import run
run.LOOK_S, run.ENDING_S = 0.1, 1
assert 0.1 <= run.cpu_share() <= 1
run.cpu_share, run.STRETCH_MAX = lambda: 0.001, 1000
assert run.run(["sleep", "1"], 0.2) == (0, "", "")
run.STRETCH_MAX = 3
assert run.run(["sh", "-c", "echo begun; exec sleep 100"], 0.3) == (-999, "begun\n", "\ntimed out")
run.cpu_share = lambda: 0.5
assert run.run(["sh", "-c", "echo begun; exec sleep 100"], 0.5) == (-999, "begun\n", "\ntimed out")
assert run.SPENT.timed_out
# another group's tracer goes on
other = subprocess.Popen(["sh", sys.argv[2]], stdout=subprocess.PIPE, text=True, start_new_session=True)
other.stdout.readline()
run.ENDING_S = 60
shows = ["sh", "-c", "sh $0 >seen; cat seen; echo later", sys.argv[2]]
assert run.run(shows, 0.5) == (-999, "begun\nwhat it has\nlater\n", "\ntimed out")
assert other.poll() is None
os.killpg(other.pid, signal.SIGKILL)
X

# A test that took too long is not run again, one that fails is.
rm -f tree/tests/e2e/t/*.sh
echo "echo x >>'$TMP/hung'; exec sleep 100" | t hangs
echo "echo x >>'$TMP/bad'; exit 1" | t bad
python3 - tree/tests "$BUILD" <<'X' >got 2>&1 && fail "a test that hangs passes"
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import run
run.STRETCH_MAX, run.ENDING_S = 0.002, 1
sys.argv = ["run.py", sys.argv[2], "--only", "e2e/t"]
sys.exit(run.main())
X
[ "$(cat hung | wc -l)" = 1 ] && [ "$(cat bad | wc -l)" = 2 ] || fail "a test that hangs, and one that fails"
grep -q 'timed out' got && tail -n 1 got | grep -qx '0 passed, 2 failed, 0 skipped' || fail "a test that hangs"

# While CPUs have nothing to do there are more tests at once, one at a time; where they are busy, as many as there are CPUs.
python3 - "$SRC/tests" <<'X' >got 2>&1 || fail "slots"
import sys, threading, time
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import slots
slots.LOOK_S = 0.05
def most_at_once(spare):
    """Of two CPUs, one of which has that part of its time nothing to do: how many of ten tests run at once."""
    ticks, running, most = [0, 0], 0, 0
    lock, ended = threading.Lock(), threading.Event()
    def times():
        ticks[0], ticks[1] = ticks[0] + 100 * spare, ticks[1] + 200
        return tuple(ticks)
    many = slots.Slots(2, 4, times, cpus=2)
    def work():
        nonlocal running, most
        with many:
            with lock:
                running += 1
                most = max(most, running)
            ended.wait()
            with lock:
                running -= 1
    threads = [threading.Thread(target=work) for _ in range(10)]
    for t in threads: t.start()
    limit = time.monotonic() + (30 if spare > 0.5 else 1)
    while most < 4 and time.monotonic() < limit: time.sleep(0.01)
    time.sleep(0.3)
    ended.set()
    for t in threads: t.join()
    return most
assert most_at_once(1) == 4 and most_at_once(0.2) == 2
def order(tests=8):
    """Of tests that come while the only slot is taken: in which order they get it."""
    one, order = slots.Slots(1, 1, lambda: (0, 1), cpus=1), []
    def work(number):
        with one:
            order.append(number)
    with one:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(tests)]
        for n, t in enumerate(threads):
            t.start()
            while one.came < n + 2: time.sleep(0.001)
        time.sleep(0.2) # their looks at the CPUs end in any order
    for t in threads: t.join()
    return order
assert order() == list(range(8)), order()
# Whoever has had its turn tells the next one, also where it could not look at the CPUs.
slots.LOOK_S = 1000
class Broken(Exception): pass
def times():
    if threading.current_thread().name == "fails": raise Broken
    return 0, 1
three, entered = slots.Slots(3, 3, times, cpus=3), threading.Semaphore(0)
def work():
    try:
        with three: entered.release()
    except Broken:
        pass
three.changed.acquire() # all come before the first one has its turn
threads = [threading.Thread(target=work, name=n, daemon=True) for n in ("a", "fails", "b", "c")]
for t in threads: t.start()
three.entered = -1
three.changed.release()
while three.came < 4: time.sleep(0.001)
with three.changed:
    three.entered = 0
    three.changed.notify_all()
assert all(entered.acquire(timeout=30) for _ in range(3))
for t in threads: t.join()
assert three.running == 0 and three.entered == 4
idle, total = slots.cpu_times()
assert 0 < idle < total
X

# --times says what tests cost, also in programs that they start.
rm tree/tests/e2e/t/*.sh
echo 'python3 -c "
import time
while time.process_time() < 0.5: pass"' | t dear
echo 'sleep 0.1' | t cheap
python3 tree/tests/run.py "$BUILD" --only e2e/t --times 1 >got 2>&1 || fail "--times"
grep -Eqx ' +0\.[5-9][0-9] s on CPUs, .*: e2e/t/dear|  +[1-9]\.[0-9]+ s on CPUs, .*: e2e/t/dear' got && ! grep -q 'e2e/t/cheap' got || fail "--times: the dearest"
grep -q '^== .* s on CPUs: .* % of ' got || fail "--times: how much is used"

# A test that says so does not see the debug files of the system's packages; others do, and so does the system.
rm tree/tests/e2e/t/*.sh
if [ -d /usr/lib/debug ] && unshare --mount sh -c 'mount -t tmpfs none /usr/lib/debug' 2>/dev/null; then
	there=$(ls /usr/lib/debug)
	printf '# %sbare\n[ -d /usr/lib/debug ] && [ -z "$(ls -A /usr/lib/debug)" ] && [ -f "$0" ]\n' "$at" | t bare
	echo '[ "$(ls /usr/lib/debug)" = '"'$there'"' ]' | t other
	suite
	tail -n 1 got | grep -qx '2 passed, 0 failed, 0 skipped' && [ "$(ls /usr/lib/debug)" = "$there" ] || fail "${at}bare"
fi

# The packages are built once at a time: whoever runs their tests while they are built beside the suite waits for them.
python3 - "$SRC/tests/installed" "$TMP" <<'X' >got 2>&1 || fail "two builders"
import sys, threading
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import build
entered = threading.Event()
def second():
    with build.one_builder(sys.argv[2]):
        entered.set()
with build.one_builder(sys.argv[2]):
    other = threading.Thread(target=second)
    other.start()
    assert not entered.wait(0.5)
assert entered.wait(60)
other.join()
X
