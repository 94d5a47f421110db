# SPDX-License-Identifier: MIT
# Random functions of Perl for names.py: program.pl COUNT SEED BASE
use strict;
use warnings;
use List::Util qw(first reduce);
no warnings qw(recursion redefine once);
my ($N, $SEED, $BASE) = @ARGV;
srand $SEED;
open my $own, '>', 'own' or die;
our $count = 0;

sub mark {
    $count++; my ($i, @frames) = 0; my ($file, $line) = (__FILE__, __LINE__);
    while (my @c = caller($i++)) {
        push @frames, "$file:$line " . ($c[3] eq "(eval)" ? "(eval)" : "($c[3])");
        ($file, $line) = @c[1, 2];
    }
    my $text = $BASE + $count . " " . join("|", @frames, "$file:$line (main)"); my $at = __LINE__; $text =~ s/^(\d+ [^ |]*:)\d+/$1$at/; print $own "$text\n"; syscall(3, $BASE + $count);
    return $count;
}

our @functions;
sub call {
    my $d = shift;
    return mark() if $d <= 0 || $count >= $N || rand() < 0.15;
    return $functions[rand @functions]->($d - 1) + 0;
}

package Value {
    use overload '+' => sub { main::call($_[0]{depth}); 1 }, '""' => sub { main::call($_[0]{depth}); "x" }, '<=>' => sub { main::call($_[0]{depth}); 0 },
        'bool' => sub { main::call($_[0]{depth}); 1 };
    sub new { bless { depth => $_[1] } }
    sub method { main::call($_[0]{depth}); 1 }
    our $AUTOLOAD;
    sub AUTOLOAD { my $self = shift; return 1 if $AUTOLOAD =~ /::DESTROY$/; main::call($self->{depth}); 1 }
}
package Tied { sub TIESCALAR { bless { depth => $_[1] } } sub FETCH { main::call($_[0]{depth}); 1 } }
package Gone { sub new { bless { depth => $_[1] } } sub DESTROY { main::call($_[0]{depth}); 1 } }
package main;

my @WAYS = (
    'call($d);', 'my @x = sort { call($d); $a <=> $b } 2, 1;', 'my $x = first { call($d) } 1;', 'my $x = reduce { call($d) } 1, 2;', 'my @x = map { call($d) } 1;',
    'my @x = grep { call($d) } 1;', 'my $x = Value->new($d) + 1;', 'my $x = "" . Value->new($d);', 'my $x = Value->new($d) <=> 1;', 'my $x = Value->new($d) ? 1 : 2;',
    'Value->new($d)->method;', 'Value->new($d)->missing;', 'tie my $t, "Tied", $d; my $x = $t;', 'my $s = "ab"; $s =~ s/b/call($d)/e;', '{ Gone->new($d) }',
    'eval { call($d) };', 'eval "call($d)";', 'local $SIG{__WARN__} = sub { call($d) }; warn "x";', 'eval { local $SIG{__DIE__} = sub { call($d) }; die "x" };',
    'my $f = sub { call($d) }; $f->();', 'for my $i (1, 2) { call($d - $i) }', 'my $i = 0; while ($i++ < 1) { call($d) }', 'if ($d > 100) { mark() } elsif ($d) { call($d) }',
    'unless ($d > 100) { call($d) }', 'my @x = (1, call($d), 2);', 'my %h = (a => call($d));', 'return call($d);', 'no strict "refs"; &{"call"}($d);', 'my $x = do { call($d) };',
    '@_ = ($d); goto &call;',
);

sub name_of { "function_with_a_long_name_" . (qw(a b))[$_[0] % 2] x (1 + rand 60) . "_$_[0]" }

sub function_make {
    my $n = shift;
    my $name = name_of($n);
    my $package = rand() < 0.5 ? "main" : "Package" . (qw(p q))[$n % 2] x (1 + rand 30);
    my $file = "/srv/application/modules/" . (qw(x y))[$n % 2] x (1 + rand 40) . "/module_" . $n % 97 . ".pm";
    my $f = eval "package $package; no warnings; BEGIN { *call = \\&main::call; *mark = \\&main::mark; *first = \\&List::Util::first; *reduce = \\&List::Util::reduce }\n"
        . "# line " . int(1 + rand 500) . " \"$file\"\nsub $name { my \$d = shift;" . "\n" x rand(200) . $WAYS[rand @WAYS] . "\n1 }\n\\&$name";
    die $@ unless $f;
    return ($f, "$package\::$name");
}

my @names;
($functions[$_], $names[$_]) = function_make($_) for 0 .. 59;
my $n = 60;
mark();
for (1 .. 6000) { last if -e 'met'; select undef, undef, undef, 0.02 }
while ($count < $N) {
    call(1 + int rand 13);
    for (1 .. int rand 3) {
        my $k = int rand @functions;
        no strict 'refs';
        undef &{$names[$k]};
        my ($package, $name) = $names[$k] =~ /(.*)::(.*)/;
        delete ${"$package\::"}{$name};
        ($functions[$k], $names[$k]) = function_make($n++);
    }
}
mark();
close $own;
