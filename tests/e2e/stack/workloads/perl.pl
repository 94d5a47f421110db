# SPDX-License-Identifier: MIT
# perl.pl server|compiler|tests EVERY MOST: a workload that writes down its own stack at each EVERY-th call of an operator.
use strict;
use warnings;
my ($every, $most, $calls, $points) = (0, 0, 0, 0);
open my $out, '>>', 'noted';

sub workload_point {
    return if $^S && !defined $every || !$every || ++$calls % $every || ++$points > $most;
    my ($i, @frames, $file, $line) = (0);
    while (my @c = caller($i++)) {
        push @frames, "$file:$line " . ($c[3] eq "(eval)" ? "(eval)" : "($c[3])") if $i > 1;
        ($file, $line) = @c[1, 2];
    }
    syswrite $out, sprintf("POINT:%06d %s\n", $points, CORE::join("|", @frames, "$file:$line (main)"));
}

BEGIN {
    *CORE::GLOBAL::ref = sub (;$) { workload_point(); CORE::ref(@_ ? $_[0] : $_) };
    *CORE::GLOBAL::lc = sub (;$) { workload_point(); CORE::lc(@_ ? $_[0] : $_) };
    *CORE::GLOBAL::join = sub ($@) { workload_point(); my $s = shift; CORE::join($s, @_) };
}
syswrite $out, "POINT:000000 \n";
for (1 .. 6000) { select undef, undef, undef, 0.02 unless -e "met" }

sub server {
    require IO::Socket::INET;
    require HTTP::Tiny;
    my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die;
    my $url = "http://127.0.0.1:" . $listener->sockport;
    my @clients = map {
        my $pid = fork;
        if (!$pid) { $every = 0; HTTP::Tiny->new->get("$url/$_") for 1 .. 50; require POSIX; POSIX::_exit(0) }
        $pid
    } 1 .. 4;
    my $handle = { list => sub { my %h = @_; join(", ", map { lc($_) . "=" . $h{$_} } sort { lc $a cmp lc $b } keys %h) } };
    for (1 .. 200) {
        my $c = $listener->accept or next;
        my ($path, %h) = (split ' ', scalar <$c>)[1];
        while (<$c>) { last if /^\r?$/; $h{lc $1} = $2 if /^([^:]+): *(.*?)\r?$/ }
        my $text = eval { $handle->{list}->(%h, Path => $path) };
        print $c join("\r\n", "HTTP/1.1 200 OK", "Content-Length: " . length($text), "Connection: close", "", $text);
        close $c;
    }
    waitpid $_, 0 for @clients;
}

sub compiler {
    require B::Deparse;
    require HTTP::Tiny;
    my $deparse = B::Deparse->new("-p");
    no strict 'refs';
    for my $module ("HTTP::Tiny::", "HTTP::Tiny::Handle::") {
        $deparse->coderef2text(\&{"$module$_"}) for sort grep { defined &{"$module$_"} && *{"$module$_"}{PACKAGE} eq substr($module, 0, -2) } keys %$module;
    }
}

sub tests {
    require Test::More;
    my $made = '';
    my $builder = Test::More->builder;
    $builder->output(\$made), $builder->failure_output(\$made), $builder->todo_output(\$made);
    for my $i (1 .. 40) {
        Test::More::subtest("group $i", sub {
            Test::More::is_deeply([map { { n => $_, text => lc "N$_" } } 1 .. $i], [map { { n => $_, text => "n$_" } } 1 .. $i], "list $i");
            Test::More::like(join("", 1 .. $i), qr/^\d+$/, "digits");
            Test::More::done_testing();
        });
    }
    Test::More::done_testing();
}

my $what = shift;
($every, $most) = splice @ARGV, 0, 2;
main->can($what)->();
$every = 0;
