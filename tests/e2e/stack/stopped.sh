# A tracer that was held up hears of what a process has mapped after it has met the process: the frames of the language stay.
command -v /usr/bin/python3.11 >/dev/null || { echo "this test needs Python 3.11 of Debian (package python3.11)"; exit 67; }
cd "$TMP" || exit 1
: >out; : >err
fail() { echo "$1"; kill $traced $tracer 2>/dev/null; tail -n 30 out err; exit 1; }
cat >late.py <<'X'
import os, sys, time
def named(): os.getpgid(0)
time.sleep(0.3) # what was mapped is older than the first stack
named()
open("first", "w").close()
while not os.path.exists("met"): time.sleep(0.01)
named()
X
traced= tracer=
mkfifo go
(read -r _; exec /usr/bin/python3.11 late.py) <go &
traced=$!
exec 3>go
"$TRIGGER/met" "$DTRACE" -q -x switchrate=10ms -n 'syscall::getpgid:entry /pid == '$traced'/ { printf("stack\n"); jstack(20); } tick-50ms { printf("on\n"); }' >out 2>err &
tracer=$!
until grep -q '^on' out; do kill -0 $tracer || fail "the tracer ends"; sleep 0.02; done
dtrace=$(cat /proc/$tracer/task/$tracer/children)
kill -STOP $dtrace
echo >&3; exec 3>&-
until [ -e first ]; do kill -0 $traced || fail "the program ends"; sleep 0.02; done
kill -CONT $dtrace
wait $traced || fail "the program's status is $?"
until [ "$(grep -c '^stack' out)" = 2 ] && tail -n 1 out | grep -q '^on'; do kill -0 $tracer || fail "the tracer ends"; sleep 0.02; done
kill -TERM $dtrace
wait $tracer || fail "the tracer's status is $?"
[ "$(grep -c '^stack' out)" = 2 ] || fail "not two stacks"
awk '/^stack/ { n++ } n == 2' out | grep -q 'late.py:2 (named)' || fail "the second stack has no frames of Python"
