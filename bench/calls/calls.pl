# SPDX-License-Identifier: MIT
# ns of an empty method call, of fire and of is_enabled while nobody traces the probe: for bench/made.py.
use strict;
use warnings;
use List::Util qw(min);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Devel::DTrace::Provider;

my $provider = Devel::DTrace::Provider->new('bench');
my $probe = $provider->probe('n', 'string', 'integer');
$provider->enable;

sub Empty::fire { }
my $empty = bless {}, 'Empty';
my $n = int($ARGV[0] / 21);

sub shortest {
    my ($calls) = @_;
    return min map {
        my $begin = clock_gettime(CLOCK_MONOTONIC);
        $calls->();
        (clock_gettime(CLOCK_MONOTONIC) - $begin) * 1e9 / $n
    } 1 .. 21;
}

print join(' ', shortest(sub { $empty->fire('tea', 4) for 1 .. $n }), shortest(sub { $probe->fire('tea', 4) for 1 .. $n }),
    shortest(sub { $probe->is_enabled for 1 .. $n })), "\n";
