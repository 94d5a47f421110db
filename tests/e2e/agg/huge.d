/* Values at the edges of 64 bits: sums wrap, squares do not. */
#pragma D option quiet

BEGIN
{
	@sum = sum(0x7fffffffffffffff); @sum = sum(1);
	@min = min(0x7fffffffffffffff); @max = max((int64_t)0x8000000000000000);
	@avg = avg(0x7ffffffffffffff0);
	@dev = stddev(4000000000); @dev = stddev(-4000000000);
	printa("%@d %@d ", @sum, @min); printa("%@d ", @max); printa("%@d ", @avg); printa("%@d\n", @dev);
	exit(0);
}
