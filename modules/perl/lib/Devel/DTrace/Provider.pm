# SPDX-License-Identifier: MIT
package Devel::DTrace::Provider;

use strict;
use warnings;

our $VERSION = '1.20';

require XSLoader;
XSLoader::load('Devel::DTrace::Provider', $VERSION);

sub new {
    my ($class, $name, $module) = @_;
    return $class->_create($name, $module);
}

# add_probe(name, function, [types]); the function may be left out
sub add_probe {
    my ($self, $name, @rest) = @_;
    my $types = ref $rest[-1] eq 'ARRAY' ? pop @rest : [];
    return $self->_add($name, $rest[0] // $name, $types);
}

# probe(name, types...)
sub probe {
    my ($self, $name, @types) = @_;
    return $self->add_probe($name, $name, [map { ref $_ ? @$_ : $_ } @types]);
}

# A copy in another thread would free what this one uses.
sub Devel::DTrace::Provider::CLONE_SKIP { return 1 }
sub Devel::DTrace::Probe::CLONE_SKIP    { return 1 }

1;

__END__

=encoding utf8

=head1 NAME

Devel::DTrace::Provider - DTrace probes of Perl programs, made at run time, on Linux

=head1 SYNOPSIS

    use Devel::DTrace::Provider;

    my $provider = Devel::DTrace::Provider->new('shop', 'server');
    my $sale = $provider->add_probe('sale', 'sell', ['string', 'integer']);
    $provider->enable;

    $sale->fire('tea', 4);
    $sale->fire(describe($order), $order->{price}) if $sale->is_enabled;

    # dtrace -n 'shop*:::sale { printf("%s %d", copyinstr(arg0), arg1); }'

=head1 METHODS OF A PROVIDER

=over

=item new(NAME, MODULE)

The module may be left out: then it is the name. D adds the process id to the name.

=item add_probe(NAME, FUNCTION, [TYPES]), probe(NAME, TYPES)

Return a probe, which appears at the next C<enable>. C<string> (or C<char *>) is a string; C<integer> and every C type is an integer of 64
bits. A probe has at most 32 arguments.

=item enable, disable, remove_probe(PROBE)

C<disable> removes the probes until C<enable>. A probe can be removed while its provider is disabled.

=back

=head1 METHODS OF A PROBE

=over

=item fire(ARGUMENTS)

Fires the probe if somebody traces it; otherwise it costs a call of a method. It neither dies nor warns, because a probe must not change
what the program does: what cannot be converted, or is missing, is 0 or an empty string.

=item is_enabled

True while somebody traces the probe.

=back

What cannot be done dies with the reason. L<Devel::DTrace::Provider::Builder> declares providers, and costs nothing where a probe is not
called for. A child of C<fork> has the same probes under its own process id.

=cut
