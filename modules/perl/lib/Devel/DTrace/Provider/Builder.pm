# SPDX-License-Identifier: MIT
package Devel::DTrace::Provider::Builder;

use strict;
use warnings;

use Devel::DTrace::Provider;

our $VERSION = '1.20';
our $building;      # the provider whose probes are being declared
my %probes_of;      # package -> name -> probe

sub import {
    my $package = caller;
    no strict 'refs';
    *{"${package}::provider"} = \&provider;
    *{"${package}::as"}       = \&as;
    *{"${package}::probe"}    = \&probe;

    # A package of declarations exports its probes, unless it has an import() of its own.
    *{"${package}::import"} = sub { probes_export($package, scalar caller) }
        unless defined &{"${package}::import"};
    return;
}

sub as (&) { return $_[0] }

sub provider {
    my ($name, $declare) = @_;
    my $package = caller;
    local $building = { provider => Devel::DTrace::Provider->new($name, $name), package => $package, names => [] };
    $declare->();
    $building->{provider}->enable;
    probes_export($package, $package);
    return $building->{provider};
}

sub probe {
    my ($name, @types) = @_;
    die "probe '$name' belongs to no provider\n" unless $building;
    $probes_of{ $building->{package} }{$name} =
        [$building->{provider}->probe($name, @types), $building->{provider}];
    return;
}

# For each probe NAME a function that takes a block, and NAME_enabled.
sub probes_export {
    my ($from, $to) = @_;
    for my $name (keys %{ $probes_of{$from} || {} }) {
        my $probe = $probes_of{$from}{$name}[0];
        no strict 'refs';
        no warnings 'redefine';
        *{"${to}::$name"} = sub (&) { $_[0]->($probe) if $probe->is_enabled; return };
        *{"${to}::${name}_enabled"} = sub () { $probe->is_enabled };
    }
    return;
}

1;

__END__

=encoding utf8

=head1 NAME

Devel::DTrace::Provider::Builder - declare providers and their probes

=head1 SYNOPSIS

    package MyApp::Probes;
    use Devel::DTrace::Provider::Builder;

    provider 'shop' => as {
        probe 'sale', 'string', 'integer';
    };

    # elsewhere
    use MyApp::Probes;

    sale { shift->fire(describe($order), $order->{price}) };

The block runs only while somebody traces the probe. C<sale_enabled> asks that, too. In the package of the declarations itself, they belong
into a C<BEGIN> block.

=cut
