#pragma D option quiet
BEGIN
{
	@c = count(); @c = count();
	@s = sum(-3); @s = sum(10);
	@a = avg(1); @a = avg(2); @a = avg(6);
	@mi = min(7); @mi = min(-4);
	@ma = max(7); @ma = max(-4);
	@sd = stddev(2); @sd = stddev(4); @sd = stddev(4); @sd = stddev(4);
	@sd = stddev(5); @sd = stddev(5); @sd = stddev(7); @sd = stddev(9);
	printa("count %@d\n", @c);
	printa("sum %@d\n", @s);
	printa("avg %@d\n", @a);
	printa("min %@d\n", @mi);
	printa("max %@d\n", @ma);
	printa("stddev %@d\n", @sd);
	exit(0);
}
