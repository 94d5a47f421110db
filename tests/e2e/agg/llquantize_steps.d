/* Fewer steps than the factor: the rows of an order begin at multiples of their width (d-language.md 5.5). */
#pragma D option quiet

BEGIN
{
	@ = llquantize(0, 10, 0, 5, 5); @ = llquantize(1, 10, 0, 5, 5); @ = llquantize(5, 10, 0, 5, 5);
	@ = llquantize(100, 10, 0, 5, 5); @ = llquantize(199, 10, 0, 5, 5); @ = llquantize(200, 10, 0, 5, 5);
	@ = llquantize(399, 10, 0, 5, 5); @ = llquantize(850, 10, 0, 5, 5); @ = llquantize(-999, 10, 0, 5, 5);
	@ = llquantize(999, 10, 0, 5, 5);
	@few = llquantize(500, 10, 2, 3, 2); @few = llquantize(499, 10, 2, 3, 2);
	exit(0);
}
