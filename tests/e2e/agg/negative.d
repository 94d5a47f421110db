/* Negative values in every scalar function. */
#pragma D option quiet

BEGIN
{
	@s["sum"] = sum(-5); @s["sum"] = sum(3); @n = min(-7); @n = min(3); @x = max(-7); @x = max(-3);
	@a = avg(-3); @a = avg(-4); @d = stddev(-10); @d = stddev(-20); @c = count();
	printa("%s %@d\n", @s); printa("min %@d\n", @n); printa("max %@d\n", @x); printa("avg %@d\n", @a);
	printa("stddev %@d\n", @d); printa("count %@u\n", @c);
	exit(0);
}
