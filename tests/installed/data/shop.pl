# SPDX-License-Identifier: MIT
use Devel::DTrace::Provider;
my $provider = Devel::DTrace::Provider->new('shop', 'server');
my $sale = $provider->add_probe('sale', 'sell', ['string', 'integer']);
$provider->enable;
$sale->fire('tea', 4);
