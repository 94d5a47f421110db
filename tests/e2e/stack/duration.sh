# The command of -c is often a duration (`sleep 10`): processes that run meanwhile are prepared before the first probe fires all the same, and so they
# are where -p names another one. The first stack of a program that calls a function once in a while has its frames.
# @@foreign
[ -x /usr/bin/python3 ] || exit 67
cd "$TMP" || exit 1
cat >rare.py <<'X'
import os, time
def outer():
    while True:
        time.sleep(0.3)
        os.getppid()
outer()
X
/usr/bin/python3 rare.py & victim=$!
sleep 600 & other=$!
trap 'kill $victim $other 2>/dev/null' EXIT
until [ "$(cut -d ' ' -f 1 /proc/$victim/syscall)" = 230 ]; do sleep 0.1; done # clock_nanosleep: it has begun
# $1 is no target. What reads execname first may mean any process; the others name one.
for clause in 'syscall::getppid:entry /execname != "" && pid == $1/' 'syscall::getppid:entry /pid == $1/' 'pid$1:libc.so.6:getppid:entry'; do
	for how in "-c 'sleep 60'" "-p $other" ""; do
		eval "$DTRACE" -qn "'$clause { jstack(); exit(0); }'" "$how" $victim >out 2>err
		grep -q 'rare.py:5 (outer)' out && ! grep -q 'no language frames yet' out || { echo "$clause $how:"; cat out err; exit 1; }
	done
done
