# SPDX-License-Identifier: MIT
# -x jstackasync with CPython: behind the outermost coroutine of the task of asyncio that runs, the stack has the coroutines of the tasks
# that wait for it, as the program itself knows them at that instant: with tasks in tasks, gather(), wait(), wait_for(), shield(),
# TaskGroup, generators, exceptions, in threads. There is none where nobody waits, and none without the option.
# @@foreign
python=${PYTHON:-/usr/bin/python3.11}
if [ ! -x $python ]; then
	echo "this test needs CPython 3.11 of Debian (package python3.11)"
	exit 67
fi
cd "$TMP" || exit 1

# one line a stack, the Python frames of each, without stacks that have none
cat >stacks.py <<'X'
import sys
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n")]
    found = [l[2:-2] for l in lines if l.startswith("[ ") and l.endswith(" ]")]
    if found:
        print("|".join(f for f in found if not f.endswith("(point)")))
X
syscall='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
script="#pragma D option jstackasync
$syscall"
command="$python -X utf8 $SRC/tests/e2e/stack/python_tasks.py" stacks="$python -X utf8 stacks.py"

. "$SRC/tests/e2e/stack/compare.inc"

{
	check_begun
	check_running
	[ "$(grep -c async noted)" -gt 100 ] || echo "few stacks have waiting tasks"

	traced "$syscall" >got.txt
	sed -i 's/|async [^|]*//g' noted
	check 'without the option'
} 2>&1
