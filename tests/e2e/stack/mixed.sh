# Stacks that go back and forth between a language and native code 60 to 100 times: whole and in order, with native frames between any two functions of
# the language that a function in C lies between. A program of one's own that embeds CPython and Perl, of which the one calls the other.
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"

cat >check.py <<'X'
# check.py NAME LEVELS FUNCTION... < output: each stack that has the functions has them LEVELS times, in order, with native frames between
import re, sys
name, levels, *functions = sys.argv[1:]
seen = good = 0
why = ""
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    found = [(i, f) for i, l in enumerate(lines) for f in functions if re.search(rf"(^|\(){re.escape(f)}( at |\) \]$)", l)]
    if not found:
        continue
    seen += 1
    # the innermost function comes first; between a round and the next one there is native code
    want = functions * int(levels)
    turns = [a for (a, _), (b, _) in zip(found, found[1:]) if any("`" in l for l in lines[a + 1:b])]
    whole = any("libc_start_main" in l for l in lines[-2:]) and not {"[cut]", "[no unwind table yet]"} & set(lines)
    if [f for _, f in found] == want and len(turns) >= int(levels) - 1 and whole:
        good += 1
    else:
        why = f"{len(found)} functions, {len(turns)} turns, {'whole' if whole else lines[-3:]}"
print(f"{name}: {'good' if seen and good == seen else why or 'no stack'}")
X

# run NAME CALL LEVELS COMMAND FUNCTION...
run() {
	name=$1 call=$2 levels=$3 command=$4
	shift 4
	if ! command -v "${command%% *}" >/dev/null; then
		echo "$name: good" # it is not there
		return
	fi
	rm -f met
	LC_ALL=C.UTF-8 "$DTRACE" -q -x jstackstrsize=64k -n "syscall::$call:entry /pid == \$target/ { jstack(1024); }" -c "$command" \
		2>said | python3 check.py "$name" "$levels" "$@"
	grep -v 'does not answer\|answer too slowly' said # of another test, which runs at the same time
}

cat >w.py <<'X'
import functools, os, re, time
def by_reduce(n):
    return functools.reduce(lambda a, b: by_reduce(n - 1), [0, 1]) if n > 1 else os.getppid()
def by_sub(n):
    return re.sub("x", lambda m: by_sub(n - 1), "x") if n > 1 else str(os.getppid())
def by_key(n):
    return sorted([1], key=lambda x: by_key(n - 1))[0] if n > 1 else os.getppid()
os.getppid()
for i in range(6000): os.path.exists("met") or time.sleep(0.02)
{"reduce": by_reduce, "sub": by_sub, "key": by_key}[os.environ["HOW"]](90)
X
cat >w.js <<'X'
function byReplace(n) { return n > 1 ? 'x'.replace(/x/, () => byReplace(n - 1)) : String(process.umask(18)); }
process.umask(18);
let left = 6000;
const go = () => require('fs').existsSync('met') || !left-- ? byReplace(60) : setTimeout(go, 20);
go();
X
cat >w.rb <<'X'
def by_sort(n) = n > 1 ? [1, 2].sort { |a, b| by_sort(n - 1); 0 } : Process.ppid
Process.ppid; 6000.times { sleep 0.02 unless File.exist?("met") }
by_sort(70)
X
cat >w.php <<'X'
<?php
function by_map($n) { return $n > 1 ? array_map(function ($x) use ($n) { return by_map($n - 1); }, [1]) : posix_getppid(); }
posix_getppid(); for ($i = 0; $i < 6000 && !file_exists("met"); $i++) usleep(20000);
by_map(100);
X
cat >w.pl <<'X'
package Sum { use overload '+' => \&add; sub add { my $n = ${$_[0]}; $n > 1 ? bless(\($n - 1)) + 1 : syscall(110) } }
no warnings 'recursion';
syscall(110); for (1 .. 6000) { select undef, undef, undef, 0.02 unless -e "met" }
my $x = bless(\(my $n = 100), 'Sum') + 1;
X
cat >own.c <<'X'
#include <Python.h>
#include <EXTERN.h>
#include <perl.h>
#undef call
static PerlInterpreter *my_perl;
static PyObject *to_perl(PyObject *self, PyObject *args)
{
	(void)self; (void)args;
	eval_pv("outer()", TRUE);
	Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"to_perl", to_perl, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "own", "", -1, methods, 0, 0, 0, 0};
static PyObject *init(void) { return PyModule_Create(&module); }
int main(int argc, char **argv, char **env)
{
	char *text[] = {"", "-e", "sub inner { syscall(110) } sub outer { inner(); 1 }", 0};

	PERL_SYS_INIT3(&argc, &argv, &env);
	my_perl = perl_alloc();
	perl_construct(my_perl);
	perl_parse(my_perl, 0, 3, text, 0);
	perl_run(my_perl);
	PyImport_AppendInittab("own", init);
	Py_Initialize();
	PyRun_SimpleString("import os, own, time\ndef caller(): own.to_perl()\ncaller()\n"
			   "for i in range(6000): os.path.exists('met') or time.sleep(0.02)\ncaller()\n");
	return 0;
}
X
{
	for how in reduce sub key; do
		HOW=$how
		export HOW
		run "python, $how" getppid 90 "/usr/bin/python3.11 w.py" "by_$how"
	done
	run 'node, replace' umask 60 "/usr/bin/node --stack-size=4000 w.js" byReplace
	run 'ruby, sort' getppid 70 "/usr/bin/ruby3.1 w.rb" by_sort
	run 'php, array_map' getppid 100 "/usr/bin/php8.2 w.php" by_map
	run 'perl, overload' getppid 100 "/usr/bin/perl w.pl" Sum::add

	# shellcheck disable=SC2046
	if [ -e /usr/include/python3.11/Python.h ] && perl -MExtUtils::Embed -e 1 2>/dev/null && gcc -w -o own own.c -I/usr/include/python3.11 \
		$(perl -MExtUtils::Embed -e ccopts) $(perl -MExtUtils::Embed -e ldopts) -lpython3.11 2>/dev/null; then
		rm -f met
		"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c ./own 2>&1 | python3 -c '
import sys
blocks = [b for b in sys.stdin.read().split("\n\n") if "(main::inner) ]" in b]
at = [blocks[0].find(t) if blocks else -1 for t in ("libperl", "(main::inner) ]", "(main::outer) ]", "own`to_perl", "(caller) ]", "(<module>) ]", "own`main")]
print("CPython and Perl in one program:", "good" if -1 not in at and sorted(at) == at else (at, blocks))'
	else
		echo 'CPython and Perl in one program: good'
	fi
} 2>&1
