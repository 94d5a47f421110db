# SPDX-License-Identifier: MIT
use strict;
use warnings;
use Test::More;

use Devel::DTrace::Provider;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $provider = Devel::DTrace::Provider->new('test', 'mod');
my $probe    = $provider->add_probe('name', 'func', ['string', 'integer']);
$provider->enable;
is_deeply([$provider->name, $provider->module, $probe->name, $probe->function], [qw(test mod name func)], 'names');
ok(!$probe->is_enabled, 'nobody traces');
for my $args ([], ['a', 1], [1, 'a'], [undef, {}], ['a', 1, 2], ['a', 9**9**9]) {
    is_deeply([$probe->fire(@$args)], [], 'fire');
}
ok(!eval { $provider->probe('many', ('int') x 33); 1 }, 'too many arguments');
like($@, qr/at most 32/, 'and why');
ok($provider->probe('most', ('int') x 32), 'as many as possible');
ok(!eval { $provider->remove_probe($probe); 1 }, 'it is enabled');
like($@, qr/\S/, 'and the reason');
$provider->disable;
$provider->remove_probe($probe);
ok(!eval { $provider->remove_probe($probe); 1 }, 'removed twice');
$probe->fire('a', 1);
ok(!eval { $provider->remove_probe($provider); 1 }, 'no probe');
undef $provider;
$probe->fire('a', 1);

for (1 .. 200) {
    my $many = Devel::DTrace::Provider->new('many');
    $many->probe("p$_", 'integer') for 1 .. 20;
    $many->enable;
}
opendir my $fds, '/proc/self/fd' or die;
cmp_ok(scalar(() = readdir $fds), '<', 50, 'descriptors');

my $pid = fork // die;
if ($pid == 0) {
    $probe->fire('child', 1);
    exec 'true';
}
waitpid $pid, 0;
is($?, 0, 'a child');

package Probes {
    use Devel::DTrace::Provider::Builder;
    BEGIN {
        provider 'perlprog' => as { probe 'sold', 'string'; probe 'bought', ['string', 'integer']; };
    }
    my $calls = 0;
    sold { $calls++; shift->fire('x') };
    main::is($calls, 0, 'a block that nobody needs');
    main::ok(!sold_enabled, 'nor enabled');
}
package Elsewhere {
    BEGIN { Probes->import }
    bought { die };
    main::ok(!bought_enabled, 'imported');
}
is_deeply(\@warnings, [], 'no warnings');
done_testing;
