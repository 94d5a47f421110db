# SPDX-License-Identifier: MIT
use strict;
$| = 1;

sub item_new {
	my ($number) = @_;
	return bless { number => $number }, "Item";
}

sub order_new {
	my ($id) = @_;
	return bless { id => $id, items => [map { item_new($_) } 0 .. 99], note => { paid => 1 } }, "Order";
}

sub known_here {
	my ($order, $word) = @_;
	print "ready\n";
	my $line = <STDIN>;
	return $line;
}

sub known_outer {
	my ($id) = @_;
	my $result = known_here(order_new($id), "word");
	return $result;
}

known_outer(4711);
