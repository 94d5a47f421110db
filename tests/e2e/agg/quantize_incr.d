/* Increments: weights, negative counts, both signs of counts. */
#pragma D option quiet

BEGIN
{
	@w["weight"] = quantize(5, 100); @w["weight"] = quantize(9, 300);
	@n["negative"] = quantize(5, -3); @n["negative"] = quantize(1, -1);
	@b["both"] = quantize(5, -3); @b["both"] = quantize(1, 1);
	@z["cancelled"] = quantize(7, 2); @z["cancelled"] = quantize(6, -2);
	exit(0);
}
