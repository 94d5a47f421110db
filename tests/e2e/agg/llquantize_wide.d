/* Orders of magnitude, under- and overflow, negative values. */
#pragma D option quiet

BEGIN
{
	@a["a"] = llquantize(1, 10, 0, 2, 10); @a["a"] = llquantize(15, 10, 0, 2, 10); @a["a"] = llquantize(999, 10, 0, 2, 10);
	@a["a"] = llquantize(1000, 10, 0, 2, 10); @a["a"] = llquantize(0, 10, 0, 2, 10);
	@b["b"] = llquantize(50, 10, 1, 2, 20); @b["b"] = llquantize(9, 10, 1, 2, 20);
	@c["c"] = llquantize(-50, 10, 1, 2, 10); @c["c"] = llquantize(-3, 10, 1, 2, 10);
	@d["d"] = llquantize(5, 2, 0, 4, 2, 3);
	exit(0);
}
