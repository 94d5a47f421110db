# Probes of Perl programs, made at run time by modules/perl, which MakeMaker builds and installs.
. "$SRC/tests/e2e/usdt/module_common"
perl -MExtUtils::MakeMaker -MConfig -e 'exit !-e "$Config{archlibexp}/CORE/perl.h"' 2>/dev/null || { echo "needs the packages perl and libperl-dev"; exit 67; }
module_copy perl
(cd tree/modules/perl && perl Makefile.PL INSTALL_BASE="$TMP/site" && make -s && make -s test && make -s install) >out 2>&1 || fail "building, its own tests, or installing"
grep -iq 'warning' out && fail "warnings"
rm -rf tree
export PERL5LIB=$TMP/site/lib/perl5
cat >app.pl <<'END'
use strict;
use warnings FATAL => 'all';
use Devel::DTrace::Provider;
$| = 1;
my $provider = Devel::DTrace::Provider->new('shop', 'server');
my $sale = $provider->add_probe('sale-done', 'sell', ['string', 'integer']);
my $many = $provider->add_probe('many', 'count', [('int') x 4]);
$provider->enable;
my $seen = $sale->is_enabled ? 1 : 0;
print "ready\n";
<STDIN>;
$seen++ if $sale->is_enabled;
$sale->fire('tea', 4);
$sale->fire('käse 😀', -5);
$sale->fire;
$sale->fire(17, 18.5);
$many->fire(1, 1 << 41, -(1 << 41), 9);
$many->fire(5, undef, 'text', {});
$seen++ if $sale->is_enabled;
print "seen $seen\n";
my $pid = fork // die;
if ($pid == 0) {
    $sale->fire('child', 1);
    exit 0;
}
waitpid $pid, 0;
die if $?;
$provider->disable;
$provider->remove_probe($sale);
$sale->fire('nobody', 1);
my $late = $provider->probe('late', 'integer');
$provider->enable;
$late->fire(1);
print 'end ', ($sale->is_enabled ? 1 : 0), "\n";
END
echo child >forks
module_trace perl app.pl
# Declared probes: the block runs only while somebody traces.
cat >block.pl <<'END'
use strict;
use warnings FATAL => 'all';
use Devel::DTrace::Provider::Builder;
BEGIN { provider 'perlprog' => as { probe 'foo', 'string', 'integer'; }; }
$| = 1;
my $n = 0;
print "ready\n";
<STDIN>;
foo { $n++; shift->fire('fired!', 2) };
print "$n\n";
END
: >app.out
perl block.pl <go >app.out 2>&1 &
app=$!
exec 3>go
until grep -q ready app.out; do kill -0 $app 2>/dev/null || fail "the block does not start"; sleep 0.02; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -w -p $app -n 'perlprog$target:::foo { printf("%s %d\n", copyinstr(arg0), arg1); } BEGIN { system("echo >&3"); }' >out 2>err ||
	fail "the block"
wait $app
exec 3>&-
grep -q '^fired! 2$' out && [ "$(tail -1 app.out)" = 1 ] || fail "the block's record"
