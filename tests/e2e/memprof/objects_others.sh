# memprof objects: PHP and Perl. Objects and arrays of PHP, and objects of Perl, exactly as the program has made them; Perl's other values to within an arena; refusals.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && [ -x /usr/bin/php8.2 ] && [ -x /usr/bin/perl ] || { echo "needs php8.2-cli and perl"; exit 67; }
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >test.php <<'END2'
<?php
class Thing { public $a = 1; }
class Other { public $x; function __construct() { $this->x = [1, 2, rand()]; } }
$kept = [];
function made() { global $kept; for ($i = 0; $i < 100; $i++) { $kept[] = new Thing(); } }
made();
for ($i = 0; $i < 1000; $i++) $kept[] = new Thing;
for ($i = 0; $i < 300; $i++) $kept[] = new Other;
for ($i = 0; $i < 200; $i++) $kept[] = [$i, 2];
for ($i = 0; $i < 150; $i++) $kept[] = function () use ($i) { return $i; };
for ($i = 0; $i < 110; $i++) $kept[] = (object)['a' => $i];
for ($i = 0; $i < 90; $i++) $kept[] = new ArrayObject([$i]);
for ($i = 0; $i < 80; $i++) { $c = $kept[0]; $kept[] = clone $c; }
for ($i = 0; $i < 70; $i++) { $a = [1, 2, 3]; $a[] = $i; $kept[] = $a; }
for ($i = 0; $i < 5000; $i++) { $g = new Thing; $h = [$i]; }
$g = $h = null;
END2
"$memprof" objects -n 0 -c "php8.2 -n test.php" >out 2>err || fail "PHP"
for row in "100 5:Thing" "1000 7:Thing" "300 8:Other" "300 3:array" "200 9:array" "150 10:Closure" "110 11:stdClass" "90 12:ArrayObject" "80 13:Thing" "70 14:array"; do
	set -- $row
	grep -qx " *$1 [^ ]*test.php:$2" out || fail "PHP: $row is not there"
done
! grep -q 'test.php:15:' out || fail "PHP: garbage counts"
"$memprof" objects -C --json -n 0 php8.2 -n test.php >out 2>err || fail "PHP, created"
/usr/bin/python3 - <<'END2' || fail "PHP, created: other numbers"
import json
rows = {(r["line"], r["class"]): r["count"] for r in map(json.loads, open("out"))}
assert rows[15, "Thing"] == rows[15, "array"] == 5000 and rows[7, "Thing"] == 1000, rows
END2

# cycles, which the collector frees; a destructor that keeps its object
cat >cycles.php <<'END2'
<?php
class Ring { public $next; }
class Kept { function __destruct() { global $kept; $kept[] = $this; } }
class Map extends ArrayObject { public $own; }
$kept = [];
for ($i = 0; $i < 400; $i++) { $a = new Ring; $b = new Ring; $a->next = $b; $b->next = $a; }
for ($i = 0; $i < 300; $i++) { $c = []; $c[0] = &$c; unset($c); }
for ($i = 0; $i < 200; $i++) { $f = new Ring; $f->next = function () use ($f) { return $f; }; }
for ($i = 0; $i < 100; $i++) { $m = new Map([$i]); $m->own = [$m, $i]; }
for ($i = 0; $i < 50; $i++) { $k = new Kept; $k = null; }
$a = $b = $f = $m = null;
gc_collect_cycles();
END2
"$memprof" objects -n 0 -c "php8.2 -n cycles.php" >out 2>err || fail "PHP, cycles"
grep -qx " *50 [^ ]*cycles.php:10:Kept" out || fail "PHP: what its destructor has kept does not count"
! grep -qE 'cycles.php:[6789]:' out || fail "PHP: collected cycles count"

cat >test.pl <<'END2'
package Thing; sub new { my $c = shift; return bless {a => 1}, $c; }
package Long::Name; sub new { my $c = shift;
	bless [1, 2], $c }
package main;
my @kept;
sub made {
	for (1 .. 100) {
		push @kept, bless({}, "Made");
	}
}
made();
push @kept, Thing->new for 1 .. 1000;
push @kept, bless({}, "Direct") for 1 .. 500;
for (1 .. 300) { push @kept, Long::Name->new; }
for (1 .. 5000) { my $t = Thing->new; my $d = bless [], "Direct"; }
for (1 .. 20000) {
	push @kept, \"$_";
}
END2
"$memprof" objects -n 0 -c "perl test.pl" >out 2>err || fail "Perl"
for row in "1000 1:Thing" "100 8:Made" "500 13:Direct" "300 3:Long::Name"; do
	set -- $row
	grep -qx " *$1 test.pl:$2" out || fail "Perl: $row is not there"
done
! grep -q 'test.pl:15:[A-Z]' out || fail "Perl: garbage counts"
# a string and the reference to it, less what garbage of before has left
n=$(sed -n 's/^ *\([0-9]*\) test.pl:17:values.*/\1/p' out)
[ "${n:-0}" -gt 36000 ] && [ "$n" -le 40169 ] && [ $((n % 169)) = 0 ] || fail "Perl: $n values at line 17"
# what goes with the container that holds it, or only loses what it holds; arrays and scalars in containers count until their memory is used again
cat >held.pl <<'END2'
package Thing; sub new { my $c = shift; return bless {a => 1}, $c; }
package main;
my (@a, %h, @kept); my @s = sort { my $x = $a; $x <=> $b } 1 .. 9; "ab" =~ /a(?{ my $x = 1; })b/; { my $x = do { my $y = eval "my \$z = 1"; $y }; }
push @a, Thing->new for 1 .. 1000;
for (1 .. 500) { $h{$_} = bless {}, "InHash"; }
for (1 .. 70) { my $o = bless {x => [1, {}]}, "Deep"; $o->{k} = bless {z => 1}, "Inner"; push @a, $o; }
for my $n (1 .. 60) { push @a, bless sub { $n }, "Code"; }
for (1 .. 50) { my $o = bless {a => 1}, "Emptied"; push @kept, $o; undef %$o; }
for my $n (1 .. 40) { my $o = bless sub { $n }, "Undefined"; push @kept, $o; undef &$o; }
for (1 .. 30) { my $o = bless [$_], "Array"; my $p = bless \(my $s = $_), "Scalar"; }
for (1 .. 20) { push @a, bless([$_], "HeldArray"); }
@a = (); %h = ();
END2
"$memprof" objects -n 0 -c "perl held.pl" >out 2>err || fail "Perl, containers"
for row in "50 8:Emptied" "40 9:Undefined"; do
	set -- $row
	grep -qx " *$1 held.pl:$2" out || fail "Perl: $row is not there"
done
! grep -qE ':(Thing|InHash|Deep|Inner|Code|Array|Scalar)$' out || fail "Perl: what has gone with its container counts"
"$memprof" objects -C --json -n 0 perl test.pl >out 2>err || fail "Perl, created"
/usr/bin/python3 - <<'END2' || fail "Perl, created: other numbers"
import json
rows = {(r["line"], r["class"]): r["count"] for r in map(json.loads, open("out"))}
assert rows[1, "Thing"] == 6000 and rows[15, "Direct"] == 5000 and rows[8, "Made"] == 100, rows
END2
"$memprof" objects -c "/bin/sleep 1" >out 2>err; [ $? = 1 ] && grep -q "_Py_Dealloc().*Perl_sv_bless()" err && grep -q "^hint: memprof alive counts .*Node.js, Java and Lua; " err || fail "no runtime"
exit 0
