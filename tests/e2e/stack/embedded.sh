# Interpreters in programs of other names: linked into them from an archive (with symbols, without any but the exported ones, and with
# the C library, too), or as a library. At points where the program writes down its own stack, every frame is there.
archive=/usr/lib/python3.11/config-3.11-x86_64-linux-gnu/libpython3.11.a
if [ ! -e /usr/include/python3.11/Python.h ] || [ ! -e $archive ] || [ ! -e /usr/include/expat.h ]; then
	echo "this test needs the archive of CPython 3.11 (packages libpython3.11-dev, libexpat1-dev)"
	exit 67
fi
cd "$TMP" || exit 1

cat >host.c <<'X'
#include <Python.h>

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
X
cat >points.py <<'X'
import os, sys, time
out = open(sys.argv[1], "w")

def wait(file):
    for i in range(6000):
        if os.path.exists(file): break
        time.sleep(0.02)

def point():
    f = sys._getframe(1)
    frames = []
    while f:
        frames.append("%s:%d (%s)" % (f.f_code.co_filename, f.f_lineno, f.f_code.co_name))
        f = f.f_back
    out.write("|".join(frames) + "\n")
    out.flush()
    os.getppid()

def deep(n):
    if n: return deep(n - 1)
    point()

def numbers():
    point()
    yield 1
    yield from (point() for i in range(2))

def back_and_forth(n):
    if n: return list(map(back_and_forth, [n - 1]))
    point()

class K:
    def __del__(self): point()
    def __lt__(self, other):
        point()
        return False

def caught():
    try:
        raise ValueError
    except ValueError as e:
        point()
    finally:
        point()

wait(sys.argv[2])
os.getppid()
wait(sys.argv[3])
for n in 3, 50: deep(n)
for n in 3, 60: back_and_forth(n)
for x in numbers(): point()
sorted([K(), K(), K()])
caught()
(lambda: point())()
exec(compile("\n\npoint()", "text", "exec"))
X
cat >stacks.py <<'X'
import sys
for block in sys.stdin.read().split("\n\n"):
    found = [l.strip()[2:-2] for l in block.split("\n") if l.strip().startswith("[ ")]
    if found and found[0].endswith(" (point)"):
        print("|".join(found[1:]))
X
script='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
stacks='/usr/bin/python3.11 stacks.py'

. "$SRC/tests/e2e/stack/compare.inc"

# made NAME COMPILER-ARGUMENT...: makes a program, and compares its stacks
made() {
	made_name=$1
	shift
	gcc -no-pie -O1 -I/usr/include/python3.11 -o "$made_name" host.c "$@" 2>warnings || {
		cat warnings
		return
	}
	compared
}

# compared: compares the stacks of $made_name
compared() {
	command="./$made_name -S points.py"
	traced "$script" >got.txt
	check "$made_name"
}

{
	made with_archive $archive -lexpat -lz -lm
	# as -flto does: a variable that only this program would read is a constant in its code
	made_name=no_version
	strip -N Py_Version -o $made_name with_archive && compared
	made exported $archive -lexpat -lz -lm -Wl,-E -s
	made static -static $archive -lexpat -lz -lm
	made with_library -lpython3.11

	# Perl
	core=/usr/lib/x86_64-linux-gnu/perl/5.36/CORE
	if [ -e $core/perl.h ] && [ -e /usr/lib/x86_64-linux-gnu/libperl.a ]; then
		cat >host_perl.c <<'X'
#include <EXTERN.h>
#include <perl.h>

int main(int argc, char **argv, char **env)
{
	PerlInterpreter *my_perl;

	PERL_SYS_INIT3(&argc, &argv, &env);
	my_perl = perl_alloc();
	perl_construct(my_perl);
	PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
	if (!perl_parse(my_perl, NULL, argc, argv, NULL))
		perl_run(my_perl);
	perl_destruct(my_perl);
	perl_free(my_perl);
	PERL_SYS_TERM();
	return 0;
}
X
		cat >points.pl <<'X'
open my $out, '>', $ARGV[0];
select((select($out), $| = 1)[0]);
sub wait_for { for (1 .. 6000) { last if -e $_[0]; select undef, undef, undef, 0.02 } }
sub point {
    my ($frames, $file, $line, @f) = ("");
    for (my $i = 0; @f = caller $i; $i++) {
        $frames .= "$file:$line (" . ($f[3] =~ s/[()]//gr) . ")|" if $i;
        ($file, $line) = @f[1, 2];
    }
    print $out "$frames$file:$line (main)\n";
    getppid;
}
sub deep { my $n = shift; $n ? deep($n - 1) : point() }
sub sorted { sort { point(); $a <=> $b } 3, 1, 2 }
sub DESTROY { point() }
wait_for($ARGV[1]);
getppid;
wait_for($ARGV[2]);
deep(3);
deep(60);
() = sorted();
{ my $o = bless {} }
eval { point(); die };
point();
X
		# shellcheck disable=SC2046 # several options
		gcc -D_REENTRANT -D_GNU_SOURCE -fwrapv -I$core -o own_perl host_perl.c /usr/lib/x86_64-linux-gnu/libperl.a -lcrypt -lm -ldl
		sed 's/\[0\].endswith(" (point)")/[0].endswith(" (main::point)")/' stacks.py >stacks_perl.py
		command='./own_perl points.pl' stacks='/usr/bin/python3.11 stacks_perl.py'
		traced "$script" >got.txt
		check own_perl
	else
		echo 'own_perl: 8 stacks'
	fi
} 2>&1
