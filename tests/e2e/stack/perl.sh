# Stacks of Perl: at points where the program writes down what caller() says, every frame is there, in order, with file, line and name;
# native frames stand where they belong. The program runs before and while it is traced, in callbacks, overloaded operators, tied
# variables, evals, threads, deep recursion; it needs no flag.
perl=${PERL:-/usr/bin/perl}
if ! $perl -Mthreads -MList::Util -e 'exit($] < 5.030 || $] >= 5.043)' 2>/dev/null; then
	echo "this test needs Perl of Debian (package perl)"
	exit 67
fi
export LC_ALL=C.UTF-8
cd "$TMP" || exit 1

cat >points.pl <<'X'
use strict; use warnings; use utf8; use threads; use List::Util qw(first reduce);
package Over { use overload '+' => sub { main::point(); 1 }, '""' => sub { main::point(); "x" }; sub new { bless {} } sub DESTROY { main::point() } }
package Tied { sub TIESCALAR { bless {} } sub FETCH { main::point(); 1 } }
package main;
no warnings 'recursion';
open our $out, '>', $ARGV[0];
$out->autoflush(1);

sub point {
    my ($i, @frames) = (0);
    my ($file, $line) = (__FILE__, 20);
    while (my @c = caller($i++)) {
        push @frames, "$file:$line " . ($c[3] eq "(eval)" ? "(eval)" : "($c[3])");
        ($file, $line) = @c[1, 2];
    }
    my $text = join("|", @frames, threads->tid ? () : "$file:$line (main)");
    utf8::encode($text);
    print $out "$text\n";



    syscall(110);
    1
}
X
# the line of the system call
line=$(grep -n 'syscall(110)' points.pl | cut -d: -f1)
sed -i "s/(__FILE__, 20)/(__FILE__, $line)/" points.pl
cat >>points.pl <<'X'

# the first stack, after which the tracer looks at the process
sub wait_for { for (1 .. 6000) { select undef, undef, undef, 0.02 unless -e $_[0] } }
wait_for $ARGV[1];
syscall(110);
wait_for $ARGV[2];

sub deep { my $n = shift; $n ? deep($n - 1) : point(); 1 }
package Deep { use overload '+' => sub { main::back_and_forth($_[0][0] - 1); 1 } }
sub back_and_forth { my $n = shift; if (!$n) { point() } elsif ($n % 3) { my @s = sort { back_and_forth($n - 1); 0 } 1, 2 } else { my $x = bless([$n], 'Deep') + 1 } 1 }
sub compare { point(); 0 }
sub größe { point() }
# blocks whose beginning is no operation that is executed: the line is that of the closest statement, as caller() has it
sub chosen {
    my $n = shift;
    if ($n == 1) {
        return point();
    }
    elsif ($n == 2) {
        return point();
    }
    elsif (point() && $n == 3) {
        return point()
            + 1;
    }
    unless ($n == 4) {
        point();
    }
    else {
        foreach (1) {
            return first {
                return point();
            } 1;
        }
    }
    my @list = (
        point(),
        map({
            point();
        } 1));
    return { x => do {
        point();
    } };
}
sub callbacks {
    my @x = sort { point(); $a <=> $b } 2, 1;
    @x = sort compare 2, 1;
    my $f = first { point() } 1;
    $f = reduce { point() } 1, 2;
    my $o = Over->new;
    my $y = $o + 1;
    $y = "$o";
    undef $o;
    tie my $t, 'Tied';
    $y = $t;
    map { point() } 1;
    "abc" =~ /b(?{ point() })/;
    (my $s = "abc") =~ s/b/point()/e;
    local $SIG{__WARN__} = sub { point() };
    warn "x";
    local $SIG{__DIE__} = sub { point() };
    eval { die "x" };
}
sub all {
    point();
    deep(5);
    deep(900);
    back_and_forth(60);
    back_and_forth(180);
    callbacks();
    chosen($_) for 1 .. 5;
    eval { point(); 1 };
    eval "point();\n\npoint()";
    eval "package Other; sub in_text {\n main::point() }\nin_text()";
    größe();
    my $anon = sub { point() };
    $anon->();
    my sub lexical { point() }
    lexical();
    *alias = \&größe;
    alias();
    goto &point;
}
all();
threads->create(\&callbacks)->join;
{ for (1) { point() } }
X

# stacks.pl < output: one line a stack, the Perl frames of each, without stacks that have none
cat >stacks.pl <<'X'
local $/ = "";
while (<>) {
    my @f = /^ +\[ (.*) \]$/mg;
    print join("|", @f), "\n" if @f
}
X
script='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
command="$perl points.pl" stacks="$perl stacks.pl"

. "$SRC/tests/e2e/stack/compare.inc"

{
	check_begun
	check_running

	# native frames are where they belong: sort() calls a subroutine, which calls point()
	$perl -00 -ne 'next unless /main::compare/;
		print "mixed: ", m{getppid|syscall.*\n(.*\n)*?.*runops.*\n.*main::point.*\n.*main::compare.*\n( +perl[^`]*`.*\n)+ +perl[^`]*`Perl_runops_standard.*\n.*main::callbacks.*\n.*main::all.*\n.*\(main\) \]\n +perl[^`]*`perl_run(.*\n)*.*`_start} ? "good\n" : $_;
		exit' got.txt

	# the line is searched in statements of some hundred operations; in larger ones it may be left out, and is none of another statement
	perl -e 'print "sub point { syscall(110) }\n"; for (200, 20) { print "sub f$_ {\n    my \$n = shift;\n    if (\$n == -1) {\n        return point();\n    }\n";
		print "    elsif (\$n == -$_) {\n        return point(\$n, 1);\n    }\n" for 2 .. $_; print "    elsif (\$n) {\n        return ", $_ == 20 ? "f200" : "point", "(1);\n    }\n}\n" }
		print "f20(1) for 1 .. 8;\nsleep 1 until -e qq(met);\nf20(1) for 1 .. 8;\n"' >large.pl
	rm -f met
	"$TRIGGER/met" "$DTRACE" -qn "$script" -c "$perl large.pl" >got.txt
	grep -o 'large.pl.* (main::f200)' got.txt | sort -u | sed 's/^/larger: /'
	grep -o 'large.pl.* (main::f20)' got.txt | tail -n 1 | sed 's/^/large: /'
} 2>&1
