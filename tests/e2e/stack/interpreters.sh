# Several interpreters of Python in one process, one within the other: each native frame has the functions of its own interpreter.
python=${PYTHON:-/usr/bin/python3.11}
module=_xxsubinterpreters # _interpreters from 3.13 on
$python -c "import $module" 2>/dev/null || module=_interpreters
if ! $python -c "import $module" 2>/dev/null; then
	echo "this test needs CPython 3.11 (package python3)"
	exit 67
fi
cd "$TMP" || exit 1
sed "s/_xxsubinterpreters/$module/" >main.py <<'X'
import os, time
import _xxsubinterpreters as interpreters

def wait(file):
    for i in range(6000):
        if os.path.exists(file): break
        time.sleep(0.02)

code = """
import os
def inner(n):
    if n: return inner(n - 1)
    os.getppid()
def more(n):
    if not n:
        import _xxsubinterpreters as interpreters
        third = interpreters.create()
        interpreters.run_string(third, "import os\\ndef innermost(): os.getppid()\\ninnermost()")
        interpreters.destroy(third)
    else: list(map(more, [n - 1]))
inner(1)
more(1)
inner(0)
"""

def outer(n):
    if n: return list(map(outer, [n - 1]))
    interpreters.run_string(second, code)
    os.getppid()

os.getppid()
wait("met")
os.getppid()
second = interpreters.create()
outer(1)
os.getppid()
X
"$TRIGGER/met" "$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { printf("stack\n"); jstack(200); }' -c "$python -S main.py" 2>&1 |
	awk '/^stack/ { if (line != "") print line; line = "" }
		/^ *\[ / { sub(/^ *\[ /, ""); sub(/ \]$/, ""); line = line (line == "" ? "" : ", ") $0 }
		/^dtrace/
		END { print line }' | sed "s,$TMP/,,g; s,<script>,<string>,g" # the second since 3.14
