/* Below, above, negative base, steps that do not divide the range, 32-bit limits. */
#pragma D option quiet

BEGIN
{
	@a["a"] = lquantize(-11, -10, 10, 5); @a["a"] = lquantize(-10, -10, 10, 5); @a["a"] = lquantize(9, -10, 10, 5); @a["a"] = lquantize(10, -10, 10, 5);
	@b["b"] = lquantize(9, 0, 10, 4); @b["b"] = lquantize(7, 0, 10, 4); @b["b"] = lquantize(0x700000001, 0, 10, 4);
	@c["c"] = lquantize(5, 0, 100, 10, 7); @c["c"] = lquantize(15, 0, 100, 10, -7);
	@d["d"] = lquantize(3, 0, 3);
	exit(0);
}
